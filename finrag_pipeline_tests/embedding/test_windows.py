from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from finrag_pipeline.embedding.tokens import TokenCounter, pool_windows, split_windows, token_counter
from finrag_pipeline.settings import EncoderSettings


@pytest.fixture(scope="module")
def tokens(tiny_model: Path) -> TokenCounter:
    return token_counter(EncoderSettings(name=str(tiny_model)))


@pytest.fixture(scope="module")
def spaces_in_tokens() -> TokenCounter:
    """A tokenizer that counts the space before a word to the word, as SentencePiece models do."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["▁the", "▁net", "▁revenue", "▁of", "2", "0", "▁", "▁com", "pany"]
    tokenizer = Tokenizer(
        models.BPE({word: n for n, word in enumerate(["<unk>", *words])}, [], unk_token="<unk>")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return TokenCounter(tokenizer)


_WORDS = [
    "the",
    "net",
    "revenue",
    "1,577.0",
    "(millions)",
    "$4.5",
    "naïve",
    "漢字",
    "…",
    "\u200b",
    "\x07",
    "q" * 40,
]
_ORDINARY = ["the", "net", "revenue", "of", "company", "fy22", "$45", "debt", "cash,"]


def _flat(text: str) -> str:
    return "".join(text.split())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.sampled_from(_WORDS) | st.text(max_size=6), max_size=150),
    st.sampled_from([" ", "\n", "", "  \t"]),
    st.integers(4, 60),
)
@example(["a" * 99] * 3, " ", 4)
@example(["漢" * 200], " ", 7)
@example(["\u200b", "revenue " * 20], "", 5)
def test_windows_hold_all_text_in_order_and_fit(
    tokens: TokenCounter, words: list[str], gap: str, limit: int
) -> None:
    text = gap.join(words)
    windows = split_windows(text, limit, tokens)
    assert "".join(map(_flat, windows)) == _flat(text)
    assert max(tokens.count_all(windows)) <= limit
    assert all(" ".join(window.split()) == window for window in windows)
    if len(windows) > 1:
        assert all(windows)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(_ORDINARY), min_size=1, max_size=600), st.sampled_from([30, 62, 126]))
def test_windows_of_ordinary_words_are_few_and_of_nearly_equal_length(
    tokens: TokenCounter, words: list[str], limit: int
) -> None:
    """No last window of a few stray words: short windows match everything."""
    windows = split_windows(" ".join(words), limit, tokens)
    counts = tokens.count_all(windows)
    assert [word for window in windows for word in window.split()] == words, "cut between words only"
    fewest = math.ceil(sum(counts) / limit)
    assert fewest <= len(windows) <= math.ceil(1.15 * fewest) + 1
    assert min(counts) >= 0.4 * max(counts)


def test_one_token_too_many_gives_two_halves(tokens: TokenCounter) -> None:
    words = ["revenue", "income", "cash", "debt", "tax"] * 6
    assert split_windows(" ".join(words), 30, tokens) == [" ".join(words)]
    one, two = split_windows(" ".join([*words, "risk"]), 30, tokens)
    assert (tokens.count(one), tokens.count(two)) == (16, 15)


def test_a_rest_of_stray_words_is_avoided_by_one_window_more(tokens: TokenCounter) -> None:
    """Sixty tokens fit two windows of thirty, but words of four tokens do not end at thirty."""
    text = " ".join(["abcd"] * 15)
    assert tokens.count(text) == 60
    assert tokens.count_all(split_windows(text, 30, tokens)) == [20, 20, 20]


def test_equal_passages_give_equal_windows_however_they_are_spaced(tokens: TokenCounter) -> None:
    assert split_windows(" net \n\n revenue\tof ", 30, tokens) == split_windows("net revenue of", 30, tokens)


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_no_text_is_one_empty_window(tokens: TokenCounter, text: str) -> None:
    assert split_windows(text, 30, tokens) == [""]


def test_words_stay_whole_where_tokens_hold_the_space(spaces_in_tokens: TokenCounter) -> None:
    words = ["net", "revenue", "of", "the", "company", "2020"] * 10
    windows = split_windows(" ".join(words), 16, spaces_in_tokens)
    assert [word for window in windows for word in window.split()] == words
    assert max(spaces_in_tokens.count_all(windows)) <= 16


def test_pooled_windows() -> None:
    one, two = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    found = pool_windows(np.stack([one, two, one, one, -one]), [2, 1, 2])
    np.testing.assert_allclose(found, [[math.sqrt(0.5), math.sqrt(0.5), 0.0], one, [0.0, 0.0, 0.0]])


class TestTokenCounter:
    def test_special_tokens_truncation_and_padding_of_the_file_do_not_count(
        self, tokens: TokenCounter
    ) -> None:
        assert tokens.count("revenue") == 1
        assert tokens.count("revenue " * 40) == 40, "the tokenizer's file cuts at sixteen and pads to it"
        assert tokens.count_all(["revenue " * 40, "", "net tax"]) == [40, 0, 2]
        assert tokens.count_all([]) == []

    def test_spans_point_into_the_text(self, tokens: TokenCounter) -> None:
        text = "Net  revénue, $5"
        assert [text[a:b] for a, b in tokens.spans(text)] == ["Net", "revénue", ",", "$", "5"]
