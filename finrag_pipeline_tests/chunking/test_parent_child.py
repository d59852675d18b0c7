from __future__ import annotations

from collections import defaultdict

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finrag_pipeline.chunking.fixed import CHILDREN, PARENTS, parent_child_chunks, parent_of
from finrag_pipeline.embedding.tokens import TokenCounter, token_counter
from finrag_pipeline.errors import UsageError
from finrag_pipeline.schemas import FILING_CHUNKS
from finrag_pipeline.settings import ChunkSettings, EncoderSettings


@pytest.fixture(scope="module")
def tokens(tiny_encoder_settings: EncoderSettings) -> TokenCounter:
    return token_counter(tiny_encoder_settings)


def _pages(*texts: str, needs_ocr: bool = False) -> pa.Table:
    return pa.table(
        {
            "filing": ["f"] * len(texts),
            "page": pa.array(range(len(texts)), pa.int32()),
            "text": list(texts),
            "needs_ocr": [needs_ocr] * len(texts),
        }
    )


def _cut(tokens: TokenCounter, *texts: str) -> list[dict]:
    table = parent_child_chunks(
        _pages(*texts), tokens, ChunkSettings(tokens=40, overlap=8), ChunkSettings(tokens=16, overlap=4)
    )
    assert table.schema == FILING_CHUNKS
    return table.to_pylist()


def test_sizes_are_those_of_the_published_code() -> None:
    assert (PARENTS.tokens, PARENTS.overlap, CHILDREN.tokens, CHILDREN.overlap) == (2048, 256, 512, 64)


def test_a_short_page_is_one_parent_with_one_child(tokens: TokenCounter) -> None:
    rows = _cut(tokens, "net income of the year", "total debt")
    assert [(row["chunk_id"], row["kind"], row["ordinal"]) for row in rows] == [
        ("f/p0/parent0", "parent", 0), ("f/p0/parent0/child0", "child", 1),
        ("f/p1/parent0", "parent", 0), ("f/p1/parent0/child0", "child", 1),
    ]  # fmt: skip
    assert [row["text"] for row in rows] == ["net income of the year"] * 2 + ["total debt"] * 2


def test_children_lie_in_their_parent_and_fill_it(tokens: TokenCounter) -> None:
    words = " ".join(f"revenue {n} income" for n in range(60))
    rows = _cut(tokens, words, "the end")
    parents = {row["chunk_id"]: row for row in rows if row["kind"] == "parent"}
    children = defaultdict(list)
    for row in rows:
        if row["kind"] == "child":
            children[parent_of(row["chunk_id"])].append(row)
    assert len(parents) > 4 and set(children) == set(parents)
    for parent_id, parent in parents.items():
        assert parent["tokens"] <= 40 and tokens.count(parent["text"]) == parent["tokens"]
        joined = set()
        for child in children[parent_id]:
            assert child["tokens"] <= 16 and child["text"] in parent["text"]
            assert (child["filing"], child["page"]) == (parent["filing"], parent["page"])
            joined |= set(child["text"].split())
        assert joined == set(parent["text"].split())
    assert any(len(found) > 2 for found in children.values())


def test_pages_without_usable_text_yield_none(tokens: TokenCounter) -> None:
    assert parent_child_chunks(_pages(" ", ""), tokens).num_rows == 0
    assert parent_child_chunks(_pages("text", needs_ocr=True), tokens).num_rows == 0


def test_an_overlap_as_long_as_the_chunk_is_refused(tokens: TokenCounter) -> None:
    with pytest.raises(UsageError, match="overlap"):
        parent_child_chunks(_pages("text"), tokens, children=ChunkSettings(tokens=16, overlap=16))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(max_size=400), max_size=3))
def test_identifiers_are_unique_and_in_order(tokens: TokenCounter, texts: list[str]) -> None:
    rows = _cut(tokens, *texts)
    assert len({row["chunk_id"] for row in rows}) == len(rows)
    places = [(row["page"], row["ordinal"]) for row in rows]
    assert places == sorted(set(places))
    assert all(row["chunk_id"].startswith(f"f/p{row['page']}/parent") for row in rows)
