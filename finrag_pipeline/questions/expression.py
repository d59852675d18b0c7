"""Formulas as trees: written and read as text such as ``365 * avg(inventory) / cost_of_revenue``.

The same trees come from ``formulas.toml`` and from definitions inside questions
(:mod:`~finrag_pipeline.questions.grammar`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedInput
from lark.exceptions import VisitError

FUNCTIONS = {
    "avg": (1, 1),
    "prev": (1, 1),
    "change": (1, 1),
    "growth": (1, 1),
    "abs": (1, 1),
    "optional": (1, 1),
    "mean": (1, None),
    "sum": (1, None),
    "max": (1, None),
    "min": (1, None),
    "first": (1, None),
    "power": (2, 2),
}
"""Least and largest number of arguments of each function; None for no limit."""


class ExpressionError(ValueError):
    """A text that is no formula; the message says where."""


@dataclass(frozen=True, slots=True)
class FiscalPeriod:
    """A period or the instant at its end.

    Attributes:
        year: fiscal year, as the question or the filings name it; None for a day without a fiscal year.
        quarter: quarter that the period ends with, 1 to 4; None for a whole year.
        months: length where it is not that of the year or quarter: 6 and 9 for a half and nine months.
        end: last day, where a day was named.
    """

    year: int | None = None
    quarter: int | None = None
    months: int | None = None
    end: dt.date | None = None

    def shift(self, years: int) -> FiscalPeriod:
        """The same period ``years`` years later; earlier where negative."""
        end = self.end
        if end is not None:
            # The last day of February may not exist in the other year.
            end = (
                end.replace(year=end.year + years, day=28)
                if (end.month, end.day) == (2, 29)
                else end.replace(year=end.year + years)
            )
        return replace(self, year=None if self.year is None else self.year + years, end=end)

    @property
    def length(self) -> int:
        """Months that it takes."""
        return self.months or (3 if self.quarter else 12)

    @property
    def label(self) -> str:
        """For people: ``FY2019``, ``Q2 FY2023``, ``9 months of FY2023``, ``2023-06-30``."""
        if self.end is not None:
            return f"{self.months} months to {self.end}" if self.months else str(self.end)
        if self.months == 12 and self.quarter:
            return f"12 months to Q{self.quarter} FY{self.year}"
        if self.months:
            return f"{self.months} months of FY{self.year}"
        return f"Q{self.quarter} FY{self.year}" if self.quarter else f"FY{self.year}"

    @property
    def code(self) -> str:
        """As in formulas: ``2019``, ``2023Q2``, ``2023M9``, ``2023-06-30``."""
        if self.end is not None:
            return f"{self.end}" + (f"M{self.months}" if self.months else "")
        tail = f"M{self.months}" if self.months else f"Q{self.quarter}" if self.quarter else ""
        return f"{self.year}{tail}"


@dataclass(frozen=True, slots=True)
class Number:
    """A constant, not negative."""

    value: Decimal


@dataclass(frozen=True, slots=True)
class Name:
    """A line, a formula, a name that the question defines, or words that must be a printed label."""

    name: str


@dataclass(frozen=True, slots=True)
class Negative:
    """Minus an expression."""

    of: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    """Two expressions joined by ``+ - * /``."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Call:
    """A function of `FUNCTIONS` on its arguments."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class At:
    """An expression in another period: a given one, or ``offset`` years from the one asked for."""

    of: Expression
    period: FiscalPeriod | None = None
    offset: int = 0


Expression = Number | Name | Negative | Binary | Call | At

_GRAMMAR = r"""
?start: sum
?sum: product
    | sum "+" product -> add
    | sum "-" product -> subtract
?product: signed
    | product "*" signed -> multiply
    | product "/" signed -> divide
?signed: "-" signed -> negative
    | placed
?placed: atom
    | placed "@" PERIOD -> at
    | placed "@" OFFSET -> ahead
?atom: NUMBER -> number
    | NAME -> name
    | QUOTED -> quoted
    | NAME "(" sum ("," sum)* ")" -> call
    | "(" sum ")"
