"""Filters before the search: the filings and the statements that a question is about."""

from __future__ import annotations

import pytest

from finrag_pipeline.retrieval.systems import SYSTEMS
from finrag_pipeline_tests.indexed_lake import IndexedLake
from finrag_pipeline_tests.retrieval.stand_ins import corpus_of, ids, rank, resolver

QUESTION = "What was the net revenue and the goodwill of the company?"


class TestFilters:
    def test_the_filings_asked_about_are_filtered_before_the_ranking(self, indexed: IndexedLake) -> None:
        corpus = corpus_of(indexed, {"resolver": resolver(*indexed.filings[1:3])})
        hits = rank(SYSTEMS["filtered_dense"], QUESTION, corpus)
        expected = rank(SYSTEMS["dense"], QUESTION, corpus, indexed.filings[1:3])
        assert ids(hits) == ids(expected)
        assert all(hit.why.endswith("; filings asked about") for hit in hits)

    def test_it_is_intersected_with_the_search_space(self, indexed: IndexedLake) -> None:
        corpus = corpus_of(indexed, {"resolver": resolver(*indexed.filings[1:3])})
        space = indexed.filings[2:]
        hits = rank(SYSTEMS["filtered_dense"], QUESTION, corpus, space)
        assert {hit.filing for hit in hits} == {indexed.filings[2]}
        outside = rank(SYSTEMS["filtered_dense"], QUESTION, corpus, indexed.filings[:1])
        assert ids(outside) == ids(rank(SYSTEMS["dense"], QUESTION, corpus, indexed.filings[:1])), (
            "no dead end"
        )
        assert not any("asked about" in hit.why for hit in outside)

    @pytest.mark.parametrize("allowed", [(), ("NOBODY_2020_10K",)])
    def test_no_match_is_no_filter(self, indexed: IndexedLake, allowed: tuple[str, ...]) -> None:
        corpus = corpus_of(indexed, {"resolver": resolver(*allowed)})
        for name, plain in (("filtered_dense", "dense"), ("statement_aware", "hybrid_rrf")):
            hits = rank(SYSTEMS[name], QUESTION, corpus)
            assert ids(hits) == ids(rank(SYSTEMS[plain], QUESTION, corpus))

    def test_statements_restrict_the_search_to_their_pages(self, indexed: IndexedLake) -> None:
        first, second = indexed.filings[:2]
        pages = {
            (first, 1, "income_statement"): frozenset({2020, 2021}),
            (first, 2, "financial_position"): frozenset({2021}),
            (first, 3, "cash_flows"): frozenset({2021}),
            (second, 1, "income_statement"): frozenset({2022}),
        }

        def found(question: str, year: int = 2021) -> set[tuple[str, int]]:
            tools = {"resolver": resolver(first, second, years=(year,)), "statement_pages": pages}
            corpus = corpus_of(indexed, tools)
            return {(hit.filing, hit.page) for hit in rank(SYSTEMS["statement_aware"], question, corpus)}

        assert found("What was the operating margin in FY2021?") == {(first, 1)}
        assert found("Return on assets?") == {(first, 1), (first, 2)}
        assert found("What happened?") == {(first, 1), (first, 2), (first, 3)}
        assert found("operating margin", 1999) == {(first, 1), (second, 1)}, (
            "a year that no page shows is left aside"
        )
