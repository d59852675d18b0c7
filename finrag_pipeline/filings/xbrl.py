"""Inline XBRL: what a filer has tagged in an HTML filing, read from its parsed tree."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from finrag_pipeline.engine import Engine
from finrag_pipeline.errors import FilingError
from finrag_pipeline.filings.forms import CURRENT, QUARTERLY, canonical_form, form_family
from finrag_pipeline.filings.html import HtmlFiling, read_html
from finrag_pipeline.filings.names import FilingIdentity

XBRL_VERSION = "1"
"""Changes whenever a tag may be read differently."""

# fmt: off
_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
    "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40,
    "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}
# fmt: on
_LARGE = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}


@dataclass(frozen=True, slots=True)
class Context:
    """What a fact is of: a time, and the members of dimensions, such as a segment.

    Attributes:
        start: first day of a duration; None for an instant.
        end: last day, or the instant.
        axes, members: local names, in the order of the axes' names; texts of typed members.
    """

    start: dt.date | None
    end: dt.date | None
    axes: tuple[str, ...] = ()
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tag:
    """A tagged fact.

    Attributes:
        element: where it stands, of lxml.
        name: concept with the prefix of its taxonomy: ``us-gaap:Revenues``.
        numeric: a number (``ix:nonFraction``) rather than text.
        printed: its text, white space joined.
        measure: as the filer declares it: ``iso4217:USD/xbrli:shares``; None of text.
        exponent: power of ten between what is printed and full units; None where it cannot be read.
        negative: the number is the negative of what is printed.
        decimals: digits behind the decimal mark to which it is exact, negative before it; None where it is
            exact or nothing is said.
        page: zero-based; None where it is not shown.
    """

    element: Any
    name: str
    numeric: bool
    printed: str
    context: Context
    measure: str | None = None
    exponent: int | None = 0
    negative: bool = False
    decimals: int | None = None
    format: str = ""
    nil: bool = False
    page: int | None = None

    @property
    def concept(self) -> str:
        """The concept without its prefix."""
        return _local(self.name)

    @cached_property
    def value(self) -> float | None:
        """The number in full units, with its sign; None of text, of nil, and where it cannot be read."""
        number = None if self.nil or not self.numeric else read_number(self.printed, self.format)
        if number is None or self.exponent is None:
            return None
        return float((-number if self.negative else number).scaleb(self.exponent))


def read_number(printed: str, format: str = "") -> Decimal | None:
    """A number printed in one of the formats of the transformation registries; None where it is none.

    Scale and sign are not applied; 'no', a dash and nothing are zero where the format says so.
    """
    name = format.rpartition(":")[2].lower().replace("-", "")
    if name in ("fixedzero", "zerodash", "numdash"):
        return Decimal(0)
    if name == "numwordsen":
        return _number_in_words(printed)
    comma = name in ("numdotcomma", "numcommadecimal", "numspacecomma")
    text = printed.replace(".", "").replace(",", ".") if comma else printed.replace(",", "")
    try:
        return Decimal(re.sub(r"[^\d.]", "", text))
    except InvalidOperation:
        return None


def _number_in_words(text: str) -> Decimal | None:
    words = re.findall(r"[a-z]+", text.lower())
    if words in (["no"], ["none"], ["nil"]):
        return Decimal(0)
    total = part = 0
    for word in words:
        if word in _WORDS:
            part += _WORDS[word]
        elif word == "hundred":
            part = 100 * (part or 1)
        elif word in _LARGE:
            total, part = total + (part or 1) * _LARGE[word], 0
        elif word not in ("and", "a"):
            return None
    return Decimal(total + part) if words else None


@lru_cache(maxsize=1)
def read_tags(filing: HtmlFiling) -> list[Tag]:
    """All numbers that are tagged, and the texts about document and entity (``dei``), in document order.

    Those of the latest filing are kept: its cover is read before its tables.
    """
    contexts: dict[str, Context] = {}
    measures: dict[str, str] = {}
    found: list[tuple[Any, bool]] = []
    for element in filing.root.iter():
        match _local(element.tag):
            case "context":
                contexts[element.get("id")] = _context(element)
            case "unit":
                measures[element.get("id")] = _measure(element)
            case "nonfraction":
                found.append((element, True))
            case "nonnumeric" if element.get("name", "").startswith("dei:"):
                found.append((element, False))
    tags = []
    for element, numeric in found:
        said = {_local(name): value for name, value in element.attrib.items()}
        context = contexts.get(said.get("contextref", ""))
        if context is None:  # of no time: nothing can be told of it
            continue
        tags.append(
            Tag(
                element,
                said.get("name", ""),
                numeric,
                " ".join("".join(_texts(element)).split()),
                context,
                measures.get(said.get("unitref", "")),
                _whole(said.get("scale", "0")),
                said.get("sign") == "-",
                _whole(said.get("decimals", "")),
                said.get("format", ""),
                said.get("nil") in ("true", "1"),
                filing.page_of(element),
            )
        )
    return tags


def tagged_identity(tags: Sequence[Tag]) -> FilingIdentity | None:
    """The identity that the cover's tags give; None where the document type is not tagged."""
    said: dict[str, Tag] = {}
    for tag in tags:
        if tag.name.startswith("dei:") and not tag.numeric and tag.printed:
            # Of several registrants and securities the first is meant: it has no member.
            first = said.get(tag.concept)
            if first is None or len(tag.context.members) < len(first.context.members):
                said[tag.concept] = tag

    def text(concept: str) -> str | None:
        return said[concept].printed if concept in said else None

    form = canonical_form(text("DocumentType") or "")
    if form is None:
        return None
    if (text("AmendmentFlag") or "").lower() == "true" and not form.endswith("/A"):
        form += "/A"
    end = said.get("DocumentPeriodEndDate", said["DocumentType"]).context.end
    year = text("DocumentFiscalYearFocus") or ""
    quarter = re.fullmatch(r"Q([1-4])", text("DocumentFiscalPeriodFocus") or "")
    current = form_family(form) == CURRENT
    return FilingIdentity(
        company=text("EntityRegistrantName"),
        form=form,
        fiscal_year=int(year) if re.fullmatch(r"\d{4}", year) else end.year if end and current else None,
        fiscal_quarter=int(quarter[1]) if quarter and form_family(form) == QUARTERLY else None,
        period_end=end,
        ticker=text("TradingSymbol"),
    )


