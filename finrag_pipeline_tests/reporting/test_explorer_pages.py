from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.reporting.explorer_pages import fold, marked_boxes, marked_spans

PAGE = (
    "Net revenues of $8.4 billion in the current year compared to $4.7 billion in the prior year.\n"
    "Operating income of $1.4 billion in the current year compared to $2.3 billion in the prior year.\n"
    "Total inventories\n5,280\nOther"
)


def marked(text: str, *passages: str) -> list[str]:
    return [text[start:end] for start, end in marked_spans(text, passages)]


def test_a_passage_is_found_whatever_its_line_breaks_and_signs() -> None:
    found = marked(
        PAGE, "net revenues\nof 8.4 billion in the\ncurrent year compared to 4.7 billion in the prior year"
    )
    assert found == [PAGE.splitlines()[0]]


def test_words_that_are_used_up_mark_nothing_else() -> None:
    """ "billion in the current year compared to" stands twice on the page, and once in the passage."""
    assert "Operating" not in " ".join(marked(PAGE, PAGE.splitlines()[0]))
    assert len(marked(PAGE, PAGE.splitlines()[0])) == 1


def test_parts_in_another_order_are_found() -> None:
    first, second = PAGE.splitlines()[:2]
    assert " ".join(marked(PAGE, f"{second} {first}")).split() == f"{first} {second}".split()


def test_lines_of_a_table_are_found_one_by_one() -> None:
    assert marked(PAGE, "Total inventories\n$5,280\nOther") == ["Total inventories\n5,280\nOther"]
    apart = "Total inventories\nPrepaids\n5,280\n674"
    passage = "Total inventories\n5,280\nunlike the rest\nPrepaids\n674"
    assert marked(apart, passage) == ["Total inventories", "5,280\n674"], "single words are no evidence"


def test_chance_is_not_marked() -> None:
    passage = "a long passage about other things entirely, which only shares the words in the prior with it"
    assert marked(PAGE, passage) == []
    assert marked(PAGE, "in the prior") == ["in the prior"], "a short passage is looked for as it is"


def test_nothing_to_mark() -> None:
    assert marked(PAGE) == marked(PAGE, "") == marked(PAGE, "— …") == marked("", "words of it") == []


def test_boxes_join_on_a_line_and_not_across_lines() -> None:
    words = [
        {"text": text, "block": 0, "line": line, "x0": 10.0 * n, "y0": 20.0 * line, "x1": 10.0 * n + 8, "y1": 20.0 * line + 10}
        for n, (text, line) in enumerate(
            [("before", 0), ("capital", 0), ("expenditure", 0), ("rose", 1), ("sharply", 1), ("after", 1)]
        )
    ]  # fmt: skip
    boxes = marked_boxes(words, ["capital expenditure rose sharply"])
    assert boxes == [(10.0, 0.0, 28.0, 10.0), (30.0, 20.0, 48.0, 30.0)]


@pytest.mark.parametrize(("first", "second"), [("$5,363", "5363"), ("Ｎｅｔ", "net"), ("(1.5)", "15")])
def test_spellings_of_a_word(first: str, second: str) -> None:
    assert fold(first) == fold(second)


@given(st.text(max_size=200), st.lists(st.text(max_size=80), max_size=3))
def test_spans_are_ordered_and_lie_in_the_text(text: str, passages: list[str]) -> None:
    end = 0
    for start, stop in marked_spans(text, passages):
        assert end <= start < stop <= len(text)
        assert not text[start].isspace() and not text[stop - 1].isspace()
        end = stop


@given(st.lists(st.sampled_from(["net", "sales", "rose", "by", "5%", "in", "2022"]), min_size=3, max_size=40))
def test_a_text_repeats_itself_in_whole(words: list[str]) -> None:
    text = " ".join(words)
    assert marked_spans(text, [text]) == [(0, len(text))]
