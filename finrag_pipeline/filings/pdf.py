"""The PDF reader: the only module that knows PyMuPDF, so that another extractor can take its place.

PyMuPDF is AGPL (see README, 'Licence of the PDF reader'). What the rest of the project relies on:
`inspect_pdf`, `read_pages`, `render_page`, `page_pictures`, `find_ruled_tables`, `ocr_words`, and their
errors.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from finrag_pipeline.engine import ran_out_of_memory
from finrag_pipeline.errors import FilingError, refused
from finrag_pipeline.schemas import FILING_PAGES, WORD

if TYPE_CHECKING:
    import pymupdf

SCARCE_TEXT = 40
"""Characters below which a page counts as carrying next to no text."""

_GARBLED_SHARE = 0.3
# What extractors return for fonts without a usable mapping to Unicode: control characters, the
# replacement character, private-use code points, and '(cid:12)' placeholders.
_ODD = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff]")
_PLACEHOLDER = re.compile(r"\(cid:\d+\)")
_SPACE = re.compile(r"\s+")
_ALLOCATION = re.compile(r"alloc \(.*\) failed")  # MuPDF's own message


def is_garbled(text: str) -> bool:
    """Whether a broken font encoding has made ``text`` unreadable: more than 30 % odd characters."""
    odd = len(_ODD.findall(text))
    if "(cid:" in text:
        odd += sum(len(match) for match in _PLACEHOLDER.findall(text))
    if odd < SCARCE_TEXT * _GARBLED_SHARE:
        return False
    visible = len(_SPACE.sub("", text))
    return visible >= SCARCE_TEXT and odd > _GARBLED_SHARE * visible


PDF_READER_VERSION = "2"
_TAIL = 2048
# Text drawn as outlines (a page without words) fills a shape per letter; ornaments are fewer.
_MANY_SHAPES = 100
# MuPDF's own flags by number, so that importing this module does not load it: keep white space (2), and
# leave out text outside the page (64). Ligatures are spelt out (flag 1 unset), since no question is asked
# with them, and characters without a Unicode value become U+FFFD (flag 128 unset), which shows.
_FLAGS = 2 | 64
_LOST = {"text": "", "characters": 0, "word_count": 0, "needs_ocr": False}
"""What is known of a page that its truncated file lacks."""
_AGAIN = "Download or export the filing again."

Edges = tuple[float, float, float, float]
"""x0, y0, x1, y1 in points on the page as shown, origin top left."""


@dataclass(frozen=True)
class PdfInfo:
    """What opening a PDF tells.

    Attributes:
        truncated: its end is missing; of the pages those are read that are there.
    """

    pages: int
    repaired: bool
    truncated: bool = False


def _pymupdf() -> Any:
    import pymupdf

    # MuPDF prints every recovered syntax error to stderr; ours are the errors that matter.
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    # PyMuPDF prints its own messages, and an advertisement for another package, to stdout.
    pymupdf.set_messages(pylogging=True, pylogging_name="pymupdf", pylogging_level=logging.DEBUG)
    getattr(pymupdf, "no_recommend_layout", lambda: None)()
    return pymupdf


def _open(path: Path) -> pymupdf.Document:
    name = path.name
    with (
        refused(FilingError, f"{name} cannot be opened", "Check that the file exists and is readable."),
        path.open("rb") as stream,
    ):
        head = stream.read(1024)
    if not head:
        raise FilingError(f"{name} is empty (0 bytes).", _AGAIN)
    if b"%PDF-" not in head:
        raise FilingError(f"{name} is not a PDF.", "Convert it to PDF, or correct its extension.")
    pymupdf = _pymupdf()
    document, fault = None, "it has no readable structure"
    try:
        document = pymupdf.open(path, filetype="pdf")
        fault = "its pages cannot be counted"
        if document.needs_pass:
            raise FilingError(
                f"{name} is encrypted and asks for a password.",
                "Save it without a password, then ingest it again.",
            )
        if document.page_count < 1:
            raise truncated(name) if _is_cut_off(path) else FilingError(f"{name} has no pages.", _AGAIN)
    except Exception as error:
        if document is not None:
            document.close()
        if isinstance(error, FilingError):
            raise
        if _is_cut_off(path):
            raise truncated(name) from error
        raise FilingError(f"{name} is corrupt: {fault} ({_short(error, path)}).", _AGAIN) from error
    return document


def truncated(name: str) -> FilingError:
    """The error of a file that lacks its end."""
    return FilingError(f"{name} is truncated: its end is missing.", _AGAIN)


def _is_cut_off(path: Path, document: pymupdf.Document | None = None) -> bool:
    """Whether an object comes after the last end mark; what was appended to a whole file does not count."""
    if document is not None and not document.is_repaired:
        return False
    data = path.read_bytes()
    return b"%%EOF" not in data[-_TAIL:] and data.rfind(b"%%EOF") < data.rfind(b" obj")


def _short(error: BaseException, path: Path) -> str:
    text = " ".join(str(error).replace(str(path), path.name).split()).rstrip(".")
    return text[:200] or type(error).__name__


@contextmanager
def _reading(path: Path, number: int, cut_off: bool = False) -> Iterator[None]:
    """Whatever fails on a page becomes a `FilingError` that names it; pages of a file cut off may be lost."""
    try:
        yield
    except Exception as error:
        if ran_out_of_memory(error) or _ALLOCATION.search(str(error)):
            raise FilingError(
                f"{path.name}: page {number + 1} needs more memory than a worker may have.",
                f"{_AGAIN} If it is sound all the same, raise FINRAG_WORKER_MEMORY.",
            ) from error
        if cut_off:
            return
        raise FilingError(
            f"{path.name}: page {number + 1} cannot be read: {_short(error, path)}.", _AGAIN
        ) from error


def inspect_pdf(path: Path) -> PdfInfo:
    """Number of pages, and whether the file had to be repaired.

    Raises:
        FilingError: the file is empty, not a PDF, corrupt, truncated before its first page, encrypted, or has
            no pages.
    """
    with _open(path) as document:
        return PdfInfo(document.page_count, bool(document.is_repaired), _is_cut_off(path, document))


def read_texts(path: Path, start: int, stop: int) -> list[str]:
    """Plain text of the pages ``start`` (included) to ``stop`` (excluded); none of those lost by truncation.

    Raises:
        FilingError: as `inspect_pdf`, or a page cannot be read.
    """
    texts = []
    with _open(path) as document:
        cut_off = _is_cut_off(path, document)
        for number in range(start, min(stop, document.page_count)):
            texts.append("")
            with _reading(path, number, cut_off):
                texts[-1] = str(document[number].get_text("text", flags=_FLAGS))
    return texts


def read_pages(path: Path, filing: str, start: int, stop: int) -> pa.Table:
    """Pages ``start`` (included) to ``stop`` (excluded) as rows of the table ``filing_pages``.

    Text and words come from one pass over the page, so that both are of the same extraction.

    Raises:
        FilingError: as `inspect_pdf`, or a page cannot be read.
    """
    rows: list[dict[str, Any]] = []
    offsets, packed = [0], [pa.array([], pa.struct(WORD))]
    with _open(path) as document:
        cut_off = _is_cut_off(path, document)
        for number in range(start, min(stop, document.page_count)):
            words: list[tuple[Any, ...]] = []
            rows.append({"filing": filing, "page": number, **_LOST})
            with _reading(path, number, cut_off):
                page = document[number]
                textpage = page.get_textpage(flags=_FLAGS)
                words, text = _shown_words(page, textpage), textpage.extractText()
                images, shapes = _painted(page) if len(text) < SCARCE_TEXT else (None, 0)
                shows_content = bool(images) or shapes >= _MANY_SHAPES
                rows[-1] |= {
                    "label": page.get_label() or None,
                    "text": text,
                    "characters": len(text),
                    "word_count": len(words),
                    "image_count": images,
                    "rotation": page.rotation,
                    "width": page.rect.width,
                    "height": page.rect.height,
                    "needs_ocr": is_garbled(text) or (not words and shows_content),
                }
            # Packed page by page, so that no tuple per word stays alive.
            if words:
                columns = [pa.array(c, f.type) for c, f in zip(zip(*words, strict=True), WORD, strict=True)]
                packed.append(pa.StructArray.from_arrays(columns, fields=list(WORD)))
            offsets.append(offsets[-1] + len(words))
    table = pa.Table.from_pylist(rows, pa.schema([field for field in FILING_PAGES if field.name != "words"]))
    column = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.concat_arrays(packed))
    return table.append_column(FILING_PAGES.field("words"), column)


def _painted(page: Any) -> tuple[int, int]:
    """Images and filled shapes that a page paints; what its resources merely offer does not count."""
    kinds = Counter(kind for kind, *_ in page.get_bboxlog())
    return kinds["fill-image"] + kinds["fill-imgmask"], kinds["fill-path"]


def _shown_words(page: Any, textpage: Any) -> list[tuple[Any, ...]]:
    """Words with their boxes on the page as shown; MuPDF gives those of the unrotated page."""
    words = textpage.extractWORDS()
    return [(*_rotated(w[:4], page.rotation_matrix), *w[4:]) for w in words] if page.rotation else words


def _rotated(box: Sequence[float], matrix: Any) -> tuple[float, float, float, float]:
    (ax, ay), (bx, by) = (
        (x * matrix.a + y * matrix.c + matrix.e, x * matrix.b + y * matrix.d + matrix.f)
        for x, y in (box[:2], box[2:])
    )
    return min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)


def render_page(path: Path, page: int, dpi: int = 110) -> bytes:
    """PNG picture of a page.

    Raises:
        FilingError: as `inspect_pdf`, or there is no such page, or it cannot be drawn.
    """
    with _open(path) as document:
        if not 0 <= page < document.page_count:
            raise FilingError(f"{path.name} has no page {page + 1}.", f"It has {document.page_count} pages.")
        with _reading(path, page):
            return bytes(document[page].get_pixmap(dpi=dpi).tobytes("png"))


MOST_DOTS = 4_000_000


def page_pictures(path: Path, pages: Sequence[int], dpi: int) -> Iterator[np.ndarray | None]:
    """Pictures of pages as shown, RGB, shape (height, width, 3), uint8; None for one that cannot be drawn.

    A page of the size of a poster is drawn with fewer dots, `MOST_DOTS` at most.

    Raises:
        FilingError: as `inspect_pdf`.
    """
    with _open(path) as document:
        for number in pages:
            try:
                page = document[number]
                dots = page.rect.get_area() * (dpi / 72) ** 2
                picture = page.get_pixmap(
                    dpi=int(dpi * min(1.0, (MOST_DOTS / dots) ** 0.5)) or 1, alpha=False
                )
                pixels = np.frombuffer(picture.samples, np.uint8)
                yield pixels.reshape(picture.height, picture.width, picture.n)[:, :, :3].copy()
            except Exception:
                yield None


def find_ruled_tables(path: Path, pages: Sequence[int]) -> Iterator[list[list[list[Edges | None]]]]:
    """Tables that ``Page.find_tables`` sees in the ruling lines of each page; none for a page that fails.

    Of each table the boxes of its cells, row by row; column names that stand above the ruled part come first,
    None where a neighbour spans the place.

    Raises:
        FilingError: as `inspect_pdf`.
    """
    with _open(path) as document:
        for number in pages:
            try:
                found = document[number].find_tables()  # None where its search failed
                yield [_ruled_table(table) for table in (found.tables if found else ())]
            except Exception:
                yield []


def _ruled_table(table: Any) -> list[list[Edges | None]]:
    above = [table.header] if table.header is not None and table.header.external else []
    return [list(row.cells) for row in (*above, *table.rows)]


def ocr_words(path: Path, page: int) -> list[tuple[Any, ...]]:
    """English words of the picture of a page, read by Tesseract: the fields of `schemas.WORD` for each.

    Raises:
        FilingError: as `inspect_pdf`; Tesseract or its data for English is missing; the page fails.
    """
    pymupdf = _pymupdf()
    try:
        data = pymupdf.get_tessdata()
        missing = not data or not (Path(data) / "eng.traineddata").is_file()
    except Exception:
        data, missing = None, True
    if missing:
        raise FilingError(
            f"{path.name}: page {page + 1} needs Tesseract's data for 'eng', which is not installed.",
            "Install Tesseract, or set TESSDATA_PREFIX to the folder of its data.",
        )
    with _open(path) as document, _reading(path, page):
        shown = document[page]
        return _shown_words(shown, shown.get_textpage_ocr(dpi=300, language="eng", full=True, tessdata=data))
