from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from finrag_pipeline.chunking.fixed import chunk_pages
from finrag_pipeline.embedding.tokens import TokenCounter, token_counter
from finrag_pipeline.errors import UsageError
from finrag_pipeline.schemas import FILING_CHUNKS, FILING_PAGES, conform
from finrag_pipeline.settings import ChunkSettings, EncoderSettings

_NEEDED = pa.schema([FILING_PAGES.field(name) for name in ("filing", "page", "text", "needs_ocr")])


@pytest.fixture(scope="module")
def tokens(tiny_model: Path) -> TokenCounter:
    return token_counter(EncoderSettings(name=str(tiny_model)))


def _pages(*texts: str, unusable: tuple[int, ...] = ()) -> pa.Table:
    rows = [{"filing": "ACME", "page": n, "text": t, "needs_ocr": n in unusable} for n, t in enumerate(texts)]
    return pa.Table.from_pylist(rows, schema=_NEEDED)


def _words(text: str) -> list[str]:
    return text.split()


def test_a_short_page_is_one_chunk(tokens: TokenCounter) -> None:
    table = chunk_pages(
        _pages("  net revenue\nof the company \n"), ChunkSettings(tokens=64, overlap=16), tokens
    )
    assert conform(table, "filing_chunks").schema == FILING_CHUNKS
    assert table.to_pylist() == [
        {
            "chunk_id": "ACME/p0/c0",
            "filing": "ACME",
            "page": 0,
            "ordinal": 0,
            "kind": "text",
            "text": "net revenue\nof the company",
            "tokens": 5,
        }
    ]


def test_a_page_of_exactly_the_limit_is_one_chunk_and_one_token_more_makes_two(tokens: TokenCounter) -> None:
    settings = ChunkSettings(tokens=32, overlap=4)
    assert chunk_pages(_pages("revenue " * 32), settings, tokens).num_rows == 1
    assert chunk_pages(_pages("revenue " * 33), settings, tokens).num_rows == 2


def test_no_chunk_spans_two_pages_and_pages_without_text_give_none(tokens: TokenCounter) -> None:
    pages = _pages("revenue " * 70, "", " \n\t", "\ufffd" * 50, "income " * 10, unusable=(3,))
    table = chunk_pages(pages, ChunkSettings(tokens=32, overlap=8), tokens)
    assert set(table["page"].to_pylist()) == {0, 4}
    for row in table.to_pylist():
        assert set(_words(row["text"])) == {"revenue" if row["page"] == 0 else "income"}
        assert row["chunk_id"] == f"ACME/p{row['page']}/c{row['ordinal']}"
    ids = table["chunk_id"].to_pylist()
    assert len(set(ids)) == len(ids)


def test_no_pages(tokens: TokenCounter) -> None:
    assert chunk_pages(_pages(), ChunkSettings(tokens=32, overlap=8), tokens).schema == FILING_CHUNKS
    assert chunk_pages(_pages(""), ChunkSettings(tokens=32, overlap=8), tokens).num_rows == 0


def test_neighbours_overlap_by_about_the_setting(tokens: TokenCounter) -> None:
    words = [f"{first}{second}" for first in "abcdefghij" for second in "abcdefghij"]  # two tokens each
    table = chunk_pages(_pages(" ".join(words)), ChunkSettings(tokens=40, overlap=10), tokens)
    chunks = [_words(text) for text in table["text"].to_pylist()]
    assert len(chunks) > 4
    for one, other in pairwise(chunks):
        shared = len(one) - one.index(other[0])
        assert one[-shared:] == other[:shared]
        assert 4 <= shared <= 5, "up to ten tokens"


def test_paragraphs_are_kept_whole_where_they_fit(tokens: TokenCounter) -> None:
    paragraphs = [f"{word} " * 20 for word in ("revenue", "income", "cash", "debt")]
    table = chunk_pages(_pages("\n\n".join(paragraphs)), ChunkSettings(tokens=45, overlap=0), tokens)
    assert [set(_words(text)) for text in table["text"].to_pylist()] == [
        {"revenue", "income"},
        {"cash", "debt"},
    ]


