"""Grounded answers: a language model is told facts, and every number it writes is checked against them.

What is not let through: a number that stands neither in the facts, nor in the passages, nor in the
question; and an answer that leaves out or denies the result the calculator arrived at. The calculator's own
sentence takes its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from finrag_pipeline.answering.derivation import Derivation
from finrag_pipeline.answering.final_answer import declines
from finrag_pipeline.answering.passages import Passage, page_source
from finrag_pipeline.answering.quantities import quantities
from finrag_pipeline.answering.support import Sources
from finrag_pipeline.resolver.lexicon import any_case

CALCULATION = "calculation"
"""Identifier of the calculator's result as a source."""

_DOWN = any_case(
    r"(?<![a-z])(?:loss|losses|negative|decreas\w*|declin\w*|fell|drop\w*|reduc\w*|lower|down|outflows?|used|shr[iau]nk)"
    r"(?![a-z])"
)


@dataclass(frozen=True, slots=True)
class Facts:
    """A derivation as a language model is told it.

    Attributes:
        text: one line per fact, each with its marker.
        sources: marker → identifier of the source and the fact's line.
        amounts: amounts in full units that may be repeated.
    """

    text: str
    sources: dict[str, tuple[str, str]]
    amounts: tuple[float, ...]
    result: float | None


def facts_of(derivation: Derivation | None, first: int = 1) -> Facts:
    """Inputs and result of a derivation as facts, F1, F2, … from ``first`` on; none for an abstention."""
    if derivation is None or derivation.abstained:
        why = derivation.why if derivation is not None else None
        return Facts(f"No fact was found. {why or ''}".strip(), {}, (), None)
    lines: list[tuple[str, str]] = [
        (
            page_source(one.fact.filing, one.fact.page),
            f"{one.line}, {one.period}: {_full(one.value)} (printed as '{one.fact.printed}' in "
            f"{one.fact.filing}, page {one.fact.page + 1})",
        )
        for one in derivation.inputs
    ]
    formula = f"{derivation.formula} = " if derivation.formula else ""
    told = [f"Result: {formula}{derivation.answer}", *(f"Step: {step}" for step in derivation.steps)]
    told += [
        " ".join(f"{one.of} {one.label}: {one.answer} {one.change}".split()) for one in derivation.series
    ]
    lines += [(CALCULATION, line) for line in told]
    amounts = [one.value for one in derivation.inputs] + [one.value for one in derivation.series]
    amounts += [derivation.exact] if derivation.exact is not None else []
    amounts += [one.value for _, line in lines for one in quantities(line)]
    return facts_from(lines, amounts, first, derivation.exact)


def facts_from(
    lines: Sequence[tuple[str, str]], amounts: Iterable[float], first: int, result: float | None = None
) -> Facts:
    """Facts numbered from ``first`` on, of pairs of source and line."""
    sources = {f"F{number}": line for number, line in enumerate(lines, start=first)}
    text = "\n".join(f"{marker}: {line}" for marker, (_, line) in sources.items())
    return Facts(text, sources, tuple(amounts), result)


def objections(answer: str, facts: Facts, passages: Sequence[Passage], question: str) -> list[str]:
    """Why an answer, without its markers, is not let through, one sentence each; none for one that is."""
    shown = [f"{passage.place} {passage.text}" for passage in passages]
    told = [line for _, line in facts.sources.values()]
    unsupported = Sources(question, shown, facts.amounts, told).unsupported(answer)
    found = [f"The number '{number}' stands in no source." for number in unsupported]
    if facts.result is not None and not _states(answer, facts.result):
        denies = "denies" if declines(answer) else "does not give"
        found.append(f"The answer {denies} the calculated result.")
    return found


def _states(answer: str, result: float) -> bool:
    """Whether some number of an answer is the result as far as it is rounded, with its sign.

    A decline may be told in words: 'fell by 3 %'.
    """
    for one in quantities(answer):
        for factor in (1.0,) if one.scale else (1.0, 1e3, 1e6, 1e9):
            value = one.value * factor
            near = abs(abs(value) - abs(result)) <= max(one.half_unit * factor, 1e-9 * abs(result))
            signed = (value < 0) == (result < 0) or bool(_DOWN.search(answer))
            if near and signed and (value != 0 or result == 0):
                return True
    return False


def _full(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.6g}"
