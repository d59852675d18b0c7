"""Turns a :class:`Document` into a PDF and says on which page each marked passage stands.

A document with a table of contents is set twice: the first pass finds the page of every heading, the
second prints the table. Only standard fonts are used and reportlab runs in its invariant mode, so that the
same document always gives the same bytes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from reportlab.lib.colors import Color, black
from reportlab.lib.enums import TA_CENTER, TA_JUSTIFY, TA_RIGHT
from reportlab.lib.pagesizes import letter
from reportlab.lib.styles import ParagraphStyle
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
    PageBreak,
    Pair,
    Ruled,
    RuleLine,
    Space,
    Text,
    Theme,
)
from finrag_pipeline.sample.figures_table import FiguresTable, fonts, typographic

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
