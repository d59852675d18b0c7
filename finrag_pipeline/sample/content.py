"""What a document says, free of any typesetting: headings, paragraphs, tables, page breaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Heading:
    """A heading.

    Args:
        text: the heading.
        level: 1 for an item, 2 for a section, 3 for a run-in title in italics.
        entry: (item number, title) when it stands in the table of contents.
        centred: set in the middle of the line.
    """

    text: str
    level: int = 2
    entry: tuple[str, str] | None = None
    centred: bool = False


@dataclass(frozen=True)
class Text:
    """A paragraph, or with ``bullet`` a list item.

    Args:
        text: the words; ``<b>`` and ``<i>`` are allowed.
        mark: name under which its page is recorded; a marked paragraph is never split.
        bullet: set as a list item.
        centred: set in the middle of the line.
        small: set in small print.
    """

    text: str
    mark: str | None = None
    bullet: bool = False
    centred: bool = False
    small: bool = False


@dataclass(frozen=True)
class Line:
    """A row of a financial table.

    Args:
        label: text of the first column.
        cells: figures as printed; empty for a heading within the table.
        kind: line, subtotal (rule above), total (double rule below) or heading (bold, no figures).
        dollar: print a dollar sign apart from each figure.
        indent: depth of the label.
    """

    label: str
    cells: tuple[str, ...] = ()
    kind: str = "line"
    dollar: bool = False
    indent: int = 0


@dataclass(frozen=True)
class Figures:
    """A borderless financial table, as statements are set.

    Args:
        lines: rows.
        columns: column headings, left to right.
        spans: headings over groups of columns: (text, number of columns).
        title: title lines above the table, centred and bold.
        note: the unit, for example ``(in millions, except per share data)``.
        mark: name under which its page is recorded.
        label_share: share of the width that the label column takes; the default leaves room for the figures.
    """

    lines: Sequence[Line]
    columns: tuple[str, ...]
    spans: tuple[tuple[str, int], ...] = ()
    title: tuple[str, ...] = ()
    note: str = ""
    mark: str | None = None
    label_share: float | None = None


@dataclass(frozen=True)
class Ruled:
    """A bordered table; columns of figures are right-aligned.

    Args:
        header: column headings.
        rows: cells as text, all rows as long as the header.
        mark: name under which its page is recorded.
        widths: relative widths of the columns.
        total: whether the last row is a total, set in bold.
    """

    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    mark: str | None = None
    widths: tuple[float, ...] | None = None
    total: bool = False


@dataclass(frozen=True)
class Pair:
    """Two short texts side by side, as covers and signature blocks have them."""

    left: str
    right: str


@dataclass(frozen=True)
class PageBreak:
    """A new page; ``numbering`` names the page numbering that starts there (front, body, statements)."""

    numbering: str | None = None


@dataclass(frozen=True)
class Space:
    """Vertical space in points."""

    height: float


@dataclass(frozen=True)
class RuleLine:
    """A horizontal line across the page."""

    width: float = 1.0


@dataclass(frozen=True)
class Contents:
    """The table of contents, filled from the headings."""


Block = Heading | Text | Figures | Ruled | Pair | PageBreak | Space | RuleLine | Contents


@dataclass(frozen=True)
class Theme:
    """How the documents of a company look.

    Args:
        serif: Times, else Helvetica.
        size: type size of the text in points.
        shade: colour behind every other row of a borderless table, as (red, green, blue) in 0..1.
        statement_prefix: prefix of the page numbers of the financial statements, for example ``F-``; None
            numbers them on.
        header: text at the top of every page after the cover.
        footer: words before the page number.
        page_labels: whether the PDF declares its page labels.
        column_major: tables are drawn column after column, so that an extractor that follows the drawing
            order separates labels from figures.
    """

    serif: bool = True
    size: float = 9.5
    shade: tuple[float, float, float] | None = None
    statement_prefix: str | None = None
    header: str = ""
    footer: str = ""
    page_labels: bool = False
    column_major: bool = False


@dataclass(frozen=True)
class Document:
    """A document to be typeset.

    Args:
        name: name of the filing.
        title: title in the PDF's metadata.
        blocks: what stands in it.
        theme: how it looks.
        numbering: page numbering of the first page: cover (no number) or body.
    """

    name: str
    title: str
    blocks: Sequence[Block]
    theme: Theme
    numbering: str = "cover"
