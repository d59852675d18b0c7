"""Several values in words: how they went on over time, or what share of the whole each part is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from finrag_pipeline.answering.calculate import Quantity
from finrag_pipeline.answering.derivation import Input, SeriesValue, listing
from finrag_pipeline.answering.wording import Unit, Worded, round_half_up

Value = tuple[str, Quantity, Worded]
"""Label, value, and the value in words."""

_ADD_UP = Decimal("0.02")
"""Relative difference of parts to their whole that eliminations between them explain."""


@dataclass(frozen=True)
class OpenAnswer:
    """Values of a plan for one company.

    Attributes:
        values: label, value, and the value in words.
        formula, steps, inputs: as in `Derivation`.
        confidence: probability that they are what is asked for.
        signs: what else tells that, see `signs_of_rows`; None where no encoder does.
        missing: periods that no filing shows.
        restated: what an older filing showed, by period.
        whole: the value of the whole company, where parts of it are told.
    """

    values: tuple[Value, ...]
    formula: str
    steps: tuple[str, ...]
    inputs: tuple[Input, ...]
    confidence: float
    signs: Mapping[str, float] | None = None
    missing: tuple[str, ...] = ()
    restated: Mapping[str, str] = field(default_factory=dict)
    whole: Quantity | None = None


def tell_course(
    found: Mapping[str, OpenAnswer], name: str, latest: Mapping[str, str]
) -> tuple[str, tuple[SeriesValue, ...]]:
    """Values over time as a sentence and as a table.

    Args:
        found: the values by what they are of: a company, a measure, both.
        name: of the measure.
        latest: by what the values are of, the newest filing, where the latest periods are asked for.
    """
    sentences, rows = [], []
    for of, one in found.items():
        broken = bool(one.restated) and one.values[0][0] not in one.restated
        told = _course(one.values, latest.get(of), broken)
        named = name if len(found) == 1 else of if name in of else f"{of}: {name}"
        sentences.append(f"{named} {told}.")
        if one.missing:
            sentences.append(f"No filing here shows {listed(one.missing)}.")
        if one.restated:
            before = "; what comes before is as first reported and not comparable" if broken else ""
            was = listed([f"{label} ({was})" for label, was in one.restated.items()])
            sentences.append(f"Restated: {was}{before}.")
        rows += [
            SeriesValue(
                label,
                worded.answer,
                float(quantity.value),
                of if len(found) > 1 else "",
                _change(_before(label, one.values, one.restated), (label, quantity, worded)),
            )
            for label, quantity, worded in one.values
        ]
    answer = " ".join(sentences)
    answer = answer[0].upper() + answer[1:]
    return (f"{answer} {listing(rows)}", tuple(rows)) if len(rows) > 1 else (answer, ())


def tell_parts(found: OpenAnswer, whole_name: str) -> tuple[str, tuple[SeriesValue, ...]]:
    """Parts of a whole as a sentence and as a table, each with its share.

    Args:
        found: the parts, and the value of the whole where it is known.
        whole_name: what the parts are of.
    """
    values = [value for _, value, _ in found.values]
    whole = found.whole or replace(values[0], value=sum((value.value for value in values), Decimal(0)))
    shown = whole.value > 0 and min(value.value for value in values) >= 0 and whole.unit == Unit(1, 0)
    shares = [
        100 * value.value / whole.value if shown and adds_up(values, whole) else None for value in values
    ]
    rows = tuple(
        SeriesValue(
            name,
            worded.answer,
            float(value.value),
            "",
            "" if share is None else f"{round_half_up(share, 1)}%",
        )
        for (name, value, worded), share in zip(found.values, shares, strict=True)
    )
    told = "; ".join(f"{row.label} {row.answer}" + (f" ({row.change})" if row.change else "") for row in rows)
    return f"{whole_name[0].upper()}{whole_name[1:]}: {told}", rows


def adds_up(parts: Sequence[Quantity], whole: Quantity) -> bool:
    """Whether parts are all of their whole, but for what is eliminated between them."""
    return abs(sum(part.value for part in parts) - whole.value) <= _ADD_UP * abs(whole.value)


def listed(names: Sequence[str]) -> str:
    """Names in a row: 'A, B and C'."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _course(values: Sequence[Value], latest: str | None, broken: bool) -> str:
    first, last = values[0], values[-1]
    place = f"{last[0]}, the latest, in {latest}" if latest else last[0]
    if len(values) == 1:
        return f"was {last[2].answer} ({place})"
    change = last[1].value - first[1].value
    way = "rose" if change > 0 else "fell" if change < 0 else "did not change"
    by = "" if broken else _change(first, last).lstrip("+-")
    told = f"{way} from {first[2].answer} ({first[0]}) to {last[2].answer} ({place})" + (
        f", by {by}" if by else ""
    )
    between = values[1:-1]
    extremes = []
    for name, extreme in (("high", max), ("low", min)):
        best = extreme(values, key=lambda value: value[1].value)
        if best in between:
            extremes.append(f"a {name} of {best[2].answer} ({best[0]})")
    return f"{told}, with {listed(extremes)} between" if extremes else told


def _before(label: str, values: Sequence[Value], restated: Collection[str]) -> Value | None:
    """The value of the year, or the same quarter, before; None where only the later one was restated."""
    names = [name for name, _, _ in values]
    head, year, number = label.rpartition("FY")
    wanted = f"{head}{year}{int(number) - 1}" if number.isdigit() else ""
    if wanted not in names or (label in restated and wanted not in restated):
        return None
    return values[names.index(wanted)]


def _change(before: Value | None, after: Value) -> str:
    """A change as '+3.4%', of shares in percentage points; '' where it says nothing."""
    if before is None:
        return ""
    difference = after[1].value - before[1].value
    if after[2].unit == "percent":
        return f"{round_half_up(100 * difference, 1):+} points"
    if before[1].value <= 0 or after[1].value < 0:
        return ""
    return f"{round_half_up(100 * difference / before[1].value, 1):+}%"
