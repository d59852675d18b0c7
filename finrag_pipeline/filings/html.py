"""The HTML reader: the only module that knows lxml.

Filers cut an HTML filing into pages by CSS page breaks, as a browser prints it. `parse` walks the document
once in the order of its text and tells what stands on which page: lines as a person reads them, and tables as
rows of cells. Scripts are never run, nothing outside the file is loaded, and what a browser would not show is
left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from itertools import chain, groupby, product
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree
from lxml.etree import _Element as Element

from finrag_pipeline.errors import FilingError
from finrag_pipeline.filings.submission import documents, read_file

HTML_READER_VERSION = "2"
MOST_BYTES = 256 << 20
"""Size of a file past which it is refused: a tree takes some ten times the memory of its file."""
_LONGEST_PAGE = 10_000
"""Characters after which a page without a break of its own ends, as it would on paper."""
_LONGEST_CELL = 120
_SUBMISSION = "submission"
"""Root over several documents."""
_AGAIN = "Download the filing again."
_MOST_SPAN = 1000
_GAP = 3.0
"""Points of padding inside a line that part its words."""


class Line(NamedTuple):
    """A line of text: a paragraph, a heading, a row of a table.

    Attributes:
        page: zero-based.
        order: rank among all lines of the filing.
    """

    page: int
    order: int
    text: str


@dataclass(slots=True)
class HtmlCell:
    """A ``td`` or ``th`` that shows something.

    Attributes:
        row, column: zero-based place in the grid of the table, spans counted.
        text: its lines in one.
        indent: of its first line, in points.
        anchor: as `HtmlFiling.anchor`.
    """

    row: int
    column: int
    row_span: int
    column_span: int
    text: str
    indent: float
    anchor: str
    heads: bool = False


@dataclass(slots=True)
class HtmlTable:
    """A ``table`` without another one inside; one that goes on over a page break comes once for each page.

    Attributes:
        page: zero-based.
        first, last: ``order`` of its first and last line.
        continues: it is the rest of the table before.
    """

    page: int
    first: int
    last: int
    columns: int
    cells: list[HtmlCell]
    continues: bool = False


@dataclass(slots=True)
class HtmlPage:
    """A page: what stands between two page breaks, with the number of images it shows.

    Attributes:
        part: type of the exhibit that it belongs to; None in the main document.
    """

    part: str | None = None
    lines: list[Line] = field(default_factory=list)
    images: int = 0

    @property
    def text(self) -> str:
        """Its lines, one below the other."""
        return "\n".join(line.text for line in self.lines)


class HtmlFiling:
    """A parsed filing.

    Attributes:
        root: the tree. Names of elements and attributes are in lower case, prefixes are part of the name:
            ``ix:nonfraction`` with ``contextref``.
        pages: in order; the last has text unless all are empty.
        tables: in order.
    """

    def __init__(self, root: Element) -> None:
        self.root = root
        self.pages: list[HtmlPage] = [HtmlPage()]
        self.tables: list[HtmlTable] = []
        self._pages_of: dict[Element, int] = {}
        self._ends: dict[Element, tuple[int, int]] = {}
        self._ids: dict[str, Element] = {}
        self._anchors: dict[Element, str] = {}
        _Walk(self).run()

    def page_of(self, element: Element) -> int | None:
        """Zero-based page on which an element of the tree begins; None for one that is not shown."""
        return self._pages_of.get(element)

    def events(self) -> Any:
        """An iterator over starts and ends of all elements, which can skip what is below the last one."""
        return etree.iterwalk(self.root, events=("start", "end"))

    def pages_around(self, element: Element) -> tuple[int, int, int] | None:
        """Pages on which an element begins and ends, and the text behind it begins; None if not shown."""
        start = self._pages_of.get(element)
        return None if start is None else (start, *self._ends.get(element, (start, start)))

    def anchor(self, element: Element) -> str:
        """A name for an element: ``#`` and its identifier, or its place below the nearest that has one.

        ``#f-51`` is the element with this identifier, ``/1/0/4`` the fifth child of the first child of the
        second child of the root, and ``#f-51/0`` the first child of that with the identifier.
        """
        if (known := self._anchors.get(element)) is not None:
            return known
        name, parent = element.get("id"), element.getparent()
        if name and "/" not in name and self._ids.get(name) is element:
            found = f"#{name}"
        elif parent is None:
            found = ""
        else:
            found = f"{self.anchor(parent)}/{parent.index(element)}"
        self._anchors[element] = found
        return found

    def element(self, anchor: str) -> Element | None:
        """The element that `anchor` named so; None where there is none."""
        name, *steps = anchor.split("/")
        found = self._ids.get(name[1:]) if name else self.root
        for step in steps:
            if found is None or not step.isdigit() or int(step) >= len(found):
                return None
            found = found[int(step)]
        return found


def read_html(path: Path) -> HtmlFiling:
    """The filing in a file; the latest is kept, as pages, tables and tags are read one after the other.

    Raises:
        FilingError: as `parse`, or the file cannot be opened.
    """
    try:
        state = path.stat()
    except OSError:  # reading it says why
        return parse(read_file(path), path.name)
    return _parsed(path, state.st_ino, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=1)
def _parsed(path: Path, *_state: int) -> HtmlFiling:
    return parse(read_file(path), path.name)


def parse(data: bytes, name: str = "The document") -> HtmlFiling:
    """Read an HTML or inline-XBRL filing; ``name`` is how errors call it.

    Of the SEC's full submissions the main document is read, then exhibits that hold a release or an annual
    report: their trees stand in ``document`` elements below the root.

    Raises:
        FilingError: it is empty, too large, nested too deeply, or holds no elements at all.
    """
    if len(data) > MOST_BYTES:
        raise FilingError(
            f"{name} has {len(data):,} bytes; HTML is read up to {MOST_BYTES:,}.", "Split it by its exhibits."
        )
    if not data.strip():
        raise FilingError(f"{name} is empty ({len(data)} bytes).", _AGAIN)
    main, *exhibits = documents(data)
    root = _tree(decode(main.data), name)
    if exhibits:
        first, root = root, etree.Element(_SUBMISSION)
        root.append(first)
        for exhibit in exhibits:
            part = etree.SubElement(root, "document", type=exhibit.kind)
            text = decode(exhibit.data)
            text = text if _MARKED_UP.search(text) else f"<pre>{escape(text)}</pre>"
            part.append(_tree(text, f"{exhibit.kind} of {name}"))
    return HtmlFiling(root)


def _tree(text: str, name: str) -> Element:
    # References to characters mean Windows-1252 where Unicode has control characters.
    text = _OLD_REFERENCE.sub(lambda match: bytes([int(match[1])]).decode("cp1252", "replace"), text)
    parser = etree.HTMLParser(
        encoding="utf-8", no_network=True, huge_tree=True, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:
        raise FilingError(f"{name} is not HTML: {error.msg}.", _AGAIN) from error
    # Past this depth libxml2 drops the rest of the document, and only notes it.
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" or "depth" in entry.message for entry in parser.error_log):
        raise FilingError(
            f"{name} is nested too deeply to be read.", "Open it in a browser, print it to PDF, ingest that."
        )
    if root is None:
        raise FilingError(f"{name} holds no HTML.", _AGAIN)
    return root


_CHARSET = re.compile(rb"charset\s*=\s*[\"']?\s*([\w-]+)", re.IGNORECASE)


def decode(data: bytes) -> str:
    """Text of a document: UTF-8 where it is that, else the character set it names, else Windows-1252."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        named = _CHARSET.search(data[:4096])
    # A document that is no UTF-8 errs when it says so.
    charset = named[1].decode() if named and not named[1].lower().startswith(b"utf") else "cp1252"
    try:
        return data.decode(charset, "replace")
    except LookupError:
        return data.decode("cp1252", "replace")


