"""Pages about the filings: a list of all, one for each with its pages, statements as printed, checks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

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
from finrag_pipeline.resolver.resolver import Resolver
from finrag_pipeline.statements.filed_facts import shown_otherwise
from finrag_pipeline.statements.identities import (
    IdentityResult,
    check_identities,
    check_subtotals,
    show_period,
)
from finrag_pipeline.statements.tags import agreement

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

StatementTable = dict[str, Any]
"""One printed table of a statement.

``statement``, ``scope`` and ``unit``, which all but marked values share, for people; ``page``, zero-based;
``table`` on it; ``heads`` of the columns of values: label, and what stands beneath it; ``lines``: ``label``,
``level`` of indentation, ``concept``, ``period`` where the columns do not tell it, and ``values`` by column,
None in headings; ``facts``: how many.
"""


def statement_tables(facts: Iterable[Mapping[str, Any]]) -> list[StatementTable]:
    """The tables that facts of a filing were printed in: primary ones first, each in the filing's order."""
    printed: dict[tuple[str, str, int, int], list[Mapping[str, Any]]] = defaultdict(list)
    for fact in facts:
        printed[fact["scope"], fact["statement"], fact["page"], fact["table"]].append(fact)
    scopes = [*SCOPE_NAMES]
    tables = [
        {
            "statement": STATEMENT_NAMES.get(statement, statement),
            "scope": SCOPE_NAMES.get(scope, scope),
            "order": (scopes.index(scope) if scope in scopes else len(scopes), page, table),
            "page": page,
            "table": table,
            "facts": len(found),
            **_printed(found),
        }
        for (scope, statement, page, table), found in printed.items()
    ]
    return sorted(tables, key=lambda table: table["order"])


