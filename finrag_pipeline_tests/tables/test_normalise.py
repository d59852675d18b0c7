from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from finrag_pipeline.schemas import PAGE_TABLES
from finrag_pipeline.tables.context import TableContext, filing_context
from finrag_pipeline.tables.fiscal_calendar import FiscalCalendar
from finrag_pipeline.tables.model import Table
from finrag_pipeline.tables.normalise import normalise_tables
from finrag_pipeline_tests.tables.grids import make_table

CONTEXT = TableContext(FiscalCalendar(2018, None, dt.date(2018, 12, 31), "10-K"), "USD")

INCOME = make_table(
    [
        ["", "Year Ended December 31,", ""],
        ["", "2018", "2017"],
        ["Revenue", "$ 1,577", "$ 1,460.5"],
        ["Loss on sale", "(12)", "—"],
        ["Tax rate", "21.5 %", "N/A"],
        ["Earnings per share:", "", ""],
        ["Basic", "$ 0.96", "1.01"],
        ["Weighted average shares outstanding", "602.4", "600"],
        ["Number of stores", "1,315", "(cid:7)"],
    ],
    header_rows=2,
    spans={(0, 1): 2},
    levels=[0, 0, 0, 0, 0, 0, 1, 0, 0],
    caption="CONSOLIDATED STATEMENTS OF INCOME",
    above=["CONSOLIDATED STATEMENTS OF INCOME", "(in millions, except per share data)"],
)


def cells(*tables: Table, context: TableContext = CONTEXT) -> dict[tuple[int, int, int], dict[str, Any]]:
    """Rows by table (over the filing), row and column."""
    out = normalise_tables("made-up", tables, context)
    assert out.schema.equals(PAGE_TABLES)
    order = {
        key: place
        for place, key in enumerate(
            dict.fromkeys(zip(out["page"].to_pylist(), out["table"].to_pylist(), strict=True))
        )
    }
    return {(order[row["page"], row["table"]], row["row"], row["column"]): row for row in out.to_pylist()}


def test_values_in_full_units_with_the_words_that_set_them() -> None:
    found = cells(INCOME)
    revenue = found[0, 2, 1]
    assert (revenue["printed"], revenue["value"], revenue["scale"]) == (1577.0, 1.577e9, 1e6)
    assert revenue["scale_source"] == "units line: (in millions, except per share data)"
    assert (revenue["unit"], revenue["currency"], revenue["kind"]) == ("currency", "USD", "number")
    assert (revenue["period_start"], revenue["period_end"]) == (dt.date(2018, 1, 1), dt.date(2018, 12, 31))
    assert (revenue["fiscal_year"], revenue["period_kind"]) == (2018, "duration")
    assert revenue["column_path"] == ["Year Ended December 31,", "2018"]
    assert found[0, 2, 2]["value"] == 1.4605e9
    assert found[0, 3, 1]["value"] == -12e6


def test_units_of_each_row() -> None:
    found = cells(INCOME)
    rate, eps, shares, stores = (found[0, row, 1] for row in (4, 6, 7, 8))
    assert (rate["value"], rate["unit"], rate["scale"]) == (0.215, "percent", 0.01)
    assert (eps["value"], eps["unit"], eps["currency"]) == (0.96, "currency/share", "USD")
    assert eps["row_path"] == ["Earnings per share:", "Basic"]
    assert (shares["value"], shares["unit"], shares["currency"]) == (602.4e6, "shares", None)
    assert (stores["value"], stores["unit"]) == (1315.0, "count")


def test_what_has_no_number_says_why() -> None:
    found = cells(INCOME)
    dash, missing, broken = found[0, 3, 2], found[0, 4, 2], found[0, 8, 2]
    assert (dash["kind"], dash["printed"], dash["value"], dash["reason"]) == (
        "missing",
        None,
        0.0,
        "printed as a dash",
    )
    assert (missing["kind"], missing["value"], missing["reason"]) == ("missing", None, "printed as N/A")
    assert (broken["kind"], broken["value"], broken["reason"]) == ("text", None, "broken encoding")
    assert found[0, 2, 0]["kind"] == "label"
    assert found[0, 1, 1]["kind"] == "header"
    assert found[0, 1, 1]["header"]


def test_a_dash_in_a_column_of_words_is_not_zero() -> None:
    found = cells(make_table([["Name", "Title"], ["A", "Chair"], ["B", "—"]]))
    assert found[0, 2, 1]["value"] is None


