"""Numbers of a filing's statements as facts: what, when, how much, and where it is printed."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from finrag_pipeline.schemas import STATEMENT_FACTS
from finrag_pipeline.statements.assign import Assigned, assign_concepts, read_balance_totals
from finrag_pipeline.statements.classify import StatementPage, classify_pages
from finrag_pipeline.statements.concept_model import ConceptModel
from finrag_pipeline.statements.page_evidence import PRIMARY_KINDS
from finrag_pipeline.statements.rows import Row, table_rows
from finrag_pipeline.tables.model import FilingWords

# Words of a column header that say when, or in what unit, and not of what.
_NEUTRAL = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr"
    r"|jun|jul|aug|sept?|oct|nov|dec|years?|months?|weeks?|quarters?|quarterly|three|six|nine|twelve|thirteen"
    r"|twenty|thirty|forty|fifty|one|two|nine|first|second|third|fourth|fiscal|ended|ending|end|as|of|at|for|the"
    r"|and|in|to|date|period|unaudited|audited|adjusted|restated|revised|recast|note|notes|millions|thousands"
    r"|billions|dollars|except|per|share|data|amounts|shares|usd|us|q[1-4]|fy|ytd|st|nd|rd|th|a|b|c)\b"
)
_ASSETS = ("financial_position", "Assets")
_LETTERS = re.compile(r"[a-z]{2,}|%")
_TOTAL = re.compile(r"(?i)\btotal\b[^>]*$")


def statement_facts(
    filing: str,
    page_tables: pa.Table,
    pages: FilingWords | Sequence[str],
    form: str | None = None,
    statements: Sequence[StatementPage] | None = None,
    model: ConceptModel | None = None,
) -> pa.Table:
    """Every number of the filing's statement tables, primary and otherwise.

    Args:
        filing: identifier.
        page_tables: rows of ``page_tables`` of the filing.
        pages: its words, or the texts of its pages.
        form: form of the filing, for `classify_pages`.
        statements: what `classify_pages` found, if it has been called already.
        model: of concepts; the shipped one by default.

    Returns:
        Rows of ``statement_facts``, ordered by page, table, row and column. Among the primary facts each
        statement has a concept, and a line of the lexicon, at most once per period.
    """
    if statements is None:
        statements = classify_pages(pages, page_tables, form)
    tables = {(found.page, found.table): found for found in statements if found.table is not None}
    rows = table_rows(page_tables, [key for key in tables if key[1] is not None])
    facts: list[dict[str, Any]] = []
    ranks: dict[str, tuple[int, int]] = {}
    taken: dict[tuple[Any, ...], float] = {}
    for key in sorted(rows):
        found = tables[key]
        behind_assets = any(known[:2] == _ASSETS for known in taken)
        own = _table_facts(filing, found, rows[key], behind_assets, ranks, model)
        if found.scope == "primary" and _contradicts(own, taken):
            # A second statement of other figures on the page, such as that of consolidated entities.
            own = [{**fact, "scope": "note"} for fact in own]
        elif found.scope == "primary":
            for fact in own:
                if fact["line"]:
                    taken.setdefault((fact["statement"], fact["line"], *period_of(fact)), fact["value"])
        facts += own
    _one_per_period(facts, ranks)
    _agree_on_net_income(facts)
    return pa.Table.from_pylist(facts, STATEMENT_FACTS)


def _table_facts(
    filing: str,
    found: StatementPage,
    rows: Sequence[Row],
    behind_assets: bool,
    ranks: dict[str, tuple[int, int]],
    model: ConceptModel | None,
) -> list[dict[str, Any]]:
    """Facts of one table; the rank of each one's pattern and its place are entered in ``ranks``."""
    if found.kind == "financial_position":
        read_balance_totals(rows)
    # Words in a header that no other column of the period shares tell nothing apart.
    plain = _alone_in_period(rows) if found.kind in PRIMARY_KINDS else set()
    liabilities_only = behind_assets and found.scope == "primary"
    assigned = assign_concepts(found.kind, rows, liabilities_only, model)
    facts = []
    for place, row in enumerate(rows):
        named = assigned.get(place)
        for cell in row.cells:
            qualifier = None if cell.column in plain else qualifier_of(cell.fields["column_path"])
            fact = _fact(filing, found, row, cell.fields, named, qualifier)
            facts.append(fact)
            ranks[fact["fact_id"]] = (named.rank if named else 0, len(ranks))
    return facts


