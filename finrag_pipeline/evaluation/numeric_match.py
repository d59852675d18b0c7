r"""Numeric match of an answer with the gold answer: the papers', those that circulate beside it, and ours.

Kobeissi & Langlais report *numeric match* on metrics questions. Their code changed it over time, and each
form gives another figure for the same answers, so each has a name: they are the functions of
:data:`NUMERIC_MATCHES`. That of the papers' tables drops commas and dollar signs,
finds numbers by ``-?\d*\.?\d+``, and is 1 if any pair of a gold and an answered number meets
``np.isclose(gold, answered, rtol=0.03, atol=0.03)``.

All of them can be had without an answer: a text that dumps all numbers of a page meets most of them, and
unit, scale and sign do not count. ``strict_match`` looks at the final answer alone: see
:func:`strict_match`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from finrag_pipeline.answering.final_answer import FinalAnswer, final_answer
from finrag_pipeline.answering.quantities import (
    Quantity,
    Unit,
    asked_scale,
    asks_for_percent,
    plain_text,
    quantities,
)

TOLERANCE = 0.03
"""Relative and absolute tolerance of the papers' numeric match."""

STRICT_RELATIVE = 0.001
"""Relative tolerance of its wide form: people who labelled recorded answers call 0.3 % wrong."""

MOST_CANDIDATES = 3
"""Distinct amounts that a final answer may hold; more are a dump of numbers."""

_DROPPED = re.compile(r"[,$]")
_NUMBER = re.compile(r"-?\d*\.?\d+")
_SIGNED = re.compile(r"[-+]?\d*\.\d+|[-+]?\d+")
_PRINTED = re.compile(r"\$?\d+(?:,\d{3})*(?:\.\d+)?%?")


def _numbers(text: str) -> np.ndarray:
    return np.array([float(found) for found in _NUMBER.findall(_DROPPED.sub("", text))])


def numeric_match(gold: str, answer: str) -> bool:
    """Any pair of numbers within 3 % of the answered number plus 0.03 (Kobeissi & Langlais)."""
    golds, answered = _numbers(gold), _numbers(answer)
    return bool(np.isclose(golds[:, None], answered[None, :], rtol=TOLERANCE, atol=TOLERANCE).any())


def numeric_match_swapped(gold: str, answer: str) -> bool:
    """The same within 3 % of the gold number plus 0.03."""
    golds, answered = _numbers(gold), _numbers(answer)
    return bool(np.isclose(answered[None, :], golds[:, None], rtol=TOLERANCE, atol=TOLERANCE).any())


def numeric_match_first(gold: str, answer: str) -> bool:
    """The first number of each, with the papers' tolerances."""
    golds, answered = _numbers(gold)[:1], _numbers(answer)[:1]
    return bool(golds.size and answered.size and np.isclose(golds, answered, TOLERANCE, TOLERANCE).all())


def numeric_match_5_percent(gold: str, answer: str) -> bool:
    """Any pair within 0.01, or within 5 % of the answered number: an older form."""
    golds, answered = _numbers(gold)[:, None], _numbers(answer)[None, :]
    close = np.isclose(golds, answered, atol=0.01) | np.isclose(golds, answered, rtol=0.05)
    return bool(close.any())


def numeric_match_all(gold: str, answer: str) -> bool:
    """Every gold number within 1 % of itself among the answered ones: an older form, signs as written."""
    golds = [float(found) for found in _SIGNED.findall(gold.replace(",", ""))]
    answered = [float(found) for found in _SIGNED.findall(answer.replace(",", ""))]

    def close(one: float, other: float) -> bool:
        return abs(other) < 1e-6 if one == 0 else abs(one - other) / abs(one) <= 0.01

    return bool(golds) and all(any(close(one, other) for other in answered) for one in golds)


def numeric_match_printed(gold: str, answer: str) -> bool:
    """A number of both texts digit by digit, dollar signs and commas dropped: an older form."""
    printed = [{_DROPPED.sub("", found) for found in _PRINTED.findall(text)} for text in (gold, answer)]
    return bool(printed[0] & printed[1])


