"""Filings of a lake: which there are, and what was read from one, as a picture, grids and values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from finrag_pipeline.errors import LakeError, UsageError, did_you_mean, find_name, refused
from finrag_pipeline.filings import TEXT_ONLY
from finrag_pipeline.filings.originals import aliases, find_source, get_source, name_in_lake, original_path
from finrag_pipeline.schemas import PER_FILING
from finrag_pipeline.schemas.catalogue import CATALOGUE
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.answering.fact_series import Each, PeriodValue
    from finrag_pipeline.resolver.resolver import Resolver

DPI = 110
FINISH = "Wait for the run that makes it, or run 'finrag run' or 'finrag ingest FILE' again."
"""What to do about a filing that is not complete."""
LISTED = (
    "filing", "status", "reason", "remedy", "source", "pages", "company", "form", "fiscal_year",
    "fiscal_quarter", "period_end", "filed", "conflicts", "warnings",
)  # fmt: skip
"""What `list_filings` tells of a filing."""


def require_filing(lake: Lake, filing: str) -> str:
    """The name of a filing as it came first; ``filing`` may be in any case, or another name of its file.

    Raises:
        UsageError: the lake holds no such filing.
    """
    filing = name_in_lake(lake, filing)
    if find_source(lake, filing) is not None:
        return filing
    folder = lake.path("filings")
    kept = lake.fs.ls(folder, detail=False) if lake.fs.exists(folder) else []
    names = [path.rsplit("/", 1)[-1] for path in kept]
    if named := find_name(filing, names):
        return name_in_lake(lake, named)
    remedy = f"{did_you_mean(filing, names)}List filings with: finrag filings."
    raise UsageError(f"The lake holds no filing '{filing}'.", remedy)


def require_page(lake: Lake, filing: str, label: int) -> tuple[str, int]:
    """A filing and its page ``label``, counted from 1, as the lake has them.

    Raises:
        UsageError: there is no such filing or page.
        LakeError: its pages have not been made.
    """
    filing = require_filing(lake, filing)
    pages = lake.read("filing_pages", {"filing": filing}, ["page"]).num_rows
    if not 1 <= label <= pages:
        raise UsageError(f"{filing} has no page {label}.", f"It has pages 1 to {pages}.")
    return filing, label - 1


def list_filings(lake: Lake, failed: bool) -> list[dict[str, Any]]:
    """Filings of the lake: identity, state, what is odd about them, how they were read beside their tags."""
    from finrag_pipeline.statements.tags import AGREEMENT_COLUMNS, agreement

    rows = lake.read_all("filings", LISTED).to_pylist()
    tagged = agreement(lake.read_all("xbrl_facts", AGREEMENT_COLUMNS))
    for row in rows:
        for day in ("period_end", "filed"):
            row[day] = row[day].isoformat() if row[day] else None
        beside = tagged.get(row["filing"])
        row["tagged"] = str(beside) if beside and beside.tagged else None
    listed = {row["filing"] for row in rows}
    # The first step that failed when it last ran, by filing.
    failures, odd = {}, {}
    for asset in reversed([name for name, made in CATALOGUE.items() if made.by == "filing"]):
        for entry in lake.ledger_entries(asset):
            if entry["outcome"] == "failed":
                failures[entry["partition"]] = entry
            elif entry["error"] and entry["outcome"] != "skipped":
                odd[entry["partition"]] = entry["error"]
    made = [(asset, {keys["filing"] for keys in lake.partitions(asset)}) for asset in PER_FILING]
    # A file that was refused, or whose run was killed, before anything of it was made has no row.
    kept = {path.rsplit("/", 2)[1] for path in lake.fs.glob(lake.path("filings", "*", "source.json"))}
    empty: dict[str, Any] = dict.fromkeys((*LISTED, "tagged"))
    empty |= {"status": "ok", "conflicts": [], "warnings": []}
    rows.extend({**empty, "filing": filing} for filing in sorted((failures.keys() | kept) - listed))
    others: dict[str, list[str]] = defaultdict(list)
    for name, first in aliases(lake).items():
        others[first].append(name)
    for row in rows:
        read = lake.info("page_tables", {"filing": row["filing"]})
        if read and not read.rows and TEXT_ONLY not in row["warnings"]:
            row["warnings"].append("no table could be read")
        if row["filing"] in odd:
            row["warnings"] = [*row["warnings"], odd[row["filing"]]]
        if names := others.get(row["filing"]):
            row["warnings"] = [*row["warnings"], f"the same file came as {', '.join(names)} too"]
        if row["filing"] in failures:
            entry = failures[row["filing"]]
            row.update(status="failed", reason=entry["error"], remedy=entry["remedy"])
        elif row["status"] == "ok" and (
            lacks := next((a for a, of in made if row["filing"] not in of), None)
        ):
            row.update(status="incomplete", reason=f"Its {lacks} is not made yet.", remedy=FINISH)
    return [row for row in rows if not failed or row["status"] != "ok"]


def company_key(filing: Mapping[str, Any]) -> str:
    """What filings of one company have in common, however their covers write its name."""
    from finrag_pipeline.resolver.companies import key_of, read_name

    name = read_name(filing["company"] or "")
    return key_of(name.core) if name else ""


def select_filings(
    filings: Iterable[Mapping[str, Any]], company: str = "", form: str = "", year: str = ""
) -> list[str]:
    """Names of those `list_filings` that meet every condition given; a part of a company's name will do."""
    rows = [row for row in filings if form in ("", row["form"]) and year in ("", str(row["fiscal_year"]))]
    key = company_key({"company": company})
    same = [row["filing"] for row in rows if key in ("", company_key(row))]
    return same or [row["filing"] for row in rows if key in company_key(row)]


