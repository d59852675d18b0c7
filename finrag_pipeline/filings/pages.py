"""Pages of a filing: from PDF, HTML or plain text, in worker processes, or from page text made elsewhere."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.engine import Engine, WorkerCrashError, WorkerMemoryError, WorkerTimeoutError
from finrag_pipeline.errors import FilingError, refused
from finrag_pipeline.filings.html import HTML_READER_VERSION, read_html
from finrag_pipeline.filings.page_numbers import printed_numbers
from finrag_pipeline.filings.pdf import (
    PDF_READER_VERSION,
    SCARCE_TEXT,
    inspect_pdf,
    is_garbled,
    read_pages,
    read_texts,
)
from finrag_pipeline.filings.plain_text import read_plain_text
from finrag_pipeline.filings.xbrl import XBRL_VERSION
from finrag_pipeline.schemas import FILING_PAGES

PAGES_VERSION = "1"
MOST_PAGES_PER_TASK = 512
"""Pages a worker reads at a time at most: opening the file again for each task costs some milliseconds."""

_WORTH_SHARING = 32

MOST_WORDS = 200_000
"""Words of a page that are kept: whole filings printed as one page have fewer."""
MOST_WORDS_OF_FILING = 5_000_000

MOST_PAGES = 100_000
"""Page numbers past this are taken for a mistake."""


def reader_version() -> str:
    """Version of everything that decides what `extract_pages` returns of a PDF or of page text."""
    return f"{PAGES_VERSION}/{PDF_READER_VERSION}/pymupdf {version('pymupdf')}"


def other_reader_version(source: str) -> list[str]:
    """The same of HTML and plain text, beside `reader_version`; nothing of other kinds of files."""
    if source not in ("html", "text"):
        return []
    return [f"{HTML_READER_VERSION}/{XBRL_VERSION}/lxml {version('lxml')}"]


def extract_pages(path: Path, filing: str, source: str, engine: Engine) -> pa.Table:
    """All pages of a filing as rows of ``filing_pages``; ``source`` is what `originals.SUFFIXES` says.

    Raises:
        FilingError: the file cannot be read, or none of its pages has usable text.
    """
    if source == "page_text":
        table = read_page_text(path, filing)
    elif source == "pdf":
        ranges = page_ranges(inspect_pdf(path).pages, engine.workers)
        tasks = [(path, filing, start, stop) for start, stop in ranges]
        table = pa.concat_tables(_in_workers(engine, read_pages, tasks))
    else:
        (table,) = _in_workers(engine.reader, _READERS[source], [(path, filing)])
    readable = pc.and_(pc.greater(table["word_count"], 0), pc.invert(table["needs_ocr"]))
    if not pc.any(readable).as_py():
        if source != "pdf":
            raise FilingError(
                f"{path.name} holds no usable text: all {table.num_rows} pages are empty or unreadable.",
                "Extract the text again with another tool.",
            )
        raise FilingError(
            f"{path.name} has no text layer: all {table.num_rows} pages are images or unreadable (a scan).",
            "Run optical character recognition on it ('ocrmypdf in.pdf out.pdf'), then ingest the result.",
        )
    return _bounded(table)


def _bounded(pages: pa.Table) -> pa.Table:
    """Pages without the words beyond `MOST_WORDS` of a page and `MOST_WORDS_OF_FILING` of all."""
    rest, rows = MOST_WORDS_OF_FILING, []
    counts = pages["word_count"].to_pylist()
    if max(counts, default=0) <= MOST_WORDS and sum(counts) <= rest:
        return pages
    for row in pages.to_pylist():
        kept = min(row["word_count"], MOST_WORDS, rest)
        rest -= kept
        if kept < row["word_count"]:
            ends = (found.end() for found in islice(re.finditer(r"\S+", row["text"]), kept))
            text = row["text"][: max(ends, default=0)]
            row |= {"text": text, "characters": len(text), "word_count": kept}
            row["words"] = row["words"] and row["words"][:kept]
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=pages.schema)


def left_out(word_counts: Sequence[int]) -> str | None:
    """What was left out of pages with so many words, for people."""
    long = [str(number) for number, count in enumerate(word_counts, start=1) if count >= MOST_WORDS]
    if sum(word_counts) >= MOST_WORDS_OF_FILING:
        return f"It has more than {MOST_WORDS_OF_FILING:,} words; those beyond are left out."
    return (
        f"Pages {', '.join(long[:5])} have more than {MOST_WORDS:,} words; the rest is left out."
        if long
        else None
    )


def page_ranges(pages: int, workers: int) -> list[tuple[int, int]]:
    """Ranges [start, stop) that share ``pages`` evenly among ``workers``; a short filing is not shared."""
    rounds = math.ceil(pages / (MOST_PAGES_PER_TASK * workers))
    tasks = rounds * workers if pages > _WORTH_SHARING else 1
    size = max(1, math.ceil(pages / tasks))
    return [(start, min(start + size, pages)) for start in range(0, pages, size)]


def _in_workers(
    engine: Engine, function: Callable[..., pa.Table], tasks: Sequence[tuple[Any, ...]]
) -> list[pa.Table]:
    """What ``function`` returns for each of ``tasks``: path, filing, and the pages where they are shared."""
    tables = []
    for (path, _, *pages), result in zip(tasks, engine.map(function, tasks), strict=True):
        if isinstance(result, FilingError):
            raise result
        if isinstance(result, Exception):
            known = isinstance(result, (WorkerCrashError, WorkerMemoryError, WorkerTimeoutError))
            why = result if known else repr(result)
            which = f"pages {pages[0] + 1} to {pages[1]}" if pages else "it"
            raise FilingError(
                f"{path.name}: reading {which} failed: {why}.",
                "Export the filing again, or ingest it as page text (JSONL).",
            ) from result
        tables.append(result)
    return tables


def first_texts(path: Path, source: str, pages: int = MOST_PAGES) -> list[str]:
    """Text of the first ``pages`` pages of a filing.

    Raises:
        FilingError: the file cannot be read.
    """
    if source == "pdf":
        return read_texts(path, 0, pages)
    texts: list[str] = _READERS[source](path, "")["text"].to_pylist()
    return texts[:pages]


def _fault(row: object) -> str | None:
    """What is wrong with a line of page text."""
    if not isinstance(row, dict):
        return "is not a JSON object"
    for name in ("doc", "page", "text"):
        if row.get(name) is None:
            return f"lacks the field '{name}'"
    doc, page, text = row["doc"], row["page"], row["text"]
    if not isinstance(doc, str) or not doc.strip():
        return "does not name its document in the field 'doc'"
    if not isinstance(page, int) or isinstance(page, bool) or page < 0:
        return f"has {page!r} for a page; pages are whole numbers from 0"
    if page > MOST_PAGES:
        return f"names page {page}, which is past any filing"
    if not isinstance(text, str):
        return "has a text that is not a string"
    try:
        text.encode()
    except UnicodeEncodeError:  # JSON can escape half of a surrogate pair; no UTF-8 column can hold it
        return "holds half of a surrogate pair in its text"
    return None


def read_page_text(path: Path, filing: str) -> pa.Table:
    """Pages from a JSONL file of ``{"doc": …, "page": zero-based, "text": …}``, one line per page.

    Pages that no line names are empty pages: indices must stay those of the original.

    Raises:
        FilingError: the file is empty, or a line is broken, lacks a field or repeats a page. A filing
            that would silently lose pages is refused as a whole.
    """
    remedy = 'Write one JSON object per line: {"doc": "NAME", "page": 0, "text": "…"}.'
    texts: dict[int, str] = {}
    docs: set[str] = set()
    try:
        # Not splitlines(), which would also cut at U+2028 and its like inside a text.
        with refused(FilingError, f"{path.name} cannot be opened", "Check that it is readable."):
            lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise FilingError(
            f"{path.name} is not UTF-8 text (byte {error.start}).", "Save it as UTF-8."
        ) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            fault = _fault(row)
        except (ValueError, RecursionError) as error:
            row, fault = {}, f"is not JSON ({error})"
        if not fault and row["page"] in texts:
            fault = f"repeats page {row['page']}"
        if fault:
            raise FilingError(f"{path.name}, line {number} {fault}.", remedy)
        docs.add(row["doc"])
        texts[row["page"]] = row["text"]
    if not texts:
        raise FilingError(f"{path.name} holds no pages.", remedy)
    if len(docs) > 1:
        raise FilingError(
            f"{path.name} holds pages of several filings: {sorted(docs)[:3]}.", "Write one file per filing."
        )
    return _page_rows(filing, [{"text": texts.get(page, "")} for page in range(max(texts) + 1)])


def read_html_pages(path: Path, filing: str) -> pa.Table:
    """Pages of an HTML filing, with the page numbers that they print.

    Raises:
        FilingError: as `html.read_html`.
    """
    rows = []
    for page in read_html(path).pages:
        text = page.text
        images = page.images if len(text) < SCARCE_TEXT else None
        rows.append({"text": text, "image_count": images, "part": page.part})
    return _page_rows(filing, rows)


def read_text_pages(path: Path, filing: str) -> pa.Table:
    """Pages of a plain-text filing, with words in the places of a page set in type of one width.

    Raises:
        FilingError: the file cannot be opened, or holds no text.
    """
    return _page_rows(filing, read_plain_text(path))


def _page_rows(filing: str, pages: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows of ``filing_pages`` with what is known of each page, its ``text`` at least.

    Pages with a ``part``, an exhibit or None, are labelled by it and by the number that they print.
    """
    labels: list[str | None] = []
    for part, own in groupby(pages, lambda page: page.get("part", "")):
        texts = [page["text"].split("\n") for page in own]
        numbers = [None] * len(texts) if part == "" else printed_numbers(texts)
        labels += [", ".join(filter(None, (part, number))) or None for number in numbers]
    return pa.Table.from_pylist(
        [
            {
                "filing": filing,
                "page": number,
                "label": labels[number],
                "characters": len(page["text"]),
                "word_count": len(page["text"].split()),
                "needs_ocr": is_garbled(page["text"]) or bool(not page["text"] and page.get("image_count")),
                **{name: value for name, value in page.items() if name != "part"},
            }
            for number, page in enumerate(pages)
        ],
        schema=FILING_PAGES,
    )


_READERS: dict[str, Callable[[Path, str], pa.Table]] = {
    "html": read_html_pages,
    "text": read_text_pages,
    "page_text": read_page_text,
}
"""Readers of a whole file, by kind: they take its path and the filing's identifier."""