def test_a_dash_beside_a_number_is_zero() -> None:
    found = cells(make_table([["", "Used", "Written off"], ["Plan A", "5", "—"], ["Plan B", "7", "—"]]))
    assert found[0, 1, 2]["value"] == 0


def test_years_and_page_numbers_are_no_amounts() -> None:
    found = cells(
        make_table(
            [["", "Amount", "Expires", "Page"], ["Loan", "$ 5", "2031", "12"]], above=["(in millions)"]
        )
    )
    assert (found[0, 1, 2]["kind"], found[0, 1, 2]["reason"]) == ("text", "a year")
    assert found[0, 1, 3]["value"] is None


def scale_of(*tables: Table, context: TableContext = CONTEXT) -> tuple[float, str]:
    found = cells(*tables, context=context)
    row = found[len(tables) - 1, max(key[1] for key in found if key[0] == len(tables) - 1), 1]
    return row["scale"], row["scale_source"]


def test_the_nearest_scale_wins() -> None:
    rows = [["", "2018"], ["Revenue", "$ 5"]]
    assert scale_of(
        make_table([["", "2018"], ["Revenue (in billions)", "$ 5"]], above=["(in millions)"])
    ) == (
        1e9,
        "row label: (in billions)",
    )
    assert (
        scale_of(make_table([["", "2018 (in billions)"], ["Revenue", "$ 5"]], above=["(in millions)"]))[0]
        == 1e9
    )
    assert scale_of(make_table([["(Billions)", "2018"], ["Revenue", "$ 5"]], above=["(in millions)"])) == (
        1e9,
        "stub header: (Billions)",
    )
    assert scale_of(make_table(rows, above=["(in thousands)", "(in millions)"]))[0] == 1e6
    caption = "Revenue (in thousands)"
    assert scale_of(make_table(rows, caption=caption, above=[caption])) == (1e3, "caption: (in thousands)")
    assert scale_of(make_table(rows)) == (1.0, "no scale stated")


def test_a_units_row_in_the_body_holds_for_the_rows_below() -> None:
    rows = [["", "2018"], ["Stores", "5"], ["(in thousands)", ""], ["Revenue", "$ 5"]]
    assert scale_of(make_table(rows)) == (1e3, "heading: (in thousands)")


def test_the_scale_of_the_filing_comes_last() -> None:
    rows = [["", "2018"], ["Revenue", "$ 5"]]
    context = filing_context({}, ["Unless otherwise noted, all amounts in the tables are in thousands."])
    scale, source = scale_of(make_table(rows), context=context)
    assert scale == 1e3
    assert source.startswith("filing: Unless otherwise noted")
    assert scale_of(make_table(rows, above=["(in millions)"]), context=context)[0] == 1e6


def test_a_continuation_inherits_headers_and_scale() -> None:
    rest = make_table([["Dividends", "$ 3", "4"]], header_rows=0, page=1, continues=True)
    found = cells(INCOME, rest)
    dividends = found[1, 0, 1]
    assert (dividends["value"], dividends["fiscal_year"]) == (3e6, 2018)
    assert dividends["scale_source"] == "table before, units line: (in millions, except per share data)"
    assert dividends["column_path"] == ["Year Ended December 31,", "2018"]


def test_the_same_statement_on_the_next_page_inherits_its_scale() -> None:
    rows = [["", "2018", "2017"], ["Dividends", "$ 3", "4"]]
    again = make_table(rows, page=1, caption="CONSOLIDATED STATEMENTS OF INCOME (Continued)")
    other = make_table(rows, page=1, caption="Stock performance", above=["Stock performance"])
    assert scale_of(INCOME, again)[0] == 1e6
    assert scale_of(INCOME, other) == (1.0, "no scale stated")


def test_headers_detected_as_a_table_of_their_own() -> None:
    heads = make_table([["(in millions)", "December 31, 2018", "December 31, 2017"]], header_rows=0)
    body = make_table([["Cash", "$ 5", "$ 6"], ["Debt", "7", "8"]], header_rows=0, top=130.0)
    found = cells(heads, body)
    assert found[1, 0, 1]["value"] == 5e6
    assert (found[1, 0, 2]["period_kind"], found[1, 0, 2]["period_end"]) == ("instant", dt.date(2017, 12, 31))


