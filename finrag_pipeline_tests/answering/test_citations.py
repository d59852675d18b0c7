from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.answering.citations import NO_SOURCE, all_sources, as_json, cite, marked

QUESTION = "What was the capital expenditure of Alder in 2021?"
SOURCES = {
    "1": ("chunk-1", "Purchases of property, plant and equipment 1,577 1,373 in millions 2021 2020"),
    "2": ("chunk-2", "The company makes adhesives and tapes and has 90,000 employees."),
    "F1": ("calculation", "Result: capital expenditure = $1,577 million"),
}


def test_markers_in_every_place_and_form() -> None:
    cited = cite(
        "Property purchases were $1,577 million in 2021. [1] It makes adhesives [2]. Tapes too 【2】! "
        "Capital expenditure was $1,577 million [F1, 1]. It has 90,000 employees [Document 2].",
        SOURCES,
        QUESTION,
    )
    assert [one.sources for one in cited] == [
        ("chunk-1",), ("chunk-2",), ("chunk-2",), ("calculation", "chunk-1"), ("chunk-2",),
    ]  # fmt: skip
    assert all(one.supported and not one.unknown for one in cited)
    assert not any("[" in one.text or "【" in one.text for one in cited)
    assert all_sources(cited) == ("chunk-1", "chunk-2", "calculation")


def test_identifiers_that_were_not_retrieved_are_named() -> None:
    (one,) = cite("It makes adhesives [7][2][9].", SOURCES, QUESTION)
    assert (one.sources, one.unknown) == (("chunk-2",), ("7", "9"))


@pytest.mark.parametrize(
    "sentence",
    [
        "It has 80,000 employees [2].",  # the number is not there
        "The moon consists of cheese and wine [2].",  # the words are not there
        "It makes adhesives [7].",  # nothing retrieved is cited
        "The moon consists of cheese.",  # nothing is cited or found
        "It grew by 12.5%.",
    ],
)
def test_a_sentence_without_support_is_marked(sentence: str) -> None:
    cited = cite(f"Tapes are made [2]. {sentence}", SOURCES, QUESTION)
    assert [one.supported for one in cited] == [True, False]
    assert marked(cited).count(NO_SOURCE) == 1 and marked(cited).endswith(NO_SOURCE)


def test_a_sentence_without_a_marker_is_given_the_source_that_holds_it() -> None:
    (one,) = cite("The company has 90,000 employees.", SOURCES, QUESTION)
    assert (one.sources, one.supported) == (("chunk-2",), True)


def test_an_abstention_needs_no_source() -> None:
    (one,) = cite("Cannot be determined from the filings indexed.", SOURCES, QUESTION)
    assert one.supported and not one.sources


def test_json() -> None:
    cited = cite("It makes adhesives [2].", SOURCES, QUESTION)
    assert json.loads(as_json(cited)) == [
        {"text": "It makes adhesives.", "sources": ["chunk-2"], "unknown": [], "supported": True}
    ]


@given(st.text(max_size=300))
def test_any_text_can_be_cited(text: str) -> None:
    for one in cite(text, SOURCES, QUESTION):
        assert set(one.sources) <= {"chunk-1", "chunk-2", "calculation"}
