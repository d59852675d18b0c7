"""Filings in inline XBRL, printed to PDF and read from that: every tagged number is the truth of its place.

Chromium prints each filing with a link around every tagged number; links change nothing of what is seen, and
tell on which page and where the number stands. What is not printed, such as hidden facts, is not asked for.
`benchmarks.tables` scores detectors with it.

The statement or note of a number is told by the tags too: a number inside of a block of text that is tagged,
such as ``IncomeTaxDisclosureTextBlock``, belongs to that note, any other one in a table to a primary
statement, whose kind some concepts tell.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymupdf

from benchmarks.table_metrics import covering, exact, smallest
from finrag_pipeline.filings import xbrl
from finrag_pipeline.filings.html import read_html
from finrag_pipeline.tables.model import Box

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MEASURES = ("found", "value", "scale", "sign", "period", "covered", "concept")
"""What is scored: a cell holds the printed number; of such cells the value in full units, the scale of a
number that is not zero, the sign as printed, first and last day; of numbers of statements that are tagged
without members, whether a concept is given, and of these whether it is that of the tag."""
_LINK = "https://tag.invalid/"
_SCRIPT = f"""<script>addEventListener("DOMContentLoaded", () =>
document.querySelectorAll("ix\\\\:nonfraction").forEach((tag, at) => {{
const link = document.createElement("a"); link.href = "{_LINK}" + at; link.style.all = "unset";
tag.replaceWith(link); link.append(tag) }}))</script>"""
_KINDS = (
    ("cash flows", re.compile(r"NetCashProvidedByUsedIn")),
    ("financial position", re.compile(r"(?:Assets|LiabilitiesAndStockholdersEquity)$")),
    ("income", re.compile(r"EarningsPerShare|IncomeTaxExpenseBenefit$|OperatingIncomeLoss$")),
    ("comprehensive income", re.compile(r"(?:Other)?ComprehensiveIncome(?:Loss)?NetOfTax")),
)
"""Concepts at whose sight a table is a statement, and which."""
_EQUITY_AXIS = "StatementEquityComponentsAxis"
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class Number:
    """A number that stands alone in a cell of a table, with what its filer says of it.

    Attributes:
        page, box: where it is printed, in PDF points.
        tags: more than one where the filer tagged it as several facts.
        statement: kind of the primary statement; None in notes.
        note: concept of the outermost tagged text that it is part of; None in statements.
        negative: printed in brackets or behind a minus sign.
    """

    page: int
    box: Box
    tags: tuple[xbrl.Tag, ...]
    statement: str | None
    note: str | None
    negative: bool


def print_filing(page: Path, to: Path) -> Path:
    """Print an HTML file to PDF, its tagged numbers as links; nothing is fetched."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit("No Chromium is installed: apt install chromium")
    linked = to.with_suffix(".html")
    linked.write_bytes(_SCRIPT.encode() + page.read_bytes())
    quiet = ["--headless", "--no-sandbox", "--disable-gpu"]
    alone = ["--host-resolver-rules=MAP * 0.0.0.0", "--no-pdf-header-footer", f"--print-to-pdf={to}"]
    subprocess.run([browser, *quiet, *alone, linked.absolute().as_uri()], check=True, capture_output=True)
    linked.unlink()
    return to


def read_numbers(filing: Path, printed: Path) -> list[Number]:
    """The tagged numbers that stand alone in a cell, in the order of the document."""
    places = _places(printed)
    html = read_html(filing)
    tags = {tag.element: tag for tag in xbrl.read_tags(html) if tag.numeric}
    blocks = _blocks(html.root)
    # A number tagged twice is a tag inside of a tag.
    numbers: dict[Any, list[xbrl.Tag]] = {}
    found, of_table = [], defaultdict(list)
    for place, element in enumerate(one for one in html.root.iter() if _is(one, "nonfraction")):
        outer = [one for one in element.iterancestors() if _is(one, "nonfraction")]
        if element not in tags or tags[element].value is None or tags[element].name.startswith("dei:"):
            continue
        if outer:
            numbers.get(outer[-1], []).append(tags[element])
            continue
        cell = next(element.iterancestors("td", "th"), None)
        if cell is None or place not in places or _WORD.search(_text(cell).replace(_text(element), "", 1)):
            continue
        numbers[element] = [tags[element]]
        outward = [blocks[one] for one in element.iterancestors() if one in blocks]
        table = next(cell.iterancestors("table"))
        found.append(
            (*places[place], numbers[element], outward[-1] if outward else None, table, _negative(element))
        )
        of_table[table].append(numbers[element])
    result, kind, last = [], "other", None
    for page, box, own, note, table, negative in found:
        if note:
            kind = "other"
        elif table is not last:
            kind, last = _kind(of_table[table]) or kind, table
        result.append(Number(page, box, tuple(own), None if note else kind, note, negative))
    return result


