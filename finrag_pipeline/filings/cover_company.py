"""Registrant and trading symbol as a cover page prints them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set

from finrag_pipeline.filings.cover_text import NAME_LABEL, normalise

_LONGEST_NAME = 120
_VOCABULARY_PAGES = 30
_NAMING_PAGES = 8
_HEAD_CHARACTERS = 500
_FILE_NUMBER = r"(?<!\d)\d{1,3}\s*-\s*\d{3,6}(?!\d)(?:\s*-\s*\d{1,2}(?!\d))?(?!-[A-Za-z])\.?"
_EMPLOYER_NUMBER = r"(?<!\d)\d{2}\s*-\s*\d{7}(?!\d)"
_COMMISSION_FILE = r"commission\s*file\s*(?:numbers?|nos?\.?)?"
# What stands above the name on a cover; the name begins after the last of these.
_ABOVE_THE_NAME = re.compile(
    rf"{_FILE_NUMBER}|{_EMPLOYER_NUMBER}|{_COMMISSION_FILE}\s*:?"
    r"|[A-Z][a-z]{2,8}\.?\s*\d{1,2}\s*,?\s*(?:19|20)\d\d\)?|(?:act\s*)?of\s*1934\.?|[_\-=*~•]{3,}"
    r"|\(?\s*mark\s*one\s*\)?|\bform\s*\d{1,2}\s*-?\s*[kqf]\b|transition\s*period\s*from.{0,40}\bto\b"
    r"|washington\s*,?\s*d\.?\s*c\.?\s*(?:20549)?",
    re.IGNORECASE,
)
_NOT_A_NAME = re.compile(
    r"commission\s*file|securities\s*and\s*exchange\s*comm|securities\s*registered|exchange\s*act|section\s*1[2-5]"
    r"|identification\s*n|i\.?r\.?s\.?\s*employer|telephone\s*num|zip\s*code|principal\s*executive|jurisdiction"
    r"|state\s*of\s*incorporation|incorporation\s*or|pursuant\s*to|indicate\s*by|registrant|annual\s*report"
    r"|table\s*of\s*contents|quarterly\s*report|current\s*report|transition\s*(?:report|period)|name\s*of",
    re.IGNORECASE,
)
_LEGAL_FORM = (
    r"(?:inc|incorporated|corp|corporation|co|company|companies|plc|p\.l\.c|ltd|limited|llc|l\.l\.c|lp|l\.p|llp"
    r"|n\.?v|s\.?a|a\.?g|s\.?e|s\.p\.a|group|holdings?|trust|bancorp|partners|international)"
)
_LEGAL_END = re.compile(rf"[\s,]{_LEGAL_FORM}\.?$", re.IGNORECASE)
_LEGAL_ALONE = re.compile(rf"(?:&\s*)?{_LEGAL_FORM}\.?", re.IGNORECASE)
_AND_SUBSIDIARIES = re.compile(
    r"^(.{2,100}?),?\s+and\s+(?:its\s+)?(?:consolidated\s+)?subsidiar(?:ies|y)(?:\s+compan(?:ies|y))?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
# In this report, the terms "Company" and "we" mean Acme Corporation and its subsidiaries.
_DEFINED = re.compile(
    r"(?i:(?:terms?|references|words?)[^.]{0,80}\"(?:the\s+)?company,?\"[^.]{0,120}?\b(?:means?|refers?|are)\b(?:\s+to)?)"
    r"\s+(?P<name>[A-Z][^\"(;:]{2,80}?)(?:,?\s+(?:and|together|a\s+[A-Z]\w+\s+corporation)\b|\s*\(|[;:])"
)


def read_company(pages: Sequence[str], cover: int | None) -> str | None:
    """Return the registrant's name as printed, or None; ``cover`` is the index of the cover page, if any."""
    words = vocabulary([page for index, page in enumerate(pages[:_VOCABULARY_PAGES]) if index != cover])
    if cover is not None:
        name = _name_on_cover(normalise(pages[cover]), words)
        if name:
            return without_image_name(name, [page for index, page in enumerate(pages) if index != cover])
    # The cover shows the name as an image, or there is no cover.
    start = cover or 0
    naming = [normalise(page) for page in pages[start : start + _NAMING_PAGES]]
    named = [match[1] for page in naming for match in _AND_SUBSIDIARIES.finditer(page)]
    named += [match["name"] for page in naming if (match := _DEFINED.search(" ".join(page.split())))]
    top = normalise(pages[0]).splitlines()[:15] if pages else []
    named += [line for line in top if _LEGAL_END.search(line.strip()) and len(line.split()) <= 8]
    return next((name for text in named if (name := tidy_name(text, words))), None)


