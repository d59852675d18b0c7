"""The FastAPI application: routes, errors as ``{error, remedy}``, OpenAPI and its page."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, nullcontext
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException

from finrag_pipeline.errors import FinragError
from finrag_pipeline.serving.local_page import add_local_page
from finrag_pipeline.serving.middleware import RequestLimits
from finrag_pipeline.serving.models import (
    Answer,
    AskQuery,
    AskRequest,
    FilingRow,
    Health,
    Problem,
    Readiness,
    SearchAnswer,
    SearchQuery,
    SearchRequest,
    SystemRow,
)
from finrag_pipeline.serving.pages import add_report, docs_page
from finrag_pipeline.serving.problems import NO_MCP, NotFoundError, problem, status_of
from finrag_pipeline.serving.service import SearchService

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

_log = logging.getLogger(__name__)

DESCRIPTION = """\
Finds the pages of financial filings that answer a question: filing, page, snippet, score and the reason.
Answers questions with formula, inputs and the cell of every number. The answers are those of
`finrag search --json` and `finrag ask --json`. Every error is `{"error", "remedy"}`.
Pages are zero-based; `page_label` is what a reader would say."""

_ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The request cannot be understood, or was sent to another host."},
    404: {"model": Problem, "description": "There is no such retrieval system or filing."},
    408: {"model": Problem, "description": "The body of the request did not arrive in time."},
    401: {"model": Problem, "description": "The token is missing or wrong (where others reach the service)."},
    413: {"model": Problem, "description": "The body of the request is too long."},
    415: {"model": Problem, "description": "The body of the request is not JSON by its Content-Type."},
    422: {"model": Problem, "description": "A value is missing, unknown, of the wrong type or out of range."},
    500: {"model": Problem, "description": "A defect of the service, which has logged it."},
    503: {
        "model": Problem,
        "description": "Not ready, busy, too slow, or something that the system needs is missing here.",
    },
}


def _errors(*codes: int) -> dict[int | str, dict[str, Any]]:
    return {code: _ERRORS[code] for code in sorted({400, 401, 408, 413, 415, 422, 500, *codes})}


def create_app(
    service: SearchService, hosts: Collection[str] | None = None, token: str | None = None
) -> FastAPI:
    """The application over a service, which it starts and stops; it answers to ``hosts``, or to any host.

    With a ``token`` it answers to those who send it.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        async with mcp.session_manager.run() if mcp else nullcontext():
            yield
        service.stop()

    app = FastAPI(
        title="finrag",
        summary="Search in financial filings, and answers with proof.",
        description=DESCRIPTION,
        version=version("finrag_pipeline"),
        lifespan=lifespan,
        # FastAPI's own pages load their scripts from the network.
        docs_url=None,
        redoc_url=None,
    )
    app.add_middleware(
        RequestLimits,
        body_bytes=service.limits.body_bytes,
        body_seconds=service.limits.body_seconds,
        hosts=hosts,
        token=token,
        answered=service.answered,
    )
    _add_error_handlers(app)
    _add_answers(app, service)
    _add_states(app, service)
    add_report(app, service.lake)
    add_local_page(app, service)
    mcp = _add_mcp(app, service, hosts)
    return app