def show_page(lake: Lake, filing: str, label: int, folder: Path) -> dict[str, Any]:
    """Draw page ``label``, counted from 1, with what was found on it, as ``FILING_p59.png`` in ``folder``.

    Of an HTML filing ``FILING_p59.html`` is written: the page itself, what was found marked.

    Returns:
        ``{filing, page, page_label, picture, tables, facts}``: path of what was written, None where the
        filing came as text; the tables as `table_grids`, the facts as `fact_json`.

    Raises:
        UsageError: there is no such filing or page, or the folder cannot be written to.
        LakeError: its tables have not been made.
    """
    from finrag_pipeline.reporting.page_pictures import page_picture

    filing, page = require_page(lake, filing, label)
    cells = rows_on_page(lake, "page_tables", filing, page)
    facts = rows_on_page(lake, "statement_facts", filing, page)
    if get_source(lake, filing).source == "html":
        picture: bytes | None = _html(lake, filing, page, _layers(cells, facts)).encode("utf-8", "replace")
        name = f"{filing}_p{label}.html"
    else:
        picture, name = page_picture(lake, filing, page, cells, facts, DPI), f"{filing}_p{label}.png"
    path = None
    if picture is not None:
        path = folder / name
        with refused(UsageError, f"{folder} cannot be written to", "Choose another folder with --to."):
            folder.mkdir(parents=True, exist_ok=True)
            path.write_bytes(picture)
    return {
        "filing": filing,
        "page": page,
        "page_label": str(page + 1),
        "picture": path and str(path),
        "tables": table_grids(cells),
        "facts": [fact_json(fact) for fact in facts],
    }


def page_content(lake: Lake, filing: str, label: int) -> dict[str, Any]:
    """What was read from page ``label``, counted from 1.

    Returns:
        ``filing``, ``page``, ``page_label``, ``text``, and ``tables`` as `show_page`, each with its ``box``.

    Raises:
        UsageError: there is no such filing or page.
        LakeError: its tables have not been made.
    """
    from finrag_pipeline.reporting.page_pictures import table_outlines

    filing, page = require_page(lake, filing, label)
    text = lake.read("filing_pages", {"filing": filing}, ["text"])["text"][page].as_py()
    cells = rows_on_page(lake, "page_tables", filing, page)
    boxes = table_outlines(cells)
    tables = [table | {"box": boxes.get(table["table"])} for table in table_grids(cells)]
    return {"filing": filing, "page": page, "page_label": str(label), "text": text, "tables": tables}