def test_quarters_in_columns_and_years_in_rows() -> None:
    table = make_table(
        [["Quarter Ended", "March 31", "June 30"], ["Fiscal Year 2018", "", ""], ["Revenue", "1", "2"]]
    )
    row = cells(table)[0, 2, 2]
    assert (row["period_start"], row["period_end"]) == (dt.date(2018, 4, 1), dt.date(2018, 6, 30))
    assert row["fiscal_quarter"] == 2


def test_quarters_in_rows_and_years_in_columns() -> None:
    table = make_table(
        [
            ["", "2018", "2017"],
            ["First quarter", "1", "2"],
            ["Fourth Quarter (a)", "3", "4"],
            ["Year", "9", "9"],
        ]
    )
    found = cells(table)
    for row, quarter in ((1, 1), (2, 4), (3, None)):
        own = [found[0, row, column] for column in (1, 2)]
        assert [one["fiscal_quarter"] for one in own] == [quarter, quarter]
        assert [one["fiscal_year"] for one in own] == [2018, 2017]
    assert (found[0, 2, 1]["period_start"], found[0, 2, 1]["period_end"]) == (
        dt.date(2018, 10, 1),
        dt.date(2018, 12, 31),
    )


def test_columns_of_a_table_of_quarters_are_no_years() -> None:
    ordinals = make_table(
        [["", "2018", "", "", ""], ["", "4th", "3rd", "2nd", "1st"], ["Sales", "4", "3", "2", "1"]],
        header_rows=2,
        spans={(0, 1): 4},
        caption="Quarterly Financial Data (Unaudited)",
    )
    under_a_year = make_table(
        [
            ["", "Year Ended December 31, 2018", ""],
            ["", "First Quarter", "Second Quarter"],
            ["Sales", "1", "2"],
        ],
        header_rows=2,
        spans={(0, 1): 2},
    )
    days = make_table(
        [["", "2018", "", ""], ["", "Dec. 31", "Sep. 30", "Jun. 30"], ["Sales", "4", "3", "2"]],
        header_rows=2,
        spans={(0, 1): 3},
        caption="All quarters of a fiscal year ending on the last day of December",
    )
    rows_of_years = make_table(
        [["", "December 31", "September 30", "June 30"], ["2018", "", "", ""], ["Sales", "4", "3", "2"]],
        caption="Selected Quarterly Financial Data (Unaudited)",
    )
    beside_the_year = make_table(
        [["", "", "2018", ""], ["", "First", "Second (c)", "Third (d)"], ["Sales", "1", "2", "3"]],
        header_rows=2,
        caption="A summary of quarterly information is as follows:",
    )
    year_of_another_column = make_table(
        [
            ["", "First Quarter", "Second Quarter", "Third Quarter", "Year 2018"],
            ["Sales", "1", "2", "3", "6"],
        ],
        above=["Equipment was $542 million at December 31, 2018 and 2017."],
        caption="Quarterly Data (Unaudited)",
    )
    half_spanned = make_table(
        [
            ["", "", "Quarter", "", ""],
            ["", "1st", "2nd", "3rd", "12-Month 2018"],
            ["Sales", "1", "2", "3", "6"],
        ],
        header_rows=2,
        spans={(0, 2): 2},
    )
    year_above_other_headings = make_table(
        [
            ["", "First", "Quarter Second", "Third"],
            ["2018 (a)", "", "", ""],
            ["Sales", "1", "2", "3"],
            ["Per share:", "", "", ""],
            ["Earnings", "0.1", "0.2", "0.3"],
        ],
        levels=[0, 0, 1, 0, 1],
    )
    for table, row, quarters in (
        (ordinals, 2, [4, 3, 2, 1]),
        (year_of_another_column, 1, [1, 2, 3]),
        (half_spanned, 2, [1, 2, 3]),
        (year_above_other_headings, 4, [1, 2, 3]),
        (beside_the_year, 2, [1, 2, 3]),
        (under_a_year, 2, [1, 2]),
        (days, 2, [4, 3, 2]),
        (rows_of_years, 2, [4, 3, 2]),
    ):
        found = cells(table)
        own = [found[0, row, column] for column in range(1, len(quarters) + 1)]
        assert [one["fiscal_quarter"] for one in own] == quarters, table.caption
        assert [one["period_end"].month for one in own] == [3 * quarter for quarter in quarters]
        assert all((one["period_end"] - one["period_start"]).days < 93 for one in own)


