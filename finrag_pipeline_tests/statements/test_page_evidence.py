import pytest

from finrag_pipeline.statements.page_evidence import page_evidence, squeezed, title_kinds
from finrag_pipeline_tests.statements.books import FLOWS, INCOME, POSITION, PROSE, page_text


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("CONSOLIDATED STATEMENTS OF OPERATIONS", ["income_statement"]),
        ("Consolidated Statement of Income", ["income_statement"]),
        ("Consolidated Statements of (Loss) Earnings", ["income_statement"]),
        ("INCOME STATEMENTS", ["income_statement"]),
        ("Statements of Income and Comprehensive Income", ["income_statement", "comprehensive_income"]),
        ("Consolidated Statements of Comprehensive Income (Loss)", ["comprehensive_income"]),
        ("COMPREHENSIVE INCOME STATEMENTS", ["comprehensive_income"]),
        ("Condensed Consolidated Balance Sheets (Unaudited)", ["financial_position"]),
        ("Consolidated Statements of Financial Position", ["financial_position"]),
        ("Statements of Consolidated Financial Condition", ["financial_position"]),
        ("Consolidated Balance Shee t", ["financial_position"]),
        ("CASH FLOWS STATEMENTS", ["cash_flows"]),
        ("Statement of Consolidated Cash Flows", ["cash_flows"]),
        ("Consolidated Statements of Changes in Shareholders’ Equity", ["equity"]),
        ("STOCKHOLDERS’ EQUITY STATEMENTS", ["equity"]),
        ("See accompanying Notes to Consolidated Financial Statements", []),
        ("Notes to the Consolidated Balance Sheets", []),
        ("Average balance sheets, interest and rates", []),
        ("Total liabilities and equity", []),
    ],
)
def test_title_names_its_kind(line: str, kinds: list[str]) -> None:
    assert sorted(title_kinds(line)) == sorted(kinds)


def test_a_sentence_about_statements_is_no_title() -> None:
    assert (
        title_kinds("the amounts that we include in the consolidated balance sheets of each of these years")
        == []
    )


@pytest.mark.parametrize(
    ("kind", "lines"), [("income_statement", INCOME), ("financial_position", POSITION), ("cash_flows", FLOWS)]
)
def test_line_items_speak_for_their_own_statement_most(kind: str, lines: list) -> None:
    seen = page_evidence(3, page_text("", lines))
    share = {name: len(met) for name, met in seen.contents.items()}
    assert max(share, key=lambda name: share[name]) == kind
    assert seen.prose < 0.1
    assert not seen.index


def test_title_over_two_lines_is_read() -> None:
    seen = page_evidence(0, "MADEUP COMPANY\nCONSOLIDATED STATEMENTS OF\nCASH FLOWS\nNet income 100 90")
    assert set(seen.titles) == {"cash_flows"}


def test_words_of_a_title_each_on_a_line_are_read() -> None:
    seen = page_evidence(
        0, "Madeup\nInc.\nConsolidated\nStatements\nof\nCash\nFlows\n\nNet income\n\n100\n\n90\n"
    )
    assert "cash_flows" in seen.titles


def test_index_is_told_from_statements() -> None:
    lines = "Consolidated Balance Sheets 53\nConsolidated Statements of Income 54\nConsolidated Statements of Cash Flows 58"
    assert page_evidence(0, lines).index
    assert not page_evidence(0, page_text("Consolidated Balance Sheets", POSITION)).index


def test_running_text_and_heads_are_seen() -> None:
    seen = page_evidence(0, f"Notes to Consolidated Financial Statements\n{PROSE}\n{PROSE}")
    assert seen.notes
    assert seen.prose > 0.5
    assert page_evidence(0, "Report of Independent Registered Public Accounting Firm\nTo the Board").auditor
    assert not page_evidence(0, "See accompanying Notes to Consolidated Financial Statements").notes


def test_squeezed_keeps_letters_only() -> None:
    assert squeezed("Stockholders’ Equity, 2021") == "stockholdersequity"
