"""A lake of small filings with questions on their pages, for training in a test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from finrag_pipeline.schemas import FILING_PAGES, FILINGS, PAGE_PROFILES
from finrag_pipeline.storage.lake import Lake

TOPICS = ("revenue", "tax", "debt", "goodwill", "dividend", "inventory", "segment", "margin")
_OTHER = ("the", "of", "company", "year", "million", "total", "net", "and")


def page_text(topic: str, seed: int) -> str:
    """A page that says its topic again and again."""
    random = np.random.default_rng(seed)
    words = [*random.choice(_OTHER, size=8), *[topic] * 6]
    return " ".join(random.permutation(words)) + f" x{seed}"


def write_filing(
    lake: Lake,
    filing: str,
    texts: Sequence[str],
    company: str = "",
    year: int = 2020,
    statements: dict[int, str] | None = None,
) -> None:
    """A filing of these pages; ``statements`` names the statement of some of them."""
    keys = {"filing": filing}
    _write(lake, "filings", FILINGS, keys, [{**keys, "company": company or filing, "fiscal_year": year}])
    rows = [{**keys, "page": n, "text": text} for n, text in enumerate(texts)]
    _write(lake, "filing_pages", FILING_PAGES, keys, rows)
    shown = statements or {}
    profiles = [
        {
            **keys,
            "page": n,
            "statements": [{"statement": shown[n], "scope": "consolidated", "facts": 9}]
            if n in shown
            else [],
        }
        for n in range(len(texts))
    ]
    _write(lake, "page_profiles", PAGE_PROFILES, keys, profiles)


def _write(
    lake: Lake, name: str, schema: pa.Schema, keys: dict[str, str], rows: list[dict[str, Any]]
) -> None:
    filled = [{field.name: row.get(field.name, _empty(field)) for field in schema} for row in rows]
    table = pa.Table.from_pylist(filled, schema)
    lake.write(name, table, f"{name} {keys} {hash(str(rows))}", keys)


def _empty(field: pa.Field) -> Any:
    if field.nullable:
        return None
    kind = field.type
    return (
        []
        if pa.types.is_list(kind)
        else ""
        if pa.types.is_string(kind)
        else False
        if kind == pa.bool_()
        else 0
    )


def question(number: int, filing: str, pages: Sequence[int], text: str, **changes: Any) -> dict[str, Any]:
    """A row as in ``benchmark_questions``, as far as training reads it."""
    row = {
        "question_id": f"q{number:02d}",
        "question": text,
        "filing": filing,
        "company": filing.split("_")[0],
        "gold_pages": list(pages),
        "evidence": [],
    }
    return {**row, **changes}


def write_corpus(lake: Lake, filings: int = 8) -> tuple[list[str], list[dict[str, Any]]]:
    """Filings of one page per topic, two companies with two years each, and two questions on each filing."""
    names: list[str] = []
    questions: list[dict[str, Any]] = []
    for number in range(filings):
        name = f"C{number // 2}_{2020 + number % 2}"
        texts = [page_text(topic, 100 * number + place) for place, topic in enumerate(TOPICS)]
        write_filing(
            lake, name, texts, f"Company {number // 2}", 2020 + number % 2, {0: "income", 2: "balance"}
        )
        names.append(name)
        for place in (number % 8, (3 * number + 1) % 8):
            if any(row["filing"] == name and place in row["gold_pages"] for row in questions):
                place = (place + 1) % 8
            text = f"What was the {TOPICS[place]} of number {number} and {place}?"
            questions.append(question(len(questions), name, [place], text))
    return names, questions
