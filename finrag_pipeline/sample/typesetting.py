"""Turns a :class:`Document` into a PDF and says on which page each marked passage stands.

A document with a table of contents is set twice: the first pass finds the page of every heading, the
second prints the table. Only standard fonts are used and reportlab runs in its invariant mode, so that the
same document always gives the same bytes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reportlab.lib.colors import Color, black
from reportlab.lib.enums import TA_CENTER, TA_JUSTIFY, TA_RIGHT
from reportlab.lib.pagesizes import letter
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.utils import simpleSplit
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    HRFlowable,
    NextPageTemplate,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
)
from reportlab.platypus import PageBreak as BreakFlowable

from finrag_pipeline.sample.content import (
    Block,
    Contents,
    Document,
    Figures,
    Heading,
    Line,
    PageBreak,
    Pair,
    Ruled,
    RuleLine,
    Space,
    Text,
    Theme,
)

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


_MARGIN = 54.0
_ROMAN = ("", "i", "ii", "iii", "iv", "v")
_NUMBER = re.compile(r"[$(]*[\d,.]+[)%]*|—|")
_BOXES = {"☒": "[X]", "☐": "[&nbsp;&nbsp;]"}  # standard fonts have no ballot boxes


@dataclass(frozen=True)
class Place:
    """Where a marked passage stands: zero-based page, top and bottom in points from the top of the page."""

    mark: str
    page: int
    top: float
    bottom: float


@dataclass
class Recorder:
    """What a pass over a document finds out.

    Args:
        labels: printed number of each page; empty for an unnumbered one.
        places: where marked passages stand.
        entries: (item, title, printed page number) of the table of contents.
    """

    labels: list[str] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    entries: list[tuple[str, str, str]] = field(default_factory=list)

    def mark(self, name: str | None, canvas: Any, bottom: float, top: float) -> None:
        """Record a passage between two heights, measured from the bottom of the page as PDF does."""
        if name:
            height = letter[1]
            self.places.append(Place(name, canvas.getPageNumber() - 1, height - top, height - bottom))


@dataclass(frozen=True)
class Typeset:
    """A finished PDF, where its marked passages stand, and the number printed on each page."""

    pdf: bytes
    places: tuple[Place, ...]
    labels: tuple[str, ...]


class _MarkedParagraph(Paragraph):
    """A paragraph that records its place and is never split."""

    def __init__(self, text: str, style: ParagraphStyle, recorder: Recorder, mark: str) -> None:
        super().__init__(text, style)
        self._recorder, self._mark = recorder, mark

    def split(self, availWidth: float, availHeight: float) -> list[Flowable]:  # noqa: N803
        return []

    def drawOn(self, canvas: Any, x: float, y: float, _sW: float = 0) -> None:  # noqa: N802, N803
        super().drawOn(canvas, x, y, _sW)
        self._recorder.mark(self._mark, canvas, y, y + self.height)


class _MarkedTable(Table):
    """A bordered table that records its place and is never split."""

    recorder: Recorder
    mark: str | None

    def split(self, availWidth: float, availHeight: float) -> list[Flowable]:  # noqa: N803
        return []

    def drawOn(self, canvas: Any, x: float, y: float, _sW: float = 0) -> None:  # noqa: N802, N803
        super().drawOn(canvas, x, y, _sW)
        self.recorder.mark(self.mark, canvas, y, y + self._height)


class _Entry(Flowable):
    """An invisible flowable that tells the recorder on which page a heading stands."""

    width = height = 0

    def __init__(self, entry: tuple[str, str], recorder: Recorder) -> None:
        super().__init__()
        self._entry, self._recorder = entry, recorder
        self.keepWithNext = 1

    def draw(self) -> None:
        self._recorder.entries.append((*self._entry, self._recorder.labels[-1]))


class _Template(BaseDocTemplate):
    """Page templates of a filing: cover (no number), front (roman), body (arabic) and statements."""

    def __init__(self, document: Document, recorder: Recorder, target: io.BytesIO) -> None:
        super().__init__(
            target,
            pagesize=letter,
            leftMargin=_MARGIN,
            rightMargin=_MARGIN,
            title=document.title,
            author="Fictitious sample data",
            subject="A fictitious filing, generated as sample data; no such company exists.",
            invariant=1,
            pageCompression=1,
        )
        self.document, self.recorder = document, recorder
        self._counts: dict[str, int] = {}
        top = 50 if document.theme.header else 44
        names = ["cover", "front", "body", "statements"]
        names.sort(key=lambda name: name != document.numbering)
        frame = (_MARGIN, 50, letter[0] - 2 * _MARGIN, letter[1] - 50 - top)
        self.addPageTemplates(
            [
                PageTemplate(name, [Frame(*frame, 0, 0, 0, 0)], onPage=self._begin, onPageEnd=self._end)
                for name in names
            ]
        )

    def _label(self, kind: str) -> str:
        theme = self.document.theme
        series = "body" if kind == "statements" and theme.statement_prefix is None else kind
        self._counts[series] = count = self._counts.get(series, 0) + 1
        if kind == "cover":
            return ""
        if kind == "front":
            return _ROMAN[count]
        return f"{theme.statement_prefix or ''}{count}" if kind == "statements" else str(count)

    def _begin(self, canvas: Any, _: BaseDocTemplate) -> None:
        label = self._label(self.pageTemplate.id)
        self.recorder.labels.append(label)
        theme = self.document.theme
        if theme.page_labels:
            canvas.addPageLabel(canvas.getPageNumber() - 1, prefix=label or "Cover")
        if theme.header and self.pageTemplate.id != "cover":
            canvas.saveState()
            canvas.setFont(fonts(theme)[1], theme.size - 1)
            canvas.drawCentredString(letter[0] / 2, letter[1] - 34, theme.header)
            canvas.restoreState()

    def _end(self, canvas: Any, _: BaseDocTemplate) -> None:
        theme, label = self.document.theme, self.recorder.labels[-1]
        canvas.saveState()
        if label:
            canvas.setFont(fonts(theme)[0], theme.size - 0.5)
            if theme.footer:
                canvas.drawString(_MARGIN, 30, theme.footer)
                canvas.drawRightString(letter[0] - _MARGIN, 30, label)
            else:
                canvas.drawCentredString(letter[0] / 2, 30, label)
        canvas.restoreState()


class _Setter:
    """Turns blocks into flowables in the styles of a theme."""

    def __init__(self, theme: Theme, recorder: Recorder, contents: list[tuple[str, str, str]]) -> None:
        self.theme, self.recorder, self.contents = theme, recorder, contents
        regular, bold, italic = fonts(theme)
        size = theme.size
        base = ParagraphStyle(
            "base", fontName=regular, fontSize=size, leading=size * 1.24, spaceAfter=size * 0.72
        )
        self.text = ParagraphStyle("text", base, alignment=TA_JUSTIFY)
        self.centred = ParagraphStyle("centred", base, alignment=TA_CENTER, spaceAfter=3)
        self.small = ParagraphStyle(
            "small", base, fontSize=size - 1.6, leading=(size - 1.6) * 1.2, spaceAfter=4
        )
        self.small_centred = ParagraphStyle("small centred", self.small, alignment=TA_CENTER)
        self.bullet = ParagraphStyle("bullet", self.text, leftIndent=22, bulletIndent=10, spaceAfter=3)
        self.cell = ParagraphStyle(
            "cell", base, fontSize=size - 0.8, leading=(size - 0.8) * 1.2, spaceAfter=0
        )
        self.cell_right = ParagraphStyle("cell right", self.cell, alignment=TA_RIGHT)
        self.head = ParagraphStyle("head", self.cell, fontName=bold, alignment=TA_CENTER)
        heading = {"spaceBefore": 6, "keepWithNext": 1}
        self.levels = {
            1: ParagraphStyle("h1", base, fontName=bold, fontSize=size + 1.4, leading=size + 4, **heading),
            2: ParagraphStyle("h2", base, fontName=bold, **heading),
            3: ParagraphStyle("h3", base, fontName=italic, **heading),
        }
        self.title = ParagraphStyle(
            "title", self.levels[1], alignment=TA_CENTER, fontSize=size + 3, leading=size + 7
        )

    def flowables(self, block: Block) -> Iterator[Flowable]:
        """Flowables of one block."""
        if isinstance(block, Heading):
            if block.entry:
                yield _Entry(block.entry, self.recorder)
            yield Paragraph(_rich(block.text), self.title if block.centred else self.levels[block.level])
        elif isinstance(block, Text):
            yield self._paragraph(block)
        elif isinstance(block, Figures):
            yield FiguresTable(block, self.theme, self.recorder)
        elif isinstance(block, Ruled):
            yield self._ruled(block)
        elif isinstance(block, Pair):
            yield self._pair(block)
        elif isinstance(block, PageBreak):
            if block.numbering:
                yield NextPageTemplate(block.numbering)
            yield BreakFlowable()
        elif isinstance(block, Space):
            yield Spacer(1, block.height)
        elif isinstance(block, RuleLine):
            yield HRFlowable(width="100%", thickness=block.width, color=black, spaceBefore=2, spaceAfter=4)
        elif isinstance(block, Contents):
            yield self._contents()

    def _paragraph(self, block: Text) -> Flowable:
        if block.centred:
            style = self.small_centred if block.small else self.centred
        else:
            style = self.small if block.small else self.bullet if block.bullet else self.text
        text = f"<bullet>•</bullet>{_rich(block.text)}" if block.bullet else _rich(block.text)
        return (
            _MarkedParagraph(text, style, self.recorder, block.mark) if block.mark else Paragraph(text, style)
        )

    def _ruled(self, block: Ruled) -> Flowable:
        widths = block.widths or (2.2, *(1.0 for _ in block.header[1:]))
        columns = list(zip(*block.rows, strict=True))
        right = [
            i > 0 and all(_NUMBER.fullmatch(text) for text in column) for i, column in enumerate(columns)
        ]
        full = letter[0] - 2 * _MARGIN
        last = len(block.rows) - 1
        rows = [[Paragraph(_rich(text), self.head) for text in block.header]]
        for i, row in enumerate(block.rows):
            strong = block.total and i == last
            rows.append(
                [
                    Paragraph(
                        f"<b>{_rich(text)}</b>" if strong else _rich(text),
                        self.cell_right if right[column] else self.cell,
                    )
                    for column, text in enumerate(row)
                ]
            )
        sizes = [full * width / sum(widths) for width in widths]
        table = _MarkedTable(rows, colWidths=sizes, spaceBefore=3, spaceAfter=10)
        table.recorder, table.mark = self.recorder, block.mark
        table.setStyle(
            TableStyle(
                [
                    ("GRID", (0, 0), (-1, -1), 0.5, black),
                    ("BACKGROUND", (0, 0), (-1, 0), Color(0.9, 0.9, 0.9)),
                    ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
                    ("TOPPADDING", (0, 0), (-1, -1), 2),
                    ("BOTTOMPADDING", (0, 0), (-1, -1), 3),
                ]
            )
        )
        return table

    def _pair(self, block: Pair) -> Flowable:
        half = (letter[0] - 2 * _MARGIN) / 2
        row = [Paragraph(_rich(block.left), self.centred), Paragraph(_rich(block.right), self.centred)]
        return Table([row], colWidths=[half, half], style=[("VALIGN", (0, 0), (-1, -1), "TOP")])

    def _contents(self) -> Flowable:
        style = self.cell
        rows = [
            [Paragraph(_rich(item), style), Paragraph(_rich(title), style), Paragraph(label, self.cell_right)]
            for item, title, label in self.contents
        ]
        rows = rows or [[Paragraph("", style)] * 3]
        return Table(
            [[Paragraph("", style), Paragraph("", style), Paragraph("<b>Page</b>", self.cell_right)], *rows],
            colWidths=[70, letter[0] - 2 * _MARGIN - 110, 40],
            style=[("TOPPADDING", (0, 0), (-1, -1), 2), ("BOTTOMPADDING", (0, 0), (-1, -1), 2)],
        )


def _rich(text: str) -> str:
    text = typographic(text)
    for box, markup in _BOXES.items():
        text = text.replace(box, markup)
    return text


def typeset(document: Document) -> Typeset:
    """Set ``document`` as a PDF on letter paper."""
    contents: list[tuple[str, str, str]] = []
    # The contents fit on a page of their own whether filled or not, so a second pass moves no heading.
    for _ in range(2 if Contents() in document.blocks else 1):
        recorder, target = Recorder(), io.BytesIO()
        setter = _Setter(document.theme, recorder, contents)
        story = [flowable for block in document.blocks for flowable in setter.flowables(block)]
        _Template(document, recorder, target).build(story)
        contents = recorder.entries
    return Typeset(target.getvalue(), tuple(recorder.places), tuple(recorder.labels))
