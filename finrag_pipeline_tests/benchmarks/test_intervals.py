from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmarks.intervals import (
    SCORE_STUDIES,
    SIZES,
    STUDIES,
    ScoreStudy,
    Study,
    cluster_bootstrap,
    interval_coverage,
)


@pytest.fixture(scope="module")
def labelled() -> dict[str, dict[str, float]]:
    # 800 draws leave an error of about 0.008 (one standard deviation) on a coverage of 0.94.
    found: dict[str, dict[str, float]] = {}
    for row in interval_coverage(STUDIES, (), draws=800):
        found.setdefault(row["study"], {})[row["interval"]] = row["coverage"]
    return found


def test_the_intervals_in_use_cover(labelled):
    for study, intervals in labelled.items():
        assert intervals["clustered"] >= 0.94 - 0.018, study
        assert intervals.get("ppi", 1.0) >= 0.94 - 0.018, study


def test_wald_and_the_published_interval_do_not(labelled):
    assert labelled["29 labels, 97 %"]["wald"] < 0.7
    assert labelled["29 labels, 97 %"]["ppi_normal"] < 0.7
    for study in ("all of 40 × 20 answers labelled, 80 %", "all of 29 × 20 answers labelled, 97 %"):
        assert labelled[study]["wald"] < 0.6
    clustered = labelled["140 labels on 63 × 20 answers, 80 %"]
    assert clustered["wald"] < 0.88 and clustered["ppi_normal"] < 0.85
    assert labelled["three labels in each of 30 groups"]["wald"] < 0.6, "the design has weights"


def test_a_study_does_not_depend_on_the_others():
    one, other = Study("a", 30, 1, 10, 0.8), Study("b", 30, 2, 10, 0.8, 0.3)
    both = interval_coverage([other, one], (), draws=20)
    assert interval_coverage([one], (), draws=20) == [row for row in both if row["study"] == "a"]


@pytest.fixture(scope="module")
def scored() -> dict[str, dict[str, tuple[float, float]]]:
    # 1,000 draws leave an error of about 0.007 (one standard deviation) on a coverage of 0.94.
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for row in interval_coverage((), SCORE_STUDIES, draws=1000):
        found.setdefault(row["study"], {})[row["interval"]] = row["coverage"], row["half_width"]
    return found


def test_the_interval_of_means_covers_in_every_study(scored):
    assert set(scored) == {study.name for study in SCORE_STUDIES}
    for study, found in scored.items():
        assert found["clustered"][0] >= 0.94 - 0.016, study


def test_the_percentile_bootstrap_does_not_near_one_and_with_few_filings(scored):
    assert scored["hit of 29 filings, 97 %"]["bootstrap"][0] < 0.7
    assert scored["hit in 84 filings, 97 %"]["bootstrap"][0] < 0.92
    assert scored["overlap in 8 filings, 40 %"]["bootstrap"][0] < 0.92


def test_in_the_middle_it_is_hardly_wider(scored):
    for study in (
        "hit in 84 filings, 50 %",
        "page recall in 84 filings, 70 %",
        "overlap in 84 filings, 40 %",
    ):
        assert scored[study]["clustered"][1] < 1.08 * scored[study]["bootstrap"][1], study


def test_the_truth_weighs_filings_by_their_questions():
    assert (len(SIZES), sum(SIZES)) == (84, 150)
    assert ScoreStudy("", 84, 0.8, "hit").truth() == pytest.approx(0.8)
    # One filing of one question at 0.8, one of three at 0.5.
    assert ScoreStudy("", 9, 0.8, "hit", sizes=(1, 3), harder=0.3).truth() == pytest.approx(2.3 / 4)


@pytest.mark.parametrize("kind", ["hit", "page_recall", "overlap"])
def test_a_study_draws_what_it_says(kind):
    study = ScoreStudy("", 40, 0.7, kind)
    found = interval_coverage((), [study], draws=40)
    assert {row["interval"] for row in found} == {"clustered", "bootstrap"}
    assert all(0 <= row["coverage"] <= 1 and 0 < row["half_width"] < 0.3 for row in found)


