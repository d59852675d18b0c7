"""Tables and facts: what the pages of a filing say in figures."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.filings.intake import get_source, original_path
from finrag_pipeline.orchestration.metadata import picture
from finrag_pipeline.orchestration.steps import Part, Step, check, table_asset
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.statements.identities import IdentityResult

PRIMARY = ("income_statement", "financial_position", "cash_flows")
PERIODIC = ("10-K", "10-Q")
PICTURE_DPI = 70  # every materialisation keeps one in the event log


@table_asset(checks={"values_have_a_scale": "Every value names its scale."})
def page_tables(part: Part) -> Step:
    """Cells of every table: headers, period, value in full units, and the words that set its scale."""
    store = part.store

    def make() -> pa.Table:
        from finrag_pipeline.tables.extract import extract_tables

        source = get_source(store, part.key)
        with store.local_copy(original_path(store, source)) as path:
            original = path if source.source == "pdf" else None
            return extract_tables(part.filing, part.read("filing_pages"), part.values.tables, original)

    step = part.made(make)
    read = part.read(columns=["page", "table", "kind", "value", "scale", "reason"])
    page, table, kind, value, scale, reason = (read[name].to_pylist() for name in read.column_names)
    unscaled = sum(v is not None and s is None for v, s in zip(value, scale, strict=True))
    tables = set(zip(page, table, strict=True))
    step.checks = [check("values_have_a_scale", not unscaled, warn=True, unscaled=unscaled)]
    step.metadata = {
        "tables": len(tables),
        "pages_with_tables": len(set(page)),
        "numbers": kind.count("number"),
        "unreadable_cells": sum(v is None and bool(why) for v, why in zip(value, reason, strict=True)),
    }
    return step


@table_asset(
    checks={
        "primary_statements_found": "Income statement, financial position and cash flows "
        "of a 10-K or 10-Q are found.",
        "balance_sheet_balances": "Assets equal liabilities and equity, for every balance sheet date.",
        "identities_hold": "Cash flows add up, and cash and net income agree between statements.",
        "subtotals_add_up": "The rows under a heading add up to their total.",
    },
)
def statement_facts(part: Part) -> Step:
    """Values of the statements by concept and period, each with the page and cell it stands in."""

    def make() -> pa.Table:
        from finrag_pipeline.statements.facts import statement_facts as facts_of_statements
        from finrag_pipeline.tables.words_of_pages import filing_words

        words = filing_words(part.key, part.read("filing_pages"))
        return facts_of_statements(part.key, part.read("page_tables"), words, part.filing["form"])

    step = part.made(make)
    facts = part.read()
    step.checks, step.metadata = _checks(facts, part.filing)
    if not step.cache_hit and (drawn := _balance_sheet(part.store, part.key, facts)):
        step.metadata["balance_sheet"] = drawn
    return step


def _balance_sheet(store: Lake, key: str, facts: pa.Table) -> dg.MetadataValue | None:
    """The page of the primary balance sheet with what was read from it, for people to look at."""
    from finrag_pipeline.reporting.page_pictures import page_picture
    from finrag_pipeline.statements.lookup import find_facts

    found = find_facts(facts, statement="financial_position").to_pylist()
    if not found:
        return None
    page = found[0]["page"]
    cells = store.read("page_tables", {"filing": key})
    png = page_picture(
        store,
        key,
        page,
        cells.filter(pc.equal(cells["page"], page)).to_pylist(),
        [fact for fact in found if fact["page"] == page],
        PICTURE_DPI,
    )
    return picture(png, f"page {page + 1}: tables blue, headers violet, facts green") if png else None


def _checks(facts: pa.Table, filing: Mapping[str, Any]) -> tuple[list[dg.AssetCheckResult], dict[str, Any]]:
    from finrag_pipeline.statements.identities import check_identities
    from finrag_pipeline.statements.subtotals import check_subtotals

    pairs = set(zip(facts["statement"].to_pylist(), facts["scope"].to_pylist(), strict=True))
    missing = [name for name in PRIMARY if (name, "primary") not in pairs]
    due = filing["form"] in PERIODIC
    # An identity that lacks a part is neither met nor broken.
    outcomes = [one for one in check_identities(facts) if one.passed is not None]
    told = f"not found: {', '.join(missing)}" if missing and due else None
    checks = [
        check("primary_statements_found", not (missing and due), warn=True, description=told),
        _add_up("balance_sheet_balances", [one for one in outcomes if one.name == BALANCE]),
        _add_up("identities_hold", outcomes),
        _add_up("subtotals_add_up", [one for one in check_subtotals(facts) if one.passed is not None]),
    ]
    concepts = [concept for concept in facts["concept"].to_pylist() if concept]
    return checks, {
        "facts": facts.num_rows,
        "facts_with_concept": len(concepts),
        "concepts": len(set(concepts)),
        "identities_pass_rate": _rate(outcomes),
    }


BALANCE = "balance"


def _add_up(name: str, outcomes: "list[IdentityResult]") -> dg.AssetCheckResult:
    wrong = [one for one in outcomes if not one.passed]
    told = "; ".join(_describe(one) for one in wrong[:10]) or None
    figures = {"pass_rate": _rate(outcomes), "checked": len(outcomes)}
    return check(name, not wrong, warn=True, description=told, **figures)


def _describe(outcome: "IdentityResult") -> str:
    """What is wrong, in a line; some identities name several values, and then the note says which."""
    if outcome.left is None or outcome.right is None:
        return f"{outcome.name} ({outcome.period}): {outcome.note}"
    return f"{outcome.name} ({outcome.period}): {outcome.left:,.2f} is not {outcome.right:,.2f}"


def _rate(outcomes: "list[IdentityResult]") -> float:
    return round(sum(bool(one.passed) for one in outcomes) / len(outcomes), 4) if outcomes else 1.0
