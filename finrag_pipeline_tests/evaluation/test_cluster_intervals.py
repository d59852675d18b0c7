from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.evaluation.intervals import (
    cluster_means,
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


FILINGS = ["a", "a", "a", "b", "b", "c", "d", "e", "f", "g"]


class TestMeansOfScores:
    def test_zeros_and_ones_have_the_interval_of_a_proportion(self):
        values = np.random.default_rng(2).integers(0, 2, (10, 6)).astype(float)
        mean, low, high = cluster_means(values, FILINGS, 0.9)
        for column in range(6):
            one = cluster_proportion(values[:, column], FILINGS, confidence=0.9)
            assert (mean[column], low[column], high[column]) == pytest.approx(
                (one.estimate, one.low, one.high)
            )

    def test_scores_between_vary_less_than_zeros_and_ones_of_their_mean(self):
        rng = np.random.default_rng(3)
        hits = np.repeat([0.0, 1.0], 20)
        overlaps = 0.5 + rng.uniform(-0.1, 0.1, 40)
        overlaps += 0.5 - overlaps.mean()
        mean, low, high = cluster_means(np.stack([hits, overlaps], 1), list(range(40)), 0.95)
        assert mean == pytest.approx([0.5, 0.5])
        assert high[0] - low[0] > 4 * (high[1] - low[1])
        # Student's interval of the mean of 40 such scores, within a tenth.
        student = 2.02 * overlaps.std(ddof=1) / np.sqrt(40)
        assert (high[1] - low[1]) / 2 == pytest.approx(student, rel=0.1)

    def test_questions_of_a_filing_that_agree_are_worth_one(self):
        rng = np.random.default_rng(4)
        filings = rng.random(30)
        once = cluster_means(filings[:, None], list(range(30)), 0.95)
        often = cluster_means(np.repeat(filings, 5)[:, None], np.repeat(np.arange(30), 5).tolist(), 0.95)
        assert often[2] - often[1] == pytest.approx(once[2] - once[1], rel=0.1)

    def test_no_failure_seen_is_no_certainty(self):
        mean, low, high = cluster_means(np.ones((84, 1)), list(range(84)), 0.95)
        assert mean[0] == high[0] == 1.0
        assert 0.93 < low[0] < 0.97

    def test_one_filing_has_no_interval_and_none_no_mean(self):
        mean, low, high = cluster_means(np.array([[0.2], [0.4]]), ["a", "a"], 0.95)
        assert mean[0] == pytest.approx(0.3)
        assert np.isnan([low[0], high[0]]).all()
        assert all(np.isnan(part).all() for part in cluster_means(np.empty((0, 2)), [], 0.95))
        assert all(len(part) == 0 for part in cluster_means(np.empty((2, 0)), ["a", "b"], 0.95))

    @given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5)), min_size=2, max_size=30))
    def test_always_an_interval_around_the_mean(self, rows):
        values, filings = np.array([row[0] for row in rows])[:, None], [row[1] for row in rows]
        mean, low, high = (float(part[0]) for part in cluster_means(values, filings, 0.95))
        assert mean == pytest.approx(values.mean())
        assert len(set(filings)) == 1 or 0 <= low <= mean <= high <= 1

    def test_rounding_is_forgiven_and_nothing_else(self):
        assert cluster_means(np.array([[1 + 1e-12], [0.0]]), ["a", "b"], 0.95)[2][0] <= 1
        for wrong in (1.1, -0.1, np.nan):
            with pytest.raises(ValueError, match="between 0 and 1"):
                cluster_means(np.array([[wrong], [0.0]]), ["a", "b"], 0.95)
        with pytest.raises(ValueError, match="do not fit"):
            cluster_means(np.ones((3, 1)), ["a", "b"], 0.95)
