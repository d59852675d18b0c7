"""Writes the sample corpus: filings of three fictitious companies and a benchmark in FinanceBench's format.

The result has the layout of a benchmark folder::

    pdfs/<FILING>.pdf
    page_text/<FILING>.jsonl      a filing as text of its pages: {"doc", "page", "text"} per line
    questions.jsonl               FinanceBench's fields; pages are zero-based
    document_information.jsonl
    VERSION                       written last; equal to SAMPLE_VERSION

The same version always gives the same bytes.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
import tomllib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.sample.company import COMPANIES, Company, load_company
from finrag_pipeline.sample.content import Document

SAMPLE_VERSION = "2"

_QUESTIONS, _INFORMATION, _VERSION = "questions.jsonl", "document_information.jsonl", "VERSION"
_FOLDERS = ("pdfs", "page_text")

_in_use: set[Path] = set()  # temporary folders that calls in this process are writing
_lock = threading.Lock()


@dataclass(frozen=True)
class Entry:
    """A filing of the sample.

    Args:
        name: its name.
        of: file of its company.
        kind: as the document information names it.
        period: its fiscal year.
        template: what it says.
        title: title in the PDF's metadata.
        cover: it begins with a cover page, which has no number.
        as_text: it is there only as text of its pages.
    """

    name: str
    of: str
    kind: str
    period: int
    template: str
    title: str
    cover: bool = True
    as_text: bool = False

    @property
    def company(self) -> Company:
        """Whose filing it is."""
        return load_company(self.of)

    @property
    def path(self) -> str:
        """Where the filing stands in the sample, relative to its root."""
        return f"page_text/{self.name}.jsonl" if self.as_text else f"pdfs/{self.name}.pdf"

    def build(self) -> Document:
        """The filing before typesetting."""
        # A caller that finds the sample complete needs no templates.
        from finrag_pipeline.sample.templates import write_blocks

        blocks = write_blocks(f"{self.template}.jinja", self.company, self.period)
        numbering = "cover" if self.cover else "body"
        return Document(self.name, self.title, blocks, self.company.theme, numbering)


@cache
def entries() -> tuple[Entry, ...]:
    """The filings of the sample."""
    text = (files("finrag_pipeline.sample") / "filings.toml").read_text(encoding="utf-8")
    return tuple(Entry(**row) for row in tomllib.loads(text)["filings"])


def write_sample(directory: Path) -> Path:
    """Write the sample to ``directory`` and return it; at once where it is already complete.

    It is written to a temporary folder beside ``directory`` and renamed, so that a reader sees all of it or
    nothing. What an interrupted call has left, or another version, is replaced.

    Raises:
        BenchmarkError: ``directory`` holds something other than a sample.
    """
    directory = Path(directory)
    if _complete(directory):
        return directory
    _refuse_foreign(directory)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with _lock:
        _remove_leftovers(directory)
        partial = Path(tempfile.mkdtemp(prefix=f".{directory.name}.{os.getpid()}.", dir=directory.parent))
        _in_use.add(partial)
    try:
        partial.chmod(0o755)
        _write(partial)
        _publish(partial, directory)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        _in_use.discard(partial)
    return directory


def _complete(directory: Path) -> bool:
    try:
        version = (directory / _VERSION).read_text(encoding="utf-8").strip()
    except OSError:
        return False
    names = [_QUESTIONS, _INFORMATION, *(entry.path for entry in entries())]
    return version == SAMPLE_VERSION and all((directory / name).is_file() for name in names)


def _refuse_foreign(directory: Path) -> None:
    """Refuse to replace a folder that is not a sample, which a mistyped path would otherwise delete."""
    if not directory.exists():
        return
    known = {*_FOLDERS, _QUESTIONS, _INFORMATION, _VERSION}
    keys = tuple(f"{load_company(name).key}_" for name in COMPANIES)
    foreign = (
        [directory] if not directory.is_dir() else [p for p in directory.iterdir() if p.name not in known]
    )
    for folder in _FOLDERS:
        if (directory / folder).is_dir():
            foreign += [p for p in (directory / folder).iterdir() if not p.name.startswith(keys)]
    if foreign:
        raise BenchmarkError(
            f"'{directory}' holds '{foreign[0].name}', which is not part of the sample.",
            "Choose a new or empty folder for the sample, or move the file away.",
        )


def _remove_leftovers(directory: Path) -> None:
    """Remove temporary folders of calls that were killed; those of living processes are left alone."""
    for leftover in directory.parent.glob(f".{directory.name}.*.*"):
        process = leftover.name.removeprefix(f".{directory.name}.").split(".")[0]
        if not process.isdigit():
            continue
        # Process numbers come again, in containers above all: our own number may be a dead process's.
        used = leftover in _in_use if int(process) == os.getpid() else _alive(int(process))
        if not used:
            shutil.rmtree(leftover, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _write(root: Path) -> None:
    from finrag_pipeline.sample.questions import read_questions
    from finrag_pipeline.sample.readback import ReadBack, read_back
    from finrag_pipeline.sample.typesetting import typeset

    for folder in _FOLDERS:
        (root / folder).mkdir()
    read: dict[str, ReadBack] = {}
    for entry in entries():
        document = typeset(entry.build())
        path = root / f"pdfs/{entry.name}.pdf"
        path.write_bytes(document.pdf)
        read[entry.name] = filing = read_back(path, entry.name, document.places)
        if entry.as_text:
            path.unlink()
            rows = [{"doc": entry.name, "page": i, "text": text} for i, text in enumerate(filing.pages)]
            _write_lines(root / entry.path, rows)
    asked = [(one, company) for company in map(load_company, COMPANIES) for one in read_questions(company)]
    records = (one.record(i, company, read[one.filing]) for i, (one, company) in enumerate(asked, 1))
    _write_lines(root / _QUESTIONS, records)
    _write_lines(root / _INFORMATION, (_information(entry) for entry in entries()))
    (root / _VERSION).write_text(SAMPLE_VERSION + "\n", encoding="utf-8")


def _information(entry: Entry) -> dict[str, Any]:
    return {
        "doc_name": entry.name,
        "company": entry.company.name,
        "gics_sector": entry.company.sector,
        "doc_type": entry.kind,
        "doc_period": entry.period,
        "doc_link": f"https://example.com/filings/{entry.name}.pdf",
    }


def _write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8", newline="\n")


def _publish(partial: Path, directory: Path) -> None:
    """Put ``partial`` in the place of ``directory``, unless another process was first with a complete one."""
    if directory.exists():
        if _complete(directory):
            return
        old = partial.with_name(partial.name + ".old")
        with suppress(FileNotFoundError):  # another process may have moved it first
            directory.rename(old)
        shutil.rmtree(old, ignore_errors=True)
    try:
        partial.rename(directory)
    except OSError:
        if not _complete(directory):
            raise
