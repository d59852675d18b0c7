from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.evaluation.cluster_intervals import (
    cluster_proportion,
    effective_clusters,
    stratum_weights,
)


def test_worked_by_hand():
    # Question a: 1 1 0, question b: 0. Mean 1/2; scores of the clusters (2 − 1.5)/4 and (0 − .5)/4.
    found = cluster_proportion([1, 1, 0, 0], ["a", "a", "a", "b"])
    assert found.estimate == 0.5
    assert found.standard_error == pytest.approx(np.sqrt(2 * 2 * 0.125**2))
    assert (found.n, found.clusters) == (4, 2)


def test_answers_that_always_agree_are_worth_one_each():
    rng = np.random.default_rng(0)
    rates = rng.integers(0, 2, 40)
    twenty = cluster_proportion(np.repeat(rates, 20), np.repeat(np.arange(40), 20).tolist())
    one = cluster_proportion(rates, list(range(40)))
    assert twenty.design_effect == pytest.approx(20, rel=0.05)
    assert twenty.effective_n == pytest.approx(40, rel=0.05)
    assert (twenty.low, twenty.high) == pytest.approx((one.low, one.high), abs=0.005)


def test_independent_answers_keep_most_of_their_worth():
    rng = np.random.default_rng(1)
    values = rng.random(121 * 20) < 0.8
    found = cluster_proportion(values.astype(float), np.repeat(np.arange(121), 20).tolist())
    assert 1 <= found.design_effect < 1.6


def test_labels_that_all_agree_leave_a_wide_interval():
    found = cluster_proportion(np.ones(580), np.repeat(np.arange(29), 20).tolist())
    assert found.standard_error == 0
    assert found.estimate == found.high == 1
    assert found.low < 0.9, "29 questions without a failure do not show more"


def test_one_cluster_says_little():
    found = cluster_proportion([1, 1, 0], ["a"] * 3)
    assert np.isnan(found.standard_error)
    assert found.high - found.low > 0.9


def test_weights_undo_the_design():
    # 100 answers in a stratum that fails, 10 in one that succeeds; three labels in each.
    strata = ["big"] * 100 + ["small"] * 10
    sampled = [place in (0, 1, 2, 100, 101, 102) for place in range(110)]
    weights = stratum_weights(strata, sampled)
    assert weights.tolist() == pytest.approx([100 / 3] * 3 + [10 / 3] * 3)
    found = cluster_proportion([0, 0, 0, 1, 1, 1], list(range(6)), weights)
    assert found.estimate == pytest.approx(10 / 110)
    assert found.low < 10 / 110 < found.high
    # Scaling the weights changes nothing.
    again = cluster_proportion([0, 0, 0, 1, 1, 1], list(range(6)), 7 * weights)
    assert (again.low, again.high) == pytest.approx((found.low, found.high))


def test_effective_clusters():
    assert effective_clusters(np.array([0, 1, 2]), np.ones(3)) == pytest.approx(3)
    assert effective_clusters(np.array([0, 0, 1]), np.ones(3)) == pytest.approx(9 / 5)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5), st.floats(0.1, 9)), min_size=1, max_size=30))
def test_always_an_interval_around_the_estimate(rows):
    values, clusters, weights = (list(column) for column in zip(*rows, strict=True))
    found = cluster_proportion(values, clusters, weights)
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert 0 < found.effective_n <= len(values) + 1e-9


@pytest.mark.parametrize(
    ("values", "clusters", "weights"),
    [
        ([], [], None),
        ([1, 2], ["a", "b"], None),
        ([1], ["a", "b"], None),
        ([1], ["a"], [0.0]),
        ([np.nan], ["a"], None),
    ],
)
def test_no_sample(values, clusters, weights):
    with pytest.raises(ValueError):
        cluster_proportion(values, clusters, weights)
