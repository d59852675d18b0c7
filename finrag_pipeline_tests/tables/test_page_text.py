from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finrag_pipeline.tables.model import FilingWords, PageWords, Table
from finrag_pipeline.tables.page_text.detector import PageTextDetector


def page_of(text: str, number: int = 40) -> PageWords:
    nothing = np.zeros(0, np.int32)
    return PageWords(number, 0, 0, text, np.zeros((0, 4), np.float32), (), nothing, nothing)


def tables_of(text: str, number: int = 40) -> list[Table]:
    (tables,) = PageTextDetector().detect(FilingWords("filing", (page_of(text, number),)))
    return tables


def blocks(*groups: str) -> str:
    """Blocks parted by blank lines; lines within a block are parted by '|'."""
    return "\n\n".join(group.replace("|", "\n") for group in groups)


BALANCE = blocks(
    "52",
    "Northwind Mills, Inc.|Consolidated Balance Sheets|(In millions, except par value)",
    "ASSETS",
    "Current assets:",
    "Cash and cash equivalents|Accounts receivable, net|Inventories",
    "Total current assets",
    "Property and equipment, net|Goodwill",
    "Total assets",
    "LIABILITIES AND STOCKHOLDERS’ EQUITY|Current liabilities:",
    "Accounts payable|Accrued liabilities",
    "Total current liabilities",
    "Long-term debt|Commitments and contingencies (Note 9)|Stockholders’ equity:",
    "Common stock, $0.01 par value; 500 shares authorized; 120 and 118 shares issued and outstanding at|"
    "December 31, 2022 and 2021, respectively|Retained earnings",
    "Total stockholders’ equity",
    "Total liabilities and stockholders’ equity",
    "$|$",
    "2022",
    "2021",
    "1,374  $|536|1,730",
    "3,640",
    "4,470|890",
    "9,000  $",
    "1,153|1,347",
    "2,500",
    "2,900",
    "1|3,599",
    "3,600",
    "9,000  $",
    "943|604|1,453",
    "3,000",
    "4,100|900",
    "8,000",
    "1,060|940",
    "2,000",
    "2,700",
    "1|3,299",
    "3,300",
    "8,000",
    "See accompanying notes to consolidated financial statements.",
)


def test_a_balance_sheet_in_blocks_is_put_together() -> None:
    (table,) = tables_of(BALANCE, number=52)
    assert table.columns == 3
    assert table.header_rows == 1
    grid = table.grid()
    assert grid[0] == ["", "2022", "2021"]
    numbers = {row[0]: row[1:] for row in grid[1:] if any(row[1:])}
    assert numbers == {
        "Cash and cash equivalents": ["1,374", "943"],
        "Accounts receivable, net": ["536", "604"],
        "Inventories": ["1,730", "1,453"],
        "Total current assets": ["3,640", "3,000"],
        "Property and equipment, net": ["4,470", "4,100"],
        "Goodwill": ["890", "900"],
        "Total assets": ["9,000", "8,000"],
        "Accounts payable": ["1,153", "1,060"],
        "Accrued liabilities": ["1,347", "940"],
        "Total current liabilities": ["2,500", "2,000"],
        "Long-term debt": ["2,900", "2,700"],
        "Common stock, $0.01 par value; 500 shares authorized; 120 and 118 shares issued and outstanding at "
        "December 31, 2022 and 2021, respectively": ["1", "1"],
        "Retained earnings": ["3,599", "3,299"],
        "Total stockholders’ equity": ["3,600", "3,300"],
        "Total liabilities and stockholders’ equity": ["9,000", "8,000"],
    }
    assert [row[0] for row in grid[1:] if not any(row[1:])] == [
        "ASSETS",
        "Current assets:",
        "LIABILITIES AND STOCKHOLDERS’ EQUITY",
        "Current liabilities:",
        "Commitments and contingencies (Note 9)",
        "Stockholders’ equity:",
    ]
    assert table.caption == "Consolidated Balance Sheets"
    assert "(In millions, except par value)" in table.above
    assert table.problems == ()
    assert {cell.box for cell in table.cells} == {(0, 0, 0, 0)}
    levels = dict(zip((row[0] for row in grid), table.levels, strict=True))
    assert (levels["Current assets:"], levels["Inventories"], levels["Total current assets"]) == (0, 1, 0)