_OLD_REFERENCE = re.compile(r"&#(1[345]\d|12[89]);")
_MARKED_UP = re.compile(r"<(?:html|body|div|p|td|font|pre|br)\b", re.IGNORECASE)


class _Style(NamedTuple):
    hidden: bool = False
    before: bool = False
    after: bool = False
    inline: bool = False
    raised: bool = False
    indent: float = 0.0


_PLAIN = _Style()
_BREAK = r"(?:page-)?break-{}\s*:\s*(?:always|page|left|right|recto|verso)"
_BEFORE, _AFTER = (re.compile(_BREAK.format(side), re.IGNORECASE) for side in ("before", "after"))
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)", re.IGNORECASE)
_INLINE = re.compile(r"display\s*:\s*inline(?!-)", re.IGNORECASE)
_RAISED = re.compile(r"vertical-align\s*:\s*(?:super|top\b(?=.*font-size))", re.IGNORECASE)
_LEFT = re.compile(
    r"(?:padding-left|margin-left|text-indent)\s*:\s*(-?[\d.]+)\s*(pt|px|em|in|%)?", re.IGNORECASE
)
_BOX = re.compile(r"(?:padding|margin)\s*:\s*([^;]+)", re.IGNORECASE)
_POINTS = {"pt": 1.0, "px": 0.75, "em": 10.0, "in": 72.0, "%": 5.0, "": 0.75}