NUMERIC_MATCHES: dict[str, Callable[[str, str], bool]] = {
    "numeric_match": numeric_match,
    "numeric_match_swapped": numeric_match_swapped,
    "numeric_match_first": numeric_match_first,
    "numeric_match_5_percent": numeric_match_5_percent,
    "numeric_match_all": numeric_match_all,
    "numeric_match_printed": numeric_match_printed,
}
"""Every circulating form by its name; arguments are the gold answer and the answer."""


@dataclass(frozen=True, slots=True)
class GoldNumber:
    """A gold answer that is one number.

    Attributes:
        value: in full units, as far as gold answer and question say them.
        unit: ``currency``, ``percent`` or ``number`` (ratios, times, days, counts).
        scale: full units per printed unit: 1e6 for '$1577.00' when the question asks for millions.
        half_unit: half a unit of its last printed digit, in full units.
        wide: what its wide form allows: zeros at the end of an amount of money are its format ('$1577.00'),
            which says nothing about its rounding, and 0.1 % is no difference. It lets 0.39 pass for '$0.40'.
    """

    value: float
    unit: Unit
    scale: float
    half_unit: float
    wide: float


def gold_number(gold: str, question: str) -> GoldNumber | None:
    """The gold answer as a number with unit and scale; None when it is not one number and nothing else."""
    found = quantities(gold)
    plain = plain_text(gold).strip().rstrip(".")
    if len(found) != 1 or found[0].text.rstrip(".") != plain:
        return None
    one = found[0]
    decimals = one.decimals
    if one.unit == "currency":
        decimals = len(repr(one.printed).partition(".")[2].rstrip("0"))
    scale = one.scale or (1.0 if one.unit == "percent" else asked_scale(question) or 1.0)
    unit: Unit = one.unit if one.unit in ("currency", "percent") else "number"
    if unit == "number" and asked_scale(question):
        unit = "currency"
    value = one.printed * scale
    wide = max(0.5 * 10.0**-decimals * scale, STRICT_RELATIVE * abs(value))
    return GoldNumber(value, unit, scale, 0.5 * 10.0**-one.decimals * scale, wide)


def strict_match(gold: str, answer: str | FinalAnswer, question: str, wide: bool = False) -> bool | None:
    """Whether the final answer is the gold number: in the unit asked, with its sign, as rounded.

    * Only the final answer counts (:func:`finrag_pipeline.answering.final_answer.final_answer`); one that
      holds more than :data:`MOST_CANDIDATES` distinct amounts is a dump and fails.
    * Unit: a bare number is in the unit that was asked for; '1.577 billion', '$1,577,000,000' and '54%' say
      their own and are compared in full units. A bare 0.54 is no 54 %, an amount of money no ratio.
    * Sign: must agree.
    * Rounding: equal when they differ by no more than half a unit of the gold number's last printed digit, or
      by :attr:`GoldNumber.wide` where that is asked for.

    Returns:
        None when the gold answer is not a number (see :func:`gold_number`).
    """
    wanted = gold_number(gold, question)
    if wanted is None:
        return None
    final = final_answer(answer) if isinstance(answer, str) else answer
    if final.declined or final.quantity is None or len(final.candidates) > MOST_CANDIDATES:
        return False
    # A value in full units that was computed differs from the printed one by the rounding of floats.
    allowed = (wanted.wide if wide else wanted.half_unit) * (1 + 1e-9) + 1e-12 * abs(wanted.value)
    return any(
        abs(value - wanted.value) <= allowed
        and (value < 0) == (wanted.value < 0)
        and (value == 0) <= (wanted.value == 0)
        for value in _readings(final.quantity, wanted, question)
    )


def _readings(given: Quantity, wanted: GoldNumber, question: str) -> list[float]:
    """The answered number in full units, one entry per way to read it; none when its unit is another one."""
    if wanted.unit == "percent":
        if given.unit == "percent":
            return [given.value]
        bare = given.unit == "number" and given.scale is None and asks_for_percent(question)
        return [given.printed * 0.01] if bare else []
    if wanted.unit == "currency":
        if given.unit == "percent":
            return []
        return [given.value] if given.scale else [given.printed * wanted.scale, given.value]
    return [given.value] if given.unit != "currency" else []
