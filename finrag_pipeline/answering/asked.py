"""The unit that a question asks its answer in."""

from __future__ import annotations

import re

from finrag_pipeline.answering.quantities import plain_text

_WORD = r"thousand|million|billion|trillion"
_SCALE = re.compile(
    r"\b(?:in|of|to)\s+(?:the\s+)?(?:(?:u\.?s\.?\s?)?(?:dollars?|usd|\$|eur|euros?|gbp|pounds?)\s*)?\(?"
    rf"(?P<scale>{_WORD})s?\b|\busd\s+(?P<usd>{_WORD})s?\b|\$\s?(?P<sign>{_WORD})s?\b",
    re.IGNORECASE,
)
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_PERCENT = re.compile(r"\bpercent(?:s|ages?)?\b|\bper cent\b|%", re.IGNORECASE)


def asked_scale(question: str) -> float | None:
    """Full units per unit that money is asked for in ('in USD millions': 1e6); None where none is named."""
    match = _SCALE.search(plain_text(question))
    word = next((part for part in match.groups() if part), None) if match else None
    return _SCALES[word.lower()] if word else None


def asks_for_percent(question: str) -> bool:
    """Whether a question speaks of per cent."""
    return bool(_PERCENT.search(question))
