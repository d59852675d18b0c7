"""How the figures came about: definitions, data, folds, models, versions, machine, settings, every step."""

from __future__ import annotations

import hashlib
import os
import platform
import re
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
from finrag_pipeline.reporting.grid import Cell, Grid, Note, make_grid, number, prose, text
from finrag_pipeline.reporting.report_data import ReportData
from finrag_pipeline.reporting.site import TEMPLATES
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import query_tables

_TRAINED = {"page_ranker": "Page ranker", "page_scorer": "Page scorer", "reranker": "Reranker"}


def models_used(store: Lake, settings: Settings) -> list[tuple[str, str, str]]:
    """Role, name and fingerprint: the encoder, trained models of the lake, the language model if one is set.

    The fingerprint of the encoder is over its files, that of a trained model over all that it was made from.
    """
    used, fingerprint = settings.encoder, ""
    with suppress(FinragError, OSError):  # the lake outlives the model's files
        encoder = Encoder(settings.encoder, store)
        used, fingerprint = encoder.running, encoder.fingerprint
    revision = f" at {used.revision}" if used.revision else ""
    found = [("Encoder", f"{used.name}{revision}, {used.precision}", fingerprint)]
    for asset, role in _TRAINED.items():
        for keys in store.partitions(asset):
            if info := store.info(asset, keys):
                found.append((role, keys.get("fold", "").replace("_", " "), info.fingerprint))
    model = settings.language_model
    if model.kind != "none":
        found.append(("Language model", f"{model.name} ({model.kind})", ""))
    return found


_SECONDS = 10


def describe_hardware() -> dict[str, str]:
    """Processor, cores, memory, graphics processor and operating system, in words for people.

    What cannot be read is left out, but for the graphics processor: ``none found`` means that the NVIDIA
    driver's own tool is absent or lists none.
    """
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    processor, memory, graphics = platform.processor() or platform.machine(), "", ""
    with suppress(OSError):
        told = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        if model := re.search(r"^model name\s*:\s*(.+)$", told, re.MULTILINE):
            processor = model[1].strip()
    with suppress(AttributeError, OSError, ValueError):  # no POSIX
        memory = f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1024**3:.1f} GiB"
    with suppress(OSError, subprocess.SubprocessError):
        query = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"]
        done = subprocess.run(query, capture_output=True, text=True, timeout=_SECONDS, check=True)
        graphics = "; ".join(filter(None, map(str.strip, done.stdout.splitlines())))
    found = {
        "processor": processor,
        "cores": f"{cores}" if usable == cores else f"{cores}, of which {usable} may be used",
        "memory": memory,
        "graphics processor": graphics or "none found",
        "operating system": f"{platform.system()} {platform.release()}, {platform.machine()}",
    }
    return {name: text for name, text in found.items() if text}


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
def definitions() -> dict[str, Mapping[str, tuple[str, ...]]]:
    """Term, text and source of what is defined, by group and name."""
    found = tomllib.loads((TEMPLATES / "definitions.toml").read_text("utf-8"))
    return {
        **found,
        "retrieval": metric_definitions(RETRIEVAL_METRICS),
        "answers": metric_definitions(ANSWER_METRICS),
        "judging": {**metric_definitions(AUTOMATIC_METRICS), **found["judging"]},
    }


_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


def method_context(data: ReportData) -> dict[str, Any]:
    """What ``method.html.jinja`` shows; credentials inside URLs of the settings are blanked."""
    models = [(role, name, fingerprint or "–") for role, name, fingerprint in data.models]
    hardware = [(name.capitalize(), told) for name, told in data.hardware.items()]
    settings = [(name, _CREDENTIALS.sub("…@", str(value))) for name, value in _flat(data.settings)]
    versions = sorted(data.versions.items())
    listed = (
        (
            "models",
            "Models and their contents",
            ("Role", "Name", "Fingerprint"),
            models,
            "No model was recorded.",
        ),
        ("versions", "Versions", ("Component", "Version"), versions, "No versions were recorded."),
        ("hardware", "Machine", ("Component", "Found"), hardware, "The machine was not recorded."),
        ("settings", "Settings of the run", ("Setting", "Value"), settings, "No settings were recorded."),
    )
    grids = [
        data_grid(data),
        folds_grid(data.tables["folds"]),
        ledger_grid(data.ledger),
        failures_grid(data.ledger),
    ]
    for name, caption, (*heads, last), rows, empty in listed:
        grids.append(make_grid(name, caption, (*map(text, heads), prose(last)), rows, empty))
    return {
        "data": data,
        "sections": SECTIONS,
        "definitions": definitions(),
        "seed": data.settings.get("seed"),
        "grids": {grid.name: grid for grid in grids},
    }


