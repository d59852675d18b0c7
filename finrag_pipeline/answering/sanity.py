"""Whether a value is plausible for what was asked: warnings, never a reason to reject.

Ranges of the guide: margins from -100 % to 500 %, ratios from 0 to 100, growth within ±500 %. They are
applied to the value with its unit, so that 0.45 and 45 % are the same margin, and only to what the question
asks for.
"""

from __future__ import annotations

import math

from finrag_pipeline.resolver.lexicon import any_case

# Look-arounds instead of word boundaries: 'FY2022margin' and '%margin' are asked for too.
_GROWTH = any_case(
    r"(?<![a-z])(?:growth|cagr|grow|grew"
    r"|(?:year[\s-]over[\s-]year|yoy|percent(?:age)?|%) (?:change|increase|decrease))(?![a-z])"
)
_MARGIN = any_case(r"(?<![a-z])margins?(?![a-z])|(?:as an? |\bwhat )(?:%|percent(?:age)?) of")
_RATIO = any_case(r"(?<![a-z])(?:ratio|turnover|multiple|times)(?![a-z])")


def sanity_warnings(question: str, value: float | None, unit: str | None) -> tuple[str, ...]:
    """What is odd about a value in full units (0.45 for 45 %), one sentence each; amounts have no range."""
    if value is not None and not math.isfinite(value):
        return ("The value is not finite.",)
    if value is None or unit == "currency":
        return ()
    percent = unit == "percent"
    # A bare number under a question for growth is per cent: 12 is 12 %.
    ranges = (
        (_GROWTH, "growth", value if percent else value / 100, (-5.0, 5.0)),
        (_MARGIN, "margin", value if percent or abs(value) <= 1 else value / 100, (-1.0, 5.0)),
        (_RATIO, "ratio", 0.0 if unit == "days" else value, (0.0, 100.0)),
    )
    for asked, name, number, (low, high) in ranges:
        if asked.search(question):
            shown = f"{value:.1%}" if percent else f"{value:g}"
            return () if low <= number <= high else (f"A {name} of {shown} is unusual.",)
    return ()
