"""Tables and facts: what the pages of a filing say in figures."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError
from finrag_pipeline.filings.intake import get_source, original_path
from finrag_pipeline.orchestration.assets.ingestion import filing_pages
from finrag_pipeline.orchestration.automation import on_changed_data
from finrag_pipeline.orchestration.fingerprints import facts_fingerprint, tables_fingerprint
from finrag_pipeline.orchestration.metadata import picture
from finrag_pipeline.orchestration.partitions import filings_partitions
from finrag_pipeline.orchestration.resources.settings import LakeResource, SettingsResource
from finrag_pipeline.orchestration.steps import (
    DATA_ENGINEERING,
    Step,
    check,
    each_partition,
    part_step,
    result,
    table_asset,
)
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.statements.identities import IdentityResult

PRIMARY = ("income_statement", "financial_position", "cash_flows")
PERIODIC = ("10-K", "10-Q")
PICTURE_DPI = 70  # every materialisation keeps one in the event log


def part_fingerprint(store: Lake, asset: str, key: str) -> str:
    """Fingerprint of a filing's part of ``asset``.

    Raises:
        LakeError: the part is missing.
    """
    info = store.info(asset, {"filing": key})
    if info is None:
        raise LakeError(f"The lake holds no part of {asset} of '{key}'.", f"Materialise {asset} first.")
    return info.fingerprint


def filing_row(store: Lake, key: str) -> dict[str, Any]:
    """The row of ``filings`` of a filing."""
    return dict(store.read("filings", {"filing": key}).to_pylist()[0])


@table_asset(
    filing_pages,
    group="tables",
    partitions=filings_partitions,
    owner=DATA_ENGINEERING,
    automation=on_changed_data(),
    checks={"values_have_a_scale": "Every value names its scale."},
)
def page_tables(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """Cells of every table: headers, period, value in full units, and the words that set its scale."""
    store, values = lake.open(), settings.get()

    def work(key: str) -> Step:
        partition = {"filing": key}
        row = filing_row(store, key)
        wanted = tables_fingerprint(part_fingerprint(store, "filing_pages", key), row, values)

        def make() -> pa.Table:
            from finrag_pipeline.tables.extract import extract_tables

            pages = store.read("filing_pages", partition)
            source = get_source(store, key)
            with store.local_copy(original_path(store, source)) as path:
                return extract_tables(row, pages, values.tables, path if source.source == "pdf" else None)

        step = part_step(store, "page_tables", key, partition, wanted, make, context.run.run_id)
        cells = store.read(
            "page_tables", partition, ["page", "table", "kind", "value", "scale", "scale_source", "reason"]
        )
        kinds = Counter(cells["kind"].to_pylist())
        unscaled = sum(
            value is not None and scale is None
            for value, scale in zip(cells["value"].to_pylist(), cells["scale"].to_pylist(), strict=True)
        )
        tables = set(zip(cells["page"].to_pylist(), cells["table"].to_pylist(), strict=True))
        step.checks = [check("values_have_a_scale", not unscaled, warn=True, unscaled=unscaled)]
        step.metadata = {
            "tables": len(tables),
            "pages_with_tables": len({page for page, _ in tables}),
            "numbers": kinds["number"],
            "unreadable_cells": sum(
                value is None and bool(reason)
                for value, reason in zip(cells["value"].to_pylist(), cells["reason"].to_pylist(), strict=True)
            ),
        }
        return step

    return result(each_partition(context, store, work))


@table_asset(
    page_tables,
    group="tables",
    partitions=filings_partitions,
    owner=DATA_ENGINEERING,
    automation=on_changed_data(),
    checks={
        "primary_statements_found": "Income statement, financial position and cash flows "
        "of a 10-K or 10-Q are found.",
        "balance_sheet_balances": "Assets equal liabilities and equity, for every balance sheet date.",
        "identities_hold": "Cash flows add up, and cash and net income agree between statements.",
        "subtotals_add_up": "The rows under a heading add up to their total.",
    },
)
def statement_facts(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult:
    """Values of the statements by concept and period, each with the page and cell it stands in."""
    store = lake.open()

    def work(key: str) -> Step:
        partition = {"filing": key}
        row = filing_row(store, key)
        wanted = facts_fingerprint(part_fingerprint(store, "page_tables", key), row)

        def make() -> pa.Table:
            from finrag_pipeline.statements.facts import statement_facts as facts_of_statements
            from finrag_pipeline.tables.words_of_pages import filing_words

            words = filing_words(key, store.read("filing_pages", partition))
            return facts_of_statements(key, store.read("page_tables", partition), words, row["form"])

        step = part_step(store, "statement_facts", key, partition, wanted, make, context.run.run_id)
        facts = store.read("statement_facts", partition)
        step.checks, step.metadata = _checks(facts, row)
        if not step.cache_hit and (drawn := _balance_sheet(store, key, facts)):
            step.metadata["balance_sheet"] = drawn
        return step

    return result(each_partition(context, store, work))


def _balance_sheet(store: Lake, key: str, facts: pa.Table) -> dg.MetadataValue | None:
    """The page of the primary balance sheet with what was read from it, for people to look at."""
    from finrag_pipeline.reporting.page_picture import page_picture
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
    balance = [one for one in outcomes if one.name == BALANCE]
    broken = [one for one in outcomes if not one.passed]
    checks = [
        check(
            "primary_statements_found",
            not (missing and due),
            warn=True,
            description=f"not found: {', '.join(missing)}" if missing and due else None,
        ),
        check(
            "balance_sheet_balances",
            all(one.passed for one in balance),
            warn=True,
            description="; ".join(_describe(one) for one in balance if not one.passed) or None,
            pass_rate=_rate(balance),
        ),
        check(
            "identities_hold",
            not broken,
            warn=True,
            description="; ".join(_describe(one) for one in broken[:10]) or None,
            pass_rate=_rate(outcomes),
            checked=len(outcomes),
        ),
    ]
    sums = [one for one in check_subtotals(facts) if one.passed is not None]
    wrong = [one for one in sums if not one.passed]
    checks.append(
        check(
            "subtotals_add_up",
            not wrong,
            warn=True,
            description="; ".join(_describe(one) for one in wrong[:10]) or None,
            pass_rate=_rate(sums),
            checked=len(sums),
        )
    )
    concepts = [concept for concept in facts["concept"].to_pylist() if concept]
    return checks, {
        "facts": facts.num_rows,
        "facts_with_concept": len(concepts),
        "concepts": len(set(concepts)),
        "identities_pass_rate": _rate(outcomes),
    }


BALANCE = "balance"


def _describe(outcome: "IdentityResult") -> str:
    """What is wrong, in a line; some identities name several values, and then the note says which."""
    if outcome.left is None or outcome.right is None:
        return f"{outcome.name} ({outcome.period}): {outcome.note}"
    return f"{outcome.name} ({outcome.period}): {outcome.left:,.2f} is not {outcome.right:,.2f}"


def _rate(outcomes: "list[IdentityResult]") -> float:
    return round(sum(bool(one.passed) for one in outcomes) / len(outcomes), 4) if outcomes else 1.0
