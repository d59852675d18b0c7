"""What a question says about its answer: unit, scale, rounding, and the statements to read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from finrag_pipeline.resolver.lexicon import NUMBERS, ORDINALS, any_case

_DECIMALS = NUMBERS | ORDINALS | {"no": 0, "a": 1, "single": 1}
_NEAREST = {
    "integer": 0, "whole number": 0, "whole percent": 0, "whole percentage": 0, "whole": 0, "number": 0,
    "unit": 0, "day": 0, "dollar": 0, "million": 0, "billion": 0, "thousand": 0, "percent": 0,
    "percentage point": 0,
    "tenth": 1, "hundredth": 2, "cent": 2, "thousandth": 3, "basis point": 0,
}  # fmt: skip
SCALES = {
    "thousand": 1_000, "thousands": 1_000, "k": 1_000, "000s": 1_000, "000": 1_000,
    "million": 1_000_000, "millions": 1_000_000, "mm": 1_000_000,
    "mn": 1_000_000, "m": 1_000_000, "mln": 1_000_000,
    "billion": 1_000_000_000, "billions": 1_000_000_000, "bn": 1_000_000_000, "b": 1_000_000_000,
    "trillion": 1_000_000_000_000, "trillions": 1_000_000_000_000,
}  # fmt: skip

_LEAD = (
    r"(?<![\w-])(?:(?:please )?(?:answer|round(?:ed|ing)?|give|state|stated|express(?:ed)?|"
    r"provide|report(?:ed)?|show|present(?:ed)?|"
    r"return|respond|quote|quoted|denominated|display)(?: (?:your|the|this|it|this|"
    r"to|out))*(?: (?:answer|answers|result|figure|amount|value|number|response|"
    r"question))?"
    r"(?: (?:is|be|should be|must be))?(?: (?:off|up|down))? )?"
)
_COUNT = rf"(?:\d|{'|'.join(sorted(_DECIMALS, key=len, reverse=True))})"
_ROUND = any_case(
    rf"{_LEAD}(?:(?:to|with|at|using|and|in) )*(?:the )?(?:(?:nearest|closest) )"
rf"?(?P<count>{_COUNT})[ -]?(?:digits? after the )?"
    r"(?:decimals?(?: (?:places?|points?|digits?))?|d\.?p\.?(?!\w))(?: places?)?(?: precision)?"
    r"|" + rf"{_LEAD}(?:(?:to|and) )*(?:the )?(?:nearest|closest) (?P<nearest>"
    + "|".join(sorted(_NEAREST, key=len, reverse=True)) + r")s?(?: of a (?:percent|point|day))?"
    r"(?: (?:point|usd|dollar)s?)?(?!\w)"
    r"|rounded to (?:an? |the )?(?P<whole>integer|whole number)(?!\w)"
)  # fmt: skip
_CURRENCY = r"(?:usd|us\$|u\.s\. dollars?|us dollars?|dollars?|\$|eur|euros?|€|gbp|pounds?|£|cad|jpy|yen)"
_SCALE_WORD = r"(?:thousands?|millions?|billions?|trillions?|mm|mn|mln|bn)"
_MONEY = any_case(
    rf"{_LEAD}(?:(?:in|as|to|using) )+(?:units? of )?(?:the )?(?:nearest )"
    rf"?(?:(?P<currency>{_CURRENCY})[ ,]*(?:in )?(?P<scale>{_SCALE_WORD}|m|b|k|"
    rf"'?000s?)?|"
    rf"(?P<only>{_SCALE_WORD})(?: of)?(?: (?:{_CURRENCY}))?)(?!\w)"
    rf"|\((?:{_CURRENCY})[ ,]*(?:in )?(?P<bracket>{_SCALE_WORD}|m|b|k)?\)"
    r"|\((?:(?:in|\$) ?)?(?P<bare>millions?|billions?|thousands?|mm|mn|bn)\)"
)
_PERCENT = any_case(
    rf"{_LEAD}(?:(?:in|as|to|using|with) )+(?:units? of )?(?:an? |the )?(?:whole )"
    rf"?(?:percentages?|percents?|per cent|pct|%)(?: (?:terms|form|value|figure))"
    rf"?(?: rounded)?(?! (?:of|change|points?|increase|decrease|margin))(?!\w)"
    r"|\((?:%|percent|percentage|in %)\)|what (?:percent(?:age)?|%) (?=(?:did|has|"
    r"have|was|were|is|are)\b)|how many per ?cent(?! points?)|(?<=[^\W\d_])%(?!\w)"
)
_POINTS = any_case(
    rf"{_LEAD}(?:(?:in|by how many|how many) )(?:units? of )?(?P<unit>percentage "
    rf"points?|basis points?|bps|pp)(?!\w)"
)
_DAYS = any_case(
    rf"{_LEAD}(?:in|as) (?:units? of |number of |the number of )?days(?!\w)|how many days|number of days"
)
_RATIO = any_case(
    rf"{_LEAD}as (?:a |an )?(?:ratio|multiple|decimal(?: number)?|times)(?! of)(?!\w)"
    rf"|in (?:terms of )?times(?!\w)|in decimal form"
)
_STATEMENTS = {
    "cash_flows": r"(?:statements? of (?:consolidated )?cash flows?|cash flows? statements?)",
    "income_statement": (
        r"(?:income statements?|p ?(?:&|and|n) ?l(?: statements?| accounts?)?|profit "
        r"(?:and|&) loss(?: statements?| accounts?)?|"
        r"statements? of (?:consolidated )?(?:income|operations|earnings|profit (?:and|"
        r"or) loss)|earnings statements?)"
    ),
    "financial_position": (
        r"(?:balance sheets?|statements? of (?:consolidated )?(?:financial position|financial condition))"
    ),
    "comprehensive_income": r"statements? of (?:consolidated )?comprehensive (?:income|loss)",
    "equity": r"statements? of (?:changes in )?(?:stock|share)(?:holders|owners)'? equity",
}
_STATEMENT = any_case(
    r"(?:\b(?:according to|based on|from|in|on|per|using|within|of|off of|to|by|"
    r"referencing) )?(?:the |its |their )*(?:company's )?(?:consolidated )?(?:"
    + "|".join(f"(?P<{kind}>{words})" for kind, words in _STATEMENTS.items())
    + r")(?!\w)"
)


@dataclass(frozen=True)
class Directives:
    """What a question says about its answer.

    Attributes:
        unit: currency, percent, points (percentage points), basis_points, days or ratio; None if unsaid.
        scale: full units per unit of the answer, for money: 1, 1000, 1000000, …; None if nothing is said.
        decimals: places after the decimal point; None if nothing is said.
        statements: kinds of statement named, in order.
    """

    unit: str | None = None
    scale: int | None = None
    decimals: int | None = None
    statements: tuple[str, ...] = ()


def read_directives(text: str) -> tuple[Directives, str]:
    """What a question says about its answer, and the question with those words blanked out.

    Args:
        text: in plain characters. Of several units the last one counts, of several roundings too.

    Returns:
        The directives, and a text of the same length.
    """
    unit: str | None = None
    scale: int | None = None
    decimals: int | None = None
    statements: dict[str, None] = {}
    for match in _STATEMENT.finditer(text):
        statements |= dict.fromkeys(kind for kind in _STATEMENTS if match[kind])
    text = _STATEMENT.sub(_blank, text)
    for match in _ROUND.finditer(text):
        decimals = _decimals(match)
        if nearest := SCALES.get((match["nearest"] or "").lower()):
            unit, scale = "currency", nearest
    text = _ROUND.sub(_blank, text)
    for match in _MONEY.finditer(text):
        word = match["scale"] or match["only"] or match["bracket"] or match["bare"] or ""
        unit, scale = "currency", SCALES.get(word.lower().strip("'")) or scale or 1
    text = _MONEY.sub(_blank, text)
    for pattern, asked in ((_RATIO, "ratio"), (_DAYS, "days"), (_PERCENT, "percent")):
        unit = asked if pattern.search(text) else unit
        if asked != "days" or not re.search(r"how many days|number of days", text, re.IGNORECASE):
            text = pattern.sub(_blank, text)
    for match in _POINTS.finditer(text):
        unit = "points" if match["unit"].lower().startswith(("perc", "pp")) else "basis_points"
    return Directives(unit, scale, decimals, tuple(statements)), _POINTS.sub(_blank, text)


def _decimals(match: re.Match[str]) -> int:
    if match["count"]:
        word = match["count"].lower()
        return int(word) if word.isdigit() else _DECIMALS[word]
    return _NEAREST[match["nearest"].lower()] if match["nearest"] else 0


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])
