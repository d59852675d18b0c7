"""Writes the sample corpus: filings of three fictitious companies and a benchmark in FinanceBench's format.

The result has the layout of a benchmark folder::

    pdfs/<FILING>.pdf
    page_text/<FILING>.jsonl      a filing as text of its pages: {"doc", "page", "text"} per line
    questions.jsonl               FinanceBench's fields; pages are zero-based
    document_information.jsonl
    html/TORVEXLEY_2023Q1_10Q.htm inline XBRL, no part of the benchmark: to be ingested by hand
    VERSION                       written last; equal to SAMPLE_VERSION

The same version always gives the same bytes.
"""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.sample.company import COMPANIES, Company, load_company

if TYPE_CHECKING:
    from finrag_pipeline.sample.typesetting import Place

SAMPLE_VERSION = "4"

_QUESTIONS, _INFORMATION, _VERSION = "questions.jsonl", "document_information.jsonl", "VERSION"
_FOLDERS = ("pdfs", "page_text", "html")
HTML = "html/TORVEXLEY_2023Q1_10Q.htm"


@dataclass(frozen=True)
class Entry:
    """A filing of the sample.

    Args:
        of: file of its company.
        kind: as the document information names it.
        period: its fiscal year.
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

    def typeset(self) -> tuple[bytes, list[Place]]:
        """The filing as a PDF, and where its marked passages stand."""
        # A caller that finds the sample complete needs no templates.
        from finrag_pipeline.sample.templates import fill
        from finrag_pipeline.sample.typesetting import typeset

        text, tables = fill(f"{self.template}.jinja", self.company, self.period)
        return typeset(text, tables, self.company.theme, self.title, "cover" if self.cover else "body")


@cache
def entries() -> tuple[Entry, ...]:
    """The filings of the sample."""
    text = (files("finrag_pipeline.sample") / "filings.toml").read_text(encoding="utf-8")
    return tuple(Entry(**row) for row in tomllib.loads(text)["filings"])


def write_sample(directory: Path) -> Path:
    """Write the sample to ``directory`` and return it; at once where it is already complete.

    It is written beside ``directory``, one process at a time, and renamed, so that a reader sees all of it
    or nothing. What an interrupted call has left, or another version, is replaced.

    Raises:
        BenchmarkError: ``directory`` holds something other than a sample.
    """
    directory = Path(directory)
    if _complete(directory):
        return directory
    _refuse_foreign(directory)
    directory.parent.mkdir(parents=True, exist_ok=True)
    beside = {end: directory.with_name(f".{directory.name}.{end}") for end in ("lock", "partial", "old")}
    with FileLock(beside["lock"]):
        if _complete(directory):  # another process has written it meanwhile
            return directory
        for leftover in ("partial", "old"):
            shutil.rmtree(beside[leftover], ignore_errors=True)
        _write(beside["partial"])
        if directory.exists():
            directory.rename(beside["old"])
        beside["partial"].rename(directory)
        shutil.rmtree(beside["old"], ignore_errors=True)
    return directory


def _complete(directory: Path) -> bool:
    try:
        version = (directory / _VERSION).read_text(encoding="utf-8").strip()
    except OSError:
        return False
    names = [_QUESTIONS, _INFORMATION, HTML, *(entry.path for entry in entries())]
    return version == SAMPLE_VERSION and all((directory / name).is_file() for name in names)


def _refuse_foreign(directory: Path) -> None:
    """Refuse to replace a folder that is not a sample, which a mistyped path would otherwise delete."""
    own = (_QUESTIONS, _INFORMATION, _VERSION, *(f"{load_company(name).key}_" for name in COMPANIES))
    held = directory.rglob("*") if directory.is_dir() else [directory]
    for path in held:
        if path.is_file() and not path.name.startswith(own):
            raise BenchmarkError(
                f"'{directory}' holds '{path.name}', which is not part of the sample.",
                "Choose a new or empty folder for the sample, or move the file away.",
            )


def _write(root: Path) -> None:
    from finrag_pipeline.sample.questions import ReadBack, read_back, read_questions
    from finrag_pipeline.sample.templates import fill

    for folder in _FOLDERS:
        (root / folder).mkdir(parents=True)
    read: dict[str, ReadBack] = {}
    for entry in entries():
        pdf, places = entry.typeset()
        path = root / f"pdfs/{entry.name}.pdf"
        path.write_bytes(pdf)
        read[entry.name] = filing = read_back(path, entry.name, places)
        if entry.as_text:
            path.unlink()
            rows = [{"doc": entry.name, "page": i, "text": text} for i, text in enumerate(filing.pages)]
            _write_lines(root / entry.path, rows)
    (root / HTML).write_text(
        fill("torvexley_10q_first.jinja", load_company("torvexley"))[0], encoding="utf-8"
    )
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
