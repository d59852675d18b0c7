"""How the figures came about: definitions, data, folds, models, versions, machine, settings, every step."""

from __future__ import annotations

import hashlib
import tomllib
from functools import cache
from typing import Any

import pyarrow as pa

from finrag_pipeline.evaluation.answer_metrics import ANSWER_METRICS
from finrag_pipeline.reporting.grid import Cell, Grid, make_grid, number, prose, text
from finrag_pipeline.reporting.inventory import (
    failures_grid,
    filing_counts,
    ledger_grid,
    settings_grid,
)
from finrag_pipeline.reporting.report_data import ReportData
from finrag_pipeline.reporting.site import TEMPLATES

SECTIONS = {
    "reproduce": "Make it again",
    "metrics": "Metrics",
    "intervals": "Intervals and tests",
    "data": "Data",
    "folds": "Folds and seeds",
    "models": "Models",
    "software": "Software and machine",
    "settings": "Settings",
    "pipeline": "Pipeline",
}
"""Sections of the page with their titles, in order."""


@cache
def definitions() -> dict[str, dict[str, tuple[str, ...]]]:
    """Term, text and source of what is defined, by group and name."""
    found = tomllib.loads((TEMPLATES / "definitions.toml").read_text("utf-8"))
    return {**found, "answers": {one.name: (one.term, one.text, one.source) for one in ANSWER_METRICS}}


def method_context(data: ReportData) -> dict[str, Any]:
    """What ``method.html.jinja`` shows."""
    return {
        "data": data,
        "sections": SECTIONS,
        "definitions": definitions(),
        "confidence": data.confidence_text,
        "seed": data.settings.get("seed"),
        "data_grid": data_grid(data),
        "folds_grid": folds_grid(data.table("folds")),
        "models_grid": models_grid(data),
        "versions_grid": versions_grid(data),
        "hardware_grid": hardware_grid(data),
        "settings_grid": settings_grid(data.settings),
        "ledger_grid": ledger_grid(data.ledger),
        "failures_grid": failures_grid(data.ledger),
    }


def data_grid(data: ReportData) -> Grid:
    """Counts of the benchmark with hashes over what they count."""
    filings = data.filings.select(["filing", "sha256", "pages", "source"]).to_pylist()
    counts = filing_counts(data.filings)
    status = data.questions["status"].to_pylist()
    labels = data.questions.select(["question_id", "question", "answer", "filing", "gold_pages"]).to_pylist()
    labels.sort(key=lambda row: row["question_id"])
    originals = sorted((row["filing"], row["sha256"]) for row in filings)
    facts, tables = data.table("statement_facts"), data.table("table_counts")
    rows = [
        ("Filings", len(filings), Cell(_digest(originals), "SHA-256 of names and hashes of the originals")),
        ("Filings that could not be read", counts["failed"], ""),
        ("Filings that came as text only", sum(row["source"] == "page_text" for row in filings), ""),
        ("Pages", sum(row["pages"] or 0 for row in filings), ""),
        ("Tables", sum(tables["tables"].to_pylist()) if tables is not None else 0, ""),
        ("Facts", facts.num_rows if facts is not None else 0, ""),
        (
            "Questions measured",
            status.count("measured"),
            Cell(_digest(labels), "SHA-256 of all questions, answers and gold pages"),
        ),
        ("Questions left out", len(status) - status.count("measured"), ""),
    ]
    return make_grid("data", "Data of the benchmark", (text("What"), number("Count"), prose("Hash")), rows)


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()


def folds_grid(folds: pa.Table | None) -> Grid:
    """Questions and filings of each fold.

    Args:
        folds: as ``schemas.FOLDS``; None for none.
    """
    rows = []
    if folds is not None:
        sums = [("question_id", "count_distinct"), ("filing", "count_distinct")]
        counted = folds.group_by("fold").aggregate(sums).sort_by("fold").to_pylist()
        rows = [
            (
                Cell(f"Fold {row['fold']}", sort=float(row["fold"])),
                row["question_id_count_distinct"],
                row["filing_count_distinct"],
            )
            for row in counted
        ]
    columns = (text("Fold"), number("Questions"), number("Filings"))
    empty = "The questions were not dealt into folds; 'finrag run' does it."
    return make_grid("folds", "Folds of the questions", columns, rows, empty)


def models_grid(data: ReportData) -> Grid:
    """Models with their fingerprints."""
    rows = [(model.role, model.name, model.fingerprint or "–") for model in data.models]
    columns = (text("Role"), text("Name"), prose("Fingerprint"))
    return make_grid("models", "Models", columns, rows, "No model was recorded.")


def versions_grid(data: ReportData) -> Grid:
    """Versions of the software and models a run was made with."""
    columns = (text("Component"), prose("Version"))
    rows = sorted(data.versions.items())
    return make_grid("versions", "Versions", columns, rows, "No versions were recorded.")


def hardware_grid(data: ReportData) -> Grid:
    """The machine that wrote the report."""
    rows = [(name.capitalize(), text) for name, text in data.hardware.items()]
    columns = (text("Component"), prose("Found"))
    return make_grid("hardware", "Machine", columns, rows, "The machine was not recorded.")