def test_one_question_per_document_agrees_with_scipy():
    values = np.random.default_rng(0).beta(2, 3, size=60)
    mean, low, high = cluster_bootstrap(values[:, None], [str(i) for i in range(60)], 20_000, 0.95, 1)
    reference = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    assert mean[0] == pytest.approx(values.mean(), abs=1e-12)
    # Each end carries a Monte-Carlo error of about 0.0005 here.
    assert low[0] == pytest.approx(reference.low, abs=0.003)
    assert high[0] == pytest.approx(reference.high, abs=0.003)


def test_two_documents_worked_by_hand():
    # Documents a (two questions, sum 2) and b (one question, sum 0). Draws: aa 1/4, ab 1/2, bb 1/4, with the
    # ratio of sums 4/4, 2/3, 0/2.
    values = np.array([[1.0], [1.0], [0.0]])
    mean, low, high = cluster_bootstrap(values, ["a", "a", "b"], 4000, 0.95, 0)
    assert (mean[0], low[0], high[0]) == pytest.approx((2 / 3, 0, 1))
    _, low, high = cluster_bootstrap(values, ["a", "a", "b"], 4000, 0.4, 0)  # 30th and 70th percentile
    assert (low[0], high[0]) == pytest.approx((2 / 3, 2 / 3))


def test_the_interval_covers_the_truth_where_one_that_ignores_documents_does_not():
    rng = np.random.default_rng(5)
    repeats, documents, questions = 300, 40, 4
    # One series per repetition: document effects of standard deviation 1, question noise of 0.5, true mean 0.
    effects = rng.normal(size=(documents, 1, repeats))
    values = (effects + 0.5 * rng.normal(size=(documents, questions, repeats))).reshape(-1, repeats)
    clusters = [str(document) for document in range(documents) for _ in range(questions)]
    covered = {}
    for name, labels in (("documents", clusters), ("questions", [str(i) for i in range(len(values))])):
        _, low, high = cluster_bootstrap(values, labels, 600, 0.95, 7)
        covered[name] = np.mean((low <= 0) & (high >= 0))
    # 0.95 aimed at; the percentile interval of 40 documents reaches about 0.94, plus or minus 0.04 here.
    assert 0.90 <= covered["documents"] <= 0.985
    assert covered["questions"] < 0.80


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=4), min_size=2, max_size=8), st.integers(0, 2**63)
)
def test_the_interval_holds_the_mean_and_stays_within_the_values(documents, seed):
    values = np.array([value for document in documents for value in document])[:, None]
    clusters = [str(i) for i, document in enumerate(documents) for _ in document]
    mean, low, high = (float(end[0]) for end in cluster_bootstrap(values, clusters, 200, 0.95, seed))
    slack = 1e-12
    assert values.min() - slack <= low <= mean <= high <= values.max() + slack
    again = cluster_bootstrap(values, clusters, 200, 0.95, seed)
    assert (mean, low, high) == tuple(float(end[0]) for end in again)


def test_a_series_has_the_same_interval_alone_and_among_others():
    values = np.random.default_rng(1).random((30, 5))
    clusters = [str(i // 3) for i in range(30)]
    together = cluster_bootstrap(values, clusters, 500, 0.9, 3)
    alone = cluster_bootstrap(values[:, 2:3], clusters, 500, 0.9, 3)
    for all_series, one in zip(together, alone, strict=True):
        assert all_series[2] == pytest.approx(one[0], abs=1e-12)
    assert cluster_bootstrap(values, clusters, 500, 0.9, 4)[1].tolist() != together[1].tolist()


def test_one_document_has_a_mean_but_no_interval():
    mean, low, high = cluster_bootstrap(np.array([[0.0, 1.0], [1.0, 1.0]]), ["a", "a"], 100, 0.95, 0)
    assert mean.tolist() == [0.5, 1.0]
    assert np.isnan(low).all()
    assert np.isnan(high).all()


def test_no_questions_and_no_series():
    assert all(np.isnan(end).all() for end in cluster_bootstrap(np.empty((0, 3)), [], 100, 0.95, 0))
    assert all(len(end) == 0 for end in cluster_bootstrap(np.empty((3, 0)), list("abc"), 100, 0.95, 0))


@pytest.mark.parametrize(
    ("values", "clusters"),
    [(np.zeros(3), list("abc")), (np.zeros((3, 1)), ["a"]), (np.full((1, 1), np.nan), ["a"])],
)
def test_values_that_do_not_fit_are_refused(values, clusters):
    with pytest.raises(ValueError, match="values"):
        cluster_bootstrap(values, clusters, 100, 0.95, 0)
