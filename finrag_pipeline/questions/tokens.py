"""Words of a question as tokens: quantities, periods, operators, numbers, other words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from finrag_pipeline.questions.formula_lexicon import Lexicon
from finrag_pipeline.resolver.lexicon import NUMBERS
from finrag_pipeline.resolver.periods import AskedPeriod, find_periods
from finrag_pipeline.statements.periods import FiscalPeriod

OPERATORS = frozenset({"PLUS", "MINUS", "TIMES", "OVER"})
_COUNT = rf"(?:\d\d?|{'|'.join(list(NUMBERS)[1:])})"

_YEAR_END = re.compile(r"year[- ]?end(?:ed|ing)? (?:of )?$")
_BEFORE = re.compile(
    r"(?:(?:the )?(?:prior|previous|preceding|last)[ -](?:fiscal[ -])?(?:year|period)(?:'s)?(?:[ -]end)?|"
    r"(?:the )?(?:fiscal )?year (?:before|prior|earlier)|beginning(?:[ -]of[ "
    r"-](?:the[ -])?(?:year|period)|[ -]year)?|"
    r"opening|start of (?:the )?(?:year|period))(?!\w)"
)
_NOW = re.compile(
    r"(?:(?:the )?(?:current|this|same|latest)[ -](?:fiscal[ -])?(?:year|period)(?:'s)?(?:[ -]end)?|"
    r"ending(?! (?:in|on)\b)|closing|end of (?:the )?(?:year|period))(?!\w)"
)
_SPAN = re.compile(
    rf"(?:(?:last|past|trailing|previous|most recent|prior) )?(?P<count>{_COUNT})[ "
    rf"-]?(?:fiscal[ -])?(?:years?|yrs?|y)(?!\w)"
    r"(?: period)?"
)

_KEYWORDS: tuple[tuple[str, str], ...] = (
    (
        "CAGR",
        r"cagr|compound(?:ed)?(?: annual(?:ized|ised)?)? growth(?: rate)?|annual(?:ized|"
        r"ised) growth(?: rate)?",
    ),
    (
        "GROWTH",
        r"(?:(?:year[- ](?:over|on)[- ]year|yoy|y/y|annual|percent(?:age)?|%|relative) ?)*"
        r"(?:growth(?: rates?| percent(?:age)?| %)?|grow[ns]?|grew|grown)"
        r"|(?:(?:year[- ](?:over|on)[- ]year|yoy|y/y) ?)*(?:(?:percent(?:age)?|%|relative) ?)+"
        r"(?:changes?|changed|increases?d?|decreases?d?|declines?d?|drop(?:ped|s)?|rise|reduction|variation)"
        r"|rate of (?:change|growth|increase)",
    ),
    (
        "CHANGE",
        r"(?:(?:absolute|net|percentage[- ]point|total|dollar|year[- ](?:over|on)[- "
        r"]year|yoy|y/y) )*(?:changes?|changed|increases?|increased|decreases?|"
        r"decreased|"
        r"declines?|declined|drop|dropped|rise|rose|risen|fall|fell|fallen|"
        r"improvements?|improved?|variation|deltas?|shift(?:ed)?)"
        r"|how much (?:larger|higher|lower|smaller|greater|bigger)"
        r"|deteriorat(?:e|ed|ion)|differ(?:ed)?|year[- ](?:over|on)[- ]year|yoy",
    ),
    ("AVERAGE_OF", r"(?:simple |arithmetic )?(?:averages?|avg\.?|mean)(?: value)? of"),
    ("AVERAGE", r"(?:simple |arithmetic )?(?:averages?|avg\.?|mean)(?: value)?"),
    ("SUM", r"(?:the )?(?:sum|total|combined total|aggregate) of|combined"),
    ("RATIO", r"(?:the )?(?:ratio|quotient) (?:of|between)"),
    ("DIFFERENCE", r"(?:the )?(?:difference|gap|spread) (?:between|in|of)|excess of"),
    (
        "PERCENT_OF",
        r"(?:(?:expressed )?as|in) (?:a |the )?(?:percent(?:age)?|%|share|proportion|fraction|portion) of|"
        r"relative to|% of|percent of|in proportion to",
    ),
    ("SHARE_OF_ALL", r", (?:expressed )?as (?:a |the )?(?:percent(?:age)?|%|share|proportion|fraction) of"),
    (
        "SHARE",
        r"(?:what|which|how much|how large an?)?(?: of the)? ?(?:percent(?:age)?|%|"
        r"share|proportion|fraction|portion) of",
    ),
    (
        "OVER",
        r"as a multiple of|(?:is |are )?divided (?:by|into|through)|"
        r"(?<!ed )(?<!left )over(?! (?:the |a |its )?(?:same |last |past |"
        r"previous |prior )?(?:periods?|time|years?|fiscal|fy|cy|last|past|"
        r"previous|\d|three|two|four|five|six|course)\b)|scaled by|per(?! share| cent)|"
        r"/|÷",
    ),
    ("TIMES", r"(?:is |are )?multiplied (?:by|with)|times|\*|×|x(?= )"),
    ("MINUS", r"less|minus|net of|excluding|(?:after )?(?:subtracting|deducting)|reduced by|-|–|—|−"),
    (
        "PLUS",
        r"plus|\+|added to|together with|in addition to|and adding(?: back)?|adding "
        r"back|increased by(?! how)",
    ),
    ("DIVIDE", r"(?:by )?(?:dividing|divide)"),
    ("SUBTRACT", r"(?:by )?(?:subtract(?:ing)?|deduct(?:ing)?)"),
    ("MULTIPLY", r"(?:by )?(?:multiply(?:ing)?)"),
    ("ADD", r"(?:by )?(?:add(?:ing)?)"),
    ("MARGIN", r"(?:% |percent(?:age)? |percent )?margins?(?: %| percent(?:age)?)?"),
    ("AND", r"and|&"),
    ("TO", r"to|through|thru|until|versus|vs\.?|compared (?:to|with)"),
    ("BY", r"by"),
    ("FROM", r"from"),
    ("BETWEEN", r"between"),
    ("COMMA", r","),
    ("LPAR", r"[(\[{]"),
    ("RPAR", r"[)\]}]"),
)
_KEYWORD = tuple(
    (
        kind,
        re.compile(
            rf"(?<![\w&])(?:{words})(?![\w&])"
            if re.match(r"[(\w]", words) and kind[1:] != "PAR"
            else rf"(?:{words})"
        ),
    )
    for kind, words in _KEYWORDS
)
_SYMBOL = re.compile(
    r"(?P<OVER>/|÷)|(?P<TIMES>\*|×)|(?P<MINUS>[-–—−])|(?P<PLUS>\+)|(?P<COMMA>[,;])|(?P<AND>&)"
)
_NUMBER = re.compile(
    r"(?<!due )(?<!due in )\$?(?P<digits>\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?P<percent> ?%)?(?![\w])"
)
_WORD = re.compile(r"[^\W_]+(?:['.&-]?[^\W_]+)*'?")


@dataclass(frozen=True, slots=True)
class Group:
    """Periods named together.

    Attributes:
        periods: in the order named; an integer is an offset in years from the period asked for.
        ranged: they are the ends of a range.
        span: number of years that the question counts, such as 3 in '3 year average'.
    """

    periods: tuple[FiscalPeriod | int, ...] = ()
    ranged: bool = False
    span: int | None = None

    def each(self) -> tuple[FiscalPeriod | int, ...]:
        """Every period meant, ascending where they are a range."""
        years = [period for period in self.periods if isinstance(period, FiscalPeriod)]
        if self.span and len(self.periods) == 1:
            return tuple(shifted(self.periods[0], -back) for back in reversed(range(self.span)))
        whole = [p.year for p in years if p.year is not None and p.quarter is None and p.end is None]
        if self.ranged and len(whole) == len(self.periods) >= 2 and max(whole) - min(whole) <= 15:
            return tuple(FiscalPeriod(year) for year in range(min(whole), max(whole) + 1))
        return tuple(sorted(self.periods, key=_order))


@dataclass(frozen=True, slots=True)
class QuestionToken:
    """A token of a question.

    Attributes:
        kind: METRIC, NAME, PERIODS, NUMBER, an operator, a keyword, or WORD.
        text: as written.
        value: name of the quantity, `Group` of periods, or the number.
        start: place of its first character.
    """

    kind: str
    text: str
    value: str | Group | Decimal | int | None = None
    start: int = 0

    @property
    def end(self) -> int:
        """Place behind its last character."""
        return self.start + len(self.text)


def shifted(period: FiscalPeriod | int, years: int) -> FiscalPeriod | int:
    """A period so many years later; earlier where negative."""
    return period + years if isinstance(period, int) else period.shift(years)


def _order(period: FiscalPeriod | int) -> tuple[int, int, int]:
    if isinstance(period, int):
        return 0, period, 0
    if period.end:
        return period.end.year, period.end.month // 3, period.end.toordinal()
    return period.year or 0, period.quarter or 4, 0


def fiscal_period(asked: AskedPeriod) -> FiscalPeriod | None:
    """The period that a question names, as formulas have it; None for a quarter without a year."""
    if asked.date is not None:
        return FiscalPeriod(None, None, asked.months, asked.date)
    if asked.fiscal_year is None:
        return None
    if asked.half:
        return FiscalPeriod(asked.fiscal_year, asked.half * 2, 6)
    months = asked.months if asked.months and asked.months > 3 else None
    return FiscalPeriod(asked.fiscal_year, asked.quarter, months)


_DIGIT = re.compile(r"\d")


def _find_groups(text: str, names: Iterable[str]) -> list[tuple[int, int, Group]]:
    """Start, end and value of every group of periods named by their years, in order."""
    found = []
    for span in find_periods(text, names):
        periods = sorted(filter(None, map(fiscal_period, span.periods)), key=_order)
        if periods:
            year_end = _YEAR_END.search(text, 0, span.start)
            start = year_end.start() if year_end else span.start
            ends = (periods[0], periods[-1]) if len(periods) > 1 else tuple(periods)
            found.append((start, span.end, Group(ends, len(periods) > 1)))
    return found


def tokenise_question(
    text: str, lexicon: Lexicon, own: Mapping[str, str] | None = None, skip: Iterable[str] = ()
) -> list[QuestionToken]:
    """Tokens of a text; names that the question defines itself win over those of the lexicon.

    Args:
        text: in plain characters.
        lexicon: names of quantities.
        own: names that the question defines, in lower case, and what to call them.
        skip: words in lower case that mean nothing here, such as the company's name.
    """
    lower = text.lower()
    lower = re.sub(r"(?<=[\w)])-to-(?=[\w(])", " to ", lower)
    if len(lower) != len(text):
        text = lower  # a letter that grows in lower case: places are those of the lower-case text
    skipped = {word for word in skip if word}
    mine = sorted(((name, ref) for name, ref in (own or {}).items() if name), key=lambda item: -len(item[0]))
    groups, phrases = _find_groups(lower, filter(_DIGIT.search, skipped)), lexicon.longest(lower)
    tokens: list[QuestionToken] = []
    place = 0
    while place < len(lower):
        if lower[place].isspace():
            place += 1
            continue
        end, token = _token_at(lower, place, phrases, mine, groups)
        if token is not None and not (token.kind == "WORD" and token.text.removesuffix("'s") in skipped):
            tokens.append(QuestionToken(token.kind, text[place:end].strip(), token.value, place))
        place = max(end, place + 1)
    return merge_periods(tokens)


def _token_at(
    lower: str,
    place: int,
    phrases: Mapping[int, tuple[int, str]],
    mine: list[tuple[str, str]],
    groups: list[tuple[int, int, Group]],
) -> tuple[int, QuestionToken | None]:
    for name, ref in mine:
        end = place + len(name)
        if lower.startswith(name, place) and not (end < len(lower) and lower[end].isalnum()):
            before = lower[place - 1] if place else " "
            if not before.isalnum():
                return end, QuestionToken("METRIC", name, ref)
    for start, end, group in groups:
        if start <= place < end:
            return end, QuestionToken("PERIODS", lower[place:end], group)
    for pattern, offset in ((_BEFORE, -1), (_NOW, 0)):
        if (match := pattern.match(lower, place)) and (not place or not lower[place - 1].isalnum()):
            return match.end(), QuestionToken("PERIODS", match[0], Group((offset,)))
    starts_word = not place or not (lower[place - 1].isalnum() or lower[place - 1] == "_")
    if starts_word and (match := _SPAN.match(lower, place)):
        count = NUMBERS.get(match["count"]) or int(match["count"])
        return match.end(), QuestionToken("SPAN", match[0], count)
    end, name = phrases.get(place, (place, ""))
    best = (end, QuestionToken("METRIC", "", name) if name else None)
    for kind, pattern in _KEYWORD:
        keyword = pattern.match(lower, place)
        if keyword and keyword.end() > best[0]:
            best = keyword.end(), QuestionToken(kind, keyword[0])
    if best[1] is not None:
        return best[0], best[1]
    if match := _NUMBER.match(lower, place):
        value = Decimal(match["digits"].replace(",", ""))
        return match.end(), QuestionToken("NUMBER", match[0], value / 100 if match["percent"] else value)
    if match := _SYMBOL.match(lower, place):
        return match.end(), QuestionToken(str(match.lastgroup), match[0])
    if match := _WORD.match(lower, place):
        return match.end(), QuestionToken("WORD", match[0])
    return place + 1, None


_OF_GROUPS = {"PERIODS": "p", "FROM": "f", "BETWEEN": "f", "TO": "t", "MINUS": "t", "AND": "a", "COMMA": "a"}
_TOGETHER = re.compile(r"f?p(?:[at]{1,2}p)*")


def merge_periods(tokens: list[QuestionToken]) -> list[QuestionToken]:
    """Tokens with periods that stand together made one: 'between FY2018 and FY2019', 'FY2015 - FY2017'."""
    kinds = "".join(_OF_GROUPS.get(token.kind, " ") for token in tokens)
    merged, last = [], 0
    for match in _TOGETHER.finditer(kinds):
        part = tokens[match.start() : match.end()]
        groups = [token.value for token in part if isinstance(token.value, Group)]
        periods = tuple(dict.fromkeys(period for group in groups for period in group.periods))
        spread = len(groups) > 1 and ("f" in match[0] or "pt" in match[0])
        ranged = spread or any(group.ranged for group in groups)
        text = " ".join(token.text for token in part if token.kind == "PERIODS")
        start = next(token.start for token in part if token.kind == "PERIODS")
        merged += [
            *tokens[last : match.start()],
            QuestionToken("PERIODS", text, Group(periods, ranged), start),
        ]
        last = match.end()
    return [*merged, *tokens[last:]]
