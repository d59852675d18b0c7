"""The part of a company that the text around a table is about."""

from __future__ import annotations

from collections.abc import Sequence

from finrag_pipeline.answering.part_sections import part_sections
from finrag_pipeline.statements.filing_rows import FilingRow


def row(page: int, table: int, *path: str, columns: Sequence[str] = ()) -> FilingRow:
    return FilingRow("TORVEX_2023_10K", page, table, 0, "", path, tuple(columns), None, None, ())


BY_PART = [
    row(1, 0, "Toner Services"),
    row(1, 0, "Paper & Board"),
    row(1, 0, "Total"),
]
FIGURES = [row(5, 0, "Headcount"), row(6, 0, "Backlog"), row(7, 0, "Headcount"), row(9, 0, "Headcount")]
PAGES = [
    (1, "Sales by segment\nToner Services\n5\nPaper & Board\n7\nTotal\n12\n"),
    (5, "TONER SERVICES\nIt had a good year.\nHeadcount\n12\n"),
    (6, "Backlog\n3\nPAPER AND BOARD SEGMENT\nIt had none.\n"),
    (7, "Headcount\n30\n"),
    (9, "Headcount\n42\n"),
]
CELLS = {1: {"Toner Services", "Paper & Board", "Total"}, 5: {"Headcount"}, 6: {"Backlog"}}


def test_a_section_holds_up_to_the_next_and_the_last_as_long_as_the_one_before() -> None:
    assert part_sections([*BY_PART, *FIGURES], PAGES, CELLS) == {
        (5, 0): "TONER SERVICES",
        (6, 0): "TONER SERVICES",
        (7, 0): "PAPER AND BOARD SEGMENT",
    }


def test_what_tables_do_not_print_beside_each_other_is_no_part() -> None:
    assert part_sections([row(1, 0, "Toner Services"), *FIGURES], PAGES, CELLS) == {}


def test_cells_and_known_lines_are_no_headings() -> None:
    lines = [row(1, 0, "Inventories"), row(1, 0, "Goodwill")]
    pages = [(2, "Inventories\nThey are counted.\n"), (3, "Goodwill\nIt is tested.\nHeadcount\n4\n")]
    assert part_sections([*lines, row(3, 0, "Headcount")], pages, {}) == {}
    as_cells = {5: {"TONER SERVICES"}, 6: {"PAPER AND BOARD SEGMENT"}}
    assert part_sections([*BY_PART, *FIGURES], PAGES, CELLS | as_cells) == {}
