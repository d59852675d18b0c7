"""Intake: how a file becomes a filing of the lake.

Originals are kept under ``filings/<id>/``; a small ``source.json`` beside each names it, its hash and
where it came from. The inbox is a mailbox: files leave it once their original is safely kept.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
import unicodedata
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from finrag_pipeline.errors import FilingError, LakeError
from finrag_pipeline.filings.names import filing_id
from finrag_pipeline.storage.fingerprints import file_sha256
from finrag_pipeline.storage.lake import Lake

SUFFIXES = {".pdf": "pdf", ".jsonl": "page_text"}
SETTLED_SECONDS = 3.0
"""A file in the inbox that changed more recently than this may still be being written."""


@dataclass(frozen=True)
class FilingSource:
    """The original of a filing as the lake keeps it."""

    filing: str
    file_name: str
    source: str
    bytes: int
    sha256: str
    original: str
    document_information: dict[str, Any] | None = None


def is_filing_file(path: Path) -> bool:
    """Whether a file looks like a filing: a visible PDF or page-text JSONL file."""
    return path.is_file() and not path.name.startswith(".") and path.suffix.lower() in SUFFIXES


def filing_files(folder: Path) -> list[Path]:
    """Files of ``folder`` that look like filings, by name."""
    return sorted(path for path in folder.iterdir() if is_filing_file(path)) if folder.is_dir() else []


def accept(
    lake: Lake,
    path: Path,
    document_information: dict[str, Any] | None = None,
    max_bytes: int = 1 << 30,
) -> FilingSource:
    """Keep a copy of a file as the original of its filing; the file itself is left alone.

    A file of the same name with other contents replaces the earlier original, and so does the PDF of a
    filing that was page text before, or the reverse. A file of the same name and contents changes
    nothing. Another file whose name leads to the same identifier (``a.PDF`` beside ``a.pdf``) is refused.

    Args:
        lake: where to keep it.
        path: the file.
        document_information: what a benchmark's document-information file declares about it.
        max_bytes: larger files are refused.

    Raises:
        FilingError: not a PDF or page-text file by its extension, too large, unreadable, still being
            written, or another file than the one that the lake keeps under its identifier.
    """
    name = _readable(path.name)
    source = SUFFIXES.get(path.suffix.lower())
    if source is None:
        raise FilingError(
            f"{name} is neither a PDF nor page text.",
            "Give it the extension .pdf, or .jsonl for page text.",
        )
    size, sha256 = _measure(path, name, max_bytes)
    filing = filing_id(path.name)
    before = find_source(lake, filing)
    if before and before.source == source and _differ(before.file_name, name):
        if before.sha256 != sha256:
            raise FilingError(
                f"{name} is another file than {before.file_name}, which the lake keeps as filing '{filing}'.",
                f"Rename it; to replace that filing, name it {before.file_name}.",
            )
        name = before.file_name
    original = f"{filing}.{sha256[:8]}{path.suffix.lower()}"
    entry = FilingSource(
        filing,
        name,
        source,
        size,
        sha256,
        original,
        document_information or (before.document_information if before else None),
    )
    kept = lake.path("filings", filing, original)
    if entry == before and lake.fs.exists(kept):
        return entry
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise FilingError(f"{name} changed while it was read.", "Try again when it is completely written.")
    lake.write_bytes(kept, data)
    lake.write_json(lake.path("filings", filing, "source.json"), asdict(entry))
    if before and before.original != original:
        stale = lake.path("filings", filing, before.original)
        if lake.fs.exists(stale):
            lake.fs.rm(stale)
    return entry


def _measure(path: Path, name: str, max_bytes: int) -> tuple[int, str]:
    """Size and SHA-256 of a file that may become a filing."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise FilingError(f"{name} is not a file.", "Pass the files themselves, not their folder.")
        if status.st_size > max_bytes:
            raise FilingError(
                f"{name} has {status.st_size:,} bytes; the limit is {max_bytes:,}.",
                "Raise FINRAG_MAX_FILING_BYTES, or split it.",
            )
        return status.st_size, file_sha256(path)
    except OSError as error:
        raise FilingError(
            f"{name} cannot be read: {error.strerror}.", "Check that it exists and is readable."
        ) from error


def _readable(name: str) -> str:
    """A file name as text that can be stored and printed; bytes that are not UTF-8 are replaced."""
    return os.fsencode(name).decode("utf-8", "replace")


def _differ(name: str, other: str) -> bool:
    # File systems may keep accents apart from their letters; that does not make another name.
    return unicodedata.normalize("NFC", name) != unicodedata.normalize("NFC", other)


def find_source(lake: Lake, filing: str) -> FilingSource | None:
    """The kept original of a filing, or None."""
    entry = lake.read_json(lake.path("filings", filing, "source.json"))
    try:
        return FilingSource(**entry) if isinstance(entry, dict) else None
    except TypeError:  # written by a version with other fields: the file has to be ingested again
        return None


def get_source(lake: Lake, filing: str) -> FilingSource:
    """The kept original of a filing.

    Raises:
        LakeError: there is none.
    """
    source = find_source(lake, filing)
    if source is None:
        raise LakeError(f"The lake holds no original of '{filing}'.", "Ingest its file: finrag ingest FILE.")
    return source


def sources(lake: Lake) -> dict[str, FilingSource]:
    """Every kept original, by filing."""
    base = lake.path("filings")
    if not lake.fs.exists(base):
        return {}
    found = {}
    for folder in sorted(lake.fs.ls(base, detail=False)):
        source = find_source(lake, folder.rstrip("/").rsplit("/", 1)[-1])
        if source is not None:
            found[source.filing] = source
    return found


def original_path(lake: Lake, source: FilingSource) -> str:
    """Path of the kept original in the lake."""
    return lake.path("filings", source.filing, source.original)


def settled_inbox_files(lake: Lake, settled: float = SETTLED_SECONDS) -> Iterator[tuple[str, Path]]:
    """Filing identifier and path of each file in the inbox that is no longer being written.

    Of several files with one identifier only the first is given; the others' turn comes when it has left
    the inbox. Page text comes before a PDF, so that the PDF is kept in the end.
    """
    if not lake.is_local:
        return
    now = time.time()
    seen: set[str] = set()
    for path in sorted(
        filing_files(lake.local_path("inbox")), key=lambda path: path.suffix.lower() == ".pdf"
    ):
        try:
            # A clock that runs ahead elsewhere may have dated the file in the future.
            is_settled = abs(now - path.stat().st_mtime) >= settled
        except FileNotFoundError:
            continue
        filing = filing_id(path.name)
        if is_settled and filing not in seen:
            seen.add(filing)
            yield filing, path


def collect_from_inbox(lake: Lake, filing: str, max_bytes: int = 1 << 30) -> FilingSource | None:
    """Keep the inbox's file of ``filing``, then take it out of the inbox; None when there is none.

    Raises:
        FilingError: the file is refused; it stays in the inbox.
    """
    for found, path in settled_inbox_files(lake):
        if found == filing:
            source = accept(lake, path, max_bytes=max_bytes)
            path.unlink(missing_ok=True)
            return source
    return None
