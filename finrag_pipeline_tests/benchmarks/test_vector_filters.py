from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.vector_filters import ExactScan, differences, filters
from finrag_pipeline.chunking.registry import CONTEXTUAL, FIXED, Chunking
from finrag_pipeline.resolver.resolver import load_resolver
from finrag_pipeline.retrieval.chunk_index import open_chunk_index
from finrag_pipeline.retrieval.filters import read_statement_pages
from finrag_pipeline.storage.vectors import VectorFilter, VectorIndex
from finrag_pipeline_tests.indexed_lake import PAGES, IndexedLake


def scan_of(index: VectorIndex) -> ExactScan:
    import lancedb

    return ExactScan(lancedb.connect(index._database.uri).open_table(index.name).to_arrow())


def every_filter(indexed: IndexedLake, kinds: list[str]) -> list[VectorFilter]:
    """All combinations of filings, pages, kinds and locations, and filters that allow nothing."""
    first, second, third, *_ = indexed.filings
    combinations = [
        VectorFilter(filings, pages, kind, locations)
        for filings in (None, (first,), (second, third, "no such filing"))
        for pages in (None, (1, PAGES - 1, 99))
        for kind in (None, *((kind,) for kind in kinds))
        for locations in (None, ((first, 1), (second, 0), (second, PAGES - 1), (third, 99)))
    ]
    nothing = [VectorFilter(filings=()), VectorFilter(pages=()), VectorFilter(kinds=())]
    return [*combinations, *nothing, VectorFilter(locations=()), VectorFilter(kinds=("no such kind",))]


@pytest.mark.parametrize("chunking", [FIXED, CONTEXTUAL], ids=lambda chunking: chunking.name)
def test_every_filter_equals_an_exact_scan(indexed: IndexedLake, chunking: Chunking) -> None:
    index = open_chunk_index(indexed.lake, indexed.encoder, indexed.settings, chunking)
    scan = scan_of(index)
    found_any = 0
    for number, where in enumerate(every_filter(indexed, scan.kinds)):
        question = indexed.questions[number % len(indexed.questions)]["question"]
        vector = indexed.encoder.embed_short([question])[0]
        depth = (3, 100)[number % 2]
        found = index.search(vector, depth, where)
        assert not differences(found, scan.units(scan.scores(vector), where), depth), where
        found_any += bool(found)
    assert found_any > 15


def test_filters_of_a_question_name_what_systems_search_by(indexed: IndexedLake) -> None:
    resolver = load_resolver(indexed.lake, indexed.filings)
    statement_pages = read_statement_pages(indexed.lake, indexed.filings)
    question = indexed.questions[1]
    made = list(filters(question, resolver, statement_pages, ["table_row", "text"]))
    assert {name for name, _ in made} == {
        "none",
        "filing",
        "filings named",
        "pages",
        "filing, pages",
        "locations of statements",
        "filings named, locations",
        "kind",
        "filing, kind",
        "filing, pages, kind",
    }
    assert dict(made)["filing, pages"] == VectorFilter((question["filing"],), tuple(question["gold_pages"]))


EXACT = {"a": 0.9, "b": 0.5, "c": 0.5, "d": 0.1}


class TestDifferences:
    @staticmethod
    def ranking(*names: str) -> list[dict[str, Any]]:
        return [{"unit_id": name, "score": EXACT.get(name, 0.3)} for name in names]

    @pytest.mark.parametrize("names", [("a", "b"), ("a", "c")])
    def test_ties_may_stand_in_any_order(self, names: tuple[str, ...]) -> None:
        assert differences(self.ranking(*names), EXACT, 2) == []

    @pytest.mark.parametrize(
        ("names", "problem"),
        [
            (("a",), "1 units instead of 2"),
            (("b", "a"), "place 0"),
            (("a", "d"), "place 1: d with 0.100000, expected 0.500000"),
            (("a", "a"), "2 units instead of 2"),
            (("a", "x"), "x does not pass the filter"),
        ],
    )
    def test_what_is_wrong_is_said(self, names: tuple[str, ...], problem: str) -> None:
        assert problem in " ".join(differences(self.ranking(*names), EXACT, 2))

    def test_a_wrong_score_is_said(self) -> None:
        assert differences([{"unit_id": "a", "score": 0.8}], EXACT, 1)


def test_the_scan_takes_the_best_row_of_a_unit(indexed: IndexedLake) -> None:
    index = open_chunk_index(indexed.lake, indexed.encoder, indexed.settings, FIXED)
    scan = scan_of(index)
    scores = np.linspace(0, 1, scan.rows)
    units = scan.units(scores, VectorFilter())
    assert max(units.values()) == 1.0
    assert len(units) < scan.rows, "some chunk has several windows"
    assert scan.allowed(VectorFilter(filings=())).sum() == 0
