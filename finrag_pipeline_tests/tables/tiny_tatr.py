"""Table Transformers of random weights, small enough to make in a test.

The published models have a backbone from timm; these have the ResNet of transformers, so that timm is not
needed: the rest of the architecture, the files and the loading are the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from finrag_pipeline.tables.tatr import Network

DETECTION = ("table", "table rotated")
STRUCTURE = (
    "table",
    "table column",
    "table row",
    "table column header",
    "table projected row header",
    "table spanning cell",
)


def tiny_model(labels: tuple[str, ...], seed: int = 0) -> Any:
    import torch
    from transformers import ResNetConfig, TableTransformerConfig, TableTransformerForObjectDetection

    backbone = ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 8, 16, 16],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        out_features=["stage4"],
    )
    config = TableTransformerConfig(
        backbone_config=backbone,
        use_timm_backbone=False,
        num_queries=12,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
    )
    torch.manual_seed(seed)
    return TableTransformerForObjectDetection(config)


def write_structure(folder: Path, picture: np.ndarray, seed: int = 0) -> Path:
    """A model that sees rows, columns and the rest at random in a picture, shape (height, width, 3).

    Random networks see the same thing everywhere: the last layers are centred and scaled so that the twelve
    queries of this picture differ in class and place.
    """
    import torch

    tiny_model(STRUCTURE, seed).save_pretrained(folder)
    pixels, mask = Network(folder, STRUCTURE, 1000, 0.0, 1)._pixels([picture])
    model = tiny_model(STRUCTURE, seed).eval()
    with torch.no_grad():
        model.model.query_position_embeddings.weight.mul_(10)
        model.model.input_projection.weight.mul_(30)
        for layer in model.model.decoder.layers:
            layer.encoder_attn.q_proj.weight.mul_(10)
            layer.encoder_attn.k_proj.weight.mul_(10)
        hidden = model.model(pixels.cpu(), mask.cpu()).last_hidden_state[0]
        _spread(model.class_labels_classifier, hidden, 4.0)
        model.class_labels_classifier.bias[-1] = -20.0
        for layer in model.bbox_predictor.layers[:-1]:
            hidden = torch.relu(layer(hidden))
        _spread(model.bbox_predictor.layers[-1], hidden, 1.0)
    model.save_pretrained(folder)
    return folder


def _spread(layer: Any, inputs: Any, deviation: float) -> None:
    """Make a linear layer's outputs for some inputs have mean zero and a deviation of their own."""
    outputs = inputs @ layer.weight.T
    factor = deviation / outputs.std(0).clamp(min=1e-9)
    layer.weight.mul_(factor[:, None])
    layer.bias.copy_(-(outputs * factor).mean(0))


def write_detection(folder: Path, box: tuple[float, float, float, float], label: str = "table") -> Path:
    """A model that sees one table in every picture: centre x, centre y, width and height as shares of it."""
    import torch

    model = tiny_model(DETECTION)
    with torch.no_grad():
        model.class_labels_classifier.weight.zero_()
        model.class_labels_classifier.bias.copy_(
            torch.tensor([5.0 if one == label else -5.0 for one in (*DETECTION, "")])
        )
        last = model.bbox_predictor.layers[-1]
        last.weight.zero_()
        last.bias.copy_(torch.logit(torch.tensor(box)))
    model.save_pretrained(folder)
    return folder
