"""A question in any wording as an operation on measures in periods; measures stay words of the question."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from finrag_pipeline.questions.directives import Directives, read_directives
from finrag_pipeline.questions.formula_lexicon import formula_lexicon
from finrag_pipeline.questions.question_reader import (
    NAMES_NOTHING,
    Form,
    Operation,
    Reading,
    Words,
    naming_words,
    read_question,
    terms_of,
    text_of,
)
from finrag_pipeline.questions.scope import ASKS_FOR_TEXT, split_sentences
from finrag_pipeline.questions.tokens import fiscal_period
from finrag_pipeline.questions.words import EXISTENCE, HOW_MUCH_MORE, OF_THAT, STATE
from finrag_pipeline.resolver.lexicon import (
    ACRONYMS,
    NUMBERS,
    PLACES,
    any_case,
    as_places,
    is_place,
    word_set,
)
from finrag_pipeline.resolver.periods import WHOLE_YEAR, PeriodSpan, find_periods, with_years
from finrag_pipeline.resolver.tokens import MOST_CHARACTERS, one_line
from finrag_pipeline.statements.periods import FiscalPeriod


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
        compound: the growth is that of a year, compounded.
        margin: the ratio is a margin; its denominator is the revenue of the same part of the company.
        yes_no: a yes or a no is asked for.
        directives: unit, rounding and statements that are asked for.
        of_company: periods that stand with one of several companies, by its name in the question.
        closing: balances at the end of the period are meant where a ratio may take averages.
        chance: probability of the operation.
        number_chance: probability that a number is asked for.
        measure_chance: probability of the line that the question asks for without naming it.
        meant: printed labels of what the one measure means in words of its own.
        meant_chance: probability that it does.
        direction_chance: probability that the larger is asked for, or what rose, rather than the opposite.
        unit: of the numbers to look up, as ``page_tables`` has it; None where the question does not say.
        asked: the question without the names of companies and without what is said before it asks.
        names: what a row must say: words with capital letters that are neither company nor period, such as
            products, segments and places, what a quantity is counted per, and words that make a known line
            another, such as 'organic revenue'.
        openers: words with a capital that begin a sentence or belong to no measure; they may be such names.
        segments: those of the names that stand before 'segment' or 'division', be they everyday words.
        topic: words that are told beside the company, before the question, and belong to no measure.
        read_as: what words of the question were read as, for people.
        unread: runs of words that belong to no measure, as the question was read, and may name something.
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
    compound: bool = False
    yes_no: bool = False
    directives: Directives = field(default_factory=Directives)
    of_company: Mapping[str, tuple[FiscalPeriod, ...]] = field(default_factory=dict)
    closing: bool = False
    chance: float = 1.0
    number_chance: float = 1.0
    measure_chance: float = 1.0
    meant: tuple[str, ...] = ()
    meant_chance: float = 1.0
    direction_chance: float = 1.0
    unit: str | None = None
    names: tuple[str, ...] = ()
    openers: tuple[str, ...] = ()
    segments: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    topic: tuple[str, ...] = ()
    read_as: tuple[str, ...] = ()
    asked: str = ""


_WAYS = (Verdict.RISE, Verdict.FALL, Verdict.MORE, Verdict.LESS, Verdict.LARGEST, Verdict.SMALLEST)
_PAIRS = (Operation.RATIO, Operation.DIFFERENCE, Operation.SUM)
"""Operations on two measures."""

_P, _C = "\ue000", "\ue001"  # stand for a period and a company
_FIRST, _LAST = "\ue010", "\ue0ff"  # stand for one company each

# --- periods ---------------------------------------------------------------------------------------------
_YEAR_END = any_case(r"\b(?:year|yr)[- ]?end\b")
_CLOSING = any_case(r"\b(?:closing|ending|period[- ]end)\b")
_AVERAGE = any_case(r"\b(?:average|opening|beginning)\b")
_EACH = any_case(
    r"\b(?:each|every|year by year|quarter by quarter|trend\w*|develop\w*|evol\w*|over the (?:last|past)|"
    r"run of|history|series|lay out|list|respectively)\b"
)
_VERB = any_case(r"\b(?:did|do|does|is|are|was|were|has|have|had|can|could|would|will|whether|if)\b")
_UP_OR_DOWN = any_case(r"\b(?:up|down)\b(?! to\b)")
_MOVE_NAMED = any_case(
    r"\b(?:increase|decrease|rise|drop|fall|decline|change|growth) "
    r"(?:from|in|vs|over|between|(?:fy ?)?(?:20)?\d\d)\b"
)
_PART_OF = any_case(r"\b(?:percent(?:age)?|share|proportion|portion|fraction) of\b")
_PERCENT_OF = any_case(r"(?:%|\bper ?cent|\bpercentage|\bpct\.?) of\b")
_SIGNED = any_case(r"\b(?:positive|negative)\b\s*")
_RELATIVE = any_case(r"%|\b(?:percent(?:age)?|per cent|pct|rate|yoy|year[- ]over[- ]year)\b")
_COMPOUND = any_case(r"\b(?:cagr|compound(?:ed|ing)?|annuali[sz]ed)\b")
_BACK = any_case(
    r"\b(?:the )?(?:(?:year|period) (?:before|earlier|prior|ago)|(?:prior|"
    r"previous|preceding|last) (?:fiscal )?"
    r"(?:year|period)(?:'s)?|(?:a|one) year (?:before|earlier|ago|prior)|year[- ]ago(?: (?:quarter|period))?|"
    r"(?:the )?(?:comparable|same|corresponding) (?:quarter|period|months)(?: (?:a|"
    r"one|of the (?:prior|previous|last))"
    r" year(?: (?:earlier|before|ago))?)?|year[- ](?:over|on)[- ]year|yoy)\b"
)
_COUNT = rf"(?:\d\d?|{'|'.join(list(NUMBERS)[1:])})"
_SPAN = any_case(
    rf"\b(?:last|past|latest|most recent|previous|recent)\s(?P<count>{_COUNT})\s(?:fiscal\s|"
    rf"full\s|calendar\s)?"
    rf"years?\b|\b(?P<upto>{_COUNT})\s(?:fiscal\s|full\s)?years\s(?:to|ended|ending|through|until)\b"
)
_RANGE = any_case(
    rf"(?:\bbetween[\s\w]*{_P}\s*and|\bsince[\s\w]*{_P}[\s\w,]*\b(?:to|through|until)|"
    rf"{_P}(?:,?\s(?:each|every) \w+)?,?\s*(?:(?:(?:and|going) )*back to|to|through|until|-|–))"
    rf"\s*(?:fiscal |the )?{_P}"
)

# --- what is judged, and among what ------------------------------------------------------------------------
_IN_WORDS = {
    "half": 1 / 2, "one half": 1 / 2, "a third": 1 / 3, "one third": 1 / 3, "two thirds": 2 / 3,
    "a quarter": 1 / 4, "one quarter": 1 / 4, "three quarters": 3 / 4, "a fifth": 1 / 5,
    "one fifth": 1 / 5, "a tenth": 1 / 10, "one tenth": 1 / 10, "a billion": 1e9, "a million": 1e6,
}  # fmt: skip
_THRESHOLD = any_case(
    rf"(?P<words>\b(?:{'|'.join(_IN_WORDS)}))\b|"
    r"(?P<money>[$€£]\s?)?(?P<number>\b\d[\d,]*(?:\.\d+)?)\s?"
    r"(?P<unit>%|per ?cent\b|pct\b|thousand\b|million\b|billion\b|mm?\b|bn?\b|times\b)?"
)
_UNITS = {
    "%": 0.01, "per cent": 0.01, "percent": 0.01, "pct": 0.01, "thousand": 1e3, "million": 1e6, "m": 1e6,
    "mm": 1e6, "billion": 1e9, "b": 1e9, "bn": 1e9, "times": 1.0, "": 1.0,
}  # fmt: skip
_COMPARES = any_case(
    r"\b(?:more|less|higher|lower|greater|above|below|over|under|exceed\w*|top(?:s|ped)?|at least|at most|"
    r"beyond|past|reach(?:es|ed)?|surpass\w*|fewer|larger|smaller|cross(?:es|ed)?)\b"
)
_BY_PARTS = any_case(
    r"\b(?<!\()(?:(?:broken down |split |divided |disaggregated )?(?:by|"
    r"(?:(?:for|of|in|from) )?(?:each|every|all)(?: of)?|across|between|among|into)"
    r"(?: the| its| their| all| different| various)*) (?P<of>"
    r"(?:(?:report(?:able|ing)|operating|business|geographic(?:al)?|product|service|revenue|main|major|end|"
    r"therapeutic|sales) ){0,2}(?:segments?|divisions?|units?|regions?|areas?|geograph(?:y|ies)|markets?|"
    r"countr(?:y|ies)|products?(?: (?:lines?|groups?|types?))?|categor(?:y|ies)|franchises?|brands?|"
    r"channels?|services?(?: offerings?)?|offerings?|lines?))\b(?: by (?:segment|region|product|category))?"
)
_SUPERLATIVE = any_case(
    r"\b(?:most|highest|largest|biggest|greatest|best|top|least|lowest|smallest|fewest|worst)\b"
)
_OUTSIDE = re.compile(
    r"\b(?:outside|other than|excluding|except|besides|apart from|not counting)\s+(?:of\s+)?(?:the\s+)?"
    r"(?P<what>(?:[A-Z][\w.&'-]*\s*)+)"
)
_MARGIN = any_case(r"^(?P<part>.+?)\s+margins?\b(?P<rest>.*)$")
_ARITHMETIC = re.compile(r"[×÷]|\s\*\s|\(\w[^()]*\s[-−]\s[^()]*\)")
"""Formulas in signs are for the grammar, which reads all of them."""

_PLUS = any_case(r"\s+(?:plus|together with|added to|combined with|and)\s+|\s\+\s")
_SALES = "revenue"
"""What parts are compared by, and what a share is taken of, where nothing else is named."""

_SURELY_A_RATIO = 0.8

_MOVED = any_case(
    r"\b(?<!\bnet )(?:increase|decrease|rise|drop|fall|decline|reduction|growth|change)s? (?:in|of)\b|"
    r"\bhow much (?:more|less|\w{2,}er) (?:did|has|have)\b.*\b(?:get|gotten|become|grow|grown)\b"
)
DUE = any_case(
    r"\b(?:due|payable|matur(?:e[sd]?|ing|ity|ities)|(?:have|has|had) to pay|expect\w*|schedul\w*|future|"
    r"remaining)\b"
)
"""What a schedule shows of years to come."""

_IN_ORDER = any_case(r"\b(?:oldest|earliest|latest|newest)\b[^.?]*\b(?:first|up front)\b|\bin this order\b")
_WHICH_PERIOD = any_case(r"\b(?:which|what (?:fiscal )?(?:year|quarter)|when)\b")
_WHICH_QUARTER = any_case(r"\b(?:which|what) (?:fiscal )?quarter\b")
_EVERY_QUARTER = any_case(
    r"\b(?:each|every|(?:all )?four|all)(?: (?:of the|the|of its))?(?: four)? (?:fiscal )?quarters?\b"
    rf"[^.?]*{_P}"
)
_MEAN = any_case(r"^(?:(?:average|avg|mean|annual|yearly)\s+)+")
_MOVING = any_case(r"^(?:drop|rise|fall|decline|increase|decrease|growth|change|jump)\s+(?:in\s+)?")
_SURE = 0.4
"""Probability of a word that surely belongs to a measure."""

_PROFIT = "net income"
"""What a company makes, has or is in the red with, where nothing else is named."""


def read_plan(
    question: str,
    companies: Iterable[str] = (),
    known: Callable[[str], bool] = lambda words: False,
    whole: str | None = None,
    label: str = "",
    line: str = "",
) -> QuestionPlan | None:
    """The plan of a question; None where it names no measure.

    Args:
        question: as asked, or what is left of it.
        companies: names of companies as the question has them; they are no part of a measure.
        known: whether words name a known line or ratio exactly.
        whole: the question that ``question`` is left of; None where it is whole.
        label: printed, in lower case, that the question says word for word; '' for none.
        line: label of the line or formula that it asks for, in words of its own; '' where these tell.
    """
    companies = tuple(companies)
    text = _reworded(question, companies)
    asking = [one for one in split_sentences(text) if one.endswith("?")] or [text]
    if any(map(ASKS_FOR_TEXT.search, asking)) or _ARITHMETIC.search(text):
        return None
    reading = read_question(_reworded(whole or question, companies), companies).as_meant()
    unread, topic = reading.unread, reading.topic
    if whole and whole != question:  # 'over the last eight quarters' is read already
        reading = reading.keeping(text)
    rest = reading.keeping(read_directives(text)[1])  # 'by the cash flow statement' names nothing
    if any(word.kept for word in rest.words):
        reading = rest
    if line:
        reading = reading.asking_for(line)
    elif label:
        reading = reading.with_label(label)
    plan = _Planner(text, companies, known, reading, line).plan()
    if plan is None:
        return None
    said = " ".join(unread).split()
    capitals = (word for word in said if word[:1].isupper() and word.isalpha() and word not in plan.names)
    return replace(plan, unread=unread, topic=topic, openers=tuple(dict.fromkeys((*plan.openers, *capitals))))


_ASIDE = any_case(
    r",\s*(?:which|as) (?:i|we) (?:understand|believe|gather|think|hear|recall|take|know|(?:am|are) told)\b"
    r"[^,.?!]*|"
    r",\s*the (?:fiscal )?(?:year|quarter)(?: (?:in which|when|that))? (?:it|they|the company)\b[^,.?!:]*|"
    r"^\W*(?:subtract|deduct|take)\b[^.?!]*?\bto (?:get|obtain|find|derive|arrive at) (?=(?:the|its)\b)|"
    r"\s*\((?:the )?full year (?:less|minus) [^()]*\)|\s*\([^()]*[×÷][^()]*\)"
)
"""What is remarked beside a question: of the year that it asks about, of how the answer comes about."""
_NOT_THAT = any_case(
    r"\s(?:rather than|instead of|as opposed to)\s[^,.?!;:]*?"
    r"(?=[,.?!;:]|$|\s(?:in|for|during|at|as of|by|over|between|from|on)\s"
    r"(?:the\s|its\s|fiscal\s|fy|q|year|20|end))"
)
"""What a question asks for is not this; it is nothing to be taken off."""
_TO_BE_TOLD = r"be (?:indicated|stated|given|provided|told|shown|named|reported|determined|disclosed|set out)"
_INDIRECT = any_case(
    r"\b(?:it would be (?:\w+ )?(?:appreciated|helpful|kind|good)|"
    r"(?:i|we) (?:would|should) be (?:grateful|obliged))"
    rf" if (?P<behind>[^?!]+?) (?:could|might|can) (?:kindly )?{_TO_BE_TOLD}\b|"
    rf"^(?:might|may|could|can) (?P<between>[^?!]+?) (?:kindly )?{_TO_BE_TOLD}\b"
)
"""Orders that say of a quantity that it could be told."""
_SLASHED = re.compile(r"(?<=\b)([^\W\d_]{3,})/([^\W\d_]{3,})\b")


def _reworded(question: str, companies: Collection[str] = ()) -> str:
    """A question in plain characters and on one line, without what it only remarks.

    'China/Hong Kong' are places together, and no ratio; 'European sales' are looked up as those of Europe.
    """
    text = STATE.sub("give", _NOT_THAT.sub("", _ASIDE.sub("", one_line(question[:MOST_CHARACTERS]))))
    text = _INDIRECT.sub(lambda order: f"give {order['behind'] or order['between']}", text)
    named = "|".join(map(re.escape, sorted(filter(None, companies), key=len, reverse=True)))
    parts = re.split(f"({named})", text, flags=re.IGNORECASE) if named else [text]
    parts[::2] = map(as_places, parts[::2])
    text = "".join(parts)
    return _SLASHED.sub(lambda two: " and ".join(two.groups()) if two[1].lower() in PLACES else two[0], text)


class _Planner:
    def __init__(
        self,
        text: str,
        companies: Sequence[str],
        known: Callable[[str], bool],
        reading: Reading,
        line: str = "",
    ) -> None:
        self.known = known
        self.line = line
        self.reading = reading
        self.text = text
        self.directives, _ = read_directives(text)
        likeliest = max(reading.outputs, key=lambda one: reading.outputs[one])
        moves = likeliest in _CHANGES  # from what was told before
        places = _places(text, companies, text if moves else reading.that_asks(text))
        self.named, masked = _masked(text, places)
        self.periods = tuple(sorted(dict.fromkeys(p for periods in self.named for p in periods), key=_order))
        alone = (
            asked for place in places for asked in place.periods if not (asked.fiscal_year or asked.date)
        )
        self.quarters = () if self.periods else tuple(sorted({one.quarter for one in alone if one.quarter}))
        marks = {name: chr(ord(_FIRST) + place) for place, name in enumerate(companies)}
        for name in sorted(filter(None, companies), key=len, reverse=True):
            masked = re.sub(
                rf"(?<!\w){re.escape(name)}(?:'s?)?(?!\w)", marks[name], masked, flags=re.IGNORECASE
            )
        self.of_company = _periods_by_company(masked, self.named, marks)
        self.masked = re.sub(f"[{_FIRST}-{_LAST}]", _C, masked)
        self.several = len(set(companies)) > 1
        if DUE.search(self.masked) and len(self.periods) > 1 and not self.periods[-1].end:
            # 'As of June 30, 2024, how much was due in fiscal 2026?'
            self.periods = tuple(period for period in self.periods if not period.end)
        self.back = bool(_BACK.search(self.masked))
        self._same_quarter()
        span = _SPAN.search(self.masked)
        count = (span["count"] or span["upto"]).lower() if span else "1"
        self.years_back = (NUMBERS.get(count) or int(count)) - 1
        self.compound = bool(_COMPOUND.search(self.masked))
        spread = len(self.periods) > 2 and self.masked.count(_P) == 1
        self.is_range = spread or bool(_RANGE.search(self.masked))

    def _same_quarter(self) -> None:
        """Read a year beside a part of another year as that part of it: 'the June quarter, and that of 2024'.

        Nobody compares a quarter with a whole year without saying so.
        """
        years = [period for period in self.periods if period.year and period.length == 12 and not period.end]
        parts = [period for period in self.periods if period not in years]
        if len(years) != 1 or len(parts) != 1 or WHOLE_YEAR.search(self.masked):
            return
        year, part = years[0].year or 0, parts[0]
        of = part.end.year if part.end else part.year or 0
        if year != of and part.length < 12:
            same = part.shift(year - of)
            self.periods, self.back = tuple(sorted((same, part), key=_order)), False

    def plan(self) -> QuestionPlan | None:
        """The plan, or None."""
        plan = self._of_form(self.reading.form)
        if plan is None or not all(plan.measures):
            return None
        per = _PER.findall(self.masked)
        if unsaid := [word for word in per if not any(word in one for one in plan.measures)]:
            plan = replace(plan, measures=tuple(" ".join((one, *unsaid)) for one in plan.measures), spoken=())
        stated = {*" ".join(plan.measures).lower().split()} <= _STATES  # 'what was left outstanding?'
        told = self.reading.told_before if OF_THAT.search(self.masked) or stated else ""
        if told and len(plan.measures) == 1:
            plan = replace(plan, measures=(f"{plan.measures[0]} {told}",), spoken=())
        asking = self.reading.that_asks(self.masked)
        # 'The Toys segment did well. What were its sales?'
        said = _SEGMENT.findall(self.masked if _ITS.search(asking) else asking)
        segments = tuple(filter(naming_words, " ".join(said).split()))
        closing = bool(_CLOSING.search(self.masked) or _YEAR_END.search(self.text)) and not _AVERAGE.search(
            self.masked
        )
        return replace(
            plan,
            quarters=self.quarters,
            of_company=self.of_company if self.several else {},
            years_back=self.years_back,
            compound=plan.operation is Operation.GROWTH and self.compound,
            names=tuple(dict.fromkeys((*_capitalised(asking), *segments, *per))),
            segments=segments,
            openers=tuple(filter(naming_words, _OPENER.findall(asking))),
            closing=closing,
            directives=self.directives,
            unit=_unit(self.masked, plan),
            asked=self.reading.asking,
            number_chance=self.reading.asks_for_number,
            direction_chance=self.reading.direction_chance if plan.verdict in _WAYS else 1.0,
        )

    def _of_form(self, form: Form) -> QuestionPlan | None:
        reading, measure = self.reading, _in_terms(self.reading.measure)
        largest = Verdict.SMALLEST if reading.down else Verdict.LARGEST
        if _EVERY_QUARTER.search(self.masked):
            self._take_quarters()
        if form is Form.YES_NO and not _VERB.search(self.text):
            # 'Acme sales - % increase 2023 over 2022', 'Acme: trade payables, increase from 2020 to 2021?'
            relative = _RELATIVE.search(self.text) and "?" not in self.text
            form = Form.NUMBER if relative or _MOVE_NAMED.search(self.text) else form
        if form is Form.YES_NO and (self._threshold() or not reading.share() or self._ends()):
            return self._judged()
        if self.several:
            own = self.of_company.values()  # a period each is none to compare within a company
            apart = len(own) > 1 and all(len(one) == 1 for one in own) and len(set(own)) > 1
            without = (Operation.AVERAGE, Operation.DIFFERENCE, *(_CHANGES if apart else ()))
            plan = self._calculated(one for one in Operation if one not in without)
            return plan and replace(plan, verdict=largest, each=False)
        each = _EACH.search(self.masked) or _IN_ORDER.search(self.text)
        if form is Form.YEAR and each and not _WHICH_PERIOD.search(self.text):
            form = Form.NUMBER  # 'in each of the years 2021 to 2023, oldest first'
        if form is Form.YEAR:
            if _WHICH_QUARTER.search(self.text):
                self._take_quarters()
            if self.is_range and len(self.periods) == 2:
                self.periods = _every_period(*self.periods)
            plan = self._margin(measure) or self._made(Operation.VALUE, measure)
            return replace(plan, verdict=largest, each=True, among_periods=True)
        if form is Form.WHICH and not _PERCENT_OF.search(self.text) and (options := self._options()):
            return replace(self._made(Operation.DIFFERENCE, *options), verdict=largest)
        asking = self.reading.that_asks(self.masked)
        alone = len(self.periods) < 2 and not _SUPERLATIVE.search(asking)
        if alone and (by := _BY_PARTS.search(asking)) and not self._relates_two():
            rest = _without(measure, by["of"]) or measure
            return replace(self._made(Operation.VALUE, rest), one_of=by["of"])
        if form is Form.PART and reading.kind:
            changes = {one: chance for one, chance in reading.operations().items() if one in _OVER_TIME}
            changed = max(changes, key=changes.__getitem__) is not Operation.VALUE
            outside = _OUTSIDE.search(self.text)
            left_out = outside["what"].strip() if outside else ""
            measure, kind = (
                _without(words, outside[0] if outside else "") for words in (measure, reading.kind)
            )
            plan = self._made(Operation.CHANGE if changed else Operation.VALUE, measure or _SALES)
            return replace(plan, verdict=largest, one_of=kind or reading.kind, left_out=left_out or None)
        if form is Form.WHICH and (parts := self._parts()):
            return replace(self._made(Operation.DIFFERENCE, *share_words(parts)), verdict=largest)
        return self._calculated(Operation)

    def _take_quarters(self) -> None:
        """The quarters of the one year that is named, where one is."""
        if [one.length for one in self.periods] == [12]:
            self.periods = tuple(replace(self.periods[0], quarter=quarter) for quarter in (1, 2, 3, 4))

    def _relates_two(self) -> bool:
        """Whether two measures are named, and what is asked for is made of two."""
        chances = self.reading.operations()
        return max(chances, key=chances.__getitem__) in _PAIRS and self._parts() is not None

    def _judged(self) -> QuestionPlan | None:
        """Whether something rose, is more than something else, or than a number; is there, or positive."""
        down = self.reading.down
        threshold = self._threshold()
        plan = self._calculated(one for one in Operation if one is not Operation.AVERAGE)
        if plan is None:
            grows = not _GROWS.isdisjoint(re.findall(r"\w+", self.text.lower()))
            plan = self._made(Operation.CHANGE, _SALES) if grows else self._made(Operation.VALUE, _PROFIT)
        if threshold is None and plan.operation is Operation.VALUE and not self._ends():
            threshold = self._number()  # 'did it clear a 35 % margin?'
        verdict: Verdict | None = Verdict.LESS if down else Verdict.MORE
        match plan.operation:
            case Operation.CHANGE | Operation.GROWTH if (
                threshold is None or plan.operation is Operation.CHANGE
            ):
                verdict, threshold = Verdict.FALL if down else Verdict.RISE, None
            case Operation.RATIO if threshold is None and len(plan.measures) > 1:
                plan = replace(plan, operation=Operation.DIFFERENCE)
            case Operation.VALUE if (
                threshold is None and not self.several and (self._ends() or _UP_OR_DOWN.search(self.text))
            ):
                plan = self._made(Operation.CHANGE, plan.measures[0])
                verdict = Verdict.FALL if down else Verdict.RISE
            case Operation.VALUE if threshold is None and not self.several:
                plan = replace(plan, measures=(_SIGNED.sub("", plan.measures[0]).strip() or _PROFIT,))
                existence = EXISTENCE.search(self.text) and not down
                verdict = Verdict.ANY if existence else Verdict.NEGATIVE if down else Verdict.POSITIVE
        return replace(plan, verdict=verdict, threshold=threshold, each=False, yes_no=True)

    def _threshold(self) -> float | None:
        """The number that something is compared with, in full units; None where there is none."""
        for compares in _COMPARES.finditer(self.masked):
            start, end = compares.end(), compares.end() + 30
            found = _THRESHOLD.search(self.masked, start, end)
            if found and found["words"]:
                return _IN_WORDS[found["words"].lower()]
            if (number := self._number(start, end)) is not None:
                return number
        return None

    def _number(self, start: int = 0, end: int = MOST_CHARACTERS) -> float | None:
        """The first number of a part of the question, where it is an amount or has a unit; in full units."""
        for found in _THRESHOLD.finditer(self.masked, start, end):
            if found["words"]:
                amount = _IN_WORDS[found["words"].lower()]
                if amount > 1:  # 'a billion dollars or more', but not 'a quarter'
                    return amount
                continue
            unit = (found["unit"] or "").lower()
            if unit or found["money"] or "," in found["number"]:
                return float(found["number"].replace(",", "")) * _UNITS[unit]
        return None

    def _calculated(self, among: Iterable[Operation]) -> QuestionPlan | None:
        """The likeliest operation that the measures and periods allow."""
        measure = _in_terms(self.reading.measure)
        if not naming_words(measure) and self.reading.form is Form.NUMBER:
            measure = text_of(self.reading.naming)
        if not naming_words(measure):
            return None
        chances = self.reading.operations()
        among = set(among)
        if self.several:  # by how much a company exceeds another
            chances[Operation.VALUE] += chances[Operation.DIFFERENCE]
            chances[Operation.DIFFERENCE] = 0.0
        amount = HOW_MUCH_MORE.search(self.text) or self.directives.unit == "currency"
        grows = _GROWS_FAST.search(self.text) and not amount
        if not (self.compound or _RELATIVE.search(self.text) or grows):
            chances[Operation.CHANGE] += chances[Operation.GROWTH]  # 'how much did it shrink'
            chances[Operation.GROWTH] = 0.0
        if _PERCENT_MORE.search(self.text):
            chances[Operation.GROWTH] += chances[Operation.CHANGE]
            chances[Operation.CHANGE] = 0.0
        how_much_of = _HOW_MUCH_OF.search(self.text) and not self.reading.share()
        if how_much_of and not _SHARE_SAID.search(self.text) and Operation.VALUE in among:
            return self._made(Operation.VALUE, measure)
        if self.compound:
            for other in (Operation.CHANGE, Operation.VALUE, Operation.AVERAGE):  # 'average price: CAGR'
                chances[Operation.GROWTH] += chances[other]
                chances[other] = 0.0
        alone = len(self.periods) < 2 and not self.years_back
        if alone and _LOSES.search(self.masked):
            chances[Operation.VALUE] += chances[Operation.CHANGE]
            chances[Operation.CHANGE] = 0.0
        if (alone and _MOVED.search(self.masked)) or (
            self.directives.unit in ("points", "basis_points") and self._ends()
        ):
            chances[Operation.CHANGE] += chances[Operation.VALUE]
            chances[Operation.VALUE] = 0.0
            among -= {Operation.VALUE}
        if _OF_EVERY.search(self.text) and Operation.RATIO in among:
            sides = self._parts()
            if sides is None or {*naming_words(sides[1]).lower().split()} <= _HUNDRED:
                return self._made(Operation.RATIO, sides[0] if sides else measure, _SALES)
        if chances[Operation.RATIO] > _SURELY_A_RATIO and Operation.RATIO in among and self.reading.relates:
            return self._made(Operation.RATIO, measure, _SALES)
        if self.directives.unit == "percent" and not (self._ends() or self.back) and _is_rate(measure):
            chances[Operation.VALUE] += chances[Operation.GROWTH]  # 'gross margin, in %'
            chances[Operation.GROWTH] = 0.0
        by_name = _ratio_by_name(self.masked, measure)  # 'days inventory outstanding (closing inventory)'
        measure = by_name or measure
        if self.known(naming_words(measure)) or self.known(measure):  # a ratio by name is a value
            pairs = [one for one in _PAIRS if one is not Operation.SUM or len(self.periods) < 2]
            if self._ends() and not self.several:  # from what it was
                chances[Operation.CHANGE] += chances.pop(Operation.DIFFERENCE)
            chances[Operation.VALUE] = sum(chances.get(one, 0.0) for one in (Operation.VALUE, *pairs))
            among -= {*pairs}
        elif Operation.RATIO in among and (margin := self._margin(measure)):
            return replace(margin, chance=max(chances.values()))
        parts = None if by_name else self._parts()
        if parts and not naming_words(_SHARE.sub(" ", parts[0])):  # 'its share of Zoltek's loss'
            return self._made(Operation.VALUE, " of ".join(parts))
        if parts and self._ends() and not (self.several or self.reading.share()) and _says_again(*parts):
            parts, measure = None, parts[0]  # 'profit … than in the same stretch a year before'
        if parts and self.reading.share():
            top = max(chances, key=chances.__getitem__)
            moved = top in _CHANGES or _MOVED.search(self.masked)
            changed = self._ends() and not self.several and moved
            if changed and parts[0].lower() == parts[1].lower():  # as a percentage of what it was
                return self._made(Operation.GROWTH, parts[0])
            return self._made(Operation.CHANGE if changed else Operation.RATIO, *parts)
        if parts and _PART_OF.search(self.masked) and chances[Operation.VALUE]:  # 'the percentage of A in B'
            chances[Operation.RATIO] += chances[Operation.VALUE]
            chances[Operation.VALUE] = 0.0
        if parts and _PERCENT_OF.search(self.masked):
            chances[Operation.RATIO] += chances[Operation.DIFFERENCE]
            chances[Operation.DIFFERENCE] = 0.0
        alone = parts is None and len(self.periods) < 2 and not (self.back or self.years_back)
        parted = {one: 0.0 if one in _PAIRS and alone else chances[one] for one in chances}
        for operation in sorted(among, key=lambda one: -parted[one]):
            found = self._two(operation, parts) if operation in _PAIRS and parts else None
            found = found or self._one(operation, measure)
            if found is not None:
                return replace(found, chance=(parted if len(found.measures) > 1 else chances)[operation])
        return None

    def _margin(self, measure: str) -> QuestionPlan | None:
        """The margin of a part, which is a ratio of two quantities; None where the measure is no such."""
        match = _MARGIN.search(measure)
        if match is None or not naming_words(match["part"]):
            return None
        if self.known(naming_words(measure)) or self.known(measure):
            return None
        return replace(self._made(Operation.RATIO, measure), margin=True)

    def _text(self, words: Words) -> str:
        """Words of a measure; the sure ones alone where these are a known line and all of them are none."""
        full = _in_terms(words)
        sure = text_of([word for word in words if word.small or sum(word.chances[1:3]) >= _SURE])
        denied = re.search(rf"\b(?:not (?:just|only)|rather than|instead of) {re.escape(sure)}", self.text)
        return sure if self.known(sure) and not self.known(full) and not denied else full

    def _parts(self) -> tuple[str, str] | None:
        found = self.reading.parts()
        if found is None:
            return None
        if _TIMES_AS.search(self.text) and found[0][-1].place > found[1][-1].place:
            found = found[::-1]
        first, second = self._text(found[0]), self._text(found[1])
        owner = " ".join(word for word in first.split() if word[:1].isupper())
        named = any(word[:1].isupper() for word in second.split())
        if owner and not named and self._is_its(found[1]):  # 'Toys' income in percent of its sales'
            second = f"{owner} {second}"
        if f"{first} {second}".lower() in self.text.lower():  # 'Books net | sales' are one measure
            phrases = formula_lexicon().longest(f"{first} {second}".lower())
            if any(start < len(first) < end for start, (end, _) in phrases.items()):
                return None
        return first, second

    def _options(self) -> tuple[str, str] | None:
        """The two that a question ends with, each with names and known lines that stand before both."""
        found = self.reading.options()
        if found is None:
            return None
        before, *options = (_in_terms(words) for words in found)
        lines = formula_lexicon().named(before.lower()).values()
        told = [word for word in before.split() if word[:1].isupper() and word.lower() not in _NO_NAMES]
        told += lines
        first, second = (
            " ".join((option, *(one for one in told if one.lower() not in option.lower())))
            for option in options
        )
        if not told:
            first, second = share_words((first, second))
        return first, second

    def _is_its(self, words: Words) -> bool:
        """Whether words belong to what was named before them."""
        before = words[0].place - 1 if words else -1
        return before >= 0 and self.reading.words[before].text.lower() in ("its", "their")

    def _two(self, operation: Operation, parts: tuple[str, str]) -> QuestionPlan | None:
        """An operation on two or more measures."""
        if operation is Operation.SUM:
            if len(self.periods) > 1 and not self.several:
                return None
            whole = _in_terms(self.reading.measure)
            added = [part for part in _PLUS.split(whole) if naming_words(part)]
            if any({*naming_words(part).lower().split()} <= _STATES for part in parts):
                return None
            if len(added) > 2:
                return self._made(operation, *share_words(added))
        if operation is Operation.RATIO:
            return self._made(operation, *parts)
        return self._made(operation, *share_words(parts))

    def _ends(self) -> bool:
        return len(self.periods) == 2 or (self.back and len(self.periods) == 1)

    def _one(self, operation: Operation, measure: str) -> QuestionPlan | None:
        """An operation on one measure in its periods; None where it needs more."""
        several = len(self.periods) > 1 or bool(self.years_back)
        match operation:
            case Operation.CHANGE if self.years_back > 1 and _EACH.search(self.masked):
                periods = _every_period(*self.periods) if len(self.periods) == 2 else self.periods
                self.years_back *= len(periods) < 2
                return replace(self._made(Operation.VALUE, measure), periods=periods, each=True)
            case Operation.CHANGE | Operation.GROWTH | Operation.DIFFERENCE:
                if not self._ends() and operation is Operation.DIFFERENCE:
                    return None
                if len(self.periods) > 2 and not self.is_range:
                    return None
                if self.is_range and self.periods:  # 'the change between 2017 and 2019' is that of its ends
                    self.periods = (self.periods[0], self.periods[-1])
                growth = operation is Operation.GROWTH
                return self._made(Operation.GROWTH if growth else Operation.CHANGE, measure)
            case Operation.RATIO:
                in_order = tuple(period for named in self.named for period in named)
                plan = self._made(operation, measure)
                return replace(plan, periods=in_order) if len(in_order) == 2 else None
            case Operation.AVERAGE | Operation.SUM:
                if self.is_range and len(self.periods) == 2:
                    self.periods = _every_period(*self.periods)
                if operation is Operation.AVERAGE:
                    return self._made(operation, _MEAN.sub("", measure) or measure)
                return self._made(operation, measure) if several else None
            case Operation.VALUE:
                if self.is_range and len(self.periods) == 2:
                    self.periods = _every_period(*self.periods)
                return replace(self._made(operation, measure), each=several)

    def _made(self, operation: Operation, *measures: str) -> QuestionPlan:
        periods = self.periods
        measures = tuple(" ".join(_SAME.sub(" ", measure).split()) or measure for measure in measures)
        if operation in _CHANGES:
            measures = tuple(_MOVING.sub("", measure) or measure for measure in measures)
            if self.back and len(periods) == 1:
                periods = (periods[0].shift(-1), periods[0])
        if operation is Operation.RATIO:
            measures = tuple(_SHARE.sub(" ", measure).strip() or measure for measure in measures)
            words = [word for word in measures[0].split() if word.lower() not in _WITHIN_NAMES]
            names = all(word[:1].isupper() and word.lower() not in _NO_NAMES for word in words)
            if names and not self.known(measures[0]):  # 'the Games share of sales'
                measures = (*share_words(measures)[:1], *measures[1:])
        named = tuple(
            measure if measure == self.line else _nouns(naming_words(measure)) or measure
            for measure in measures
        )
        return QuestionPlan(operation, named, periods, spoken=measures)


_STATES = word_set("outstanding unpaid remaining left owed due")
"""Words for what is meant of a quantity, and no quantity."""

_LOSES = any_case(r"\bmoney\b[^.?]*\b(?:lose|lost)\b|\b(?:lose|lost) money\b")
"""A loss, and no change."""
_TIMES_AS = any_case(r"\btimes (?:as \w+|more|fewer|\w+er)\b.*\b(?:as|than)\b")
"""What compares two in the order in which they are named: 'times as many … as'."""

_GROWS_FAST = any_case(r"\b(?:gr[eo]w\w*|fast\w*|quick\w*|slow\w*|pace|times|compound\w*)\b")
_PERCENT_MORE = any_case(
    r"(?:%|\bper ?cent(?:age)?|\bpct\.?) "
    r"(?:increase|decrease|change|growth|rise|drop|decline|fall)\b(?! points?\b)"
)
_HOW_MUCH_OF = any_case(r"\bhow (?:much|many) of\b")
_SHARE_SAID = any_case(
    r"%|\b(?:per ?cent\w*|pct|share|proportion|portion|fraction|slice|part|ratio|times|every|each)\b"
)
_OF_EVERY = any_case(
    r"\bof (?:each|every) (?:(?:one )?hundred|100|\$ ?100)?\s*(?:dollars?)?\b[^?.]*"
    r"\b(?:took in|takes in|rang up|sold|earned|collected)\b"
)
"""Of what a company sells so much: 'out of every hundred dollars it took in'."""
_HUNDRED = word_set("hundred bucks cents sold sales rang earned collected")

_SHARE = any_case(
    r"\b(?:share|portion|proportion|part|slice|fraction)\b(?!s)|^ratio(?: of)?\b(?=\s\w)|(?<=\w)\sratio$"
)


def _in_terms(words: Words) -> str:
    """Words of a measure with 'plus' and 'minus' before the quantities that are added to it or taken off."""
    terms = terms_of(words)
    texts = share_words([text for _, text in terms])
    return " ".join(
        word for (sign, _), text in zip(terms, texts, strict=True) for word in (sign, text) if word
    )


def _says_again(first: str, second: str) -> bool:
    """Whether the words of a second measure only say that it is the first one at another time."""
    said = set(naming_words(second).lower().split())
    named = set(naming_words(first).lower().split())
    return bool(said) and said <= _AGAIN | named


_AGAIN = word_set("same stretch span spell earlier before prior previous comparable corresponding ago")
_SAME = any_case(
    r"\bsame\b(?![- ](?:store|restaurant|propert|site|hospital|facilit|branch|hotel|centre|center))"
)


def _is_rate(measure: str) -> bool:
    """Whether words name a ratio that is told in per cent."""
    lexicon = formula_lexicon()
    return any(lexicon.unit_of(name) == "percent" for name in lexicon.named(measure.lower()))


def _ratio_by_name(question: str, measure: str) -> str | None:
    """A ratio that a question names beside nothing but what it is made of; None where it does not."""
    lexicon = formula_lexicon()
    named = lexicon.named(question.lower())
    ratios = [name for name in named if lexicon.unit_of(name) not in (None, "currency")]
    if len(ratios) != 1:
        return None
    parts = {line.name for line in lexicon.lines_of(ratios[0])}
    phrases = (measure[start:end] for start, (end, _) in lexicon.longest(measure.lower()).items())
    rest = _without(naming_words(measure), " ".join(phrases) + _OF_BALANCES)
    return None if rest or not set(named) - {*ratios} <= parts else named[ratios[0]]


_OF_BALANCES = " days balance balances closing opening average ending year-end"
_CHANGES = (Operation.CHANGE, Operation.GROWTH)
_OVER_TIME = (Operation.VALUE, *_CHANGES)


def _without(measure: str, words: str) -> str:
    left_out = words.lower().split()
    return " ".join(word for word in measure.split() if word.lower() not in left_out)


def _nouns(words: str) -> str:
    said = {*words.lower().split()}
    if said <= _EARNS:
        return _PROFIT
    if said & _GROWS and said <= _GROWS | _FAST:
        return _SALES
    return " ".join(_NOUNS.get(word.lower(), word) for word in words.split())


_EARNS = word_set("earn earned earns make makes made money lose lost profitable")
_GROWS, _FAST = word_set("grow grew grows grown"), word_set("fast quickly")
_NOUNS = {
    "sold": "sales",
    "sell": "sales",
    "sells": "sales",
    "borrowed": "borrowings",
    "repurchased": "repurchases",
}
"""What is printed in tables for verbs of people."""


_NAMED_BY_YEAR = re.compile(
    r"\b(?:19|20)\d\d (?:[A-Z][\w&-]+ ){0,3}(?:Plan|Program(?:me)?|Initiative|Notes|Act|Facility|Agreement)\b"
)
"""Plans, loans and the like with a year in their name."""


def _places(text: str, companies: Sequence[str], asking: str) -> list[PeriodSpan]:
    """Where periods are named: in the sentences that ask, if these name one, else anywhere."""
    # 'Charged in 2021 under its 2019 Productivity Plan'
    named = [*companies, *(found[0] for found in _NAMED_BY_YEAR.finditer(text))]
    places = find_periods(text, named) or find_periods(text, companies)
    own = [one for one in places if text[one.start : one.end] in asking]
    dated = any(asked.fiscal_year or asked.date for one in own for asked in one.periods)
    return with_years(own if dated else places, text)


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


_PER_SHARE = any_case(
    rf"\b(?:per|(?:for|on) a|one|each|every|a single) (?:common |ordinary )?share\b(?! of (?!{_C}))|\beps\b"
)
_SHARES = any_case(r"\bhow many shares\b|\bshare count\b|\bnumber of shares\b|\bshares outstanding\b")
_COUNTED = any_case(
    r"\bhow many (?!dollars|cents|euros|times|days|months|years|quarters|per ?cent|percentage|basis|points|"
    r"shares|millions?|billions?|more|of\b)[a-z]"
)
_DOLLARS = any_case(r"\b(?:dollars?|cents)\b")
_PIECES = any_case(
    r"\bheadcount\b|\bunits?\b (?:shipped|sold|shipments?|volumes?)|\bshipments? in units|"
    r"(?<!per )\b(?:square (?:feet|foot|met(?:er|re)s)|tonn?es?|tons|gallons|barrels|megawatts?)\b|"
    r"\bnumber of (?!shares\b|days\b|times\b|months\b|years\b|quarters\b|dollars\b)[a-z]"
)
_PER = any_case(r"\bper (?!(?:common |ordinary )?share|cent\b|the\b|its\b|annum|year|quarter)([a-z]+)")
_MONEY = any_case(
    r"\b(?:how much|dollars?|money|usd|cash|revenues?|sales|spen[dt]|spending|"
    r"paid|pay|costs?|earn(?:ed|ings)?|profits?|income|"
    r"owed?|debt|assets?|liabilit\w+|expenses?|price|proceeds|takings)\b"
)


def _unit(text: str, plan: QuestionPlan) -> str | None:
    """Unit of the numbers that a question looks up."""
    if _PER_SHARE.search(text):
        return "currency/share"
    if _SHARES.search(text):
        return "shares"
    counted = _COUNTED.search(text) and not _DOLLARS.search(text)  # 'how many of every hundred dollars'
    if counted or _PIECES.search(text):
        return "count"
    value = plan.operation is Operation.VALUE
    if value and (_RELATIVE.search(text) or plan.directives.unit in ("percent", "days", "ratio")):
        return None
    return "currency" if _MONEY.search(text) else None


def share_words(parts: Sequence[str]) -> tuple[str, ...]:
    """Operands with the words that they share: 'Games minus Books sales', 'sales, Games plus Books'.

    A part of names and of words that the other has too lacks what is told of both: of
    'operating profit of Games streaming minus Books streaming' the second is the profit too. Without
    capitals the words of a known line are told of both, where one part alone has them, beside others.
    """
    if not any(word[:1].isupper() for part in parts for word in part.split()):
        return _share_line(parts)
    common = [
        " ".join(word for word in part.split() if not (word[:1].isupper() or word in _WITHIN_NAMES))
        for part in parts
    ]
    shared = next((words for words in (common[-1], common[0]) if naming_words(words)), "")
    if len(parts) == 2:  # 'Toner beats Paper in Kenya' is of Kenya both times
        parts = (f"{parts[0]} {_place_behind(*parts)}".strip(), parts[1])
    said = [set(naming_words(words).lower().split()) for words in common]
    for short, full in ((0, 1), (1, 0)) if len(parts) == 2 and all(said) else ():
        named = len(common[short].split()) < len(parts[short].split())
        if named and said[short] < said[full] and not formula_lexicon().named(parts[short].lower()):
            added = (word for word in naming_words(common[full]).split() if word.lower() not in said[short])
            both = list(parts)
            both[short] += " " + " ".join(added)
            return tuple(both)
    return tuple(
        part if naming_words(own) or not shared else f"{part} {naming_words(shared)}"
        for part, own in zip(parts, common, strict=True)
    )


def _place_behind(first: str, second: str) -> str:
    """The place that a second part says beside a name of its own, where the first says none."""
    capital = [word for word in second.split() if word[:1].isupper()]
    places = [*filter(is_place, capital)]
    named = len(places) < len(capital) and any(word[:1].isupper() for word in first.split())
    return " ".join(places) if named and not any(map(is_place, first.split())) else ""


def _share_line(parts: Sequence[str]) -> tuple[str, ...]:
    """Two operands of which one alone says a known line, first or last of all: both are of that line.

    'Operating income Games minus Books', 'Games minus Books net sales'.
    """
    lines = [formula_lexicon().named(part.lower()) for part in parts]
    if len(parts) != 2 or bool(lines[0]) == bool(lines[1]):
        return tuple(parts)
    full = 0 if lines[0] else 1
    line = " ".join(lines[full].values())
    said = parts[full].lower()
    outermost = said.endswith(line) if full else said.startswith(line)
    if not outermost or not naming_words(_without(said, line)):
        return tuple(parts)
    both = list(parts)
    both[1 - full] = f"{line} {parts[1 - full]}"
    return tuple(both)


def _every_period(first: FiscalPeriod, last: FiscalPeriod) -> tuple[FiscalPeriod, ...]:
    """The years or quarters from one to another, where both are such; else the two."""
    one_kind = first.year and last.year and first.length == last.length in (3, 12)
    if not one_kind or first.end or last.end or last.place - first.place > _MOST_QUARTERS:
        return (first, last)
    quarters = first.length // 3
    places = range(first.place, last.place + 1, quarters)
    return tuple(FiscalPeriod.up_to(place, quarters) for place in places)


_MOST_QUARTERS = 40
"""Quarters between two periods of which all between are asked for."""

_APPOSED = any_case(
    r"[\s,(]*(?:(?:the|its|a|year|quarter|three|six|nine|months?|period|that|which|i\.e\.|i mean|just|"
    r"(?:year|quarter)?-?end(?:s|ed|ing)?|clos(?:es|ed|ing)|finish(?:es|ed|"
    r"ing)|to|through|on|at|as of|when|year-end|"
    r"fiscal)[\s,(]*)*"
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


_SEGMENT = re.compile(
    r"\b((?:[A-Z][\w&'-]* )+)(?:reporting |operating |business )?(?:segment|division|unit)s?\b"
)
_ITS = any_case(r"\b(?:its|their)\b")
_OPENER = re.compile(r"(?:^|[.?!:]\s+)([A-Z][a-z][\w&-]+)")
_ACRONYM_FIRST = re.compile(r"(?:^|[.?!:]\s+)([A-Z]{2,}\b|[A-Z]+-\d[\w-]*)")
"""An acronym, or the code of a product, such as 'X-22', which are names where they begin a sentence too."""


def _capitalised(text: str) -> list[str]:
    """Words with a capital that do not begin a sentence, or have several, and are no term of finance."""
    words = re.findall(r"(?<![.?!:]\s)(?<!^)(?<![\w'])(?:(?:[A-Z]\.)+[A-Z]?|[A-Z][\w&'-]+)", text)
    words += _ACRONYM_FIRST.findall(text)
    bare = (word.removesuffix("'s").rstrip(".") for word in words)
    return [
        word
        for word in bare
        if naming_words(word) and not {word.lower(), re.sub(r"\W", "", word.lower())} & _NO_NAMES
    ]


_WITHIN_NAMES = word_set("and of the for")
"""Small words that names have too: 'Toner and Paper'."""

_NO_NAMES = NAMES_NOTHING | ACRONYMS | word_set("sga rd ppe eps gaap am so ww")
