"""Formulas as trees: written and read as text such as ``365 * avg(inventory) / cost_of_revenue``.

The same trees come from ``formulas.toml`` and from definitions inside questions
(:mod:`~finrag_pipeline.questions.grammar`).
"""

from __future__ import annotations

import ast
import datetime as dt
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from finrag_pipeline.statements.periods import FiscalPeriod

FUNCTIONS = {
    **dict.fromkeys(("avg", "prev", "change", "growth", "abs", "optional"), (1, 1)),
    **dict.fromkeys(("mean", "sum", "max", "min", "first"), (1, None)),
    "power": (2, 2),
}
"""Least and largest number of arguments of each function; None for no limit."""


class ExpressionError(ValueError):
    """A text that is no formula; the message says where."""


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

_PERIOD = re.compile(r"(\d{4}-\d\d-\d\d)(?:M(\d\d?))?|(\d{4})(?:Q([1-4])|M(\d\d?))?")
_MARKS = re.compile(
    r'(?<!\w)"(?P<quoted>[^"\n]+)"(?!\s*")'
    rf"|@\s*(?P<place>[+-]\d\d?|(?:{_PERIOD.pattern})(?!\w))|(?P<space>\s+)"
    r"""|(?P<odd>[#;\\"']|\b\d[\d.]*[^\W\d])"""
)
_OPERATORS: dict[type[ast.AST], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2}
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")


def parse_expression(text: str) -> Expression:
    """Read a formula.

    Raises:
        ExpressionError: the text is no formula; the message says why.
    """
    try:  # as Python, with each '@2023' as a subscript, which binds as strongly
        return _read(ast.parse(_MARKS.sub(_as_python, text).strip(), mode="eval").body)
    except SyntaxError as error:
        raise ExpressionError(f"'{text}' is no formula at character {error.offset or 0}.") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"'{text}' is no formula: {error}") from error


def _as_python(match: re.Match[str]) -> str:
    if match["odd"]:  # of Python, and not of formulas
        raise ExpressionError(f"unknown: '{match['odd']}'")
    return " " if match["space"] else f"[{match['place']!r}]" if match["place"] else repr(match["quoted"])


def _read(node: ast.expr) -> Expression:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return Number(Decimal(str(number)))
        case ast.Constant(value=str(name)) if name:
            return Name(name)
        case ast.Name(id=name) if _PLAIN_NAME.fullmatch(name):
            return Name(name)
        case ast.UnaryOp(op=ast.USub(), operand=of):
            return Negative(_read(of))
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            return Binary(_OPERATORS[type(operator)], _read(left), _read(right))
        case ast.Subscript(value=of, slice=ast.Constant(value=str(place))):
            return At(_read(of), None, int(place)) if place[0] in "+-" else At(_read(of), _read_period(place))
        case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]):
            least, most = FUNCTIONS.get(function, (None, None))
            if least is None:
                raise ExpressionError(f"'{function}' is no function.")
            if len(arguments) < least or (most is not None and len(arguments) > most):
                raise ExpressionError(
                    f"'{function}' takes another number of arguments than {len(arguments)}."
                )
            return Call(function, tuple(map(_read, arguments)))
    raise ExpressionError(f"unknown: '{ast.unparse(node)}'.")


def _read_period(text: str) -> FiscalPeriod:
    match = _PERIOD.fullmatch(text)
    if match is None:
        raise ExpressionError(f"'{text}' is no period.")
    end, length, year, quarter, months = match.groups()
    if end:
        return FiscalPeriod(None, None, int(length) if length else None, dt.date.fromisoformat(end))
    if months:
        return FiscalPeriod(int(year), int(months) // 3, int(months))
    return FiscalPeriod(int(year), int(quarter) if quarter else None)


def print_expression(expression: Expression) -> str:
    """The formula as text, with no more brackets than needed; :func:`parse_expression` reads it back."""
    return _print(expression, 0)


def _print(expression: Expression, least: int) -> str:
    """Text of an expression, in brackets where it binds less than ``least``."""
    match expression:
        case Number(value):
            return f"{value:f}"
        case Name(name):
            plain = _PLAIN_NAME.fullmatch(name) and not keyword.iskeyword(name)
            return name if plain else f'"{name}"'
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


def compound_growth(after: Expression, before: Expression, years: int) -> Expression:
    """The yearly rate at which a value grows into another: ``(after / before) ** (1 / years) - 1``."""
    one = Number(Decimal(1))
    root = Binary("/", one, Number(Decimal(max(years, 1))))
    return Binary("-", Call("power", (Binary("/", after, before), root)), one)


def names_in(expression: Expression) -> Iterator[str]:
    """Names an expression uses, in order, repeated as they are."""
    match expression:
        case Name(name):
            yield name
        case Negative(of) | At(of):
            yield from names_in(of)
        case Binary(_, left, right):
            yield from (*names_in(left), *names_in(right))
        case Call(_, arguments):
            yield from (name for argument in arguments for name in names_in(argument))
