"""Computes an expression over facts, in decimals, with units followed through and every step kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal, DecimalException, localcontext
from functools import partial, reduce
from typing import Any

from finrag_pipeline.answering.derivation import Input
from finrag_pipeline.answering.inputs import FactBook, FoundFact
from finrag_pipeline.answering.wording import MONEY, NONE, PER_SHARE, SHARES, Unit, plain_number, short_money
from finrag_pipeline.questions.abstention import Abstention, AbstentionKind
from finrag_pipeline.questions.expression import (
    At,
    Binary,
    Call,
    Expression,
    Name,
    Negative,
    Number,
    print_expression,
)
from finrag_pipeline.questions.formula_lexicon import PERIOD_DAYS, Formula, Lexicon, Line
from finrag_pipeline.statements.filed_facts import Fact
from finrag_pipeline.statements.periods import FiscalPeriod, add_up, spans_of, told_way

DEEPEST = 40
"""Definitions within definitions; deeper ones go round in circles."""

_PRECISION = 50

_APART = 20_000
"""Times that amounts of one thing in two periods can be apart; millions against full dollars are more."""

NOT_SHOWN = (AbstentionKind.NOT_REPORTED, AbstentionKind.UNKNOWN_PERIOD, AbstentionKind.NO_LINE)
"""What a filing does not show, where another may."""


_UNITS = {"currency": MONEY, "currency/share": PER_SHARE, "shares": SHARES}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value in full units, its unit, and the arithmetic that gave it, for people."""

    value: Decimal
    unit: Unit = NONE
    text: str = ""

    @property
    def inner(self) -> str:
        """The arithmetic in brackets, where it is more than one number."""
        several = " " in self.text.replace(" million", "").replace(" billion", "")
        return f"({self.text})" if several else self.text


@dataclass
class Trace:
    """Steps, inputs and contradictions of a calculation, in order."""

    steps: list[str] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    alternatives: list[dict[str, Any]] = field(default_factory=list)

    def mark(self) -> tuple[int, int, int]:
        """Where it is now."""
        return len(self.steps), len(self.inputs), len(self.alternatives)

    def back(self, mark: tuple[int, int, int]) -> None:
        """Forget what came after a mark."""
        del self.steps[mark[0] :], self.inputs[mark[1] :], self.alternatives[mark[2] :]


