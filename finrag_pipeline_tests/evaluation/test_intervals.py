from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from finrag_pipeline.evaluation.intervals import (
    agreement,
    cluster_means,
    cluster_proportion,
    stratum_weights,
    wald,
    wilson,
    wilson_from_effective,
)


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


def test_answers_that_always_agree_are_worth_one_each():
    rng = np.random.default_rng(0)
    rates = rng.integers(0, 2, 40)
    twenty = cluster_proportion(np.repeat(rates, 20), np.repeat(np.arange(40), 20).tolist())
    one = cluster_proportion(rates, list(range(40)))
    assert twenty.effective_n == pytest.approx(40, rel=0.05)
    assert (twenty.low, twenty.high) == pytest.approx((one.low, one.high), abs=0.005)


def test_independent_answers_keep_most_of_their_worth():
    rng = np.random.default_rng(1)
    values = rng.random(121 * 20) < 0.8
    found = cluster_proportion(values.astype(float), np.repeat(np.arange(121), 20).tolist())
    assert 1 <= 121 * 20 / found.effective_n < 1.6


def test_labels_that_all_agree_leave_a_wide_interval():
    found = cluster_proportion(np.ones(580), np.repeat(np.arange(29), 20).tolist())
    assert found.estimate == found.high == 1
    assert found.low < 0.9, "29 questions without a failure do not show more"


def test_one_cluster_says_little():
    found = cluster_proportion([1, 1, 0], ["a"] * 3)
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

    @given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5)), min_size=2, max_size=30))
    def test_always_an_interval_around_the_mean(self, rows):
        values, filings = np.array([row[0] for row in rows])[:, None], [row[1] for row in rows]
        mean, low, high = (float(part[0]) for part in cluster_means(values, filings, 0.95))
        assert mean == pytest.approx(values.mean())
        assert 0 <= low <= mean <= high <= 1


def test_agreement_worked_by_hand():
    # Ten answers: 4 yes-yes, 3 no-no, 2 yes-no, 1 no-yes. Means .6 and .5: chance .3 + .2.
    first = ["yes"] * 6 + ["no"] * 4
    second = ["yes"] * 4 + ["no"] * 2 + ["yes"] + ["no"] * 3
    found = agreement(first, second)
    assert (found.n, found.observed, found.chance) == pytest.approx((10, 0.7, 0.5))
    assert found.kappa == pytest.approx(0.4)
    assert found.kappa_low < 0.4 < found.kappa_high


labels = st.sampled_from(["correct", "incorrect", "refusal"])


@given(st.lists(st.tuples(labels, labels), min_size=2, max_size=40))
def test_kappa_is_that_of_scikit_learn(pairs):
    first, second = (list(column) for column in zip(*pairs, strict=True))
    found = agreement(first, second, draws=10)
    if len(set(first) | set(second)) > 1 and found.chance < 1 - 1e-9:
        assert found.kappa == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)
    assert found.observed == pytest.approx(np.mean([a == b for a, b in pairs]))


def test_one_label_has_no_kappa():
    found = agreement([1, 1, 1], [1, 1, 1])
    assert found.observed == found.chance == 1
    assert found.kappa is found.kappa_low is None


def test_whole_questions_are_resampled():
    rng = np.random.default_rng(0)
    right = rng.integers(0, 2, 30)
    first = np.repeat(rng.integers(0, 2, 30), 20)
    second = np.where(np.repeat(right, 20) == 1, first, 1 - first)
    question = np.repeat(np.arange(30), 20).tolist()
    alone = agreement(first.tolist(), second.tolist())
    together = agreement(first.tolist(), second.tolist(), question)
    wide, narrow = (one.observed_high - one.observed_low for one in (together, alone))
    assert wide > 3 * narrow
    single = agreement([1, 0], [1, 1], ["a", "a"])
    assert single.observed == 0.5 and single.observed_low is None


def test_nothing_to_compare():
    with pytest.raises(ValueError, match="compared"):
        agreement([], [])
    with pytest.raises(ValueError, match="compared"):
        agreement([1], [1, 0])
