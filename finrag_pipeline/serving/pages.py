"""Pages of the service: the OpenAPI description, which loads nothing, and the files of the report."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from finrag_pipeline.serving.problems import NotFoundError
from finrag_pipeline.storage.lake import Lake


def docs_page(openapi: Mapping[str, Any]) -> str:
    """The page of an OpenAPI 3.1 document, as HTML."""
    templates = Environment(
        loader=PackageLoader("finrag_pipeline.serving"), autoescape=True, undefined=StrictUndefined
    )
    as_json = partial(json.dumps, indent=2, ensure_ascii=False)
    templates.filters |= {"type_name": type_name, "as_json": as_json}
    return templates.get_template("docs.html.jinja").render(
        info=openapi["info"],
        paths=openapi["paths"],
        schemas=openapi.get("components", {}).get("schemas", {}),
        notes=_notes,
    )


def _notes(schema: Mapping[str, Any], required: bool) -> str:
    """What holds of a value: ``required, at most 100 items``."""
    default = [f"default {json.dumps(schema['default'])}"] if "default" in schema else []
    return ", ".join([*(["required"] if required else default), *_limits(schema)])


def _limits(schema: Mapping[str, Any]) -> Iterator[str]:
    words = {
        "minimum": "at least {:,}",
        "maximum": "at most {:,}",
        "minLength": "at least {:,} characters",
        "maxLength": "at most {:,} characters",
        "maxItems": "at most {:,} items",
    }
    for key, words_of in words.items():
        if key in schema:
            yield words_of.format(schema[key])
    for choice in schema.get("anyOf", []):
        yield from _limits(choice)


def type_name(schema: Mapping[str, Any]) -> str:
    """A schema in a word or two: ``text``-like names of JSON, ``SearchAnswer``, ``list of Result``."""
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    if "anyOf" in schema:
        return " or ".join(type_name(choice) for choice in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {type_name(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


PATH = "/report"

# The pages hold texts of filings and of models: only files of the report itself may run or be loaded.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_REMEDY = "Make one: finrag report. It is there after 'finrag run' as well."


def add_report(app: FastAPI, lake: Lake) -> None:
    """Serve the report of a lake; requests without one are answered with what to do."""

    @app.get(PATH, include_in_schema=False)
    async def to_folder() -> RedirectResponse:
        return RedirectResponse(f"{PATH}/")

    app.mount(PATH, ReportFiles(lake), "report")


class ReportFiles(StaticFiles):
    """Files of a report that may appear, be replaced as a whole, or be gone, at any time.

    Links and paths that lead out of its folder are not followed. Browsers keep files but ask each time
    whether they are still the newest: a new report has the same names. Those of a lake elsewhere are fetched
    when they are asked for.
    """

    def __init__(self, lake: Lake) -> None:
        self._lake, self._name = lake, "report" if lake.is_local else "served_report"
        super().__init__(directory=lake.local_path(self._name), html=True, check_dir=False)

    async def check_config(self) -> None:
        """Nothing: whether the folder is there is looked at with every request."""

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Where a file lies, and what it is."""
        path = os.path.normpath(path)
        if not self._lake.is_local and path != ".":
            here, copy = self._lake.here, self._lake.here.path(self._name, path)
            kept = self._lake.path("report", path)
            data = self._lake.read_bytes(kept) if self._lake.fs.isfile(kept) else None
            if data is None:
                with suppress(OSError):  # not there, or a folder
                    Path(copy).unlink()
            elif here.read_bytes(copy) != data:
                here.write_bytes(copy, data)
        return super().lookup_path(path)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file at ``path``.

        Raises:
            NotFoundError: there is no report, or no such file in it.
        """
        if (await run_in_threadpool(self.lookup_path, "index.html"))[1] is None:
            raise NotFoundError("There is no report yet.", _REMEDY)
        if any(part.startswith(".") for part in path.split("/") if part not in ("", ".")):
            raise _missing(path)
        try:
            response = await super().get_response(path, scope)
        except HTTPException as error:
            if error.status_code != 404:
                raise
            raise _missing(path) from error
        response.headers["Cache-Control"] = "no-cache"
        response.headers["X-Content-Type-Options"] = "nosniff"
        if response.headers.get("content-type", "").startswith("text/html"):
            response.headers["Content-Security-Policy"] = PAGE_POLICY
        return response


def _missing(path: str) -> NotFoundError:
    return NotFoundError(
        f"The report has no file '{path}'.", "Begin at /report/, or make it again: finrag report."
    )
