"""Values over several periods, out of several filings: quarters apart, what is restated, what is missing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from finrag_pipeline.answering.derivation import Derivation
from finrag_pipeline.answering.fact_series import Each, PeriodValue, fact_series
from finrag_pipeline.statements.filed_facts import FilingInfo, read_facts, read_info
from finrag_pipeline_tests.answering.made_facts import (
    FLOWS,
    INCOME,
    POSITION,
    calculator,
    fact,
    filing_row,
    table,
)

Spans = Mapping[tuple[int, int], float]
"""Millions by first and last month of 2022; a year is (1, 12)."""

REPORTS = {"MERVO_2022Q1_10Q": 1, "MERVO_2022Q2_10Q": 2, "MERVO_2022Q3_10Q": 3, "MERVO_2022_10K": None}
SALES: Mapping[str, Spans] = {
    "MERVO_2022Q2_10Q": {(4, 6): 110, (1, 6): 210},
    "MERVO_2022Q3_10Q": {(7, 9): 130, (1, 9): 340},
    "MERVO_2022_10K": {(1, 12): 500},
}
CASH: Mapping[str, Spans] = {
    "MERVO_2022Q2_10Q": {(1, 6): 40},
    "MERVO_2022Q3_10Q": {(1, 9): 70},
    "MERVO_2022_10K": {(1, 12): 110},
}
LINES = {
    "Revenues": (INCOME, "Net sales", SALES),
    "NetCashProvidedByUsedInOperatingActivities": (FLOWS, "Net cash from operations", CASH),
}


def made(
    restated: float | None = None, misread: bool = False
) -> tuple[dict[str, list[dict[str, Any]]], list[dict[str, Any]]]:
    """Facts by filing, and rows of ``filings``."""
    facts: dict[str, list[dict[str, Any]]] = {name: [] for name in REPORTS}
    for concept, (statement, label, filings) in LINES.items():
        for name, spans in filings.items():
            for (first, last), millions in spans.items():
                end = dt.date(2022 + last // 12, last % 12 + 1, 1) - dt.timedelta(1)
                quarter = last // 3 if last - first == 2 else None
                value = millions * (1.0 if misread and name == "MERVO_2022_10K" else 1e6)
                one = fact(
                    name,
                    statement,
                    concept,
                    label,
                    value,
                    dt.date(2022, first, 1),
                    end,
                    year=2022,
                    quarter=quarter,
                )
                facts[name].append(one)
    end = dt.date(2022, 12, 31)
    facts["MERVO_2022_10K"].append(
        fact("MERVO_2022_10K", POSITION, "Assets", "Total assets", 900e6, None, end, year=2022)
    )
    year = dt.date(2021, 1, 1), dt.date(2021, 12, 31)
    old = fact("MERVO_2021_10K", INCOME, "Revenues", "Net sales", 450e6, *year, year=2021)
    new = fact(
        "MERVO_2022_10K", INCOME, "Revenues", "Net sales", (restated or 450) * 1e6, *year, year=2021, row=9
    )
    facts["MERVO_2022_10K"].append(new)
    rows = [
        filing_row(
            name,
            "Mervo Corp",
            "10-Q" if quarter else "10-K",
            2022,
            dt.date(2022, 3 * quarter if quarter else 12, 30),
            fiscal_quarter=quarter,
        )
        for name, quarter in REPORTS.items()
    ]
    rows.append(filing_row("MERVO_2021_10K", "Mervo Corp", "10-K", 2021, dt.date(2021, 12, 31)))
    return {**facts, "MERVO_2021_10K": [old]}, rows


def ask(question: str, restated: float | None = None, misread: bool = False) -> Derivation:
    facts, rows = made(restated, misread)
    return calculator(facts, rows).answer(question)


def series(concept: str, each: Each, newer: Sequence[dict[str, Any]] = ()) -> list[PeriodValue]:
    facts, rows = made()
    if newer:
        rows.append(filing_row("MERVO_2023_10K", "Mervo Corp", "10-K", 2023, dt.date(2023, 12, 31)))
        facts["MERVO_2023_10K"] = list(newer)
    filings = [(read_info(row), read_facts(table(facts[row["filing"]]))) for row in rows]
    return fact_series(filings, concept, each)


def test_quarters_are_stitched_over_filings_and_say_how() -> None:
    found = ask("How did Mervo's revenue develop over the last four quarters?")
    assert [(one.label, one.value) for one in found.series] == [
        ("Q1 FY2022", 100e6),
        ("Q2 FY2022", 110e6),
        ("Q3 FY2022", 130e6),
        ("Q4 FY2022", 160e6),
    ]
    assert found.answer.startswith(
        "Revenue rose from $100 million (Q1 FY2022) to $160 million (Q4 FY2022, the latest, in MERVO_2022_10K), by 60.0%"
    )
    steps = "\n".join(found.steps)
    assert "500 million - 340 million = 160 million: the year less its first nine months" in steps
    assert "6 months of FY2022 less Q2 FY2022" in steps
    assert {one.fact.filing for one in found.inputs} == set(SALES)
    assert [line.count("█") for line in found.as_text().splitlines() if "█" in line] == [19, 21, 24, 30]


def test_the_year_to_date_is_never_a_quarter() -> None:
    found = ask("Mervo's operating cash flow in each quarter of 2022")
    assert [(one.label, one.value) for one in found.series] == [("Q3 FY2022", 30e6), ("Q4 FY2022", 40e6)]
    assert "No filing here shows Q1 FY2022 and Q2 FY2022." in found.answer
    assert ask("What was Mervo's operating cash flow in the third quarter of 2022?").answer == "$30 million"


def test_what_was_restated_is_preferred_and_named() -> None:
    found = ask("How did Mervo's revenue develop over the last two years?", restated=440)
    assert [one.answer for one in found.series] == ["$440 million", "$500 million"]
    assert found.series[1].change == "+13.6%"
    assert "Restated: FY2021 (MERVO_2021_10K showed $450 million)." in found.answer


def test_twelve_months_up_to_the_latest_quarter_are_the_year_where_it_is_the_last() -> None:
    found = ask("What was Mervo's revenue over the trailing twelve months?")
    assert found.answer == "Revenue was $500 million (FY2022, the latest, in MERVO_2022_10K)."


@pytest.mark.parametrize(
    "question",
    [
        "Show Mervo's revenue for each quarter of 2021",
        "How did Mervo's total assets develop over the last three quarters?",
        "How did Mervo's organic revenue develop over the last three quarters?",
    ],
)
def test_what_cannot_be_told_quarter_by_quarter_is_not_answered(question: str) -> None:
    assert ask(question).abstained


def test_a_scale_that_was_misread_gives_no_number() -> None:
    assert ask("Mervo's revenue in the fourth quarter of 2022", misread=True).abstained


def test_a_balance_may_be_compared_with_that_of_a_quarter_and_an_amount_may_not() -> None:
    assert ask("Did Mervo's total assets change between FY2021 and FY2022?").abstained
    assert ask(
        "By what percent did Mervo's revenue grow in the fourth quarter of 2022 over fiscal 2021?"
    ).abstained


def test_a_concept_by_quarters_names_the_source_of_each_value() -> None:
    found = series("revenues", "quarter")
    assert [(one.period.label, one.value, one.how) for one in found] == [
        ("Q1 FY2022", 100e6, "6 months of FY2022 less Q2 FY2022"),
        ("Q2 FY2022", 110e6, ""),
        ("Q3 FY2022", 130e6, ""),
        ("Q4 FY2022", 160e6, "the year less its first nine months"),
    ]
    sources = [[source["filing"] for source in one.as_json()["sources"]] for one in found]
    assert sources == [
        ["MERVO_2022Q2_10Q", "MERVO_2022Q2_10Q"],
        ["MERVO_2022Q2_10Q"],
        ["MERVO_2022Q3_10Q"],
        ["MERVO_2022_10K", "MERVO_2022Q3_10Q"],
    ]


def test_a_concept_by_years_and_over_twelve_months() -> None:
    assert [(one.period.label, one.value) for one in series("Revenues", "year")] == [
        ("FY2021", 450e6),
        ("FY2022", 500e6),
    ]
    assert [(one.period.label, one.value) for one in series("Revenues", "twelve")] == [
        ("FY2021", 450e6),
        ("12 months to Q1 FY2022", None),
        ("12 months to Q2 FY2022", None),
        ("12 months to Q3 FY2022", None),
        ("FY2022", 500e6),
    ]
    assert [(one.period.label, one.value) for one in series("Assets", "quarter")] == [("Q4 FY2022", 900e6)]
    assert series("Goodwill", "year") == []


def test_what_a_later_filing_restated_is_taken_from_it_and_not_mixed_with_what_was_not() -> None:
    year = dt.date(2022, 1, 1), dt.date(2022, 12, 31)
    again = fact("MERVO_2023_10K", INCOME, "Revenues", "Net sales", 480e6, *year, year=2022)
    found = {one.period.label: one for one in series("Revenues", "year", [again])}
    assert found["FY2022"].value == 480e6
    assert [(one["filing"], one["value"]) for one in found["FY2022"].others] == [("MERVO_2022_10K", 500e6)]
    quarters = {one.period.label: one for one in series("Revenues", "quarter", [again])}
    assert quarters["Q4 FY2022"].value == 160e6
    assert quarters["Q4 FY2022"].how.endswith("the year less its first nine months, as first reported")


def test_an_amended_filing_is_newer_than_what_it_amends() -> None:
    facts, rows = made()
    year = dt.date(2022, 1, 1), dt.date(2022, 12, 31)
    facts["ZZ_10KA"] = [fact("ZZ_10KA", INCOME, "Revenues", "Net sales", 505e6, *year, year=2022)]
    amended = filing_row("ZZ_10KA", "Mervo Corp", "10-K/A", 2022, rows[3]["period_end"])
    filings = [(read_info(row), read_facts(table(facts[row["filing"]]))) for row in (amended, *rows)]
    last = fact_series(filings, "Revenues", "year")[-1]
    assert (last.value, last.inputs[0].fact.filing) == (505e6, "ZZ_10KA")
    assert [one["filing"] for one in last.others] == ["MERVO_2022_10K"]
    answer = calculator(facts, [*rows, amended]).answer("What were Mervo's net sales in fiscal year 2022?")
    assert answer.answer == "$505 million"


@pytest.mark.parametrize(("known", "value"), [(True, 455e6), (False, 450e6)])
def test_what_was_filed_last_wins_where_every_filing_tells_its_day(known: bool, value: float) -> None:
    facts, rows = made()
    year = dt.date(2021, 1, 1), dt.date(2021, 12, 31)
    facts["A_10KA"] = [fact("A_10KA", INCOME, "Revenues", "Net sales", 455e6, *year, year=2021)]
    rows = [row | {"filed": row["period_end"] + dt.timedelta(45)} for row in rows]
    day = dt.date(2023, 6, 1) if known else None
    rows.append(filing_row("A_10KA", "Mervo Corp", "10-K/A", 2021, year[1], filed=day))
    filings = [(read_info(row), read_facts(table(facts[row["filing"]]))) for row in rows]
    assert fact_series(filings, "Revenues", "year")[0].value == value


def test_what_lies_between_two_fiscal_calendars_is_told_by_its_days() -> None:
    def made(filing: str, value: float, start: dt.date, end: dt.date, year: int, quarter: int | None) -> Any:
        return fact(filing, INCOME, "Revenues", "Net sales", value, start, end, year=year, quarter=quarter)

    day = dt.date
    facts = {
        "OLD_10K": [made("OLD_10K", 400e6, day(2020, 7, 1), day(2021, 6, 30), 2021, None)],
        "OLD_10Q": [made("OLD_10Q", 90e6, day(2021, 7, 1), day(2021, 9, 30), 2022, 1)],
        "SHORT_10KT": [made("SHORT_10KT", 210e6, day(2021, 7, 1), day(2021, 12, 31), 2021, None)],
        "NEW_10Q": [made("NEW_10Q", 130e6, day(2022, 1, 1), day(2022, 3, 31), 2022, 1)],
    }
    infos = [
        FilingInfo("OLD_10K", "10-K", 2021, None, day(2021, 6, 30)),
        FilingInfo("OLD_10Q", "10-Q", 2022, 1, day(2021, 9, 30)),
        FilingInfo("SHORT_10KT", "10-KT", 2021, None, day(2021, 12, 31)),
        FilingInfo("NEW_10Q", "10-Q", 2022, 1, day(2022, 3, 31)),
    ]
    filings = [(info, read_facts(table(facts[info.filing]))) for info in infos]
    quarters = [(one.period.label, one.value) for one in fact_series(filings, "Revenues", "quarter")]
    assert quarters == [("3 months to 2021-09-30", 90e6), ("Q1 FY2022", 130e6)]
    years = [(one.period.label, one.value) for one in fact_series(filings, "Revenues", "year")]
    assert years == [("FY2021", 400e6), ("6 months to 2021-12-31", 210e6)]
