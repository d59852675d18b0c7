"""Labels of tables, one by one, against a question."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.rankers.page_ranker.lexical import (
    PageLabels,
    closest_label,
    label_scores,
    read_labels,
)
from finrag_pipeline.rankers.page_ranker.terms import terms


def printed(*pages: list[str]) -> PageLabels:
    return read_labels(pages, [[terms(text) for text in page] for page in pages])


def stemmed(*pages: list[list[str]]) -> PageLabels:
    return read_labels([[" ".join(label) for label in page] for page in pages], pages)


class Scores(NamedTuple):
    similarity: np.ndarray
    coverage: np.ndarray
    contained: np.ndarray


def scored(labels: PageLabels, query: list[str]) -> Scores:
    return Scores(*label_scores(labels, query))


def idf(pages: int, df: int) -> float:
    return math.log1p((pages - df + 0.5) / (df + 0.5))


class TestReading:
    def test_labels_of_each_page(self) -> None:
        labels = printed(["Finished goods", "Inventories"], [], ["December 31"])
        assert labels.pages.tolist() == [0, 0, 2] and labels.count == 3
        assert labels.texts == ("Finished goods", "Inventories", "December 31")
        assert set(labels.labels) == set(terms("finished goods inventories december 31"))
        assert labels.several.tolist() == [True, False, True]

    def test_equal_labels_of_a_page_count_once_and_empty_ones_never(self) -> None:
        labels = printed(["Net sales", "Net Sales:", "of the"], [""])
        assert labels.pages.tolist() == [0]

    def test_a_filing_without_tables_has_no_labels(self) -> None:
        scores = scored(printed([], []), ["sale"])
        assert scores.similarity.tolist() == scores.coverage.tolist() == scores.contained.tolist() == [0, 0]


class TestScores:
    LABELS = stemmed([["finish", "good"], ["total"]], [["good", "sold", "cost"]], [], [["total"]])

    def test_the_label_that_says_just_what_is_asked_is_best(self) -> None:
        scores = scored(self.LABELS, ["finish", "good"])
        assert scores.similarity[0] == pytest.approx(1) and scores.contained[0] == pytest.approx(1)
        assert scores.coverage[0] == pytest.approx(1)
        assert 0 < scores.similarity[1] < 1 and scores.similarity[2:].tolist() == [0, 0]

    def test_values_are_those_of_the_formula(self) -> None:
        scores = scored(self.LABELS, ["good", "cost"])
        good, one = idf(4, 2), idf(4, 1)
        assert scores.similarity[1] == pytest.approx(
            (good + one) / math.sqrt((good + one) * (good + 2 * one))
        )
        assert scores.contained[1] == pytest.approx((good + one) / (good + 2 * one))
        assert scores.coverage[0] == pytest.approx(good / (good + one))

    def test_a_label_of_one_term_is_contained_in_too_much_to_count(self) -> None:
        scores = scored(self.LABELS, ["total", "sale"])
        assert scores.contained.tolist() == [0, 0, 0, 0] and scores.similarity[3] > 0

    def test_a_term_that_no_label_holds_lowers_the_coverage(self) -> None:
        alone = scored(self.LABELS, ["finish"]).coverage[0]
        assert scored(self.LABELS, ["finish", "zebra"]).coverage[0] == pytest.approx(alone / 2)

    def test_an_empty_query_finds_nothing(self) -> None:
        assert not scored(self.LABELS, []).similarity.any()


class TestClosest:
    LABELS = printed(["Finished goods", "Cost of goods sold"], ["Total:"], [])

    def test_as_printed(self) -> None:
        assert closest_label(self.LABELS, terms("value of finished goods"), 0, 0.7) == "Finished goods"
        assert closest_label(self.LABELS, terms("cost of goods sold"), 0, 0.7) == "Cost of goods sold"
        assert closest_label(self.LABELS, terms("total"), 1, 0.99) == "Total:"

    @pytest.mark.parametrize(
        ("query", "page"), [("goods", 1), ("goods", 2), ("zebra", 0), ("finished zebra elephant giraffe", 0), ("", 0)]
    )  # fmt: skip
    def test_none_that_agrees_well_enough(self, query: str, page: int) -> None:
        assert closest_label(self.LABELS, terms(query), page, 0.7) is None


@given(
    st.lists(st.tuples(st.integers(0, 4), st.lists(st.sampled_from("abcdef"), min_size=1, unique=True))),
    st.lists(st.sampled_from("abcdefgh")),
)
def test_scores_are_shares(labels: list[tuple[int, list[str]]], query: list[str]) -> None:
    scores = scored(stemmed(*([words for at, words in labels if at == n] for n in range(5))), query)
    for values in (scores.similarity, scores.coverage, scores.contained):
        assert values.shape == (5,) and values.dtype == np.float32
        assert (values >= 0).all() and (values <= 1 + 1e-6).all()
    without = sorted({0, 1, 2, 3, 4} - {page for page, _ in labels})
    assert not scores.similarity[without].any()
    assert ((scores.similarity > 0) == (scores.coverage > 0)).all()
