"""Figures of filings of one company against each other."""

from __future__ import annotations

import datetime as dt
from typing import Any

from finrag_pipeline.statements.filed_facts import FilingInfo, shown_otherwise
from finrag_pipeline_tests.answering.made_facts import INCOME, fact

YEAR = dt.date(2022, 1, 1), dt.date(2022, 12, 31)


def sales(filing: str, value: float, **more: Any) -> dict[str, Any]:
    return {**fact(filing, INCOME, "Revenues", "Net sales", value, *YEAR, year=2022), **more}


def test_a_figure_that_another_filing_contradicts_is_named_with_that_of_the_other() -> None:
    facts = [sales("OLD", 500e6), sales("NEW", 480e6), sales("SAME", 500.1e6), sales("SIGN", -500e6)]
    found = shown_otherwise(facts, "OLD")
    assert [(own["value"], other["filing"], other["value"]) for own, other in found] == [
        (500e6, "NEW", 480e6)
    ]
    assert [other["filing"] for _, other in shown_otherwise(facts, "NEW")] == ["OLD", "SAME", "SIGN"]
    assert shown_otherwise(facts, "OTHER") == []


def test_notes_parts_and_other_days_contradict_nothing() -> None:
    own = sales("OLD", 500e6)
    for other in (
        sales("NEW", 90e6, scope="note"),
        sales("NEW", 90e6, qualifier="Lamps"),
        sales("NEW", 90e6, period_end=dt.date(2022, 12, 24)),
        sales("NEW", 90e6, unit="shares"),
        sales("NEW", 90e6, line=None, concept=None),
    ):
        assert shown_otherwise([own, other], "OLD") == []


def test_an_amendment_is_newer_than_what_it_amends_and_forms_of_a_family_are_annual() -> None:
    end = dt.date(2022, 12, 31)
    forms = ("10-K", "10-K/A", "10-KT", "20-F", "10-Q", "8-K")
    infos = {form: FilingInfo(form, form, 2022, None, end) for form in forms}
    assert infos["10-K/A"].newness > infos["10-K"].newness
    assert [form for form, info in infos.items() if info.annual] == ["10-K", "10-K/A", "10-KT", "20-F"]
    assert infos["8-K"].own_place is None and infos["10-K"].own_place == 4 * 2022 + 4
