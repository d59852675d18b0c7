"""Answers from any printed row: the plan of a question, computed over the rows that its words name."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial

import numpy as np

from finrag_pipeline.answering.answer_confidence import answer_confidence, signs_of_answer, signs_of_rows
from finrag_pipeline.answering.calculate import NOT_SHOWN, Calculation, Quantity, mixes_scales
from finrag_pipeline.answering.derivation import Derivation, Input, SeriesValue
from finrag_pipeline.answering.inputs import FoundFact
from finrag_pipeline.answering.row_book import (
    LEAVES_A_LINE,
    OpenBook,
    Part,
    PrintedFact,
    is_netted,
    is_outflow,
)
from finrag_pipeline.answering.row_matcher import log_odds
from finrag_pipeline.answering.series import OpenAnswer, adds_up, listed, tell_course, tell_parts
from finrag_pipeline.answering.wording import Unit, Worded, word_value
from finrag_pipeline.questions.abstention import Abstention, AbstentionKind
from finrag_pipeline.questions.expression import (
    At,
    Binary,
    Call,
    Expression,
    Name,
    Negative,
    Number,
    compound_growth,
    names_in,
    print_expression,
)
from finrag_pipeline.questions.formula_lexicon import PERIOD_DAYS, Formula, Lexicon, Line
from finrag_pipeline.questions.line_reader import LEAST_LINE, SURE_LINE, disclosures, read_line
from finrag_pipeline.questions.plan import Operation, QuestionPlan, Verdict
from finrag_pipeline.questions.question_reader import naming_words
from finrag_pipeline.questions.token_runs import says_nothing
from finrag_pipeline.questions.tokens import tokenise_question
from finrag_pipeline.questions.words import OPERATIONS
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.resolver.lexicon import any_case, is_place
from finrag_pipeline.statements.filing_rows import FilingRow
from finrag_pipeline.statements.periods import FiscalPeriod

LEAST_CONFIDENCE = 0.85
"""Least confidence; an answer that is less sure is none. With it one in twenty answers to questions that were
looked at was wrong, by trees that had learned from other hands' questions: 664 were right and 37 wrong of
1,421, 706 and 46 with .8."""

LEAST_PRODUCT = 0.6
"""That of the product of all probabilities, where no encoder tells how well rows fit."""

LEAST_OPERATION = 0.35
"""Least probability of the operation."""

_CALIBRATION = (1.7, 0.9)
"""Constant and weight of the log-odds of the least likely row (Platt, 1999), as `benchmarks.answers` fits
them, on questions about filings whose rows taught nothing: those of ``*answerable_pdfs.jsonl``."""

_KNOWN = 0.97
"""Confidence in a line or formula of the lexicon that the words name exactly."""

_PARTS_CHANCE = 0.5
"""Least probability of parts that are all asked for, where they do not add up to a known whole."""

_TABLES_APART = 0.75
"""What is left of the confidence in a difference of one quantity of two things that two tables print."""

_ABOVE_THE_WHOLE = 0.75
"""What is left of it where one number is told as more than a hundred per cent of another."""

_PART_UNNAMED = any_case(
    r"\b(?:our|my|its|their|this|that) (?:reporting |business )?(?:segment|division)(?:'s)?\b"
    r"(?! (?:note|table|footnote|information|disclosures?|reporting|results)\b)"
)
_OF_CHANGE = any_case(r"\bchanges? in\b")
_A_YEAR_AGO = any_case(
    r"\byear[- ](?:over|on|ago|earlier|before)\b|\by[/o]y\b|\b(?:a|one|prior|previous|last) year\b|"
    r"\bannual|\bsame (?:quarter|period)\b"
)
_NO_PART, _TOO_MANY_TIMES, _FAR_BELOW, _NOTHING = Decimal("0.0005"), 100, 1000, 0.3
"""What is left of it where a part is next to nothing, as a count is of an amount, or a hundred times the
whole, where a number is a thousandth of what it is compared with, or where nothing changed."""

_SIGNED = (Verdict.POSITIVE, Verdict.NEGATIVE)
"""What a value is judged to be by itself."""
_EXTREME = any_case(r"\b(?:highest|lowest|peak|maximum|minimum|at any (?:point|time))\b")

_CODE = re.compile(r"[^\W\d_].*\d|\d.*[^\W\d_]")
_UNPRINTED = 0.1
"""Confidence where the question is about a name of two words that no row prints, such as a programme."""

_PART_UNREAD = 0.3
"""What is left of it where a quarter or half is asked for, and only whole years were read."""

_LIKELIER = 1.15
"""How much likelier rows are to be with words that were read as part of no measure, where they are taken."""

_SAYS_NO_WORD = 0.5
"""What is left of it where a row says no word of a measure, beside one with a label that is meant."""

_TOPIC_FITS = 0.6
"""Part of the probability that rows keep where words of the topic are said too, which so fits them."""

_PRINTED_SHARE = 0.5
"""Probability of a share that a row prints, whose part and whole it names."""
_MOVES = any_case(r"\b(?:changes?|increases?|decreases?|growth|grew|declines?|versus|vs)\b")
"""What a row says whose percentage is no share."""

_LEAST_PART = 0.2
"""Least probability of a row that a part and what it is a part of name together."""
_BRACKETS = re.compile(r"\s*\([^()]*\)")
NO_MONEY = frozenset(("percent", "points", "basis_points", "days", "ratio"))
"""Units of what is no amount."""

_YEARS_SHOWN = 5
"""Years back from the last that a choice among years looks at where it names none."""

_ONE = Number(Decimal(1))
_MARGIN = any_case(
    r"\b(?:(?P<gross>gross)|(?P<operating>operating|op\.?|ebit)|(?P<net>net)|(?P<pretax>pre-?tax))?\s*"
    r"(?:profit\s+)?margins?\b"
)
_PROFITS = {
    "gross": "gross profit",
    "operating": "operating income",
    "net": "net income",
    "pretax": "income before income taxes",
}
"""What margins are of."""

_PART_OF_YEAR = any_case(
    r"(?<!a )(?<!one )(?<!each )(?<!every )(?<!per )\b(?:quarter|half)\b(?!-)(?! of (?:its|the|their|all))"
)
_JOIN = any_case(r"(\s+(?:and|plus|\+|&|minus|less)\s+)")
_DAYS = any_case(r"\b36[0-6](?=[- ]days?\b)")
"""Days of a year, where a question says how many it has."""
_TIMES = any_case(r"\btimes\b")
_RATIO = any_case(r"\bratio\b")
_WHAT_SHARE = any_case(
    r"(?:%|\bper ?cent) of\b|\b(?:what|which) (?:percentage|per ?cent|share|proportion|fraction)\b"
)
_IS_SHARE = any_case(r"%|\b(?:percent(?:age)?|per cent|pct|share|proportion|portion|fraction|hundred)\b")
_SIGN = any_case(r"(\s+(?:plus|\+|minus|less)\s+)")


class PlanReader:
    """Computes a plan over the facts and rows of one company.

    Args:
        book: facts and rows.
        lexicon: lines and formulas.
        default: the period that is meant where none is named.
    """

    def __init__(self, book: OpenBook, lexicon: Lexicon, default: FiscalPeriod) -> None:
        self._book = book
        self._lexicon = lexicon
        self._default = default
        self._calculation = Calculation(book, lexicon, {}, discrete=True)
        self._confidence: list[float] = []
        self._doubt = 1.0
        self._in_money = False
        self._names: Sequence[str] = ()
        self._printed_names: list[str] = []
        self._topic_fits = False

    def answer(self, plan: QuestionPlan) -> OpenAnswer:
        """Values of the plan.

        Raises:
            Abstention: something is not reported, or it is not sure enough what is meant.
        """
        self._in_money = plan.directives.unit == "currency"
        self._last = plan.periods[-1] if plan.periods else self._default
        plan = self._with_names(plan)
        if plan.one_of is not None:
            return self._choice(plan)
        whole_years = bool(plan.periods) and all(one.length == 12 for one in plan.periods)
        if whole_years and _PART_OF_YEAR.search(plan.asked):
            self._doubt *= _PART_UNREAD
        self._closing = plan.closing
        self._whole: str | None = None
        self._several = len(plan.measures) > 1
        self._meant, self._meant_chance, self._names = plan.meant, plan.meant_chance, plan.names
        if self._row_is_likelier(plan):
            plan = replace(plan, measures=plan.spoken, spoken=())
        else:
            self._doubt *= plan.measure_chance
        plan = self._with_unread(self._with_part_of_whole(plan))
        names: list[Expression]
        whole = self._known(plan.measures[0]) or self._known(plan.spoken[0] if plan.spoken else "")
        if plan.margin and whole:
            self._confidence.append(_KNOWN)
            plan = replace(plan, operation=Operation.VALUE, margin=False)
            names = [self._line(whole)]
        else:
            names = [
                self._name(measure, spoken)
                for measure, spoken in itertools.zip_longest(plan.measures, plan.spoken, fillvalue="")
            ]
        if plan.margin:
            profit = _MARGIN.sub(lambda of: _PROFITS.get(of.lastgroup or "", "profit"), plan.measures[0])
            names = [self._name(profit), self._revenue(plan)]
        self._set_beside(plan, names)
        if (shared := self._share(plan, names)) is not None:
            return shared
        wanted = self._wanted(plan, names)
        trace = self._calculation.trace
        values = []
        missing: list[str] = []
        restated: dict[str, str] = {}
        for label, expression, period in wanted:
            mark = trace.mark()
            try:
                quantity = self._calculation.compute(expression, period)
            except Abstention as unknown:
                if not plan.partial or unknown.kind not in NOT_SHOWN:
                    raise
                trace.back(mark)
                missing.append(label)
                continue
            amount = _as_amounts(quantity.value, trace.inputs[mark[1] :], plan.operation)
            quantity = replace(quantity, value=amount)
            told = word_quantity(quantity, plan, self._calculation.currency, self._unit(plan, names))
            values.append((label, quantity, told))
            if len(trace.inputs) == mark[1] + 1:
                for other in (one for one in trace.alternatives[mark[2] :] if "filing" in one):
                    before = replace(quantity, value=Decimal(repr(other["value"])))
                    was = word_quantity(before, plan, self._calculation.currency, None)
                    restated.setdefault(label, f"{other['filing']} showed {was.answer}")
        if plan.partial:
            self._check_series(values, missing)
        if plan.partial or plan.operation in (Operation.CHANGE, Operation.GROWTH):
            self._check_labels(names)
        cells = {
            (one.fact.filing, one.fact.page, one.fact.row, one.fact.column, one.fact.printed)
            for one in trace.inputs
        }
        amounts = {(abs(one.value), one.fact.period_end) for one in trace.inputs}
        count = len(values)
        if sum(1 for of in names for _ in names_in(of)) > 1 and (
            len(cells) == count or (len(trace.inputs) == 2 * count and len(amounts) == count)
        ):
            said = [self._words_of(one) for one in names if isinstance(one, Name)]
            if len(said) == 2 and self._book.tell_apart(said[0], said[1], wanted[-1][2]):
                return PlanReader(self._book, self._lexicon, self._default).answer(plan)
            raise Abstention(AbstentionKind.NOT_UNDERSTOOD, "one number fits both parts of the question")
        if plan.among_periods:
            if len(values) < 2:
                raise Abstention(AbstentionKind.NOT_REPORTED, "no two periods are shown")
            values = _by_size(values, trace.inputs, plan.verdict is Verdict.SMALLEST)
        least = min([*self._confidence, *self._book.chances.values()], default=1.0)
        confidence = calibrated(least) * self._doubt
        if plan.operation is Operation.DIFFERENCE and self._are_apart(names):
            confidence *= _TABLES_APART
        if plan.operation is Operation.DIFFERENCE and _is_part_of_other(trace.inputs):
            confidence *= _NOTHING
        self._check_unit(plan, values)
        last = abs(values[-1][1].value)
        told = " ".join(one.fact.label for one in trace.inputs).lower()
        topic = set() if self._topic_fits else set(terms(" ".join(plan.topic)))
        if topic and topic.isdisjoint(terms(" ".join((told, *plan.measures)))):
            confidence *= _NOTHING  # 'Ketchup, Acme 2021: net sales?' asks for no sales of all
        if any(name not in told for name in self._printed_names):
            confidence *= _NOTHING
        judged_alone = plan.operation is Operation.VALUE and len(values) == 1
        if judged_alone and plan.verdict in _SIGNED:
            earned = " ".join((told, *plan.measures, *plan.spoken))
            signed = _PROFIT.search(earned) or _LOSS.search(earned) or is_netted(told) or is_outflow(told)
            if not signed and all(one.value > 0 for one in trace.inputs):
                confidence *= _NOTHING  # what is never negative is compared with something unread
        above = plan.operation is Operation.RATIO and not plan.verdict and values[-1][2].unit == "percent"
        if above and last > 1 and not _RATIO.search(plan.asked):
            confidence *= _ABOVE_THE_WHOLE
        if plan.operation is Operation.RATIO and last > _TOO_MANY_TIMES and values[-1][2].unit != "days":
            confidence *= _NOTHING
        if plan.threshold and last * _FAR_BELOW < plan.threshold:  # such as a rate beside an amount
            confidence *= _NOTHING
        moved = plan.operation in (Operation.CHANGE, Operation.GROWTH)
        if moved and not all(one.value for one in trace.inputs):  # a dash, of which nothing grows
            confidence *= _NOTHING
        if plan.operation is Operation.VALUE and plan.verdict is None and not plan.among_periods:
            extreme = _EXTREME.search(plan.asked)
            if extreme and extreme[0].lower() not in told:
                confidence *= _NOTHING  # the peak of what a balance is the last of
        nothing = _NO_PART if plan.operation is Operation.RATIO else 0
        if (moved or plan.operation is Operation.RATIO) and last <= nothing:
            confidence *= _NOTHING
        formula = "; ".join(dict.fromkeys(print_expression(expression) for _, expression, _ in wanted[:1]))
        return OpenAnswer(
            tuple(values),
            formula,
            (*plan.read_as, *dict.fromkeys(trace.steps)),
            tuple(dict.fromkeys(trace.inputs)),
            confidence,
            self._signs([*self._confidence, *self._book.chances.values()], confidence / calibrated(least)),
            tuple(missing),
            restated,
        )

    def _signs(self, chances: Sequence[float], doubt: float) -> Mapping[str, float] | None:
        """What tells how sure the answer is, see `OpenAnswer`."""
        rows = [self._book.signs[words] for words in self._book.chances]
        if None in rows:
            return None
        return signs_of_rows(chances, [row for row in rows if row], doubt, self._calculation.trace.inputs)

    def _with_names(self, plan: QuestionPlan) -> QuestionPlan:
        """A plan whose measures say the names that the question has elsewhere, where a row prints them.

        Such as a product that is talked about before something of 'it' is asked for.
        """
        told = " ".join((*plan.measures, plan.one_of or "", plan.left_out or "")).lower()
        names = [name for name in (*plan.names, *plan.openers) if name.lower() not in told]
        pairs = [f"{one} {other}" for one, other in itertools.pairwise(plan.names) if one in names]
        pairs = [pair for pair in pairs if pair in plan.asked]
        rows = self._book.rows if names else None
        printed = [
            name
            for name in dict.fromkeys((*names, *pairs))
            if rows and (rows.says(name) if name in plan.segments else rows.prints(name))
        ]
        if not printed and _PART_UNNAMED.search(plan.asked) and all(map(self._known, plan.measures)):
            why = "the question asks for a part of the company, and does not say which"
            raise Abstention(AbstentionKind.NOT_UNDERSTOOD, why)
        if rows and not all(map(rows.says, pairs)):
            self._doubt *= _UNPRINTED
        if any(_CODE.search(name) and name not in printed for name in names):  # a model, such as 'X-22'
            self._doubt *= _UNPRINTED
        if not printed:
            return plan
        self._printed_names = [name.lower() for name in printed if name not in plan.names]
        part = " ".join(printed)
        of_one = plan.operation is Operation.VALUE and len(plan.measures) == 1
        margin = of_one and _MARGIN.search(plan.measures[0])
        if margin and (f"{part}'" in plan.asked or self._unit_of(f"{plan.measures[0]} {part}") == "currency"):
            # Of the profit and the revenue of the part.
            measures = (f"{part} {plan.measures[0]}",)
            return replace(plan, operation=Operation.RATIO, margin=True, measures=measures, spoken=())
        measures, meant = (
            tuple(" ".join((one, *printed)) for one in words) for words in (plan.measures, plan.meant)
        )
        return replace(plan, measures=measures, meant=meant, spoken=())

    def _with_part_of_whole(self, plan: QuestionPlan) -> QuestionPlan:
        """A plan of a share whose part says what it is a part of, where a row is likelier so.

        'Of all the floor space, how much was in Kenya' asks for the floor space in Kenya.
        """
        if plan.operation is not Operation.RATIO or len(plan.measures) != 2 or plan.margin or plan.each:
            return plan
        part, whole = plan.measures
        known = any(map(self._known, (part, *plan.spoken[:1])))
        lines = self._lexicon.named(part.lower())
        if lines.keys() - self._lexicon.named(whole.lower()).keys():
            return plan  # a quantity of its own
        if known or _TIMES.search(plan.asked) or any(map(_SIGN.search, plan.measures)):
            return plan
        said = {*part.lower().split()}
        words = " ".join((*(word for word in whole.split() if word.lower() not in said), part))
        rows = self._book.rows
        unit = self._unit_of(whole) if _IS_SHARE.search(plan.asked) else None
        if unit is not None:
            self._book.units |= dict.fromkeys((part, words), unit)
        alone, both = (rows.find(one, self._last, unit=unit) for one in (part, words))
        least = max(_LEAST_PART, alone.probability if alone is not None else 0.0)
        own = set(terms(part)) - set(terms(whole))
        if words == part or both is None or (own and own.isdisjoint(terms(both.row.text))):
            return plan
        if both.probability <= least:
            if (
                all(map(is_place, part.split()))
                and alone is not None
                and not self._speaks_of(alone.row, whole)
            ):
                self._doubt *= _NOTHING  # 'United States' of another quantity
            return plan
        return replace(plan, measures=(words, whole), spoken=())

    def _speaks_of(self, row: FilingRow, words: str) -> bool:
        """Whether a row, its table too, says any of words or a line that they name."""
        lines = self._lexicon.named(words.lower()).keys() & self._lexicon.named(row.text.lower()).keys()
        return bool(lines) or not set(terms(words)).isdisjoint(terms(row.text))

    def _with_unread(self, plan: QuestionPlan) -> QuestionPlan:
        """A plan whose measures say the words that were read as none of them, where rows are likelier so."""
        if plan.margin or not plan.measures or any(map(self._known, plan.measures)):
            return plan
        rows, said = self._book.rows, {*terms(" ".join(plan.measures))}
        runs: list[list[str]] = [[]]
        for words in plan.unread:
            new = (word for word in words.split() if said.isdisjoint(terms(word)))
            naming = (w for w in new if not says_nothing(w.lower()) and w.lower() not in OPERATIONS)
            runs.append([word for word in naming if rows.tells(word)])
        every = " ".join(itertools.chain(*runs))
        told = dict.fromkeys((every,) if len(plan.measures) > 1 else (" ".join(max(runs, key=len)), every))

        def found(measures: Sequence[str]) -> tuple[float, list[str]]:
            """Probability that all are meant, and the units of their numbers."""
            each = [rows.find(one, self._last) for one in measures]
            return math.prod(one.probability if one else 0.0 for one in each), [
                one.fact.unit if one else "" for one in each
            ]

        chance, units = found(plan.measures)
        best = plan.measures
        least = _LIKELIER * chance
        for more in filter(None, told):
            measures = tuple(f"{more} {one}" for one in plan.measures)
            other, others = found(measures)
            if set(plan.topic) <= set(more.split()):
                self._topic_fits = other > _TOPIC_FITS * chance  # as the caption may say it
            if other > least and (others == units or not chance):
                best, least = measures, other
        return plan if best is plan.measures else replace(plan, measures=best, spoken=())

    def _unit_of(self, whole: str) -> str | None:
        """The unit of what words name, which a share of it has too; None where nothing is."""
        if (name := self._known(whole)) is not None:
            found = self._alone(Name(name), self._last)
            return found[1][0].fact.unit if found and found[1] else None
        printed = self._book.rows.find(whole, self._last)
        return printed.fact.unit or None if printed is not None else None

    def _check_series(self, values: Sequence[tuple[str, Quantity, Worded]], missing: Sequence[str]) -> None:
        """Abstain where no filing shows values of a series, or some in other scales."""
        if not values or (len(values) == 1 and missing):
            shown = f"only {values[0][0]}" if values else "none of them"
            why = f"the filings show {shown} of the periods asked for, not {listed(missing)}"
            raise Abstention(AbstentionKind.NOT_REPORTED, why)
        if mixes_scales(quantity for _, quantity, _ in values):
            raise Abstention(AbstentionKind.UNITS_DISAGREE, "the filings show it in different scales")

    def _check_unit(self, plan: QuestionPlan, values: Sequence[tuple[str, Quantity, Worded]]) -> None:
        """Abstain where values are money: it is no percentage, number of days or multiple."""
        made_of_one = plan.operation in (Operation.VALUE, Operation.SUM, Operation.DIFFERENCE)
        named = self._lexicon.named(plan.asked.lower()) if made_of_one else ()
        units = map(self._lexicon.unit_of, named)
        asked = plan.directives.unit or next((unit for unit in units if unit in NO_MONEY), None)
        money = any(quantity.unit.money for _, quantity, _ in values)
        if money and not plan.yes_no and _WHAT_SHARE.search(plan.asked):
            asked = "percent"
        if money and asked in NO_MONEY and plan.verdict in (None, Verdict.LARGEST, Verdict.SMALLEST):
            why = f"the question asks for {asked}, and the row that it names has amounts of money"
            raise Abstention(AbstentionKind.NOT_UNDERSTOOD, why)

    def _check_labels(self, names: Sequence[Expression]) -> None:
        """Abstain where the values of different periods are of rows of several names."""
        named = {name for expression in names for name in names_in(expression)}
        if any(isinstance(self._lexicon.entries.get(name), Formula) for name in named):
            return
        inputs = self._calculation.trace.inputs
        said = set(terms(" ".join(named)))
        printed = (
            one.line
            for one in inputs
            if isinstance(one.fact, PrintedFact)
            and not (one.fact.told and said <= set(terms(one.line)))  # a sentence has other words besides
        )
        labels = {frozenset(terms(_BRACKETS.sub(" ", line))): line for line in printed}  # 'Income (loss)'
        last = {own: terms(line.rsplit(" > ", 1)[-1]) for own, line in labels.items()}
        for own in list(labels):  # one that says less of the headings above it is no other
            if any(own < other and last[own] == last[other] for other in labels):
                del labels[own]
        if len(labels) > len(named):
            why = f"the filings name it differently: {listed(sorted(labels.values()))}"
            raise Abstention(AbstentionKind.NOT_UNDERSTOOD, why)
        if len({_OF_CHANGE.search(" ".join(one.fact.path)) is not None for one in inputs}) > 1:
            raise Abstention(AbstentionKind.NOT_UNDERSTOOD, "one row shows an amount, another its change")

    def _set_beside(self, plan: QuestionPlan, names: Sequence[Expression]) -> None:
        """Look up each of two quantities that are set against each other near the other from now on."""
        known = self._lexicon.entries
        said = [one.name for one in names if isinstance(one, Name) and one.name not in known]
        if plan.operation not in (Operation.RATIO, Operation.DIFFERENCE) or len(said) != 2 or len(names) != 2:
            return
        first, second = said
        units = self._book.units
        share = plan.operation is Operation.RATIO and _IS_SHARE.search(plan.asked) is not None
        pair = self._book.rows.pair(first, second, self._last, (units.get(first), units.get(second)), share)
        if pair is not None and first != second:
            self._book.pairs = {first: pair, second: (pair[1], pair[0])}

    def _are_apart(self, names: Sequence[Expression]) -> bool:
        """Whether rows of two tables are taken for one quantity of two things, as sales to two groups."""
        known = self._lexicon.entries
        said = [one.name for one in names if isinstance(one, Name) and one.name not in known]
        if len(said) < 2 or set(terms(said[0])).isdisjoint(terms(said[1])):
            return False
        return len({one.fact.fact_id.rsplit(":", 2)[0] for one in self._calculation.trace.inputs}) > 1

    def _share(self, plan: QuestionPlan, names: Sequence[Expression]) -> OpenAnswer | None:
        """The part of a total of its own table, where that is likelier than two rows anywhere."""
        if plan.operation is not Operation.RATIO or plan.margin or len(names) < 2:
            return None
        if any(map(_SIGN.search, plan.measures)) or _TIMES.search(plan.asked):
            return None  # of a sum, or of what is covered so many times, nothing is a part
        rows, period = self._book.rows, plan.periods[-1] if plan.periods else self._default
        found = rows.share(plan.measures[0], plan.measures[1], period, bool(plan.periods))
        pairs = self._book.pairs
        alone = [
            None if self._known(words) else rows.find(words, period, pair=pairs.get(words))
            for words in plan.measures
        ]
        chances = [
            _KNOWN if self._known(words) else one.probability if one else 0.0
            for words, one in zip(plan.measures, alone, strict=True)
        ]
        least = max(min(chances), found[0] if found is not None else 0.0)
        if least < _PRINTED_SHARE and (printed := self._printed_share(plan)) is not None:
            return printed
        if found is None or found[0] <= min(chances):
            return None
        chance, *facts = found
        part, whole = (
            self._calculation.take(FoundFact(fact), words, period, False)
            for fact, words in zip(facts, plan.measures, strict=True)
        )
        quantity = Quantity(part.value / whole.value, Unit(0, 0))
        told = word_quantity(quantity, plan, self._calculation.currency, None)
        inputs = tuple(dict.fromkeys(self._calculation.trace.inputs))
        formula = " / ".join(f'"{words}"' for words in plan.measures)
        self._book.chances.clear()
        confidence, signs = calibrated(chance) * self._doubt, self._signs([chance], self._doubt)
        return OpenAnswer((("", quantity, told),), formula, (), inputs, confidence, signs)

    def _printed_share(self, plan: QuestionPlan) -> OpenAnswer | None:
        """The share as rows print it, such as that of a customer; None where they print several."""
        part, whole = plan.measures
        if not (_IS_SHARE.search(plan.asked) or 0 < (plan.threshold or 1) < 1):
            return None
        of_whole = set(terms(whole))
        words = " ".join(word for word in part.split() if of_whole.isdisjoint(terms(word)))
        periods = plan.periods or (self._default,)

        lines = self._lexicon.named(whole.lower()).keys()

        def says_whole(row: FilingRow) -> bool:
            return of_whole <= set(terms(row.text)) and not _MOVES.search(row.text)

        def says_line(row: FilingRow) -> bool:
            named = self._lexicon.named(row.text.lower()).keys()
            return not lines.isdisjoint(named) and not _MOVES.search(row.text)

        rows = self._book.percentages
        found = [
            rows.saying(words, period, says_whole) or rows.saying(words, period, says_line)
            for period in periods
        ]
        values = []
        for period, one in zip(periods, found, strict=True):
            if one is None or one.fact.unit != "percent" or None in found:
                return None
            quantity = self._calculation.take(FoundFact(one.fact), words, period, False)
            told = word_quantity(quantity, plan, self._calculation.currency, "percent")
            values.append((period.label, quantity, told))
        inputs = tuple(dict.fromkeys(self._calculation.trace.inputs))
        self._book.chances.clear()
        confidence, signs = (
            calibrated(_PRINTED_SHARE) * self._doubt,
            self._signs([_PRINTED_SHARE], self._doubt),
        )
        return OpenAnswer(tuple(values), f'"{words}" of "{whole}"', (), inputs, confidence, signs)

    def _choice(self, plan: QuestionPlan) -> OpenAnswer:
        """The part of the company with the largest or smallest number."""
        periods = plan.periods or (self._default,)
        changed = plan.operation is Operation.CHANGE
        if changed:
            periods = periods[-2:] if len(periods) > 1 else (periods[-1].shift(-1), periods[-1])
        else:
            periods = periods[-1:]
        whole = self._whole_of(plan.measures[0], periods[-1])
        one_of = plan.one_of or ""
        chance, parts = self._parts(plan, periods, whole)
        unit = "percent" if _MARGIN.search(plan.measures[0]) else None
        trace = self._calculation.trace
        values = []
        for name, quantities in parts:
            value = quantities[-1].value - (quantities[0].value if changed else 0)
            quantity = Quantity(value, quantities[-1].unit)
            told = word_quantity(quantity, plan, self._calculation.currency, unit)
            values.append((name, quantity, told))
        self._check_unit(plan, values)
        values = _by_size(values, trace.inputs, plan.verdict is not Verdict.LARGEST)
        confidence = calibrated(chance) * self._doubt
        if plan.verdict is not None and not values[-1][1].value:  # what is told first
            confidence *= _NOTHING
        formula = f"{plan.verdict} of {plan.measures[0]} by {plan.one_of}"
        all_of = None if whole is None else Quantity(Decimal(repr(whole)), values[0][1].unit)
        whole_shown = all_of is not None and adds_up([value for _, value, _ in values], all_of)
        if plan.verdict is None and chance < _PARTS_CHANCE and not whole_shown:
            raise Abstention(AbstentionKind.NOT_UNDERSTOOD, f"no table surely shows all of '{one_of}'")
        if plan.verdict is None:
            formula = f"{plan.measures[0]} by {plan.one_of}, {periods[-1].label}"
        self._book.chances.clear()
        signs = self._signs([chance], confidence / calibrated(chance))
        return OpenAnswer(
            tuple(values), formula, (), tuple(dict.fromkeys(trace.inputs)), confidence, signs, whole=all_of
        )

    def _parts(
        self, plan: QuestionPlan, periods: Sequence[FiscalPeriod], whole: float | None
    ) -> tuple[float, list[tuple[str, list[Quantity]]]]:
        """How likely a choice is among these parts, and their numbers of each period."""
        find = partial(
            self._book.rows.families, one_of=plan.one_of or "", periods=periods, left_out=plan.left_out
        )
        found = find(plan.measures[0], whole=whole)
        margin = _MARGIN.search(plan.measures[0])
        of_revenue = find("revenue", whole=self._whole_of("revenue", periods[-1])) if margin else None
        if of_revenue is not None:
            profit = _MARGIN.sub(lambda of: _PROFITS.get(of.lastgroup or "", "profit"), plan.measures[0])
            of_profit = find(profit, called=[part.name.lower() for part in of_revenue[1]])
            if of_profit is not None and all(fact.value for part in of_revenue[1] for fact in part.facts):
                chance = min(of_profit[0], of_revenue[0])
                return chance, self._margins(of_profit[1], of_revenue[1], periods)
        if found is None:
            raise Abstention(AbstentionKind.NOT_REPORTED, f"no table compares '{plan.one_of}'")
        return found[0], [(part.name, self._taken(part, periods)) for part in found[1]]

    def _taken(self, part: Part, periods: Sequence[FiscalPeriod]) -> list[Quantity]:
        """The numbers of a part, as inputs."""
        return [
            self._calculation.take(FoundFact(fact), part.name, period, False)
            for fact, period in zip(part.facts, periods, strict=True)
        ]

    def _margins(
        self, profits: Sequence[Part], revenues: Sequence[Part], periods: Sequence[FiscalPeriod]
    ) -> list[tuple[str, list[Quantity]]]:
        """Profit over revenue of each part."""
        revenue_of = {part.name.lower(): part for part in revenues}
        margins = []
        for part in profits:
            both = (self._taken(one, periods) for one in (part, revenue_of[part.name.lower()]))
            made = zip(*both, strict=True)
            margins.append(
                (part.name, [Quantity(own.value / all_of.value, Unit(0, 0)) for own, all_of in made])
            )
        return margins

    def _whole_of(self, measure: str, period: FiscalPeriod) -> float | None:
        """The number of the whole company, where words name a line or formula of it."""
        name = self._known(measure)
        found = self._alone(Name(name), period) if name else None
        return float(found[0].value) if found else None

    def _alone(
        self,
        expression: Expression,
        period: FiscalPeriod,
        unless: Collection[AbstentionKind] = tuple(AbstentionKind),
    ) -> tuple[Quantity, Sequence[Input]] | None:
        """A value and its inputs, computed beside the answer; None where an abstention is of these kinds."""
        alone = Calculation(self._book, self._lexicon, {})
        try:
            return alone.compute(expression, period), alone.trace.inputs
        except Abstention as missing:
            if missing.kind not in unless:
                raise
            return None

    def _wanted(
        self, plan: QuestionPlan, names: Sequence[Expression]
    ) -> list[tuple[str, Expression, FiscalPeriod]]:
        periods = plan.periods or (self._default,)
        last = periods[-1]
        if plan.years_back and len(periods) == 1:
            periods = tuple(last.shift(-back) for back in reversed(range(plan.years_back + 1)))
        first = names[0]
        if plan.among_periods and not plan.periods:
            periods = self._shown(first)[::-1]
        match plan.operation:
            case Operation.VALUE:
                each = periods if plan.each or len(periods) > 1 else (last,)
                return [(period.label, first, period) for period in each]
            case Operation.CHANGE | Operation.GROWTH:
                if plan.compound:
                    began = periods[0] if len(plan.periods) > 1 else last.shift(-max(1, plan.years_back + 1))
                    years = last.of_year - began.of_year
                    return [("", compound_growth(At(first, last), At(first, began), years), last)]
                before = periods[-2] if len(periods) > 1 else self._before(plan, first, last)
                dated = before.end or last.end or before.length == last.length
                if not dated and not self._is_balance(first, last):
                    why = f"{before.label} and {last.label} are not of one length"
                    raise Abstention(AbstentionKind.NOT_UNDERSTOOD, why)
                if len(names) > 1:
                    first = Binary("/", first, names[1])
                now, then = At(first, last), At(first, before)
                if plan.operation is Operation.GROWTH and not self._is_share(first):
                    return [("", Binary("-", Binary("/", now, then), _ONE), last)]
                return [("", Binary("-", now, then), last)]
            case Operation.RATIO if len(names) == 1:
                return [("", Binary("/", At(first, periods[0]), At(first, last)), last)]
            case Operation.RATIO:
                quotient = Binary("/", first, names[1])
                if plan.directives.unit == "days":  # that a balance lasts, or stands for
                    said = _DAYS.search(plan.asked)
                    days = Number(Decimal(said[0])) if said else Name(PERIOD_DAYS)
                    quotient = Binary("*", quotient, days)
                if len(periods) > 1:
                    return [(period.label, quotient, period) for period in periods]
                return [("", quotient, last)]
            case Operation.SUM if len(names) == 1:
                return [("", Call("sum", tuple(At(first, period) for period in _apart(periods))), last)]
            case Operation.SUM:
                total: Expression = first
                for other in names[1:]:
                    total = Binary("+", total, other)
                return [("", total, last)]
            case Operation.DIFFERENCE:
                return [("", Binary("-", first, names[1]), last)]
            case Operation.AVERAGE:
                return self._average(plan.measures[0], first, plan.periods, plan.chance)

    def _before(self, plan: QuestionPlan, first: Expression, last: FiscalPeriod) -> FiscalPeriod:
        """What a change in one period is from: of a balance its beginning, else the same a year before."""
        begins = (last.quarter or 0) - (last.months or 3) // 3
        within = last.year and last.quarter and last.length < 12 and not _A_YEAR_AGO.search(plan.asked)
        if not (within and self._is_balance(first, last)):
            return last.shift(-1)
        assert last.year is not None
        return FiscalPeriod(last.year, begins) if begins > 0 else FiscalPeriod(last.year - 1)

    def _average(
        self, measure: str, name: Expression, periods: Sequence[FiscalPeriod], chance: float
    ) -> list[tuple[str, Expression, FiscalPeriod]]:
        """The mean of periods, of all that are shown where none is named; of one, with the period before."""
        words, last = f"average {measure}", periods[-1] if periods else self._default
        averaged = "average" in measure.lower().split()  # once more: 'the mean of the yearly average prices'
        # Such as an average price, whatever is read to be done with it.
        if not averaged and self._prints_average(words, last):
            self._doubt /= chance
            return [(period.label, Name(words), period) for period in periods or (last,)]
        if len(periods) == 1:
            return [("", Call("avg", (name,)), last)]
        shown = periods or self._shown(name) or (last,)
        return [("", Call("mean", tuple(At(name, period) for period in shown)), last)]

    def _prints_average(self, words: str, period: FiscalPeriod) -> bool:
        printed = self._book.rows.find(words, period)
        return printed is not None and "average" in printed.fact.label.lower()

    def _shown(self, expression: Expression) -> tuple[FiscalPeriod, ...]:
        """The last years that the filings show in lines of one name, in order of time."""
        shown: list[tuple[FiscalPeriod, set[frozenset[str]]]] = []
        for back in range(_YEARS_SHOWN):
            period = self._default.shift(-back)
            if (found := self._alone(expression, period, NOT_SHOWN)) is not None:
                shown.append((period, {frozenset(terms(one.line)) for one in found[1]}))
        self._book.chances.clear()  # of years that are left out
        return tuple(period for period, lines in reversed(shown) if lines == shown[0][1])

    def _is_balance(self, expression: Expression, period: FiscalPeriod) -> bool:
        """Whether only balances, of a day, make up a number."""
        found = self._alone(expression, period)
        return found is not None and all(one.fact.period_kind == "instant" for one in found[1])

    # ------------------------------------------------------------------ measures

    def _name(self, measure: str, spoken: str = "") -> Expression:
        """Lines and formulas that words name exactly; else the words, to be looked up among all rows.

        An average that no row prints is that with the period before.
        """
        alone = re.sub(r"^average ", "", measure)
        if alone != measure and not self._known(measure) and not self._prints_average(measure, self._last):
            return Call("avg", (self._name(alone, spoken),))
        if not self._known(measure) and self._known(spoken):
            measure = spoken
        parts = [measure] if self._known(measure) else _JOIN.split(measure)
        lines = [self._known(part) for part in parts[::2]]
        if None in lines and (spaced := _JOIN.split(spoken))[1:]:
            parts, lines = spaced, [self._known(part) for part in spaced[::2]]
        apart = None not in lines or _SIGN.search(measure)  # else it stays one name
        if len(parts) > 1 and apart and self._printed_as_one(measure, parts[::2]):
            return Name(measure)
        if any(line is None for line in lines):
            parts = _SIGN.split(measure)
            said = None if any(map(self._known, parts[::2])) else self._line_of(" ".join(parts[::2]), spoken)
            if said is not None:
                return said
            if len(parts) == 1 or not all(parts):
                return self._label_of(measure, self._meant, self._meant_chance) or Name(measure)
            if (whole := self._printed_whole(parts)) is not None:
                return Name(whole)
            total = self._name(parts[0])
            for joint, part in zip(parts[1::2], parts[2::2], strict=True):
                total = Binary(_sign_of(joint), total, self._name(part))
            return total
        self._confidence.append(_KNOWN)
        if len(lines) == 1:
            self._book.said[self._printed_line(str(lines[0]))] = measure
        total = self._line(str(lines[0]))
        for joint, line in zip(parts[1::2], lines[1:], strict=True):
            total = Binary(_sign_of(joint), total, self._line(str(line)))
        return total

    def _row_is_likelier(self, plan: QuestionPlan) -> bool:
        """Whether a row is what words name, more surely than they ask for a line without naming it."""
        sure = plan.measure_chance >= SURE_LINE
        if not plan.spoken or (sure and not self._more_than_line(plan)):
            return False
        found = self._book.rows.find(plan.spoken[0], self._last)
        if found is None or not sure:
            return found is not None and calibrated(found.probability) > plan.measure_chance
        return self._more_than_line(plan) <= set(terms(found.row.text))

    def _more_than_line(self, plan: QuestionPlan) -> set[str]:
        """Stems of what words say beside a line that they name: 'share-based compensation in research'."""
        line = self._known(plan.measures[0])
        said = self._lexicon.named(plan.spoken[0].lower()).get(line or "")
        rest = naming_words(plan.spoken[0]).lower().split() if said else []
        own = {*terms(said or ""), *LEAVES_A_LINE}
        return {stem for word in rest if word not in own for stem in terms(word) if stem not in own}

    def _line_of(self, measure: str, spoken: str) -> Expression | None:
        """What one of several measures means in words of its own, where no row is likelier."""
        of_part = any(word in self._names for word in measure.split())
        said = filter(None, (measure, spoken)) if self._several and not of_part else ()
        name, chance = max(filter(None, map(read_line, said)), key=lambda one: one[1], default=("", 0.0))
        if chance < LEAST_LINE or (name in self._lexicon.entries and not self._may_mean(name, measure)):
            return None
        if name not in self._lexicon.entries:
            return self._label_of(measure, disclosures().get(name, ()), chance)
        found = self._book.rows.find(measure, self._last)
        if found is not None and calibrated(found.probability) > chance:
            return None
        self._doubt *= chance
        return self._line(name)

    def _may_mean(self, name: str, measure: str) -> bool:
        """Whether words may mean a line: they name none, or have a word of its label."""
        named = self._lexicon.named(measure.lower())
        label = terms(self._lexicon.entries[name].label)
        return not named or name in named or not set(terms(measure)).isdisjoint(label)

    def _label_of(self, measure: str, labels: Sequence[str], chance: float) -> Expression | None:
        """The label that rows have for what words mean; None where a row is likelier by the words."""
        if not labels:
            return None
        besides = [word for word in measure.split() if is_place(word) or word in self._names]
        labels = [" ".join((label, *besides)) for label in labels]
        rows = self._book.rows
        rows.asked_as.update((label, f"What was the {label}?") for label in labels)
        if chance >= SURE_LINE:
            rows.labels.update(labels)
        found = {label: rows.find(label, self._last) for label in (measure, *labels)}
        chances = {label: calibrated(one.probability) for label, one in found.items() if one is not None}
        by_words = found[measure]
        if by_words is not None and set(terms(measure)).isdisjoint(terms(by_words.row.text)):
            chances[measure] *= _SAYS_NO_WORD
        best = max(chances, key=chances.__getitem__, default=measure)
        if measure not in labels and chances.get(best, 0.0) * chance <= chances.get(measure, 0.0):
            return None
        self._doubt *= chance
        return Name(best)

    def _printed_as_one(self, measure: str, parts: Sequence[str]) -> bool:
        """Whether one row says all that words name, or is what two parts of them name.

        As 'Short-term borrowings and current portion of long-term debt' is.
        """
        whole, *each = (self._book.rows.find(words, self._last) for words in (measure, *parts))
        if whole is not None and set(terms(measure)) <= set(terms(whole.fact.label)):
            return True
        places = [(one.fact.filing, one.fact.page, one.fact.row) for one in each if one is not None]
        return len(set(places)) < len(places)

    def _printed_whole(self, parts: Sequence[str]) -> str | None:
        """Words of a sum as one name, where a row prints it as surely as others print its terms.

        'Property plus equipment' may be property and equipment.
        """
        if any(_sign_of(joint) == "-" for joint in parts[1::2]):
            return None
        whole = " ".join(parts[::2])
        found = (self._book.rows.find(words, self._last) for words in (whole, *parts[::2]))
        chances = [one.probability if one else 0.0 for one in found]
        return whole if chances[0] > min(chances[1:]) else None

    def _line(self, name: str) -> Expression:
        """A line or formula; with balances at the end of the period where the question asks for them."""
        entry = self._lexicon.entries[name]
        self._whole = name
        if self._closing and isinstance(entry, Formula):
            closing = without_averages(entry.expression)
            return Name(name) if closing == entry.expression else closing
        return Name(name)

    def _words_of(self, name: Name) -> str:
        """Words of the question that a name was looked up with."""
        return self._book.said.get(self._printed_line(name.name), name.name)

    def _printed_line(self, name: str) -> str:
        """The line that a name stands for where it is printed: itself, or the first choice of its formula."""
        entry = self._lexicon.entries.get(name)
        match entry.expression if isinstance(entry, Formula) else None:
            case Call("first", (Name(line), *_)):
                return line
            case _:
                return name

    def _known(self, measure: str) -> str | None:
        name = known_name(measure, self._lexicon)
        entry = self._lexicon.entries.get(name or "")
        if self._in_money and isinstance(entry, Formula) and entry.unit == "percent":
            return None  # 'gross margin in dollars' is a row, and no ratio
        return name

    def _revenue(self, plan: QuestionPlan) -> Expression:
        """The revenue of the part of the company that a margin is of."""
        tokens = tokenise_question(plan.measures[0], self._lexicon)
        part = " ".join(
            token.text for token in tokens if token.kind == "WORD" and not says_nothing(token.text.lower())
        )
        part = " ".join(
            word
            for word in part.split()
            if word.lower()
            not in ("profit", "gross", "operating", "op", "net", "pre-tax", "gaap", "margin", "margins")
        )
        if not part:
            self._confidence.append(_KNOWN)
            return Name("revenue")
        return Name(f"{part} revenue")

    def _is_share(self, of: Expression) -> bool:
        entry = self._lexicon.entries.get(of.name) if isinstance(of, Name) else None
        return isinstance(entry, Formula) and entry.unit == "percent"

    def _unit(self, plan: QuestionPlan, names: Sequence[Expression]) -> str | None:
        if plan.operation is Operation.GROWTH:
            return "points" if self._is_share(names[0]) else "percent"
        if plan.operation is Operation.CHANGE and len(names) > 1:
            return "points"
        if plan.margin:
            return "percent"
        if plan.operation is Operation.RATIO:
            return None
        entry = self._lexicon.entries.get(self._whole or "")
        return entry.unit if isinstance(entry, Formula) else None


def _apart(periods: Sequence[FiscalPeriod]) -> list[FiscalPeriod]:
    """Periods without those that are part of another: 'the first half, both quarters' is the half."""
    spans = {one: (one.place - one.length // 3, one.place) for one in periods if one.end is None and one.year}

    def is_within(one: FiscalPeriod) -> bool:
        begin, end = spans.get(one, (0, 0))
        return any(first <= begin < end <= last for other, (first, last) in spans.items() if other is not one)

    return [one for one in periods if not is_within(one)]


def _sign_of(joint: str) -> str:
    return "-" if joint.strip().lower() in ("minus", "less") else "+"


def _is_part_of_other(inputs: Sequence[Input]) -> bool:
    """Whether one of two rows is headed by the other: what is compared stands beside it, not below."""
    if len(inputs) != 2:
        return False
    first, second = (one.fact.path for one in inputs)
    return not ({*first[-1:]}.isdisjoint(second[:-1]) and {*second[-1:]}.isdisjoint(first[:-1]))


def known_name(measure: str, lexicon: Lexicon) -> str | None:
    """Name of the line or formula that is all that words say; None where they say more, or less."""
    if name := lexicon.by_label.get(measure.lower()):
        return name
    tokens = tokenise_question(measure, lexicon)
    named = {str(token.value) for token in tokens if token.kind == "METRIC"}
    lines = [one for name in named - {"cash"} if isinstance(one := lexicon.entries[name], Line)]
    flows = {line.name for line in lines if "cash_flows" in line.statements}
    if len(named) == 2 and "cash" in named and flows:  # 'cash dividends'
        named = flows
    rest = [
        token for token in tokens if token.kind not in _BETWEEN and token.text.lower() not in LEAVES_A_LINE
    ]
    return named.pop() if len(named) == 1 and not rest else None


_BETWEEN = ("METRIC", "AND", "COMMA", "LPAR", "RPAR")


def without_averages(expression: Expression) -> Expression:
    """A formula with the balance at the end of the period in place of each average."""
    match expression:
        case Call("avg", (of,)):
            return of
        case Call(function, arguments):
            return Call(function, tuple(without_averages(part) for part in arguments))
        case Binary(operator, left, right):
            return Binary(operator, without_averages(left), without_averages(right))
        case Negative(of):
            return Negative(without_averages(of))
        case At(of, period, offset):
            return At(without_averages(of), period, offset)
        case _:
            return expression


def word_quantity(quantity: Quantity, plan: QuestionPlan, currency: str | None, unit: str | None) -> Worded:
    """A value in the unit and rounding asked for."""
    if unit is None or unit == "currency":  # of numbers whose table does not say that they are money
        unit = "percent" if plan.operation is Operation.RATIO else "ratio"
    return word_value(quantity.value, quantity.unit, unit, currency, plan.directives)


def calibrated(chance: float) -> float:
    """Probability that an answer is right whose least likely row is meant with a probability."""
    constant, weight = _CALIBRATION
    return float(1 / (1 + np.exp(-constant - weight * log_odds(chance))))


def derive(
    question: str,
    plan: QuestionPlan,
    found: Mapping[str, OpenAnswer],
    latest: Mapping[str, str] | None = None,
) -> Derivation:
    """The answer of a plan from the values of each company.

    Args:
        question: as asked.
        plan: of the question.
        found: the values by company; those of a series by what they are of.
        latest: the newest filing by the same, where the latest periods are asked for.

    Raises:
        Abstention: the values do not tell, or it is not sure enough what is meant.
    """
    confidence = min(one.confidence for one in found.values())
    if plan.verdict is None and plan.one_of is None and not plan.partial:
        confidence *= plan.number_chance
    confidence *= plan.direction_chance
    if plan.operation is not Operation.VALUE:  # what any question for a number asks for, if nothing else
        confidence *= plan.chance
    least_sure = min(found.values(), key=lambda one: one.confidence)
    least = LEAST_PRODUCT
    if least_sure.signs is not None:
        signs = signs_of_answer(question, plan, least_sure.signs, len(found) > 1, confidence)
        confidence, least = answer_confidence(signs), LEAST_CONFIDENCE
    if plan.chance < LEAST_OPERATION and plan.operation is not Operation.VALUE:
        raise Abstention(AbstentionKind.NOT_UNDERSTOOD, "it is not clear what is to be calculated")
    if confidence < least:
        raise Abstention(AbstentionKind.NOT_UNDERSTOOD, "no printed row is surely what the question names")
    inputs = tuple(dict.fromkeys(item for one in found.values() for item in one.inputs))
    steps = tuple(dict.fromkeys(step for one in found.values() for step in one.steps))
    first = next(iter(found.values()))
    label, quantity, worded = first.values[-1]
    answer, exact = worded.answer, float(quantity.value)
    several = first.values
    series: tuple[SeriesValue, ...] = ()
    if plan.partial and not plan.among_periods:
        answer, series = tell_course(found, plan.measures[0], latest or {})
    elif plan.one_of is not None and plan.verdict is None:
        answer, series = tell_parts(first, first.formula)
    elif len(found) > 1:
        answer, exact, worded = _compared(plan, found)
        if plan.yes_no:
            answer = f"{_first_wins(plan, found)}. {answer}"
        several = tuple((company, *one.values[-1][1:]) for company, one in found.items())
    elif plan.one_of is not None or plan.among_periods:
        several = several[::-1]
        others = "; ".join(f"{name} {told.answer}" for name, _, told in several[1:])
        answer = f"{label}: {worded.answer} ({others})"
    elif len(several) > 1 and plan.yes_no and (plan.threshold is not None or plan.verdict in _SIGNED):
        verdicts = [judged(plan, quantity, told, first).startswith("Yes") for _, quantity, told in several]
        shown = "; ".join(f"{name}: {told.answer}" for name, _, told in several)
        answer = f"{'Yes' if all(verdicts) else 'No'}. {shown}"
    elif len(several) > 1:
        answer = "; ".join(f"{name}: {told.answer}" for name, _, told in several)
    elif plan.verdict is not None:
        answer = judged(plan, quantity, worded, first)
    told_already = plan.partial or (plan.one_of is not None and plan.verdict is None)
    if len(several) > 1 and not told_already:
        series = tuple(SeriesValue(name, told.answer, float(one.value)) for name, one, told in several)
    return Derivation(
        question=question,
        answer=answer,
        value=float(worded.value),
        unit=worded.unit,
        formula=first.formula,
        steps=steps,
        inputs=inputs,
        exact=exact,
        confidence=round(confidence, 4),
        from_rows=True,
        series=series,
    )


def _as_amounts(value: Decimal, inputs: Sequence[Input], operation: Operation) -> Decimal:
    """A value made of two amounts by their sizes, where one, or both of a change, is printed as a deduction.

    People who ask by how much payments exceed contributions mean amounts, whatever sign a table gives them.
    """
    deducted = [one.fact.label for one in inputs if one.value < 0]
    wanted = {Operation.DIFFERENCE: 1, Operation.RATIO: 1, Operation.CHANGE: 2}.get(operation)
    if len(inputs) != 2 or len(deducted) != wanted:
        return value
    signed = (label for label in deducted if not _ALLOWANCE.search(label))
    if any(_PROFIT.search(label) or _LOSS.search(label) or is_netted(label) for label in signed):
        return value
    first, second = (abs(Decimal(repr(one.value))) for one in inputs)
    return abs(value) if operation is Operation.RATIO else first - second


_ALLOWANCE = any_case(r"\b(?:allowances?|reserves?|accumulated)\b")
"""What is taken off an amount, whatever it is called for."""
_USES = any_case(r"\b(?:loss(?:es)?|deficit|consum\w+|burn\w*|us(?:e|es|ed|ing)|outflows?)\b")
_LOSS = any_case(r"\b(?:loss(?:es)?|deficit)\b")
_PROFIT = any_case(r"\b(?:income|earnings|profit|gains?|surplus)\b")


def judged(plan: QuestionPlan, quantity: Quantity, worded: Worded, found: OpenAnswer) -> str:
    """The verdict in words."""
    value = float(quantity.value)
    match plan.verdict:
        case Verdict.POSITIVE if all(is_outflow(item.fact.label) for item in found.inputs):
            holds = value != 0  # which is printed as a deduction
        case Verdict.POSITIVE if _LOSS.search(" ".join((*plan.measures, *plan.spoken))):
            # A loss is printed as a negative profit, or as a number of its own.
            of_profit = any(_PROFIT.search(one.fact.label) for one in found.inputs)
            holds = value < 0 or (value > 0 and not of_profit)
        case Verdict.RISE | Verdict.FALL if _USES.search(plan.asked) and all(
            item.value < 0 for item in found.inputs
        ):
            now, before = abs(found.inputs[0].value), abs(found.inputs[-1].value)
            holds = now != before and (now > before) is (plan.verdict is Verdict.RISE)  # a larger loss
        case Verdict.RISE | Verdict.POSITIVE:
            holds = value > 0
        case Verdict.FALL | Verdict.NEGATIVE:
            holds = value < 0
        case Verdict.MORE:
            holds = _amount(value, plan, found) > (plan.threshold or 0)
        case Verdict.LESS:
            holds = _amount(value, plan, found) < (plan.threshold if plan.threshold is not None else 0)
        case Verdict.ANY:
            holds = value != 0
        case _:
            return _larger(plan, value, worded, found)
    shown = "; ".join(
        f"{item.fact.label}, {item.period}: {item.fact.printed.strip()}" for item in found.inputs
    )
    return f"{'Yes' if holds else 'No'}. {worded.answer} ({shown})"


def _amount(value: float, plan: QuestionPlan, found: OpenAnswer) -> float:
    """A value that is compared with a threshold; of what is printed as a deduction how much that is."""
    labels = " ".join(one.fact.label for one in found.inputs)
    earned = _PROFIT.search(labels) or _LOSS.search(labels) or is_netted(labels)
    return value if not plan.threshold or len(found.inputs) != 1 or earned else abs(value)


def _by_size(
    values: Sequence[tuple[str, Quantity, Worded]], inputs: Sequence[Input], falling: bool
) -> list[tuple[str, Quantity, Worded]]:
    """Values in order of size; amounts taken off, such as capitalised interest, by how much that is."""
    deducted = all(value.value < 0 for _, value, _ in values) and not any(
        is_netted(one.fact.label) for one in inputs
    )
    return sorted(values, key=lambda one: one[1].value, reverse=falling is not deducted)


def _larger(plan: QuestionPlan, value: float, worded: Worded, found: OpenAnswer) -> str:
    if len(plan.measures) < 2:
        return worded.answer
    pieces = [[*dict.fromkeys(item.fact.label.split(" > "))] for item in found.inputs]
    shared = set.intersection(*map(set, pieces)) if pieces else set()
    own = ([piece for piece in parts if piece not in shared] for parts in pieces)
    printed = [parts[-1].strip(" :") for parts in own if parts]
    first, second = printed if len(set(printed)) == len(found.inputs) == 2 else plan.measures[:2]
    losses = _USES.search(plan.asked) is not None and all(item.value < 0 for item in found.inputs)
    larger = first if (value > 0) == ((plan.verdict is Verdict.LARGEST) is not losses) else second
    return f"{larger}, by {worded.answer.removeprefix('-')}"


def _first_wins(plan: QuestionPlan, found: Mapping[str, OpenAnswer]) -> str:
    """Whether the company that is asked about first has more, or less where that is asked."""
    one, other = (of.values[-1][1].value for of in list(found.values())[:2])
    return "Yes" if (one < other if plan.verdict in (Verdict.LESS, Verdict.FALL) else one > other) else "No"


def _compared(plan: QuestionPlan, found: Mapping[str, OpenAnswer]) -> tuple[str, float, Worded]:
    """Values of several companies side by side: which is larger, and by how much where it is one unit."""
    ranked = sorted(found.items(), key=lambda item: -item[1].values[-1][1].value)
    if plan.verdict is Verdict.SMALLEST or plan.verdict is Verdict.LESS:
        ranked.reverse()
    told = "; ".join(f"{company}: {one.values[-1][2].answer}" for company, one in ranked)
    top, next_ = ranked[0][1].values[-1], ranked[1][1].values[-1]
    difference = top[1].value - next_[1].value
    worded = word_quantity(replace(top[1], value=abs(difference)), plan, None, "points")
    return f"{ranked[0][0]} ({told}), a difference of {worded.answer}", float(difference), worded
