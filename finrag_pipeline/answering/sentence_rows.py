"""Amounts that sentences tell for named periods, as rows beside those of tables.

'Advertising costs were $20.3 billion and $21.4 billion in 2023 and 2024' is a row of two numbers: its label
is what the sentence says beside them.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from finrag_pipeline.answering.quantities import SCALES
from finrag_pipeline.filings.sentences import sentences
from finrag_pipeline.resolver.lexicon import any_case
from finrag_pipeline.resolver.periods import NAMES_A_YEAR, AskedPeriod, PeriodSpan, find_periods
from finrag_pipeline.resolver.tokens import one_line
from finrag_pipeline.statements.filed_facts import WEEK, FilingInfo
from finrag_pipeline.statements.filing_rows import FilingRow, RowValue
from finrag_pipeline.tables.fiscal_calendar import shift_quarters

NO_TABLE = -1
"""Number of the table of the first row that a filing's sentences give; the next one is -2."""

_SHORTEST, _MOST_CHARACTERS = 40, 600
_LONGEST = 6
_AMOUNT = any_case(
    r"(?P<money>\$)(?P<number>\d[\d,]*(?:\.\d+)?)\s?(?P<scale>billion|million|thousand)?\b|"
    r"\b(?P<share>\d[\d,]*(?:\.\d+)?)\s?(?:%|percent\b)|"
    r"\b(?P<shares>\d[\d,]*(?:\.\d+)?)\s(?P<of>million\s|billion\s|thousand\s)?shares\b|"
    r"(?<![\w.,$€£])(?<!\d )(?P<count>\d{1,3}(?:,\d{3})+)(?![\w,]|\.\d|\s?%|\s[($\d])"
)
_UNITS = {"money": "currency", "share": "percent", "shares": "shares", "count": "count"}
_CELLS = re.compile(r"(?m)(?:^[^\S\n]*(?:[$€£][^\S\n]*)?[(\d][\d,.]*[)%\s]*\n){2,}")
"""Lines of numbers alone, which are cells of a table and end what is said before them."""

_APART = re.compile(r"[$€£] ")
"""A sign of money apart from its number, as in cells of a table."""
_CLAUSE = any_case(r"[,;:]\s|\b(?:and|including|of which|between|while|with)\b")
_SCALE = any_case(
    r"\b(?:dollars|amounts)(?: are)?(?: stated| expressed)? in (?P<scale>thousand|million|billion)s\b"
)
_NOTES = any_case(r"\bnotes to (?:the )?(?:\w+ ){0,3}financial statements\b")
_DIGITS = re.compile(r"\d[\d,.]*")
_MOST_DIGITS = 2
"""Numbers in what a sentence names; more are cells of a table."""

_DAY = any_case(r"\b(?:as of|as at|at) (?:\w+ \d{1,2}, )?(?:19|20)\d\d\b")
_INSTANT = any_case(r"\b(?:as of|as at|at|on)\s+(?:the end of\s+)?$")
_LEAD = any_case(
    r"\b(?:as of|as at|as|at|on|in|for|during|through|the|(?:fiscal )?years?|\w+ months|"
    r"quarters?|periods?|ended|ending|end of|respectively|fiscal|compared (?:to|with)|as well as|and|or|of|"
    r"was|were|had|has|have|been|is|are|we|our|its|there|includes?|company|totall?ed|"
    r"amounted to|approximately|about|a|an|to|which)\b|[\s,.:;()“”\"•]"
)
_MOVES = any_case(
    r"\b(?:(?:in|de)creas\w+|declin\w+|rose|fell|grew|up|down|by|from|net|expenses?|benefits?|income|gains?|loss"
    r"(?:es)?)\b|[%$-]"
)
"""Words between two amounts of one quantity."""

_NO_WORDS = re.compile(r"(?!)")

_MOST_BETWEEN = 3
"""Words between an amount and its period: '$3 million of expense in 2018'."""

_PER_SHARE = any_case(r"\b(?:per|a) (?:common )?share\b")
_MOST_WORDS = 14


@dataclass(frozen=True)
class _Told:
    start: int
    end: int
    kind: str
    value: float
    printed: str


