"""The grammar of formulas in words: 'FY2018 PP&E / average of FY2017 and FY2018', 'the ratio of A to B'.

Tokens of :mod:`~finrag_pipeline.questions.tokens` are parsed by an Earley parser, as words such as
'and' and 'to' join periods, lists and operands alike; the tree is then lowered to an
:data:`~finrag_pipeline.questions.expression.Expression`, in which every period is explicit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import LarkError
from lark.lexer import Lexer

from finrag_pipeline.questions.expression import (
    At,
    Binary,
    Call,
    Expression,
    Name,
    Negative,
    Number,
    compound_growth,
)
from finrag_pipeline.questions.formula_lexicon import Lexicon
from finrag_pipeline.questions.tokens import Group, QuestionToken, shifted
from finrag_pipeline.statements.periods import FiscalPeriod

MOST_TOKENS = 80
"""Longer expressions are not parsed: nobody writes them, and time grows with the cube."""

_GRAMMAR = """
start: whole
?whole: sum
    | sum SHARE_OF_ALL placed -> share
?sum: product
    | sum PLUS product -> add
    | sum MINUS product -> subtract
    | sum AND? DIVIDE BY product -> divide
    | sum AND? MULTIPLY BY product -> multiply
?product: signed
    | product TIMES signed -> multiply
    | product OVER signed -> divide
?signed: compared
    | MINUS signed -> negative
?compared: placed
    | placed PERCENT_OF placed -> share
    | placed TO placed -> divide
    | compared PERIODS -> behind
    | compared CHANGE -> change
    | compared GROWTH -> growth
    | compared CAGR -> cagr
?placed: suffixed
    | PERIODS placed -> before
    | suffixed PERIODS -> behind
?suffixed: atom
    | suffixed MARGIN -> margin
?atom: METRIC -> metric
    | NAME -> name
    | NUMBER -> number
    | LPAR sum RPAR -> group
    | SPAN? AVERAGE compared (_and compared)* -> average
    | SPAN? AVERAGE_OF bundle (_and bundle)* -> average
    | SPAN? (AVERAGE | AVERAGE_OF) PERIODS -> average_same
    | CHANGE compared -> change
    | GROWTH compared -> growth
    | SPAN? CAGR compared -> cagr
    | SUM placed (_and placed)* -> total
    | RATIO sum (TO | AND) sum -> divide
    | DIFFERENCE sum AND sum -> subtract
    | DIFFERENCE compared -> change
    | DIVIDE sum BY sum -> divide
    | MULTIPLY product BY product -> multiply
    | SUBTRACT product FROM product -> subtract_from
    | ADD product (AND | TO | PLUS) product -> add
    | SHARE placed (TO | AND | FROM | BY)? placed -> share_of
?bundle: compared
    | bundle PLUS compared -> add
    | bundle MINUS compared -> subtract
