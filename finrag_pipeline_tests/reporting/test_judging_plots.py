from __future__ import annotations

import pytest

from finrag_pipeline.errors import UsageError
from finrag_pipeline.evaluation.simulations import (
    SCORE_STUDIES,
    STUDIES,
    interval_coverage,
    sensitivity_to_agreement,
)
from finrag_pipeline.reporting.plots import INTERVALS, coverage_plot, sensitivity_plot

SENSITIVITY = sensitivity_to_agreement([0.8, 0.94], draws=50).to_pylist()
COVERAGE = interval_coverage(STUDIES[:2], SCORE_STUDIES[:1], draws=5).to_pylist()


def test_every_interval_has_a_name() -> None:
    assert {row["interval"] for row in COVERAGE} == set(INTERVALS)


def test_the_same_figures_give_the_same_bytes_and_others_do_not() -> None:
    for plot, rows, name in (
        (sensitivity_plot, SENSITIVITY, "half_width"),
        (coverage_plot, COVERAGE, "coverage"),
    ):
        drawn = plot(rows)
        assert drawn.startswith(b"<?xml") and drawn == plot(rows)
        assert drawn != plot([{**rows[0], name: rows[0][name] / 2}, *rows[1:]])
        assert plot(rows, fmt="png", dark=True).startswith(b"\x89PNG")
        assert plot([], fmt="png").startswith(b"\x89PNG")
        with pytest.raises(UsageError, match="gif"):
            plot(rows, fmt="gif")
