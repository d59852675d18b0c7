"""Intake: how a file becomes a filing of the lake.

Originals are kept under ``filings/<id>/``; a small ``source.json`` beside each names it, its hash and
where it came from. The inbox is a mailbox: files leave it once they are whole and their original is safely
kept. A file takes the place of another one only when it can be read, and the earlier original stays until
the pages of the new one are in the lake.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import signal
import stat
import time
import unicodedata
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from finrag_pipeline.engine import Engine
from finrag_pipeline.errors import FilingError, LakeError, refused
from finrag_pipeline.filings.names import filing_id
from finrag_pipeline.filings.originals import (
    ALIAS,
    SUFFIXES,
    FilingSource,
    file_kind,
    filing_files,
    find_source,
    is_sound,
    original_path,
    preference,
)
from finrag_pipeline.settings import get_settings
from finrag_pipeline.storage.fingerprints import file_sha256
from finrag_pipeline.storage.lake import Lake

SETTLED_SECONDS = 3.0
"""A file in the inbox that changed more recently than this may still be being written."""
STALLED_SECONDS = 60.0
"""A file in the inbox without its end is looked at all the same when it has not grown for so long."""
_END = 2048
"""Bytes at the end of a file among which its end mark stands."""
_END_MARKS = {
    "pdf": re.compile(rb"%%EOF"),
    "html": re.compile(rb"</(?:html|text|(?:sec-)?document)>", re.IGNORECASE),
    "text": re.compile(rb"\n\Z|</(?:text|(?:sec-)?document)>", re.IGNORECASE),
}


def accept(
    lake: Lake,
    path: Path,
    document_information: dict[str, Any] | None = None,
    max_bytes: int = 1 << 30,
    engine: Engine | None = None,
    must_read: bool = False,
    alias: bool = True,
) -> FilingSource:
    """Keep a copy of a file as the original of its filing; the file itself is left alone.

    A file that the lake has already under another name is no second filing: that name becomes an ``alias`` of
    the first, whose source is returned, unless each name is to be a filing of its own.

    A file of the same name with other contents is a new version, and so is a file of another kind, such as
    the PDF of a filing that was page text before. It takes the place of the earlier one only when it can be
    read; one that cannot is refused, which the ledger notes, and the filing stays what it was. A file of the
    same name and contents changes nothing. Another file whose name leads to the same identifier (``a.PDF``
    beside ``a.pdf``) is refused.

    ``document_information`` is what a benchmark's document-information file declares about it. ``engine``
    reads a new version; a process of its own when None. With ``must_read`` a file that cannot be read is
    refused even where it replaces nothing.

    Raises:
        FilingError: of no known kind by its extension, too large, unreadable, still being
            written, a worse version of a filing, or another file than the one that the lake keeps under its
            identifier.
        LakeError: the copy does not hold what the file holds.
    """
    name = _readable(path.name)
    if path.suffix.lower() not in SUFFIXES:
        raise FilingError(
            f"{name} is no filing by its name.",
            "Give it the extension .htm, .pdf or .txt, or .jsonl for page text.",
        )
    size, sha256 = _measure(path, name, max_bytes)
    source = file_kind(path)
    filing = filing_id(path.name)
    before = find_source(lake, filing)
    known = lake.path("filings", ".by-sha256", f"{sha256}.json")
    first = (lake.read_json(known) or {}).get("filing", filing)
    same = find_source(lake, first)
    if alias and before is None and first != filing and same and same.sha256 == sha256:
        lake.write_json(lake.path("filings", filing, ALIAS), {"filing": first, "file_name": name})
        return same
    # File systems may keep accents apart from their letters; that does not make another name.
    names = {unicodedata.normalize("NFC", one) for one in (name, before.file_name if before else name)}
    if before and before.source == source and len(names) > 1:
        if before.sha256 != sha256:
            raise FilingError(
                f"{name} is another file than {before.file_name}, which the lake keeps as filing '{filing}'.",
                f"Rename it; to replace that filing, name it {before.file_name}.",
            )
        name = before.file_name
    original = f"{filing}.{sha256[:8]}{path.suffix.lower()}"
    information = document_information or (before.document_information if before else None)
    entry = FilingSource(filing, name, source, size, sha256, original, information)
    kept = original_path(lake, entry)
    unknown = same is None or same.sha256 != sha256
    if entry == before and is_sound(lake, entry):
        if unknown:
            lake.write_json(known, {"filing": filing})
        return entry
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise FilingError(f"{name} changed while it was read.", "Try again when it is completely written.")
    lake.write_bytes(kept, data)
    if hashlib.sha256(lake.read_bytes(kept) or b"").hexdigest() != sha256:
        raise LakeError(
            f"The copy {kept} differs from {name}.", "Check the disk of the lake, then try again."
        )
    is_new_version = before is not None and before.original != original
    if must_read or is_new_version:
        try:
            _prove_readable(lake, entry, engine)
        except FilingError as error:
            lake.fs.rm(kept)
            stays = " It is not taken; the version that the lake holds stays." if is_new_version else ""
            lake.record("filings", filing, "failed", error=error.reason + stays, remedy=error.remedy)
            raise FilingError(error.reason + stays, error.remedy) from error
    lake.write_json(lake.path("filings", filing, "source.json"), asdict(entry))
    if unknown:
        lake.write_json(known, {"filing": filing})
    with suppress(FileNotFoundError):
        lake.fs.rm_file(lake.path("filings", filing, ALIAS))
    return entry


def _prove_readable(lake: Lake, source: FilingSource, engine: Engine | None) -> None:
    """Read the cover and every page of an original, as ingestion will; pages may be missing from none.

    Raises:
        FilingError: it cannot be read, is truncated, or none of its pages has usable text.
    """
    from finrag_pipeline.filings.describe import describe_in_worker
    from finrag_pipeline.filings.pages import extract_pages
    from finrag_pipeline.filings.pdf import PdfInfo, inspect_pdf, truncated

    settings = get_settings()
    # An engine starts nothing until it is used.
    with (
        closing(Engine(1, settings.page_timeout, settings.worker_memory)) as own,
        lake.local_copy(original_path(lake, source)) as path,
    ):
        (row,) = describe_in_worker(path, source, engine or own).to_pylist()
        if row["status"] == "failed":
            raise FilingError(row["reason"], row["remedy"])
        if source.source == "pdf":
            (info,) = (engine or own).map(inspect_pdf, [(path,)])
            if isinstance(info, PdfInfo) and info.truncated:
                raise truncated(source.file_name)
        try:
            extract_pages(path, source.filing, source.source, engine or own)
        except FilingError as error:
            reason = error.reason.replace(source.original, source.file_name)
            raise FilingError(reason, error.remedy) from error


def _measure(path: Path, name: str, max_bytes: int) -> tuple[int, str]:
    """Size and SHA-256 of a file that may become a filing."""
    with refused(FilingError, f"{name} cannot be read", "Check that it exists and is readable."):
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise FilingError(f"{name} is not a file.", "Pass the files themselves, not their folder.")
        if status.st_size > max_bytes:
            raise FilingError(
                f"{name} has {status.st_size:,} bytes; the limit is {max_bytes:,}.",
                "Raise FINRAG_MAX_FILING_BYTES, or split it.",
            )
        return status.st_size, file_sha256(path)


def _readable(name: str) -> str:
    """A file name as text that can be stored and printed; bytes that are not UTF-8 are replaced."""
    return os.fsencode(name).decode("utf-8", "replace")


def settled_inbox_files(lake: Lake) -> Iterator[tuple[str, Path]]:
    """Filing identifier and path of each file in the inbox that is whole and no longer being written.

    One without its end is given when it has been quiet for `STALLED_SECONDS`, so that people learn what is
    wrong with it. Of several files with one identifier only the first is given; the others' turn comes when
    it has left the inbox. Of several kinds the one that is to be kept in the end comes last.
    """
    now = time.time()
    seen: set[str] = set()
    files = filing_files(lake.local_path("inbox"))
    for path in sorted(files, key=lambda path: -preference(path)[0]):
        filing = filing_id(path.name)
        try:
            # A clock that runs ahead elsewhere may have dated the file in the future.
            quiet = abs(now - path.stat().st_mtime)
            if filing in seen or quiet < SETTLED_SECONDS or _has_writer(path):
                continue
            if quiet < STALLED_SECONDS and not is_whole(path):
                continue
        except FileNotFoundError:
            continue
        except PermissionError:
            pass  # whoever takes it says so
        seen.add(filing)
        yield filing, path


def file_state(path: Path) -> str:
    """Size and times of a file; another one when it was written or replaced.

    A copy may keep the modification time of its original, but none keeps the time of its inode.

    Raises:
        FileNotFoundError: it is gone.
    """
    stat = path.stat()
    return f"{stat.st_size}:{stat.st_mtime_ns}:{stat.st_ctime_ns}"


def is_whole(path: Path) -> bool:
    """Whether a file ends as its format does: with its end mark, page text with a complete line."""
    with path.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        if mark := _END_MARKS.get(SUFFIXES[path.suffix.lower()]):
            stream.seek(max(0, size - _END))
            return bool(mark.search(stream.read()))
        stream.seek(0)
        last = b""
        for line in stream:
            last = line if line.strip() else last
    try:
        return isinstance(json.loads(last), dict)
    except ValueError:
        return False


def _has_writer(path: Path) -> bool:
    """Whether some process has the file open for writing, where the system can tell (Linux, local disks).

    A read lease is granted on a file that nobody has open for writing (fcntl(2), F_SETLEASE).
    """
    try:
        from fcntl import F_RDLCK, F_SETLEASE, F_SETSIG, F_UNLCK, fcntl
    except ImportError:
        return False
    with path.open("rb") as stream:
        try:
            # Whoever opens it meanwhile for writing waits, and the kernel tells us by a signal: by one that
            # does nothing, since the usual one would end this process.
            fcntl(stream, F_SETSIG, signal.SIGURG)
            fcntl(stream, F_SETLEASE, F_RDLCK)
        except OSError as error:
            return error.errno == errno.EAGAIN
        fcntl(stream, F_SETLEASE, F_UNLCK)
    return False


def collect_from_inbox(
    lake: Lake, filing: str, max_bytes: int = 1 << 30, engine: Engine | None = None
) -> FilingSource | None:
    """Keep the inbox's file of ``filing``, then take it out of the inbox; None when there is none.

    A file that has changed since stays, as the next version.

    Raises:
        FilingError: the file is refused; it stays in the inbox.
        LakeError: it could not be kept; it stays in the inbox.
    """
    for found, path in settled_inbox_files(lake):
        if found == filing:
            what = f"{_readable(path.name)} cannot be read"
            with refused(FilingError, what, "Check that it is readable."):
                state, whole = file_state(path), is_whole(path)
            source = accept(lake, path, None, max_bytes, engine, must_read=not whole)
            with suppress(FileNotFoundError):
                if not _has_writer(path) and file_state(path) == state:
                    path.unlink()
            return source
    return None
