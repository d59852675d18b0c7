"""How the figures came about: definitions, data, folds, models, versions, machine, settings, every step."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.errors import FinragError
from finrag_pipeline.evaluation.answer_metrics import ANSWER_METRICS
from finrag_pipeline.evaluation.judged_answers import AUTOMATIC_METRICS
from finrag_pipeline.evaluation.metrics import definitions as metric_definitions
from finrag_pipeline.evaluation.retrieval_metrics import RETRIEVAL_METRICS
from finrag_pipeline.reporting.filing_pages import filing_counts
from finrag_pipeline.reporting.grid import Cell, Grid, Note, make_grid, number, prose, record_grid, text
from finrag_pipeline.reporting.report_data import ModelUsed, ReportData
from finrag_pipeline.reporting.site import TEMPLATES
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import query_tables

_TRAINED = {"page_ranker": "Page ranker", "page_scorer": "Page scorer", "reranker": "Reranker"}


def models_used(store: Lake, settings: Settings) -> tuple[ModelUsed, ...]:
    """The encoder, the trained models of the lake, and the language model where one is set.

    The fingerprint of the encoder is over its files, that of a trained model over all that it was made from.
    """
    return (_encoder(store, settings), *_trained(store), *_language_model(settings))


def _encoder(store: Lake, settings: Settings) -> ModelUsed:
    used = settings.encoder
    found = ""
    with suppress(FinragError, OSError):  # the lake outlives the model's files
        encoder = Encoder(settings.encoder, store)
        used, found = encoder.running, encoder.fingerprint
    revision = f" at {used.revision}" if used.revision else ""
    return ModelUsed("Encoder", f"{used.name}{revision}, {used.precision}", found)


def _trained(store: Lake) -> Iterator[ModelUsed]:
    for asset, name in _TRAINED.items():
        for keys in store.partitions(asset):
            info = store.info(asset, keys)
            if info is not None:
                yield ModelUsed(name, keys.get("fold", "").replace("_", " "), info.fingerprint)


def _language_model(settings: Settings) -> Iterator[ModelUsed]:
    model = settings.language_model
    if model.kind != "none":
        yield ModelUsed("Language model", f"{model.name} ({model.kind})", "")


_SECONDS = 10


def describe_hardware() -> dict[str, str]:
    """Processor, cores, memory, graphics processor and operating system, in words for people.

    What cannot be read is left out, but for the graphics processor: ``none found`` means that the NVIDIA
    driver's own tool is absent or lists none.
    """
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    found = {
        "processor": _processor(),
        "cores": f"{cores}" if usable == cores else f"{cores}, of which {usable} may be used",
        "memory": _memory(),
        "graphics processor": _graphics() or "none found",
        "operating system": f"{platform.system()} {platform.release()}, {platform.machine()}",
    }
    return {name: text for name, text in found.items() if text}


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor()
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return model[1].strip() if model else platform.processor() or platform.machine()


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # no POSIX
        return ""
    return f"{size / 1024**3:.1f} GiB" if size > 0 else ""


def _graphics() -> str:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ""
    query = [tool, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return "; ".join(line.strip() for line in done.stdout.splitlines() if line.strip())


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
    return {
        **found,
        "retrieval": metric_definitions(RETRIEVAL_METRICS),
        "answers": metric_definitions(ANSWER_METRICS),
        "judging": {**metric_definitions(AUTOMATIC_METRICS), **found["judging"]},
    }


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
        ("Tables", sum(tables["tables"].to_pylist()), ""),
        ("Facts", facts.num_rows, ""),
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


def folds_grid(folds: pa.Table) -> Grid:
    """Questions and filings of each fold.

    Args:
        folds: as ``schemas.FOLDS``.
    """
    sql = """
        SELECT fold, count(DISTINCT question_id) AS questions, count(DISTINCT filing) AS filings
        FROM folds GROUP BY fold ORDER BY fold
    """
    found = query_tables(sql, folds=folds).to_pylist()
    columns = (
        text("Fold", of=lambda one: Cell(f"Fold {one['fold']}", sort=float(one["fold"]))),
        number("Questions", of="questions"),
        number("Filings", of="filings"),
    )
    empty = "The questions were not dealt into folds; 'finrag run' does it."
    return record_grid("folds", "Folds of the questions", columns, found, empty)


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


OUTCOMES = ("materialised", "cache_hit", "skipped", "failed")
_OUTCOME_NAMES = {"cache_hit": "Cache hit"}
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


def settings_grid(settings: Mapping[str, Any]) -> Grid:
    """Settings as dotted names and values; credentials inside URLs are blanked."""
    rows = [(name, _CREDENTIALS.sub("…@", str(value))) for name, value in _flat(settings)]
    columns = (text("Setting"), prose("Value"))
    return make_grid("settings", "Settings of the run", columns, rows, "No settings were recorded.")


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", "not set" if value is None else value


def ledger_grid(ledger: pa.Table) -> Grid:
    """Latest outcomes, rows and seconds per asset.

    Args:
        ledger: table as ``schemas.LEDGER``.
    """
    sql = """
        SELECT asset, count(*) AS n, histogram(outcome) AS outcomes, coalesce(sum(rows), 0)::BIGINT AS rows,
            coalesce(sum(seconds), 0) AS seconds
        FROM (SELECT *, row_number() OVER () AS row FROM ledger) GROUP BY asset ORDER BY min(row)
    """
    found = query_tables(sql, ledger=ledger).to_pylist()
    kinds = dict.fromkeys([*OUTCOMES, *sorted({kind for one in found for kind, _ in one["outcomes"]})])
    columns = (
        text("Asset", of="asset"),
        number("Partitions", of="n"),
        *(
            number(
                _OUTCOME_NAMES.get(kind, kind.capitalize()),
                of=lambda one, kind=kind: dict(one["outcomes"]).get(kind, 0),
            )
            for kind in kinds
        ),
        number("Rows", of="rows"),
        number("Seconds", of=lambda one: Cell(f"{one['seconds']:,.1f}", sort=one["seconds"])),
    )
    return record_grid("ledger", "Latest outcome of every step", columns, found, "The ledger is empty.")


def failures_grid(ledger: pa.Table) -> Grid:
    """Steps whose latest outcome is a failure, with reason and remedy.

    Args:
        ledger: table as ``schemas.LEDGER``.
    """

    def told(one: Mapping[str, Any]) -> Cell:
        return Cell(notes=(Note("failure", one["error"] or "No reason was given.", one["remedy"] or ""),))

    columns = (
        text("Asset", of="asset"),
        text("Partition", of=lambda one: one["partition"] or "–"),
        text("When (UTC)", of=lambda one: f"{one['at']:%Y-%m-%d %H:%M}" if one["at"] else "–"),
        prose("What went wrong", of=told),
    )
    failed = [one for one in ledger.to_pylist() if one["outcome"] == "failed"]
    return record_grid("failures", "Steps that failed", columns, failed, "No step failed.")
