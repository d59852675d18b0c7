from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from finrag_pipeline.evaluation.intervals import cluster_bootstrap


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