def without_image_name(name: str, pages: Sequence[str]) -> str:
    """Return a company's name without what a picture above it left in its line, such as its file's name.

    Words at its beginning are dropped where the filing prints the rest elsewhere and never the whole.
    """
    text = " ".join(" ".join(page.split()) for page in pages).casefold().replace("-", " ")
    tokens = name.split()
    for position in range(len(tokens)):
        rest = " ".join(tokens[position:])
        printed = re.escape(rest.casefold().replace("-", " "))
        if not _LEGAL_ALONE.fullmatch(rest) and re.search(rf"(?<!\w){printed}(?!\w)", text):
            return rest
    return name


def vocabulary(pages: Sequence[str]) -> Set[str]:
    """Return the lower-case words of ``pages``."""
    return {word.casefold() for page in pages for word in re.findall(r"[^\W\d_]{2,}", page)}


def _name_on_cover(text: str, words: Set[str]) -> str | None:
    for label in NAME_LABEL.finditer(text):
        head = text[max(0, label.start() - _HEAD_CHARACTERS) : label.start()]
        if name := _last_name(head, words):
            return name
        after = text[label.end() : label.end() + _HEAD_CHARACTERS]
        # "Exact name of registrant as specified in its charter: NAME"
        stated = re.match(r"\s*:\s*([^\n]+)", after)
        if re.search(_COMMISSION_FILE + r"\s*$", head, re.IGNORECASE):
            # A table of registrants: its heads first, then file number and name of each.
            stated = stated or re.search(_FILE_NUMBER + r"\s*([^\n]+)", after)
        if stated and (name := tidy_name(stated[1], words)):
            return name
    for number in re.finditer(
        _COMMISSION_FILE + r"\s*:?\s*" + _FILE_NUMBER + r"\s*\n\s*([^\n]+)", text, re.IGNORECASE
    ):
        if name := tidy_name(number[1], words):
            return name
    return None


def _last_name(head: str, words: Set[str]) -> str | None:
    """Name at the end of the text above the label: all lines after the last thing that is none."""
    stops = list(_ABOVE_THE_NAME.finditer(head))
    below = head[stops[-1].end() :] if stops else head
    lines = [_join_spaced_letters(line) for line in below.splitlines() if line.strip(" _-*=.|")]
    if stops and (name := tidy_name(" ".join(lines), words)):
        return name
    for count in range(1, len(lines) + 1):
        tail = lines[-count:]
        # "ACME" on one line, "PLC" on the next
        if not _LEGAL_ALONE.fullmatch(tail[0].strip()):
            return tidy_name(" ".join(tail), words)
    return None


def tidy_name(raw: str, words: Set[str] = frozenset()) -> str | None:
    """Return a company's name cleaned of what extraction and layout left on it, or None if it is no name.

    Letters set apart (``A C M E``) and small capitals cut off their initials (``A CME``) are joined where
    the joined word occurs elsewhere in the filing.
    """
    text = " ".join(_join_spaced_letters(raw).split())
    text = re.sub(r"\s+([.,;])", r"\1", text)
    text = re.sub(r"\s*\([^()]*\)?\s*$", "", text)
    text = re.sub(r"^[^\w&(]+", "", text.strip(" _-*=|;:,()[]☐☒☑"))
    text = _join_initials(text, words)
    if not 2 <= len(text) <= _LONGEST_NAME or not re.search(r"[^\W\d_]", text) or _NOT_A_NAME.search(text):
        return None
    return None if _LEGAL_ALONE.fullmatch(text) else text


