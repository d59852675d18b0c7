"""Pages set word by word, as filings set their tables: without ruling lines."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from reportlab.lib.pagesizes import letter
from reportlab.pdfgen.canvas import Canvas

from finrag_pipeline.filings.pdf import read_pages
from finrag_pipeline.tables.model import PageWords
from finrag_pipeline.tables.words_of_pages import page_words

LEFT, STEP = 54.0, 13.0

PROSE = (
    "The directors have considered the outlook for the coming year, and the plans that were made to meet it,",
    "and they are satisfied that the resources of the group are sufficient for the work that lies ahead of it.",
)


class Sheet:
    """A PDF under construction; ``y`` runs down from the top of the page, in points."""

    def __init__(self, size: float = 9, font: str = "Helvetica") -> None:
        self._target = io.BytesIO()
        self._canvas = Canvas(self._target, pagesize=letter, invariant=1)
        self._pages = 1
        self.size, self.font = size, font
        self.y = 72.0
        self._canvas.setFont(font, size)

    def _at(self) -> float:
        return float(letter[1]) - self.y

    def left(self, x: float, text: str, size: float | None = None, rise: float = 0.0) -> Self:
        """Text that begins at ``x``."""
        self._canvas.setFont(self.font, size or self.size)
        self._canvas.drawString(x, self._at() + rise, text)
        return self

    def right(self, x: float, text: str) -> Self:
        """Text whose digits end at ``x``; a closing parenthesis or a per cent sign hangs over."""
        self._canvas.setFont(self.font, self.size)
        digits = text.rstrip("%)") if len(text) > 1 else text
        self._canvas.drawRightString(x, self._at(), digits)
        if len(digits) < len(text):
            self._canvas.drawString(x, self._at(), text[len(digits) :])
        return self

    def centre(self, x: float, text: str) -> Self:
        """Text about ``x``."""
        self._canvas.setFont(self.font, self.size)
        self._canvas.drawCentredString(x, self._at(), text)
        return self

    def down(self, points: float = STEP) -> Self:
        """Go on ``points`` below."""
        self.y += points
        return self

    def row(self, label: str, figures: Sequence[str], edges: Sequence[float], indent: float = 0.0) -> Self:
        """A label and figures whose digits end at ``edges``; '' leaves a column empty. '$ 5' sets the sign far left."""
        self.left(LEFT + indent, label)
        for figure, edge in zip(figures, edges, strict=True):
            if figure.startswith("$ "):
                self.left(edge - 46, "$")
                figure = figure[2:]
            if figure:
                self.right(edge, figure)
        return self.down()

    def heads(self, texts: Sequence[str], edges: Sequence[float], label: str = "") -> Self:
        """Column headers, each centred over the figures that end at its edge; '' for none."""
        if label:
            self.left(LEFT, label)
        for text, edge in zip(texts, edges, strict=True):
            if text:
                self.centre(edge - 18, text)
        return self.down()

    def prose(self) -> Self:
        """A paragraph of two lines, with a blank line before and after."""
        self.down(8)
        for line in PROSE:
            self.left(LEFT, line).down(12)
        return self.down(14)

    def page(self) -> Self:
        """Begin another page."""
        self._canvas.showPage()
        self._pages += 1
        self.y = 72.0
        return self

    def words(self, folder: Path, rotate: int = 0) -> list[PageWords]:
        """The pages read back from the PDF, as the pipeline reads filings."""
        if rotate:
            self._canvas.setPageRotation(rotate)
        self._canvas.save()
        path = folder / "sheet.pdf"
        path.write_bytes(self._target.getvalue())
        return page_words(read_pages(path, "sheet", 0, self._pages))
