"""Numbers of a filing's statements as facts: what, when, how much, and where it is printed."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.schemas import STATEMENT_FACTS
from finrag_pipeline.statements.assign import assign_concepts, read_balance_totals
from finrag_pipeline.statements.classify import StatementPage, classify_pages
from finrag_pipeline.statements.concept_model import ConceptModel, concept_model
from finrag_pipeline.statements.concepts import BEGINNING, concept_names, normal_label
from finrag_pipeline.statements.page_evidence import PRIMARY_KINDS
from finrag_pipeline.statements.rows import Row, table_rows
from finrag_pipeline.statements.tags import Place, Tag, take_tags

# Words of a column header that say when, or in what unit, and not of what.
_NEUTRAL = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr"
    r"|jun|jul|aug|sept?|oct|nov|dec|years?|months?|weeks?|quarters?|quarterly|three|six|nine|twelve|thirteen"
    r"|twenty|thirty|forty|fifty|one|two|nine|first|second|third|fourth|fiscal|ended|ending|end|as|of|at|for|the"
    r"|and|in|to|date|period|unaudited|audited|adjusted|restated|revised|recast|note|notes|millions|thousands"
    r"|billions|dollars|except|per|share|data|amounts|shares|usd|us|q[1-4]|fy|ytd|st|nd|rd|th|a|b|c)\b"
)
Fact = dict[str, Any]
"""A row of ``statement_facts``."""

_ASSETS = ("financial_position", "Assets")
_LETTERS = re.compile(r"[a-z]{2,}|%")
_TOTAL = re.compile(r"(?i)\btotal\b[^>]*$")


def statement_facts(
    filing: str,
    page_tables: pa.Table,
    texts: Sequence[str],
    form: str | None = None,
    statements: Sequence[StatementPage] | None = None,
    model: ConceptModel | None = None,
    tags: pa.Table | None = None,
) -> pa.Table:
    """Every number of the filing's statement tables, primary and otherwise.

    ``texts`` are those of the filing's pages, ``statements`` what `classify_pages` found in
    them if it has been called already, ``model`` that of concepts if it is not the shipped one, ``tags`` its
    rows of ``xbrl_facts``: value, period, unit and concept of a number that is tagged are those of its tag.

    Returns:
        Rows of ``statement_facts``, ordered by page, table, row and column. Among the primary facts each
        statement has a concept, and a line of the lexicon, at most once per period.
    """
    if statements is None:
        statements = classify_pages(texts, page_tables, form)
    tagged: dict[Place, Tag] = {}
    if tags is not None and tags.num_rows:
        page_tables, tagged = take_tags(page_tables, tags)
    tables = {(found.page, found.table): found for found in statements if found.table is not None}
    rows = table_rows(page_tables, list(tables))
    facts: list[Fact] = []
    taken: dict[tuple[Any, ...], float] = {}
    for key in sorted(rows):
        found = tables[key]
        behind_assets = any(known[:2] == _ASSETS for known in taken)
        own = _table_facts(filing, found, rows[key], behind_assets, model)
        _take_concepts(own, tagged, model)
        if found.scope == "primary" and _contradicts(own, taken):
            # A second statement of other figures on the page, such as that of consolidated entities.
            own = [{**fact, "scope": "note"} for fact in own]
        elif found.scope == "primary":
            for fact in own:
                if fact["line"]:
                    taken.setdefault(_name_of("line", fact), fact["value"])
        facts += own
    _one_per_period(facts)
    _agree_on_net_income(facts)
    return pa.Table.from_pylist(facts, STATEMENT_FACTS)


def find_facts(
    facts: pa.Table,
    concept: str | None = None,
    label: str | None = None,
    scope: str | None = "primary",
    **equal: Any,
) -> pa.Table:
    """Rows of ``statement_facts`` that meet every condition given, in their order.

    ``concept`` is the us-gaap name of concept or line, in any case, ``label`` words that the label must
    contain, compared as the lexicon does (case, brackets, hyphens and punctuation make no difference),
    ``equal`` values of other columns; None is any.
    """
    for column, wanted in {"scope": scope, **equal}.items():
        if wanted is not None:
            facts = facts.filter(pc.equal(facts[column], wanted))
    if concept is not None:
        named = (pc.equal(pc.utf8_lower(facts[name]), concept.lower()) for name in ("concept", "line"))
        facts = facts.filter(pc.or_kleene(*named))
    if label is not None:
        words = normal_label(label)
        held = [words in normal_label(text) for text in facts["label"].to_pylist()]
        facts = facts.filter(pa.array(held, pa.bool_()))
    return facts


def _table_facts(
    filing: str,
    found: StatementPage,
    rows: Sequence[Row],
    behind_assets: bool,
    model: ConceptModel | None,
) -> list[Fact]:
    """Facts of one table, each with the ``rank`` of the pattern that its label met."""
    if found.kind == "financial_position":
        read_balance_totals(rows)
    # Words in a header that no other column of the period shares tell nothing apart.
    plain = _alone_in_period(rows) if found.kind in PRIMARY_KINDS else set()
    liabilities_only = behind_assets and found.scope == "primary"
    assigned = assign_concepts(found.kind, rows, liabilities_only, model)
    facts = []
    for row, named in ((row, assigned.get(place)) for place, row in enumerate(rows)):
        for cell in row.cells:
            qualifier = None if cell["column"] in plain else qualifier_of(cell["column_path"])
            unit = cell["unit"] or "currency"
            if row.unit == "shares" and unit in ("currency", "count"):
                unit = "shares"
            whole = qualifier is None or found.scope != "primary"
            # The sum of all parts of equity is what the movement is named for.
            total = found.kind == "equity" and qualifier is not None and bool(_TOTAL.search(qualifier))
            keeps = named is not None and unit == row.unit
            own = {
                "fact_id": f"{filing}:{cell['page']}:{cell['table']}:{cell['row']}:{cell['column']}",
                "filing": filing,
                "statement": found.kind,
                "scope": found.scope,
                "concept": named.concept if named and keeps and (whole or total) else None,
                "line": named.line if named and keeps and whole else None,
                "rank": named.rank if named else 0,
                "label": row.label,
                "path": list(row.path),
                "qualifier": qualifier,
                "unit": unit,
                "printed": cell["text"],
                "scale": cell["scale"] if cell["scale"] is not None else 1.0,
                "source": "table",
            }
            facts.append({**cell, **own})
    return facts


def _take_concepts(facts: Sequence[Fact], tagged: Mapping[Place, Tag], model: ConceptModel | None) -> None:
    """Give facts the concepts of their tags, and their lines where the lexicon has that very concept.

    What is tagged for a member, such as a segment, is no number of the whole company: it has no concept.
    """
    for fact in facts:
        tag = tagged.get((fact["page"], fact["table"], fact["row"], fact["column"]))
        if tag is None:
            continue
        fact.update(source="ixbrl", rank=-1)
        if tag["members"]:
            fact["concept"] = fact["line"] = None
            continue
        concept = tag["concept"]
        families = (model or concept_model()).families
        line = (fact["line"] or "").removesuffix(BEGINNING)
        if concept in concept_names() and families.get(line, "") != families.get(concept):
            fact["line"] = concept
        fact["concept"] = concept


def _contradicts(own: Sequence[Fact], taken: Mapping[tuple[Any, ...], float]) -> bool:
    """Whether most lines of a table have other values in the same periods of the statement already."""
    named = [fact for fact in own if fact["line"]]
    clashes = sum(taken.get(_name_of("line", fact), fact["value"]) != fact["value"] for fact in named)
    return clashes >= 2 and clashes * 2 > len(named)


def _alone_in_period(rows: Sequence[Row]) -> set[int]:
    """Columns of a table whose periods no other column shares."""
    periods: dict[int, tuple[Any, ...]] = {}
    for row in rows:
        for cell in row.cells:
            if cell["period_end"] is not None and cell["unit"] != "percent":
                periods.setdefault(cell["column"], (cell["period_start"], cell["period_end"]))
    counts = Counter(periods.values())
    return {column for column, period in periods.items() if counts[period] == 1}


def qualifier_of(column_path: Iterable[str] | None) -> str | None:
    """What a column header says beyond period and unit, such as a segment; None if nothing."""
    headers = (
        header.strip() for header in column_path or () if _LETTERS.search(_NEUTRAL.sub(" ", header.lower()))
    )
    return " > ".join(headers) or None


def period_of(fact: Fact) -> tuple[Any, ...]:
    """What tells the periods of a statement apart; the column where no date was read."""
    if fact["period_end"] is not None:
        return ("date", fact["period_start"], fact["period_end"])
    if fact["fiscal_year"] is not None:
        return ("fiscal", fact["fiscal_year"], fact["fiscal_quarter"])
    return ("column", fact["page"], fact["table"], fact["column"])


def _name_of(name: str, fact: Fact) -> tuple[Any, ...]:
    return (fact["statement"], fact[name], *period_of(fact))


def _one_per_period(facts: Sequence[Fact]) -> None:
    """Leave each name once per primary statement and period: earliest pattern, then first printed."""
    for name in ("line", "concept"):
        rivals: dict[tuple[Any, ...], list[Fact]] = defaultdict(list)
        for fact in facts:
            if fact["scope"] == "primary" and fact[name]:
                rivals[_name_of(name, fact)].append(fact)
        for same in rivals.values():
            for loser in sorted(same, key=lambda fact: fact["rank"])[1:]:
                loser["concept"] = loser[name] = None


def _agree_on_net_income(facts: Sequence[Fact]) -> None:
    """'Net income' atop the cash flows is ProfitLoss if it equals that line of the income statement only."""
    income = {
        (fact["line"], period_of(fact)): fact["value"]
        for fact in facts
        if fact["scope"] == "primary" and fact["statement"] == "income_statement"
    }
    for fact in facts:
        if fact["scope"] != "primary" or fact["statement"] != "cash_flows" or fact["line"] != "NetIncomeLoss":
            continue
        if fact["source"] == "ixbrl":
            continue
        own = income.get(("NetIncomeLoss", period_of(fact)))
        whole = income.get(("ProfitLoss", period_of(fact)))
        if whole is not None and own is not None and fact["value"] == whole != own:
            fact["concept"] = fact["line"] = "ProfitLoss"
