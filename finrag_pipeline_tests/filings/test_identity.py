"""Identity of filings, from whole documents; all companies are fictitious."""

from __future__ import annotations

import datetime as dt
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.filings.identity import read_identity
from finrag_pipeline.filings.names import FilingIdentity
from finrag_pipeline_tests.filings.covers import BELOW, LAYOUTS, annual, current, quarterly


def test_a_plain_annual_cover() -> None:
    assert read_identity([annual(), "PART I\nItem 1. Business"]) == FilingIdentity(
        company="NORTHWIND MILLS, INC.",
        form="10-K",
        fiscal_year=2018,
        fiscal_quarter=None,
        period_end=dt.date(2018, 12, 31),
        ticker="NWMI",
    )


def test_a_symbol_that_only_the_market_for_the_stock_tells() -> None:
    cover = re.sub(r"\bNWMI\b", "", annual())
    market = (
        "Our common stock has traded on the NASDAQ Global Select\nMarket under the symbol “NWMX” since 2002. "
        "Otherco trades under the symbol OTHR."
    )
    assert read_identity([cover, "Item 1. Business"]).ticker is None
    assert read_identity([cover, "Item 1. Business", market]).ticker == "NWMX"
    assert read_identity([annual(), market]).ticker == "NWMI"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_an_annual_cover(layout: str) -> None:
    found = read_identity([LAYOUTS[layout](annual("January 28, 2023"))])
    assert (found.form, found.period_end) == ("10-K", dt.date(2023, 1, 28))
    assert found.company is not None
    assert re.sub(r"\W", "", found.company).casefold() == "northwindmillsinc"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_a_quarterly_cover_and_its_tables(layout: str) -> None:
    pages = [
        quarterly("July 1, 2023"),
        "Statements of Income\nThree Months Ended  Six Months Ended\nJuly 1, 2023\n",
    ]
    found = read_identity([LAYOUTS[layout](page) for page in pages])
    assert (found.form, found.fiscal_year, found.fiscal_quarter) == ("10-Q", 2023, 2)
    assert found.period_end == dt.date(2023, 7, 1)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "no commas"])
def test_layouts_of_a_current_report(layout: str) -> None:
    page = current("Date of Report (Date of earliest event\nreported): July 1, 2022 (June 30,\n2022)")
    found = read_identity([LAYOUTS[layout](page)])
    assert (found.form, found.fiscal_year, found.period_end) == ("8-K", 2022, dt.date(2022, 6, 30))
    assert found.fiscal_quarter is None


@pytest.mark.parametrize(
    ("heading", "form"),
    [
        ("FORM 10-K", "10-K"),
        ("Form 10-K", "10-K"),
        ("F O R M  1 0 - K", "10-K"),
        ("FORM 10‑K", "10-K"),
        ("FORM 10K", "10-K"),
        ("FORM\n10-K", "10-K"),
        ("FORM 10-K405", "10-K405"),
        ("FORM 10-KT", "10-KT"),
        ("FORM 10-K\nTHE ANNUAL REPORT", "10-K"),
        ("FORM 10-K/A\n(Amendment No. 1)", "10-K/A"),
        ("FORM 20-F", "20-F"),
        ("FORM 40-F", "40-F"),
        ("FORM 10-Q", "10-Q"),
        ("FORM 8-K", "8-K"),
        ("FORM 8-K/A", "8-K/A"),
        ("FORM 6-K", "6-K"),
    ],
)
def test_forms(heading: str, form: str) -> None:
    assert read_identity([annual(form=heading)]).form == form


def test_the_cover_may_stand_behind_a_report_to_shareholders() -> None:
    front = ["Northwind Annual Report\n2012", "", "Dear shareholders, our form 10-K follows.\n" * 3] + [
        "Letter"
    ] * 30
    assert read_identity([*front, annual("March 31, 2012")]) == read_identity([annual("March 31, 2012")])


def test_a_cover_whose_heading_is_an_image() -> None:
    face = f"Commission file number: 000-17363\nHARBOR FOODS, INC.\n{BELOW}".replace("Exact name", "Name")
    body = (
        "This Annual Report on Form 10-K contains statements. "
        + "Year ended December 31, 2019: sales rose. " * 2
    )
    found = read_identity([face, body + "In the year ended December 31, 2018 they fell. " * 2])
    assert (found.company, found.form) == ("HARBOR FOODS, INC.", "10-K")
    assert (found.fiscal_year, found.period_end) == (2019, dt.date(2019, 12, 31))


@pytest.mark.parametrize(
    "page",
    [
        "",
        "Notice of Annual Meeting of Stockholders and Proxy Statement\nThe annual report on Form 10-K for "
        "the fiscal year ended June 29, 2019, filed with the Securities and Exchange Commission, is there.",
        "NOTES TO FINANCIAL STATEMENTS\nThe Company reported revenue for the fiscal year ended in 2019.",
        "Chair\nMember\nAudit\n$\n30,000 $\n15,000",
    ],
)
def test_pages_without_a_cover_are_not_guessed_at(page: str) -> None:
    found = read_identity([page])
    assert (found.form, found.fiscal_year, found.fiscal_quarter, found.period_end) == (None, None, None, None)


def test_no_pages() -> None:
    assert read_identity([]) == FilingIdentity()


@given(st.lists(st.text(max_size=200), max_size=4))
def test_any_text_can_be_read(pages: list[str]) -> None:
    assert isinstance(read_identity(pages), FilingIdentity)


@given(st.dates(dt.date(1995, 1, 1), dt.date(2040, 12, 31)))
def test_every_period_end_is_read_back(day: dt.date) -> None:
    printed = f"{day:%B} {day.day}, {day.year}"
    for layout in (str, LAYOUTS["lines run together"], LAYOUTS["letters set apart"]):
        found = read_identity([layout(annual(printed))])
        assert found.period_end == day
        assert found.fiscal_year in (day.year, day.year - 1)


def test_long_runs_of_blanks_do_not_slow_reading_down() -> None:
    page = annual().replace("For the fiscal", " " * 200_000 + "\n" * 200_000 + "For the fiscal")
    assert read_identity([page]).period_end == dt.date(2018, 12, 31)
