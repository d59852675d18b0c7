from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.rankers.page_ranker.terms import STOP_WORDS, terms


def test_inflection_and_stop_words_go_and_numbers_stay_as_printed() -> None:
    assert terms("What were the company’s Inventories in FY2021, at $1,234.5 million?") == [
        "compani",
        "inventori",
        "fy2021",
        "1,234.5",
        "million",
    ]


def test_possessives_of_either_quote_are_one_word() -> None:
    assert terms("shareholders' equity") == terms("shareholder’s equity") == ["sharehold", "equiti"]


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    found = terms(text)
    assert all(term and term == term.lower() and not term.isspace() for term in found)
    assert not STOP_WORDS.intersection(terms(" ".join(STOP_WORDS)))
