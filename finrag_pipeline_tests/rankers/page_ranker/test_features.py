from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.rankers.page_ranker.features import (
    FilingPages,
    filing_pages,
    neighbours,
    question_features,
    rank_feature,
    relative,
)
from finrag_pipeline.rankers.page_ranker.needs import read_needs
from finrag_pipeline_tests.rankers.page_ranker.made_up import FILING, annual_report, profile

DENSE = {"question_window": np.array([0.1, 0.4, 0.2, 0.3], np.float32)}
CAPEX = "What was capital expenditure in FY2021?"
CURRENT = "What is the current ratio on the balance sheet?"


@pytest.fixture(scope="module")
def pages() -> FilingPages:
    return annual_report()


def of(question: str, pages: FilingPages) -> dict[str, np.ndarray]:
    return question_features(read_needs(question), pages, DENSE)


class TestShapes:
    def test_one_finite_number_per_page(self, pages: FilingPages) -> None:
        for name, values in of(CAPEX, pages).items():
            assert values.shape == (4,), name
            assert values.dtype == np.float32, name
            assert np.isfinite(values).all(), name

    @given(st.text(max_size=80))
    def test_the_same_names_in_the_same_order_for_every_question(self, question: str) -> None:
        pages = annual_report()
        assert list(of(question, pages)) == list(of(CAPEX, pages))

    def test_the_same_names_for_every_filing(self, pages: FilingPages) -> None:
        one = filing_pages({**FILING, "form": None}, [profile(0, "")])
        none = filing_pages(FILING, [])
        for other, count in ((one, 1), (none, 0)):
            dense = {"question_window": np.zeros(count, np.float32)}
            if count:
                found = question_features(read_needs(CAPEX), other, dense)
                assert list(found) == list(of(CAPEX, pages))
                assert all(np.isfinite(values).all() for values in found.values())
            assert {values.shape for values in other.static.values()} == {(count,)}

    def test_what_no_question_changes(self, pages: FilingPages) -> None:
        static = pages.static
        assert static["position"].tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1])
        assert static["pages_of_filing"].tolist() == [4] * 4
        assert static["section_statements"].tolist() == [0, 0, 1, 1]
        assert static["section_notes"].tolist() == [0, 0, 0, 1]
        assert static["form_10-K"].tolist() == [1] * 4 and not static["form_10-Q"].any()
        assert static["in_note"].tolist() == [0, 0, 0, 1]
        assert static["primary_statements"].tolist() == [0, 0, 1, 1]
        assert static["side_statements"].tolist() == [0, 1, 0, 0]
        assert static["numeric_share"].tolist() == pytest.approx([0, 0, 3 / 7, 0])


class TestStatements:
    def test_the_statement_that_is_named(self, pages: FilingPages) -> None:
        found = of(CURRENT, pages)
        assert found["statement_named"].tolist() == found["statement_asked"].tolist() == [0, 0, 1, 0]
        assert found["statement_side"].tolist() == [0, 1, 0, 0]
        assert found["statement_size"].tolist() == [0, 0, 1, 0]
        assert found["q_named"].tolist() == [1] * 4

    def test_the_statement_that_a_metric_stands_on(self, pages: FilingPages) -> None:
        found = of(CAPEX, pages)
        assert not found["statement_named"].any()
        assert found["statement_asked"].tolist() == [0, 0, 0, 1]
        # 10 facts against 20 of the largest statement page.
        assert found["statement_size"].tolist() == [0, 0, 0, 0.5]

    def test_concepts_of_primary_statements_of_others_and_of_the_year(self, pages: FilingPages) -> None:
        found = of(CAPEX, pages)
        assert found["concepts_primary"].tolist() == [0, 0, 0, 1]
        assert found["concepts_other"].tolist() == [0, 1, 0, 0]
        assert found["concepts_dated"].tolist() == [0, 1, 0, 1]
        assert found["years_named"].tolist() == [1, 1, 0, 0]
        two = of("Current ratio, FY2020 and FY2021?", pages)
        assert two["concepts_primary"].tolist() == [0, 0, 1, 0]
        # One of the two concepts has a year: two of four.
        assert two["concepts_dated"].tolist() == [0, 0, 0.5, 0]

    def test_a_question_without_needs_has_none_of_it(self, pages: FilingPages) -> None:
        found = of("Who painted the ceiling?", pages)
        for name in (
            "statement_named",
            "statement_asked",
            "statement_size",
            "concepts_primary",
            "section_match",
        ):
            assert not found[name].any(), name

    def test_sections(self, pages: FilingPages) -> None:
        assert of("What drove growth?", pages)["section_match"].tolist() == [0, 1, 0, 0]


class TestWords:
    def test_words_and_labels(self, pages: FilingPages) -> None:
        found = of(CAPEX, pages)
        assert found["bm25_words_body"].argmax() == 3, "the shorter page of the two that hold the words"
        assert found["bm25_words_body"].max() == 1.0
        assert found["bm25_words_body_near"].tolist()[2] == 1.0
        assert found["pairs_body"].tolist() == [0, 1, 0, 1]
        assert of(CURRENT, pages)["bm25_terms_labels"].argmax() == 2

    def test_similarity(self, pages: FilingPages) -> None:
        found = of(CAPEX, pages)
        assert found["dense_question_window"].tolist() == pytest.approx([0.1, 0.4, 0.2, 0.3])
        assert found["dense_question_window_top"].tolist() == pytest.approx([-0.3, 0.0, -0.2, -0.1], abs=1e-6)
        assert found["dense_question_window_near"].tolist() == pytest.approx([0.4, 0.2, 0.4, 0.2])
        assert found["dense_question_window_rank"].tolist() == pytest.approx([1 / 4, 1, 1 / 3, 1 / 2])
        assert found["dense_question_window_z"].mean() == pytest.approx(0, abs=1e-6)

    def test_pages_that_are_all_alike(self, pages: FilingPages) -> None:
        flat = question_features(read_needs(CAPEX), pages, {"any": np.full(4, 0.5, np.float32)})
        assert not flat["dense_any_z"].any() and np.isfinite(flat["dense_any_rank"]).all()


class TestParts:
    def test_relative(self) -> None:
        assert relative(np.array([1.0, 4.0, 0.0])).tolist() == [0.25, 1.0, 0.0]
        assert relative(np.zeros(2)).tolist() == [0, 0] and relative(np.empty(0)).shape == (0,)

    def test_rank(self) -> None:
        assert rank_feature(np.array([0.0, 3.0, 1.0, 3.0])).tolist() == pytest.approx([0, 1, 1 / 3, 1 / 2])

    def test_neighbours(self) -> None:
        assert neighbours(np.array([1.0, 2.0, 5.0])).tolist() == [2, 5, 2]
        assert neighbours(np.array([7.0])).tolist() == [0]
