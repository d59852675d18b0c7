"""The page at ``/``: a question, its answer with proof, pages found, and any page with its cells marked.

All that it shows is in its address, so that links can be shared. Its script only saves loading the whole page
again when a page of a filing is opened.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request
from starlette.datastructures import QueryParams
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles

from finrag_pipeline.answering.derivation import SeriesValue, headline
from finrag_pipeline.errors import FinragError, UsageError
from finrag_pipeline.filings.html_page import POLICY
from finrag_pipeline.reporting.explorer_data import WORDING
from finrag_pipeline.reporting.explorer_pages import outline, text_parts
from finrag_pipeline.reporting.page_pictures import Box
from finrag_pipeline.reporting.site import TEMPLATES, render_page
from finrag_pipeline.services.filings import company_key, page_html, select_filings
from finrag_pipeline.services.pages import hits_on_pages, matching_spans, page_view, picture_path
from finrag_pipeline.serving.pages import PAGE_POLICY
from finrag_pipeline.serving.problems import NotFoundError, status_of
from finrag_pipeline.serving.service import SearchService

_MENU = [("Ask", ""), ("Report", "report/"), ("For programs", "docs")]
_ASSETS = ("report.css", "report.js", "explorer.css", "ask.css", "ask.js")
_HEADERS = {
    "Content-Security-Policy": PAGE_POLICY.replace(
        "form-action 'none'", "form-action 'self'; connect-src 'self'; frame-src 'self'"
    ),
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
}
_RESULTS = 6
_MOST_LISTED = 500
_MOST_BOXES = 20
_LONGEST_MARK = 2000


@dataclass(frozen=True)
class Address:
    """What the address of the page says; an empty text or no number stands for nothing.

    Attributes:
        q: the question.
        company, form, year: of the filings that are asked.
        filing, page: what is open beside the answer; pages count from 1.
        box: cells that are marked on it, in points.
        mark: a passage that is marked on it.
        cell: a fact whose cell is marked on it where it is HTML.
    """

    q: str = ""
    company: str = ""
    form: str = ""
    year: str = ""
    filing: str = ""
    page: int = 0
    box: tuple[Box, ...] = ()
    mark: str = ""
    cell: str = ""

    @classmethod
    def of(cls, query: QueryParams) -> Address:
        """The address with a query; what cannot be read in it is left out."""
        page = query.get("page", "")
        boxes = [box for text in query.getlist("box")[:_MOST_BOXES] if (box := _read_box(text))]
        texts = {
            name: query.get(name, "").strip() for name in ("q", "company", "form", "year", "filing", "cell")
        }
        number = int(page) if page.isascii() and page.isdigit() and len(page) < 7 else 0
        return cls(**texts, page=number, box=tuple(boxes), mark=query.get("mark", "")[:_LONGEST_MARK])

    def link(self, **changes: Any) -> str:
        """The address with other values, from the root."""
        values = asdict(replace(self, **changes))
        values["box"] = [",".join(f"{edge:.1f}" for edge in box) for box in values["box"]]
        query = urlencode([(name, value) for name, value in values.items() if value], doseq=True)
        return f"/?{query}" if query else "/"

    def opening(
        self, filing: str, page: int, box: Sequence[float] | None = None, mark: str = "", cell: str = ""
    ) -> str:
        """The address with a zero-based page open, on it marked a cell by its box, or else by its passage."""
        if box:
            return self.link(filing=filing, page=page + 1, box=(tuple(box),), mark="", cell="")
        return self.link(filing=filing, page=page + 1, box=(), mark=mark[:_LONGEST_MARK], cell=cell)


def _read_box(text: str) -> Box | None:
    try:
        x0, y0, x1, y1 = map(float, text.split(","))
    except ValueError:
        return None
    return (x0, y0, x1, y1) if all(map(math.isfinite, (x0, y0, x1, y1))) else None


def add_local_page(app: FastAPI, service: SearchService) -> None:
    """Serve the page, what it loads, and pictures of pages."""

    @app.get("/", include_in_schema=False)
    async def ask(request: Request) -> HTMLResponse:
        address = Address.of(request.query_params)
        context, status = await _found(service, address)
        sheet, opened = await _sheet(service, address)
        html = render_page(
            "ask.html.jinja", "Ask", "/", pages=_MENU, about="the service", address=address,
            input_link=_input_link(address), **WORDING, **context, **sheet,
        )  # fmt: skip
        return HTMLResponse(html.encode("utf-8", "replace"), max(status, opened), _HEADERS)

    @app.get("/sheet", include_in_schema=False)
    async def sheet(request: Request) -> HTMLResponse:
        # What `ask.js` puts beside the answer.
        address = Address.of(request.query_params)
        context, status = await _sheet(service, address)
        html = render_page("sheet.html.jinja", "Ask", "/", address=address, **WORDING, **context)
        return HTMLResponse(html.encode("utf-8", "replace"), status, _HEADERS)

    @app.get("/pages/{filing}/{label}.webp", include_in_schema=False)
    async def picture(request: Request, filing: str, label: int, small: bool = False) -> Response:
        found, tag = await service.picture(filing, label, small)
        known = request.headers.get("if-none-match") == tag
        headers = {"ETag": tag, "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
        return Response(b"" if known else found, 304 if known else 200, headers, "image/webp")

    @app.get("/pages/{filing}/{label}.html", include_in_schema=False)
    async def html(filing: str, label: int, cell: str = "") -> HTMLResponse:
        headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}
        return HTMLResponse(await service.read(page_html, filing, label, cell), headers=headers)

    files = StaticFiles(directory=TEMPLATES)

    @app.get("/assets/{name}", include_in_schema=False)
    async def asset(request: Request, name: str) -> Response:
        if name not in _ASSETS:
            raise NotFoundError(f"There is no file '{name}'.", "Begin at /.")
        response = await files.get_response(name, request.scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


async def _found(service: SearchService, address: Address) -> tuple[dict[str, Any], int]:
    """What the page shows of a question, or the filings where there is none; and the status."""
    problem: FinragError | None = None
    answer: dict[str, Any] | None = None
    results: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    chosen: list[str] = []
    warnings: list[str] = []
    try:
        rows = list(service.loaded().filings.values())
        chosen = select_filings(rows, address.company, address.form, address.year)
        if not chosen:
            raise UsageError("No filing meets these conditions.", "Choose others, or all.")
        if address.q:
            only = chosen if address.company or address.form or address.year else []
            answer = await service.ask(address.q, "calculator", only, None)
            found = await service.search(address.q, None, _RESULTS, only)
            results = await _shown_results(service, address, found["results"])
            warnings = list(dict.fromkeys([*answer["warnings"], *found["warnings"]]))
    except FinragError as error:
        problem = error
    among = set(chosen)
    return {
        "problem": problem,
        "answer": answer,
        "told": headline(answer["answer"], [SeriesValue(**one) for one in answer["series"]])
        if answer
        else "",
        "evidence": _evidence_tables(answer["evidence"]) if answer else [],
        "results": results,
        "warnings": warnings,
        "filings": [row for row in rows if row["filing"] in among][:_MOST_LISTED],
        "total": len(rows),
        "companies": _companies(rows),
        "forms": _as_choices(sorted({row["form"] for row in rows if row["form"]})),
        "years": _as_choices(
            sorted({str(row["fiscal_year"]) for row in rows if row["fiscal_year"]}, reverse=True)
        ),
    }, status_of(problem) if problem else 200


def _companies(rows: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Key and printed name of each company, by name."""
    names = {key: row["company"] for row in rows if (key := company_key(row))}
    return sorted(names.items(), key=lambda item: item[1].casefold())


