"""Questions over printed rows of several companies: each company answers for itself."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from finrag_pipeline.answering import open_answer, open_calculator
from finrag_pipeline.answering.answer_confidence import SIGNS_OF_ANSWERS
from finrag_pipeline.answering.derivation import Derivation
from finrag_pipeline.answering.open_calculator import OpenCalculator
from finrag_pipeline.answering.row_matcher import row_matcher
from finrag_pipeline.questions.formula_lexicon import formula_lexicon
from finrag_pipeline.resolver.resolver import Resolver
from finrag_pipeline.statements.filed_facts import FilingInfo
from finrag_pipeline.statements.filing_rows import FilingRow, RowValue

END = dt.date(2023, 12, 31)
FILINGS = {"TORVEX_2023_10K": ("Torvex", 48e6), "ANDRIX_2023_10K": ("Andrix", 12e6)}


CLAIMS = {"Warranty claims paid": 1.0}


def _rows_of(filing: str, printed: Mapping[str, float]) -> Sequence[FilingRow]:
    """A table with a row for each label, whose number is the filing's own times what is given."""
    rows = []
    for place, (label, times) in enumerate(printed.items()):
        number = FILINGS[filing][1] * times
        box = (0.0, 0.0, 1.0, 1.0)
        value = RowValue((), END, 12, 2023, None, number, f"{number:,.0f}", "currency", "USD", box)
        rows.append(FilingRow(filing, 4, 0, place, "", (label,), (), None, None, (value,)))
    return rows


def _ask(question: str, printed: Mapping[str, float] = CLAIMS) -> Derivation:
    calculator, resolver = _calculator(printed)
    return calculator.answer(question, resolver.resolve(question))


def _calculator(printed: Mapping[str, float] = CLAIMS) -> tuple[OpenCalculator, Resolver]:
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
        lambda filing: _rows_of(filing, printed),
        resolver,
        formula_lexicon(),
        row_matcher().rate,
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


NOTES = {"Backlog": 1.0, "Advertising expense": 0.25, "Warranty claims paid": 0.5}


def test_a_disclosed_quantity_is_looked_up_by_the_label_that_it_has_in_print() -> None:
    found = _ask("How many orders had Torvex on its books, not yet filled, at the end of 2023?", NOTES)
    assert found.answer == "$48 million" and found.inputs[0].fact.label == "Backlog"
    assert found.from_rows and found.confidence is not None and found.confidence < 1


def test_each_of_two_measures_may_mean_a_disclosed_quantity() -> None:
    asked = "What was larger at Torvex in 2023, what it spent on adverts or the warranty claims paid?"
    found = _ask(asked, NOTES)
    assert {one.fact.label for one in found.inputs} == {"Advertising expense", "Warranty claims paid"}


def test_a_row_that_says_the_words_comes_before_what_they_may_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_calculator, "read_line", lambda *_: ("backlog", 0.6))
    found = _ask("What warranty claims had Torvex paid in 2023?", NOTES)
    assert found.inputs[0].fact.label == "Warranty claims paid"


def test_the_chance_of_what_is_meant_goes_into_that_of_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = "What had Torvex not yet delivered in 2023?"
    prior = _priors(monkeypatch)
    for chance in (0.85, 0.75):
        monkeypatch.setattr(open_calculator, "read_line", lambda *_, chance=chance: ("backlog", chance))
        _ask(asked, NOTES)
    assert prior[1] / prior[0] == pytest.approx(0.75 / 0.85, abs=1e-3)


def test_a_label_of_what_is_surely_meant_is_likely_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    prior = _priors(monkeypatch)
    for chance in (0.89, 0.91):
        monkeypatch.setattr(open_calculator, "read_line", lambda *_, chance=chance: ("backlog", chance))
        _ask("What had Torvex not yet delivered in 2023?", NOTES)
    assert prior[1] / prior[0] > 0.91 / 0.89 + 1e-3


def test_what_is_meant_counts_where_the_words_name_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    prior = _priors(monkeypatch)
    monkeypatch.setattr(open_calculator, "read_line", lambda *_: ("backlog", 0.75))
    found = _ask("And how much was it at Torvex in 2023?", NOTES)
    assert found.inputs[0].fact.label == "Backlog" and prior[0] < 0.76


def test_a_row_that_says_no_word_is_less_sure_than_the_label_of_what_is_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(open_calculator, "read_line", lambda *_: ("membership_fees", 0.85))
    printed = {"Total revenue": 4.0, "Membership fees": 0.5}
    found = _ask("How much did Torvex take in from its yearly dues in 2023?", printed)
    assert found.inputs[0].fact.label == "Membership fees"


@pytest.mark.parametrize("part", ["foreign", "domestic"])
def test_a_line_is_not_read_for_a_part_of_the_company(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_calculator, "read_line", lambda *_: ("operating_income", 0.95))
    printed = {"Operating income": 4.0, f"Operating income, {part} business": 0.5}
    assert (
        _ask(f"What did the {part} business of Torvex earn from operations in 2023?", printed).exact == 24e6
    )


def _priors(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The products of all probabilities of the answers from now on, each of which is given."""
    found: list[float] = []

    def confidence(signs: np.ndarray) -> float:
        found.append(float(1 / (1 + np.exp(-signs[SIGNS_OF_ANSWERS.index("prior")]))))
        return 1.0

    monkeypatch.setattr(open_answer, "answer_confidence", confidence)
    return found


def test_the_closest_rows_are_those_of_what_is_meant_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_calculator, "read_line", lambda *_: ("backlog", 0.75))
    calculator, resolver = _calculator(NOTES)
    asked = "How many tramways had Torvex promised in 2023?"
    rows = [row.label for row in calculator.closest(asked, resolver.resolve(asked))]
    assert "Backlog" in rows[:2]


def test_a_part_of_a_line_that_a_row_names_is_not_answered_by_the_line() -> None:
    printed = {"Share-based compensation": 2.0, "Share-based compensation, tram design": 0.5}
    assert (
        _ask("How much share-based compensation did Torvex book in tram design in 2023?", printed).exact
        == 24e6
    )
    assert _ask("How much share-based compensation did Torvex book in 2023?", printed).exact == 96e6


def test_a_ratio_that_is_asked_for_without_its_name_is_no_part_of_another() -> None:
    found = _ask(
        "Out of every dollar Torvex sold in 2023, how many cents were left as operating profit? In percent.",
        {"Operating income": 0.2, "Revenue": 2.0},
    )
    assert (found.formula, found.answer) == ("operating_margin", "10.0%")


def test_a_line_that_is_surely_asked_for_takes_the_place_of_one_that_a_word_names() -> None:
    printed = {"Repayments of debt": 0.5, "Total debt": 2.0}
    assert _ask("How much debt did Torvex pay back in 2023?", printed).exact == 24e6
    assert _ask("How much debt did Torvex have in 2023?", printed).exact == 96e6


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What was the revenue of Torvex's Tramway business in 2023?", True),
        ("What was the revenue of Torvex's Ferry business in 2023?", False),
        ("What was the revenue of Torvex in 2023?", False),
    ],
)
def test_a_name_that_rows_print_asks_for_a_part(question: str, named: bool) -> None:
    calculator, resolver = _calculator({"Tramway sales": 1.0, "Other sales": 0.5})
    assert calculator.names_part(question, resolver.resolve(question)) is named
