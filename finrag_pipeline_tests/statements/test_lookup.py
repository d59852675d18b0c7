import datetime as dt

from finrag_pipeline.statements.facts import find_facts
from finrag_pipeline_tests.statements.books import POSITION, table
from finrag_pipeline_tests.statements.test_facts import facts_of, statements
from finrag_pipeline_tests.statements.test_identities import facts


def test_by_concept_and_year() -> None:
    found = find_facts(facts(), concept="assets", fiscal_year=2020)
    assert found["value"].to_pylist() == [812e6]


def test_by_day_and_statement() -> None:
    found = find_facts(facts(), statement="financial_position", period_end=dt.date(2021, 12, 31))
    assert set(found["statement"].to_pylist()) == {"financial_position"}
    assert set(found["period_end"].to_pylist()) == {dt.date(2021, 12, 31)}


def test_labels_are_compared_without_marks() -> None:
    found = find_facts(facts(), label="SHAREHOLDERS’ equity", fiscal_year=2021)
    assert found["label"].to_pylist() == ["Total Madeup Company shareholders' equity"]


def test_other_scopes_only_when_asked_for() -> None:
    parent = facts_of(table(6, POSITION, instant=True), found=statements((6, 0), scope="parent_only"))
    assert find_facts(parent, concept="Assets").num_rows == 0
    assert find_facts(parent, concept="Assets", scope=None).num_rows == 2


def test_without_conditions_all_facts_are_found() -> None:
    every = facts()
    assert find_facts(every, scope=None).num_rows == every.num_rows
    assert find_facts(every, concept="NoSuchConcept").num_rows == 0
