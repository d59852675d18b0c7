"""The OpenAPI description as a page that loads nothing: FastAPI's own pages need scripts from the network."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

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
