"""Sets a filing as a PDF and says on which page each marked passage stands.

Blocks of its text stand apart by an empty line::

    # Item 7. | Discussion       an item, listed in the contents
    # TITLE => Item 1. | Entry   the same, listed under another name; a dash stands for no number
    ## Section                   a section; ### is a run-in title
    Words                        a paragraph; <b>, <i> and <br/> are allowed
    * Words                      an item of a list
    | a | b |                    a bordered table, a row per line, the first one its header
    left || right                two texts side by side
    %0%                          the first of its tables of figures
    ---                          a new page; ``--- body`` starts the page numbers of the body
    ===                          a line across the page
    ~ 12                         vertical space in points
    [contents]                   the table of contents

A heading, paragraph or table may begin with options in brackets, ``[mark small centred]`` or
``[mark widths=2,1 total]``: the mark under which its place is recorded, and how it is set.

A document with a table of contents is set twice: the first pass finds the page of every heading, the
second prints the table. Only standard fonts are used and reportlab runs in its invariant mode, so that the
same document always gives the same bytes.
"""

from __future__ import annotations

import io
import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

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
    NullDraw,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
)

from finrag_pipeline.sample.content import Figures, Theme

_MARGIN = 54.0
_WIDTH = letter[0] - 2 * _MARGIN
_HANG = 5.0  # room to the right of the digits, where a closing parenthesis stands
_BELOW = 6.0  # room under a table, for the rules of its total
_ROMAN = ("", "i", "ii", "iii", "iv", "v")
_NUMBER = re.compile(r"[$(]*[\d,.]+[)%]*|—|")
_BOXES = {"☒": "[X]", "☐": "[&nbsp;&nbsp;]"}  # standard fonts have no ballot boxes
_OPTIONS = re.compile(r"\[([^\]]*)\] *")
_PLACED = re.compile(r"%(\d+)%")
_CONTENTS = "[contents]"


@dataclass(frozen=True)
class Place:
    """Where a marked passage stands: zero-based page, top and bottom in points from the top of the page."""

    mark: str
    page: int
    top: float
    bottom: float


def typeset(
    text: str, tables: Sequence[Figures], theme: Theme, title: str, numbering: str = "cover"
) -> tuple[bytes, list[Place]]:
    """Set ``text`` as a PDF on letter paper; also where its marked passages stand.

    Args:
        text: blocks in the markup of this module.
        tables: what ``%0%``, ``%1%`` … stand for.
        theme: how it looks.
        title: title in the PDF's metadata.
        numbering: page numbering of the first page: cover (no number) or body.
    """
    blocks = [block.strip() for block in re.split(r"\n\s*\n", text) if block.strip()]

    def built(contents: list[tuple[str, str, str]]) -> tuple[bytes, _Template]:
        target, setter = io.BytesIO(), _Setter(theme, tables, contents)
        template = _Template(theme, title, numbering, target)
        template.build([flowable for block in blocks for flowable in setter.flowables(block)])
        return target.getvalue(), template

    pdf, template = built([])
    if _CONTENTS in blocks:  # they fit on a page of their own whether filled or not: no heading moves
        pdf, template = built(template.entries)
    return pdf, template.places


def _fonts(theme: Theme) -> tuple[str, str, str]:
    """Regular, bold and italic face of a theme; all are standard PDF fonts."""
    if theme.serif:
        return "Times-Roman", "Times-Bold", "Times-Italic"
    return "Helvetica", "Helvetica-Bold", "Helvetica-Oblique"


def _typographic(text: str) -> str:
    """Straight quotation marks as typographic ones, as filings print them."""
    return re.sub(r'"([^"]*)"', "“\\1”", text.replace("'", "’"))


def _rich(text: str) -> str:
    text = _typographic(text)
    for box, markup in _BOXES.items():
        text = text.replace(box, markup)
    return text