def _places(printed: Path) -> dict[int, tuple[int, Box]]:
    """Page and box of each tag, by its place among all."""
    places: dict[int, tuple[int, Box]] = {}
    with pymupdf.open(printed) as document:
        for page in document:
            for link in page.get_links():
                if link.get("uri", "").startswith(_LINK):
                    at = int(link["uri"].removeprefix(_LINK))
                    places.setdefault(at, (page.number, Box(*link["from"])))
    return places


def _is(element: Any, *names: str) -> bool:
    return isinstance(element.tag, str) and element.tag.rpartition(":")[2] in names


def _blocks(root: Any) -> dict[Any, str]:
    """Concept of each element of text that is tagged, and of those that continue one."""
    blocks: dict[Any, str] = {}
    goes_on: dict[str, str] = {}
    for element in root.iter():
        if _is(element, "nonnumeric", "continuation"):
            name = element.get("name") or goes_on.get(element.get("id"), "")
            if name.endswith("TextBlock"):
                blocks[element] = name.rpartition(":")[2]
                goes_on[element.get("continuedat")] = name
    return blocks


def _kind(numbers: Iterable[Sequence[xbrl.Tag]]) -> str | None:
    tags = [tag for own in numbers for tag in own]
    if 2 * sum(_EQUITY_AXIS in tag.context.axes for tag in tags) > len(tags):
        return "equity"
    concepts = {tag.concept for tag in tags}
    return next((kind for kind, pattern in _KINDS if any(map(pattern.match, concepts))), None)


def _text(element: Any) -> str:
    return "".join(element.itertext())


def _negative(element: Any) -> bool:
    """Whether a bracket, or in its own cell a minus sign, is the last that is printed before a number."""
    before, signs = "", "(-–—"
    while not before and not _is(element, "tr"):
        for sibling in element.itersiblings(preceding=True):
            before = (_text(sibling) + (sibling.tail or "") + before).strip(" $\n\xa0")
        # In a cell of its own, a dash is a number.
        signs = "(" if _is(element, "td", "th") else signs
        element = element.getparent()
        before = ((element.text or "") + before).strip(" $\n\xa0")
    return before[-1:] in tuple(signs)


def outcomes(
    number: Number, cells: Sequence[Mapping[str, Any]], facts: Mapping[tuple[int, ...], Mapping[str, Any]]
) -> tuple[dict[str, bool], Mapping[str, Any] | None]:
    """What became of a number: those of `MEASURES` that apply, and its cell.

    Args:
        cells: rows of ``page_tables`` of its page.
        facts: primary facts by page, table, row and column.
    """
    tag = number.tags[0]
    cell = smallest(covering(number.box, cells))
    size = abs(tag.value or 0.0)
    printed = 0.0 if cell and cell["kind"] == "missing" else cell and cell["printed"]
    exponent = tag.exponent or 0
    alike = printed is not None and exact(abs(printed), size / 10.0**exponent)
    if cell is None or cell["value"] is None or not alike:
        return {"found": False}, cell
    read = {"found": True, "value": exact(abs(cell["value"]), size)}
    if size:
        read["scale"] = exact(cell["scale"], 10.0**exponent)
        read["sign"] = (printed < 0) == number.negative
    days = cell["period_start"], cell["period_end"]
    read["period"] = any(days == (one.context.start, one.context.end) for one in number.tags)
    own = {one.concept for one in number.tags if not one.context.members and one.name.startswith("us-gaap:")}
    if number.statement and own:
        fact = facts.get(tuple(cell[name] for name in ("page", "table", "row", "column")))
        concept = fact and fact["concept"]
        read["covered"] = concept is not None
        if concept:
            read["concept"] = concept in own
    return read, cell