def sentence_rows(pages: Sequence[tuple[int, str]], info: FilingInfo) -> list[FilingRow]:
    """Rows of the sentences of a filing that tell amounts and as many periods.

    Args:
        pages: zero-based numbers of pages and their texts.
        info: of the filing; its fiscal year tells those that sentences name without a day.
    """
    if info.period_end is None or info.fiscal_year is None:
        return []
    rows: list[FilingRow] = []
    of_notes = 1.0
    for page, text in pages:
        scale = _SCALE.search(text)
        unsaid = SCALES[scale["scale"].lower()] if scale else of_notes
        of_notes = unsaid if _NOTES.search(text) else of_notes
        last = ""
        for sentence in sentences(_CELLS.sub("\n\n", text), _AMOUNT):
            if _SHORTEST <= len(sentence) <= _MOST_CHARACTERS and _AMOUNT.search(sentence):
                for label, values in _told(one_line(sentence), unsaid, info, last):
                    table = NO_TABLE - len(rows)
                    # 'With 120 in Kenya': of what, the sentence says before
                    around = one_line(sentence) if values[0].unit == "count" else ""
                    rows.append(
                        FilingRow(info.filing, page, table, 0, around, (label,), (), None, None, values)
                    )
            last = one_line(sentence)
    return rows


def _told(
    sentence: str, unsaid: float, info: FilingInfo, last: str
) -> Iterator[tuple[str, tuple[RowValue, ...]]]:
    """What a sentence names, and amounts of periods; numbers of things may be of the day told before it."""
    amounts = list(_amounts(sentence, unsaid))
    if not amounts or len(amounts) > _LONGEST * 2:
        return
    if not NAMES_A_YEAR.search(sentence):
        day = _DAY.search(last)
        if day is None or any(one.kind != "count" for one in amounts):
            return
        yield from _told(f"{day[0]}, {sentence}", unsaid, info, "")
        return
    places = [place for place in find_periods(sentence) if not any(p.future for p in place.periods)]
    taken = [(one.start, one.end) for one in amounts]
    periods = _dated(sentence, [place for place in places if not _within(place.start, taken)], info)
    spans = [(p.start, p.end) for p in places]
    groups: list[list[_Told]] = []
    for one in amounts:
        ahead = groups[-1][-1] if groups else None
        between = _without(sentence, ahead.end, one.start, spans) if ahead else ""
        # '$3 million, $2 million and $1 million'; '$3 million in 2018, compared with $2 million in 2017'
        if ahead and ahead.kind == one.kind and not _LEAD.sub("", between):
            groups[-1].append(one)
        else:
            groups.append([one])
    begins = [0, *(group[-1].end for group in groups)]
    ends = [*(group[0].start for group in groups[1:]), len(sentence)]
    for at, group in enumerate(groups):
        if group[0].kind == "count":  # '300 people, with 120 of them in Kenya'
            for clause in _CLAUSE.finditer(sentence, begins[at], group[0].start):
                begins[at] = clause.end()
            clauses = list(_CLAUSE.finditer(sentence, group[-1].end, ends[at]))
            ends[at] = clauses[-1].start() if clauses and at + 1 < len(groups) else ends[at]
    told = [
        (before, group, after, periods)
        for before, group, after in zip(begins, groups, ends, strict=False)
        if len(group) == len(periods)
    ]
    for before, group, after, own in told or _with_own_periods(sentence, amounts, places, info):
        label = _label(sentence, before, group, after, spans if told else [*spans, *taken])
        if not label or len(_DIGITS.findall(label)) > _MOST_DIGITS:
            continue
        unit = _UNITS[group[0].kind]
        if unit == "currency" and _PER_SHARE.search(f"{label} {sentence[group[-1].end :][:20]}"):
            unit = "currency/share"
        values = tuple(
            RowValue(
                (), end, months, year, quarter, one.value, one.printed,
                unit,
                "USD" if one.kind == "money" else None, None, index,
            )
            for index, (one, (end, months, year, quarter)) in enumerate(zip(group, own, strict=True))
        )  # fmt: skip
        yield label, values


def _with_own_periods(
    sentence: str, amounts: Sequence[_Told], places: Sequence[PeriodSpan], info: FilingInfo
) -> Iterator[tuple[int, list[_Told], int, Sequence[_Period]]]:
    """Where each amount has its period right behind it: '$3 million in 2018 fell from $4 million in 2017'.

    Returns:
        Where its words begin, amounts, where their words end, and their periods. Amounts are one quantity
        where only words of time and of moving stand between them.
    """
    spans = [*((p.start, p.end) for p in places), *((one.start, one.end) for one in amounts)]

    def is_apart(start: int, end: int, words: re.Pattern[str]) -> bool:
        return bool(_LEAD.sub("", words.sub("", _without(sentence, start, end, spans))))

    row: tuple[int, list[_Told], int, list[_Period]] | None = None
    begin = 0
    for at, one in enumerate(amounts):
        ahead = amounts[at + 1].start if at + 1 < len(amounts) else len(sentence)
        place = next((p for p in places if one.end <= p.start < ahead), None)
        gap = _LEAD.sub(" ", sentence[one.end : place.start]).split() if place else []
        own = _dated(sentence, [place], info) if place else []
        if place is None or len(gap) > _MOST_BETWEEN or len(own) != 1:
            continue
        group = [one]
        first = amounts[at - 1] if at else None
        near = first is not None and first.start >= begin and first.kind == one.kind
        if first and near and not is_apart(first.end, one.start, _NO_WORDS):
            # 'In 2018, it was $3 million compared with $2 million in 2017'
            lead = [p for p in places if begin <= p.start < first.start]
            own = [*_dated(sentence, lead, info), *own]
            group = [first, one]
            if len(own) != len(group):
                continue
        if row is not None and row[1][0].kind == one.kind and not is_apart(begin, group[0].start, _MOVES):
            row[1].extend(group)
            row[3].extend(own)
        else:
            if row is not None:
                yield row
            row = (begin, group, place.start, own)
        begin = place.end
    if row is not None:
        yield row