def _join_spaced_letters(raw: str) -> str:
    tokens = raw.split()
    if len(tokens) < 3 or any(len(token) > 1 for token in tokens):
        return raw
    return " ".join("".join(word.split()) for word in re.split(r"\s{2,}", raw.strip()))


def _join_initials(text: str, words: Set[str]) -> str:
    tokens = text.split(" ")
    joined: list[str] = []
    for token in tokens:
        bare = re.sub(r"\W", "", token).casefold()
        if (
            joined
            and re.fullmatch(r"[^\W\d_]", joined[-1])
            and bare not in words
            and (joined[-1].casefold() + bare) in words
        ):
            joined[-1] += token
        else:
            joined.append(token)
    return " ".join(joined)


_SYMBOL_HEAD = re.compile(r"trading\s*symbol", re.IGNORECASE)
_SECURITIES = re.compile(
    r"securities\s*registered\s*(?:or\s*to\s*be\s*registered\s*)?(?:pursuant\s*to|under)\s*section\s*12\s*\(b\)"
    r"(?P<table>.*?)(?=section\s*12\s*\(g\)|indicate\s*by|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_EXCHANGE = r"(?:The\s*)?(?:New\s*York\s*Stock|Nasdaq|NASDAQ|NYSE|Chicago\s*Stock|Cboe|CBOE)"
# "Series DD" and "ABC PR D" name preferred shares.
_SYMBOL = r"(?<!Series\s)(?<!\sPR\s)[\"']?(?P<symbol>[A-Z]{1,5}(?:[.\-/][A-Z]{1,2})?)[\"']?"
_SYMBOL_LINE = re.compile(rf"^{_SYMBOL}$(?P<exchange>\n{_EXCHANGE})?", re.MULTILINE)
# In a row of text the exchange follows: "Common Stock, $0.01 par value ABC New York Stock Exchange".
_SYMBOL_IN_ROW = re.compile(rf"(?:(?<=[\s\"'])|(?<=[a-z0-9)])){_SYMBOL}\s*(?P<exchange>{_EXCHANGE})")
_TRADED = re.compile(
    r"\b(?:trade[sd]|trading|listed|lists?|quoted)\b[^.]{0,160}?\bunder\s+the\s+(?:[a-z]+\s+){0,2}symbols?:?\s*"
    r"[\"'(]*\s*(?P<symbol>[A-Z]{1,5}(?:\.[A-Z])?)\b"
)
"""What the market for the registrant's stock is told with: 'is traded on … under the symbol "ABC"'."""
# fmt: off
_NOT_A_SYMBOL = frozenset({
    "NYSE", "NONE", "LLC", "INC", "CORP", "PLC", "LTD", "CO", "OR", "AND", "NA", "N/A", "YES", "NO",
    "OF", "THE", "ON", "AT", "TO", "IN", "EACH", "TITLE", "CLASS", "NAME", "STOCK", "COMMON", "PAR",
    "VALUE", "PER", "SHARE", "NOTES", "DUE", "ACT", "SERIES", "UNITS", "WHICH",
})
# fmt: on


def read_ticker(cover: str) -> str | None:
    """Return the first trading symbol in the table of securities on a cover and the next page, or None."""
    text = normalise(cover)
    if not _SYMBOL_HEAD.search(text):
        return None
    for table in _SECURITIES.finditer(text):
        for pattern in (_SYMBOL_LINE, _SYMBOL_IN_ROW):
            for match in pattern.finditer(table["table"]):
                # A single letter may be the name of a class or a mark: only the exchange after it tells.
                symbol = match["symbol"]
                if symbol not in _NOT_A_SYMBOL and (len(symbol) > 1 or match["exchange"]):
                    return symbol
    return None


def read_traded_symbol(pages: Iterable[str]) -> str | None:
    """Return the symbol under which a filing says its stock is traded, or None.

    Covers before 2019 print none.
    """
    found = (_TRADED.search(normalise(page)) for page in pages if " symbol" in page)
    return next((match["symbol"] for match in found if match), None)