def _as_choices(values: Iterable[str]) -> list[tuple[str, str]]:
    return [(value, value) for value in values]


async def _shown_results(
    service: SearchService, address: Address, results: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Results with their links, the words of the question marked in their snippets and on small pictures."""
    pages = await service.read(hits_on_pages, results, address.q)
    shown = []
    for one in results:
        page = pages.get((one["filing"], one["page"]))
        thumbnail = page and {
            "picture": picture_path(one["filing"], one["page"] + 1, small=True),
            "width": round(page["width"]),
            "height": round(page["height"]),
            "words": outline(page["boxes"], 1.5),
        }
        parts = text_parts(one["snippet"], matching_spans(one["snippet"], address.q))
        link = address.opening(one["filing"], one["page"])
        shown.append({**one, "link": link, "parts": parts, "thumbnail": thumbnail})
    return shown


def _evidence_tables(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of evidence by the table that they stand in, each under its headers."""
    tables: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        headers = tuple(value["header"] for value in row["values"])
        tables.setdefault((row["filing"], row["page"], row["caption"] or "", headers), []).append(row)
    names = ("filing", "page", "caption", "headers")
    return [dict(zip(names, key, strict=True)) | {"rows": found} for key, found in tables.items()]


def _input_link(address: Address) -> Any:
    def link(one: Mapping[str, Any]) -> str:
        passage = f"{one['label']} {one['printed']}"
        return address.opening(one["filing"], one["page"], one["box"], passage, one["fact_id"])

    return link


async def _sheet(service: SearchService, address: Address) -> tuple[dict[str, Any], int]:
    """The page that is open, or why it cannot be shown; and the status."""
    if not address.filing:
        return {"sheet": None, "sheet_problem": None}, 200
    passages = [address.mark] if address.mark else []
    words = "" if address.box or address.mark else address.q
    try:
        sheet = await service.read(
            page_view, address.filing, address.page, address.box, passages, words, address.cell
        )
    except FinragError as error:
        return {"sheet": None, "sheet_problem": error}, status_of(error)
    return {"sheet": sheet, "sheet_problem": None}, 200