def test_a_year_beside_quarters_is_a_year_and_quarters_of_no_year_have_no_period() -> None:
    rows = ["Earnings", "1", "2", "3", "6"]
    heads = ["", "First Quarter", "Second Quarter", "Third Quarter"]
    found = cells(make_table([[*heads, "Year"], ["2018:", "", "", "", ""], rows], caption="At December 31"))
    whole = found[0, 2, 4]
    assert (whole["period_start"], whole["period_end"]) == (dt.date(2018, 1, 1), dt.date(2018, 12, 31))
    found = cells(make_table([[*heads, "Year"], rows], caption="Quarterly data for 2018 and 2017"))
    assert [found[0, 1, column]["period_end"] for column in range(1, 5)] == [None] * 4


def test_a_header_over_some_columns_dates_all_where_no_other_date_is_named() -> None:
    heads = ["", "Year Ended December 31, 2018", "", "", ""]
    parts = ["", "Parent", "Issuer", "Others", "Consolidated"]
    found = cells(make_table([heads, parts, ["Sales", "1", "2", "3", "6"]], header_rows=2, spans={(0, 1): 2}))
    assert [found[0, 2, column]["fiscal_year"] for column in range(1, 5)] == [2018] * 4
    heads = ["", "Balance at December 31, 2017", "Additions", "Balance at December 31, 2018"]
    found = cells(make_table([heads, ["Goodwill", "1", "2", "3"]]))
    assert [found[0, 1, column]["fiscal_year"] for column in range(1, 4)] == [2017, None, 2018]


def test_cash_at_the_beginning_of_a_year_is_an_instant() -> None:
    table = make_table(
        [["", "2018"], ["Net change in cash", "1"], ["Cash, beginning of year", "4"]], caption="Cash flows"
    )
    row = cells(table)[0, 2, 1]
    assert (row["period_kind"], row["period_end"], row["fiscal_year"]) == (
        "instant",
        dt.date(2017, 12, 31),
        2017,
    )


def test_per_cent_signs_on_the_first_number_of_a_column_hold_for_the_rest() -> None:
    table = make_table(
        [["", "2018"], ["Statutory rate", "21.0 %"], ["State taxes", "3.8"]], above=["(in millions)"]
    )
    row = cells(table)[0, 2, 1]
    assert (row["unit"], row["scale"]) == ("percent", 0.01)


def test_tables_are_counted_on_each_page() -> None:
    rows = [["", "2018"], ["Revenue", "$ 5"]]
    out = normalise_tables("made-up", [make_table(rows, page=page) for page in (0, 0, 2, 2, 2)], CONTEXT)
    assert list(dict.fromkeys(zip(out["page"].to_pylist(), out["table"].to_pylist(), strict=True))) == [
        (0, 0),
        (0, 1),
        (2, 0),
        (2, 1),
        (2, 2),
    ]


def test_no_tables_give_an_empty_table() -> None:
    out = normalise_tables("made-up", [], CONTEXT)
    assert isinstance(out, pa.Table)
    assert out.num_rows == 0


texts = st.one_of(
    st.sampled_from(
        ["", "2018", "$ 5", "(1,577)", "—", "(in millions)", "Total", "12 %", "June 30, 2018", "Shares", "x"]
    ),
    st.text(max_size=12),
)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 5).flatmap(
        lambda width: st.lists(st.lists(texts, min_size=width, max_size=width), min_size=1, max_size=8)
    ),
    st.integers(0, 9),
    st.lists(st.integers(0, 3), max_size=8),
    st.booleans(),
)
def test_any_grid_is_read_without_error_and_nothing_is_invented(rows, header_rows, levels, continues) -> None:
    levels = [*levels, *[0] * len(rows)][: len(rows)]
    odd = make_table(rows, header_rows=header_rows, levels=levels, page=1, continues=continues)
    for row in normalise_tables("made-up", [INCOME, odd], CONTEXT).to_pylist():
        if row["value"] is not None:
            assert row["kind"] in ("number", "missing")
            assert row["scale_source"]
            if row["kind"] == "number":
                assert abs(row["value"] - row["printed"] * row["scale"]) <= 1e-6 * abs(row["value"]) + 1e-9
        elif row["kind"] in ("text", "missing"):
            assert row["reason"]


