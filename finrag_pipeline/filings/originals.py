"""Originals: files of filings as the lake keeps them, and as they lie in a folder before they enter it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from filecmp import cmp
from pathlib import Path
from typing import Any

from finrag_pipeline.errors import BenchmarkError, LakeError, UsageError, did_you_mean, find_name
from finrag_pipeline.filings.names import filing_id
from finrag_pipeline.storage.fingerprints import file_sha256
from finrag_pipeline.storage.lake import Lake

SUFFIXES = {".htm": "html", ".html": "html", ".pdf": "pdf", ".txt": "text", ".jsonl": "page_text"}
"""Kinds of files by suffix, the most telling first: of two files of a filing the earlier kind is kept."""
_SUBMITTED = re.compile(rb"<(?:SEC-)?DOCUMENT>|SECURITIES\s+AND\s+EXCHANGE\s+COMMISSION", re.IGNORECASE)
_MARKED_UP = re.compile(rb"<(?:html|body|div|td|font)\b", re.IGNORECASE)
_HEAD = 1 << 16


def file_kind(path: Path) -> str:
    """What kind of filing a file with one of `SUFFIXES` is; a text file with HTML inside is HTML.

    Raises:
        OSError: it cannot be read.
    """
    kind = SUFFIXES[path.suffix.lower()]
    return "html" if kind == "text" and _MARKED_UP.search(_head(path)) else kind


def _head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(_HEAD)


ALIAS = "alias.json"


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
    """Whether a file looks like a filing: visible, of a known kind, and naming the SEC if it is text."""
    if not path.is_file() or path.name.startswith(".") or path.suffix.lower() not in SUFFIXES:
        return False
    if path.suffix.lower() != ".txt":
        return True
    try:
        return bool(_SUBMITTED.search(_head(path)))
    except OSError:  # whoever takes it says so
        return True


def filing_files(folder: Path) -> list[Path]:
    """Files of ``folder`` that look like filings, by name."""
    return sorted(path for path in folder.iterdir() if is_filing_file(path)) if folder.is_dir() else []


def find_source(lake: Lake, filing: str) -> FilingSource | None:
    """The kept original of a filing, or None."""
    entry = lake.read_json(lake.path("filings", filing, "source.json"))
    try:
        return FilingSource(**entry) if isinstance(entry, dict) else None
    except TypeError:  # other fields: the file has to be ingested again
        return None


def all_sources(lake: Lake) -> list[FilingSource]:
    """The kept originals, by the names of their filings."""
    paths = lake.fs.glob(lake.path("filings", "*", "source.json"))
    found = (find_source(lake, path.rsplit("/", 2)[1]) for path in sorted(paths))
    return [source for source in found if source]


def name_in_lake(lake: Lake, filing: str) -> str:
    """The filing that ``filing`` is: another one where the same file was there before under another name."""
    entry = lake.read_json(lake.path("filings", filing, ALIAS))
    return str(entry["filing"]) if isinstance(entry, dict) and "filing" in entry else filing


def aliases(lake: Lake) -> dict[str, str]:
    """Filings by the other names that the same file came under."""
    paths = lake.fs.glob(lake.path("filings", "*", ALIAS))
    names = [path.rsplit("/", 2)[1] for path in paths]
    return {name: name_in_lake(lake, name) for name in sorted(names)}


def get_source(lake: Lake, filing: str) -> FilingSource:
    """The kept original of a filing.

    Raises:
        LakeError: there is none.
    """
    source = find_source(lake, filing)
    if source is None:
        raise LakeError(f"The lake holds no original of '{filing}'.", "Ingest its file: finrag ingest FILE.")
    return source


def original_path(lake: Lake, source: FilingSource) -> str:
    """Path of the kept original in the lake."""
    return lake.path("filings", source.filing, source.original)


@contextmanager
def read_original(lake: Lake, source: FilingSource) -> Iterator[Path]:
    """A local path with the original as it came: readers would repair a damaged one, into other pages.

    Raises:
        LakeError: it is gone or damaged.
    """
    with lake.local_copy(original_path(lake, source)) as path:
        if not path.is_file() or file_sha256(path) != source.sha256:
            reason = f"The original {source.file_name} of '{source.filing}' is not as it came."
            raise LakeError(reason, "Ingest its file again: finrag ingest FILE.")
        yield path


def is_sound(lake: Lake, source: FilingSource) -> bool:
    """Whether the kept original is there, and is what came."""
    with suppress(LakeError, OSError), read_original(lake, source):
        return True
    return False


def drop_older_originals(lake: Lake, published: FilingSource) -> None:
    """Remove the originals that ``published`` has taken the place of; its pages are in the lake now."""
    folder = lake.path("filings", published.filing)
    entry = lake.path("filings", published.filing, "source.json")
    decided = lake.fs.modified(entry)
    if find_source(lake, published.filing) != published:
        return  # a newer version has come meanwhile
    for path in lake.fs.ls(folder, detail=False):
        # The copy of a version that is being accepted right now is younger than the entry.
        if path.rsplit("/", 1)[-1] not in ("source.json", published.original) and (
            lake.fs.modified(path) < decided
        ):
            lake.fs.rm(path)


@dataclass(frozen=True)
class SourceFolder:
    """A folder of filings: its files by identifier, with questions and documents when it is a benchmark."""

    name: str
    files: dict[str, Path]
    questions: Path | None
    documents: Path | None

    def select(self, names: Collection[str] | None, limit: int | None) -> SourceFolder:
        """Only the filings called ``names``, or the first ``limit``.

        Raises:
            UsageError: a name is not in the folder.
        """
        files = self.files
        if names:
            wanted = {find_name(name, files) or filing_id(name) for name in names}
            unknown = sorted(wanted - set(files))
            if unknown:
                likely = did_you_mean(unknown[0], files)
                raise UsageError(
                    f"{self.name} holds no filing {', '.join(unknown[:5])}.",
                    f"{likely}Choose among its {len(files)} filings, for example {next(iter(files))}.",
                )
            files = {name: path for name, path in files.items() if name in wanted}
        if limit is not None:
            files = dict(list(files.items())[:limit])
        return replace(self, files=files)


def read_source_folder(folder: Path) -> SourceFolder:
    """Find filings and questions in ``folder``.

    A benchmark has ``pdfs/`` and FinanceBench's two JSONL files (``*open_source.jsonl`` or
    ``questions.jsonl``, and ``*document_information.jsonl``); folders whose name begins with
    ``page_text`` may add filings as pages of text. Any other folder is a corpus: its HTML, PDF, text and
    page-text files. Where a filing comes in several ways, the first of these is taken.

    Two different files may lead to one identifier (``a.pdf`` beside ``a.PDF``): the second is listed under
    its full name, and intake refuses it, so that it is reported and the rest goes on.

    Raises:
        BenchmarkError: the folder is missing, holds no filing, several question files, or different
            filings of one name.
    """
    if not folder.is_dir():
        raise BenchmarkError(
            f"{folder} is not a folder.", "Pass --source a folder of filings or a benchmark."
        )
    questions = _only_one([*folder.glob("*open_source.jsonl"), *folder.glob("questions.jsonl")], "questions")
    documents = _only_one(list(folder.glob("*document_information.jsonl")), "document information")
    candidates = filing_files(folder / "pdfs") or [
        path for path in filing_files(folder) if path not in (questions, documents)
    ]
    for page_text in sorted(folder.glob("page_text*")):
        candidates.extend(path for path in filing_files(page_text) if path.suffix.lower() == ".jsonl")
    files: dict[str, Path] = {}
    for path in sorted(candidates, key=preference):
        first = files.setdefault(filing_id(path.name), path)
        if first.suffix.lower() != path.suffix.lower() or first == path or cmp(first, path, shallow=False):
            continue
        if path.name in files or first.name == path.name:
            raise BenchmarkError(
                f"{folder} holds different files called {path.name}, in {first.parent.name}/ and "
                f"{path.parent.name}/.",
                "Leave only one of them in the folder.",
            )
        files[path.name] = path
    if not files:
        raise BenchmarkError(f"{folder} holds no filings.", "Put HTML or PDF files into it.")
    return SourceFolder(folder.resolve().name, dict(sorted(files.items())), questions, documents)


def preference(path: Path) -> tuple[int, bool, str]:
    """What sorts the files of a filing, the one to take first."""
    suffix = path.suffix.lower()
    return list(SUFFIXES).index(suffix), path.suffix != suffix, path.name


def _only_one(paths: list[Path], what: str) -> Path | None:
    if len(paths) > 1:
        names = ", ".join(sorted(path.name for path in paths))
        raise BenchmarkError(f"Several files of {what}: {names}.", "Leave only one of them in the folder.")
    return paths[0] if paths else None
