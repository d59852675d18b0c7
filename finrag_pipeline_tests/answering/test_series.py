"""Values over several periods, out of several filings: quarters apart, what is restated, what is missing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

import pytest

from finrag_pipeline.answering.derivation import Derivation
from finrag_pipeline_tests.answering.made_facts import FLOWS, INCOME, POSITION, calculator, fact, filing_row

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


def ask(question: str, restated: float | None = None, misread: bool = False) -> Derivation:
    facts = {name: [] for name in REPORTS}
    for concept, (statement, label, filings) in LINES.items():
        for name, spans in filings.items():
            for (first, last), millions in spans.items():
                end = dt.date(2022 + last // 12, last % 12 + 1, 1) - dt.timedelta(1)
                quarter = last // 3 if last - first == 2 else None
                value = millions * (1.0 if misread and name == "MERVO_2022_10K" else 1e6)
                made = fact(
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
                facts[name].append(made)
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
    return calculator({**facts, "MERVO_2021_10K": [old]}, rows).answer(question)


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
    assert "210 million - 110 million = 100 million: 6 months of FY2022 less Q2 FY2022" in steps
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