def page_html(lake: Lake, filing: str, label: int, cell: str = "") -> str:
    """Page ``label``, counted from 1, of an HTML filing as a document that loads and runs nothing.

    The ``cell`` of a fact, by the fact's identifier, is ``#marked``. Serve it with the ``POLICY`` of
    `finrag_pipeline.filings.html_page`.

    Raises:
        UsageError: there is no such filing or page, or it did not come as HTML.
        LakeError: its tables have not been made.
    """
    filing, page = require_page(lake, filing, label)
    if get_source(lake, filing).source != "html":
        raise UsageError(f"{filing} did not come as HTML.", "Look at its picture: finrag show FILING PAGE.")
    parts = ("filing", "page", "table", "row", "column")
    cells = rows_on_page(lake, "page_tables", filing, page) if cell else []
    found = [one["anchor"] for one in cells if ":".join(str(one[part]) for part in parts) == cell]
    return _html(lake, filing, page, dict.fromkeys(filter(None, found), "used"))


def _html(lake: Lake, filing: str, page: int, marks: Mapping[str, str]) -> str:
    from finrag_pipeline.filings.html import read_html
    from finrag_pipeline.filings.html_page import page_html as document_of

    with lake.local_copy(original_path(lake, get_source(lake, filing))) as path:
        return document_of(read_html(path), page, f"{filing}, page {page + 1}", marks)


