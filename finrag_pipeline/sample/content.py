"""How a company's documents look, and what stands in their financial tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A row of a financial table.

    Args:
        label: text of the first column.
        cells: figures as printed; empty for a heading within the table.
        kind: line, opening, subtotal (rule above), total (double rule below) or heading (bold, no figures).
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
