"""Questions over printed rows of several companies: each company answers for itself."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import pytest

from finrag_pipeline.answering.derivation import Derivation
from finrag_pipeline.answering.open_calculator import OpenCalculator
from finrag_pipeline.answering.row_matcher import row_matcher
from finrag_pipeline.questions.formula_lexicon import formula_lexicon
from finrag_pipeline.resolver.resolver import Resolver
from finrag_pipeline.statements.filed_facts import FilingInfo
from finrag_pipeline.statements.filing_rows import FilingRow, RowValue

END = dt.date(2023, 12, 31)
FILINGS = {"TORVEX_2023_10K": ("Torvex", 48e6), "ANDRIX_2023_10K": ("Andrix", 12e6)}


def _rows(filing: str) -> Sequence[FilingRow]:
    number = FILINGS[filing][1]
    value = RowValue(
        (), END, 12, 2023, None, number, f"{number:,.0f}", "currency", "USD", (0.0, 0.0, 1.0, 1.0)
    )
    return [FilingRow(filing, 4, 0, 0, "", ("Warranty claims paid",), (), None, None, (value,))]


def _ask(question: str) -> Derivation:
    calculator, resolver = _calculator()
    return calculator.answer(question, resolver.resolve(question))


def _calculator() -> tuple[OpenCalculator, Resolver]:
    resolver = Resolver(
        [
            {
                "filing": filing,
                "company": company,
                "fiscal_year": 2023,
                "fiscal_quarter": None,
                "form": "10-K",
                "period_end": END,
            }
            for filing, (company, _) in FILINGS.items()
        ]
    )
    return OpenCalculator(
        {filing: FilingInfo(filing, "10-K", 2023, None, END) for filing in FILINGS},
        lambda _: [],
        _rows,
        resolver,
        formula_lexicon(),
        row_matcher().probabilities,
    ), resolver


@pytest.mark.parametrize("first, second", [("Torvex", "Andrix"), ("Andrix", "Torvex")])
def test_each_of_two_companies_has_its_own_number_in_whatever_order_they_are_named(
    first: str, second: str
) -> None:
    found = _ask(f"Which paid more warranty claims in 2023, {first} or {second}?")
    assert found.answer.startswith("Torvex (Torvex: $48 million; Andrix: $12 million)")


def test_a_question_is_spelled_out_by_the_rows_of_its_company() -> None:
    calculator, resolver = _calculator()
    asked = "Torvex warr. clms paid FY23, $ \u0394?"
    spelled, found = calculator.spelled_out(asked, resolver.resolve(asked), None, {"torvex"})
    assert spelled == "Torvex warranty claims paid FY23, change in dollars ?"
    assert found == {"warr. clms paid": "warranty claims paid"}
    plain = "What were the claims of Torvex in 2023?"
    assert calculator.spelled_out(plain, resolver.resolve(plain), None, {"torvex"}) == (plain, {})
