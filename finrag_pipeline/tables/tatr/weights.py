"""Loading a Table Transformer from its folder; safetensors only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from finrag_pipeline.errors import ModelError
from finrag_pipeline.storage.torch_models import AGAIN, loading, read_config


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
    from transformers import TableTransformerForObjectDetection

    with loading(folder) as shared:
        try:
            # The weights hold the backbone; without this the backbone's own would be fetched first.
            loaded: Any = TableTransformerForObjectDetection.from_pretrained(
                folder, use_safetensors=True, output_loading_info=True, **shared
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
