"""What all identities share: their result, and facts of one period as parts of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from finrag_pipeline.statements.arithmetic import last_digit
from finrag_pipeline.statements.facts import period_of

Facts = dict[str, dict[str, Any]]
"""Facts of one statement and period by concept."""


@dataclass(frozen=True, slots=True)
class IdentityResult:
    """One identity for one statement and period.

    Attributes:
        name: of the identity.
        period: as printed in reports, such as ``2018-12-31`` or ``2018-01-01 to 2018-12-31``.
        left, right: its two sides in full units; None where the identity cannot be applied.
        difference: left - right.
        tolerance: largest difference that rounding of the printed parts allows.
        passed: whether the sides agree; None where a part is missing.
        note: which part is missing, or how the identity was met.
        facts: identifiers of the facts used.
    """

    name: str
    period: str
    left: float | None
    right: float | None
    difference: float | None
    tolerance: float
    passed: bool | None
    note: str
    facts: tuple[str, ...]


def period_key(fact: dict[str, Any]) -> tuple[Any, ...]:
    """What tells periods apart: the day on a balance sheet, else the whole period."""
    period = period_of(fact)
    if fact["statement"] == "financial_position" and period[0] == "date":
        return ("instant", period[2])
    return period


def show_period(fact: dict[str, Any]) -> str:
    """Period of a fact for people, such as ``2018-01-01 to 2018-12-31``."""
    return show_key(period_key(fact))


def show_key(key: tuple[Any, ...]) -> str:
    """A period key for people."""
    if key[0] == "instant":
        return str(key[1])
    if key[0] == "date":
        return f"{key[1]} to {key[2]}" if key[1] else str(key[2])
    return " ".join(str(part) for part in key if part is not None)


def compared(
    name: str,
    key: tuple[Any, ...],
    left: Sequence[tuple[float, dict[str, Any]]],
    right: Sequence[tuple[float, dict[str, Any]]],
    note: str = "",
) -> IdentityResult:
    """Compare two sides, each a list of signs and facts."""
    one = sum(sign * fact["value"] for sign, fact in left)
    other = sum(sign * fact["value"] for sign, fact in right)
    used = [fact for _, fact in (*left, *right)]
    errors = [0.5 * last_digit(fact["printed"], fact["scale"]) for fact in used]
    # One number printed in two places is rounded once; a sum of rounded numbers drifts with each of them.
    allowed = (max(errors) if len(left) == len(right) == 1 else sum(errors)) + 1e-9
    return IdentityResult(
        name, show_key(key), one, other, one - other, allowed, abs(one - other) <= allowed, note,
        tuple(fact["fact_id"] for fact in used),
    )  # fmt: skip


def not_applicable(name: str, key: tuple[Any, ...], *parts: str) -> IdentityResult:
    """The result of an identity that lacks parts."""
    note = f"no {' and no '.join(parts)}"
    return IdentityResult(name, show_key(key), None, None, None, 0.0, None, note, ())


def first_of(found: Facts, names: Sequence[str]) -> dict[str, Any] | None:
    """The first of several concepts that is there."""
    return next((found[name] for name in names if name in found), None)


def lines_between(
    facts: Iterable[dict[str, Any]], above: dict[str, Any], below: dict[str, Any]
) -> list[dict[str, Any]]:
    """Facts of the column of ``below`` that are printed under ``above`` and over ``below``."""
    place = (below["page"], below["table"], below["column"])
    column = [fact for fact in facts if (fact["page"], fact["table"], fact["column"]) == place]
    return [fact for fact in column if above["row"] < fact["row"] < below["row"]]