@lru_cache(maxsize=1 << 14)
def _style(css: str) -> _Style:
    indent = sum(float(size) * _POINTS[unit.lower()] for size, unit in _LEFT.findall(css) if size.strip("-."))
    for sides in _BOX.findall(css):
        # Four sizes end with that of the left side, two with that of both sides.
        sizes = sides.split()
        left = re.fullmatch(r"(-?[\d.]+)(pt|px|em|in|%)?", sizes[-1] if len(sizes) in (1, 2, 4) else sizes[1])
        if left and left[1].strip("-."):
            indent += float(left[1]) * _POINTS[(left[2] or "").lower()]
    return _Style(
        bool(_HIDDEN.search(css)),
        bool(_BEFORE.search(css)),
        bool(_AFTER.search(css)),
        bool(_INLINE.search(css)),
        bool(_RAISED.search(css)),
        indent,
    )


_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")


def _rules(root: Element) -> dict[str, _Style]:
    """What the style sheets inside a document say of classes, as far as it matters here."""
    found: dict[str, _Style] = {}
    for sheet in root.iter("style"):
        for selectors, css in _RULE.findall(sheet.text or ""):
            for selector in selectors.split(","):
                if re.fullmatch(r"\s*\w*\.[\w-]+\s*", selector) and (style := _style(css)) != _PLAIN:
                    found[selector.split(".")[1].strip()] = style
    return found


# fmt: off
_NEVER_SHOWN = frozenset({
    "head", "script", "style", "title", "noscript", "template", "ix:header", "ix:hidden", "ix:references",
    "ix:resources", "object", "iframe", "svg", "math", "select", "textarea", "audio", "video",
})
BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "div", "dl", "dt",
    "fieldset", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "li",
    "main", "nav", "ol", "p", "page", "pre", "section", "table", "tbody", "td", "tfoot", "th", "thead", "tr",
    "ul",
})
# fmt: on
_RAISE = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(slots=True)
class _Row:
    page: int
    cells: list[tuple[Element, list[Line], float]] = field(default_factory=list)
    first: int = -1
    last: int = -1


@dataclass(slots=True)
class _Frame:
    """A table that is open."""

    rows: list[_Row] = field(default_factory=list)
    nests: bool = False


@dataclass(slots=True)
class _Buffer:
    """A cell that is open."""

    lines: list[Line] = field(default_factory=list)
    indent: float | None = None
    depth: float = 0.0


