import pytest

from finrag_pipeline.statements.classify import classify_pages
from finrag_pipeline.statements.page_evidence import PRIMARY_KINDS
from finrag_pipeline_tests.statements.books import (
    FLOWS,
    INCOME,
    POSITION,
    PROSE,
    annual_report,
    page_tables,
    page_text,
    table,
)  # fmt: skip


def primary(found: list) -> dict[str, list[int]]:
    pages: dict[str, list[int]] = {}
    for statement in found:
        if statement.scope == "primary" and statement.table is None:
            pages.setdefault(statement.kind, []).append(statement.page)
    return pages


def test_statements_of_an_annual_report_are_found_among_index_mdna_notes_and_schedule() -> None:
    found = classify_pages(annual_report(), None, "10-K")
    assert primary(found) == {
        "income_statement": [5], "financial_position": [6], "comprehensive_income": [7], "cash_flows": [8],
    }  # fmt: skip
    assert [s.scope for s in found if s.page == 11 and s.kind == "financial_position"] == ["parent_only"]


@pytest.mark.parametrize("kind", PRIMARY_KINDS)
def test_a_statement_without_its_title_is_found_by_its_line_items(kind: str) -> None:
    pages = annual_report()
    place = {"income_statement": 5, "financial_position": 6, "cash_flows": 8}[kind]
    lines = {"income_statement": INCOME, "financial_position": POSITION, "cash_flows": FLOWS}[kind]
    pages[place] = page_text("", lines)
    assert primary(classify_pages(pages, None, "10-K"))[kind] == [place]


def test_a_statement_over_two_pages_is_one_block() -> None:
    pages = annual_report()
    pages[6:7] = [
        page_text("Consolidated Balance Sheets", POSITION[:9]),
        page_text("Consolidated Balance Sheets (continued)", POSITION[9:]),
    ]
    found = classify_pages(pages, None, "10-K")
    assert primary(found)["financial_position"] == [6, 7]


def test_supplemental_cash_flows_on_the_next_page_belong_to_the_statement() -> None:
    pages = annual_report()
    pages.insert(
        9, "Supplemental cash flow information\nCash paid for interest 20 15\nCash paid for taxes 12 11"
    )
    assert primary(classify_pages(pages, None, "10-K"))["cash_flows"] == [8, 9]


def test_the_first_of_two_full_sets_is_primary() -> None:
    pages = annual_report()
    other = [
        page_text("Consolidated Statements of Income", INCOME, ["Other Registrant LLC"]),
        page_text("Consolidated Balance Sheets", POSITION, ["Other Registrant LLC"]),
        page_text("Consolidated Statements of Cash Flows", FLOWS, ["Other Registrant LLC"]),
    ]
    found = classify_pages([*pages[:11], *other, *pages[9:11]], None, "10-K")
    assert primary(found)["financial_position"] == [6]
    assert {s.scope for s in found if s.page in (11, 12, 13)} <= {"other_entity", "note"}


def test_quarterly_report_has_its_statements_first() -> None:
    pages = annual_report()
    quarter = ["FORM 10-Q", pages[5], pages[6], pages[8], pages[9], pages[10], pages[2]]
    assert primary(classify_pages(quarter, None, "10-Q")) == {
        "income_statement": [1], "financial_position": [2], "cash_flows": [3],
    }  # fmt: skip


def test_quarter_and_year_to_date_on_pages_of_their_own_are_both_primary() -> None:
    title = "Condensed Consolidated Statement of Earnings"
    release = [f"Madeup reports results\n{PROSE}", page_text(title, INCOME), page_text(title, INCOME)]
    assert primary(classify_pages(release, None, "EARNINGS")) == {"income_statement": [1, 2]}


@pytest.mark.parametrize("pages", [[], [""], ["FORM 8-K\nItem 5.02 Departure of Directors"], [PROSE] * 5])
def test_a_filing_without_statements_has_none(pages: list[str]) -> None:
    assert primary(classify_pages(pages, None, "8-K")) == {}


def test_tables_on_a_statement_page_share_its_scope_and_others_are_judged_alone() -> None:
    pages = annual_report()
    tables = page_tables(
        table(2, INCOME[:9]),
        table(6, POSITION[:9], instant=True),
        table(6, POSITION[9:], ordinal=1, instant=True),
        table(10, [("Useful life", "10", "12"), ("Towers", "5", "6")]),
    )
    found = {(s.page, s.table): s for s in classify_pages(pages, tables, "10-K") if s.table is not None}
    assert found[(6, 0)].scope == found[(6, 1)].scope == "primary"
    assert found[(6, 1)].kind == "financial_position"
    assert (found[(2, 0)].kind, found[(2, 0)].scope) == ("income_statement", "mdna")
    assert (10, 0) not in found