def _layers(cells: Iterable[Mapping[str, Any]], facts: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """How the cells of a page are marked, by anchor; cells of facts as these."""
    from finrag_pipeline.reporting.page_pictures import cell_layer

    places = {(fact["table"], fact["row"], fact["column"]) for fact in facts}
    found = {}
    for cell in cells:
        is_fact = (cell["table"], cell["row"], cell["column"]) in places
        if (layer := "facts" if is_fact else cell_layer(cell)) and cell["anchor"]:
            found[cell["anchor"]] = layer
    return found


def rows_on_page(lake: Lake, table: str, filing: str, page: int) -> list[dict[str, Any]]:
    """Rows of a table of the lake that stand on a zero-based page.

    Raises:
        LakeError: the table has not been made of the filing.
    """
    if lake.info(table, {"filing": filing}) is None:
        raise LakeError(f"The lake holds no {table} of '{filing}'.", f"Materialise {table}: finrag run.")
    rows = lake.read(table, {"filing": filing})
    # Rows of a page stand together: a slice, where filtering would load PyArrow's compute functions.
    found = np.flatnonzero(rows["page"].to_numpy() == page)
    here = rows.slice(found[0], found[-1] - found[0] + 1).to_pylist() if len(found) else []
    return [row for row in here if row["page"] == page]


def table_grids(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tables of the cells of a page: ``{table, caption, detector, scales, header_rows, grid}`` each."""
    tables: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for cell in cells:
        tables[cell["table"]].append(cell)
    found = []
    for number, members in sorted(tables.items()):
        rows = 1 + max(cell["row"] for cell in members)
        columns = 1 + max(cell["column"] for cell in members)
        grid = [[""] * columns for _ in range(rows)]
        for cell in members:
            grid[cell["row"]][cell["column"]] = cell["text"]
        headers = {cell["row"] for cell in members if cell["header"]}
        scales = sorted({cell["scale_source"] for cell in members if cell["scale_source"]})
        found.append(
            {
                "table": number,
                "caption": members[0]["caption"],
                "detector": members[0]["detector"],
                "scales": scales,
                "header_rows": 1 + max(headers) if headers else 0,
                "grid": grid,
            }
        )
    return found


def list_facts(
    lake: Lake,
    filing: str,
    concept: str | None = None,
    label: str | None = None,
    year: int | None = None,
    statement: str | None = None,
    every_scope: bool = False,
) -> list[dict[str, Any]]:
    """Facts of a filing that meet every condition given.

    Raises:
        UsageError: there is no such filing, or no such concept is known.
        LakeError: its facts have not been made, or by another version.
    """
    from finrag_pipeline.statements.concept_model import concept_model
    from finrag_pipeline.statements.concepts import concept_names
    from finrag_pipeline.statements.facts import find_facts
    from finrag_pipeline.statements.filed_facts import checked_facts

    filing = require_filing(lake, filing)
    if lake.info("statement_facts", {"filing": filing}) is None:
        raise LakeError(f"The lake holds no facts of '{filing}'.", "Materialise statement_facts: finrag run.")
    known = {*concept_names(), *(concept_model().families if concept else ())}
    if concept is not None and find_name(concept, known) is None:
        remedy = f"{did_you_mean(concept, known)}Choose a us-gaap name, such as Revenues or Assets."
        raise UsageError(f"There is no concept '{concept}'.", remedy)
    table = checked_facts(lake.read("statement_facts", {"filing": filing}))
    scope = None if every_scope else "primary"
    found = find_facts(
        table, concept=concept, label=label, fiscal_year=year, statement=statement, scope=scope
    )
    return list(found.to_pylist())


def asked_series(quarterly: bool, yearly: bool, trailing: bool) -> Each | None:
    """What follows upon what in the series that is asked for; None where none is.

    Raises:
        UsageError: several are asked for.
    """
    each: dict[Each, bool] = {"quarter": quarterly, "year": yearly, "twelve": trailing}
    chosen = [one for one, asked in each.items() if asked]
    if len(chosen) > 1:
        raise UsageError("A series is quarterly, yearly or trailing.", "Choose one of them.")
    return chosen[0] if chosen else None


def list_series(
    lake: Lake, company: str, concept: str | None, each: Each, resolver: Resolver | None = None
) -> list[PeriodValue]:
    """A concept over all filings of a company, named or by its ticker or one of its filings.

    The ``resolver`` of the lake is loaded when None.

    Raises:
        UsageError: no concept, no filing of the company in the lake, or no such concept in its filings.
    """
    from finrag_pipeline.answering.fact_series import fact_series
    from finrag_pipeline.resolver.resolver import IDENTITY, load_resolver
    from finrag_pipeline.statements.facts import find_facts
    from finrag_pipeline.statements.filed_facts import FACT_COLUMNS, checked_facts, read_facts, read_info

    if concept is None:
        raise UsageError("A series is of one concept.", "Name it, for instance Revenues.")
    names = [keys["filing"] for keys in lake.partitions("filings")]
    resolver = resolver or load_resolver(lake, names)
    filing = find_name(company, names)
    if filing is None:
        asked = resolver.resolve(f"What was the revenue of {company}?")
        filing = asked.filings[0].filing if asked.companies else None
    if filing is None:
        raise UsageError(f"The lake holds no filing of '{company}'.", "List filings with: finrag filings.")
    own = {"filing": resolver.filings_of(filing)}
    rows = lake.read_all("filings", IDENTITY, own).to_pylist()
    infos = {str(row["filing"]): read_info(row) for row in rows}
    known = {keys["filing"] for keys in lake.partitions("statement_facts")}
    tables = {
        name: checked_facts(lake.read("statement_facts", {"filing": name}, FACT_COLUMNS))
        for name in infos
        if name in known
    }
    # Making facts of all rows takes ten times as long.
    filings = [
        (infos[name], read_facts(find_facts(table, concept=concept, scope=None)))
        for name, table in tables.items()
    ]
    found = fact_series(filings, concept, each)
    if not found:
        whose, remedy = f"The {len(tables)} filings of '{company}'", f"'finrag facts {filing}' lists"
        if any(facts for _, facts in filings):
            span = {"quarter": "quarter", "year": "fiscal year", "twelve": "twelve months"}[each]
            raise UsageError(f"{whose} tell '{concept}' of no {span}.", f"See the periods that {remedy}.")
        shown = {one for table in tables.values() for one in table["concept"].to_pylist() if one}
        remedy = f"{did_you_mean(concept, shown)}Choose one that {remedy}."
        raise UsageError(f"{whose} show no '{concept}'.", remedy)
    return found


def facts_json(
    lake: Lake,
    filing: str,
    concept: str | None = None,
    *,
    series: Each | None = None,
    resolver: Resolver | None = None,
    **conditions: Any,
) -> list[dict[str, Any]]:
    """What ``finrag facts --json`` prints: `list_facts` on conditions, or a ``series``, of a company."""
    if series is not None:
        return [value.as_json() for value in list_series(lake, filing, concept, series, resolver)]
    return [fact_json(fact) for fact in list_facts(lake, filing, concept, **conditions)]


def fact_json(fact: dict[str, Any]) -> dict[str, Any]:
    """A fact for programs: dates as text, ``page_label`` beside the zero-based ``page``."""
    shown = {
        name: value.isoformat() if hasattr(value, "isoformat") else value for name, value in fact.items()
    }
    return {**shown, "page_label": str(fact["page"] + 1)}