def _local(name: str) -> str:
    """The name of an element or attribute without its prefix."""
    return name.rpartition(":")[2]


def _whole(text: str) -> int | None:
    """A whole number of two digits at most; None for none, such as INF."""
    return int(text) if re.fullmatch(r"-?\d{1,2}", text.strip()) else None


def _texts(element: Any) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if _local(child.tag) != "exclude":
            yield from _texts(child)
        yield child.tail or ""


def _date(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text.strip()[:10])
    except ValueError:
        return None


def _context(element: Any) -> Context:
    days: dict[str, dt.date | None] = {}
    members: list[tuple[str, str]] = []
    for inner in element.iter():
        name = _local(inner.tag)
        if name in ("startdate", "enddate", "instant"):
            days[name] = _date(inner.text or "")
        elif name in ("explicitmember", "typedmember"):
            axis = _local(inner.get("dimension", ""))
            text = "".join(inner.itertext()).strip()
            members.append((axis, _local(text) if name == "explicitmember" else text))
    axes, values = zip(*sorted(members), strict=True) if members else ((), ())
    return Context(days.get("startdate"), days.get("enddate") or days.get("instant"), axes, values)


def _measure(element: Any) -> str:
    over: list[str] = []
    under: list[str] = []
    for inner in element.iter():
        if _local(inner.tag) == "measure":
            below = any(_local(outer.tag) == "unitdenominator" for outer in inner.iterancestors())
            (under if below else over).append((inner.text or "").strip())
    return "/".join("*".join(side) for side in (over, under) if side)


def read_tag_rows(path: Path, engine: Engine) -> list[dict[str, Any]]:
    """`tag_rows` in a worker process, in which a document that takes too much harms nobody else.

    Raises:
        FilingError: the file cannot be read, or not within the limits.
    """
    (found,) = engine.reader.map(tag_rows, [(path,)])
    if isinstance(found, FilingError):
        raise found
    if isinstance(found, Exception):
        raise FilingError(
            f"{path.name}: reading its tags failed: {found}.", "Download the filing again."
        ) from found
    return found


def tag_rows(path: Path) -> list[dict[str, Any]]:
    """The tags of an HTML filing as rows of ``xbrl_facts``, without what its tables and its calendar tell.

    ``cell`` is the anchor of the cell of a table that a tag stands in, None outside of tables.

    Raises:
        FilingError: as `html.read_html`.
    """
    filing = read_html(path)
    rows = []
    for number, tag in enumerate(read_tags(filing)):
        cell = next(tag.element.iterancestors("td", "th"), None)
        unit, currency = _unit(tag)
        context = tag.context
        rows.append(
            {
                "tag": number,
                "taxonomy": tag.name.rpartition(":")[0],
                "concept": tag.concept,
                "value": tag.value,
                "text": None if tag.numeric else tag.printed,
                "unit": unit,
                "currency": currency,
                "measure": tag.measure,
                "period_start": context.start,
                "period_end": context.end,
                "period_kind": "duration" if context.start else "instant",
                "decimals": tag.decimals,
                "scale": 10.0**tag.exponent if tag.numeric and tag.exponent is not None else None,
                "sign": (-1 if tag.negative else 1) if tag.numeric else None,
                "printed": tag.printed,
                "axes": list(context.axes),
                "members": list(context.members),
                "page": tag.page,
                "anchor": filing.anchor(tag.element),
                "cell": None if cell is None else filing.anchor(cell),
            }
        )
    return rows


def _unit(tag: Tag) -> tuple[str | None, str | None]:
    """Unit as tables name it, and ISO 4217 code of an amount."""
    over, _, under = (tag.measure or "").partition("/")
    if not over:
        return None, None
    currency = over.removeprefix("iso4217:") if over.startswith("iso4217:") else None
    if under:
        return ("currency/share" if currency and under == "xbrli:shares" else "ratio"), currency
    if currency:
        return "currency", currency
    if over == "xbrli:pure":
        return ("percent" if tag.exponent == -2 else "ratio"), None
    return ("shares" if over == "xbrli:shares" else "count"), None