def _printed(facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Unit, heads and lines of a table."""
    by_column: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    by_row: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for fact in facts:
        by_column[fact["column"]].append(fact)
        by_row[fact["row"]].append(fact)
    columns = sorted(by_column)
    dated = {column: _mostly(map(_period, found)) for column, found in by_column.items()}
    unit = Counter(map(_unit, facts)).most_common(1)[0][0]
    lines: list[dict[str, Any]] = []
    above: tuple[str, ...] = ()
    for _, found in sorted(by_row.items()):
        headings = tuple(found[0]["path"] or ("",))[:-1]
        for depth, heading in enumerate(headings):
            if above[: depth + 1] != headings[: depth + 1]:
                lines.append({"label": heading, "level": depth, "values": None})
        above = headings
        # Cash at the beginning stands in a column of a year, and has a day of its own.
        others = {_period(fact) for fact in found if _period(fact) != dated[fact["column"]]}
        period = others.pop() if len(others) == 1 else ""
        values: dict[int, list[str]] = defaultdict(list)
        for fact in found:
            values[fact["column"]].append(_value(fact, unit, {dated[fact["column"]], period}))
        line = {"label": found[0]["label"], "level": len(headings), "concept": found[0]["concept"] or ""}
        line["period"], line["values"] = period, ["; ".join(values[column]) for column in columns]
        lines.append(line)
    heads = []
    for column in columns:
        qualifier = _mostly(fact["qualifier"] or "" for fact in by_column[column])
        heads.append((dated[column], qualifier) if dated[column] else (qualifier or "Value", ""))
    return {"unit": unit, "heads": heads, "lines": lines}


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
_LONGEST_HEADING = 90
_MOST_FACTS = 1500
"""Facts on one page; what is beyond it, from secondary tables, is only counted."""


def filing_contexts(data: ReportData) -> Iterator[dict[str, Any]]:
    """What ``filing.html.jinja`` shows of every filing, those that could not be read first, then by name."""
    facts, profiles = data.tables["statement_facts"], data.tables["page_profiles"]
    links, tagged = filing_links(data), agreement(data.tables["xbrl_facts"])
    companies, primary = Resolver(data.filings.to_pylist()), facts.filter(pc.field("scope") == "primary")

    counts = Counter[str]()
    for row in data.tables["table_counts"].to_pylist():
        counts[row["filing"]] += row["tables"]

    @lru_cache(maxsize=1)  # filings of a company mostly follow each other
    def of_company(filings: tuple[str, ...]) -> list[dict[str, Any]]:
        return primary.filter(pc.field("filing").isin(filings)).to_pylist() if filings else []

    for record in sorted(
        data.filings.to_pylist(), key=lambda row: (row["status"] == "ok", row["filing"].casefold())
    ):
        name = record["filing"]
        own = facts.filter(pc.field("filing") == name)
        pages = profiles.filter(pc.field("filing") == name).sort_by("page").to_pylist()
        checks = [*check_identities(own), *check_subtotals(own)]
        applied = [check.passed for check in checks if check.passed is not None]
        shown, hidden = shown_tables(own.to_pylist())
        yield {
            "filing": record,
            "link": links[name],
            "remarks": remarks(record),
            "source": SOURCE_NAMES.get(record["source"], record["source"]),
            "identity": identity_grid(record),
            "facts": own.num_rows,
            "tables": counts[name],
            "passed": sum(applied),
            "applied": len(applied),
            "tagged": tagged.get(name),
            "otherwise": otherwise_grid(shown_otherwise(of_company(companies.filings_of(name)), name)),
            "checks": checks_grid(checks),
            "primary": [table for table in shown if table["scope"] == SCOPE_NAMES["primary"]],
            "secondary": [table for table in shown if table["scope"] != SCOPE_NAMES["primary"]],
            "hidden": hidden,
            "page_lines": page_lines(pages),
            "questions": data.questions.filter(pc.field("filing") == name).to_pylist(),
            "known_pages": {row["page"] for row in pages},
        }


def shown_tables(facts: Iterable[Mapping[str, Any]]) -> tuple[list[StatementTable], int]:
    """Tables of a page, beyond `_MOST_FACTS` facts only primary ones, and how many facts it does not show."""
    shown: list[StatementTable] = []
    seen = hidden = 0
    for table in statement_tables(facts):
        seen += table["facts"]
        if seen <= _MOST_FACTS or table["scope"] == SCOPE_NAMES["primary"]:
            shown.append(table)
        else:
            hidden += table["facts"]
    return shown, hidden


def filing_links(data: ReportData) -> dict[str, str]:
    """Path of each filing's page from the folder of the report."""
    names = page_names(sorted(data.filings["filing"].to_pylist()))
    return {filing: f"{FOLDER}/{name}.html" for filing, name in names.items()}


def filing_site(data: ReportData, question_links: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Path and HTML of the page of each filing and of ``filings.html``; other questions are not linked."""
    rows = []
    for context in filing_contexts(data):
        shared = {"data": data, "question_links": question_links}
        yield context["link"], render_page("filing.html.jinja", "Filings", "../", **shared, **context)
        rows.append(_filing_row(context))
    columns = (
        *map(text, ("Filing", "Status", "Company", "Form", "Period")),
        *map(number, ("Pages", "Tables", "Facts")),
        text("Statements"),
        number("Checks", "passed of applicable"),
        number("Questions"),
        text("Remarks"),
    )
    html = render_page(
        "filings.html.jinja",
        "Filings",
        data=data,
        filings={"total": data.filings.num_rows, **filing_counts(data.filings)},
        grid=make_grid("filings", "Filings of the corpus", columns, rows, "The lake holds no filing."),
        forms=[(form, form) for form in sorted(filter(None, {dict(row.data)["form"] for row in rows}))],
    )
    yield "filings.html", html


def _filing_row(context: Mapping[str, Any]) -> Row:
    record, notes, applied = context["filing"], context["remarks"], context["applied"]
    failed = record["status"] != "ok"
    name = record["file_name"]
    other_name = name if name.rsplit(".", 1)[0] != record["filing"] else ""
    odd = "Failed" if failed else "Conflict" if record["conflicts"] else "Warning" if notes else "OK"
    primary = {table["statement"] for table in context["primary"]}
    statements = [name for name in STATEMENT_NAMES.values() if name in primary]
    found = "All five" if len(statements) == len(STATEMENT_NAMES) else ", ".join(statements) or "–"
    passed = f"{context['passed']} of {applied}" if applied else "–"
    state = "failed" if failed else "remarks" if notes else "clean"
    return make_row(
        Cell(record["filing"], other_name, link=context["link"]),
        Cell(odd, context["source"]),
        _stated_or_declared(record["company"], record["declared_company"]),
        _stated_or_declared(record["form"], record["declared_form"]),
        _fiscal_period(record),
        record["pages"],
        context["tables"],
        context["facts"],
        Cell(found, sort=float(len(statements))),
        Cell(passed, sort=context["passed"] / applied if applied else -1.0),
        len(context["questions"]),
        Cell(notes=notes, sort=float(len(notes))),
        group=record["status"],
        data=(("form", record["form"] or record["declared_form"] or ""), ("state", state)),
    )


def _stated_or_declared(stated: str | None, declared: str | None) -> Cell:
    if stated:
        return Cell(stated)
    return Cell(declared, "declared") if declared else Cell("–", sort="")


def _fiscal_period(record: Mapping[str, Any]) -> Cell:
    stated = record["fiscal_year"] is not None
    year = record["fiscal_year"] if stated else record["declared_year"]
    quarter = record["fiscal_quarter"] if stated else record["declared_quarter"]
    day = f"{record['period_end']:%Y-%m-%d}" if record["period_end"] else ""
    if year is None:
        return Cell(day or "–", sort=day)
    text = f"FY {year}" + (f" Q{quarter}" if quarter else "")
    return Cell(text, day if stated else "declared", sort=f"{year} {quarter or 5} {day}")


_IDENTITY = (
    ("Company", "company", "declared_company"),
    ("Form", "form", "declared_form"),
    ("Fiscal year", "fiscal_year", "declared_year"),
    ("Fiscal quarter", "fiscal_quarter", "declared_quarter"),
    ("Last day of the period", "period_end", None),
    ("Filed", "filed", None),
    ("Trading symbol", "ticker", None),
    ("Sector", None, "sector"),
)


def identity_grid(record: Mapping[str, Any]) -> Grid:
    """What the cover page says beside what was declared with the file."""
    rows = []
    for label, *names in _IDENTITY:
        known = [record[name] if name else None for name in names]
        if known != [None, None]:
            rows.append((label, *("–" if one is None else str(one) for one in known)))
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


def otherwise_grid(pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> Grid:
    """Figures of a filing beside those of other filings that contradict them."""
    rows = [
        make_row(
            own["label"], show_period(dict(own)), _amount(own["value"]), own["page"] + 1,
            _amount(other["value"]), other["filing"], other["page"] + 1,
        )
        for own, other in pairs
    ]  # fmt: skip
    columns = (
        text("Line"), tag("Period"), number("Here"), number("Page"), number("There"), text("Filing"),
        number("Its page"),
    )  # fmt: skip
    caption = "Figures that other filings of the company show differently"
    return make_grid("otherwise", caption, columns, rows, "No other filing contradicts the figures here.")


def _amount(value: float | None) -> Cell:
    if value is None:
        return Cell("–", sort=0.0)
    text = f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:,.4g}"
    return Cell(text.replace("-", "−"), sort=value)


def page_lines(profiles: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The pages of a filing, in their order: its row of ``page_profiles`` with names for people.

    ``sections`` and ``statements`` are texts here, and ``heading`` is the note or the first heading.
    """
    # What heads every other page is a running title and says nothing of the page.
    heads = Counter(heading for row in profiles for heading in set(row["headings"]))
    running = {heading for heading, count in heads.items() if count > max(2, len(profiles) / 20)}
    lines = []
    for row in profiles:
        statements = []
        for found in row["statements"]:
            name = STATEMENT_NAMES.get(found["statement"], found["statement"])
            scope = found["scope"].replace("_", " ")
            statements.append(name if scope == "primary" else f"{name} ({scope})")
        named = [name for name in row["sections"] if name != "other"]
        sections = [SECTION_NAMES.get(name, name.replace("_", " ").capitalize()) for name in named]
        heading = row["note"] or next((head for head in row["headings"] if head not in running), "")
        if len(heading) > _LONGEST_HEADING:
            heading = f"{heading[: _LONGEST_HEADING - 1].rstrip()}…"
        told = {"sections": ", ".join(sections), "statements": ", ".join(statements), "heading": heading}
        lines.append({**row, **told})
    return lines


def remarks(record: Mapping[str, Any]) -> tuple[Note, ...]:
    """What is wrong with a filing: why it failed and the remedy, conflicts, warnings."""
    notes = []
    if record["status"] != "ok":
        notes.append(Note("failure", record["reason"] or "No reason was given.", record["remedy"] or ""))
    notes += [Note("conflict", text) for text in record["conflicts"] or ()]
    notes += [Note("warning", text) for text in record["warnings"] or ()]
    return tuple(notes)


def filing_counts(filings: pa.Table) -> dict[str, int]:
    """Filings by what is to be said of them: failed, conflicts, warnings (one filing may count twice)."""
    records = filings.select(["status", "conflicts", "warnings"]).to_pylist()
    return {
        "failed": sum(record["status"] != "ok" for record in records),
        "conflicts": sum(bool(record["conflicts"]) for record in records),
        "warnings": sum(bool(record["warnings"]) for record in records),
    }


def excluded_grid(questions: pa.Table) -> Grid:
    """Questions that enter no metric, and why, from ``schemas.BENCHMARK_QUESTIONS``."""
    rows = [
        (one["question_id"], one["filing"], one["question"], one["problem"] or "No reason was given.")
        for one in questions.to_pylist()
        if one["status"] != "measured"
    ]
    columns = (text("Question"), text("Gold filing"), prose("Text"), prose("Problem"))
    caption = "Questions left out of every metric"
    return make_grid("excluded", caption, columns, rows, "Every question is measured.")
