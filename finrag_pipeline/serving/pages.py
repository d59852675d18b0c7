"""Pages of the service: the OpenAPI description, which loads nothing, and the files of the report."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from finrag_pipeline.errors import LakeError
from finrag_pipeline.serving.problems import NotFoundError
from finrag_pipeline.storage.lake import Lake

_METHODS = ("get", "post", "put", "patch", "delete")


def docs_page(openapi: Mapping[str, Any]) -> str:
    """The page, as HTML.

    Args:
        openapi: an OpenAPI 3.1 document with its schemas under ``components``.
    """
    templates = Environment(
        loader=PackageLoader("finrag_pipeline.serving"), autoescape=True, undefined=StrictUndefined
    )
    schemas = openapi.get("components", {}).get("schemas", {})
    return templates.get_template("docs.html.jinja").render(
        info=openapi["info"],
        operations=list(_operations(openapi)),
        schemas=[_schema(name, schema) for name, schema in schemas.items()],
    )


def _operations(openapi: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for path, item in openapi["paths"].items():
        for method in _METHODS:
            if method not in item:
                continue
            operation = item[method]
            content = operation.get("requestBody", {}).get("content", {})
            yield {
                "method": method.upper(),
                "path": path,
                "text": operation.get("description") or operation.get("summary", ""),
                "parameters": [
                    _value(one["name"], one["schema"], one.get("required", False), one.get("description"))
                    for one in operation.get("parameters", [])
                ],
                "body": [type_name(part["schema"]) for part in content.values()],
                "responses": [
                    {
                        "status": status,
                        "text": response.get("description", ""),
                        "type": [
                            type_name(part["schema"])
                            for part in response.get("content", {}).values()
                            if part.get("schema")
                        ],
                    }
                    for status, response in operation["responses"].items()
                ],
            }


def _schema(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    required = schema.get("required", [])
    return {
        "name": name,
        "text": schema.get("description", ""),
        "fields": [
            _value(field, part, field in required, None)
            for field, part in schema.get("properties", {}).items()
        ],
        "examples": [json.dumps(one, indent=2, ensure_ascii=False) for one in schema.get("examples", [])],
    }


def _value(name: str, schema: Mapping[str, Any], required: bool, text: str | None) -> dict[str, Any]:
    default = schema.get("default")
    notes = ["required"] if required else [f"default {json.dumps(default)}"] if "default" in schema else []
    return {
        "name": name,
        "type": type_name(schema),
        "notes": ", ".join([*notes, *_limits(schema)]),
        "text": text or schema.get("description", ""),
    }


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
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_REMEDY = "Make one: finrag report. It is there after 'finrag run' as well."


def add_report(app: FastAPI, lake: Lake) -> None:
    """Serve the report of a lake; requests without one are answered with what to do."""
    try:
        folder: Path | None = lake.local_path("report")
    except LakeError:  # the report of a remote lake is made and read elsewhere
        folder = None

    @app.get(PATH, include_in_schema=False)
    async def to_folder() -> RedirectResponse:
        return RedirectResponse(f"{PATH}/")

    app.mount(PATH, ReportFiles(folder), "report")


class ReportFiles(StaticFiles):
    """Files of a folder that may appear, be replaced as a whole, or be gone, at any time.

    Links and paths that lead out of the folder are not followed. Browsers keep files but ask each time
    whether they are still the newest: a new report has the same names.

    Args:
        folder: of the report; None where there can be none.
    """

    def __init__(self, folder: Path | None) -> None:
        super().__init__(directory=folder or os.devnull, html=True, check_dir=False)
        self._folder = folder

    async def check_config(self) -> None:
        """Nothing: whether the folder is there is looked at with every request."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file at ``path``.

        Raises:
            NotFoundError: there is no report, or no such file in it.
        """
        if self._folder is None or not (self._folder / "index.html").is_file():
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
            response.headers["Content-Security-Policy"] = _POLICY
        return response


def _missing(path: str) -> NotFoundError:
    return NotFoundError(
        f"The report has no file '{path}'.", "Begin at /report/, or make it again: finrag report."
    )
