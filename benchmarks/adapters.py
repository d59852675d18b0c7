"""Low-rank adapters on the default encoder (Hu et al., LoRA, 2021) as they are trained and shipped."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import nn

RANK, SCALE, FROZEN_LAYERS = 16, 2.0, 2


class Adapted(nn.Module):
    """A linear layer with an adapter: ``W x + B A x`` (Hu et al., 2021, equation 3)."""

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base
        self.a = nn.Parameter(torch.randn(rank, base.in_features) / math.sqrt(base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + (x @ self.a.T @ self.b.T) * SCALE


def adapt(encoder: nn.Module, rank: int = RANK, frozen: int = FROZEN_LAYERS) -> nn.Module:
    """An encoder with adapters on its layers above the ``frozen`` ones, which alone are trained."""
    encoder.requires_grad_(False)
    for layer in encoder.encoder.layer[frozen:]:
        own = layer.attention.self
        own.query, own.key, own.value = (Adapted(part, rank) for part in (own.query, own.key, own.value))
        for part in (layer.attention.output, layer.intermediate, layer.output):
            part.dense = Adapted(part.dense, rank)
    return encoder


def _shipped_as(name: str) -> str:
    """The name of a parameter, which may be of an encoder alone or of a model around it."""
    return name.replace("encoder.encoder.", "encoder.", 1)


def adapter_arrays(model: nn.Module) -> dict[str, np.ndarray]:
    """Adapters and last layers of a model as they are shipped, in half precision."""
    found = {}
    for name, value in model.named_parameters():
        if value.requires_grad:
            scale = SCALE if name.endswith(".b") else 1.0
            found[_shipped_as(name)] = (value.detach().cpu().numpy() * scale).astype(np.float16)
    return found


def resume(model: nn.Module, arrays: Mapping[str, np.ndarray]) -> None:
    """Take over adapters and last layers as they are shipped."""
    for name, value in model.named_parameters():
        if value.requires_grad:
            shipped = torch.tensor(arrays[_shipped_as(name)].astype(np.float32))
            value.data = shipped / SCALE if name.endswith(".b") else shipped


def take_step(optimiser: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    """One step of a training by a loss, its gradients clipped to a norm of 1."""
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_([value for group in optimiser.param_groups for value in group["params"]], 1.0)
    optimiser.step()