INCOME = blocks(
    "Year Ended December 31,",
    "Net sales|Cost of sales",
    "Gross profit",
    "Selling expenses|Research expenses",
    "Operating income",
    "Income tax expense",
    "Net income",
    "Earnings per share:|Basic|Diluted",
)
COLUMNS = [
    ["1,500", "(900)", "600", "(200)", "(150)", "250", "(50)", "200", "2.00", "1.95"],
    ["1,400", "(860)", "540", "(190)", "(140)", "210", "(40)", "170", "1.70", "1.66"],
    ["1,250", "(790)", "460", "(185)", "(125)", "150", "(30)", "120", "1.20", "1.18"],
]
LABELS = [
    "Net sales",
    "Cost of sales",
    "Gross profit",
    "Selling expenses",
    "Research expenses",
    "Operating income",
    "Income tax expense",
    "Net income",
    "Basic",
    "Diluted",
]


def singles(order: list[tuple[int, int]]) -> str:
    """Numbers by (row, column) in some order, each a block of its own."""
    return "\n\n".join(COLUMNS[column][row] for row, column in order)


def down(column: int, start: int = 0, stop: int = 10) -> list[tuple[int, int]]:
    return [(row, column) for row in range(start, stop)]


@pytest.mark.parametrize(
    "order",
    [
        [*down(0), *down(1), *down(2)],
        [(row, column) for row in range(10) for column in range(3)],
        # A band over all columns, then two columns in bands of their own beside the third.
        [(0, 0), (0, 1), (0, 2), *down(0, 1, 6), *down(1, 1, 6), *down(0, 6), *down(1, 6), *down(2, 1)],
        [(0, 0), (0, 1), *down(0, 1), *down(1, 1), *down(2)],
        [*down(0), *down(1, 0, 8), *down(2, 0, 8), *down(1, 8), *down(2, 8)],
        [(0, 0), *down(1), *down(2), *down(0, 1)],
    ],
    ids=["columns", "rows", "nested", "two and one", "one and two", "first broken off"],
)
def test_columns_are_told_apart_in_whatever_bands_they_come(order: list[tuple[int, int]]) -> None:
    text = blocks(INCOME, "2022", "2021", "2020", singles(order))
    (table,) = tables_of(text)
    rows = {row[0]: row[1:] for row in table.grid() if row[1]}
    for number, label in enumerate(LABELS):
        assert rows[label] == [column[number] for column in COLUMNS], label
    assert table.grid()[:2] == [["", "Year Ended December 31,", "", ""], ["", "2022", "2021", "2020"]]
    assert table.cells[0].column_span == 3


def test_a_band_that_begins_in_the_last_column_is_turned_round() -> None:
    # First column down to the middle, the second whole, then the rest of the first.
    lines = BALANCE.split("\n\n")
    first, second = lines[18:28], lines[28:]
    assert first[0].startswith("1,374")
    text = "\n\n".join([*lines[:18], *first[:4], *second[:10], *first[4:], *second[10:]])
    (table,) = tables_of(text, number=52)
    rows = {row[0]: row[1:] for row in table.grid()}
    assert rows["Long-term debt"] == ["2,900", "2,700"]
    assert rows["Total liabilities and stockholders’ equity"] == ["9,000", "8,000"]


def test_a_balance_of_cash_that_does_not_add_up_is_left_out() -> None:
    def text(end: str) -> str:
        return blocks(
            "Net cash provided by operating activities|Net cash used in investing activities|"
            "Net increase in cash|Cash at beginning of year|Cash at end of year",
            "2022",
            "2021",
            "1,500|(1,200)|300|700|1,000",
            f"1,400|(1,150)|250|450|{end}",
        )

    (whole,), (broken,) = tables_of(text("700")), tables_of(text("940"))
    assert whole.grid()[-1] == ["Cash at end of year", "1,000", "700"]
    assert broken.grid()[-1] == ["Cash at end of year", "", ""]
    assert broken.grid()[1][1:] == ["1,500", "1,400"]
    assert any("Cash at end of year" in problem for problem in broken.problems)