def data_grid(data: ReportData) -> Grid:
    """Counts of the benchmark with hashes over what they count."""
    filings = data.filings.select(["filing", "sha256", "pages", "source"]).to_pylist()
    status = data.questions["status"].to_pylist()
    labels = data.questions.select(["question_id", "question", "answer", "filing", "gold_pages"]).to_pylist()
    labels.sort(key=lambda row: row["question_id"])
    originals = sorted((row["filing"], row["sha256"]) for row in filings)
    of_originals = Cell(_digest(originals), "SHA-256 of names and hashes of the originals")
    of_labels = Cell(_digest(labels), "SHA-256 of all questions, answers and gold pages")
    rows = [
        ("Filings", len(filings), of_originals),
        ("Filings that could not be read", filing_counts(data.filings)["failed"], ""),
        ("Filings that came as text only", sum(row["source"] == "page_text" for row in filings), ""),
        ("Pages", sum(row["pages"] or 0 for row in filings), ""),
        ("Tables", sum(data.tables["table_counts"]["tables"].to_pylist()), ""),
        ("Facts", data.tables["statement_facts"].num_rows, ""),
        ("Questions measured", status.count("measured"), of_labels),
        ("Questions left out", len(status) - status.count("measured"), ""),
    ]
    return make_grid("data", "Data of the benchmark", (text("What"), number("Count"), prose("Hash")), rows)


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()


def folds_grid(folds: pa.Table) -> Grid:
    """Questions and filings of each fold, from ``schemas.FOLDS``."""
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
    return make_grid("folds", "Folds of the questions", columns, found, empty)


OUTCOMES = ("materialised", "made_again", "cache_hit", "skipped", "failed")


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Settings as dotted names and values."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", "not set" if value is None else value


def ledger_grid(ledger: pa.Table) -> Grid:
    """Latest outcomes, rows and seconds per asset, from ``schemas.LEDGER``."""
    sql = """
        SELECT asset, count(*) AS n, histogram(outcome) AS outcomes, coalesce(sum(rows), 0)::BIGINT AS rows,
            coalesce(sum(seconds), 0) AS seconds
        FROM (SELECT *, row_number() OVER () AS row FROM ledger) GROUP BY asset ORDER BY min(row)
    """
    found = query_tables(sql, ledger=ledger).to_pylist()
    kinds = dict.fromkeys([*OUTCOMES, *sorted(set(ledger["outcome"].to_pylist()))], 0)
    rows = [kinds | dict(one["outcomes"]) | one for one in found]
    columns = (
        text("Asset", of="asset"),
        number("Partitions", of="n"),
        *(number(kind.capitalize().replace("_", " "), of=kind) for kind in kinds),
        number("Rows", of="rows"),
        number("Seconds", of=lambda one: Cell(f"{one['seconds']:,.1f}", sort=one["seconds"])),
    )
    return make_grid("ledger", "Latest outcome of every step", columns, rows, "The ledger is empty.")


def failures_grid(ledger: pa.Table) -> Grid:
    """Steps whose latest outcome is a failure, with reason and remedy, from ``schemas.LEDGER``."""
    columns = (text("Asset"), text("Partition"), text("When (UTC)"), prose("What went wrong"))
    rows = [
        (
            one["asset"],
            one["partition"] or "–",
            f"{one['at']:%Y-%m-%d %H:%M}" if one["at"] else "–",
            Cell(notes=(Note("failure", one["error"] or "No reason was given.", one["remedy"] or ""),)),
        )
        for one in ledger.to_pylist()
        if one["outcome"] == "failed"
    ]
    return make_grid("failures", "Steps that failed", columns, rows, "No step failed.")