class _Template(BaseDocTemplate):
    """Page templates of a filing: cover (no number), front (roman), body (arabic) and statements.

    It notes the number printed on each page, the places of marked passages, and (item, title, printed page
    number) of each entry of the contents.
    """

    def __init__(self, theme: Theme, title: str, numbering: str, target: io.BytesIO) -> None:
        super().__init__(
            target,
            pagesize=letter,
            leftMargin=_MARGIN,
            rightMargin=_MARGIN,
            title=title,
            author="Fictitious sample data",
            subject="A fictitious filing, generated as sample data; no such company exists.",
            invariant=1,
            pageCompression=1,
        )
        self.theme = theme
        self.labels: list[str] = []
        self.places: list[Place] = []
        self.entries: list[tuple[str, str, str]] = []
        self._counts = Counter[str]()
        frame = (_MARGIN, 50, _WIDTH, letter[1] - (100 if theme.header else 94))
        names = sorted(("cover", "front", "body", "statements"), key=lambda name: name != numbering)
        self.addPageTemplates(
            [
                PageTemplate(name, [Frame(*frame, 0, 0, 0, 0)], onPage=self._begin, onPageEnd=self._end)
                for name in names
            ]
        )

    def afterFlowable(self, flowable: Any) -> None:  # noqa: N802
        """Note what was just drawn (reportlab's interface)."""
        if entry := getattr(flowable, "entry", None):
            self.entries.append((*entry, self.labels[-1]))
        if mark := getattr(flowable, "mark", None):
            bottom = letter[1] - self.frame._y - flowable.getSpaceAfter()
            self.places.append(Place(mark, self.page - 1, bottom - flowable.height, bottom))

    def _label(self, kind: str) -> str:
        prefix = self.theme.statement_prefix
        series = "body" if kind == "statements" and prefix is None else kind
        self._counts[series] += 1
        count = self._counts[series]
        if kind == "statements":
            return f"{prefix or ''}{count}"
        return {"cover": "", "front": _ROMAN[min(count, 5)]}.get(kind, str(count))

    def _begin(self, canvas: Any, _: BaseDocTemplate) -> None:
        theme, kind = self.theme, self.pageTemplate.id
        label = self._label(kind)
        self.labels.append(label)
        if theme.page_labels:
            canvas.addPageLabel(canvas.getPageNumber() - 1, prefix=label or "Cover")
        if theme.header and kind != "cover":
            canvas.saveState()
            canvas.setFont(_fonts(theme)[1], theme.size - 1)
            canvas.drawCentredString(letter[0] / 2, letter[1] - 34, theme.header)
            canvas.restoreState()

    def _end(self, canvas: Any, _: BaseDocTemplate) -> None:
        theme, label = self.theme, self.labels[-1]
        if not label:
            return
        canvas.saveState()
        canvas.setFont(_fonts(theme)[0], theme.size - 0.5)
        if theme.footer:
            canvas.drawString(_MARGIN, 30, theme.footer)
            canvas.drawRightString(letter[0] - _MARGIN, 30, label)
        else:
            canvas.drawCentredString(letter[0] / 2, 30, label)
        canvas.restoreState()


class _Whole(Paragraph):
    """A paragraph that is never split."""

    def split(self, availWidth: float, availHeight: float) -> list[Flowable]:  # noqa: N803
        return []


class _Table(Table):
    """A table whose place may be recorded; on a further page its title says '(continued)'.

    With ``by_column`` its cells are drawn column after column.
    """

    mark: str | None = None
    title_row: int | None = None
    by_column = False

    def wrap(self, availWidth: float, availHeight: float) -> tuple[float, float]:  # noqa: N803
        self.width, self.height = super().wrap(availWidth, availHeight)
        return self.width, self.height

    def split(self, availWidth: float, availHeight: float) -> list[Flowable]:  # noqa: N803
        parts = super().split(availWidth, availHeight - _BELOW)
        for part in parts:
            part.mark, part.title_row, part.by_column = self.mark, self.title_row, self.by_column
        for rest in parts[1:]:
            if (row := self.title_row) is not None:
                title, *empty = rest._cellvalues[row]
                rest._cellvalues[row] = [f"{title} (continued)", *empty]
        return list(parts)

    def draw(self) -> None:
        self._cells: list[Any] = []
        super().draw()
        self._curcellstyle = None
        if self.by_column:
            heads = self._rowpositions[self.repeatRows]
            # Its dollar signs come with their column of figures.
            starts = self._colpositions[:1] + self._colpositions[1::3]
            self._cells.sort(key=lambda cell: bisect(starts, cell[2][0]) if cell[2][1] < heads else 0)
        for cell in self._cells:
            super()._drawCell(*cell)

    def _drawCell(self, *cell: Any) -> None:  # noqa: N802
        if cell[0] != "":
            self._cells.append(cell)


