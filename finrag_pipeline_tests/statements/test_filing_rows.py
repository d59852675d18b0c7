"""Rows of every table of a filing."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from finrag_pipeline.statements.filing_rows import FACT_COLUMNS, filing_rows
from finrag_pipeline_tests.statements.printed_tables import number, page_table, printed_row


def facts(*rows: tuple[int, int, int, str, str | None, str | None]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(FACT_COLUMNS, row, strict=True)) for row in rows])


def test_a_row_has_its_path_periods_printed_and_full_values() -> None:
    table = page_table(
        [
            {"row": 0, "column": 1, "text": "2023", "kind": "header", "header": True},
            {"row": 1, "column": 0, "text": "Segments", "kind": "label", "row_label": "Segments", "row_path": ["Segments"]},
            *printed_row(2, ["Segments", "Pumps"], 120, 95),
        ],
        page=6,
        caption="Sales by segment",
    )  # fmt: skip
    (row,) = filing_rows("ACME_2023_10K", table)
    assert (row.filing, row.page, row.table, row.row) == ("ACME_2023_10K", 6, 0, 2)
    assert row.text == "Sales by segment | Segments > Pumps" and row.label == "Pumps"
    assert [(value.printed, value.value, value.months) for value in row.values] == [
        ("120", 120e6, 12),
        ("95", 95e6, 12),
    ]
    assert [value.period_end for value in row.values] == [dt.date(2023, 12, 31), dt.date(2022, 12, 31)]
    assert row.values[0].unit_name == "USD" and row.values[0].header == "12 months to 2023-12-31"
    assert row.values[0].box == (10.0, 22.0, 30.0, 31.0)


def test_quarters_year_to_date_instants_and_no_period_are_told_apart() -> None:
    end = dt.date(2023, 6, 30)
    cells = [
        number(0, 1, ["Sales"], "1", 1e6, period_start=dt.date(2023, 4, 1), period_end=end, fiscal_quarter=2),
        number(0, 2, ["Sales"], "2", 2e6, period_start=dt.date(2023, 1, 1), period_end=end),
        number(0, 3, ["Sales"], "3", 3e6, period_end=end),
        number(
            0, 4, ["Sales"], "4 %", 0.04, unit="percent", currency=None, column_path=["Change", "% of 2022"]
        ),
    ]
    (row,) = filing_rows("F", page_table(cells))
    assert [value.months for value in row.values] == [3, 6, None, None]
    assert [value.header for value in row.values] == [
        "3 months to 2023-06-30",
        "6 months to 2023-06-30",
        "2023-06-30",
        "Change > % of 2022",
    ]
    assert row.values[3].unit_name == "percent" and row.columns == ("Change",)


def test_rows_keep_the_order_of_pages_and_stay_apart_by_table() -> None:
    later = page_table(printed_row(0, ["Sales"], 3, 2), page=9)
    first = page_table(printed_row(0, ["Sales"], 1, 1), page=2, table=0)
    second = page_table(printed_row(0, ["Sales"], 2, 1), page=2, table=1)
    rows = filing_rows("F", pa.concat_tables([later, second, first]))
    assert [(row.page, row.table, row.values[0].printed) for row in rows] == [
        (2, 0, "1"),
        (2, 1, "2"),
        (9, 0, "3"),
    ]


def test_the_primary_statement_and_concept_come_from_the_facts() -> None:
    table = page_table([*printed_row(0, ["Sales"], 3, 2), *printed_row(1, ["Pumps"], 2, 1)], page=4)
    known = facts(
        (4, 0, 0, "primary", "income_statement", "Revenues"), (4, 0, 1, "parent", "income_statement", None)
    )
    sales, pumps = filing_rows("F", table, known)
    assert (sales.statement, sales.concept) == ("income_statement", "Revenues")
    assert (pumps.statement, pumps.concept) == (None, None)


def test_labels_headers_and_unread_numbers_make_no_row() -> None:
    cells = [
        {
            "row": 0,
            "column": 0,
            "text": "Assets",
            "kind": "label",
            "row_label": "Assets",
            "row_path": ["Assets"],
        },
        {"row": 1, "column": 1, "text": "2023", "kind": "number", "header": True, "value": 2023.0},
        {"row": 2, "column": 1, "text": "?", "kind": "number", "value": None},
    ]
    assert filing_rows("F", page_table(cells)) == []
