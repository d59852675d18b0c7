"""How figures and changes are written, in tables and in prose."""

from __future__ import annotations

from datetime import date
from decimal import ROUND_HALF_UP, Decimal

NIL = "—"
# Spelt out, since strftime follows the locale of the process.
# fmt: off
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)
# fmt: on
_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_UNITS = {"millions": 1_000_000, "thousands": 1_000}


def quotient(numerator: int | Decimal, denominator: int | Decimal, places: int = 2) -> Decimal:
    """``numerator / denominator`` rounded half up to ``places`` decimals."""
    exact = Decimal(numerator) / Decimal(denominator)
    return exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def percent(part: int | Decimal, whole: int | Decimal, places: int = 1) -> str:
    """``part`` as a percentage of ``whole``, for example ``12.3%``; negative in parentheses as in tables."""
    value = quotient(Decimal(part) * 100, whole, places)
    return f"({-value})%" if value < 0 else f"{value}%"


def growth(new: int, old: int, places: int = 1) -> Decimal:
    """Change from ``old`` to ``new`` in percent."""
    return quotient(Decimal(new - old) * 100, old, places)


def moved(new: int, old: int, up: str = "increased", down: str = "decreased") -> str:
    """A verb and the relative change, for example ``increased 4.6%``."""
    change = growth(new, old)
    return f"{up if change >= 0 else down} {abs(change)}%"


def higher(new: int | Decimal, old: int | Decimal, up: str = "increase", down: str = "decrease") -> str:
    """The noun or verb that fits the direction of a change."""
    return up if new >= old else down


def cell(amount: int | Decimal) -> str:
    """A figure of a table: thousands separated, negatives in parentheses, a dash for nil."""
    if amount == 0:
        return NIL
    return f"({-amount:,})" if amount < 0 else f"{amount:,}"


def money(amount: int, unit: str, places: int = 1) -> str:
    """An amount in prose, for example ``$412 million``; ``unit`` is that of the books."""
    if unit == "millions":
        return f"${abs(amount):,} million"
    value = quotient(abs(amount) * _UNITS[unit], 1_000_000, places)
    return f"${value:,} million"


def usd_millions(amount: int, unit: str, places: int = 2) -> str:
    """An amount as an answer states it: dollars in millions, for example ``$1577.00``."""
    value = quotient(amount * _UNITS[unit], 1_000_000, places)
    return f"-${-value}" if value < 0 else f"${value}"


def day(when: date) -> str:
    """A date as filings write it, for example ``June 25, 2022``."""
    return f"{_MONTHS[when.month - 1]} {when.day}, {when.year}"


def word(count: int) -> str:
    """A small count in words, larger ones in digits."""
    return _COUNTS[count] if 0 <= count < len(_COUNTS) else f"{count:,}"


def joined(parts: list[str]) -> str:
    """A list in prose: ``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
