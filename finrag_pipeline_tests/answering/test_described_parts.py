"""Questions that describe a part of the company by what it does, or compare two."""

from __future__ import annotations

import pytest

from finrag_pipeline.answering.described_parts import describes_part, with_described_part
from finrag_pipeline.answering.part_descriptions import PartDescriptions
from finrag_pipeline.questions.plan import Operation, QuestionPlan, Verdict, read_plan
from finrag_pipeline_tests.answering.test_part_descriptions import PAGES, ROWS

QUANTITIES = frozenset(("sale", "profit", "oper", "net", "incom"))
PARTS = PartDescriptions(ROWS, PAGES)


def read(question: str) -> QuestionPlan:
    plan = read_plan(question, ("Torvex",))
    assert plan is not None and describes_part(plan)
    return with_described_part(plan, PARTS, QUANTITIES)


@pytest.mark.parametrize(
    ("question", "measure"),
    [
        ("What were the sales of Torvex's tugboat and crane arm in 2023?", "sales Harbour Works"),
        ("How much did Torvex's cider and juice business sell in 2023?", "sales Orchard"),
        ("What were the sales of Torvex's Orchard juice business in 2023?", "sales Orchard"),
    ],
)
def test_the_name_of_a_part_stands_in_place_of_what_describes_it(question: str, measure: str) -> None:
    found = read(question)
    assert sorted(found.measures[0].split()) == sorted(measure.split())
    if "Orchard" not in question:
        assert found.names[-1] in measure and found.names[-1] in found.read_as[0]


def test_what_names_or_describes_no_part_stays_as_it_is() -> None:
    for question in (
        "What were the sales of Torvex's Orchard segment in 2023?",
        "What were the sales of Torvex's aeroplane segment in 2023?",
    ):
        assert read(question) == read_plan(question, ("Torvex",))
    plain = read_plan("What were Torvex's tugboat sales in 2023?", ("Torvex",))
    assert plain is not None and not describes_part(plain)


def test_a_share_of_what_a_part_does_lies_within_it() -> None:
    found = read("What share of the sales of Torvex's tugboat and crane arm were exports in 2023?")
    assert found.operation is Operation.RATIO
    assert all("Harbour Works" in measure for measure in found.measures)


@pytest.mark.parametrize(("asked", "verdict"), [("higher", Verdict.MORE), ("lower", Verdict.LESS)])
def test_two_parts_that_one_yes_or_no_names_are_compared(asked: str, verdict: Verdict) -> None:
    found = read(
        f"Was the profit of Torvex's Orchard segment {asked} than that of the Harbour Works segment in 2023?"
    )
    assert (found.operation, found.verdict) == (Operation.DIFFERENCE, verdict)
    first, second = found.measures
    assert "Orchard" in first and "Harbour" not in first
    assert "Harbour Works" in second and "Orchard" not in second


@pytest.mark.parametrize(
    ("question", "whole"),
    [
        ("What share of the sales of Torvex's Orchard segment were exports in 2023?", "Orchard"),
        ("What share of Torvex's sales came from the Orchard segment in 2023?", ""),
        ("What percentage of the total sales of Torvex were Orchard segment exports in 2023?", ""),
    ],
)
def test_a_share_within_a_part_is_of_that_part(question: str, whole: str) -> None:
    found = read(question)
    assert found.operation is Operation.RATIO
    assert ("Orchard" in found.measures[1]) == bool(whole)
    assert "Orchard" in found.measures[0]