@pytest.mark.parametrize(("limit", "overlap"), [(32, 32), (32, 40)])
def test_an_overlap_as_long_as_the_chunk_is_refused(tokens: TokenCounter, limit: int, overlap: int) -> None:
    with pytest.raises(UsageError, match=f"overlap \\({overlap}\\) is not smaller than the chunk \\({limit}"):
        chunk_pages(_pages("x"), ChunkSettings(tokens=limit, overlap=overlap), tokens)


_TEXT = st.lists(
    st.sampled_from(
        [
            "revenue",
            "1,577.0",
            "antidisestablishmentarianism",
            "(",
            ")",
            "$",
            "漢字",
            "naïve",
            "q" * 90,
            "…",
            "\u200b",
        ]
    )
    | st.text(max_size=8),
    max_size=120,
).flatmap(lambda words: st.sampled_from([" ", "\n", ". ", "\n\n", ""]).map(lambda gap: gap.join(words)))


def _tokenised(text: str, tokens: TokenCounter) -> str:
    """``text`` without white space and without signs that make no token: those may stand in two chunks."""
    return "".join(sign for sign in text if not sign.isspace() and tokens.count(sign))


@settings(max_examples=800, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_TEXT, st.sampled_from([(16, 0), (16, 8), (32, 31), (64, 16)]))
@example("a" * 2000, (16, 8))
@example("漢" * 500, (16, 0))
@example("x " * 40 + "y" * 99 + " z" * 40, (16, 0))
def test_every_chunk_is_within_the_limit_and_no_text_is_lost(
    tokens: TokenCounter, text: str, sizes: tuple[int, int]
) -> None:
    limit, overlap = sizes
    table = chunk_pages(_pages(text), ChunkSettings(tokens=limit, overlap=overlap), tokens)
    chunks = table["text"].to_pylist()
    assert table["tokens"].to_pylist() == [tokens.count(chunk) for chunk in chunks]
    assert max(table["tokens"].to_pylist(), default=0) <= limit
    assert table["ordinal"].to_pylist() == list(range(len(chunks)))
    assert all(chunk == chunk.strip() and chunk for chunk in chunks)
    flat, joined = _tokenised(text, tokens), "".join(_tokenised(chunk, tokens) for chunk in chunks)
    if overlap == 0:
        assert joined == flat
    else:
        assert len(joined) >= len(flat)


@settings(max_examples=800, deadline=None)
@given(
    st.integers(0, 300),
    st.sampled_from([(16, 8), (32, 31), (64, 16)]),
    st.sampled_from([" ", "\n", "\n\n", ". "]),
)
def test_chunks_that_overlap_hold_every_word_in_order(
    tokens: TokenCounter, count: int, sizes: tuple[int, int], gap: str
) -> None:
    words = [f"{number:04d}" for number in range(count)]
    table = chunk_pages(_pages(gap.join(words)), ChunkSettings(tokens=sizes[0], overlap=sizes[1]), tokens)
    expected = 0
    for text in table["text"].to_pylist():
        numbers = [int(word.strip(".")) for word in text.split()]
        assert numbers == list(range(numbers[0], numbers[-1] + 1))
        assert numbers[0] <= expected < numbers[-1] + 1, "it goes on where the last ended, or before"
        expected = numbers[-1] + 1
    assert expected == count


def test_other_settings_of_one_encoder_are_kept_apart(tokens: TokenCounter) -> None:
    page = _pages("revenue " * 100)
    small = chunk_pages(page, ChunkSettings(tokens=20, overlap=0), tokens).num_rows
    large = chunk_pages(page, ChunkSettings(tokens=50, overlap=0), tokens).num_rows
    assert (small, large) == (5, 2)