def _amounts(sentence: str, unsaid: float) -> Iterator[_Told]:
    """Amounts of a sentence; whole dollars without a scale are in that of the page."""
    printed_apart = _APART.search(sentence)
    for match in _AMOUNT.finditer(sentence):
        if match["count"] and printed_apart:
            continue
        if match["money"]:
            number, scale, kind = match["number"], match["scale"], "money"
        elif match["share"]:
            number, scale, kind = match["share"], None, "share"
        elif match["shares"]:
            number, scale, kind = match["shares"], match["of"], "shares"
        else:
            number, scale, kind = match["count"], None, "count"
        value = float(number.replace(",", "")) * SCALES.get((scale or "").strip().lower(), 1.0)
        if kind == "money" and not scale and "." not in number:
            value *= unsaid
        value = value / 100 if kind == "share" else value
        yield _Told(match.start(), match.end(), kind, value, match[0].strip())


_Period = tuple[dt.date, int | None, int | None, int | None]
"""Last day, months or None for an instant, fiscal year and quarter."""


def _dated(sentence: str, places: Sequence[PeriodSpan], info: FilingInfo) -> list[_Period]:
    """The periods of a sentence in its order; years behind a day are of the same day.

    None where one is not over yet, which is not reported.
    """
    assert info.period_end is not None
    found: list[_Period] = []
    day: _Period | None = None
    for place in places:
        for asked in place.periods:
            made = _period(asked, _INSTANT.search(sentence[: place.start]) is not None, day, info)
            if made is None or made[0] > info.period_end + dt.timedelta(WEEK):
                return []
            day = made if asked.date is not None else day
            found.append(made)
    return list(dict.fromkeys(found))


def _period(asked: AskedPeriod, instant: bool, day: _Period | None, info: FilingInfo) -> _Period | None:
    """A period; a year alone is that of ``day``, else that of an annual report; so are quarters."""
    assert info.period_end is not None and info.fiscal_year is not None
    end, months, quarter = asked.date, asked.months, info.fiscal_quarter
    if end is None and asked.quarter and asked.fiscal_year:
        year_end = shift_quarters(info.period_end, 4 - (info.fiscal_quarter or 4))
        year_end = _shift(year_end, asked.fiscal_year - info.fiscal_year)
        end = shift_quarters(year_end, asked.quarter - 4)
        return end, months or 3, asked.fiscal_year, asked.quarter if (months or 3) == 3 else None
    if end is None:
        if asked.fiscal_year is None or asked.half:
            return None
        if day is not None:  # 'December 31, 2024 and 2023'
            end, months = _shift(day[0], asked.fiscal_year - day[0].year), day[1]
        elif info.annual:
            end = _shift(info.period_end, asked.fiscal_year - info.fiscal_year)
            months = None if instant else 12
        else:
            return None
    return end, months, info.fiscal_year - round((info.period_end - end).days / 365.25), quarter


def _shift(day: dt.date, years: int) -> dt.date:
    return day.replace(year=day.year + years, day=28 if (day.month, day.day) == (2, 29) else day.day)


def _within(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)


def _without(sentence: str, start: int, end: int, periods: Sequence[tuple[int, int]]) -> str:
    """A part of a sentence with blanks in place of its periods."""
    part = sentence[start:end]
    for first, last in periods:
        first, last = max(first - start, 0), min(last - start, len(part))
        if first < last:
            part = part[:first] + " " * (last - first) + part[last:]
    return part


def _label(
    sentence: str, start: int, group: Sequence[_Told], end: int, periods: Sequence[tuple[int, int]]
) -> str:
    """What a sentence says around amounts, without periods and small words at its ends."""
    parts = []
    for first, last in ((start, group[0].start), (group[-1].end, end)):
        words = _without(sentence, first, last, periods).split()
        while words and not _LEAD.sub("", words[0]):
            words.pop(0)
        while words and not _LEAD.sub("", words[-1]):
            words.pop()
        parts.append(" ".join(words[:_MOST_WORDS]))
    return " ".join(part for part in parts if part)
