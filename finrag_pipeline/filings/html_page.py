"""A page of an HTML filing as a document of its own, safe to show: what the filer set, and nothing that acts.

Elements and attributes are those of a list; other elements become a ``div`` or a ``span``. No script, event
handler, link, form or picture is kept, and nothing in it names an address.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from finrag_pipeline.errors import UsageError
from finrag_pipeline.filings.html import BLOCKS, Element, HtmlFiling

# fmt: off
_KEPT = frozenset({
    "b", "big", "blockquote", "br", "caption", "center", "col", "colgroup", "dd", "div", "dl", "dt", "em",
    "font", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "li", "ol", "p", "pre", "s", "small", "span",
    "strike", "strong", "sub", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "u", "ul",
})
_VOID = frozenset({"br", "col", "hr"})
_ATTRIBUTES = frozenset({
    "align", "bgcolor", "border", "cellpadding", "cellspacing", "color", "colspan", "face", "height",
    "nowrap", "rowspan", "size", "span", "start", "type", "valign", "width",
})
# fmt: on
_DECLARATION = re.compile(r"[\w-]+\s*:\s*[\w\s.,#%'\"()+-]+")
_ACTS = re.compile(r"url|expression|script|behaviou?r|binding|image|fixed|sticky|var\(|attr\(", re.IGNORECASE)
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; sandbox"
)
"""The Content-Security-Policy to serve it with: nothing is loaded, nothing runs."""
_STYLE = """\
html { background: #eee; color-scheme: light }
body { background: #fff; color: #000; margin: 0 auto; max-width: 7.5in; padding: .5in;
  overflow-x: auto; font-family: serif; font-size: 10pt }
[data-mark] { outline: 1px solid #777 }
[data-mark=headers] { outline-color: #9467bd; background: #9467bd24 !important }
[data-mark=unreadable] { outline-color: #d62728 }
[data-mark=facts] { outline: 2px solid #17823b }
[data-mark=used] { outline: 3px solid #c2410c; background: #fff3a3 !important }"""


def page_html(filing: HtmlFiling, page: int, title: str, marks: Mapping[str, str] | None = None) -> str:
    """The HTML document of a zero-based page.

    ``marks`` says by anchor what an element is marked as: ``headers``, ``numbers``, ``unreadable`` or
    ``facts`` as on the picture of a PDF's page, or ``used`` for what is cited; its first is ``#marked``.

    Raises:
        UsageError: there is no such page.
    """
    if not 0 <= page < len(filing.pages):
        raise UsageError(f"There is no page {page + 1}.", f"The filing has {len(filing.pages)} pages.")
    found = ((filing.element(anchor), name) for anchor, name in (marks or {}).items())
    marked = {element: name for element, name in found if element is not None}
    first = next((element for element, name in marked.items() if name == "used"), None)
    parts: list[str] = []
    walk = filing.events()
    for event, element in walk:
        around = filing.pages_around(element)
        start, end, behind = around or (-1, -1, -1)
        if event == "start":
            if not start <= page <= end:
                walk.skip_subtree()
                continue
            mark = marked.get(element)
            parts.append(_opened(element, mark, element is first))
            if start == page and element.text:
                parts.append(escape(element.text))
            continue
        if start <= page <= end and (name := _name(element)) not in _VOID:
            parts.append(f"</{name}>")
        parent = element.getparent()
        if around is None and parent is not None:  # the text behind what is hidden is shown
            behind = _page_at(filing, element)
        if behind == page and element.tail and parent is not None:
            parts.append(escape(element.tail))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>\n{_STYLE}\n</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _page_at(filing: HtmlFiling, element: Element) -> int:
    """The page on which the text behind a hidden element stands."""
    before = element.getprevious()
    while before is not None and (around := filing.pages_around(before)) is None:
        before = before.getprevious()
    if before is not None and around is not None:
        return around[2]
    page = filing.page_of(element.getparent())
    return -1 if page is None else page


def _name(element: Element) -> str:
    return element.tag if element.tag in _KEPT else "div" if element.tag in BLOCKS else "span"


def _opened(element: Element, mark: str | None, first: bool) -> str:
    attributes = {name: value for name, value in element.attrib.items() if name in _ATTRIBUTES}
    declarations = (part.strip() for part in (element.get("style") or "").split(";"))
    if style := "; ".join(
        one for one in declarations if _DECLARATION.fullmatch(one) and not _ACTS.search(one)
    ):
        attributes["style"] = style
    if mark:
        attributes["data-mark"] = mark
    if first:
        attributes["id"] = "marked"
    shown = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return f"<{_name(element)}{shown}>"
