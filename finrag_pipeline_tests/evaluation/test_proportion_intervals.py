from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from finrag_pipeline.evaluation.intervals import normal_quantile, wald, wilson, wilson_from_effective


def exact_coverage(interval, n: int, share: float) -> float:
    """Coverage over the binomial distribution, no simulation."""
    held = 0.0
    for successes in range(n + 1):
        found = interval(successes, n)
        if found.low <= share <= found.high:
            held += stats.binom.pmf(successes, n, share)
    return held


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_that_of_scipy(case):
    successes, n = case
    found = wilson(successes, n)
    reference = stats.binomtest(successes, n).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((reference.low, reference.high), abs=1e-12)
    assert 0 <= found.low <= found.estimate <= found.high <= 1


def test_wald_as_in_the_paper():
    # 28 of 29 answers: .966 ± .066, and the upper end is above 1.
    found = wald(28, 29)
    assert found.estimate == pytest.approx(0.9655172, abs=1e-7)
    assert (found.high - found.low) / 2 == pytest.approx(0.0664095, abs=1e-7)
    assert found.high > 1


def test_wilson_covers_29_labels_at_97_percent_and_wald_does_not():
    assert exact_coverage(wilson, 29, 0.97) == pytest.approx(0.94475, abs=1e-5)
    assert exact_coverage(wald, 29, 0.97) == pytest.approx(0.58501, abs=1e-5)


def test_an_estimate_outside_the_unit_interval_is_brought_back():
    found = wilson_from_effective(1.04, 20, 1.96)
    assert found.estimate == 1 and found.high == 1 and found.low < 0.9


@pytest.mark.parametrize(("successes", "n"), [(1, 0), (3, 2), (-1, 5)])
def test_impossible_counts(successes, n):
    with pytest.raises(ValueError, match="successes"):
        wilson(successes, n)
    with pytest.raises(ValueError, match="confidence"):
        normal_quantile(1.0)
