"""Identity of an earnings release, which has a headline in place of a cover page."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence

from finrag_pipeline.filings.cover_company import tidy_name, vocabulary
from finrag_pipeline.filings.cover_period import durations_ended_on, fiscal_year_of, year_end_after
from finrag_pipeline.filings.cover_text import find_dates, normalise, squeeze
from finrag_pipeline.filings.forms import EARNINGS
from finrag_pipeline.filings.names import FilingIdentity, quarter_of, year_of

_OPENING_CHARACTERS = 3000
_HEADLINE_CHARACTERS = 600
_NAME_PAGES = 2
_TITLE_PAGES = 5
_TITLE_CHARACTERS = 150
_PERIOD_PAGES = 45

_VERB = r"(?:reports|announces|posts|delivers|releases|issues|provides|achieves)"
_PERIOD = r"(?:quarter|full[-\s]year|fiscal|year[-\s]end|annual|half[-\s]year|[1-4]Q|Q[1-4])"
_RESULT = r"(?:results|earnings|revenues?|sales|net\s+income|profits?)"
_BOTH = rf"(?:{_PERIOD}.{{0,120}}?\b{_RESULT}|{_RESULT}\b.{{0,120}}?\b{_PERIOD})"
# "Acme Corp. Reports Third Quarter Results": a line that begins with a name and goes on in the present tense.
_HEADLINE = re.compile(
    rf"^(?P<name>(?-i:[A-Z0-9])[^\n]{{0,100}}?)\s+{_VERB}\b(?:(?![.!?]\s).){{0,120}}?\b{_BOTH}\b",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
_ANNOUNCED = re.compile(
    rf"\b(?:today\s+(?:reported|announced|released)|(?:reported|announced|released)\s+today)\b.{{0,200}}?\b{_BOTH}\b",
    re.IGNORECASE | re.DOTALL,
)
_RELEASE_MARK = re.compile(
    r"for\s+immediate\s+release|business\s*wire|pr\s*newswire|globe\s*newswire"
    r"|^(?:press|news|earnings)\s+release\b",
    re.IGNORECASE | re.MULTILINE,
)
_RESULTS_FOR_PERIOD = re.compile(rf"\b{_BOTH}\b", re.IGNORECASE | re.DOTALL)
_EXCHANGE = (
    r"(?:NYSE(?:\s+(?:American|Arca))?|NASDAQ(?:[\s-]*G[SM]M?)?"
    r"|New\s+York\s+Stock\s+Exchange|AMEX|TSX|OTC\w*)"
)
_SYMBOL = re.compile(rf"\b(?i:{_EXCHANGE})\s*:\s*\"?([A-Z]{{1,5}}(?:[.\-][A-Z]{{1,2}})?)\b")
_LISTED = re.compile(
    rf"(?P<name>[^()]{{2,160}})\(\s*(?:(?:the\s+)?\"[^\"]{{1,40}}\"\s*[;,]\s*)?(?i:{_EXCHANGE})\s*:"
)
_LEAD_WORDS = frozenset({"at", "about", "for", "by", "and", "of", "with", "contact", "source"})
_INSIDE_WORDS = frozenset({"&", "and", "of", "the", "de", "la", "for", "y"})
_ABBREVIATION = re.compile(r"(?:inc|corp|co|ltd|cos|bros|no|st|mr|dr|jr|(?:\w\.)+\w?)\.,?$", re.IGNORECASE)

_ORDINAL = r"(?:first|second|third|fourth|1st|2nd|3rd|4th)"
_QUARTER = re.compile(
    rf"\b(?:(?P<word>{_ORDINAL})[-\s]*(?:fiscal\s+)?quarter|Q(?P<after>[1-4])\b|(?P<before>[1-4])Q(?=\d\d|\b))",
    re.IGNORECASE,
)
_YEAR_AFTER = re.compile(
    r"[\s,'-]*(?:and\s+(?:full|fiscal)[-\s]*year[\s,]*)?(?:results\s+)?(?:(?:of|for)\s+)?"
    r"(?:the\s+)?(?:fiscal\s*)?(?:year\s*)?(?:FY\s*'?)?"
    r"(?P<year>(?:19|20)\d\d|(?<=[Q'Y])\d\d|(?<=Q[1-4] )\d\d)\b",
    re.IGNORECASE,
)
_YEAR_BEFORE = re.compile(r"\b(?P<year>(?:19|20)\d\d)[\s'-]*(?:fiscal\s*)?$", re.IGNORECASE)
_ANNUAL = re.compile(
    r"\b(?:fiscal|full)[-\s]*(?:year\s*)?(?P<a>(?:19|20)\d\d)\b"
    r"|\b(?P<b>(?:19|20)\d\d)\s*(?:full|fiscal)[-\s]*year\b",
    re.IGNORECASE,
)
_ENDED = re.compile(r"(?:MONTHS?|WEEKS?|QUARTER|YEAR|PERIODS?)(?:\([^)]*\))?\)?ENDED(?:ON)?")
# Heads of columns may leave the verb out: "Six Months", and below it the day.
_DURATION = re.compile(r"(?:MONTHS|WEEKS|QUARTER)(?=[A-Z]{3,9}\d)")
# A sentence on another filing is not about this period.
_OTHER_FILING = re.compile(r"10-?[KQ](?:(?!20\d\d)[^.;:]){0,40}$")


def is_earnings_release(pages: Sequence[str]) -> bool:
    """Tell whether the filing opens like a press release on the results of a period."""
    opening = normalise("\n".join(_from_first_text(pages)[:_NAME_PAGES]))[:_OPENING_CHARACTERS]
    if _HEADLINE.search(opening[:_HEADLINE_CHARACTERS]) or _ANNOUNCED.search(opening):
        return True
    return _RELEASE_MARK.search(opening) is not None and _RESULTS_FOR_PERIOD.search(opening) is not None


def read_release(pages: Sequence[str]) -> FilingIdentity:
    """Read company, symbol and period from the headline, first paragraphs and tables of a release."""
    pages = _from_first_text(pages)
    opening = " ".join(normalise("\n".join(pages[:_NAME_PAGES])).split())[:_OPENING_CHARACTERS]
    words = squeeze("\n".join(pages[:_PERIOD_PAGES]))
    quarter, year = _stated_period(opening)
    period_end = _period_end(words, quarter, year)
    if period_end is not None:
        if quarter is None:
            quarter = max(durations_ended_on(period_end, words), default=None)
        if year is None and quarter is not None:
            year = fiscal_year_of(year_end_after(period_end, quarter), words)
    return FilingIdentity(_company(pages), EARNINGS, year, quarter, period_end, _ticker(pages))


def _from_first_text(pages: Sequence[str]) -> Sequence[str]:
    """Pages from the first one that carries more than a title."""
    lengths = (len("".join(page.split())) for page in pages[:_TITLE_PAGES])
    return pages[next((index for index, length in enumerate(lengths) if length >= _TITLE_CHARACTERS), 0) :]


def _stated_period(opening: str) -> tuple[int | None, int | None]:
    """Quarter and fiscal year of the first quarter named together with a year, else whichever is named."""
    first_quarter = None
    for match in _QUARTER.finditer(opening):
        quarter = quarter_of(match)
        first_quarter = first_quarter or quarter
        year = _YEAR_AFTER.match(opening, match.end()) or _YEAR_BEFORE.search(opening[: match.start()])
        if year and quarter == first_quarter:
            return quarter, year_of(year["year"])
    annual = _ANNUAL.search(opening)
    return first_quarter, int(annual["a"] or annual["b"]) if annual else None


def _period_end(words: str, quarter: int | None, year: int | None) -> dt.date | None:
    """Latest day a period is said to have ended on that fits the quarter and fiscal year stated."""
    for anchor in (_ENDED, _DURATION):
        fitting = []
        for match in anchor.finditer(words):
            dates = find_dates(words[match.end() : match.end() + 22])
            if not dates or dates[0][0] > 1:
                continue
            if _OTHER_FILING.search(words, max(0, match.start() - 50), match.start()):
                continue
            day = dates[0][2]
            # A fiscal year is named after the calendar year it ends in or after the one before.
            if year is None or year_end_after(day, quarter or 4).year - year in (0, 1):
                fitting.append(day)
        if fitting:
            return max(fitting)
    return None


def _company(pages: Sequence[str]) -> str | None:
    known = vocabulary(pages)
    for page in pages[:_NAME_PAGES]:
        text = " ".join(normalise(page).split())
        for match in _LISTED.finditer(text):
            if name := tidy_name(_trailing_name(match["name"]), known):
                return name
    opening = normalise(pages[0])[:_HEADLINE_CHARACTERS] if pages else ""
    headline = _HEADLINE.search(opening)
    return tidy_name(_trailing_name(headline["name"]), known) if headline else None


def _trailing_name(text: str) -> str:
    """Run of capitalised words at the end of ``text``: a dateline or sentence may stand before a name."""
    segment = re.split(r"\s-+\s|--+|[:;!?]\s|\)\s*-?\s*", text)[-1].strip(" -,")
    run: list[str] = []
    for token in reversed(segment.split()):
        if run and token.endswith(".") and not _ABBREVIATION.search(token):
            break
        if not (token[0].isupper() or token[0].isdigit() or token.casefold() in _INSIDE_WORDS):
            break
        run.insert(0, token)
    while run and (run[0].casefold() in _LEAD_WORDS or run[0] == "&"):
        run.pop(0)
    return " ".join(run)


def _ticker(pages: Sequence[str]) -> str | None:
    found = (_SYMBOL.search(normalise(page)) for page in pages[:_PERIOD_PAGES])
    return next((match[1] for match in found if match), None)