def _add_answers(app: FastAPI, service: SearchService) -> None:
    @app.post("/search", response_model=SearchAnswer, responses=_errors(404, 503), tags=["search"])
    async def search(asked: SearchRequest) -> dict[str, Any]:
        """Find the pages that answer a question."""
        return await service.search(asked.question, asked.system, asked.k, asked.filings)

    @app.get("/search", response_model=SearchAnswer, responses=_errors(404, 503), tags=["search"])
    async def search_by_link(asked: Annotated[SearchQuery, Query()]) -> dict[str, Any]:
        """The same with query parameters, for links; `filings` may be repeated."""
        return await search(asked)

    @app.post("/ask", response_model=Answer, responses=_errors(404, 503), tags=["ask"])
    async def ask(asked: AskRequest) -> dict[str, Any]:
        """Answer a question with its proof: formula, steps, and the cell of every number."""
        return await service.ask(asked.question, asked.mode, asked.filings, asked.system)

    @app.get("/ask", response_model=Answer, responses=_errors(404, 503), tags=["ask"])
    async def ask_by_link(asked: Annotated[AskQuery, Query()]) -> dict[str, Any]:
        """The same with query parameters, for links; `filings` may be repeated."""
        return await ask(asked)

    @app.get("/systems", response_model=list[SystemRow], responses=_errors(503), tags=["search"])
    async def systems() -> list[dict[str, str]]:
        """The retrieval systems, where they come from, and whether they can run here."""
        return await service.systems()

    @app.get("/filings", response_model=list[FilingRow], responses=_errors(503), tags=["search"])
    async def filings(
        failed: Annotated[bool, Query(description="Only filings that could not be read.")] = False,
    ) -> list[dict[str, Any]]:
        """The filings of the lake: identity, state, and what is odd about them."""
        return await service.filings(failed)


def _add_mcp(app: FastAPI, service: SearchService, hosts: Collection[str] | None) -> MCPServer[Any] | None:
    if find_spec("mcp") is not None:
        from finrag_pipeline.serving.mcp_server import add_mcp  # an extra

        return add_mcp(app, service, hosts)

    @app.api_route("/mcp", methods=["GET", "POST"], include_in_schema=False)
    async def not_installed() -> None:
        raise NotFoundError(*NO_MCP)

    return None


def _add_states(app: FastAPI, service: SearchService) -> None:
    @app.get("/health", response_model=Health, responses=_errors(), tags=["state"])
    async def health() -> Health:
        """Whether the process is up; it says nothing about the lake."""
        return Health(status="up", version=app.version)

    @app.get("/ready", response_model=Readiness, responses=_errors(503), tags=["state"])
    async def ready() -> Readiness:
        """Whether there is something to search and the models are loaded; 503 with the reason when not."""
        loaded = service.loaded()
        return Readiness(
            ready=True,
            filings=len(loaded.filings),
            system=loaded.system,
            loaded_at=loaded.at,
            problem=service.problem(),
            warnings=loaded.warnings,
        )

    @app.get("/metrics", response_class=PlainTextResponse, include_in_schema=False)
    async def metrics() -> str:
        """Counts of requests and what is loaded, as Prometheus reads them."""
        return service.metrics()

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        # The page holds all that it needs and loads nothing.
        policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
        return HTMLResponse(docs_page(app.openapi()), headers={"Content-Security-Policy": policy})


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(FinragError)
    async def known(_: Request, error: FinragError) -> JSONResponse:
        status = status_of(error)
        headers = {"Retry-After": "5"} if status == 503 else None
        return JSONResponse(problem(error.reason, error.remedy), status, headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        found = error.errors()
        if any(one["type"] == "json_invalid" for one in found):
            return JSONResponse(problem("The body is not JSON.", "See /docs for an example."), 400)
        text = "; ".join(f"{_place(one['loc'])}: {one['msg']}" for one in found[:3])
        return JSONResponse(problem(f"The request is wrong: {text}.", "See /docs for what is allowed."), 422)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        remedy = "See /docs for what there is."
        reason = f"{str(error.detail).rstrip('.')}: {request.method} {request.url.path}"
        headers = error.headers
        if error.status_code == 405:  # Starlette names the methods of the first of a path's routes alone
            routes = [route for route in app.routes if getattr(route, "path", "") == request.url.path]
            allowed = {method for route in routes for method in getattr(route, "methods", None) or ()}
            headers = {"Allow": ", ".join(sorted(allowed))}
        return JSONResponse(problem(reason, remedy), error.status_code, headers)

    @app.exception_handler(Exception)
    async def defect(_: Request, error: Exception) -> JSONResponse:
        _log.error("A request failed: %r", error)
        return JSONResponse(
            problem("The service failed on this request: a defect.", "See what the service has logged."), 500
        )


def _place(location: tuple[int | str, ...]) -> str:
    """Where in a request something is wrong, without the name of the part of the request."""
    return ".".join(str(part) for part in location[1:]) or str(location[0])
