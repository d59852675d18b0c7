"""Derivations as the calculator makes them, for tests of what is done with one."""

from __future__ import annotations

import datetime as dt

from finrag_pipeline.answering.derivation import Derivation, Input
from finrag_pipeline.statements.filed_facts import Fact


def used(
    line: str, year: int, value: float, printed: str, page: int = 59, filing: str = "ALDER_2021_10K"
) -> Input:
    """An input out of a table in millions."""
    fact = Fact(
        fact_id=f"{filing}:{page}:{line}:{year}",
        filing=filing,
        statement="cash_flows",
        scope="primary",
        concept=line.title().replace(" ", ""),
        line=line.title().replace(" ", ""),
        label=line,
        path=(line,),
        qualifier=None,
        period_start=dt.date(year, 1, 1),
        period_end=dt.date(year, 12, 31),
        period_kind="duration",
        fiscal_year=year,
        fiscal_quarter=None,
        value=value,
        unit="currency",
        currency="USD",
        printed=printed,
        scale=1e6,
        page=page,
        row=3,
        column=1,
        box=(1.0, 2.0, 3.0, 4.0),
    )
    return Input(line, f"FY{year}", fact, value)


def capital_expenditure() -> Derivation:
    """One line item: $1,577 million."""
    return Derivation(
        question="What was Alder's FY2021 capital expenditure (in USD millions)?",
        answer="Alder's capital expenditure in FY2021 was $1,577 million.",
        value=1577.0,
        unit="USD million",
        formula="capital expenditure",
        steps=("capital expenditure FY2021 = 1,577",),
        inputs=(used("capital expenditure", 2021, 1577e6, "(1,577)"),),
        exact=1577e6,
    )


def growth() -> Derivation:
    """A change over a year: -3.7 %."""
    return Derivation(
        question="How did Alder's revenue change from FY2020 to FY2021?",
        answer="Alder's revenue changed by -3.7% from FY2020 to FY2021.",
        value=-3.7,
        unit="percent",
        formula="revenue / revenue of the year before - 1",
        steps=("963 / 1,000 - 1 = -0.037",),
        inputs=(used("revenue", 2021, 963e6, "963", 40), used("revenue", 2020, 1000e6, "1,000", 40)),
        exact=-0.037,
    )


def abstention() -> Derivation:
    """No answer."""
    return Derivation(
        question="What was Alder's FY2035 revenue?",
        answer="Cannot be determined from the filings indexed: no filing of Alder shows FY2035.",
        abstained=True,
        kind="unknown_period",
        why="no filing of Alder shows FY2035",
    )
