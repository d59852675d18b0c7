"""Whether a value is plausible for what was asked: warnings, never a reason to reject.

Ranges of the guide: margins from -100 % to 500 %, ratios from 0 to 100, growth within ±500 %. They are
applied to the value with its unit, so that 0.45 and 45 % are the same margin, and only to what the question
asks for.
"""

from __future__ import annotations

import math
import re

MARGIN = (-1.0, 5.0)
RATIO = (0.0, 100.0)
GROWTH = (-5.0, 5.0)

# Look-arounds instead of word boundaries: 'FY2022margin' and '%margin' are asked for too.
_MARGIN = re.compile(
    r"(?<![a-z])margins?(?![a-z])|(?:as an? |\bwhat )(?:%|percent(?:age)?) of", re.IGNORECASE
)
_GROWTH = re.compile(
    r"(?<![a-z])(?:growth|cagr|grow|grew"
    r"|(?:year[\s-]over[\s-]year|yoy|percent(?:age)?|%) (?:change|increase|decrease))(?![a-z])",
    re.IGNORECASE,
)
_RATIO = re.compile(r"(?<![a-z])(?:ratio|turnover|multiple|times)(?![a-z])", re.IGNORECASE)


def sanity_warnings(question: str, value: float | None, unit: str | None) -> tuple[str, ...]:
    """What is odd about a value, one sentence each.

    Args:
        question: decides which range applies.
        value: in full units, 0.45 for 45 %.
        unit: ``percent``, ``ratio``, ``number``, ``currency``, …; amounts of money have no range.
    """
    if value is None:
        return ()
    if not math.isfinite(value):
        return ("The value is not finite.",)
    if unit == "currency":
        return ()
    found = []
    shown = f"{value:.1%}" if unit == "percent" else f"{value:g}"
    if _GROWTH.search(question):
        # A bare number under a question for growth is per cent: 12 is 12 %.
        if _outside(value if unit == "percent" else value / 100, GROWTH):
            found.append(f"A growth of {shown} is unusual.")
    elif _MARGIN.search(question):
        if _outside(value if unit == "percent" or abs(value) <= 1 else value / 100, MARGIN):
            found.append(f"A margin of {shown} is unusual.")
    elif _RATIO.search(question) and unit != "days" and _outside(value, RATIO):
        found.append(f"A ratio of {shown} is unusual.")
    return tuple(found)


def _outside(value: float, interval: tuple[float, float]) -> bool:
    low, high = interval
    return not low <= value <= high