def test_the_scale_of_the_filing_does_not_turn_lists_into_amounts() -> None:
    context = filing_context({}, ["Unless otherwise noted, all amounts in the tables are in thousands."])
    row = cells(make_table([["Exhibit", "Number"], ["By-laws", "10.31"]]), context=context)[0, 1, 1]
    assert (row["value"], row["unit"], row["scale"]) == (10.31, None, 1.0)


def test_rates_below_a_sign_and_rates_that_the_scale_exempts() -> None:
    table = make_table(
        [
            ["(in millions, except ratios)", "2018"],
            ["Loans", "$ 5,000"],
            ["Net charge-off rate", "0.25 %"],
            ["Allowance to total loans", "1.16"],
        ]
    )
    row = cells(table)[0, 3, 1]
    assert (row["unit"], row["value"]) == ("percent", 0.0116)
    bare = make_table(
        [["(in millions, except ratios)", "2018"], ["Loans", "$ 5,000"], ["Allowance to total loans", "1.16"]]
    )
    row = cells(bare)[0, 2, 1]
    assert (row["unit"], row["value"]) == ("ratio", 1.16)


def test_money_per_thing_and_impossible_sums() -> None:
    table = make_table(
        [
            ["(in thousands)", "2018"],
            ["Revenue per membership", "$10.17"],
            ["Still to be bought", "$ 3,292,882,444,000"],
        ]
    )
    found = cells(table)
    assert (found[0, 1, 1]["value"], found[0, 1, 1]["unit"]) == (10.17, "currency/share")
    assert found[0, 2, 1]["scale"] == 1.0
    assert found[0, 2, 1]["scale_source"].startswith("too large for")


def test_shares_printed_among_amounts_in_millions() -> None:
    table = make_table(
        [
            ["(Dollars in millions)", "2018"],
            ["Common stock", "$ 9"],
            ["Treasury stock", ""],
            ["Reacquired stock", "22,602,748"],
        ]
    )
    row = cells(table)[0, 3, 1]
    assert (row["unit"], row["value"]) == ("shares", 22602748.0)


def test_a_date_in_the_stub_is_the_period_of_the_table() -> None:
    row = cells(make_table([["June 30, 2018 (in millions)", "Level 1"], ["Funds", "$ 5"]]))[0, 1, 1]
    assert (row["period_kind"], row["period_end"], row["value"]) == ("instant", dt.date(2018, 6, 30), 5e6)


def test_two_decimals_among_whole_amounts_are_per_share() -> None:
    rows = [
        ["(in millions, except per share data)", "2018"],
        ["Net income", "$ 5,000"],
        ["Tax", "12"],
        ["From operations", "$ 1.77"],
    ]
    row = cells(make_table(rows))[0, 3, 1]
    assert (row["unit"], row["value"]) == ("currency/share", 1.77)
    # Amounts with decimals of their own are left alone.
    rows = [
        ["(in millions, except per share data)", "2018"],
        ["Net income", "$ 5,000.5"],
        ["Tax", "12.1"],
        ["Other", "1.77"],
    ]
    assert cells(make_table(rows))[0, 3, 1]["value"] == 1.77e6


def test_two_decimals_throughout_beside_a_row_per_share() -> None:
    rows = [["(in millions)", "2018"], ["Diluted earnings per share", "$ 5.10"], ["Restructuring", "0.12"]]
    row = cells(make_table(rows))[0, 2, 1]
    assert (row["unit"], row["value"]) == ("currency/share", 0.12)


def test_a_scale_beside_one_date_holds_for_all_columns() -> None:
    table = make_table(
        [["", "December 31, 2018", "December 31, 2017 (in millions)"], ["Assets", "$ 5", "$ 4"]]
    )
    row = cells(table)[0, 1, 1]
    assert (row["scale"], row["scale_source"]) == (1e6, "header: (in millions)")
    # Beside a quantity it holds for that column only.
    table = make_table([["", "Amount", "Shares (in millions)"], ["Bought back", "$ 5", "4"]])
    assert cells(table)[0, 1, 1]["scale"] == 1.0


