from __future__ import annotations

from typing import Any

import pytest

from finrag_pipeline.errors import UsageError
from finrag_pipeline.reporting.plots import training_plot


def epochs(*recalls: float | None, best: int = 1) -> list[dict[str, Any]]:
    return [
        {"epoch": n, "loss": 2.0 / n if n else None, "page_rec": recall, "chosen": n == best}
        for n, recall in enumerate(recalls)
    ]


def test_every_training_has_its_curves() -> None:
    curves = {"fold_0": epochs(0.1, 0.3, 0.2), "fold_1": epochs(0.2, 0.2, best=0)}
    plot = training_plot(curves)
    assert plot.startswith(b"<?xml") and plot == training_plot(curves), "the same bytes every time"
    assert plot != training_plot({**curves, "fold_0": epochs(0.1, 0.3, 0.2, best=2)}), (
        "the kept one is ringed"
    )
    assert training_plot(curves, fmt="png", dark=True).startswith(b"\x89PNG")


def test_trainings_without_validation_show_their_loss() -> None:
    without = training_plot({"pre-training": epochs(None, None)})
    assert without.startswith(b"<?xml") and without != training_plot({})


def test_another_format_is_refused() -> None:
    with pytest.raises(UsageError, match="gif"):
        training_plot({"fold_0": epochs(0.1)}, fmt="gif")
