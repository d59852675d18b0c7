"""The published figures: complete, of the kind they claim to be, and attached to systems we have."""

from __future__ import annotations

import pytest

from finrag_pipeline.evaluation.corpus_statistics import STATISTICS, TOTALS
from finrag_pipeline.evaluation.published import (
    COMPARED_WITH,
    METRICS,
    PUBLICATIONS,
    PUBLISHED,
    PUBLISHED_STATISTICS,
    is_comparable,
    published_figure,
)
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import SYSTEMS


def value(paper: str, system: str, space: str, metric: str) -> float:
    figure = published_figure(paper, system, space, metric, 5)
    assert figure is not None
    return figure.value


# Rows that the English paper's table does not have.
NOT_IN = {"english": {("query_expansion", "corpus"), ("hyde", "corpus")}}


def rows_of(paper: str) -> set[tuple[str, str]]:
    return {(figure.system, figure.space) for figure in PUBLISHED if figure.paper == paper}


def test_every_row_is_complete_in_every_publication() -> None:
    rows = {(figure.system, figure.space) for figure in PUBLISHED}
    assert {("bm25", "corpus"), ("splade", "corpus"), ("page_scorer", "corpus")} <= rows
    assert {("dense", "corpus"), ("dense", "filing"), ("dense", "pages")} <= rows
    for paper in PUBLICATIONS:
        assert rows_of(paper) == rows - NOT_IN.get(paper, set()), paper
    assert len(PUBLISHED) == sum(len(rows_of(paper)) for paper in PUBLICATIONS) * len(METRICS)
    assert all(figure.system in SYSTEMS and Space(figure.space) and figure.note for figure in PUBLISHED)
    assert COMPARED_WITH in PUBLICATIONS


@pytest.mark.parametrize("paper", PUBLICATIONS)
def test_figures_obey_the_definitions_of_their_metrics(paper: str) -> None:
    for system, space in rows_of(paper):
        document, page, bleu, rouge = (value(paper, system, space, metric) for metric in METRICS)
        assert 0 < bleu < rouge < 1
        assert page <= document, "a gold page stands in the gold filing"
        if space != "corpus":
            assert document == 1.0
    assert value(paper, "dense", "pages", "page_rec") == 1.0
    pages = [value(paper, "dense", space, "page_rec") for space in ("corpus", "filing", "pages")]
    assert pages == sorted(pages), "a smaller oracle space finds more gold pages"


def test_the_thesis_corrects_the_baselines_of_the_papers() -> None:
    for system in ("bm25", "dense", "hybrid_rrf"):
        for metric in METRICS:
            assert value("french", system, "corpus", metric) == value("english", system, "corpus", metric)
        assert value("thesis", system, "corpus", "doc_rec") > value("french", system, "corpus", "doc_rec")


def test_unknown_figures_are_none() -> None:
    assert published_figure("thesis", "bm25", "filing", "page_rec", 5) is None
    assert published_figure("thesis", "bm25", "corpus", "page_rec", 10) is None


def test_statistics_are_those_of_our_table() -> None:
    for statistic in PUBLISHED_STATISTICS:
        assert statistic.statistic in STATISTICS
        assert (statistic.std is None) == (statistic.statistic in TOTALS)
    mean = {statistic.statistic: statistic.mean for statistic in PUBLISHED_STATISTICS}
    assert mean["pages"] / mean["documents"] == pytest.approx(mean["pages_per_document"], abs=0.05)


def test_only_the_full_benchmark_is_comparable() -> None:
    assert is_comparable(150, 84)
    assert not is_comparable(149, 84)
    assert not is_comparable(150, 83)
