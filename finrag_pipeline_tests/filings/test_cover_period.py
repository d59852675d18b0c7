"""Period ends, event dates, fiscal years and quarters read from covers and text."""

from __future__ import annotations

import datetime as dt

import pytest

from finrag_pipeline.filings.identity import read_identity
from finrag_pipeline_tests.filings.covers import PHRASE, TRANSITION, annual, current, quarterly


@pytest.mark.parametrize(
    ("printed", "day"),
    [
        ("December 31, 2018", dt.date(2018, 12, 31)),
        ("December 31 2018", dt.date(2018, 12, 31)),
        ("December 31 , 2018", dt.date(2018, 12, 31)),
        ("Dec. 31, 2018", dt.date(2018, 12, 31)),
        ("Sept. 29, 2018", dt.date(2018, 9, 29)),
        ("September, 29, 2018", dt.date(2018, 9, 29)),
        ("31 December 2018", dt.date(2018, 12, 31)),
        ("the 31st day of December, 2018", dt.date(2018, 12, 31)),
        ("12/31/2018", dt.date(2018, 12, 31)),
        ("2018-12-31", dt.date(2018, 12, 31)),
        ("May 31,\n2018", dt.date(2018, 5, 31)),
        (":  February 2, 2019", dt.date(2019, 2, 2)),
        ("December 31, 2018.", dt.date(2018, 12, 31)),
        ("January 1 2 0 1 9", dt.date(2019, 1, 1)),
        ("February 30, 2018", None),
        ("____________", None),
    ],
)
def test_dates_of_the_period_end(printed: str, day: dt.date | None) -> None:
    assert read_identity([annual(printed)]).period_end == day


@pytest.mark.parametrize(
    "phrase",
    [
        "For the Fiscal Year Ended",
        "For fiscal year ended",
        "For the year ended",
        "for the fiscal years ending",
    ],
)
def test_phrases_of_the_annual_period(phrase: str) -> None:
    assert read_identity([annual("June 30, 2020", phrase=phrase)]).period_end == dt.date(2020, 6, 30)


def test_the_date_may_stand_beside_another_column_or_before_its_words() -> None:
    beside = quarterly("Commission file\nMarch 31, 2021\nnumber 1-5805")
    assert read_identity([beside]).period_end == dt.date(2021, 3, 31)
    before = annual("").replace(PHRASE, f"May 31, 2019\n{PHRASE}")
    assert read_identity([before]).period_end == dt.date(2019, 5, 31)


def test_a_transition_report_ends_with_its_transition_period() -> None:
    page = annual("", form="FORM 10-KT").replace(
        TRANSITION,
        "For the transition period from July 1, 2017 to December 31, 2017",
    )
    found = read_identity([page])
    assert (found.form, found.period_end) == ("10-KT", dt.date(2017, 12, 31))


@pytest.mark.parametrize(
    ("dated", "day"),
    [
        ("Date of Report (Date of earliest event reported): May 3, 2023", dt.date(2023, 5, 3)),
        (
            "Date of report (Date of earliest event reported):\nAugust 19, 2022 (August 16, 2022)",
            dt.date(2022, 8, 16),
        ),
        (
            "May 20, 2022 (May 18, 2022)\nDate of Report (Date of earliest event reported)",
            dt.date(2022, 5, 18),
        ),
        ("October 2, 2024\n(Date of earliest event reported)", dt.date(2024, 10, 2)),
        ("Date of Report: October 31, 2024", dt.date(2024, 10, 31)),
        ("Date of Report (Date of earliest event reported)", None),
    ],
)
def test_event_dates(dated: str, day: dt.date | None) -> None:
    found = read_identity([current(dated)])
    assert (found.form, found.period_end) == ("8-K", day)
    assert found.fiscal_year == (day.year if day else None)


