"""The borderless table in which financial statements are set, as a reportlab flowable."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reportlab.lib.utils import simpleSplit
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.platypus import Flowable

from finrag_pipeline.sample.content import Figures, Line, Theme

if TYPE_CHECKING:
    from finrag_pipeline.sample.typesetting import Recorder

_LEADING = 1.32
_INDENT = 10.0
_HANG = 5.0  # room to the right of the digits, where a closing parenthesis stands


def fonts(theme: Theme) -> tuple[str, str, str]:
    """Regular, bold and italic face of a theme; all are standard PDF fonts."""
    if theme.serif:
        return "Times-Roman", "Times-Bold", "Times-Italic"
    return "Helvetica", "Helvetica-Bold", "Helvetica-Oblique"


def typographic(text: str) -> str:
    """Straight quotation marks as typographic ones, as filings print them."""
    return re.sub(r'"([^"]*)"', "“\\1”", text.replace("'", "’"))


class FiguresTable(Flowable):
    """Draws a :class:`Figures`.

    Figures are right-aligned under their headings, with dollar signs apart, rules above subtotals and double
    rules under totals. The table may break across pages, though never after a heading; the rest repeats the
    title with '(continued)'.
    """

    def __init__(self, table: Figures, theme: Theme, recorder: Recorder) -> None:
        super().__init__()
        self.table, self.theme, self.recorder = table, theme, recorder
        self.regular, self.bold, self.italic = fonts(theme)
        self.size = theme.size - (0.7 if len(table.columns) > 4 else 0.2)
        self.step = self.size * _LEADING
        self.spaceBefore, self.spaceAfter = 4, 14

    def wrap(self, aW: float, aH: float) -> tuple[float, float]:  # noqa: N803
        """Width and height in points (reportlab's interface)."""
        count = len(self.table.columns)
        share = self.table.label_share or {1: 0.72, 2: 0.62, 3: 0.55, 4: 0.44}.get(count, 0.36)
        self.width = aW
        self.label_width = aW * share
        self.column_width = (aW - self.label_width) / count
        self.labels = [self._label(line) for line in self.table.lines]
        self.heads = [
            simpleSplit(typographic(text), self.bold, self.size, self.column_width - 8)
            for text in self.table.columns
        ]
        self.head_height = self._head_height()
        body = sum(len(label) * self.step + self._gap(line) for label, line in self._body())
        self.height = self.head_height + body + 6
        return self.width, self.height

    def split(self, aW: float, aH: float) -> list[Flowable]:  # noqa: N803
        """Two tables that fill ``aH`` points and the rest, or none where too little fits."""
        self.wrap(aW, aH)
        room, fitting = aH - self.head_height - 6, 0
        for label, line in self._body():
            room -= len(label) * self.step + self._gap(line)
            if room < 0:
                break
            fitting += 1
        lines = self.table.lines
        while fitting and lines[fitting - 1].kind == "heading":
            fitting -= 1
        if fitting < 6 or len(lines) - fitting < 3:
            return []
        rest = tuple(
            f"{text} (continued)" if i == len(self.table.title) - 1 else text
            for i, text in enumerate(self.table.title)
        )
        return [
            FiguresTable(replace(self.table, lines=lines[:fitting]), self.theme, self.recorder),
            FiguresTable(replace(self.table, lines=lines[fitting:], title=rest), self.theme, self.recorder),
        ]

    def drawOn(self, canvas: Any, x: float, y: float, _sW: float = 0) -> None:  # noqa: N802, N803
        """Draw, and record the place under the table's mark."""
        super().drawOn(canvas, x, y, _sW)
        self.recorder.mark(self.table.mark, canvas, y, y + self.height)

    def draw(self) -> None:
        """Draw at the origin of the canvas."""
        y = self._draw_head(self.height)
        pieces: list[tuple[int, int, float, float, str, str]] = []  # column, row, x, baseline, text, font
        shaded = False
        for row, (label, line) in enumerate(self._body()):
            y -= self._gap(line)
            height = len(label) * self.step
            if self.theme.shade and line.kind != "heading":
                shaded = not shaded
                if shaded:
                    self.canv.setFillColorRGB(*self.theme.shade)
                    self.canv.rect(0, y - height, self.width, height, stroke=0, fill=1)
                    self.canv.setFillColorRGB(0, 0, 0)
            strong = line.kind == "heading" or (line.kind == "total" and not self.theme.serif)
            font = self.bold if strong else self.regular
            for i, text in enumerate(label):
                baseline = y - (i + 1) * self.step + self.size * 0.38
                pieces.append((0, row, line.indent * _INDENT + (8 if i else 0), baseline, text, font))
            baseline = y - height + self.size * 0.38
            for column, text in enumerate(line.cells):
                pieces += self._cell(row, column, text, line, baseline, font)
            if line.kind in ("subtotal", "total"):
                self._rules(y, y - height, line)
            y -= height
        # Row after row as a printer writes it, or column after column as some extractors see it.
        if self.theme.column_major:
            pieces.sort(key=lambda piece: (piece[0], piece[1]))
        for _, _, x, baseline, text, font in pieces:
            self.canv.setFont(font, self.size)
            self.canv.drawString(x, baseline, text)

    def _label(self, line: Line) -> list[str]:
        font = self.bold if line.kind == "heading" else self.regular
        width = (self.width if line.kind == "heading" else self.label_width) - line.indent * _INDENT - 8
        return simpleSplit(typographic(line.label), font, self.size, width) or [""]

    def _body(self) -> list[tuple[list[str], Line]]:
        return list(zip(self.labels, self.table.lines, strict=True))

    def _gap(self, line: Line) -> float:
        return {"heading": 3.0 if line.indent == 0 else 0.0, "total": 1.5}.get(line.kind, 0.0)

    def _head_height(self) -> float:
        table = self.table
        height = len(table.title) * self.step * 1.05 + (4 if table.title else 0)
        height += (self.step + 2) if table.note else 0
        height += (self.step + 3) if table.spans else 0
        rows = max((len(head) for head in self.heads), default=0) if any(table.columns) else 0
        return height + rows * self.step + 4

    def _draw_head(self, y: float) -> float:
        table, canvas = self.table, self.canv
        for text in table.title:
            y -= self.step * 1.05
            canvas.setFont(self.bold, self.size + 0.4)
            canvas.drawCentredString(self.width / 2, y, typographic(text))
        y -= 4 if table.title else 0
        if table.note:
            y -= self.step
            canvas.setFont(self.italic, self.size - 0.3)
            place = self.width / 2 if table.title else 0
            (canvas.drawCentredString if table.title else canvas.drawString)(place, y + 2, table.note)
            y -= 2
        if table.spans:
            y -= self.step
            start = self.label_width
            canvas.setFont(self.bold, self.size)
            for text, count in table.spans:
                end = start + count * self.column_width
                canvas.drawCentredString((start + end) / 2, y + 1, typographic(text))
                self._line(start + 4, end, y - 2, 0.5)
                start = end
            y -= 3
        return self._draw_columns(y)

    def _draw_columns(self, y: float) -> float:
        if not any(self.table.columns):
            return y - 4
        rows = max(len(head) for head in self.heads)
        self.canv.setFont(self.bold, self.size)
        for column, head in enumerate(self.heads):
            right = self.label_width + (column + 1) * self.column_width
            for i, text in enumerate(head):
                baseline = y - (rows - len(head) + i + 1) * self.step + 3
                self.canv.drawCentredString(right - self.column_width / 2 + 2, baseline, text)
            self._line(right - self.column_width + 4, right, y - rows * self.step, 0.5)
        return y - rows * self.step - 4

    def _cell(
        self, row: int, column: int, text: str, line: Line, baseline: float, font: str
    ) -> Sequence[tuple[int, int, float, float, str, str]]:
        left = self.label_width + column * self.column_width
        right = left + self.column_width - _HANG
        tail = stringWidth(")", font, self.size) if text.endswith(")") else 0
        tail = stringWidth(")%", font, self.size) if text.endswith(")%") else tail
        start = right + tail - stringWidth(text, font, self.size)
        pieces = [(column + 1, row, start, baseline, text, font)] if text else []
        if line.dollar and text:
            pieces.insert(0, (column + 1, row, left + 7, baseline, "$", font))
        return pieces

    def _rules(self, top: float, bottom: float, line: Line) -> None:
        for column, text in enumerate(line.cells):
            right = self.label_width + (column + 1) * self.column_width
            left = right - self.column_width + 4
            if not text:
                continue
            self._line(left, right, top, 0.5)
            if line.kind == "total":
                self._line(left, right, bottom + 0.6, 0.5)
                self._line(left, right, bottom - 1.2, 0.5)

    def _line(self, left: float, right: float, y: float, width: float) -> None:
        self.canv.setLineWidth(width)
        self.canv.line(left, y, right, y)