def test_a_balance_under_a_duration_is_an_instant() -> None:
    calendar = FiscalCalendar(2025, 3, dt.date(2025, 3, 31), "10-Q")
    grid = [
        ["", "Nine Months Ended March 31, 2025"],
        ["Balance June 30, 2024", "5"],
        ["Net earnings", "2"],
        ["Balance March 31, 2025", "7"],
    ]
    found = cells(make_table(grid), context=TableContext(calendar))
    assert [found[0, row, 1]["period_end"] for row in (1, 2, 3)] == [
        dt.date(2024, 6, 30),
        dt.date(2025, 3, 31),
        dt.date(2025, 3, 31),
    ]
    assert [found[0, row, 1]["period_kind"] for row in (1, 2, 3)] == ["instant", "duration", "instant"]

    # A day without a year is the first or the last of its column.
    found = cells(
        make_table(
            [
                ["", "Six months ended June 30, 2024"],
                ["Balance as of June 30", "5"],
                ["Balance as of December 31", "4"],
            ]
        ),
        context=TableContext(calendar),
    )
    assert [found[0, row, 1]["period_end"] for row in (1, 2)] == [dt.date(2024, 6, 30), dt.date(2023, 12, 31)]

    grid = [
        ["", "Six months ended June 30, 2024"],
        ["Cash at January 1", "5"],
        ["Cash at June 30", "4"],
        ["Paid in the six months ended June 30", "1"],
    ]
    # In a whole year the last day is not the one before the first.
    year = cells(make_table([["", "Year ended June 30, 2024"], ["Rate as of June 30", "5"]]))
    assert year[0, 1, 1]["period_end"] == dt.date(2024, 6, 30)
    found = cells(make_table(grid), context=TableContext(calendar))
    assert [found[0, row, 1]["period_end"] for row in (1, 2)] == [dt.date(2023, 12, 31), dt.date(2024, 6, 30)]
    assert found[0, 3, 1]["period_kind"] == "duration"


def test_rows_that_differ_in_their_day_alone_are_balances() -> None:
    calendar = FiscalCalendar(2025, 2, dt.date(2025, 6, 30), "10-Q")
    grid = [
        ["", "Retained earnings"],
        ["Equity - April 1, 2025", "5"],
        ["Net income", "2"],
        ["Equity – June 30, 2025", "7"],
        ["Notes due June 30, 2031", "1"],
        ["Notes due June 30, 2032", "1"],
        ["April 1, 2025 through May 1, 2025", "1"],
        ["May 2, 2025 through June 30, 2025", "1"],
        ["Net income, three months ended March 31, 2025", "1"],
        ["Net income, three months ended June 30, 2025", "1"],
    ]
    found = cells(make_table(grid), context=TableContext(calendar))
    ends = [found[0, row, 1]["period_end"] for row in range(1, 8)]
    assert ends[:7] == [dt.date(2025, 3, 31), dt.date(2025, 6, 30), dt.date(2025, 6, 30), *[None] * 4]
    assert [found[0, row, 1]["period_kind"] for row in (8, 9)] == [None, None]
    assert found[0, 2, 1]["period_start"] == dt.date(2025, 4, 1)

    # A day that lost its year is the first one after the balance above.
    grid[1:4] = [["Balances as of June 30, 2024", "5"], ["Net income", "2"], ["Balances as of June 30,", "7"]]
    found = cells(make_table(grid), context=TableContext(calendar))
    assert found[0, 3, 1]["period_end"] == found[0, 2, 1]["period_end"] == dt.date(2025, 6, 30)


def test_the_balance_of_a_first_day_is_that_of_the_day_before() -> None:
    calendar = FiscalCalendar(2024, None, dt.date(2024, 12, 31), "10-K")
    grid = [
        ["", "Amount"],
        ["Balance at January 1, 2024", "5"],
        ["Used", "2"],
        ["Balance at December 31, 2024", "3"],
    ]
    found = cells(make_table(grid), context=TableContext(calendar))
    assert found[0, 1, 1]["period_end"] == dt.date(2023, 12, 31)
    assert found[0, 2, 1]["period_start"] == dt.date(2024, 1, 1)

    # Years of 52 and 53 weeks may end on a first day.
    weekly = FiscalCalendar(2023, None, dt.date(2023, 12, 1), "10-K")
    grid[1] = ["Balance at December 1, 2023", "5"]
    found = cells(make_table(grid), context=TableContext(weekly))
    assert found[0, 1, 1]["period_end"] == dt.date(2023, 12, 1)