class _Setter:
    """Turns blocks into flowables in the styles of a theme."""

    def __init__(
        self, theme: Theme, tables: Sequence[Figures], contents: Sequence[tuple[str, str, str]]
    ) -> None:
        self.theme, self.tables, self.contents = theme, tables, contents
        self.regular, self.bold, self.italic = _fonts(theme)
        size = theme.size
        base = ParagraphStyle(
            "base", fontName=self.regular, fontSize=size, leading=size * 1.24, spaceAfter=size * 0.72
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
        self.head = ParagraphStyle("head", self.cell, fontName=self.bold, alignment=TA_CENTER)
        heading = {"spaceBefore": 6, "keepWithNext": 1}
        h1 = ParagraphStyle("h1", base, fontName=self.bold, fontSize=size + 1.4, leading=size + 4, **heading)
        h2 = ParagraphStyle("h2", base, fontName=self.bold, **heading)
        h3 = ParagraphStyle("h3", base, fontName=self.italic, **heading)
        self.levels = {"#": h1, "##": h2, "###": h3}
        self.title = ParagraphStyle("title", h1, alignment=TA_CENTER, fontSize=size + 3, leading=size + 7)

    def flowables(self, block: str) -> Iterator[Flowable]:
        """Flowables of one block."""
        if placed := _PLACED.fullmatch(block):
            yield self._figures(self.tables[int(placed[1])])
        elif block == _CONTENTS:
            yield self._contents()
        elif block == "===":
            yield HRFlowable(width="100%", thickness=1, color=black, spaceBefore=2, spaceAfter=4)
        elif block.startswith("---"):
            if numbering := block[3:].strip():
                yield NextPageTemplate(numbering)
            yield PageBreak()
        elif block.startswith("~"):
            yield Spacer(1, float(block[1:]))
        else:
            yield from self._words(block)

    def _words(self, block: str) -> Iterator[Flowable]:
        """Flowables of a heading, paragraph, list item, bordered table or pair of texts."""
        start, _, rest = block.partition(" ")
        kind = start if start == "*" or start in self.levels else ""
        rest = rest.lstrip() if kind else block
        found = _OPTIONS.match(rest)
        options = set(found[1].split()) if found else set()
        rest = rest[found.end() :] if found else rest
        flags = options & {"small", "centred", "total"}
        widths = next((option for option in options if option.startswith("widths=")), "")
        mark = next(iter(options - flags - {widths}), None)
        if rest.lstrip().startswith("| "):
            yield self._ruled(rest, mark, widths.removeprefix("widths="), "total" in flags)
            return
        line = " ".join(rest.split())
        if kind in self.levels:
            title, _, listed = line.partition(" => ")
            if " | " in (listed or title):
                number, _, name = (listed or title).partition(" | ")
                entry = NullDraw()
                entry.entry, entry.keepWithNext = (number.strip().removeprefix("-"), name), 1
                yield entry
            style = self.title if "centred" in flags else self.levels[kind]
            yield Paragraph(_rich(title.replace(" | ", " ")), style)
        elif " || " in line:
            pair = [Paragraph(_rich(side), self.centred) for side in line.split(" || ")]
            yield Table([pair], colWidths=[_WIDTH / 2] * 2, style=[("VALIGN", (0, 0), (-1, -1), "TOP")])
        else:
            if "centred" in flags:
                style = self.small_centred if "small" in flags else self.centred
            else:
                style = self.small if "small" in flags else self.bullet if kind else self.text
            line = f"<bullet>•</bullet>{_rich(line)}" if kind else _rich(line)
            paragraph = _Whole(line, style) if mark else Paragraph(line, style)
            paragraph.mark = mark
            yield paragraph

    def _ruled(self, block: str, mark: str | None, widths: str, total: bool) -> Flowable:
        """A bordered table, never split; columns of figures are right-aligned, a row of totals is bold."""
        header, *rows = [
            [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
            for line in block.splitlines()
            if line.strip()
        ]
        shares = (
            [float(width) for width in widths.split(",")] if widths else [2.2, *[1.0] * (len(header) - 1)]
        )
        styles = [
            self.cell_right if i and all(map(_NUMBER.fullmatch, column)) else self.cell
            for i, column in enumerate(zip(*rows, strict=True))
        ]
        cells = [[Paragraph(_rich(text), self.head) for text in header]]
        for row in rows:
            form = "<b>{}</b>" if total and row is rows[-1] else "{}"
            cells.append(
                [Paragraph(form.format(_rich(t)), style) for t, style in zip(row, styles, strict=True)]
            )
        table = _Table(
            cells,
            colWidths=[_WIDTH * share / sum(shares) for share in shares],
            spaceBefore=3,
            spaceAfter=10,
            style=[
                ("GRID", (0, 0), (-1, -1), 0.5, black),
                ("BACKGROUND", (0, 0), (-1, 0), Color(0.9, 0.9, 0.9)),
                ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
                ("TOPPADDING", (0, 0), (-1, -1), 2),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 3),
                ("NOSPLIT", (0, 0), (-1, -1)),
            ],
        )
        table.mark = mark
        return table

    def _contents(self) -> Flowable:
        rows = [("", "", "<b>Page</b>"), *(self.contents or [("", "", "")])]
        styles = (self.cell, self.cell, self.cell_right)
        return Table(
            [[Paragraph(_rich(t), style) for t, style in zip(row, styles, strict=True)] for row in rows],
            colWidths=[70, _WIDTH - 110, 40],
            style=[("TOPPADDING", (0, 0), (-1, -1), 2), ("BOTTOMPADDING", (0, 0), (-1, -1), 2)],
        )

    def _figures(self, figures: Figures) -> Flowable:
        """A table of figures: right-aligned under their headings, dollar signs apart, rules at the totals.

        It may break across pages, though never after a heading; the rest repeats the title. Three columns of
        the table carry a column of figures: a gap between the rules, the dollar sign, the figure.
        """
        count, shade = len(figures.columns), self.theme.shade
        size = self.theme.size - (0.7 if count > 4 else 0.2)
        step = size * 1.32
        share = figures.label_share or {1: 0.72, 2: 0.62, 3: 0.55, 4: 0.44}.get(count, 0.36)
        width = _WIDTH * (1 - share) / count
        rows: list[list[Any]] = []
        heights: list[float | None] = []
        style: list[tuple[Any, ...]] = [
            ("FONT", (0, 0), (-1, -1), self.regular, size, step),
            ("VALIGN", (0, 0), (-1, -1), "BOTTOM"),
            ("LEFTPADDING", (0, 0), (-1, -1), 0),
            ("RIGHTPADDING", (0, 0), (-1, -1), 0),
            ("BOTTOMPADDING", (0, 0), (-1, -1), 0.06 * size),
            ("TOPPADDING", (0, 0), (-1, -1), -0.06 * size),
        ]

        def head(
            texts: Sequence[tuple[str, int, int]], font: str, points: float, above: float, height: float
        ) -> None:
            """A row of texts, each centred from one column to another, ``above`` points above its end."""
            row = [""] * (1 + 3 * count)
            for text, first, last in texts:
                row[first] = text
                style.append(("SPAN", (first, len(rows)), (last, len(rows))))
            everywhere = (0, len(rows)), (-1, len(rows))
            style.append(("FONT", *everywhere, font, points, step))
            style.append(("ALIGN", *everywhere, "CENTER"))
            style.append(("BOTTOMPADDING", *everywhere, above + points - step))
            rows.append(row)
            heights.append(height)

        for text in map(_typographic, figures.title):
            below = 4 if len(rows) == len(figures.title) - 1 else 0
            head([(text, 0, -1)], self.bold, size + 0.4, below, step * 1.05 + below)
        if figures.note:
            head([(figures.note, 0, -1)], self.italic, size - 0.3, 4, step + 2)
            if not figures.title:
                style.append(("ALIGN", (0, 0), (0, 0), "LEFT"))
        if figures.spans:
            texts, first = [], 1
            for text, columns in figures.spans:
                texts.append((_typographic(text), first, first + 3 * columns - 1))
                style.append(("LINEBELOW", (first + 1, len(rows)), (texts[-1][2], len(rows)), 0.5, black))
                first += 3 * columns
            head(texts, self.bold, size, 4, step + 3)
        if any(figures.columns):
            names = [simpleSplit(_typographic(text), self.bold, size, width - 8) for text in figures.columns]
            ends = range(3, 3 * count + 1, 3)
            style += [("LINEBELOW", (end - 1, len(rows)), (end, len(rows)), 0.5, black) for end in ends]
            texts = [("\n".join(name), end - 1, end) for name, end in zip(names, ends, strict=True)]
            head(texts, self.bold, size, 3, step * max(map(len, names)))
        head([], self.regular, size, 0, 4)

        heads, shaded = len(rows), False
        style.append(("NOSPLIT", (0, 0), (0, min(heads + 5, heads + len(figures.lines) - 1))))
        style.append(("NOSPLIT", (0, -min(3, len(figures.lines))), (0, -1)))
        for i, line in enumerate(figures.lines, heads):
            heading, total = line.kind == "heading", line.kind == "total"
            font = self.bold if heading or (total and not self.theme.serif) else self.regular
            gap = {"heading": 0.0 if line.indent else 3.0, "total": 1.5}.get(line.kind, 0.0)
            indent = 10.0 * line.indent + 8
            label = ParagraphStyle(
                "label",
                fontName=self.bold if heading else font,
                fontSize=size,
                leading=step,
                leftIndent=indent,
                firstLineIndent=-8,
                rightIndent=8,
            )
            row = [Paragraph(escape(_typographic(line.label)), label)]
            style.append(("TOPPADDING", (0, i), (-1, i), gap - 0.06 * size))
            style.append(("FONT", (0, i), (-1, i), font, size, step))
            if heading:
                style.append(("SPAN", (0, i), (-1, i)))
                style.append(("NOSPLIT", (0, i), (0, i + 1)))
            elif shade:
                shaded = not shaded
                style.append(("BACKGROUND", (0, i), (-1, i), Color(*shade) if shaded else None))
            for end, text in enumerate(line.cells, 1):
                row += ["", "$" if line.dollar and text else "", text]
                here = (3 * end - 1, i), (3 * end, i)
                tail = re.search(r"\)%?$", text)
                hang = stringWidth(tail[0], font, size) if tail else 0
                style.append(("LEFTPADDING", here[0], here[0], 3))
                style.append(("ALIGN", here[1], here[1], "RIGHT"))
                style.append(("RIGHTPADDING", here[1], here[1], _HANG - hang))
                if text and line.kind in ("subtotal", "total"):
                    style.append(("LINEABOVE", *here, 0.5, black))
                if text and total:
                    style.append(("LINEBELOW", *here, 0.5, black, None, None, None, 2, 1.3))
            rows.append(row + [""] * (1 + 3 * count - len(row)))
            heights.append(None)
        table = _Table(
            rows,
            colWidths=[_WIDTH * share, *[4, 10, width - 14] * count],
            rowHeights=heights,
            style=style,
            repeatRows=heads,
            spaceBefore=4,
            spaceAfter=20,
        )
        table.mark, table.by_column = figures.mark, self.theme.column_major
        table.title_row = len(figures.title) - 1 if figures.title else None
        return table
