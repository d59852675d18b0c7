"""Numbers as people read them: rounded half up, with scale and unit."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext

from finrag_pipeline.questions.directives import Directives

SCALE_NAMES = {1: "", 1_000: "thousand", 1_000_000: "million", 1_000_000_000: "billion", 10**12: "trillion"}
_SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£"}
_DEFAULT_DECIMALS = {"percent": 1, "points": 1, "basis_points": 0, "ratio": 2, "times": 2, "days": 2}


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
    """A value as it is answered.

    Attributes:
        answer: for people.
        value: in ``unit``, rounded.
        unit: for programs, such as ``USD million`` or ``percent``.
    """

    answer: str
    value: Decimal
    unit: str


def word_ratio(value: Decimal, unit: str, decimals: int | None) -> Worded:
    """A number without dimension: in per cent, percentage points, days, times or as a ratio."""
    places = _DEFAULT_DECIMALS[unit] if decimals is None else decimals
    factor = {"percent": 100, "points": 100, "basis_points": 10_000}.get(unit, 1)
    rounded = round_half_up(value * factor, places)
    text = f"{rounded:,f}"
    if unit == "percent":
        return Worded(f"{text}%", rounded, "percent")
    if unit == "points":
        return Worded(f"{text} percentage points", rounded, "percentage points")
    if unit == "basis_points":
        return Worded(f"{text} basis points", rounded, "basis points")
    if unit in ("days", "times"):
        return Worded(f"{text} {unit}", rounded, unit)
    return Worded(text, rounded, "ratio")


def word_money(value: Decimal, currency: str | None, directives: Directives) -> Worded:
    """An amount in the scale asked for; in millions where none is asked and it is large."""
    scale = directives.scale or (1_000_000 if abs(value) >= 1_000_000 else 1)
    scaled = value / scale
    decimals = directives.decimals
    if decimals is None:
        whole = scaled == scaled.to_integral_value()
        decimals = 0 if whole and scale <= 1_000_000 else 2
    rounded = round_half_up(scaled, decimals)
    code = currency or "USD"
    symbol = _SYMBOLS.get(code, f"{code} ")
    sign = "-" if rounded < 0 else ""
    name = SCALE_NAMES.get(scale, "")
    answer = f"{sign}{symbol}{abs(rounded):,f}{' ' + name if name else ''}"
    return Worded(answer, rounded, f"{code} {name}".strip())


def word_per_share(value: Decimal, currency: str | None, decimals: int | None) -> Worded:
    """An amount per share."""
    rounded = round_half_up(value, 2 if decimals is None else decimals)
    code = currency or "USD"
    sign = "-" if rounded < 0 else ""
    return Worded(
        f"{sign}{_SYMBOLS.get(code, code + ' ')}{abs(rounded):,f} per share", rounded, f"{code} per share"
    )


def word_shares(value: Decimal, directives: Directives) -> Worded:
    """A number of shares."""
    scale = directives.scale or (1_000_000 if abs(value) >= 1_000_000 else 1)
    scaled = value / scale
    decimals = directives.decimals
    if decimals is None:
        decimals = 0 if scaled == scaled.to_integral_value() else 1
    rounded = round_half_up(scaled, decimals)
    name = SCALE_NAMES.get(scale, "")
    return Worded(f"{rounded:,f} {name} shares".replace("  ", " "), rounded, f"{name} shares".strip())
