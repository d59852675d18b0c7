"""A question in any wording as an operation on measures in periods; measures stay words of the question."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from finrag_pipeline.questions.directives import Directives, read_directives
from finrag_pipeline.questions.formula_lexicon import formula_lexicon
from finrag_pipeline.questions.question_reader import (
    COMPANY,
    NAMES_NOTHING,
    NOT_READ,
    Operation,
    Reading,
    read_question,
)
from finrag_pipeline.questions.scope import ASKS_FOR_TEXT
from finrag_pipeline.questions.tokens import fiscal_period
from finrag_pipeline.questions.words import EXISTENCE
from finrag_pipeline.resolver.lexicon import ACRONYMS, NUMBERS, word_set
from finrag_pipeline.resolver.periods import PeriodSpan, find_periods
from finrag_pipeline.resolver.tokens import plain
from finrag_pipeline.statements.periods import FiscalPeriod

MOST_CHARACTERS = 4000
"""Of a longer question only the beginning is read."""


class Verdict(StrEnum):
    """What is to be judged: true or false of numbers, or which of them is the largest."""

    RISE = "rise"
    FALL = "fall"
    MORE = "more"
    LESS = "less"
    POSITIVE = "positive"
    NEGATIVE = "negative"
    ANY = "any"
    LARGEST = "largest"
    SMALLEST = "smallest"


@dataclass(frozen=True)
class QuestionPlan:
    """A question as an operation on measures.

    Attributes:
        operation: what is done with the values of the measures; a change of two measures is that of their
            ratio.
        measures: what is looked up, in words of the question without companies and periods; of a ratio the
            numerator first; the last stands for the whole of which a part is asked.
        periods: in order of time; a change is from the last but one to the last.
        quarters: those named without a year, where no period is named.
        spoken: the measures with the small words between theirs.
        each: a value of every period is asked for.
        partial: periods that no filing shows are left out, and named.
        among_periods: the choice is made among periods: those named, else those that the filings show.
        years_back: number of years before the period named that are asked for too; 0 for none.
        verdict: what is to be judged; None where a number is asked for.
        threshold: what a ratio is compared with; None where two values are compared.
        one_of: what a choice is made among, such as 'segment'; None where measures or companies are. Without
            a verdict all are asked for.
        left_out: what the choice leaves out, such as 'United States'.
        margin: the ratio is a margin; its denominator is the revenue of the same part of the company.
        yes_no: a yes or a no is asked for.
        directives: unit, rounding and statements that are asked for.
        of_company: periods that stand with one of several companies, by its name in the question.
        closing: balances at the end of the period are meant where a ratio may take averages.
        chance: probability of the operation.
        number_chance: probability that a number is asked for.
        unit: of the numbers to look up, as ``page_tables`` has it; None where the question does not say.
        asked: the question without the names of companies and without what is said before it asks.
        names: what a row must say: words with capital letters that are neither company nor period, such as
            products, segments and places, what a quantity is counted per, and words that make a known line
            another, such as 'organic revenue'.
    """

    operation: Operation
    measures: tuple[str, ...]
    periods: tuple[FiscalPeriod, ...]
    quarters: tuple[int, ...] = ()
    spoken: tuple[str, ...] = ()
    each: bool = False
    partial: bool = False
    among_periods: bool = False
    years_back: int = 0
    verdict: Verdict | None = None
    threshold: float | None = None
    one_of: str | None = None
    left_out: str | None = None
    margin: bool = False
    yes_no: bool = False
    directives: Directives = field(default_factory=Directives)
    of_company: Mapping[str, tuple[FiscalPeriod, ...]] = field(default_factory=dict)
    closing: bool = False
    chance: float = 1.0
    number_chance: float = 1.0
    unit: str | None = None
    names: tuple[str, ...] = ()
    asked: str = ""


_PAIRS = (Operation.RATIO, Operation.DIFFERENCE, Operation.SUM)
"""Operations on two measures."""

_SURELY = 0.6
_P, _C = "\ue000", "\ue001"  # stand for a period and a company
_FIRST, _LAST = "\ue010", "\ue0ff"  # stand for one company each
_WORD = re.compile(rf"[{_P}{_C}]|[^\W_]+(?:['.&/-][^\W_]+)*|[,;:()+%$-]")

# --- frames: what is said around the question ------------------------------------------------------------
_PERSON = r"(?:i|me|my|mine|we|us|our|you|your|boss|manager|colleague|client|friend|team|somebody|someone)"
_ASK = (
    r"(?:what|how|which|who|whose|whether|if|did|does|do|was|were|is|are|has|have|that|find|compare|compute|"
    r"calculate|show|list|give|state|tell|report|the)"
)
_FRAME = re.compile(
    rf"^[^?.]*?\b{_PERSON}\b(?:(?!\b(?:what|how|which|whether|if)\b)[^?.])*?"
    rf"(?:[,:;]\s*|\b(?:know|tell|see|find(?: out)?|asks?|asked|claims?|says?|wondering|after|feeling|list|"
    rf"give|work out|note on|debating with {_PERSON}|help me find|find)\s+(?:for me |me |us |out )?)"
    rf"(?={_ASK}\b|\S)",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"[,.;:]?\s*(?:\b(?:please(?: the number)?|thanks?(?: you)?|give a \w+ as a negative number|"
    r"use (?:a )?minus(?: sign)? for [^.?]*|could you give the percentage|"
    r"what (?:figure|number|amount|values?) "
    r"should i give|what (?:values?|amount|number)|tell me (?:two|three|four|"
    r"the) (?:numbers?|values?|figures?)|"
    r"what was the total|how much (?:was it|it was|is it|it is)|(?:give|show|"
    r"state) the (?:change|number|figure)"
    r"[^.?]*negative[^.?]*|oldest first|newest first|as reported|signed)\b\s*[.?!]?|"
    r"\((?:loss(?:es)? negative|"
    r"signed)\)|,?\s*loss(?:es)? negative\b)",
    re.IGNORECASE,
)
# Not where a directive was cut out between the mark and the verb: ', what percentage was'.
_YES_NO = re.compile(
    r"(?:^|[.!?;:,]\s?)(?:did|does|do|was|were|is|are|has|have|had)\s+(?!there a (?:name|"
    r"reason))|\byes or no\b|"
    r"\b(?:true or false|am i right|is (?:that|this|it) (?:true|right|correct|so))\b|"
    r"(?:^|[.,;]\s*)(?:correct|right|true|agree)\s*\?|\b(?:whether|(?:tell me|"
    r"check|say|confirm|verify|see) if)\b",
    re.IGNORECASE,
)

_OPEN = re.compile(
    rf"(?:^|[.?!:;,]\s*)(?:[{_P}{_C},\s]|\b(?:in|for|at|on|of|the|end|quarter|"
    rf"alone|and|so|by|from|to|then)\b)*"
    r"\b(?:what|how|which|who|whose|where|when)\b",
    re.IGNORECASE,
)
_MEAN = re.compile(r"^.*?\bi mean\b[,:]?\s*", re.IGNORECASE)
_HOW = re.compile(
    r",?\s*\bby (?:subtracting|deducting|taking|dividing|adding|multiplying)\b[^?;.]*", re.IGNORECASE
)
_LIGHT = re.compile(
    r"\b(?:t(?:ake|akes|ook) home|br(?:ing|ings|ought) in|hand(?:ed)? back|pa(?:y|id) out|"
    r"sh?ell(?:ed)? out on|put into|back out|add up|work out|end(?:ed)? up with|come to|amount(?:ed)? to|"
    r"t(?:ake|ook) in)\b",
    re.IGNORECASE,
)
_CASH_FOR = re.compile(r"\b(?:cash|money|funds)\s+(?=(?:on|into|for|towards?)\b)", re.IGNORECASE)
_BUY_BACK = re.compile(r"\b(?:buy(?:ing)?|bought) back\b", re.IGNORECASE)
_THAT_IS = re.compile(r",?\s*\b(?:i\.e\.|that is to say|in other words),?\s[^?]*", re.IGNORECASE)
_DAY_ALONE = re.compile(
    r"\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?\s\d{1,2}(?:st|"
    r"nd|rd|th)?\b(?!,?\s?\d)",
    re.IGNORECASE,
)
_TAKING = re.compile(
    r",?\s*\b(?:if (?:you|we|i) take|taking|where|with|defining|define)\s+(?P<what>[^,;?]+?)\s+"
    r"(?:is\s+)?(?:defined\s+)?as\s+"
    r"(?P<how>[^,;?()]+),?\s*",
    re.IGNORECASE,
)
_BASIS = re.compile(
    r",?\s*(?:\(|\b)(?:using|based on|going by|going off|on the basis of|calculated (?:as|"
    r"from|with|using)|as reported (?:in|on))\s"
    r"[^?;]*(?=[?;]|$)|\((?=[^()]*\b(?:365|year-end|closing|opening|average|ending)\b)[^()]*\)",
    re.IGNORECASE,
)
_USE = re.compile(r"[.;?]\s*(?:please )?use (?:the )?(?P<what>[^.;?]+)[.?\s]*$", re.IGNORECASE)
_SHORTENED = re.compile(r"\b(?:inc|corp|co|ltd)$", re.IGNORECASE)
_USUAL = re.compile(
    r"\b(?:using|based on|going by|going off|on the basis of|calculated (?:as|from|with|using)|"
    r"36[56](?:[- ]days?)?|days?|"
    r"year[- ]end|closing|ending|opening|beginning|average|balances?|cash flow|cash-flow basis)\b",
    re.IGNORECASE,
)
_AVERAGE = re.compile(r"\b(?:average|opening|beginning)\b", re.IGNORECASE)
_CLOSING = re.compile(r"\b(?:year[- ]end|closing|ending|period[- ]end)\b", re.IGNORECASE)

# 'In 2024, the year it bought Acme', 'Acme, the maker of anvils,'; a name in it may be what is asked for.
_ASIDE = re.compile(
    rf"(?P<period>{_P}),? the (?:fiscal |full )?(?:year|quarter|period|month|half) "
    rf"(?:it|they|when|that|in which|after|before|{_C})\b[^,;?.{_P}]*|"
    rf"(?P<company>{_C}), (?:the|an?) [^,;?.A-Z{_P}{_C}]*,"
)

# --- words of operations --------------------------------------------------------------------------------
UP = (
    r"(?:grow(?:s|n|ing|th)?|grew|increas(?:e[sd]?|ing)|improv(?:e[sd]?|ing|ements?)|ris(?:e[sn]?|ing)|rose|"
    r"gain(?:s|ed)?(?! (?:on|from|or)\b)|climb(?:s|ed)?|jump(?:s|ed)?|expand(?:s|"
    r"ed)?|expansion|add(?:ed|s)?|(?:went|gone|go|goes|"
    r"was|is|are|were) up|higher|accelerat\w+|swell\w*)"
)
DOWN = (
    r"(?:decreas(?:e[sd]?|ing)|declin(?:e[sd]?|ing)|drop(?:s|ped)?|fall(?:s|"
    r"en|ing)?|fell|reduc(?:e[sd]?|tion)|"
    r"shr[iau]nk\w*|deteriorat\w+|worsen\w*|lost|lose|slid(?:e|ing)?|cut|(?:went|"
    r"gone|go|goes|was|is|are|were) down|"
    r"lower|sank|sunk)"
)
_MOVE = (
    r"(?:chang(?:e[sd]?|ing)|mov(?:e[sd]?|ing|ement)|differ(?:ence|ed)?|delta|"
    r"swing|swung|vary|varied|evol\w+)"
)
# 'Net increase in cash' is a line of its own.
_CHANGED = re.compile(rf"\b(?<!\bnet )(?:{UP}|{DOWN}|{_MOVE})\b", re.IGNORECASE)
_MOVED = re.compile(
    r"\b(?<!\bnet )(?:increase|decrease|rise|drop|fall|decline|reduction|growth|change)s? (?:in|of)\b",
    re.IGNORECASE,
)
_UP, _DOWN = (re.compile(rf"\b{words}\b", re.IGNORECASE) for words in (UP, DOWN))
_MORE = re.compile(
    r"\b(?:more|larger|bigger|greater|higher|exceed(?:s|ed)?|above|over|topped|longer|outspent)\b",
    re.IGNORECASE,
)
_LESS = re.compile(r"\b(?:less|smaller|fewer|lower|below|under|shorter)\b", re.IGNORECASE)
_RELATIVE = re.compile(r"%|\b(?:percent(?:age)?|per cent|pct|rate|yoy|year[- ]over[- ]year)\b", re.IGNORECASE)
_EACH = re.compile(
    r"\b(?:each|every|year by year|quarter by quarter|trend\w*|develop\w*|"
    r"evol\w*|over the (?:last|past)|run of|"
    r"history|series|lay out|list)\b",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"\b(?:the )?(?:(?:year|period) (?:before|earlier|prior|ago)|(?:prior|"
    r"previous|preceding|last) (?:fiscal )?"
    r"(?:year|period)(?:'s)?|(?:a|one) year (?:before|earlier|ago|prior)|year[- ]ago(?: (?:quarter|period))?|"
    r"(?:the )?(?:comparable|same|corresponding) (?:quarter|period|months)(?: (?:a|"
    r"one|of the (?:prior|previous|last))"
    r" year(?: (?:earlier|before|ago))?)?|year[- ](?:over|on)[- ]year|yoy)\b",
    re.IGNORECASE,
)
_COUNT = rf"(?:\d\d?|{'|'.join(list(NUMBERS)[1:])})"
_SPAN = re.compile(
    rf"\b(?:last|past|latest|most recent|previous|recent)\s(?P<count>{_COUNT})\s(?:fiscal\s|"
    rf"full\s|calendar\s)?"
    r"years?\b",
    re.IGNORECASE,
)
_SUPERLATIVE = re.compile(
    r"\b(?:the )?(?:(?P<most>most|highest|largest|biggest|greatest|best|top)|"
    r"(?P<least>least|lowest|smallest|fewest|worst))\b",
    re.IGNORECASE,
)
_EXTREME = re.compile(
    r"\b(?:highest|lowest|greatest|smallest|largest) (?:value|amount|level|balance|number)s?(?: of)?\b",
    re.IGNORECASE,
)
_PARTS = (
    r"(?:segments?|divisions?|business(?:es)?(?: units?)?|units?|regions?|areas?|countr(?:y|ies)|markets?|"
    r"geograph\w+|products?(?: lines?)?|categor(?:y|ies)|brands?|franchises?|"
    r"drugs?|lines?|channels?|platforms?|medicines?|industr(?:y|ies)|classes|"
    r"types?)"
)
_CHOICE = re.compile(
    rf"\b(?:which|what)\s+(?:(?:of|the|its|{_C}|{_C}'s)\s+)*(?P<of>(?:(?!was|"
    rf"is|were|did|had|has)[\w&'-]+\s+){{0,3}}?{_PARTS})\b",
    re.IGNORECASE,
)
_BY_PARTS = re.compile(
    r"\b(?<!\()(?:(?:broken down |split |divided |disaggregated )?(?:by|"
    r"(?:(?:for|of|in|from) )?(?:each|every|all)(?: of)?|across|between|among|into)"
    r"(?: the| its| their| all| different| various)*) (?P<of>"
    r"(?:(?:report(?:able|ing)|operating|business|geographic(?:al)?|product|service|revenue|main|major|end|"
    r"therapeutic|sales) ){0,2}(?:segments?|divisions?|units?|regions?|areas?|geograph(?:y|ies)|markets?|"
    r"countr(?:y|ies)|products?(?: (?:lines?|groups?|types?))?|categor(?:y|ies)|franchises?|brands?|"
    r"channels?|services?(?: offerings?)?|offerings?|lines?))\b(?: by (?:segment|region|product|category))?",
    re.IGNORECASE,
)
_SPLIT = re.compile(
    r"\b(?:break(?:ing)?(?: it)? down|breakdown|broken down|split(?:ting)?(?: up)?|divide[sd]?|"
    r"disaggregat\w+|composition|mix|make[- ]?up|distribut\w+|compare|allocation)\b(?: of\b)?",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\b(?:in |during |for |at the end of )?(?:which|what) (?:fiscal |calendar |"
    r"of the )*(?:years?|quarters?|periods?)\b"
    r"(?:,? (?:was|is|did|does|had|has|saw))?",
    re.IGNORECASE,
)
_AVERAGED = re.compile(
    r"\b(?:on average|(?:an? |the )?(?<!weighted )(?<!weighted-)(?:(?:annual|"
    r"yearly) )?(?:average|mean)(?: annual| yearly)?"
    r"(?: (?:amount|value|level|balance)s?)?(?: of)?)\b",
    re.IGNORECASE,
)
_ADDED_UP = re.compile(
    r"\b(?:(?:the )?sum of|combined|cumulative(?:ly)?|altogether|in total|"
    r"total (?:amount|number|value|sum) (?:of|for))\b",
    re.IGNORECASE,
)
_SO_MANY_YEARS = re.compile(
    rf"\b(?:over|across|for|during|in|of)\s+(?:the |these |those |all |both )*(?:{_COUNT}[- ])?"
    r"(?:fiscal )?years?(?:[- ]period)?\b|\bper year\b|\ba year\b",
    re.IGNORECASE,
)
_RANGE = re.compile(
    rf"(?:\bbetween[\s\w]*{_P}\s*and|\bsince[\s\w]*{_P}[\s\w,]*\b(?:to|through|until)|"
    rf"{_P}(?:,?\s(?:each|every) \w+)?,?\s*(?:to|through|until|-|–))\s*(?:fiscal |the )?{_P}",
    re.IGNORECASE,
)
_OUTSIDE = re.compile(
    r"\b(?:outside|other than|excluding|except|besides|apart from|not counting)\s+(?:of\s+)?(?:the\s+)?"
    r"(?P<what>(?:[A-Z][\w.&'-]*\s*)+)"
)
_FRACTIONS = {
    "half": 1 / 2, "one half": 1 / 2, "a third": 1 / 3, "one third": 1 / 3, "two thirds": 2 / 3,
    "a quarter": 1 / 4, "one quarter": 1 / 4, "three quarters": 3 / 4, "a fifth": 1 / 5,
    "one fifth": 1 / 5, "a tenth": 1 / 10, "one tenth": 1 / 10,
}  # fmt: skip
_THRESHOLD = re.compile(
    r"\b(?:more|less|higher|lower|greater|above|below|over|under)\s(?:than\s)?"
    rf"(?:(?P<words>{'|'.join(_FRACTIONS)})|"
    r"(?P<percent>\d+(?:\.\d+)?)\s?(?:%|per ?cent))\sof\b",
    re.IGNORECASE,
)
_SIGN = re.compile(
    r"\b(?:(?P<positive>profitable|in the black|positive|make an? \w*\s?profit|"
    r"made an? \w*\s?profit|earn an? \w*\s?profit)|"
    r"(?P<negative>unprofitable|in the red|negative|make an? \w*\s?loss|made an? \w*\s?loss|"
    r"report an? \w*\s?loss|"
    r"lose money|lost money))\b",
    re.IGNORECASE,
)
_MAKES = re.compile(r"(?:make|made|earn|report)\s+an?\s", re.IGNORECASE)

# --- two measures ---------------------------------------------------------------------------------------
_MARGIN = re.compile(r"^(?P<part>.+?)\s+margins?\b(?P<rest>.*)$", re.IGNORECASE)
_COMPANY = re.compile(
    r"\b(?:which|what|who|whose)\b(?:\s(?:company|firm|one|of the two))?|\bwhich one was it\b|\bthe two\b",
    re.IGNORECASE,
)
_DIFFERENCE = re.compile(
    r"\b(?:and )?(?:by how much|(?:give|state|show) the difference|what (?:is|"
    r"was) the difference|how many)\b",
    re.IGNORECASE,
)
_AS_SHARE = re.compile(
    r"\bas (?:an? )?(?:percent(?:age)?|per ?cent|%|share|proportion|fraction) of\b", re.IGNORECASE
)
_PLUS = re.compile(r"\s+(?:plus|together with|added to|combined with)\s+|\s\+\s", re.IGNORECASE)
_OR = re.compile(r"\bwhich\b[^,]*,\s*(?P<one>[^,?]+?)\s+or\s+(?P<other>[^,?]+)", re.IGNORECASE)
_THAN = re.compile(
    r"^(?P<one>.+?)\s+(?:more|less|bigger|larger|smaller|greater|higher|lower|fewer)\s+than\s+(?P<other>.+)$",
    re.IGNORECASE,
)


def _names(word: str) -> bool:
    """Whether a word may name what is asked for."""
    return NOT_READ.names(word)


def read_plan(
    question: str,
    companies: Iterable[str] = (),
    known: Callable[[str], bool] = lambda words: False,
    whole: str | None = None,
) -> QuestionPlan | None:
    """The plan of a question; None where it names no measure.

    Args:
        question: as asked, or what is left of it.
        companies: names of companies as the question has them; they are no part of a measure.
        known: whether words name a known line or ratio exactly; 'A to B' is a quotient of such alone.
        whole: the question that ``question`` is left of; None where it is whole.
    """
    text = " ".join(plain(question[:MOST_CHARACTERS]).split())
    text = _HOW.sub(" ", text) if find_periods(_HOW.sub(" ", text)) else text
    if ASKS_FOR_TEXT.search(text):
        return None
    companies = tuple(companies)
    reading = read_question(" ".join(plain((whole or question)[:MOST_CHARACTERS]).split()), companies)
    directives, text = read_directives(text)
    return _Reader(text, directives, companies, find_periods(text), known, reading).read()


class _Reader:
    def __init__(
        self,
        text: str,
        directives: Directives,
        companies: Sequence[str],
        places: Sequence[PeriodSpan],
        known: Callable[[str], bool],
        reading: Reading,
    ) -> None:
        self.known = known
        self.reading = reading
        self.directives = directives
        self.named, masked = _masked(text, places)
        self.periods = tuple(sorted(dict.fromkeys(p for periods in self.named for p in periods), key=_order))
        alone = (
            asked for place in places for asked in place.periods if not (asked.fiscal_year or asked.date)
        )
        self.quarters = () if self.periods else tuple(sorted({one.quarter for one in alone if one.quarter}))
        self.asked = text
        marks = {name: chr(ord(_FIRST) + place) for place, name in enumerate(companies)}
        for name in sorted(companies, key=len, reverse=True):
            if name:
                dot = r"|\." if _SHORTENED.search(name) else ""
                pattern = rf"(?<!\w){re.escape(name)}(?:'s|'{dot})?(?!\w)"
                masked = re.sub(pattern, marks[name], masked, flags=re.IGNORECASE)
                self.asked = re.sub(pattern, " ", self.asked, flags=re.IGNORECASE)
        self.of_company = _periods_by_company(masked, self.named, marks)
        masked = re.sub(f"[{_FIRST}-{_LAST}]", _C, masked)
        masked = _ASIDE.sub(lambda aside: str(aside[aside.lastgroup or 0]), masked)
        capitals = set(_capitalised(masked))  # a name is never small talk
        self.names = lambda word: reading.names(word) or word.removesuffix("'s") in capitals
        self.several = len(companies) > 1
        self.yes_no = bool(_YES_NO.search(masked)) and not (
            _SUPERLATIVE.search(masked) or _OPEN.search(_asking(masked))
        )
        self.back = bool(_BACK.search(masked))
        self._same_quarter()
        masked = _BACK.sub(" ", masked)
        span = _SPAN.search(masked)
        self.years_back = 0
        if span:
            count = span["count"].lower()
            years = NUMBERS.get(count) or int(count)
            self.years_back = years - 1
            masked = _SPAN.sub(" ", masked)
        self.whole = masked
        self.closing = bool(_CLOSING.search(masked)) and not _AVERAGE.search(masked)
        taken = _TAKING.search(masked)
        if taken and _content(taken["what"]):
            name, how = _content(taken["what"]), taken["how"]
            masked = masked[: taken.start()] + " " + masked[taken.end() :]
            masked = (
                re.sub(r"\b(?:that|this|it)\b", how, masked, count=1)
                if name.lower() not in masked.lower()
                else (re.sub(re.escape(name), f"({how})", masked, flags=re.IGNORECASE))
            )
        basis = _BASIS.search(masked)
        if basis and self._says_how(basis[0]) and _content(masked[: basis.start()] + masked[basis.end() :]):
            masked = masked[: basis.start()] + " " + masked[basis.end() :]
        self.meant = ""
        if (use := _USE.search(masked)) and known(meant := " ".join(_USUAL.sub(" ", use["what"]).split())):
            masked, self.meant = masked[: use.start()], meant
        self.text = _asking(masked)

    def _same_quarter(self) -> None:
        """Read 'the same quarter of 2024' beside a quarter of another year as that quarter."""
        named = [period for period in self.periods if period.quarter]
        if self.back and len(named) == 1 and len(self.periods) == 2:
            same = tuple(replace(named[0], year=period.year) for period in self.periods)
            if len(set(same)) == 2 and all(period.year for period in same):
                self.periods, self.back = tuple(sorted(same, key=_order)), False

    def read(self) -> QuestionPlan | None:
        """The plan, or None."""
        plan = self._read()
        if plan is None or not any(plan.measures):
            return None
        if any(map(_ARITHMETIC.search, (self.text,) if len(plan.measures) > 1 else plan.spoken)):
            return None
        if ":" not in self.text and _unused(self.text, plan):
            return None
        if plan.operation in _PAIRS and any(map(_names_two, plan.spoken)):
            return None
        if self.meant:  # 'stock relative to sales? Use year-end inventory'
            plan = self._as_meant(plan)
        names = (*_capitalised(self.whole), *_PER.findall(self.whole), *_qualifiers(self.whole))
        return replace(
            plan,
            quarters=self.quarters,
            yes_no=self.yes_no,
            directives=self.directives,
            names=names,
            closing=self.closing,
            unit=_unit(self.whole, plan),
            asked=" ".join(_unframed(self.asked).split()),
            number_chance=self.reading.asks_for_number,
        )

    def _as_meant(self, plan: QuestionPlan) -> QuestionPlan:
        """A plan with the line that the question says to use in place of the one measure that is no line."""
        unknown = [place for place, measure in enumerate(plan.measures) if not self.known(measure)]
        if len(unknown) != 1 or any(self.meant.lower() in measure.lower() for measure in plan.measures):
            return plan
        put = [
            tuple(self.meant if place in unknown else words for place, words in enumerate(part))
            for part in (plan.measures, plan.spoken)
        ]
        return replace(plan, measures=put[0], spoken=put[1])

    def _read(self) -> QuestionPlan | None:
        text = self.text
        if self.several:
            return self._of_several(text)
        if self.yes_no:
            return self._judged(text)
        superlative = _SUPERLATIVE.search(text)
        more, less = _MORE.search(text), _LESS.search(text)
        if (when := _WHEN.search(text)) and (superlative or more or less):
            least = superlative["least"] if superlative else less
            rest = text[: when.start()] + " " + text[when.end() :]
            for words in (_SUPERLATIVE, _MORE, _LESS):
                rest = words.sub(" ", rest)
            verdict = Verdict.SMALLEST if least else Verdict.LARGEST
            if not _CHANGED.search(rest):
                return self._plan(Operation.VALUE, (rest,), verdict=verdict, each=True, among_periods=True)
        if not superlative and (parts := _BY_PARTS.search(text)) and len(self.periods) < 2:
            rest = _SPLIT.sub(" ", text[: parts.start()] + " " + text[parts.end() :])
            return self._plan(Operation.VALUE, (rest,), one_of=_content(parts["of"]))
        if superlative and (value := _EXTREME.search(text)):
            verdict = Verdict.LARGEST if superlative["most"] else Verdict.SMALLEST
            rest = text[: value.start()] + " " + text[value.end() :]
            return self._plan(Operation.VALUE, (rest,), verdict=verdict, each=True, among_periods=True)
        if superlative and (choice := _CHOICE.search(text)):
            verdict = Verdict.LARGEST if superlative["most"] else Verdict.SMALLEST
            lost = re.search(r"\b(?:lost|lose|fell|dropped|declined|shrank)\b", text, re.IGNORECASE)
            changed = lost or (_CHANGED.search(text) and len(self.periods) > 1)
            if lost:
                verdict = Verdict.SMALLEST if superlative["most"] else Verdict.LARGEST
            rest = _SUPERLATIVE.sub(" ", text[: choice.start("of")] + " " + text[choice.end("of") :])
            outside = _OUTSIDE.search(rest)
            rest = _OUTSIDE.sub(" ", rest)
            operation = Operation.CHANGE if changed else Operation.VALUE
            if changed:
                rest = _CHANGED.sub(" ", rest)
            left_out = _content(outside["what"]) if outside else None
            return self._plan(
                operation, (rest,), verdict=verdict, one_of=_content(choice["of"]), left_out=left_out
            )
        if both := _OR.search(text):
            rest = text[: both.start()] + " " + text[both.end() :]
            asked = _content(
                _MORE.sub(" ", _LESS.sub(" ", rest + " " + text[both.start() : both.start("one")])),
                self.names,
            )
            verdict = Verdict.SMALLEST if _LESS.search(text) else Verdict.LARGEST
            pair = tuple(f"{both[side]} {asked}" for side in ("one", "other"))
            return self._plan(Operation.DIFFERENCE, pair, verdict=verdict)
        return self._calculated(text)

    def _says_how(self, clause: str) -> bool:
        """Whether a clause such as 'using year-end receivables and 365 days' says no more than is usual."""
        parts = (" ".join(_USUAL.sub(" ", part).split()) for part in re.split(r",|\band\b|[()]", clause))
        return all(not _content(part) or self.known(part) or self.known(_content(part)) for part in parts)

    def _of_several(self, text: str) -> QuestionPlan | None:
        """One value of each company; which is larger, or the difference."""
        verdict = Verdict.SMALLEST if _LESS.search(text) and not _MORE.search(text) else Verdict.LARGEST
        for words in (_MORE, _LESS, _SUPERLATIVE, _COMPANY, _DIFFERENCE):
            text = words.sub(" ", text)
        plan = self._calculated(text, (Operation.VALUE, *_PAIRS)) or self._plan(Operation.VALUE, (text,))
        return replace(plan, verdict=verdict, each=False)

    def _calculated(self, text: str, among: Collection[Operation] = tuple(Operation)) -> QuestionPlan | None:
        """The likeliest operation that the measures and periods of a text allow."""
        name, colon, formula = text.partition(":")
        if colon and self.known(_content(name, self.names)) and _content(formula, self.names):
            text = formula
        share = _AS_SHARE.split(text, 1)
        if len(share) > 1 and Operation.RATIO in among and all(_measure(side, self.names) for side in share):
            return self._quotient(*share)
        reading = self.reading if text is self.text else read_question(_spelled(text))
        chances = reading.operations()
        if self.known(_content(text, self.names)):  # a ratio by name is a value
            pairs = [one for one in _PAIRS if one is not Operation.SUM or len(self.periods) < 2]
            chances[Operation.VALUE] += sum(chances[one] for one in pairs)
            among = [one for one in among if one not in pairs]
        elif (
            (match := _MARGIN.search(text))
            and _content(match["part"], self.names)
            and Operation.RATIO in among
        ):
            return self._plan(Operation.RATIO, (f"{match['part']} margin {match['rest']}",), margin=True)
        parts = reading.parts(text)
        alone = parts is None and len(self.periods) < 2 and not (self.back or self.years_back)
        parted = {one: 0.0 if one in _PAIRS and alone else chances[one] for one in chances}
        for operation in sorted(among, key=lambda one: -parted[one]):
            plan = self._two(operation, text, parts) if operation in _PAIRS else None
            plan = plan or self._one(operation, text)
            if plan is not None:
                return replace(plan, chance=(parted if len(plan.measures) > 1 else chances)[operation])
        return None

    def _two(self, operation: Operation, text: str, parts: tuple[str, str] | None) -> QuestionPlan | None:
        """An operation on two or more measures."""
        if operation is Operation.SUM and len(self.periods) > 1 and not self.several:
            return None
        added = [part for part in _PLUS.split(text) if _measure(part, self.names)]
        if operation is Operation.SUM and len(added) > 1:
            return self._plan(operation, share_words(added, self.names))
        if parts is None:
            return None
        part, whole = parts
        if operation is Operation.RATIO:
            return self._quotient(part, whole)
        return self._plan(operation, share_words((part, whole), self.names))

    def _quotient(self, part: str, whole: str) -> QuestionPlan:
        """A part of a whole; its change, where the words say so of two periods."""
        rest = _CHANGED.sub(" ", part)
        changed = self._ends() and rest != part and _measure(rest, self.names)
        if (
            changed and _measure(rest, self.names).lower() == _measure(whole, self.names).lower()
        ):  # as a share of what it was
            return self._plan(Operation.GROWTH, (rest,))
        return self._plan(
            Operation.CHANGE if changed else Operation.RATIO, (rest if changed else part, whole)
        )

    def _is_range(self) -> bool:
        spread = len(self.periods) > 2 and self.whole.count(_P) == 1
        return spread or bool(_RANGE.search(self.whole))

    def _ends(self) -> bool:
        return len(self.periods) == 2 or (self.back and len(self.periods) == 1)

    def _one(self, operation: Operation, text: str) -> QuestionPlan | None:
        """An operation on one measure in its periods; None where it needs more."""
        is_range = self._is_range()
        each = len(self.periods) > 1 or bool(self.years_back)
        match operation:
            case Operation.CHANGE | Operation.GROWTH | Operation.DIFFERENCE:
                said = any(words.search(text) for words in (_CHANGED, _MORE, _LESS))
                if not self._ends() and (operation is Operation.DIFFERENCE or not (said or is_range)):
                    return None
                if len(self.periods) > 2 and not is_range:
                    return None
                if is_range:  # 'the change between 2017 and 2019' is that of its ends
                    self.periods = (self.periods[0], self.periods[-1])
                rest = _LESS.sub(" ", _MORE.sub(" ", _CHANGED.sub(" ", text)))
                growth = operation is Operation.GROWTH
                return self._plan(Operation.GROWTH if growth else Operation.CHANGE, (rest,))
            case Operation.RATIO:
                in_order = tuple(period for named in self.named for period in named)
                if len(in_order) != 2:
                    return None
                plan = self._plan(operation, (text,))
                return replace(plan, periods=in_order)
            case Operation.AVERAGE | Operation.SUM:
                if is_range and len(self.periods) == 2:
                    self.periods = _every_year(*self.periods)
                if operation is Operation.SUM and not each:
                    return None
                words = _AVERAGED if operation is Operation.AVERAGE else _ADDED_UP
                return self._plan(operation, (_SO_MANY_YEARS.sub(" ", words.sub(" ", text)),))
            case Operation.VALUE:
                if len(self.periods) < 2 and not self.years_back and (moved := _MOVED.search(text)):
                    rest = text[: moved.start()] + " " + text[moved.end() :]
                    if _content(rest, self.names):
                        return self._plan(Operation.CHANGE, (rest,))
                if is_range and len(self.periods) == 2 and _EACH.search(text):
                    self.periods = _every_year(*self.periods)
                return self._plan(operation, (_EACH.sub(" ", text) if each else text,), each=each)

    def _judged(self, text: str) -> QuestionPlan | None:
        if match := _THRESHOLD.search(text):
            fraction = (
                float(match["percent"]) / 100 if match["percent"] else _FRACTIONS[match["words"].lower()]
            )
            below = _LESS.search(match[0])
            pair = (text[: match.start()], text[match.end() :])
            verdict = Verdict.LESS if below else Verdict.MORE
            return self._plan(Operation.RATIO, pair, verdict=verdict, threshold=fraction)
        two_periods = len(self.periods) > 1 or self.back
        if not two_periods and (match := _THAN.search(text)) and _content(match["other"], self.names):
            verdict = Verdict.LESS if _LESS.search(text) else Verdict.MORE
            return self._plan(Operation.DIFFERENCE, (match["one"], match["other"]), verdict=verdict)
        up, down = _UP.search(text) or _MORE.search(text), _DOWN.search(text) or _LESS.search(text)
        if (up or down) and not (sign := _SIGN.search(text)):
            rest = text
            for words in (_CHANGED, _MORE, _LESS):
                rest = words.sub(" ", rest)
            verdict = Verdict.RISE if up and not (down and down.start() < up.start()) else Verdict.FALL
            share = self._calculated(rest, (Operation.VALUE, Operation.RATIO))
            if share is not None and len(share.measures) > 1 and share.chance > _SURELY:
                changed = self._plan(Operation.CHANGE, share.spoken, verdict=verdict)
                return replace(changed, measures=share.measures)
            return self._plan(Operation.CHANGE, (rest,), verdict=verdict)
        if sign := _SIGN.search(text):
            verdict = Verdict.POSITIVE if sign["positive"] else Verdict.NEGATIVE
            named = _MAKES.sub(" ", sign[0]) if _MAKES.match(sign[0]) else " profit "
            rest = text[: sign.start()] + named + text[sign.end() :]
            return self._plan(Operation.VALUE, (rest,), verdict=verdict)
        if EXISTENCE.search(text):
            return self._plan(Operation.VALUE, (EXISTENCE.sub(" ", text),), verdict=Verdict.ANY)
        return None

    def _plan(self, operation: Operation, measures: Sequence[str], **more: object) -> QuestionPlan:
        periods = self.periods
        if self.back and len(periods) == 1 and operation in (Operation.CHANGE, Operation.GROWTH):
            periods = (periods[0].shift(-1), periods[0])
        spoken = tuple(_spoken(measure) for measure in measures)
        content = _measure if operation in _PAIRS or len(measures) > 1 else _content
        named = tuple(content(measure, self.names) or content(measure) for measure in measures)
        plan = QuestionPlan(operation, named, periods, spoken=spoken)
        if self.several:
            plan = replace(plan, of_company=self.of_company)
        return replace(plan, years_back=self.years_back, **more)  # type: ignore[arg-type]


def _names_two(spoken: str) -> bool:
    """Whether a measure is two known lines that nothing joins: 'net income returned as dividends'."""
    said = _EXCLUDED.sub(" ", spoken.lower())
    return len(formula_lexicon().named(said)) > 1 and not _JOINED.search(said)


def _unused(text: str, plan: QuestionPlan) -> list[str]:
    """Known lines and formulas that a question names, no word of which stands in what would be computed."""
    used = _beginnings(" ".join((*plan.measures, *plan.spoken, plan.one_of or "")))
    named = formula_lexicon().named(_EXCLUDED.sub(" ", text.lower())).values()
    return [phrase for phrase in named if (own := _beginnings(phrase)) and used.isdisjoint(own)]


def _beginnings(text: str) -> set[str]:
    """First letters of words, as 'inventories' is inventory."""
    return {word[:6] for word in re.findall(r"[^\W\d_]{3,}", text.lower())}


_EXCLUDED = re.compile(
    r"\b(?:excluding|without|net of|other than|before)\s[^,;()]*|"
    r"[^,;()]*\b(?:excluded|not (?:counted|included))\b"
)


def _spelled(text: str) -> str:
    """A text with a year and a name in place of the marks for periods and companies."""
    return text.replace(_P, "2023").replace(_C, COMPANY)


def _masked(text: str, places: Sequence[PeriodSpan]) -> tuple[list[list[FiscalPeriod]], str]:
    """The periods named at each place, and the text with a mark in place of each."""
    found: list[list[FiscalPeriod]] = []
    masked, last, glue = "", 0, ""
    for place in places:
        periods = [made for made in (fiscal_period(asked) for asked in place.periods) if made]
        if not periods:
            continue
        glue = text[last : place.start]
        same = found and len(periods) == 1 and len(found[-1]) == 1 and _APPOSED.fullmatch(glue)
        if same and (both := _dated(found[-1][0], periods[0])):
            found[-1] = [both]
        else:
            found.append(periods)
            masked += glue + _P
        last = place.end
    masked += text[last:]
    return found, masked


def _periods_by_company(
    masked: str, named: Sequence[Sequence[FiscalPeriod]], marks: Mapping[str, str]
) -> dict[str, tuple[FiscalPeriod, ...]]:
    """Periods that stand with each company: behind it and before the next one, else right before it."""
    found: dict[str, tuple[FiscalPeriod, ...]] = {}
    count, last = 0, ""
    before: tuple[FiscalPeriod, ...] = ()
    names = {mark: name for name, mark in marks.items()}
    for letter in masked:
        if letter == _P:
            periods = tuple(named[count])
            count += 1
            if last and last not in found:
                found[last] = periods
            before = periods
        elif letter in names:
            last = names[letter]
            if before and last not in found and not found:
                found[last] = before
            before = ()
    return found


_PER_SHARE = re.compile(r"\b(?:per|for (?:one|each|a)) (?:common |ordinary )?share\b|\beps\b", re.IGNORECASE)
_SHARES = re.compile(
    r"\bhow many shares\b|\bshare count\b|\bnumber of shares\b|\bshares outstanding\b", re.IGNORECASE
)
_COUNTED = re.compile(
    r"\bhow many (?!dollars|cents|euros|times|days|months|years|quarters|per ?cent|percentage|basis|points|"
    r"shares|millions?|billions?|more|of\b)[a-z]",
    re.IGNORECASE,
)
_PER = re.compile(
    r"\bper (?!(?:common |ordinary )?share|cent\b|the\b|its\b|annum|year|quarter)([a-z]+)", re.IGNORECASE
)
_MONEY = re.compile(
    r"\b(?:how much|dollars?|money|usd|cash|revenues?|sales|spen[dt]|spending|"
    r"paid|pay|costs?|earn(?:ed|ings)?|profits?|income|"
    r"owed?|debt|assets?|liabilit\w+|expenses?|price|proceeds|takings)\b",
    re.IGNORECASE,
)


def _unit(text: str, plan: QuestionPlan) -> str | None:
    """Unit of the numbers that a question looks up."""
    if _PER_SHARE.search(text):
        return "currency/share"
    if _SHARES.search(text):
        return "shares"
    if _COUNTED.search(text):
        return "count"
    value = plan.operation is Operation.VALUE
    if value and (_RELATIVE.search(text) or plan.directives.unit in ("percent", "days", "ratio")):
        return None
    return "currency" if _MONEY.search(text) else None


def share_words(parts: Sequence[str], names: Callable[[str], bool] = _names) -> tuple[str, ...]:
    """Operands with the words that they share: 'Games minus Books sales', 'sales, Games plus Books'."""
    head, comma, first = parts[0].rpartition(",")
    if comma and _content(head, names) and _content(first, names):
        return tuple(f"{head} {part}" for part in (first, *parts[1:]))
    tail = re.sub(r"^\W*(?:[A-Z][\w.&'-]*\s+)+(?=[a-z])", "", parts[-1])
    if tail != parts[-1] and not any(word.islower() for word in _content(parts[0], names).split()):
        return (*(f"{part} {tail}" for part in parts[:-1]), parts[-1])
    return tuple(parts)


def _every_year(first: FiscalPeriod, last: FiscalPeriod) -> tuple[FiscalPeriod, ...]:
    """The years from one to another, where both are whole years; else the two."""
    if (
        first.year is None
        or last.year is None
        or first.quarter
        or last.quarter
        or last.year - first.year > 10
    ):
        return (first, last)
    return tuple(FiscalPeriod(year) for year in range(first.year, last.year + 1))


_APPOSED = re.compile(
    r"[\s,(]*(?:(?:the|its|a|year|quarter|three|six|nine|months?|period|that|which|i\.e\.|i mean|just|"
    r"(?:year|quarter)?-?end(?:s|ed|ing)?|clos(?:es|ed|ing)|finish(?:es|ed|"
    r"ing)|to|through|on|at|as of|when|year-end|"
    r"fiscal)[\s,(]*)*",
    re.IGNORECASE,
)


def _dated(named: FiscalPeriod, day: FiscalPeriod) -> FiscalPeriod | None:
    """A fiscal period and the date of its end as one; None where they are two periods."""
    if day.end is None and named.end is not None:
        named, day = day, named
    if day.end is None or named.end is not None or named.year is None:
        return None
    # A year is named for that in which it ends, or begins where it ends in January or February; a quarter
    # may lie in the year before. 'From December 31, 2018 to 2019' names two.
    least = -1 if named.quarter else 0
    if not least <= day.end.year - named.year <= (0 if day.end.month > 2 else 1):
        return None
    months = day.months or named.months or (3 if named.quarter else 12)
    return FiscalPeriod(None, None, months, day.end)


def _order(period: FiscalPeriod) -> tuple[int, int, int]:
    if period.end is not None:
        return period.end.year, period.end.month, period.end.day
    return period.year or 0, 3 * (period.quarter or 4), 31


def _asking(text: str) -> str:
    """The question without what is said around it, its sentences as one."""
    text = _LIGHT.sub(" ", _DAY_ALONE.sub(" ", _TAIL.sub(" ", text)))
    text = _BUY_BACK.sub(" repurchases of ", _CASH_FOR.sub(" ", text))
    for pattern in (_THAT_IS, _MEAN):
        shorter = pattern.sub(" ", text)
        text = shorter if _content(shorter) else text
    return _unframed(text).strip(" ?.!")


def _unframed(text: str) -> str:
    """A question without what a person says before it asks."""
    framed = _FRAME.match(text)
    return text[framed.end() :] if framed and _content(text[framed.end() :]) else text


def _content(text: str, names: Callable[[str], bool] = _names) -> str:
    """The words that may name a measure, in order."""
    words = [word for word in _WORD.findall(text) if word not in (_P, _C)]
    words = [word for before, word in zip(["", *words], words, strict=False) if not _classes(before, word)]
    kept = [word for word in words if names(word)]
    kept = [_NOUNS.get(word.lower(), word) for word in kept]
    while kept and kept[0].lower() in _JOINING:
        kept.pop(0)
    while kept and kept[-1].lower() in _JOINING:
        kept.pop()
    return " ".join(kept)


def _measure(text: str, names: Callable[[str], bool] = _names) -> str:
    """The words that may name a measure, without those that say what is done with it."""
    text = _SHARE.sub(" ", text)
    return " ".join(word for word in _content(text, names).split() if word.lower() not in _OF_OPERATIONS)


_SHARE = re.compile(
    r"\b(?:share|slice|part|chunk|piece)(?= of\b)|\bhow many times\b|\bcover(?:s|ed)?\b", re.IGNORECASE
)


_OF_OPERATIONS = word_set(
    """
    attributable attributed comprise comprised consist consisted consists constitute constitutes constitution
    difference divided expressed fraction percent percentage portion proportion proportionate ratio relation
    relative represent represented represents
    """
)


def _classes(before: str, word: str) -> bool:
    """Whether a word only says what kind of part the name before it is: 'the International segment'."""
    return before[:1].isupper() and before.lower() not in NAMES_NOTHING and word.lower() in _KINDS_OF_PARTS


_KINDS_OF_PARTS = word_set("segment division region business unit franchise")
_NOUNS = {
    "sold": "sales", "sell": "sales", "sells": "sales", "owed": "payable",
    "owe": "payable", "owes": "payable",
    "borrowed": "borrowings", "repurchased": "repurchases", "repurchasing": "repurchases",
    "earned": "earnings", "earn": "earnings", "earns": "earnings",
}  # fmt: skip
"""What is printed in tables for verbs of people."""

_ARITHMETIC = re.compile(r"\w\)?\s+[-*/×÷+]\s+\(?\w|\((?:[^\s()]+\s+){3,}[^\s()]+\)?")
"""Formulas in signs are for the grammar, which reads all of them; a long bracket sets a condition."""

_SMALL = re.compile(
    rf"[{_P}{_C}]|\b(?:did|does|do|was|were|is|are|has|have|had|the|an?|its?|their|own|much|many|how|what)\b",
    re.IGNORECASE,
)


def _spoken(text: str) -> str:
    """A measure without marks, auxiliaries and articles."""
    return " ".join(_SMALL.sub(" ", text).split()).strip(" ,;:?.!-")


_JOINED = re.compile(r"\b(?:and|or|plus|minus|less)\b|[&+,]")
_JOINING = ("and", "or", "plus", "&", "+", "minus", "less")


_ACRONYM_FIRST = re.compile(r"(?:^|[.?!:]\s+)([A-Z]{2,})\b")


def _capitalised(text: str) -> list[str]:
    """Words with a capital that do not begin a sentence, or have several, and are no term of finance."""
    words = re.findall(r"(?<![.?!:]\s)(?<!^)(?<![\w'])(?:(?:[A-Z]\.)+[A-Z]?|[A-Z][\w&'-]+)", text)
    words += _ACRONYM_FIRST.findall(text)
    bare = (word.removesuffix("'s").rstrip(".") for word in words)
    return [word for word in bare if not {word.lower(), re.sub(r"\W", "", word.lower())} & _NO_NAMES]


def _qualifiers(text: str) -> list[str]:
    """Words that make a known line another: 'organic revenue', 'net sales at constant currency'."""
    lower, found = text.lower(), []
    for phrase in formula_lexicon().named(lower).values():
        place = lower.find(phrase)
        if before := _LAST_WORD.search(text[:place]):
            found.append(before[1])
        if behind := _CONDITION.match(text[place + len(phrase) :]):
            found += behind[1].split()[:_CONDITION_WORDS]
    return [word for word in found if _names(word) and word.lower() not in (*_WHOLES, *_JOINING)]


_LAST_WORD = re.compile(r"([^\W\d_][\w&'-]*)\s+$")
_CONDITION = re.compile(
    r"\s+(?:before|after|at|from|to|without|excluding|of|in|for|on|by)\s+"
    r"((?:[^\W\d_][\w&'-]*\s*)+)",
    re.IGNORECASE,
)
_CONDITION_WORDS = 2
_WHOLES = word_set(
    "worldwide overall companywide group consolidated whole entire combined more less most least higher"
    " lower customers shareholders stockholders holders owners investors"
)
"""Words for the whole company, which a row may leave unsaid, and words of comparing."""

_NO_NAMES = NAMES_NOTHING | ACRONYMS | word_set("sga rd ppe eps gaap am so")
