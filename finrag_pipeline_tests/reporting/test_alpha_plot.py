from __future__ import annotations

import pytest

from finrag_pipeline.errors import UsageError
from finrag_pipeline.reporting.plots import alpha_plot

MEANS = {
    "corpus": {0.0: 0.1, 0.5: 0.13, 0.8: 0.23, 1.0: 0.21},
    "filing": {0.0: 0.2, 0.5: 0.3, 0.8: 0.44, 1.0: 0.52},
    "pages": {0.0: 1.0, 0.5: 1.0, 0.8: 1.0, 1.0: 1.0},
}
CHOSEN = {"corpus": [0.8, 0.8, 0.5], "filing": [1.0], "pages": [0.5]}


def test_every_space_has_its_curve() -> None:
    plot = alpha_plot(MEANS, CHOSEN, fmt="svg")
    assert plot.startswith(b"<?xml") and plot == alpha_plot(MEANS, CHOSEN, fmt="svg"), (
        "the same bytes every time"
    )
    assert plot != alpha_plot(MEANS, {}, fmt="svg"), "chosen weights are marked"
    assert plot != alpha_plot({**MEANS, "filing": {0.0: 0.0, 1.0: 0.0}}, CHOSEN, fmt="svg")
    assert alpha_plot(MEANS, CHOSEN, fmt="png", dark=True).startswith(b"\x89PNG")


def test_nothing_was_measured() -> None:
    assert alpha_plot({}, {}, fmt="png") and alpha_plot({"corpus": {}}, {}, fmt="png")


def test_another_format_is_refused() -> None:
    with pytest.raises(UsageError, match="gif"):
        alpha_plot(MEANS, CHOSEN, fmt="gif")
