"""Facts of a filing as the statements they were printed in: lines by periods, in full units."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from finrag_pipeline.statements.identities import show_period

STATEMENT_NAMES = {
    "income_statement": "Income statement",
    "comprehensive_income": "Comprehensive income",
    "financial_position": "Financial position",
    "cash_flows": "Cash flows",
    "equity": "Equity",
}
SCOPE_NAMES = {
    "primary": "Primary statement",
    "parent_only": "Parent company only",
    "condensed": "Condensed",
    "summary": "Summary",
    "note": "Notes",
    "mdna": "Management's discussion",
    "other_entity": "Another entity",
}
_UNIT_NAMES = {"percent": "%", "count": "count"}


@dataclass(frozen=True)
class Head:
    """Head of a column: what all of its facts share.

    Attributes:
        label: the period, else the column header.
        small: the column header where the label is the period.
    """

    label: str
    small: str = ""


@dataclass(frozen=True)
class Line:
    """One line.

    Attributes:
        label: as printed.
        level: headings above it, from 0.
        concept: us-gaap name; empty where the lexicon has none.
        period: the period, where the columns do not tell it.
        values: text by column; empty where the line has no fact there. None in headings, which have none.
    """

    label: str
    level: int
    concept: str
    period: str
    values: tuple[str, ...] | None


@dataclass(frozen=True)
class StatementTable:
    """One printed table of a statement.

    Attributes:
        statement: kind of statement, for people.
        scope: scope, for people.
        page: zero-based page.
        table: ordinal of the table on its page.
        unit: what the values are in, where all but marked ones share it.
        heads: heads of the columns of values.
        lines: lines in their order.
        facts: number of facts.
    """

    statement: str
    scope: str
    page: int
    table: int
    unit: str
    heads: tuple[Head, ...]
    lines: tuple[Line, ...]
    facts: int


def statement_tables(facts: Iterable[Mapping[str, Any]]) -> list[StatementTable]:
    """The tables that facts were printed in: primary statements first, each in the order of the filing.

    Args:
        facts: rows of ``statement_facts`` of one filing.
    """
    printed: dict[tuple[str, str, int, int], list[Mapping[str, Any]]] = defaultdict(list)
    for fact in facts:
        printed[fact["scope"], fact["statement"], fact["page"], fact["table"]].append(fact)
    scopes = list(SCOPE_NAMES)

    def order(key: tuple[str, str, int, int]) -> tuple[int, int, int]:
        return (scopes.index(key[0]) if key[0] in scopes else len(scopes), key[2], key[3])

    return [_table(key, printed[key]) for key in sorted(printed, key=order)]


def _table(key: tuple[str, str, int, int], facts: Sequence[Mapping[str, Any]]) -> StatementTable:
    scope, statement, page, table = key
    columns = sorted({fact["column"] for fact in facts})
    by_column = {column: [fact for fact in facts if fact["column"] == column] for column in columns}
    dated = {column: _mostly(map(_period, found)) for column, found in by_column.items()}
    unit = Counter(map(_unit, facts)).most_common(1)[0][0]
    rows: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for fact in facts:
        rows[fact["row"]].append(fact)
    lines: list[Line] = []
    above: tuple[str, ...] = ()
    for _, found in sorted(rows.items()):
        headings = tuple(found[0]["path"] or ("",))[:-1]
        for depth, heading in enumerate(headings):
            if above[: depth + 1] != headings[: depth + 1]:
                lines.append(Line(heading, depth, "", "", None))
        above = headings
        # Cash at the beginning stands in a column of a year, and has a day of its own.
        others = {_period(fact) for fact in found if _period(fact) != dated[fact["column"]]}
        period = others.pop() if len(others) == 1 else ""
        values = []
        for column in columns:
            known = {dated[column], period}
            here = [fact for fact in found if fact["column"] == column]
            values.append("; ".join(_value(fact, unit, known) for fact in here))
        label, concept = found[0]["label"], found[0]["concept"] or ""
        lines.append(Line(label, len(headings), concept, period, tuple(values)))
    heads = tuple(_head(by_column[column], dated[column]) for column in columns)
    names = STATEMENT_NAMES.get(statement, statement), SCOPE_NAMES.get(scope, scope)
    return StatementTable(*names, page, table, unit, heads, tuple(lines), len(facts))


def _head(facts: Sequence[Mapping[str, Any]], period: str) -> Head:
    qualifier = _mostly(fact["qualifier"] or "" for fact in facts)
    return Head(period, qualifier) if period else Head(qualifier or "Value")


def _mostly(texts: Iterable[str]) -> str:
    """The text that more than half share; empty where there is none."""
    counts = Counter(texts)
    text, count = counts.most_common(1)[0]
    return text if 2 * count > counts.total() else ""


def _period(fact: Mapping[str, Any]) -> str:
    """Period for people; empty where none was read."""
    return "" if fact["period_end"] is None and fact["fiscal_year"] is None else show_period(dict(fact))


def _unit(fact: Mapping[str, Any]) -> str:
    unit = fact["unit"]
    if unit.startswith("currency"):
        return (fact["currency"] or "currency") + unit.removeprefix("currency")
    return _UNIT_NAMES.get(unit, unit)


def _value(fact: Mapping[str, Any], unit: str, known_periods: Collection[str]) -> str:
    text = format_value(fact["value"], fact["unit"])
    own = _unit(fact)
    if own != unit:
        text += f" {own}" if own != "%" else ""
    elif own == "%":
        text = text.removesuffix(" %")
    period = _period(fact)
    return text if period in known_periods or not period else f"{text} ({period})"


def format_value(value: float, unit: str) -> str:
    """A value in full units with thousands separated: ``36,500,000,000``, ``9.09``, ``12.5 %``."""
    number = 100 * value if unit == "percent" else value
    if number == int(number) and abs(number) >= 1000:
        text = f"{number:,.0f}"
    else:
        text = f"{number:,.4f}".rstrip("0").rstrip(".")
        if unit == "currency/share" and len(text.partition(".")[2]) < 2:
            text = f"{number:,.2f}"
    text = text.replace("-", "−")
    return f"{text} %" if unit == "percent" else text
