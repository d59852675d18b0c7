"""``finrag fetch financebench``: download the public benchmark into the lake."""

from __future__ import annotations

import contextlib
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.evaluation.questions import FieldError, read_objects, string
from finrag_pipeline.filings.names import filing_id
from finrag_pipeline.storage.lake import Lake

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

    Args:
        lake: downloads go to ``sources/financebench`` in it.
        progress: told name, done and total.
        base: where the benchmark is published.

    Returns:
        The folder, and the reason per filing that could not be had.

    Raises:
        BenchmarkError: the question files cannot be had, or name no filing.
    """
    folder = lake.local_path("sources", "financebench")
    for name in FILES:
        if not (folder / name).is_file():
            try:
                _download(f"{base}/data/{name}", folder / name)
            except (OSError, HTTPException) as error:
                raise BenchmarkError(f"{name} cannot be downloaded: {error}.", _REMEDY) from error
    names = _filings_asked_about(folder / FILES[0])
    failures = {}
    for number, name in enumerate(names):
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


def _filings_asked_about(questions: Path) -> list[str]:
    """Names of the filings that the questions are about; lines that cannot be read are left out."""
    names = set()
    for _, question in read_objects(questions)[0]:
        with contextlib.suppress(FieldError):
            names.add(string(question, "doc_name"))
    if not names:
        raise BenchmarkError(f"{questions} names no filing.", f"Delete it and fetch again. {_REMEDY}")
    return sorted(names)


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
