from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finrag_pipeline.chunking.contextual import cut, fit, join_context
from finrag_pipeline.embedding.tokens import TokenCounter, token_counter
from finrag_pipeline.settings import EncoderSettings

_TEXT = st.text(st.sampled_from("revenue income 1,577 (383) $ %–é\n|"), max_size=200)


@pytest.fixture(scope="module")
def tokens(tiny_model: Path) -> TokenCounter:
    return token_counter(EncoderSettings(name=str(tiny_model)))


def test_context_says_nothing_twice_in_a_row() -> None:
    assert (
        join_context("ACME", "", "Item 8", "item 8", "  Total \n assets ") == "ACME | Item 8 | Total assets"
    )
    assert join_context("", "") == ""


def test_what_fits_stays_one_text(tokens: TokenCounter) -> None:
    assert fit("net", ["revenue", "income"], " | ", 50, tokens) == ["net | revenue | income"]
    assert fit("", ["revenue"], "\n", 50, tokens) == ["revenue"]


def test_a_long_table_repeats_its_context(tokens: TokenCounter) -> None:
    rows = [f"revenue {n} income" for n in range(40)]
    texts = fit("net cash", rows, "\n", 32, tokens)
    assert len(texts) > 2
    assert all(text.startswith("net cash\n") for text in texts)
    assert [line for text in texts for line in text.split("\n")[1:]] == rows


def test_a_context_that_is_too_long_is_cut_and_leaves_half_for_content(tokens: TokenCounter) -> None:
    texts = fit("revenue " * 200, ["income"] * 30, " | ", 40, tokens)
    assert all(tokens.count(text) <= 40 for text in texts)
    assert sum(text.count("income") for text in texts) == 30
    assert len(texts) <= 5


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(context=_TEXT, parts=st.lists(_TEXT, max_size=8), limit=st.integers(16, 60))
def test_no_text_is_longer_than_the_limit_and_no_word_is_lost(
    tokens: TokenCounter, context: str, parts: list[str], limit: int
) -> None:
    texts = fit(context, parts, " | ", limit, tokens)
    assert all(tokens.count(text) <= limit for text in texts)
    letters = [character for character in "".join(parts) if not character.isspace()]
    found = "".join(texts)
    for character in set(letters):
        assert found.count(character) >= letters.count(character)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=_TEXT, limit=st.integers(4, 30))
def test_cut_keeps_every_character_but_white_space(tokens: TokenCounter, text: str, limit: int) -> None:
    pieces = cut(text, limit, tokens)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(tokens.count(piece) <= limit for piece in pieces)
