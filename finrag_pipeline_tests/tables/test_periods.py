from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.tables.fiscal_calendar import FiscalCalendar, ends_month
from finrag_pipeline.tables.periods import Period, parse_periods
from finrag_pipeline.tables.row_periods import row_periods, shifted, stated_above, tells_only_time

JUNE = FiscalCalendar(2016, None, dt.date(2016, 6, 30), "10-K")
QUARTERLY = FiscalCalendar(2022, 2, dt.date(2022, 6, 30), "10-Q")
# A retailer of 52 or 53 weeks whose fiscal 2022 ended in January 2023.
WEEKS = FiscalCalendar(
    2022,
    None,
    dt.date(2023, 1, 28),
    "10-K",
    ((2019, dt.date(2020, 2, 1)), (2021, dt.date(2022, 1, 29)), (2022, dt.date(2023, 1, 28))),
)
UNKNOWN = FiscalCalendar()


def day(text: str) -> dt.date:
    return dt.date.fromisoformat(text)


@pytest.mark.parametrize(
    ("calendar", "path", "start", "end", "year", "quarter"),
    [
        (JUNE, ["Year Ended June 30,", "2016"], "2015-07-01", "2016-06-30", 2016, None),
        (JUNE, ["2015"], "2014-07-01", "2015-06-30", 2015, None),
        (JUNE, ["Years Ended June 30, 2016, 2015 and 2014", "2015"], "2014-07-01", "2015-06-30", 2015, None),
        (JUNE, ["Quarter Ended", "September 30", "2015"], "2015-07-01", "2015-09-30", 2016, 1),
        (JUNE, ["Fiscal Year 2016", "Quarter Ended", "September 30"], "2015-07-01", "2015-09-30", 2016, 1),
        (QUARTERLY, ["Three Months Ended June 30,", "2022"], "2022-04-01", "2022-06-30", 2022, 2),
        (QUARTERLY, ["Three Months Ended June 30, 2021"], "2021-04-01", "2021-06-30", 2021, 2),
        (QUARTERLY, ["Six months ended", "June 30,", "2021"], "2021-01-01", "2021-06-30", 2021, None),
        (QUARTERLY, ["Twelve months ended December 31, 2021"], "2021-01-01", "2021-12-31", 2021, None),
        (QUARTERLY, ["Q2 2023"], "2023-04-01", "2023-06-30", 2023, 2),
        (QUARTERLY, ["1Q23"], "2023-01-01", "2023-03-31", 2023, 1),
        (QUARTERLY, ["YTD 2022"], "2022-01-01", "2022-06-30", 2022, None),
        (WEEKS, ["52 Weeks Ended February 1, 2020"], "2019-02-03", "2020-02-01", 2019, None),
        (WEEKS, ["13 weeks ended", "October 29,", "2022"], "2022-07-31", "2022-10-29", 2022, 3),
        (WEEKS, ["Fiscal 2021"], "2021-01-31", "2022-01-29", 2021, None),
        (WEEKS, ["FY22"], "2022-01-30", "2023-01-28", 2022, None),
        (UNKNOWN, ["Year ended December 31, 2018"], "2018-01-01", "2018-12-31", 2018, None),
        (UNKNOWN, ["Fiscal Years Ended January 31, 2019"], "2018-02-01", "2019-01-31", 2019, None),
    ],
)
def test_durations(calendar, path, start, end, year, quarter) -> None:
    assert parse_periods(path, calendar) == Period("duration", day(start), day(end), year, quarter)


@pytest.mark.parametrize(
    ("calendar", "path", "hints", "end", "year"),
    [
        (JUNE, ["June 30,", "2015"], [], "2015-06-30", 2015),
        (JUNE, ["As of June 30, 2016"], [], "2016-06-30", 2016),
        (JUNE, ["2015"], ["CONSOLIDATED BALANCE SHEETS"], "2015-06-30", 2015),
        (JUNE, ["2015"], ["June 30,"], "2015-06-30", 2015),
        (JUNE, ["2015"], ["Inventories at June 30 were as follows:"], "2015-06-30", 2015),
        (JUNE, ["12/31/15"], [], "2015-12-31", 2016),
        (WEEKS, ["Fiscal 2021", "January 29, 2022"], [], "2022-01-29", 2021),
        (QUARTERLY, ["December 31, 2021"], ["Condensed consolidated balance sheets"], "2021-12-31", 2021),
    ],
)
def test_instants(calendar, path, hints, end, year) -> None:
    assert parse_periods(path, calendar, hints) == Period("instant", None, day(end), year)


def test_hints_give_the_length_that_headers_leave_out() -> None:
    three = parse_periods(["2022"], QUARTERLY, ["For the three months ended June 30,"])
    assert three == Period("duration", day("2022-04-01"), day("2022-06-30"), 2022, 2)
    # Two lengths leave it open which one is meant.
    unclear = parse_periods(["June 30, 2022"], QUARTERLY, ["Three and six months ended June 30, 2022"])
    assert unclear == Period("duration", None, day("2022-06-30"), 2022)


@pytest.mark.parametrize(
    "path",
    [
        ["2018 vs. 2017"],
        ["% Change"],
        ["Thereafter"],
        ["2017-2018"],
        ["$1,577"],
        ["Level 1"],
        [],
        ["After 2020"],
    ],
)
def test_no_period(path: list[str]) -> None:
    assert parse_periods(path, JUNE) is None