@pytest.mark.parametrize(
    ("ended", "words", "year"),
    [
        # Sentences that tie the name of a year to its last day decide.
        ("January 28, 2023", 'Our fiscal year ended January 28, 2023 ("fiscal 2022") had 52 weeks.', 2022),
        (
            "January 28, 2023",
            "fiscal year ended January, 28, 2023 (fiscal 2022) and fiscal 2023, fiscal 2023",
            2022,
        ),
        ("January 31, 2018", 'the fiscal years ended January 31, 2018 ("fiscal 2018 ")', 2018),
        ("January 28, 2023", "Fiscal 2022 was a 52-week year that ended on January 28, 2023.", 2022),
        ("March 31, 2023", 'the year ended March 31, 2023 ("fiscal 2022")', 2022),
        # A sentence on another year of the same company tells how it names its years.
        ("February 1, 2025", "fiscal 2023 ended on February 3, 2024", 2024),
        # Else the years it talks about.
        (
            "January 28, 2023",
            "In fiscal 2022 sales rose. Fiscal 2022 was good. Fiscal 2021 less so. Fiscal 2023?",
            2022,
        ),
        (
            "January 28, 2017",
            "In fiscal 2017 we grew. At the end of fiscal 2017. In fiscal 2016. In fiscal 2016.",
            2017,
        ),
        ("January 1, 2023", "In fiscal 2022 sales rose.", 2022),
        # Else the calendar.
        ("January 1, 2023", "Sales rose.", 2022),
        ("January 3, 2016", "Sales rose.", 2015),
        ("January 31, 2018", "Sales rose.", 2018),
        ("June 30, 2020", "Outlook for fiscal 2021 and fiscal 2021. In fiscal 2019 and fiscal 2019.", 2020),
        ("December 31, 2022", 'the fiscal year ended January 1, 2022 ("fiscal 2021")', 2022),
        ("December 31, 2022", "Guidance for fiscal 2023 given in the year ended December 31, 2022.", 2022),
    ],
)
def test_names_of_fiscal_years(ended: str, words: str, year: int) -> None:
    assert read_identity([annual(ended), words]).fiscal_year == year


@pytest.mark.parametrize(
    ("ended", "words", "quarter", "year"),
    [
        ("March 31, 2021", "Three months ended March 31, 2021 2020", 1, 2021),
        ("June 30, 2023", "Three months ended June 30,  Six months ended June 30,\n2023 2022", 2, 2023),
        ("September 30, 2023", "the three and nine months ended September 30, 2023", 3, 2023),
        ("September 30, 2023", "three- and nine-month periods ended September 30, 2023", 3, 2023),
        # Twelve months up to the date of a quarterly report are no fiscal year.
        ("June 30, 2023", "Six months ended June 30, 2023. Twelve months ended June 30, 2023", 2, 2023),
        # Fiscal years that do not end in December.
        ("December 31, 2022", "Three and six months ended December 31, 2022", 2, 2023),
        ("December 31, 2022", "Three months ended December 31, 2022", 1, 2023),
        ("July 29, 2023", "26 Weeks Ended July 29, 2023. The second quarter of fiscal 2024", 2, 2024),
        (
            "July 29, 2023",
            "twenty-six weeks ended July 29, 2023. fiscal 2023, fiscal 2023, fiscal 2022",
            2,
            2023,
        ),
        ("July 2, 2023", "Three Months Ended  Six Months Ended\nJuly 2, 2023 July 3, 2022", 2, 2023),
        ("March 25, 2023", "12 Weeks Ended\n3/25/2023 3/19/2022", 1, 2023),
        ("September 9, 2023", "36 weeks ended September 9, 2023", 3, 2023),
        # The last annual report tells how far the year has run.
        ("June 30, 2023", "our Annual Report on Form 10-K for the year ended December 31, 2022", 2, 2023),
        (
            "October 31, 2023",
            "the Annual Report on Form 10-K for the fiscal year ended July 31, 2023",
            1,
            2024,
        ),
        (
            "September 30, 2023",
            "In the third quarter sales rose. The third quarter. The second quarter.",
            3,
            2023,
        ),
        ("June 30, 2023", "Sales rose.", None, None),
        ("June 30, 2023", "Nine months ended September 30, 2022", None, None),
    ],
)
def test_quarters(ended: str, words: str, quarter: int | None, year: int | None) -> None:
    found = read_identity([quarterly(ended), words])
    assert (found.fiscal_quarter, found.fiscal_year) == (quarter, year)
