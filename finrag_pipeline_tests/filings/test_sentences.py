"""Sentences: abbreviations of filings end none, bullets and blank lines end one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.filings.sentences import sentences


def test_abbreviations_of_filings_end_no_sentence() -> None:
    text = "The Company (incl. Alder Inc. and others) sold its U.S. business in Sept. 2021. It paid $3.5 million."
    assert sentences(text) == [
        "The Company (incl. Alder Inc. and others) sold its U.S. business in Sept. 2021.",
        "It paid $3.5 million.",
    ]


def test_lines_are_joined_and_bullets_stand_alone() -> None:
    text = "Sales rose because of\nhigher volumes.\n• New stores\n• Better prices\n\nCosts fell."
    assert sentences(text) == [
        "Sales rose because of higher volumes.",
        "• New stores",
        "• Better prices",
        "Costs fell.",
    ]


@given(st.text(max_size=300))
def test_no_word_is_lost_or_made_up(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())
