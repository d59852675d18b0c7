from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from finrag_pipeline.evaluation.intervals import normal_quantile
from finrag_pipeline.evaluation.ppi import ppi_mean
from finrag_pipeline.evaluation.simulations import (
    _binary_ppi,
    correlation_from_agreement,
    expected_effective_n,
    expected_half_width,
    sensitivity_to_agreement,
)
from finrag_pipeline.schemas import JUDGE_SENSITIVITY


def test_seven_percent_becomes_four_at_an_agreement_of_93_to_94_percent():
    table = sensitivity_to_agreement([0.68, 0.93, 0.94], draws=2000)
    assert table.schema == JUDGE_SENSITIVITY
    width, size = table["half_width"].to_pylist(), table["effective_n"].to_pylist()
    assert round(width[0], 2) == 0.07
    assert width[1] > 0.04 > width[2], "the paper's 93 % is between the two"
    assert size[1] < 375 < size[2]

    def width_at(agreement):
        rho = correlation_from_agreement(agreement, 0.8, 0.8)
        return expected_half_width(rho, 0.8, 140, 3985 - 140)

    assert brentq(lambda a: width_at(a) - 0.04, 0.7, 0.99) == pytest.approx(0.9397, abs=5e-4)


def test_closed_form_and_simulation_agree():
    table = sensitivity_to_agreement([0.75, 0.85, 0.95], n=400, unlabelled=4000, draws=600)
    for row in table.to_pylist():
        assert row["half_width"] == pytest.approx(row["expected_half_width"], rel=0.03)
        assert row["effective_n"] == pytest.approx(row["expected_effective_n"], rel=0.06)
        assert 0.92 <= row["coverage"] <= 0.98
        assert row["half_width_low"] < row["half_width"] < row["half_width_high"]


def test_the_closed_form():
    # Figures in the project's notes on the paper.
    sizes = [expected_effective_n(correlation_from_agreement(a, 0.8, 0.8), 140, 3985) for a in (0.93, 0.938)]
    assert sizes == pytest.approx([341, 376], abs=0.5)
    assert expected_effective_n(-0.5, 140, 3985) == 140
    assert expected_half_width(0, 0.8, 140, 3985) == pytest.approx(0.0663, abs=5e-5)


def test_many_samples_at_once_are_those_one_by_one():
    rng = np.random.default_rng(0)
    counts = rng.multinomial(30, [0.6, 0.1, 0.1, 0.2], size=20)
    ones = rng.binomial(200, 0.7, size=20)
    theta, error, lam = _binary_ppi(counts / 30, ones / 200, 30, 200)
    pairs = [(1, 1), (1, 0), (0, 1), (0, 0)]
    for place, (cells, high) in enumerate(zip(counts, ones, strict=True)):
        rows = [pair for pair, times in zip(pairs, cells, strict=True) for _ in range(times)]
        y, f = zip(*rows, strict=True)
        one = ppi_mean(y, f, [1] * high + [0] * (200 - high))
        assert (theta[place], error[place], lam[place]) == pytest.approx(
            (one.estimate, (one.high - one.estimate) / normal_quantile(0.95), one.lam), abs=1e-12
        )


def test_impossible_agreements():
    with pytest.raises(ValueError, match="agree"):
        correlation_from_agreement(0.5, 0.8, 0.8)
    with pytest.raises(ValueError, match="between"):
        correlation_from_agreement(0.9, 1.0, 0.8)