def test_without_a_calendar_only_the_name_is_known() -> None:
    assert parse_periods(["2018"], UNKNOWN) == Period("duration", None, None, 2018)
    assert parse_periods(["Q2 2018"], UNKNOWN) == Period("duration", None, None, 2018, 2)


def test_the_event_of_an_8_k_says_nothing_of_the_fiscal_year() -> None:
    event = FiscalCalendar(2022, None, dt.date(2022, 5, 20), "8-K")
    assert event.year_end(2022) is None


def test_the_calendar_counts_weeks_and_months() -> None:
    assert JUNE.year_end(2013) == day("2013-06-30")
    assert FiscalCalendar(2020, None, dt.date(2020, 2, 29), "10-K").year_end(2021) == day("2021-02-28")
    assert WEEKS.year_end(2020).weekday() == day("2023-01-28").weekday()
    assert [
        JUNE.quarter_of(day(end)) for end in ("2015-09-30", "2015-12-31", "2016-03-31", "2016-06-30")
    ] == [
        1,
        2,
        3,
        4,
    ]
    assert JUNE.quarter_of(day("2015-08-15")) is None


def test_beginning_end_and_stocks_are_instants() -> None:
    year = parse_periods(["2016"], JUNE)
    assert shifted(year, "Cash, beginning of period", JUNE) == Period(
        "instant", None, day("2015-06-30"), 2015
    )
    assert shifted(year, "Balance, end of year", JUNE) == Period("instant", None, day("2016-06-30"), 2016)
    assert shifted(year, "Total assets", JUNE).kind == "instant"
    assert shifted(year, "Net income", JUNE) == year


def test_rows_between_two_balances() -> None:
    paths = [("Balance at June 30, 2015",), ("Net income",), ("Balance at June 30, 2016",), ("Net income",)]
    first, between, last, after = row_periods(paths, JUNE, ())
    assert (first.kind, first.end, last.end) == ("instant", day("2015-06-30"), day("2016-06-30"))
    assert between == Period("duration", day("2015-07-01"), day("2016-06-30"), 2016)
    assert after is None


def test_a_due_date_is_no_period() -> None:
    assert row_periods([("February 12, 2025",)], JUNE, ()) == [None]


def test_one_period_stated_above() -> None:
    assert stated_above(["For the year ended June 30, 2015"], JUNE).fiscal_year == 2015
    assert stated_above(["For the years ended June 30, 2016 and 2015"], JUNE) is None
    assert stated_above(["We bought it on March 3, 2015 for cash"], JUNE) is None


dates = st.dates(dt.date(1995, 1, 1), dt.date(2060, 12, 31))


@given(dates, st.sampled_from(["%B %d, %Y", "%b. %d, %Y", "%m/%d/%Y", "%d %B %Y"]))
def test_every_printed_day_is_read_back(date: dt.date, form: str) -> None:
    assert parse_periods([date.strftime(form)], UNKNOWN).end == date


@given(dates, st.sampled_from([("three", 3), ("six", 6), ("nine", 9), ("twelve", 12)]))
def test_durations_are_as_long_as_they_say(date: dt.date, length: tuple[str, int]) -> None:
    word, months = length
    period = parse_periods([f"{word} months ended", f"{date:%B} {date.day},", str(date.year)], UNKNOWN)
    days = (period.end - period.start).days + 1
    assert period.end == date
    assert abs(days - months * 30.44) <= 4
    if ends_month(date):
        assert period.start.day == 1


@given(dates, st.integers(-10, 10))
def test_years_meet_without_gap_or_overlap(end: dt.date, off: int) -> None:
    calendar = FiscalCalendar(end.year, None, end, "10-K")
    year = end.year + off
    last, next_last = calendar.year_end(year), calendar.year_end(year + 1)
    assert 360 <= (next_last - last).days <= 372
    assert calendar.year_of(last) == year


@given(st.lists(st.text(max_size=30), max_size=4), st.lists(st.text(max_size=30), max_size=2))
def test_any_headers_are_parsed_without_error(path: list[str], hints: list[str]) -> None:
    for calendar in (JUNE, WEEKS, UNKNOWN):
        period = parse_periods(path, calendar, hints)
        if period and period.start:
            assert period.start <= period.end


def test_sales_below_the_last_day_of_a_year_are_those_of_the_year() -> None:
    on_the_day = parse_periods(["June 30, 2016"], JUNE)
    assert shifted(on_the_day, "Net sales", JUNE) == Period(
        "duration", day("2015-07-01"), day("2016-06-30"), 2016
    )
    assert shifted(on_the_day, "Inventories", JUNE) == on_the_day
    quarter = parse_periods(["March 31, 2016"], JUNE)
    assert shifted(quarter, "Net sales", JUNE) == quarter


@pytest.mark.parametrize(
    ("header", "only"),
    [
        ("2nd Quarter (a)", True),
        ("1st", True),
        ("(unaudited)", True),
        ("Dec. 31, 2018 (unaudited)", True),
        ("Full Year", True),
        ("", False),
        ("Audited results", False),
        ("As reported", False),
        ("(x) Other", False),
    ],
)
def test_marks_beside_a_period_make_it_no_heading(header: str, only: bool) -> None:
    assert tells_only_time(header) is only