NUMBER: /\d+(\.\d+)?(?![\w.])/
PERIOD.2: /(?:\d{4}-\d\d-\d\d(?:M\d{1,2})?|\d{4}(?:Q[1-4]|M\d{1,2})?)(?!\w)/
OFFSET: /[+-]\d{1,2}/
NAME: /[a-z_][a-z0-9_]*/
QUOTED: /"[^"\n]+"/
%ignore /\s+/
"""
_PLAIN_NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")


class _Builder(Transformer[Token, Expression]):
    def number(self, items: list[Any]) -> Expression:
        return Number(Decimal(items[0]))

    def name(self, items: list[Any]) -> Expression:
        return Name(str(items[0]))

    def quoted(self, items: list[Any]) -> Expression:
        return Name(str(items[0])[1:-1])

    def add(self, items: list[Any]) -> Expression:
        return Binary("+", *items)

    def subtract(self, items: list[Any]) -> Expression:
        return Binary("-", *items)

    def multiply(self, items: list[Any]) -> Expression:
        return Binary("*", *items)

    def divide(self, items: list[Any]) -> Expression:
        return Binary("/", *items)

    def negative(self, items: list[Any]) -> Expression:
        return Negative(items[0])

    def at(self, items: list[Any]) -> Expression:
        return At(items[0], _read_period(str(items[1])))

    def ahead(self, items: list[Any]) -> Expression:
        return At(items[0], None, int(items[1]))

    def call(self, items: list[Any]) -> Expression:
        function, arguments = str(items[0]), tuple(items[1:])
        if function not in FUNCTIONS:
            raise ExpressionError(f"'{function}' is no function.")
        least, most = FUNCTIONS[function]
        if len(arguments) < least or (most is not None and len(arguments) > most):
            raise ExpressionError(f"'{function}' takes another number of arguments than {len(arguments)}.")
        return Call(function, arguments)


def _read_period(text: str) -> FiscalPeriod:
    text, _, months = text.partition("M")
    if "-" in text:
        return FiscalPeriod(None, None, int(months) if months else None, dt.date.fromisoformat(text))
    year, _, quarter = text.partition("Q")
    if months:
        return FiscalPeriod(int(year), int(months) // 3, int(months))
    return FiscalPeriod(int(year), int(quarter) if quarter else None)


@lru_cache(maxsize=1)
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", lexer="contextual")


def parse_expression(text: str) -> Expression:
    """Read a formula.

    Raises:
        ExpressionError: the text is no formula; the message says why.
    """
    try:
        return _Builder().transform(_parser().parse(text))
    except UnexpectedInput as error:
        raise ExpressionError(f"'{text}' is no formula at character {error.pos_in_stream}.") from error
    except VisitError as error:
        raise ExpressionError(f"'{text}': {error.orig_exc}") from error


_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2}


def print_expression(expression: Expression) -> str:
    """The formula as text, with no more brackets than needed; :func:`parse_expression` reads it back."""
    return _print(expression, 0)


def _print(expression: Expression, least: int) -> str:
    """Text of an expression, in brackets where it binds less than ``least``."""
    match expression:
        case Number(value):
            return f"{value:f}"
        case Name(name):
            return name if set(name) <= _PLAIN_NAME and not name[0].isdigit() else f'"{name}"'
        case Negative(of):
            text, strength = f"-{_print(of, 3)}", 3
        case Call(function, arguments):
            return f"{function}({', '.join(_print(argument, 0) for argument in arguments)})"
        case At(of, period, offset):
            where = f"@{period.code}" if period else f"@{offset:+d}"
            text, strength = f"{_print(of, 4)}{where}", 4
        case Binary(operator, left, right):
            strength = _STRENGTH[operator]
            text = f"{_print(left, strength)} {operator} {_print(right, strength + 1)}"
    return f"({text})" if strength < least else text


def children(expression: Expression) -> tuple[Expression, ...]:
    """The expressions right below one."""
    match expression:
        case Negative(of) | At(of):
            return (of,)
        case Binary(_, left, right):
            return left, right
        case Call(_, arguments):
            return arguments
        case _:
            return ()


def names_in(expression: Expression) -> Iterator[str]:
    """Names an expression uses, in order, repeated as they are."""
    if isinstance(expression, Name):
        yield expression.name
    for child in children(expression):
        yield from names_in(child)


def mean_of(*parts: Expression) -> Expression:
    """The mean of several expressions; the expression itself where there is one."""
    return parts[0] if len(parts) == 1 else Call("mean", parts)
