from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.answering.passages import (
    Passage,
    page_source,
    passages_of,
    read_page_source,
    select_passages,
)
from finrag_pipeline.retrieval.component import Hit


def passage(source: str, text: str, filing: str = "A", page: int = 0) -> Passage:
    return Passage(source, filing, page, text)


THREE = [
    passage("c", "gamma " * 20, "B", 4),
    passage("a", "alpha " * 20, "A", 9),
    passage("b", "beta " * 20, "A", 2),
]


def test_hits_become_passages_and_empty_chunks_are_left_out() -> None:
    hits = [Hit(name, "A", page, 1.0, "") for page, name in enumerate(["x", "y", "z"])]
    found = passages_of(hits, {"x": "text", "y": "  "})
    assert [(one.source, one.place) for one in found] == [("x", "A, page 1")]


@pytest.mark.parametrize(
    ("order", "expected"), [("best_first", "cab"), ("best_last", "bac"), ("filing", "bac")]
)
def test_order(order, expected: str) -> None:
    assert "".join(one.source for one in select_passages(THREE, 5, 10_000, order)) == expected


def test_the_budget_cuts_the_last_passage_at_a_space() -> None:
    found = select_passages(THREE, 5, 130)
    assert [one.source for one in found] == ["c"] and len(found[0].text) <= 130
    found = select_passages(THREE, 5, 50)
    assert found[0].text == "gamma " * 7 + "gamma"
    assert [one.source for one in select_passages(THREE, 2, 10_000)] == ["c", "a"]


def test_what_says_nothing_new_is_left_out() -> None:
    found = select_passages(
        [
            passage("1", "Net sales rose by two per cent."),
            passage("1", "the same source again"),
            passage("2", "Net  sales rose\nby two per cent."),
            passage("3", "sales rose by two"),
            passage("4", "sales rose by two", filing="B"),
        ],
        9,
        10_000,
    )
    assert [one.source for one in found] == ["1", "4"]


@given(
    st.lists(st.tuples(st.text(max_size=300), st.sampled_from("AB")), max_size=8),
    st.integers(1, 5),
    st.integers(1, 600),
)
def test_budgets_hold(texts: list[tuple[str, str]], count: int, characters: int) -> None:
    given_passages = [passage(str(n), text, filing, n) for n, (text, filing) in enumerate(texts)]
    found = select_passages(given_passages, count, characters)
    assert len(found) <= count and sum(len(one.text) for one in found) <= characters
    for one in found:
        assert texts[one.page][0].startswith(one.text)


def test_the_identifier_of_a_page_can_be_read_again():
    for filing in ("ALDER_2021_10K", "A#page=3_memo"):
        assert read_page_source(page_source(filing, 12)) == (filing, 12)
    assert read_page_source("ALDER_2021_10K/p12/c0") is None
    assert read_page_source("ALDER_2021_10K#page=x") is None
