"""Numbers as people read them: rounded half up, with scale and unit."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext

from finrag_pipeline.questions.directives import Directives

SCALE_NAMES = {1: "", 1_000: "thousand", 1_000_000: "million", 1_000_000_000: "billion", 10**12: "trillion"}
_SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£"}
_PLAIN = {
    "percent": (100, 1, "%"),
    "points": (100, 1, " percentage points"),
    "basis_points": (10_000, 0, " basis points"),
    "ratio": (1, 2, ""),
    "times": (1, 2, " times"),
    "days": (1, 2, " days"),
}
"""Units of numbers without dimension: factor, usual decimals, and what stands behind the number."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Unit of a quantity as powers: money is (1, 0), a share count (0, 1), money per share (1, -1)."""

    money: int = 0
    shares: int = 0


NONE, MONEY, SHARES, PER_SHARE = Unit(), Unit(1, 0), Unit(0, 1), Unit(1, -1)


def round_half_up(value: Decimal, decimals: int) -> Decimal:
    """``value`` rounded half away from zero, as people and spreadsheets do; never minus zero."""
    with localcontext() as context:
        context.prec = 60
        rounded = value.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP)
    return abs(rounded) if rounded == 0 else rounded


def plain_number(value: Decimal, decimals: int | None = None) -> str:
    """A number with thousands separators; at most ``decimals`` places and no zeros at the end."""
    if decimals is not None:
        value = round_half_up(value, decimals)
    text = f"{value:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def short_money(value: Decimal) -> str:
    """An amount in millions, or in full where it is less: ``1,234.5 million``."""
    if abs(value) >= 100_000:
        return f"{plain_number(value / 1_000_000, 3)} million"
    return plain_number(value, 2)


@dataclass(frozen=True)
class Worded:
    """A value as it is answered: for people, and rounded in a unit such as ``USD million`` or ``percent``."""

    answer: str
    value: Decimal
    unit: str


_COUNTED = 100
"""A whole number that is no ratio."""


def _word_ratio(value: Decimal, unit: str, decimals: int | None) -> Worded:
    factor, places, said = _PLAIN[unit]
    if value == value.to_integral_value() and abs(value) >= _COUNTED and factor == 1:
        places = 0  # people, shops, square feet
    rounded = round_half_up(value * factor, places if decimals is None else decimals)
    named = "percent" if unit == "percent" else said.strip() or "ratio"
    return Worded(f"{rounded:,f}{said}", rounded, named)


def word_value(
    value: Decimal, unit: Unit, usual: str, currency: str | None, directives: Directives
) -> Worded:
    """A value in the unit, scale and decimals asked for; amounts in millions where they are large.

    ``usual`` is the unit of a number without dimension where none is asked for; points are never per cent.
    """
    if unit not in (MONEY, PER_SHARE, SHARES):
        asked = directives.unit if directives.unit in _PLAIN else None
        plain = usual if asked is None or (asked, usual) == ("percent", "points") else asked
        return _word_ratio(value, plain, directives.decimals)
    scale = 1
    if unit != PER_SHARE:
        scale = directives.scale or (1_000_000 if abs(value) >= 1_000_000 else 1)
    scaled = value / scale
    decimals = directives.decimals
    if decimals is None:
        whole = scaled == scaled.to_integral_value()
        places = {MONEY: 0 if whole and scale <= 1_000_000 else 2, PER_SHARE: 2, SHARES: 0 if whole else 1}
        decimals = places[unit]
    rounded = round_half_up(scaled, decimals)
    name = SCALE_NAMES.get(scale, "")
    if unit == SHARES:
        return Worded(f"{rounded:,f} {name} shares".replace("  ", " "), rounded, f"{name} shares".strip())
    code = currency or "USD"
    name = "per share" if unit == PER_SHARE else name
    sign = "-" if rounded < 0 else ""
    amount = f"{sign}{_SYMBOLS.get(code, f'{code} ')}{abs(rounded):,f}"
    return Worded(f"{amount} {name}".strip(), rounded, f"{code} {name}".strip())
