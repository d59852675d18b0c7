"""The period engine: spans of months and weeks, sums of spans, calendars that change."""

from __future__ import annotations

import datetime as dt

import pytest

from finrag_pipeline.statements.filed_facts import Fact, FilingInfo, read_facts
from finrag_pipeline.statements.periods import (
    FiscalPeriod,
    add_up,
    fits,
    name_by_company,
    spans_of,
    told_way,
)
from finrag_pipeline.tables.fiscal_calendar import FiscalCalendar, months_of
from finrag_pipeline_tests.answering.made_facts import INCOME, fact, table

DAY = dt.timedelta(days=1)


def made(start: dt.date, end: dt.date, year: int, quarter: int | None = None, value: float = 1e6) -> Fact:
    row = fact("ACME", INCOME, "Revenues", "Net sales", value, start, end, year=year, quarter=quarter)
    return read_facts(table([row]))[0]


@pytest.mark.parametrize(
    ("weeks", "months"),
    [(12, 3), (13, 3), (14, 3), (16, 3), (17, 3), (24, 6), (28, 6), (36, 9), (40, 9), (52, 12), (53, 12)],
)
def test_quarters_of_weeks_are_quarters(weeks: int, months: int) -> None:
    start = dt.date(2023, 1, 1)
    assert months_of(start, start + 7 * weeks * DAY - DAY) == months


@pytest.mark.parametrize("months", range(1, 13))
def test_months_are_counted(months: int) -> None:
    first = dt.date(2023, 3, 1)
    after = dt.date(2023 + (2 + months) // 12, (2 + months) % 12 + 1, 1)
    assert months_of(first, after - DAY) == months


def test_a_quarter_of_sixteen_weeks_has_its_number() -> None:
    calendar = FiscalCalendar(2023, None, dt.date(2023, 12, 30), "10-K")
    ends = [calendar.quarter_of(dt.date(2023, 12, 30) - 7 * weeks * DAY) for weeks in (0, 16, 28, 40)]
    assert ends == [4, 3, 2, 1]


@pytest.mark.parametrize(
    ("asked", "shown", "way"),
    [
        ((2023, 4), [(2023, None), (2023, 3, 9)], "the year less its first nine months"),
        ((2023, 2), [(2023, 2, 6), (2023, 1)], "6 months of FY2023 less Q1 FY2023"),
        ((2023, 1), [(2023, 2, 6), (2023, 2)], "6 months of FY2023 less Q2 FY2023"),
        (
            (2023, 4),
            [(2023, None), (2023, 1), (2023, 2), (2023, 3)],
            "FY2023 less Q1 FY2023 and Q2 FY2023 and Q3 FY2023",
        ),
        (
            (2023, 2, 12),
            [(2022, None), (2022, 2, 6), (2023, 2, 6)],
            "FY2022 plus 6 months of FY2023 less 6 months of FY2022",
        ),
        (
            (2023, 1, 12),
            [(2022, 2), (2022, 3), (2022, 4), (2023, 1)],
            "Q2 FY2022 plus Q3 FY2022 plus Q4 FY2022 plus Q1 FY2023",
        ),
        ((2023, None), [(2023, 3, 9), (2023, 4)], "9 months of FY2023 plus Q4 FY2023"),
        ((2023, 4), [(2023, None), (2022, 3, 9)], ""),
        ((2023, 3), [(2023, None), (2023, 3)], ""),  # what is asked for is not made of itself
    ],
)
def test_a_period_is_the_sum_of_the_fewest_spans(
    asked: tuple[int | None, ...], shown: list[tuple[int | None, ...]], way: str
) -> None:
    period, printed = FiscalPeriod(*asked), {FiscalPeriod(*one) for one in shown}
    found = spans_of(period, printed.__contains__)
    assert (told_way(period, found) if found else "") == way


def test_spans_of_different_calendars_do_not_add_up() -> None:
    year = made(dt.date(2021, 7, 1), dt.date(2022, 6, 30), 2022)
    nine = made(dt.date(2021, 7, 1), dt.date(2022, 3, 31), 2022)
    assert add_up([(1, year), (-1, nine)], 1)
    assert not add_up([(1, year), (-1, nine)], 2)
    other = made(dt.date(2022, 1, 1), dt.date(2022, 9, 30), 2022)
    assert not add_up([(1, year), (-1, other)], 1)


def test_a_transition_period_has_no_fiscal_year() -> None:
    june, december = dt.date(2021, 6, 30), dt.date(2021, 12, 31)
    old = FilingInfo("OLD", "10-K", 2021, None, june)
    first = FilingInfo("NEW", "10-K", 2022, None, dt.date(2022, 12, 31))
    quarter = made(dt.date(2021, 7, 1), dt.date(2021, 9, 30), 2022, 1)
    later = made(dt.date(2022, 1, 1), dt.date(2022, 3, 31), 2022, 1)
    for newer in (first, FilingInfo("SHORT", "10-KT", 2021, None, december)):
        ((_, (was, is_now)),) = [
            one for one in name_by_company([(old, []), (newer, [quarter, later])]) if one[1]
        ]
        assert (was.fiscal_year, was.fiscal_quarter) == (None, None)
        assert (is_now.fiscal_year, is_now.fiscal_quarter) == (2022, 1)
        assert fits(was, newer, FiscalPeriod(2022, 1)) is None
        assert fits(was, newer, FiscalPeriod(end=dt.date(2021, 9, 30), months=3)) == 0
    weeks = FilingInfo("WEEKS", "10-K", 2022, None, dt.date(2022, 7, 3))  # 53 weeks later is no change
    assert name_by_company([(old, [quarter]), (weeks, [])])[0][1][0].fiscal_year == 2022