class _Walk:
    """One way through a document, in the order of its text."""

    def __init__(self, filing: HtmlFiling) -> None:
        self.filing = filing
        self.rules = _rules(filing.root)
        self.page = 0
        self.part: str | None = None
        self.order = 0
        self.used = 0
        """Characters on the page so far."""
        self.pieces: list[str] = []
        self.frames: list[_Frame] = []
        self.buffers: list[_Buffer] = []
        self.raised = self.kept = 0

    def run(self) -> None:
        filing = self.filing
        skipped: Element | None = None
        walk = filing.events()
        for event, element in walk:
            tag = element.tag
            if event == "start":
                style = self._style_of(element)
                if (name := element.get("id")) is not None:
                    filing._ids.setdefault(name, element)
                if style.hidden or tag in _NEVER_SHOWN:
                    skipped = element
                    walk.skip_subtree()
                    continue
                self._start(element, tag, style)
                filing._pages_of[element] = self.page
                if element.text:
                    self._text(element.text)
            else:
                if element is skipped:
                    skipped = None
                else:
                    self._end(element, tag, self._style_of(element))
                if element.tail and element is not filing.root:
                    self._text(element.tail)
        self._flush()
        while len(filing.pages) > 1 and not (filing.pages[-1].lines or filing.pages[-1].images):
            filing.pages.pop()

    def _style_of(self, element: Element) -> _Style:
        css, names = element.get("style"), element.get("class")
        if names and self.rules and (known := [self.rules[n] for n in names.split() if n in self.rules]):
            *flags, indents = zip(*known, _style(css or ""), strict=True)
            return _Style._make([*map(any, flags), sum(indents)])
        return _style(css) if css else _PLAIN

    def _start(self, element: Element, tag: str, style: _Style) -> None:
        block = tag in BLOCKS and not (style.inline and tag in ("div", "p"))
        if block:
            self._flush()
            if self.buffers:
                self.buffers[-1].depth += style.indent
        if tag == "document" and element.getparent().tag == _SUBMISSION:
            self._break()
            self.part = self.filing.pages[self.page].part = element.get("type")
        if style.before or tag == "page" or (block and not self.frames and self.used > _LONGEST_PAGE):
            self._break()
        if tag == "table":
            if self.frames:
                self.frames[-1].nests = True
            self.frames.append(_Frame())
        elif tag == "tr" and self.frames:
            self.frames[-1].rows.append(_Row(self.page))
        elif tag in ("td", "th") and self.frames:
            if not self.frames[-1].rows:
                self.frames[-1].rows.append(_Row(self.page))
            self.buffers.append(_Buffer(depth=style.indent))
        elif tag == "br" and self.buffers:
            self.pieces.append(" ")  # in a cell a text goes on in the next line as one
        elif tag == "br":
            self._flush()
        elif tag == "img":
            self.filing.pages[self.page].images += 1
        elif tag == "li":
            self.pieces.append("• ")
        elif tag == "pre":
            self.kept += 1
        elif not block and style.indent > _GAP:
            self.pieces.append(" ")
        if tag == "sup" or style.raised:
            self.raised += 1

    def _end(self, element: Element, tag: str, style: _Style) -> None:
        if tag == "sup" or style.raised:
            self.raised -= 1
        if tag in BLOCKS and not (style.inline and tag in ("div", "p")):
            self._flush()
            if self.buffers:
                self.buffers[-1].depth -= style.indent
        if tag in ("td", "th") and self.frames and self.buffers:
            buffer = self.buffers.pop()
            self.frames[-1].rows[-1].cells.append((element, buffer.lines, buffer.indent or 0.0))
        elif tag == "tr" and self.frames:
            self._end_row(self.frames[-1].rows[-1])
        elif tag == "table" and self.frames:
            frame = self.frames.pop()
            if not frame.nests:
                self.filing.tables += _tables(frame.rows, self.filing)
        elif tag == "pre":
            self.kept -= 1
        before = self.page
        if style.after:
            self._flush()
            self._break()
        if self.page != self.filing._pages_of[element]:
            self.filing._ends[element] = before, self.page

    def _text(self, text: str) -> None:
        if self.kept and "\n" in text:
            for line in text.split("\n"):
                self.pieces.append(line)
                self._flush()
            return
        if self.buffers and self.buffers[-1].indent is None and (bare := text.strip()):
            buffer = self.buffers[-1]
            lead = "".join(self.pieces) + text[: text.index(bare)]
            buffer.indent = buffer.depth + 2.5 * lead.count("\xa0")
        if self.raised:
            bare = text.strip()
            text = f" {bare.translate(_RAISE)}" if bare.isdigit() else f" {text}"
        self.pieces.append(text)

    def _flush(self) -> None:
        if not self.pieces:
            return
        text = " ".join("".join(self.pieces).split())
        self.pieces.clear()
        if text:
            self._print(Line(self.page, self.order, text))
            self.order += 1
            self.used += len(text)

    def _print(self, line: Line) -> None:
        (self.buffers[-1].lines if self.buffers else self.filing.pages[line.page].lines).append(line)

    def _break(self) -> None:
        """Go on to the next page, unless nothing stands on this one: breaks that meet are one."""
        if self.used or self.filing.pages[self.page].images:
            self.filing.pages.append(HtmlPage(self.part))
            self.page += 1
            self.used = 0

    def _end_row(self, row: _Row) -> None:
        """Print the cells of a row: on one line, or one below the other where one is more than a line."""
        shown = [lines for _, lines, _ in row.cells if lines]
        if not shown:
            return
        row.first, row.last = shown[0][0].order, shown[-1][-1].order
        short = all(
            sum(len(line.text) for line in lines) <= _LONGEST_CELL or len(lines) == 1 for lines in shown
        )
        if short and shown[0][0].page == shown[-1][-1].page:
            texts = join_cells([" ".join(line.text for line in lines) for lines in shown])
            shown = [[Line(shown[0][0].page, row.first, " ".join(texts))]]
        for line in chain(*shown):
            self._print(line)


