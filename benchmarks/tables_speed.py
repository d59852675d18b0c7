"""Detecting tables: ``words`` against PyMuPDF's ``find_tables``, and others where they are installed."""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.pairs import paired, rate
from finrag_pipeline.filings.originals import filing_files
from finrag_pipeline.filings.pdf import inspect_pdf, read_pages
from finrag_pipeline.tables.model import FilingWords
from finrag_pipeline.tables.words import WordsDetector
from finrag_pipeline.tables.words_of_pages import filing_words


def _find_tables(filings: list[FilingWords], every: int) -> int:
    """`find_tables` with its default strategy, grids read out, on every ``every``-th page."""
    import pymupdf

    pages = 0
    for filing in filings:
        with pymupdf.open(filing.path) as document:
            for number in range(0, document.page_count, every):
                for table in document[number].find_tables().tables:
                    table.extract()
                pages += 1
    return pages


def _gmft(filings: list[FilingWords], every: int) -> int:
    from gmft.auto import AutoTableDetector, AutoTableFormatter
    from gmft.pdf_bindings import PyPDFium2Document

    detector, formatter = AutoTableDetector(), AutoTableFormatter()
    pages = 0
    for filing in filings:
        document = PyPDFium2Document(str(filing.path))
        for number in range(0, len(filing.pages), every):
            for table in detector.extract(document[number]):
                formatter.extract(table)
            pages += 1
        document.close()
    return pages


def _docling(filings: list[FilingWords], every: int) -> int:
    from docling.document_converter import DocumentConverter

    converter = DocumentConverter()
    pages = 0
    for filing in filings:
        for number in range(0, len(filing.pages), every):
            converter.convert(filing.path, page_range=(number + 1, number + 1))
            pages += 1
    return pages


PEERS: dict[str, Callable[[list[FilingWords], int], int]] = {
    "pymupdf": _find_tables,
    "gmft": _gmft,
    "docling": _docling,
}
"""Peers by the package that each needs."""


def main() -> None:
    """Ratios of pages per CPU second in one process; words are read from the pages beforehand.

    `find_tables` reads the page's words and lines itself, so the second ratio counts reading the words too.
    """
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path, help="folder of PDFs")
    parser.add_argument("--files", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--every", type=int, default=10, help="peers see every n-th page")
    options = parser.parse_args()
    files = [path for path in filing_files(options.folder) if path.suffix.lower() == ".pdf"]
    files = files[:: max(1, len(files) // options.files)][: options.files]

    def read() -> list[FilingWords]:
        return [
            filing_words(path.stem, read_pages(path, path.stem, 0, inspect_pdf(path).pages), path)
            for path in files
        ]

    filings = read()

    def detect(of: list[FilingWords]) -> int:
        return sum(1 for filing in of for _ in WordsDetector().detect(filing))

    for name, peer in PEERS.items():
        if importlib.util.find_spec(name) is None:
            print(f"{name}: not installed")
            continue
        theirs = rate(lambda peer=peer: peer(filings, options.every), time.process_time)  # type: ignore[misc]
        unit = "pages per CPU second"
        paired(
            f"words / {name}", rate(lambda: detect(filings), time.process_time), theirs, options.rounds, unit
        )
        paired(
            f"words with reading the PDF / {name}",
            rate(lambda: detect(read()), time.process_time),
            theirs,
            options.rounds,
            unit,
        )


if __name__ == "__main__":
    main()
