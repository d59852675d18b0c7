from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.evaluation.intervals import normal_quantile, wald, wilson
from finrag_pipeline.evaluation.ppi import power_tuning, ppi_mean, ppi_proportion
from finrag_pipeline_tests.recorded_data import DATA, needs_data, read_json


def test_worked_by_hand():
    # y = 1 1 0 0, f = 1 0 0 0: cov = 1/8; f and f~ hold two ones in eight: var = 8/7 · 3/16; n/N = 1.
    found = ppi_mean([1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0])
    assert found.lam == pytest.approx((1 / 8) / (2 * 8 / 7 * 3 / 16))
    assert found.estimate == pytest.approx(0.5)
    residual = np.var([1 - found.lam, 1, 0, 0])
    error = np.sqrt(found.lam**2 * 3 / 16 / 4 + residual / 4)
    assert found.high - found.estimate == pytest.approx(normal_quantile(0.95) * error)


def test_without_a_useful_judge_it_is_the_survey_of_the_labels():
    labels = [1] * 28 + [0]
    found = ppi_mean(labels, [1] * 29, [1] * 300)
    classical = wald(28, 29)
    assert found.lam == 0
    assert (found.low, found.high) == pytest.approx((classical.low, classical.high))
    assert found.effective_n == pytest.approx(29)
    opposed = ppi_mean([1, 0, 1, 0], [0, 1, 0, 1], [0, 1, 1])
    assert opposed.lam == 0, "λ stays within [0, 1]"


def test_power_tuning():
    assert power_tuning(0.1, 0.2, 0.0) == pytest.approx(0.5)
    assert power_tuning([9.0, -1.0, 0.1], [1.0, 1.0, 0.0], 0.5).tolist() == [1, 0, 0]


@needs_data("ppi_py", "binary_cases.json")
def test_the_recorded_binary_cases():
    recorded = read_json("ppi_py", "binary_cases.json")
    assert len(recorded["cases"]) == 20
    for case in recorded["cases"]:
        ones = case["unlabeled_ones"]
        others = [1] * ones + [0] * (case["n_unlabeled"] - ones)
        for name, lam in (("lam_opt", None), ("lam_1", 1.0)):
            found = ppi_mean(case["y"], case["yhat"], others, 1 - recorded["alpha"], lam)
            assert (found.estimate, found.low, found.high) == pytest.approx(case[name], abs=1e-9)


@needs_data("ppi_py", "expected_mean_ci.json")
def test_the_recorded_forest_cases():
    recorded = read_json("ppi_py", "expected_mean_ci.json")
    assert len(recorded["cases"]) == 80
    with np.load(DATA / "ppi_py" / "forest_badmodel.npz") as forest:
        labels, verdicts = forest["Y"].astype(float), forest["Yhat"].astype(float)
    for case in recorded["cases"]:
        order = np.random.default_rng(case["seed"]).permutation(len(labels))
        first, rest = order[: case["n"]], order[case["n"] :]
        found = ppi_mean(labels[first], verdicts[first], verdicts[rest], 1 - recorded["alpha"], case["lam"])
        expected = (case["point"], case["lo"], case["hi"])
        assert (found.estimate, found.low, found.high) == pytest.approx(expected, abs=1e-9)


class TestFewOrClusteredLabels:
    def test_a_judge_that_says_nothing_leaves_wilson(self):
        found = ppi_proportion([1] * 28 + [0], [1] * 29, [1] * 300)
        plain = wilson(28, 29)
        assert (found.estimate, found.lam) == (pytest.approx(28 / 29), 0)
        assert found.effective_n == pytest.approx(29)
        assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=0.01)

    def test_a_perfect_judge_on_few_answers_is_not_taken_for_granted(self):
        labels = [1] * 28 + [0]
        normal = ppi_mean(labels, labels, [1] * 970 + [0] * 30)
        careful = ppi_proportion(labels, labels, [1] * 970 + [0] * 30)
        assert careful.high - careful.low > 3 * (normal.high - normal.low)

    def test_a_good_judge_on_many_answers_helps(self):
        rng = np.random.default_rng(3)
        truth = rng.random(4000) < 0.8
        verdicts = np.where(rng.random(4000) < 0.95, truth, ~truth).astype(float)
        found = ppi_proportion(truth[:200].astype(float), verdicts[:200], verdicts[200:])
        assert found.effective_n > 400
        assert found.low < 0.8 < found.high

    def test_agrees_with_the_published_method_in_large_samples(self):
        rng = np.random.default_rng(4)
        truth = rng.random(20_000) < 0.7
        verdicts = np.where(rng.random(20_000) < 0.8, truth, ~truth).astype(float)
        sample = truth[:3000].astype(float), verdicts[:3000], verdicts[3000:]
        ours, theirs = ppi_proportion(*sample), ppi_mean(*sample)
        assert ours.estimate == pytest.approx(theirs.estimate, abs=1e-5)
        assert ours.lam == pytest.approx(theirs.lam, abs=1e-4)
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=5e-4)

    def test_answers_of_one_question_widen_the_interval(self):
        rng = np.random.default_rng(5)
        rates = rng.beta(0.8, 0.2, 60)
        question = np.repeat(np.arange(60), 20)
        truth = rng.random(1200) < rates[question]
        verdicts = np.where(rng.random(1200) < 0.8, truth, ~truth).astype(float)
        chosen = np.zeros(1200, dtype=bool)
        chosen[rng.choice(1200, 300, replace=False)] = True
        sample = truth[chosen].astype(float), verdicts[chosen], verdicts[~chosen]
        naive = ppi_proportion(*sample)
        robust = ppi_proportion(
            *sample, clusters=question[chosen].tolist(), judged_clusters=question[~chosen].tolist()
        )
        assert robust.effective_n < 0.5 * naive.effective_n

    def test_weights_carry_the_design(self):
        # Labels: three of each stratum. The big one fails, the judge sees nothing.
        found = ppi_proportion(
            [0, 0, 0, 1, 1, 1], [1, 0, 1, 0, 1, 0], [1, 0] * 55, weights=[100 / 3] * 3 + [10 / 3] * 3
        )
        assert found.estimate == pytest.approx(10 / 110, abs=0.02)

    @pytest.mark.parametrize(
        "changes",
        [
            {"clusters": ["a", "b"]},
            {"clusters": ["a", "b", "c"], "judged_clusters": ["a"]},
            {"weights": [1.0, -1.0]},
        ],
    )
    def test_what_does_not_fit(self, changes):
        with pytest.raises(ValueError):
            ppi_proportion([1, 0], [1, 1], [1, 0], **changes)

    def test_a_label_that_is_missing_is_no_label(self):
        with pytest.raises(ValueError, match="finite"):
            ppi_mean([1, np.nan], [1, 1], [1, 0])
        with pytest.raises(ValueError, match="between"):
            ppi_proportion([1, 2], [1, 1], [1, 0])


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 4)), min_size=1, max_size=25),
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 6)), min_size=1, max_size=40),
)
def test_always_an_interval_around_the_estimate(labelled, others):
    labels, verdicts, clusters = (list(column) for column in zip(*labelled, strict=True))
    judged, judged_clusters = (list(column) for column in zip(*others, strict=True))
    found = ppi_proportion(labels, verdicts, judged, clusters=clusters, judged_clusters=judged_clusters)
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert 0 <= found.lam <= 1 and found.effective_n > 0
