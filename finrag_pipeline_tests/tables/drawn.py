"""Tables drawn into PDFs, for detectors that look at pages."""

from __future__ import annotations

from pathlib import Path

from finrag_pipeline.filings.pdf import inspect_pdf, read_pages
from finrag_pipeline.tables.model import PageWords, Table, TableDetector
from finrag_pipeline.tables.words_of_pages import page_words

ROWS = [
    ["(in millions)", "2022", "2021"],
    ["Net sales", "$ 1,577", "$ 1,420"],
    ["Cost of sales", "(1,050)", "(998)"],
    ["Gross profit", "527", "422"],
]
LEFT, TOP, ROW_HEIGHT = 72.0, 200.0, 20.0
WIDTHS = (200.0, 90.0, 90.0)
HEIGHT = 792.0


def write_table(path: Path, rows: list[list[str]] = ROWS, ruled: bool = True, turned: bool = False) -> Path:
    """A page of 612 by 792 points with a title and a table under it; ``turned`` sets the page's rotation to 90."""
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), pagesize=(612, HEIGHT))
    if turned:
        canvas.setPageRotation(90)
    canvas.setFont("Helvetica", 10)
    canvas.drawString(LEFT, HEIGHT - TOP + 24, "Consolidated Statements of Income")
    for number, row in enumerate(rows):
        baseline = HEIGHT - TOP - (number + 1) * ROW_HEIGHT + 6
        left = LEFT
        for column, (text, width) in enumerate(zip(row, WIDTHS, strict=True)):
            if column:
                canvas.drawRightString(left + width - 6, baseline, text)
            else:
                canvas.drawString(left + 4, baseline, text)
            left += width
    if ruled:
        for number in range(len(rows) + 1):
            y = HEIGHT - TOP - number * ROW_HEIGHT
            canvas.line(LEFT, y, LEFT + sum(WIDTHS), y)
        x = LEFT
        for width in (0.0, *WIDTHS):
            x += width
            canvas.line(x, HEIGHT - TOP, x, HEIGHT - TOP - len(rows) * ROW_HEIGHT)
    canvas.save()
    return path


def words_of(path: Path) -> list[PageWords]:
    """The pages of a PDF as detectors see them."""
    return page_words(read_pages(path, path.stem, 0, inspect_pdf(path).pages))


def detected(detector: TableDetector, path: Path) -> list[list[Table]]:
    """The tables of each page of a PDF."""
    return list(detector.detect(words_of(path), path))