_and: COMMA | AND | COMMA AND
"""
_TERMINALS = frozenset(re.findall(r"[A-Z][A-Z_]+", _GRAMMAR))


class _TokenLexer(Lexer):
    """Hands tokens to the parser that have been made already."""

    def __init__(self, lexer_conf: Any) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any = None) -> Iterator[Token]:
        yield from (Token(token.kind, token, start_pos=place) for place, token in enumerate(lexer_state))


@lru_cache(maxsize=1)
def _parser() -> Lark:
    declared = f"%declare {' '.join(sorted(_TERMINALS))}\n"
    return Lark(_GRAMMAR + declared, parser="earley", lexer=_TokenLexer)


@dataclass(frozen=True)
class Spoken:
    """A formula as it was said: a tree of words, before its periods are made explicit.

    Attributes:
        kind: rule of the grammar.
        parts: what it joins.
        token: the word that carries the meaning of a leaf, its number or its periods.
    """

    kind: str
    parts: tuple[Spoken, ...] = ()
    token: QuestionToken | None = None
    span: int | None = None

    def walk(self) -> Iterator[Spoken]:
        """This node and all below it."""
        yield self
        for part in self.parts:
            yield from part.walk()


def parse_spoken(tokens: Sequence[QuestionToken]) -> Spoken | None:
    """The tree of a formula in words; None if the tokens are no formula."""
    if not tokens or len(tokens) > MOST_TOKENS or any(token.kind not in _TERMINALS for token in tokens):
        return None
    try:
        made: Any = list(tokens)  # Lark hands on what it is given, not only text
        tree = _parser().parse(made)
    except LarkError:
        return None
    return _spoken(tree.children[0])


def _spoken(node: Any) -> Spoken:
    parts = tuple(
        _spoken(child) for child in node.children if isinstance(child, Tree) and child.data != "_and"
    )
    leaves = [child.value for child in node.children if isinstance(child, Token)]
    span = next((int(leaf.value) for leaf in leaves if leaf.kind == "SPAN"), None)
    token = next((leaf for leaf in leaves if leaf.kind in ("METRIC", "NAME", "NUMBER", "PERIODS")), None)
    return Spoken(str(node.data), parts, token, span)


_BINARY = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "share": "/"}


@dataclass
class Lowering:
    """Makes the periods of a spoken formula explicit.

    Args:
        lexicon: tells percentages, whose growth is a difference.
        relative: 'change' of an amount is meant in per cent.
        absolute: even 'growth' of an amount is meant as a difference, in money.
        shares: names that the question defines as shares of something.
    """

    lexicon: Lexicon
    relative: bool = False
    absolute: bool = False
    shares: frozenset[str] = frozenset()
    _last: Spoken | None = None

    def lower(self, node: Spoken, group: Group | None = None) -> Expression:
        """The expression of ``node``; periods of ``group`` hold where it names none itself."""
        match node.kind:
            case "number":
                assert node.token is not None and isinstance(node.token.value, Decimal)
                return Number(node.token.value)
            case "metric" | "name":
                self._last = node
                assert node.token is not None
                name = node.token.value if node.kind == "metric" else node.token.text
                return self._place(Name(str(name)), group)
            case "group":
                return self.lower(node.parts[0], group)
            case "negative":
                return Negative(self.lower(node.parts[0], group))
            case "before" | "behind":
                return self.lower(node.parts[0], _merge(node.token, group))
            case "margin":
                return Binary("/", self.lower(node.parts[0], group), self._place(Name("revenue"), group))
            case "subtract_from" | "share_of":
                operator = "-" if node.kind == "subtract_from" else "/"
                return Binary(operator, self.lower(node.parts[1], group), self.lower(node.parts[0], group))
            case "total":
                periods = group.each() if group else ()
                if len(node.parts) == 1 and len(periods) > 1:
                    return Call("sum", tuple(self.lower(node.parts[0], Group((p,))) for p in periods))
                return Call("sum", tuple(self.lower(part, group) for part in node.parts))
            case "average" | "average_same":
                return self._average(node, group)
            case "change":
                return self._change(node.parts[0], group, self.relative)
            case "growth":
                return self._change(node.parts[0], group, not self.absolute)
            case "cagr":
                return self._cagr(node, group)
            case "share" if self.is_share(node.parts[0]) and _is_revenue(node.parts[1]):
                return self.lower(node.parts[0], group)  # 'gross margin as a percentage of sales'
            case _:
                left, right = (self.lower(part, group) for part in node.parts)
                return Binary(_BINARY[node.kind], left, right)

    def _place(self, of: Expression, group: Group | None) -> Expression:
        # The latest is meant where several are named without a word for what to do with them.
        return _at(of, group.each()[-1]) if group is not None and group.periods else of

    def _average(self, node: Spoken, group: Group | None) -> Expression:
        parts = node.parts
        if node.kind == "average_same":
            # 'FY2018 PP&E / average of FY2017 and FY2018': of the quantity named before.
            parts = (self._last or Spoken("name", (), QuestionToken("NAME", "average")),)
            group = _merge(node.token, None)
        if len(parts) > 1:
            return Call("mean", tuple(self.lower(part, group) for part in parts))
        part, own = _hoisted(unwrapped(parts[0]))
        group = _merge(own, group) if own else group or Group()
        span = node.span or group.span
        based = group if group.periods or not span else Group((0,))
        periods = replace(based, span=span).each()
        if len(periods) > 1:
            return Call("mean", tuple(self.lower(part, Group((period,))) for period in periods))
        inner = Call("avg", (self.lower(part),))
        return _at(inner, periods[0]) if periods else inner

    def _change(self, node: Spoken, group: Group | None, relative: bool) -> Expression:
        inner, group = _apart(node, group)
        before, after = (self.lower(inner, Group((end,))) for end in _ends(group))
        if relative and not self.is_share(inner):
            return Binary("-", Binary("/", after, before), Number(Decimal(1)))
        return Binary("-", after, before)

    def _cagr(self, node: Spoken, group: Group | None) -> Expression:
        inner, group = _apart(node.parts[0], group)
        span = node.span or group.span
        if span and len(group.periods) < 2:
            last = group.periods[0] if group.periods else 0
            group = Group((shifted(last, -span), last), True)
        ends = _ends(group)
        before, after = (self.lower(inner, Group((end,))) for end in ends)
        return compound_growth(after, before, _years_between(*ends))

    def is_share(self, node: Spoken) -> bool:
        """Whether a quantity is a percentage, whose change is told in percentage points."""
        node = unwrapped(node)
        if node.kind in ("before", "behind", "average"):
            return self.is_share(node.parts[0])
        if node.kind == "metric" and node.token is not None:
            name = str(node.token.value)
            return name in self.shares or self.lexicon.unit_of(name) == "percent"
        return node.kind in ("margin", "share", "share_of")


def _hoisted(node: Spoken) -> tuple[Spoken, QuestionToken | None]:
    """A quantity without the periods that it ends or begins with; those behind a sum are the whole sum's."""
    if node.kind in ("before", "behind"):
        return node.parts[0], node.token
    if node.kind in ("add", "subtract"):
        last, token = _hoisted(node.parts[1])
        if token is not None and node.parts[1].kind == "behind":
            return replace(node, parts=(node.parts[0], last)), token
    return node, None


