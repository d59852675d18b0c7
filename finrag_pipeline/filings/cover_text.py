"""Text of cover pages: normalisation, the form, and which page is the cover.

Extractors break covers in every way: a word per line, blanks between letters, no blanks between lines.
Patterns therefore run on *squeezed* text, in upper case and without any white space, or allow white
space between any two characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence

from finrag_pipeline.filings.declared import canonical_form

# Annual reports to shareholders print dozens of pages of their own before the form's cover.
COVER_SEARCH_PAGES = 250

_PLAIN = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d"), "-")
_PLAIN |= dict.fromkeys(map(ord, "\u2018\u2019\u201b\u2032"), "'")
_PLAIN |= dict.fromkeys(map(ord, "\u201c\u201d\u201f\u2033"), '"')
# Soft hyphens, zero-width characters and byte-order marks carry nothing.
_PLAIN |= dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"), "")


def replacer(table: Mapping[int, str]) -> Callable[[str], str]:
    """A function that gives a text in NFKC with the characters of ``table`` replaced.

    Few characters of a text are in the table, so a pattern finds them several times faster than
    ``str.translate``, which looks every character up.
    """
    odd = re.compile("[" + re.escape("".join(map(chr, table))) + "]")

    def replaced(text: str) -> str:
        return odd.sub(lambda match: table[ord(match[0])], text)

    return lambda text: replaced(unicodedata.normalize("NFKC", replaced(text)))


_plain = replacer(_PLAIN)


def normalise(text: str) -> str:
    """Return ``text`` with characters in their plain form, without empty lines and long runs of blanks.

    Compatibility characters, dashes and quotation marks become plain; two blanks in a row stay, since
    they part the words of letter-spaced headings.
    """
    lines = (line.strip() for line in _plain(text).splitlines())
    return "\n".join(re.sub(r"\s{2,}", "  ", line) for line in lines if line)


def squeeze(text: str) -> str:
    """Return ``text`` normalised, in upper case and without white space."""
    return "".join(_plain(text).upper().split())


def loose(phrase: str) -> str:
    """Return a pattern for ``phrase`` that allows white space between its characters."""
    return r"\s*".join(re.escape(c) for c in phrase if not c.isspace())


_FORM = re.compile(
    rf"(?i:{loose('FORM')}\s*(?P<number>{loose('10')}|{loose('20')}|{loose('40')}|8|6)\s*-?\s*(?P<letter>[KQF]))"
    # A suffix follows directly: in "FORM 10-K TRANSITION REPORT" the T begins a word.
    r"(?P<kind>(?:405|SB|T)(?![A-Za-z0-9]))?(?P<amended>\s*/\s*[Aa](?![A-Za-z]))?"
)

_ISSUER = (
    "(?:"
    + "|".join(map(loose, ("registrant", "company", "issuer", "corporation", "small business issuer")))
    + ")"
)
NAME_LABEL = re.compile(
    rf"[(\[]?\s*(?:{loose('exact')}\s*)?{loose('name of')}\s*"
    rf"(?:(?:{loose('each')}|{loose('the')})\s*)?{_ISSUER}"
    rf"\s*(?:\(?\s*s\s*\)?)?\s*,?\s*(?:{loose('as it')}\s*)?(?:{loose('as')}\s*)?(?:{loose('is')}\s*)?"
    rf"(?:{loose('specified')}|{loose('appears')}|{loose('set forth')})"
    rf"(?:\s*{loose('in')}(?:\s*(?:{loose('its')}|{loose('their')}|{loose('the')}))?"
    rf"(?:\s*{loose('respective')})?\s*(?:{loose('charter')}|{loose('articles')})s?)?\s*[)\]]?",
    re.IGNORECASE,
)
"""The line under a registrant's name: ``(Exact name of registrant as specified in its charter)``."""

_COMMISSION = "SECURITIESANDEXCHANGECOMMISSION"
_FILE_NUMBER = re.compile(r"COMMISSIONFILEN(?:O|UMBER)")
_SELF_REFERENCE = re.compile(
    r"THIS(?:ANNUALREPORT|QUARTERLYREPORT|CURRENTREPORT|REPORT)?(?:ON)?FORM(10-?K(?:/A)?|10-?Q(?:/A)?|8-?K(?:/A)?|20-?F|40-?F)"
)


def find_form(text: str) -> str | None:
    """Return the first SEC form named in ``text`` as ``FORM 10-K``, in its canonical spelling."""
    match = _FORM.search(normalise(text))
    if match is None:
        return None
    number = "".join(match["number"].split())
    return canonical_form(
        f"{number}-{match['letter']}{match['kind'] or ''}{'/A' if match['amended'] else ''}"
    )


def find_cover(pages: Sequence[str]) -> int | None:
    """Return the index of the cover page of an SEC form among the first 250 pages.

    A cover names the commission, the form, and a registrant or file number. Where none does, a page
    with the registrant's name line and one of the others is taken: headings may be images.
    """
    second_best = None
    for index, page in enumerate(pages[:COVER_SEARCH_PAGES]):
        squeezed = squeeze(page)
        commission = _COMMISSION in squeezed
        number = _FILE_NUMBER.search(squeezed) is not None
        if not commission and not number:
            continue
        label = NAME_LABEL.search(normalise(page)) is not None
        if commission and (label or number) and find_form(page):
            return index
        if second_best is None and label:
            second_best = index
    return second_best


def self_named_form(squeezed: str) -> str | None:
    """Return the form a filing calls itself in its text: ``this Annual Report on Form 10-K``."""
    match = _SELF_REFERENCE.search(squeezed)
    return canonical_form(match[1]) if match else None