class Calculation:
    """One calculation over the facts of a company.

    Args:
        book: facts.
        lexicon: lines and formulas.
        definitions: what is defined beside the lexicon, over which it wins.
        shift: years by which the fiscal years of the facts are behind those of the question's names.
        discrete: a quarter is never answered by the year to date.

    Attributes:
        looked_for: every line that was looked for and not found.
    """

    def __init__(
        self,
        book: FactBook,
        lexicon: Lexicon,
        definitions: Mapping[str, Formula | Line],
        shift: int = 0,
        discrete: bool = False,
    ) -> None:
        self._book = book
        self._discrete = discrete
        self._within = False
        self._lexicon = lexicon
        self._definitions = definitions
        self._shift = shift
        self._known: dict[tuple[str, FiscalPeriod], Quantity] = {}
        self._open: list[str] = []
        self.trace = Trace()
        self.currency: str | None = None
        self.looked_for: list[str] = []

    def compute(self, expression: Expression, period: FiscalPeriod) -> Quantity:
        """The value of an expression in a period.

        Raises:
            Abstention: an input is missing, a name undefined, a denominator zero, or units disagree.
        """
        with localcontext(Context(prec=_PRECISION)):
            try:
                return self._value(expression, period)
            except DecimalException as error:
                raise Abstention(
                    AbstentionKind.UNREADABLE, f"the formula cannot be computed: {type(error).__name__}"
                ) from error
            except RecursionError:
                raise Abstention(AbstentionKind.UNREADABLE, "the formula is nested too deeply") from None

    def _value(self, expression: Expression, period: FiscalPeriod) -> Quantity:
        match expression:
            case Number(value):
                return Quantity(value, NONE, plain_number(value))
            case Name(name):
                return self._name(name, period)
            case Negative(of):
                inner = self._value(of, period)
                return Quantity(-inner.value, inner.unit, f"-{inner.inner}")
            case At(of, fixed, offset):
                return self._value(of, fixed if fixed is not None else period.shift(offset))
            case Binary("/", At(of, FiscalPeriod() as now), At(before, FiscalPeriod() as then)) if (
                of == before and not (now.end or then.end) and now.length != then.length
            ):
                # A balance over one of another day; an amount of a quarter and of a year cannot be compared.
                one, other = self._value(of, now), self._value(of, then)
                if any(taken.fact.period_kind == "duration" for taken in self.trace.inputs):
                    why = f"{then.label} and {now.label} are not of one length"
                    raise Abstention(AbstentionKind.NOT_UNDERSTOOD, why)
                return _binary("/", one, other, expression)
            case Binary(operator, left, right):
                return _binary(operator, self._value(left, period), self._value(right, period), right)
            case Call(function, arguments):
                return self._call(function, arguments, period)

    def _call(self, function: str, arguments: tuple[Expression, ...], period: FiscalPeriod) -> Quantity:
        first = arguments[0]
        if function == "prev":
            return self._value(first, period.shift(-1))
        if function == "avg":
            return self._average(first, period)
        if function in ("change", "growth"):
            before, after = self._value(first, period.shift(-1)), self._value(first, period)
            if function == "change":
                return _binary("-", after, before)
            quotient = _binary("/", after, before, first)
            return Quantity(quotient.value - 1, quotient.unit, f"{quotient.text} - 1")
        if function == "optional":
            found = self._tried(partial(self._value, first, period))
            zero = Quantity(Decimal(0), NONE if isinstance(first, Number) else MONEY, "0")
            return zero if isinstance(found, Abstention) else found
        if function == "first":
            missing: list[Abstention] = []
            for choice in arguments:
                found = self._tried(partial(self._value, choice, period))
                if not isinstance(found, Abstention):
                    return found
                missing.append(found)
            raise missing[0]
        values = [self._value(argument, period) for argument in arguments]
        if function == "abs":
            return replace(values[0], value=abs(values[0].value))
        if function == "power":
            return _power(*values)
        if len({value.unit for value in values}) > 1:
            why = f"{function} of quantities of different units"
            raise Abstention(AbstentionKind.UNITS_DISAGREE, why)
        joined = " + ".join(value.inner for value in values)
        total = sum((value.value for value in values), Decimal(0))
        if function == "sum":
            return Quantity(total, values[0].unit, joined)
        if function == "mean":
            return Quantity(total / len(values), values[0].unit, f"({joined}) / {len(values)}")
        chosen = (max if function == "max" else min)(values, key=lambda value: value.value)
        return replace(chosen, text=f"{function}({', '.join(v.text for v in values)})")

    def _average(self, of: Expression, period: FiscalPeriod) -> Quantity:
        after = self._value(of, period)
        before = self._tried(
            partial(self._value, of, period.shift(-1)),
            (AbstentionKind.NOT_REPORTED, AbstentionKind.UNKNOWN_PERIOD),
        )
        if isinstance(before, Abstention):
            self.trace.steps.append(
                f"average {print_expression(of)}: {period.shift(-1).label} is not in the filings, so that of"
                f" {period.label} alone"
            )
            return after
        total = before.value + after.value
        return Quantity(total / 2, after.unit, f"({before.inner} + {after.inner}) / 2")

    def _tried(
        self,
        compute: Callable[[], Quantity],
        unless: Sequence[AbstentionKind] = (AbstentionKind.NOT_REPORTED,),
    ) -> Quantity | Abstention:
        """What is computed; an abstention of these kinds leaves nothing of the try."""
        mark = self._mark()
        try:
            return compute()
        except Abstention as missing:
            if missing.kind not in unless:
                raise
            self._back(mark)
            return missing

    def _mark(self) -> tuple[tuple[int, int, int], dict[tuple[str, FiscalPeriod], Quantity]]:
        return self.trace.mark(), dict(self._known)

    def _back(self, mark: tuple[tuple[int, int, int], dict[tuple[str, FiscalPeriod], Quantity]]) -> None:
        """Forget a try: its steps and inputs, and the values found, or their next use would show no input."""
        self.trace.back(mark[0])
        self._known = mark[1]

    # ------------------------------------------------------------------ names

    def _name(self, name: str, period: FiscalPeriod) -> Quantity:
        if name == PERIOD_DAYS:
            months = period.months or (3 if period.quarter else 12)
            days = Decimal(365 * months) / 12
            return Quantity(days, NONE, plain_number(days))
        key = (name, period)
        if key in self._known:
            return self._known[key]
        # Within its own definition a name is the printed line.
        entry = None if name in self._open else self._definitions.get(name)
        found = entry or self._lexicon.entries.get(name)
        if isinstance(found, Formula):
            quantity = self._formula_or_printed(found, period)
        elif isinstance(found, Line):
            quantity = self._line(found, period)
        else:
            quantity = self._printed(name, period)
        self._known[key] = quantity
        return quantity

    def _formula_or_printed(self, formula: Formula, period: FiscalPeriod) -> Quantity:
        """A formula; where its parts are not reported, the row that prints it, such as 'Net debt'."""
        if self._open:
            return self._formula(formula, period)
        computed = self._tried(partial(self._formula, formula, period))
        if not isinstance(computed, Abstention):
            return computed
        found = self._book.find_named(formula.name, period.shift(self._shift))
        if found is None:
            raise computed
        return self.take(found, found.fact.label, period, False)

    def _formula(self, formula: Formula, period: FiscalPeriod) -> Quantity:
        if len(self._open) > DEEPEST or formula.name in self._open:
            raise Abstention(AbstentionKind.UNREADABLE, f"'{formula.label}' is defined by itself")
        self._open.append(formula.name)
        try:
            inner = self._value(formula.expression, period)
        finally:
            self._open.pop()
        text = _told(inner, formula.unit)
        if inner.text and inner.text != text:
            self.trace.steps.append(f"{formula.label} {period.label} = {inner.text} = {text}")
        return replace(inner, text=text)

    def _line(self, line: Line, period: FiscalPeriod) -> Quantity:
        shown = period.shift(self._shift)
        found = self._book.find_line(line, shown, by_label=line.components is None)
        if _summed(period) or (found and found.note and self._discrete):
            found = None
        if found is None or found.note:
            apart = self._apart(line.label, period, lambda span: self._line(line, span))
            if apart is not None:
                return apart
        if found is None:
            parts = self._book.find_components(line, shown)
            if not parts:
                raise self._missing(line.label, period)
            # A line that no row shows as a total, from the rows that make it up.
            taken = [self.take(part, part.fact.label, period, line.magnitude) for part in parts]
            return self._added(line.label, period, taken)
        quantity = self.take(found, line.label, period, line.magnitude)
        if line.between and self._printed_as_deduction(line.between, found.fact, shown):
            value = -quantity.value
            quantity = Quantity(value, quantity.unit, short_money(value))
            self.trace.inputs[-1] = replace(self.trace.inputs[-1], value=float(value))
            self.trace.steps.append(
                f"{line.label} {period.label}: printed as a deduction, taken as {quantity.text}"
            )
        if line.complete and line.complete[0] not in found.fact.label.lower():
            added = self._lexicon.entries[line.complete[1]]
            assert isinstance(added, Line)
            more = self._book.find_line(added, shown)
            if more and more.fact.statement == found.fact.statement and more.fact.filing == found.fact.filing:
                second = self.take(more, added.label, period, added.magnitude)
                return self._added(line.label, period, [quantity, second])
        return quantity

    def _added(self, label: str, period: FiscalPeriod, parts: Sequence[Quantity]) -> Quantity:
        total = reduce(lambda one, other: _binary("+", one, other), parts)
        text = _told(total)
        if len(parts) > 1:
            self.trace.steps.append(f"{label} {period.label} = {total.text} = {text}")
        return replace(total, text=text)

    def _apart(
        self, label: str, period: FiscalPeriod, read: Callable[[FiscalPeriod], Quantity]
    ) -> Quantity | None:
        """The amount of a quarter, or of several, that no filing prints, out of spans that are; None without.

        Only amounts of money that add up over time can be told so. Where a later filing has restated some of
        them and not all, they are taken as they were first reported.
        """
        # Whether any rows show a way tells cheaply that none of this name can.
        if self._within or not spans_of(period, lambda span: self._book.shows(span.shift(self._shift))):
            return None
        found = self._sum_of_spans(label, period, read, "")
        if found is None:
            with self._book.as_first_reported(period):
                found = self._sum_of_spans(label, period, read, ", as first reported")
        return found

    def _sum_of_spans(
        self, label: str, period: FiscalPeriod, read: Callable[[FiscalPeriod], Quantity], noted: str
    ) -> Quantity | None:
        mark, looked_for = self._mark(), len(self.looked_for)
        self._within = True
        try:
            way = spans_of(period, lambda span: self._adds_up(span, read))
            parts, facts = [], []
            for sign, span in way:
                taken = len(self.trace.inputs)
                parts.append((sign, read(span)))
                facts.append((sign, self.trace.inputs[taken].fact))
        finally:
            self._within = False
            del self.looked_for[looked_for:]
        if not way or mixes_scales(part for _, part in parts) or not add_up(facts, period.length // 3):
            self._back(mark)
            return None
        value = sum((sign * part.value for sign, part in parts), Decimal(0))
        text = "".join(f" {'+' if sign > 0 else '-'} {part.text}" for sign, part in parts)[3:]
        told = told_way(period, way)
        self.trace.steps.append(f"{label} {period.label} = {text} = {short_money(value)}: {told}{noted}")
        return Quantity(value, MONEY, short_money(value))

    def _adds_up(self, span: FiscalPeriod, read: Callable[[FiscalPeriod], Quantity]) -> bool:
        """Whether a printed span has an amount of money that adds up over time and was not restated."""
        mark = self._mark()
        try:
            read(span)
        except Abstention as missing:
            if missing.kind not in NOT_SHOWN:
                raise
            return False
        else:
            steps, inputs, others = mark[0]
            taken = [one.fact for one in self.trace.inputs[inputs:]]
            flows = all(fact.period_kind == "duration" and fact.unit == "currency" for fact in taken)
            restated = any("filing" in other for other in self.trace.alternatives[others:])
            return bool(taken) and flows and not restated and len(self.trace.steps) == steps
        finally:
            self._back(mark)

    def _printed_as_deduction(self, between: tuple[str, str], fact: Fact, shown: FiscalPeriod) -> bool:
        """Whether a fact is what lies between two lines only with the other sign than printed."""
        ends = []
        for name in between:
            line = self._lexicon.entries[name]
            found = self._book.find_line(line, shown) if isinstance(line, Line) else None
            if found is None or (found.fact.filing, found.fact.page) != (fact.filing, fact.page):
                return False
            ends.append(found.fact.value)
        tolerance = 0.01 * max(abs(ends[0]), abs(ends[1]), 1.0)
        as_printed, turned = (abs(ends[0] - sign * fact.value - ends[1]) for sign in (1, -1))
        return turned < tolerance < as_printed or (turned < as_printed and turned < 1e-6 * tolerance)

    def _printed(self, name: str, period: FiscalPeriod) -> Quantity:
        found = None if _summed(period) else self._book.find_label(name, period.shift(self._shift))
        if found is None and (apart := self._apart(name, period, lambda span: self._printed(name, span))):
            return apart
        if found is None:
            self.looked_for.append(f"'{name}' as a printed line, {period.label}")
            why = f"'{name}' is neither defined in the question, nor a known quantity, nor a printed line"
            kind = AbstentionKind.UNDEFINED_NAME if self._definitions else AbstentionKind.NO_LINE
            raise Abstention(kind, why, tuple(self.looked_for))
        return self.take(found, found.fact.label, period, False)

    def _missing(self, label: str, period: FiscalPeriod) -> Abstention:
        looked = f"{label}, {period.label}"
        if looked not in self.looked_for:
            self.looked_for.append(looked)
        if not self._book.shows(period.shift(self._shift)):
            why = f"no filing of the company in the index shows {period.label}"
            return Abstention(AbstentionKind.UNKNOWN_PERIOD, why, tuple(self.looked_for))
        why = f"the statements do not report {label} for {period.label}"
        return Abstention(AbstentionKind.NOT_REPORTED, why, tuple(self.looked_for))

    def take(self, found: FoundFact, label: str, period: FiscalPeriod, magnitude: bool) -> Quantity:
        """The number of a fact; it becomes an input of the calculation."""
        fact = found.fact
        value = Decimal(repr(fact.value))
        value = abs(value) if magnitude else value
        self.currency = self.currency or fact.currency
        self.trace.inputs.append(Input(label, period.label, fact, float(value)))
        if found.note:
            self.trace.steps.append(f"{label}: {found.note}")
        for other in found.others:
            restated = other.filing != fact.filing
            told = {
                "what": f"{label}, {period.label}",
                "answer": other.printed.strip(),
                "value": other.value,
                "why": f"{other.filing} shows another figure"
                if restated
                else f"another row, '{other.label}'",
            }
            box = list(other.box) if other.box else None
            self.trace.alternatives.append({**told, **other.cited(), "box": box})
        unit = _UNITS.get(fact.unit, NONE)
        return Quantity(value, unit, short_money(value) if unit == MONEY else plain_number(value))


def _binary(
    operator: str, left: Quantity, right: Quantity, denominator: Expression | None = None
) -> Quantity:
    text = f"{left.inner if operator in '*/' else left.text} {operator} {right.inner}"
    if operator in "+-":
        if left.unit != right.unit:
            why = f"'{text}' adds or subtracts quantities of different units"
            raise Abstention(AbstentionKind.UNITS_DISAGREE, why)
        value = left.value + right.value if operator == "+" else left.value - right.value
        return Quantity(value, left.unit, text)
    if operator == "*":
        unit = Unit(left.unit.money + right.unit.money, left.unit.shares + right.unit.shares)
        return Quantity(left.value * right.value, unit, text)
    if right.value == 0:
        named = print_expression(denominator) if denominator is not None else right.text
        raise Abstention(AbstentionKind.DIVISION_BY_ZERO, f"the denominator {named} is zero")
    unit = Unit(left.unit.money - right.unit.money, left.unit.shares - right.unit.shares)
    return Quantity(left.value / right.value, unit, text)


def _power(base: Quantity, exponent: Quantity) -> Quantity:
    if base.value < 0 or (base.value == 0 and exponent.value < 0):
        why = "a growth rate is not defined between amounts of opposite signs"
        raise Abstention(AbstentionKind.UNREADABLE, why)
    return Quantity(base.value**exponent.value, base.unit, f"{base.inner} ^ {exponent.inner}")


def _told(quantity: Quantity, unit: str | None = None) -> str:
    if quantity.unit == MONEY:
        return short_money(quantity.value)
    if unit == "percent":
        return f"{plain_number(quantity.value * 100, 2)}%"
    return plain_number(quantity.value, 4)


def mixes_scales(values: Iterable[Quantity]) -> bool:
    """Whether amounts of one thing are so far apart that the scale of one of them must have been misread."""
    sizes = [abs(one.value) for one in values if one.unit.money and one.value]
    return len(sizes) > 1 and min(sizes) * _APART < max(sizes)


def _summed(period: FiscalPeriod) -> bool:
    """Whether a period is the twelve months up to a quarter that is not the last of its year."""
    return period.months == 12 and period.quarter not in (None, 4)