def _apart(node: Spoken, group: Group | None) -> tuple[Spoken, Group]:
    """A quantity without the periods beside it, and these; those of ``group`` where there are none."""
    node = unwrapped(node)
    if node.kind in ("before", "behind"):
        return node.parts[0], _merge(node.token, group)
    return node, group or Group()


def _ends(group: Group) -> tuple[FiscalPeriod | int, FiscalPeriod | int]:
    """The first and the last period; the one before and the one named where it is one."""
    periods = group.each() or (0,)
    return (periods[0] if len(periods) > 1 else shifted(periods[0], -1)), periods[-1]


def _is_revenue(node: Spoken) -> bool:
    node = unwrapped(node)
    if node.kind in ("before", "behind"):
        return _is_revenue(node.parts[0])
    return node.kind == "metric" and node.token is not None and node.token.value == "revenue"


def unwrapped(node: Spoken) -> Spoken:
    """A quantity without brackets around it."""
    while node.kind == "group":
        node = node.parts[0]
    return node


def _merge(token: QuestionToken | None, outer: Group | None) -> Group:
    group = token.value if token is not None and isinstance(token.value, Group) else Group()
    return replace(group, span=group.span or (outer.span if outer else None))


def _at(of: Expression, period: FiscalPeriod | int) -> Expression:
    if isinstance(period, int):
        return At(of, None, period) if period else of
    return At(of, period)


def _years_between(start: FiscalPeriod | int, end: FiscalPeriod | int) -> int:
    if isinstance(start, int) or isinstance(end, int):
        return (end - start) if isinstance(start, int) and isinstance(end, int) else 1
    return end.of_year - start.of_year
