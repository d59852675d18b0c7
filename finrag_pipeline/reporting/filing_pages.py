"""Pages about the filings: a list of all, one for each with its pages, statements as printed, checks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from finrag_pipeline.reporting.grid import (
    SOURCE_NAMES,
    Cell,
    Grid,
    Note,
    Row,
    make_grid,
    make_row,
    number,
    prose,
    tag,
    text,
)
from finrag_pipeline.reporting.report_data import ReportData
from finrag_pipeline.reporting.site import page_names, render_page
from finrag_pipeline.statements.identities import IdentityResult, check_identities, show_period
from finrag_pipeline.statements.subtotals import check_subtotals

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


FOLDER = "filings"
"""Folder of the pages of single filings, below the report."""

SECTION_NAMES = {"mdna": "Management's discussion", "market_for_equity": "Market for equity"}
_NO_SECTION = "other"
_MOST_FACTS = 1500
"""Facts on one page; what is beyond it, from secondary tables, is only counted."""


@dataclass(frozen=True)
class FilingView:
    """What is known of a filing.

    Attributes:
        record: row of ``schemas.FILINGS``.
        link: its page, from the folder of the report.
        facts: rows of ``statement_facts``.
        profiles: rows of ``page_profiles``, by page.
        tables: tables found on its pages.
        checks: identities and subtotals.
        questions: rows of ``benchmark_questions`` whose gold filing it is.
    """

    record: Mapping[str, Any]
    link: str
    facts: Sequence[Mapping[str, Any]]
    profiles: Sequence[Mapping[str, Any]]
    tables: int
    checks: Sequence[IdentityResult]
    questions: Sequence[Mapping[str, Any]]

    @property
    def statements(self) -> list[str]:
        """Primary statements that have facts, for people."""
        found = {fact["statement"] for fact in self.facts if fact["scope"] == "primary"}
        return [name for kind, name in STATEMENT_NAMES.items() if kind in found]

    def check_counts(self) -> tuple[int, int]:
        """Checks that passed, and those that could be applied."""
        applied = [check.passed for check in self.checks if check.passed is not None]
        return sum(applied), len(applied)


def filing_views(data: ReportData) -> Iterator[FilingView]:
    """Every filing of the corpus, those that could not be read first, then by name."""
    facts, profiles = _by_filing(data.table("statement_facts")), _by_filing(data.table("page_profiles"))
    tables: dict[str, int] = defaultdict(int)
    counts = data.table("table_counts")
    for row in counts.to_pylist():
        tables[row["filing"]] += row["tables"]
    questions: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in data.questions.to_pylist():
        questions[row["filing"]].append(row)
    records = sorted(
        data.filings.to_pylist(), key=lambda row: (row["status"] == "ok", row["filing"].casefold())
    )
    links = filing_links(data)
    for record in records:
        name = record["filing"]
        own = facts.get(name)
        pages = profiles.get(name)
        yield FilingView(
            record,
            links[name],
            own.to_pylist() if own is not None else [],
            sorted(pages.to_pylist(), key=lambda row: row["page"]) if pages is not None else [],
            tables[name],
            [*check_identities(own), *check_subtotals(own)] if own is not None else [],
            questions[name],
        )


def filing_links(data: ReportData) -> dict[str, str]:
    """Path of each filing's page from the folder of the report."""
    names = page_names(sorted(data.filings["filing"].to_pylist()))
    return {filing: f"{FOLDER}/{name}.html" for filing, name in names.items()}