_OPENS = re.compile(r"(?:[A-Z]{0,3}[$€£¥]|[(\[])\s*[(\[]?")
_CLOSES = re.compile(r"[)\]]?\s*%?\s*[)\]]?[*†‡⁰-⁹¹²³]*(?:\([a-z]\))?")


def join_cells(texts: list[str]) -> list[str]:
    """Texts of cells side by side, with signs set apart given back to their numbers.

    A currency sign or an opening parenthesis belongs to the next text, a closing one or a per cent sign to
    the one before.
    """
    joined: list[str] = []
    opened = ""
    for text in texts:
        if joined and not opened and _CLOSES.fullmatch(text):
            joined[-1] += text
        elif _OPENS.fullmatch(text):
            opened += text
        else:
            joined.append(f"{opened}{text}")
            opened = ""
    return [*joined, opened] if opened else joined


def _tables(rows: list[_Row], filing: HtmlFiling) -> Iterator[HtmlTable]:
    """The rows of a table in a grid, one table for each page on which they stand."""
    taken: set[tuple[int, int]] = set()
    cells: list[HtmlCell] = []
    for number, row in enumerate(rows):
        column = 0
        for element, lines, indent in row.cells:
            while (number, column) in taken:
                column += 1
            across, down = _span(element, "colspan"), min(_span(element, "rowspan"), len(rows) - number)
            taken |= set(product(range(number + 1, number + down), range(column, column + across)))
            if lines:
                text = " ".join(line.text for line in lines)
                heads = element.tag == "th"
                anchor = filing.anchor(element)
                cells.append(HtmlCell(number, column, down, across, text, indent, anchor, heads))
            column += across
    stop = 0
    for page, stretch in groupby(rows, attrgetter("page")):
        held = list(stretch)
        start, stop = stop, stop + len(held)
        own = [cell for cell in cells if start <= cell.row < stop]
        shown = [row for row in held if row.first >= 0]
        if not own or not shown:
            continue
        for cell in own:
            cell.row -= start
            cell.row_span = min(cell.row_span, stop - start - cell.row)
        yield HtmlTable(
            page=page,
            first=shown[0].first,
            last=shown[-1].last,
            columns=max(cell.column + cell.column_span for cell in own),
            cells=own,
            continues=start > 0,
        )


def _span(element: Element, name: str) -> int:
    given = (element.get(name) or "").strip()
    return max(1, min(int(given), _MOST_SPAN)) if given.isdecimal() else 1