def test_years_have_the_days_that_stand_above() -> None:
    calendar = FiscalCalendar(2024, None, dt.date(2024, 12, 29), "10-K")
    table = make_table(
        [["", "2024", "2023"], ["Inventories", "5", "4"]],
        above=["As of December 29, 2024 and December 31, 2023 (in millions)"],
    )
    found = cells(table, context=TableContext(calendar))
    ends = [found[0, 1, column]["period_end"] for column in (1, 2)]
    assert ends == [dt.date(2024, 12, 29), dt.date(2023, 12, 31)]
    assert found[0, 1, 2]["period_kind"] == "instant"


def test_the_beginning_of_a_day_is_the_year_before() -> None:
    calendar = FiscalCalendar(2024, None, dt.date(2024, 12, 31), "10-K")
    found = cells(
        make_table([["", "December 31, 2024"], ["Balance, beginning of year", "5"]]),
        context=TableContext(calendar),
    )
    assert found[0, 1, 1]["period_end"] == dt.date(2023, 12, 31)


def test_a_column_behind_every_period_is_of_that_period() -> None:
    grid = [
        ["", "2018", "Percent to sales", "2017", "Percent to sales"],
        ["Sales", "$ 5", "100.0 %", "$ 4", "100.0 %"],
    ]
    found = cells(make_table(grid))
    assert [found[0, 1, column]["fiscal_year"] for column in (2, 4)] == [2018, 2017]

    # What lies between two balances is of neither.
    grid = [["", "2016", "Acquired", "2017", "Acquired", "2018"], ["Goodwill", "$ 5", "1", "6", "2", "8"]]
    found = cells(make_table(grid))
    assert [found[0, 1, column]["period_end"] for column in (2, 4)] == [None, None]


def test_a_table_that_states_no_scale_has_that_of_the_tables_around_it() -> None:
    def table(amounts: tuple[str, str], page: int, above: str) -> Table:
        rows = [["", "2018"], *(["Equity", amount] for amount in amounts)]
        return make_table(rows, page=page, above=[above])

    first = table(("$ 2,150", "5"), 0, "(in millions)")
    last = table(("$ 9", "8"), 4, "(in millions)")
    found = cells(first, table(("$ 5,061", "25"), 2, "Balances"), last)
    assert (found[1, 1, 1]["value"], found[1, 2, 1]["value"]) == (5061e6, 25e6)
    assert found[1, 1, 1]["scale_source"] == "tables around: (in millions)"

    # What is counted is not what they are in.
    rows = [["", "Amount", "Number of shares"], ["Bought back", "$ 5,061", "28,343,259"]]
    found = cells(first, make_table(rows, page=2), last)
    assert [found[1, 1, column]["value"] for column in (1, 2)] == [5061e6, 28343259]

    # An index of returns, small amounts, and scales that differ say nothing.
    for amounts, after in (
        (("$ 100", "112"), last),
        (("$ 5,061", "25"), table(("$ 9", "8"), 4, "(in thousands)")),
    ):
        found = cells(first, table(amounts, 2, "Balances"), after)
        assert found[1, 1, 1]["scale"] == 1.0


def test_decimals_that_only_per_cent_have_tell_per_cent() -> None:
    grid = [
        ["(in millions)", "2018", "2017"],
        ["Income before tax", "$ 1,687", "$ 1,531"],
        ["Statutory rate", "21.0 %", "21.0"],
        ["State taxes", "1.5", "(0.5)"],
    ]
    found = cells(make_table(grid))
    assert [found[0, row, 2]["value"] for row in (1, 2, 3)] == [1531e6, 0.21, -0.005]

    # Amounts with decimals leave it open.
    grid[1] = ["Income before tax", "$ 1,687.5", "$ 1,531.2"]
    assert cells(make_table(grid))[0, 3, 1]["value"] == 1.5e6


def test_shares_issued_for_something_are_a_movement_of_equity() -> None:
    grid = [
        ["(in millions)", "Treasury stock", "Total"],
        ["Treasury shares issued for stock options exercised, net", "$ 81", "50"],
        ["Shares issued and outstanding (1)", "", "1,012"],
    ]
    found = cells(make_table(grid))
    assert (found[0, 1, 2]["value"], found[0, 1, 2]["unit"]) == (50e6, "currency")
    assert found[0, 2, 2]["unit"] == "shares"
    # The mark of a footnote is no amount of stock.
    label = "Average number of common shares outstanding (millions of shares) (1)"
    found = cells(make_table([["", "2018"], [label, "4,331"]]))
    assert (found[0, 1, 1]["value"], found[0, 1, 1]["unit"]) == (4331e6, "shares")
