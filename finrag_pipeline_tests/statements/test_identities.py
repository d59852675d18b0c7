import pyarrow as pa
import pytest

from finrag_pipeline.statements.identities import (
    IdentityResult,
    check_identities,
    check_subtotals,
)
from finrag_pipeline_tests.statements.books import FLOWS, INCOME, PER_SHARE, POSITION, Line, table
from finrag_pipeline_tests.statements.test_facts import facts_of, statements


def facts(
    income: list[Line] = INCOME, position: list[Line] = POSITION, flows: list[Line] = FLOWS
) -> pa.Table:
    return facts_of(
        table(5, income, per_share=PER_SHARE),
        table(6, position, instant=True),
        table(8, flows),
        found=statements((5, 0), (6, 0), (8, 0)),
    )


def changed(lines: list[Line], label: str, *numbers: str) -> list[Line]:
    assert any(line[0] == label for line in lines)
    return [(label, *numbers) if line[0] == label else line for line in lines]


def without(lines: list[Line], label: str) -> list[Line]:
    return [line for line in lines if line[0] != label]


def of(results: list[IdentityResult], name: str) -> list[bool | None]:
    return [result.passed for result in results if result.name == name]


def test_sound_books_meet_every_identity_in_both_years() -> None:
    passed = {(result.name, result.passed) for result in check_identities(facts())}
    names = (
        "balance", "liabilities and equity add up", "gross profit", "cash flows add up", "cash rolls forward",
        "cash ties", "net income ties",
    )  # fmt: skip
    assert passed == {*((name, True) for name in names), ("assets add up", None)}


@pytest.mark.parametrize(
    ("name", "books"),
    [
        ("balance", {"position": changed(POSITION, "Total assets", "$ 901", "$ 812")}),
        ("liabilities and equity add up", {"position": changed(POSITION, "Total liabilities", "404", "448")}),
        ("gross profit", {"income": changed(INCOME, "Cost of sales", "650", "550")}),
        ("cash flows add up", {"flows": changed(FLOWS, "Net cash used in investing activities", "(77)", "(60)")}),
        ("cash rolls forward",
         {"flows": changed(FLOWS, "Cash and cash equivalents at beginning of year", "105", "96")}),
        ("cash ties", {"position": changed(POSITION, "Current assets: > Cash and cash equivalents", "$ 201", "$ 150")}),
        ("net income ties", {"flows": changed(FLOWS, "Cash flows from operating activities > Net income", "101", "75")}),
    ],
)  # fmt: skip
def test_a_wrong_number_fails_its_identity_in_its_year(name: str, books: dict[str, list[Line]]) -> None:
    results = [result for result in check_identities(facts(**books)) if result.name == name]
    assert sorted(result.passed is True for result in results) == [False, True]
    failed = next(result for result in results if not result.passed)
    assert "2021-12-31" in failed.period
    assert failed.difference is not None
    assert abs(failed.difference) > failed.tolerance
    assert len(failed.facts) >= 2


def test_rounding_of_what_is_printed_is_allowed() -> None:
    # Four numbers to the million may each be half a million off.
    close = changed(FLOWS, "Net cash used in financing activities", "(13)", "(10)")
    assert of(check_identities(facts(flows=close)), "cash flows add up") == [True, True]


def test_a_missing_part_makes_the_identity_not_applicable() -> None:
    results = check_identities(facts(position=without(POSITION, "Total assets")))
    assert of(results, "balance") == [None, None]
    assert next(result for result in results if result.name == "balance").note == "no Assets"


def test_balance_without_the_grand_total_uses_its_parts() -> None:
    results = check_identities(facts(position=without(POSITION, "Total liabilities and equity")))
    assert of(results, "balance") == [True, True]


def test_costs_printed_in_brackets_are_added() -> None:
    costs = changed(INCOME, "Cost of sales", "(600)", "(550)")
    assert of(check_identities(facts(income=costs)), "gross profit") == [True, True]


def test_a_line_of_its_own_before_the_change_in_cash_counts() -> None:
    place = next(
        place for place, line in enumerate(FLOWS) if line[0] == "Net increase in cash and cash equivalents"
    )
    sold = [
        *FLOWS[:place],
        ("Change in cash classified as held for sale", "(9)", "3"),
        ("Net increase in cash and cash equivalents", "51", "57"),
        ("Cash and cash equivalents at beginning of year", "159", "93"),
        FLOWS[-1],
    ]
    assert of(check_identities(facts(flows=sold)), "cash flows add up") == [True, True]


def test_restricted_cash_elsewhere_is_not_a_failure() -> None:
    label = "Cash, cash equivalents and restricted cash at end of year"
    flows = [*FLOWS[:-1], (label, "$ 230", "$ 170")]
    assert of(check_identities(facts(flows=flows)), "cash ties") == [None, None]


def test_facts_of_other_scopes_are_left_out() -> None:
    both = facts_of(table(6, POSITION, instant=True), found=statements((6, 0), scope="parent_only"))
    assert check_identities(both) == []


def test_subtotals_of_sound_books_add_up_and_a_wrong_one_is_named() -> None:
    sound = check_subtotals(facts())
    assert [result.note for result in sound if result.passed].count("Total assets") == 2
    assert not [result for result in sound if result.passed is False]
    group = "Current assets: > Total current assets"
    lines = [(group, "400", "320") if line[0] == "Total current assets" else line for line in POSITION]
    assert not [result for result in check_subtotals(facts(position=lines)) if result.passed is False]
    wrong = check_subtotals(facts(position=changed(lines, group, "444", "320")))
    assert [result.note for result in wrong if result.passed is False] == [
        "no run of rows above 'Total current assets' adds up to it"
    ]
