"""Pages about the filings: a list of all, and one page for each with its pages, statements and checks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from finrag_pipeline.reporting.estimates import SOURCE_NAMES
from finrag_pipeline.reporting.file_names import page_names
from finrag_pipeline.reporting.grid import (
    Cell,
    Grid,
    Note,
    Row,
    make_grid,
    make_row,
    number,
    tag,
    text,
)
from finrag_pipeline.reporting.inventory import filing_counts, identity_cells, remarks
from finrag_pipeline.reporting.report_data import ReportData
from finrag_pipeline.reporting.site import render_page
from finrag_pipeline.reporting.statement_tables import STATEMENT_NAMES, StatementTable, statement_tables
from finrag_pipeline.statements.identities import IdentityResult, check_identities
from finrag_pipeline.statements.subtotals import check_subtotals

FOLDER = "filings"
"""Folder of the pages of single filings, below the report."""

SECTION_NAMES = {
    "mdna": "Management's discussion",
    "market_for_equity": "Market for equity",
}
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
    for row in counts.to_pylist() if counts is not None else ():
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


def _by_filing(table: pa.Table | None) -> dict[str, pa.Table]:
    """Rows of each filing, in their order."""
    if table is None:
        return {}
    places: dict[str, list[int]] = defaultdict(list)
    for place, filing in enumerate(table["filing"].to_pylist()):
        places[filing].append(place)
    return {filing: table.take(pa.array(rows)) for filing, rows in places.items()}
