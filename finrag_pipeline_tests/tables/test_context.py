from __future__ import annotations

import datetime as dt

from finrag_pipeline.tables.context import filing_context


def test_scales_stated_for_all_tables() -> None:
    pages = [
        "Cover",
        "Unless otherwise indicated, all dollar amounts in tables are in thousands.",
        "Text",
        "Notes to Consolidated Financial Statements\n(Dollars in millions, except per share data)\nNote 1",
        "x (Unless otherwise noted, in billions) y",
        "Amounts in thousands of dollars except per share amounts or as otherwise specified.",
    ]
    context = filing_context({}, pages)
    assert context.default_scale(0) is None
    assert [context.default_scale(page).scale for page in (1, 2, 3, 4, 5)] == [1e3, 1e3, 1e6, 1e9, 1e3]
    assert "all dollar amounts" in context.default_scale(2).words
    assert context.page_scales[3][0].scale == 1e6


def test_units_at_the_foot_of_a_page() -> None:
    foot = "Amounts in millions of dollars except per share amounts or as otherwise specified."
    assert filing_context({}, [f"Net sales\n5\n{foot}", "x"]).default_scale(1).scale == 1e6
    title = "Consolidated statements of cash flows\n(Unaudited; dollars in millions)\n"
    context = filing_context({}, [title, "Net earnings\n7", "Other\n8"])
    assert context.page_scales[1][0].scale == 1e6 and 2 not in context.page_scales


def test_prose_states_nothing() -> None:
    context = filing_context(
        {}, ["Sales rose to $5 million unless otherwise adjusted. We have thousands of dollars."]
    )
    assert context.defaults == ()


def test_the_currency_is_the_one_the_filing_prints() -> None:
    assert filing_context({}, ["$ 5 and $ 6 and € 7"]).currency == "USD"
    assert filing_context({}, ["€ 7"]).currency == "EUR"
    assert filing_context({}, ["nothing"]).currency is None


def test_ends_of_weekly_years_come_from_the_words() -> None:
    row = {"fiscal_year": 2022, "period_end": dt.date(2023, 1, 28), "form": "10-K"}
    text = (
        "Fiscal years ended January 28, 2023, January 29, 2022 and February 1, 2020; filed January 25, 2022"
    )
    calendar = filing_context(row, [text]).calendar
    assert calendar.year_end(2019) == dt.date(2020, 2, 1)
    assert calendar.year_end(2021) == dt.date(2022, 1, 29)
    assert calendar.year_of(dt.date(2020, 2, 1)) == 2019


def test_a_release_without_a_period_takes_the_year_end_it_names() -> None:
    calendar = filing_context(
        {"form": "8-K", "fiscal_year": 2022}, ["for the year ended June 30, 2021"]
    ).calendar
    assert calendar.year_end(2020) == dt.date(2020, 6, 30)