def test_rows_that_could_have_either_label_stay_empty_with_a_problem() -> None:
    text = blocks(
        "Tooling|Freight|Packaging|Samples|Energy",
        "2022",
        "2021",
        "Total",
        "17|23|41|29",
        "110",
        "19|20|37|31",
        "107",
    )
    tables = tables_of(text)
    for table in tables:
        found = {row[0]: row[1:] for row in table.grid()}
        # Four numbers for five labels: no row may be given numbers that another could have as well.
        for label in ("Tooling", "Freight", "Packaging", "Samples", "Energy"):
            assert not any(found.get(label, ["", ""])), label
        assert any("Freight" in problem for problem in table.problems)


def test_the_page_number_among_the_numbers_is_left_out() -> None:
    text = blocks(INCOME, "47", "2022", "2021", singles([*down(0), *down(1)]))
    (table,) = tables_of(text, number=48)
    assert {row[0]: row[1:] for row in table.grid()}["Net sales"] == ["1,500", "1,400"]
    assert "47" not in {cell.text for cell in table.cells}


def test_lines_that_hold_label_and_numbers_need_no_solving() -> None:
    text = "Consolidated Statements of Income\n(in millions)\n2022 2021 2020\n" + "\n".join(
        f"{label} {' '.join(column[row] for column in COLUMNS)}" for row, label in enumerate(LABELS)
    )
    (table,) = tables_of(text)
    grid = table.grid()
    assert grid[0] == ["", "2022", "2021", "2020"]
    assert grid[1:] == [[label, *(column[row] for column in COLUMNS)] for row, label in enumerate(LABELS)]


def test_labels_that_are_each_followed_by_their_numbers_need_no_solving() -> None:
    lines = ["Consolidated Statements of Income", "2022", "2021"]
    for row, label in enumerate(LABELS):
        lines += [label, "$", COLUMNS[0][row], "$", COLUMNS[1][row]]
    (table,) = tables_of("\n".join(lines))
    rows = {row[0]: row[1:] for row in table.grid()}
    for row, label in enumerate(LABELS):
        assert rows[label] == [COLUMNS[0][row], COLUMNS[1][row]]


def test_a_line_with_too_few_numbers_is_left_out() -> None:
    text = "2022 2021\nNet sales 1,500 1,400\nDisposals 12.5 3.0 9.0 1.0\nNet income 200 170\nInterest $ 17"
    for table in tables_of(text):
        rows = {row[0]: row[1:] for row in table.grid()}
        assert "17" not in {cell.text for cell in table.cells}
        assert any("Interest" in problem for problem in table.problems) or "Interest" not in rows


@settings(deadline=None, max_examples=150)
@given(
    st.lists(
        st.one_of(
            st.text(max_size=30),
            st.sampled_from(
                ["Net sales", "Total assets", "$", "—", "2022", "(1)", "12,345", "(67.8)", "9 %", ""]
            ),
        ),
        max_size=60,
    )
)
def test_no_text_breaks_the_detector(lines: list[str]) -> None:
    for table in tables_of("\n".join(lines)):
        assert table.rows == len(table.levels) == len(table.grid())
        printed = "\n".join(lines)
        for cell in table.cells:
            assert cell.column < table.columns
            if cell.column and not cell.header:
                assert cell.text in printed


def test_pages_come_in_the_order_asked_for() -> None:
    filing = FilingWords("filing", (page_of(BALANCE, 52), page_of("No numbers here.", 53)))
    assert [len(tables) for tables in PageTextDetector().detect(filing)] == [1, 0]
    assert [len(tables) for tables in PageTextDetector().detect(filing, [53, 9, 52])] == [0, 0, 1]


def test_prose_with_numbers_is_no_table() -> None:
    text = (
        "Net sales rose to $1,500 million in 2022 from $1,400 million in 2021, mainly because of prices, and the\n"
        "effect of 53 weeks instead of 52 added $25 million. Cost of sales was 60.0% of net sales against 61.4%."
    )
    assert tables_of(text) == []


def test_a_page_of_only_numbers_has_no_table() -> None:
    assert tables_of("\n\n".join(f"{number:,}" for number in range(1000, 1400))) == []
