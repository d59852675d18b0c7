"""Kinds of words, and the segments that lines fall into."""

from __future__ import annotations

import numpy as np
import pytest

from finrag_pipeline.tables.model import PageWords
from finrag_pipeline.tables.words.rows import segment_lines
from finrag_pipeline.tables.words.tokens import (
    DASH,
    LEADER,
    MARK,
    NUMBER,
    PREFIX,
    SUFFIX,
    TEXT,
    YEAR,
    is_period,
    is_units,
    kind_of,
)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (
            NUMBER,
            [
                "5",
                "1,577",
                "(12.3)%",
                "$4,002.5",
                "(1,204)",
                "-7",
                "€2.487",
                "3.5x",
                "1,125(d)",
                "$(4)",
                "25bps",
            ],
        ),
        (DASH, ["—", "-", "–", "$—", "N/A", "NM", "n/a", "—%", "•"]),
        (PREFIX, ["$", "€", "(", "$("]),
        (SUFFIX, [")", "%", ")%", "pts"]),
        (YEAR, ["2031", "1999", "FY31", "Q1", "12/31/2031", "1Q31"]),
        (MARK, ["(a)", "(a)(b)", "¹"]),
        (LEADER, ["....", "…", "."]),
        (TEXT, ["Cash", "31,", "2020.", "January", "A-1", "net", "10-K", "1a"]),
    ],
)
def test_kinds(kind: int, words: list[str]) -> None:
    assert [word for word in words if kind_of(word) != kind] == []


@pytest.mark.parametrize(
    "text",
    [
        "(in millions)",
        "(In thousands, except per share data)",
        "Dollars in millions",
        "(Millions)",
        "$ in billions",
        "(amounts in thousands)",
        "(unaudited)",
        "($ million)",
        "(shares in millions)",
    ],
)
def test_units_lines(text: str) -> None:
    assert is_units(text)


@pytest.mark.parametrize(
    "text", ["Value of shares in deferred", "Amounts reclassified", "(average)", "Investments in"]
)
def test_no_units_lines(text: str) -> None:
    assert not is_units(text)


def test_periods() -> None:
    assert all(
        map(
            is_period,
            ["Years Ended December 31,", "Three months ended", "As of June 30, 2031", "Fiscal year"],
        )
    )
    assert not any(map(is_period, ["May be paid", "Six stores", "Retained earnings"]))


def _line(*words: tuple[float, float, str], height: float = 10) -> list[str]:
    boxes = np.array([(x0, 50, x1, 50 + height) for x0, x1, _ in words], np.float32)
    page = PageWords(0, 612, 792, "", boxes, tuple(word[2] for word in words))
    (line,) = segment_lines(page, np.arange(len(words)))
    return [segment.text for segment in line.segments]


def test_label_and_figures_are_segments() -> None:
    words = (50, 70, "Net"), (72.5, 95, "sales"), (300, 305, "$"), (340, 365, "1,204"), (380, 405, "1,190")
    assert _line(*words) == ["Net sales", "$ 1,204", "1,190"]


def test_numbers_within_text_stay_there() -> None:
    words = (50, 66, "Due"), (68, 90, "June"), (92, 103, "30,"), (105, 127, "2031"), (129, 140, "and")
    assert _line(*words) == ["Due June 30, 2031 and"]


def test_justified_text_is_not_torn_apart() -> None:
    words, x = [], 50.0
    for word in ("the", "plan", "of", "May", "2,", "2031", "and", "its", "12", "annexes", "is", "kept"):
        words.append((x, x + 5 * len(word), word))
        x += 5 * len(word) + 7.5
    assert len(_line(*words)) == 1


def test_leaders_part_a_label_from_its_number() -> None:
    words = (50, 70, "Cash"), (72, 280, "." * 60), (282, 300, "12")
    assert _line(*words) == ["Cash", "12"]


def test_a_currency_sign_begins_another_figure_behind_a_footnote_mark() -> None:
    words = (
        (50, 70, "Cash"),
        (300, 305, "$"),
        (320, 345, "8,399"),
        (348, 356, "(a)"),
        (360, 365, "$"),
        (380, 400, "7"),
    )
    assert _line(*words) == ["Cash", "$ 8,399 (a)", "$ 7"]


def test_periods_of_two_columns_that_stand_close_are_two_headers() -> None:
    words, x = [], 50.0
    for word, gap in zip(
        ["FISCAL", "2031", "FISCAL", "2030", "%", "CHANGE"], (1.8, 5.0, 1.8, 9.0, 1.8, 0), strict=True
    ):
        words.append((x, x + 5 * len(word), word))
        x += 5 * len(word) + gap
    assert _line(*words) == ["FISCAL 2031", "FISCAL 2030", "% CHANGE"]


def test_a_fiscal_year_in_text_begins_nothing() -> None:
    words, x = [], 50.0
    for word in ("sales", "of", "fiscal", "2031", "and", "fiscal", "2030"):
        words.append((x, x + 5 * len(word), word))
        x += 5 * len(word) + 4.5
    assert len(_line(*words)) == 1