def filing_site(data: ReportData, question_links: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Path and HTML of ``filings.html`` and of the page of each filing.

    Args:
        data: what to show.
        question_links: path of the page of a question from the folder of the report, by identifier; questions
            without one are not linked.
    """
    views = []
    for view in filing_views(data):
        html = render_page(
            "filing.html.jinja", "Filings", "../", data=data, **filing_context(view, question_links)
        )
        yield view.link, html
        # What follows needs counts only.
        views.append((_filing_row(view), view.record["filing"]))
    counts = filing_counts(data.filings)
    rows = [row for row, _ in views]
    grid = make_grid("filings", "Filings of the corpus", _FILING_COLUMNS, rows, "The lake holds no filing.")
    forms = sorted({form for form in map(_form, data.filings.to_pylist()) if form})
    yield (
        "filings.html",
        render_page(
            "filings.html.jinja",
            "Filings",
            data=data,
            filings={"total": data.filings.num_rows, **counts},
            grid=grid,
            forms=[(form, form) for form in forms],
        ),
    )


_FILING_COLUMNS = (
    *map(text, ("Filing", "Status", "Company", "Form", "Period")),
    *map(number, ("Pages", "Tables", "Facts")),
    text("Statements"),
    number("Checks", "passed of applicable"),
    number("Questions"),
    text("Remarks"),
)


def _filing_row(view: FilingView) -> Row:
    record = view.record
    name, status, *identity = identity_cells(record)
    passed, applied = view.check_counts()
    notes = remarks(record)
    cells = (
        Cell(name.text, name.small, link=view.link),
        status,
        *identity,
        record["pages"],
        view.tables,
        len(view.facts),
        Cell(_found(view.statements), sort=float(len(view.statements))),
        Cell(f"{passed} of {applied}" if applied else "–", sort=passed / applied if applied else -1.0),
        len(view.questions),
        Cell(notes=notes, sort=float(len(notes))),
    )
    state = "failed" if record["status"] != "ok" else "remarks" if notes else "clean"
    return make_row(*cells, group=record["status"], data=(("form", _form(record) or ""), ("state", state)))


def _found(statements: Sequence[str]) -> str:
    return "All five" if len(statements) == len(STATEMENT_NAMES) else ", ".join(statements) or "–"


def _form(record: Mapping[str, Any]) -> str | None:
    form: str | None = record["form"] or record["declared_form"]
    return form


def filing_context(view: FilingView, question_links: Mapping[str, str]) -> dict[str, Any]:
    """What ``filing.html.jinja`` shows of a filing."""
    shown, hidden = _within(statement_tables(view.facts), _MOST_FACTS)
    passed, applied = view.check_counts()
    return {
        "filing": view.record,
        "remarks": remarks(view.record),
        "source": SOURCE_NAMES.get(view.record["source"], view.record["source"]),
        "identity": identity_grid(view.record),
        "facts": len(view.facts),
        "tables": view.tables,
        "passed": passed,
        "applied": applied,
        "checks": checks_grid(view.checks),
        "primary": [table for table in shown if table.scope == "Primary statement"],
        "secondary": [table for table in shown if table.scope != "Primary statement"],
        "hidden": sum(table.facts for table in hidden),
        "page_lines": page_lines(view.profiles),
        "questions": [_question(row, question_links) for row in view.questions],
        "known_pages": {row["page"] for row in view.profiles},
    }


def _within(tables: Sequence[StatementTable], most: int) -> tuple[list[StatementTable], list[StatementTable]]:
    """Tables while they hold at most ``most`` facts together, primary ones always; and the rest."""
    shown: list[StatementTable] = []
    hidden: list[StatementTable] = []
    facts = 0
    for table in tables:
        facts += table.facts
        fits = facts <= most or table.scope == "Primary statement"
        (shown if fits else hidden).append(table)
    return shown, hidden


_IDENTITY = (
    ("Company", "company", "declared_company"),
    ("Form", "form", "declared_form"),
    ("Fiscal year", "fiscal_year", "declared_year"),
    ("Fiscal quarter", "fiscal_quarter", "declared_quarter"),
    ("Last day of the period", "period_end", None),
    ("Trading symbol", "ticker", None),
    ("Sector", None, "sector"),
)


def identity_grid(record: Mapping[str, Any]) -> Grid:
    """What the cover page says beside what was declared with the file."""
    rows = []
    for label, stated, declared in _IDENTITY:
        texts = [
            str(record[name]) if name and record[name] is not None else "–" for name in (stated, declared)
        ]
        if texts != ["–", "–"]:
            rows.append((label, *texts))
    columns = (text("Identity"), text("On its cover"), text("Declared", "file name or document information"))
    empty = "Nothing is known of its identity."
    return make_grid("identity", "Identity of the filing", columns, rows, empty)


def checks_grid(checks: Sequence[IdentityResult]) -> Grid:
    """Identities and subtotals that could be applied, those that failed first."""
    applied = [check for check in checks if check.passed is not None]
    rows = [
        make_row(
            check.name.capitalize(),
            check.period,
            *map(_amount, (check.left, check.right, check.difference, check.tolerance)),
            Cell("Passed") if check.passed else Cell("Failed", notes=(Note("failure", check.note),)),
            group=str(check.passed),
        )
        for check in sorted(applied, key=lambda check: bool(check.passed))
    ]
    columns = (
        text("Check"),
        tag("Period"),
        *map(number, ("One side", "Other side", "Difference")),
        number("Tolerance", "rounding of what is printed"),
        text("Result"),
    )
    caption = "Accounting identities and subtotals"
    return make_grid("checks", caption, columns, rows, "No check could be applied.")


def _amount(value: float | None) -> Cell:
    if value is None:
        return Cell("–", sort=0.0)
    text = f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:,.4g}"
    return Cell(text.replace("-", "−"), sort=value)


@dataclass(frozen=True)
class PageLine:
    """A page of a filing: zero-based number, sections, note or heading, statements, counts."""

    page: int
    sections: str
    heading: str
    statements: str
    tables: int
    numbers: int
    words: int


def page_lines(profiles: Sequence[Mapping[str, Any]]) -> list[PageLine]:
    """The pages of a filing, in their order.

    Args:
        profiles: rows of ``page_profiles`` of the filing.
    """
    # What heads every other page is a running title and says nothing of the page.
    heads = Counter(heading for row in profiles for heading in set(row["headings"]))
    running = {heading for heading, count in heads.items() if count > max(2, len(profiles) / 20)}
    return [_page(row, running) for row in profiles]


def _page(row: Mapping[str, Any], running: Collection[str]) -> PageLine:
    statements = [
        f"{STATEMENT_NAMES.get(found['statement'], found['statement'])} ({found['scope'].replace('_', ' ')})"
        if found["scope"] != "primary"
        else STATEMENT_NAMES.get(found["statement"], found["statement"])
        for found in row["statements"]
    ]
    named = [name for name in row["sections"] if name != _NO_SECTION]
    sections = [SECTION_NAMES.get(name, name.replace("_", " ").capitalize()) for name in named]
    heading = row["note"] or next((head for head in row["headings"] if head not in running), "")
    return PageLine(
        row["page"],
        ", ".join(sections),
        heading if len(heading) <= 90 else f"{heading[:89].rstrip()}…",
        ", ".join(statements),
        row["tables"],
        row["cells"],
        row["words"],
    )


def _question(row: Mapping[str, Any], links: Mapping[str, str]) -> dict[str, Any]:
    return {**row, "link": links.get(row["question_id"])}


def _by_filing(table: pa.Table) -> dict[str, pa.Table]:
    """Rows of each filing, in their order."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, filing in enumerate(table["filing"].to_pylist()):
        places[filing].append(place)
    return {filing: table.take(pa.array(rows)) for filing, rows in places.items()}


def identity_cells(record: Mapping[str, Any]) -> tuple[Cell, ...]:
    """Filing, status, company, form and period of a row of ``schemas.FILINGS``."""
    failed = record["status"] != "ok"
    name = record["file_name"]
    other_name = name if name.rsplit(".", 1)[0] != record["filing"] else ""
    odd = "Conflict" if record["conflicts"] else "Warning" if record["warnings"] else "OK"
    return (
        Cell(record["filing"], other_name),
        Cell("Failed" if failed else odd, SOURCE_NAMES.get(record["source"], record["source"])),
        _stated_or_declared(record["company"], record["declared_company"]),
        _stated_or_declared(record["form"], record["declared_form"]),
        _fiscal_period(record),
    )


def remarks(record: Mapping[str, Any]) -> tuple[Note, ...]:
    """What is wrong with a filing: why it failed and the remedy, conflicts, warnings."""
    notes = []
    if record["status"] != "ok":
        notes.append(Note("failure", record["reason"] or "No reason was given.", record["remedy"] or ""))
    notes += [Note("conflict", text) for text in record["conflicts"] or ()]
    notes += [Note("warning", text) for text in record["warnings"] or ()]
    return tuple(notes)


def _stated_or_declared(stated: str | None, declared: str | None) -> Cell:
    if stated:
        return Cell(stated)
    return Cell(declared, "declared") if declared else Cell("–", sort="")


def _fiscal_period(record: Mapping[str, Any]) -> Cell:
    stated = record["fiscal_year"] is not None
    year = record["fiscal_year"] if stated else record["declared_year"]
    quarter = record["fiscal_quarter"] if stated else record["declared_quarter"]
    end = record["period_end"]
    day = f"{end:%Y-%m-%d}" if end else ""
    if year is None:
        return Cell(day or "–", sort=day)
    text = f"FY {year}" + (f" Q{quarter}" if quarter else "")
    return Cell(text, day if stated else "declared", sort=f"{year} {quarter or 5} {day}")


def filing_counts(filings: pa.Table) -> dict[str, int]:
    """Filings by what is to be said of them: failed, conflicts, warnings (one filing may count twice)."""
    records = filings.select(["status", "conflicts", "warnings"]).to_pylist()
    return {
        "failed": sum(record["status"] != "ok" for record in records),
        "conflicts": sum(bool(record["conflicts"]) for record in records),
        "warnings": sum(bool(record["warnings"]) for record in records),
    }


def excluded_grid(questions: pa.Table) -> Grid:
    """Questions that enter no metric, and why.

    Args:
        questions: table as ``schemas.BENCHMARK_QUESTIONS``.
    """
    rows = [
        (one["question_id"], one["filing"], one["question"], one["problem"] or "No reason was given.")
        for one in questions.to_pylist()
        if one["status"] != "measured"
    ]
    columns = (text("Question"), text("Gold filing"), prose("Text"), prose("Problem"))
    caption = "Questions left out of every metric"
    return make_grid("excluded", caption, columns, rows, "Every question is measured.")