def _contradicts(own: Sequence[dict[str, Any]], taken: dict[tuple[Any, ...], float]) -> bool:
    """Whether most lines of a table have other values in the same periods of the statement already."""
    named = [fact for fact in own if fact["line"]]
    clashes = 0
    for fact in named:
        key = (fact["statement"], fact["line"], *period_of(fact))
        clashes += key in taken and taken[key] != fact["value"]
    return clashes >= 2 and clashes * 2 > len(named)


def _alone_in_period(rows: Sequence[Row]) -> set[int]:
    """Columns of a table whose periods no other column shares."""
    periods: dict[int, tuple[Any, ...]] = {}
    for row in rows:
        for cell in row.cells:
            fields = cell.fields
            if fields["period_end"] is not None and fields["unit"] != "percent":
                periods.setdefault(cell.column, (fields["period_start"], fields["period_end"]))
    counts = Counter(periods.values())
    return {column for column, period in periods.items() if counts[period] == 1}


def qualifier_of(column_path: Iterable[str] | None) -> str | None:
    """What a column header says beyond period and unit, such as a segment; None if nothing."""
    left = []
    for header in column_path or ():
        rest = _NEUTRAL.sub(" ", header.lower())
        if _LETTERS.search(rest):
            left.append(header.strip())
    return " > ".join(left) or None


def _fact(
    filing: str,
    found: StatementPage,
    row: Row,
    cell: dict[str, Any],
    named: Assigned | None,
    qualifier: str | None,
) -> dict[str, Any]:
    unit = cell["unit"] or "currency"
    if row.unit == "shares" and unit in ("currency", "count"):
        unit = "shares"
    same_unit = unit == row.unit
    plain = qualifier is None or found.scope != "primary"
    # The sum of all parts of equity is what the movement is named for.
    whole = found.kind == "equity" and qualifier is not None and _TOTAL.search(qualifier)
    keeps = named is not None and same_unit and bool(plain or whole)
    fact = {
        name: cell[name]
        for name in (
            "period_start", "period_end", "period_kind", "fiscal_year", "fiscal_quarter", "value", "currency",
            "scale_source", "page", "table", "row", "column", "x0", "y0", "x1", "y1",
        )
    }  # fmt: skip
    return {
        **fact,
        "fact_id": f"{filing}:{cell['page']}:{cell['table']}:{cell['row']}:{cell['column']}",
        "filing": filing,
        "statement": found.kind,
        "scope": found.scope,
        "concept": named.concept if named and keeps else None,
        "line": named.line if named and keeps and plain else None,
        "label": row.label,
        "path": list(row.path),
        "qualifier": qualifier,
        "unit": unit,
        "printed": cell["text"],
        "scale": cell["scale"] if cell["scale"] is not None else 1.0,
    }


def period_of(fact: dict[str, Any]) -> tuple[Any, ...]:
    """What tells the periods of a statement apart; the column where no date was read."""
    if fact["period_end"] is not None:
        return ("date", fact["period_start"], fact["period_end"])
    if fact["fiscal_year"] is not None:
        return ("fiscal", fact["fiscal_year"], fact["fiscal_quarter"])
    return ("column", fact["page"], fact["table"], fact["column"])


def _one_per_period(facts: Sequence[dict[str, Any]], ranks: dict[str, tuple[int, int]]) -> None:
    """Leave each name once per primary statement and period: earliest pattern, then first printed."""
    for name in ("line", "concept"):
        rivals: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
        for fact in facts:
            if fact["scope"] == "primary" and fact[name]:
                rivals[(fact["statement"], fact[name], *period_of(fact))].append(fact)
        for same in rivals.values():
            for loser in sorted(same, key=lambda fact: ranks[fact["fact_id"]])[1:]:
                loser["concept"] = None
                loser[name] = None


def _agree_on_net_income(facts: Sequence[dict[str, Any]]) -> None:
    """'Net income' atop the cash flows is ProfitLoss if it equals that line of the income statement only."""
    income = {
        (fact["line"], period_of(fact)): fact["value"]
        for fact in facts
        if fact["scope"] == "primary" and fact["statement"] == "income_statement"
    }
    for fact in facts:
        if fact["scope"] != "primary" or fact["statement"] != "cash_flows" or fact["line"] != "NetIncomeLoss":
            continue
        own = income.get(("NetIncomeLoss", period_of(fact)))
        whole = income.get(("ProfitLoss", period_of(fact)))
        if whole is not None and own is not None and fact["value"] == whole != own:
            fact["concept"] = fact["line"] = "ProfitLoss"
