"""Objects in pictures: loading a Table Transformer, and batches through it, on a GPU where there is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from finrag_pipeline.errors import ModelError
from finrag_pipeline.storage.torch_models import AGAIN, loading, read_config, torch_device

# Mean and standard deviation per colour of the pictures the backbone was trained on (ImageNet).
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True, slots=True)
class Seen:
    """Objects seen in a picture.

    Attributes:
        labels: class of each; shape (n,).
        scores: shape (n,), in [0, 1].
        boxes: x0, y0, x1, y1 in pixels of the picture; shape (n, 4).
    """

    labels: tuple[str, ...]
    scores: np.ndarray
    boxes: np.ndarray

    def of(self, *labels: str) -> np.ndarray:
        """Places of the objects of some classes, best first."""
        places = np.array([place for place, label in enumerate(self.labels) if label in labels], int)
        return places[np.argsort(-self.scores[places], kind="stable")]


class Network:
    """A loaded model.

    Args:
        folder: with its files.
        needed: classes it has to know.
        longest: pictures are scaled to this length of their longer side, as in training.
        threshold: least score of an object.
        batch_size: pictures per forward pass.

    Raises:
        ModelError: see `load_model`.
    """

    def __init__(
        self, folder: Path, needed: tuple[str, ...], longest: int, threshold: float, batch_size: int
    ) -> None:
        import torch

        self._model, self._labels = load_model(folder, needed)
        self._device = torch.device(torch_device())
        self._model.to(self._device)
        self._longest, self._threshold, self._batch_size = longest, threshold, batch_size

    def see(self, pictures: Sequence[np.ndarray]) -> Iterator[Seen]:
        """Objects of each picture, RGB, shape (height, width, 3), uint8."""
        for start in range(0, len(pictures), self._batch_size):
            yield from self._batch(pictures[start : start + self._batch_size])

    def _batch(self, pictures: Sequence[np.ndarray]) -> Iterator[Seen]:
        import torch

        pixels, mask = self._pixels(pictures)
        half = self._device.type == "cuda"
        with torch.inference_mode(), torch.autocast(self._device.type, torch.float16, enabled=half):
            output = self._model(pixel_values=pixels, pixel_mask=mask)
        # The last class is 'no object'.
        likely = output.logits.float().softmax(-1)[..., :-1].max(-1)
        scores, classes = likely.values.cpu().numpy(), likely.indices.cpu().numpy()
        boxes = output.pred_boxes.float().cpu().numpy()
        for place, picture in enumerate(pictures):
            keep = scores[place] >= self._threshold
            yield Seen(
                tuple(self._labels[int(one)] for one in classes[place][keep]),
                scores[place][keep].astype(np.float64),
                _corners(boxes[place][keep].astype(np.float64), picture.shape[1], picture.shape[0]),
            )

    def _pixels(self, pictures: Sequence[np.ndarray]) -> tuple[Any, Any]:
        """Scaled, normalised, padded pictures, shape (n, 3, h, w), and where each has content, (n, h, w)."""
        import torch
        from torch.nn.functional import interpolate

        mean = torch.tensor(_MEAN, device=self._device).view(1, 3, 1, 1)
        deviation = torch.tensor(_DEVIATION, device=self._device).view(1, 3, 1, 1)
        scaled = []
        for picture in pictures:
            height, width = picture.shape[:2]
            factor = self._longest / max(height, width)
            size = (max(1, round(height * factor)), max(1, round(width * factor)))
            image = torch.from_numpy(np.ascontiguousarray(picture)).to(self._device)
            image = image.permute(2, 0, 1)[None].float() / 255
            image = interpolate(image, size, mode="bilinear", antialias=True, align_corners=False)
            scaled.append((image.clamp(0, 1) - mean) / deviation)
        height = max(image.shape[2] for image in scaled)
        width = max(image.shape[3] for image in scaled)
        pixels = torch.zeros(len(scaled), 3, height, width, device=self._device)
        mask = torch.zeros(len(scaled), height, width, dtype=torch.long, device=self._device)
        for place, image in enumerate(scaled):
            pixels[place, :, : image.shape[2], : image.shape[3]] = image[0]
            mask[place, : image.shape[2], : image.shape[3]] = 1
        return pixels, mask


def _corners(boxes: np.ndarray, width: int, height: int) -> np.ndarray:
    """Boxes given by centre and size as shares of the picture, as corners in pixels within it."""
    halves = boxes[:, 2:] / 2
    corners = np.concatenate([boxes[:, :2] - halves, boxes[:, :2] + halves], axis=1).clip(0, 1)
    return corners * np.array([width, height, width, height])


def load_model(folder: Path, needed: tuple[str, ...]) -> tuple[Any, dict[int, str]]:
    """The model of a folder on the CPU, and the names of its classes.

    Raises:
        ModelError: the files are missing or damaged, it is another architecture, timm is missing, or a class
            of ``needed`` is unknown to it.
    """
    config = read_config(folder)
    if config.get("model_type") != "table-transformer":
        raise ModelError(
            f"{folder} holds a model of type '{config.get('model_type')}', not 'table-transformer'.",
            "Choose a Table Transformer.",
        )
    from transformers import TableTransformerConfig, TableTransformerForObjectDetection

    with loading(folder) as shared:
        # Some files say null where a value is left out, which the library does not read.
        stated = TableTransformerConfig(**{name: one for name, one in config.items() if one is not None})
        try:
            loaded: Any = TableTransformerForObjectDetection.from_pretrained(
                folder, config=stated, use_safetensors=True, output_loading_info=True, **shared
            )
        except ImportError as error:
            raise ModelError(
                f"The backbone of {folder} needs timm and torchvision.",
                "Install the tatr extra: pip install 'finrag_pipeline[tatr]'.",
            ) from error
    model, report = loaded
    # Counters of batches in normalisation layers are not used when predicting.
    missing = [key for key in report["missing_keys"] if not key.endswith("num_batches_tracked")]
    if missing:
        raise ModelError(
            f"{folder} lacks {len(missing)} of the model's weights, {sorted(missing)[0]} among them.",
            AGAIN,
        )
    labels = {int(number): str(label) for number, label in model.config.id2label.items()}
    unknown = [label for label in needed if label not in labels.values()]
    if unknown:
        raise ModelError(
            f"{folder} does not know the class '{unknown[0]}'; it has {', '.join(labels.values())}.",
            "Choose a model for detection for the one stage, for structure for the other.",
        )
    return model.eval(), labels
