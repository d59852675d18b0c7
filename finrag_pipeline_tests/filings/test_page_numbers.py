"""Page numbers as printed."""

import pytest

from finrag_pipeline.filings.page_numbers import printed_numbers

TEXT = ["Net sales rose.", "Costs fell in 2024."]


def pages(*feet: str) -> list[list[str]]:
    return [[*TEXT, foot] if foot else TEXT for foot in feet]


@pytest.mark.parametrize(
    "foot", ["{}", "- {} -", "Page {} of 90", "Acme Corp. | 2024 Form 10-K | {}", "{} Acme Corp.", "{}."]
)
def test_numbers_at_the_foot(foot: str) -> None:
    assert printed_numbers(pages("", "", *map(foot.format, range(1, 7)))) == [
        None, None, "1", "2", "3", "4", "5", "6",
    ]  # fmt: skip


def test_numbers_at_the_head() -> None:
    found = printed_numbers([[f"{number} Acme Corp.", *TEXT] for number in (7, 8, 9)])
    assert found == ["7", "8", "9"]


def test_parts_of_a_filing_count_for_themselves() -> None:
    feet = ["i", "ii", "iii", "1", "2", "3", "F-1", "F-2", "S-1"]
    assert printed_numbers(pages(*feet)) == feet


def test_a_number_that_does_not_go_on_is_no_page_number() -> None:
    assert printed_numbers(pages("Total 17", "Total 90", "Form 10-K 2024", "Form 10-K 2024")) == [None] * 4


def test_a_page_without_its_number_stands_between_two_that_have_one() -> None:
    assert printed_numbers(pages("8", "", "10", "11")) == ["8", "9", "10", "11"]
