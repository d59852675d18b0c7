"""Verdicts over the inputs of a derivation: did it grow, is it positive, is there any, which is largest."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from finrag_pipeline.answering.derivation import Derivation, Input
from finrag_pipeline.answering.passages import page_source
from finrag_pipeline.answering.quantities import years_in
from finrag_pipeline.questions.words import EXISTENCE
from finrag_pipeline.resolver.lexicon import any_case

_UP = any_case(
    r"\b(?:grow\w*|grew|increas\w*|improv\w*|ris(?:e|en|ing)|rose|accelerat\w*|expand\w*|higher)\b"
)
_DOWN = any_case(
    r"\b(?:decreas\w*|declin\w*|drop\w*|fall\w*|fell|reduc\w*|shr[iau]nk\w*|deteriorat\w*|worsen\w*|lower)\b"
)
_POSITIVE = any_case(r"\bpositive\b")
_NEGATIVE = any_case(r"\bnegative\b")
_MOST = re.compile(r"\b(?:largest|biggest|highest|greatest|most|best)\b")
_LEAST = re.compile(r"\b(?:smallest|lowest|least|fewest|worst)\b")
_WHICH = any_case(r"\b(?:which|what|who|among|of)\b")
# A difference or a growth of one quantity over time, as the calculator prints it.
_CHANGE = re.compile(r"(?P<what>[\w\"]+)@(?P<one>\w+) (?:- |/ )(?P=what)@(?P<other>\w+)(?: - 1)?")
_QUARTER = any_case(r"q([1-4])|([1-4])q")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A verdict.

    Attributes:
        verdict: 'Yes', 'No', or the line that is largest or smallest.
        text: the verdict in a sentence with the figures behind it.
        sources: pages the figures stand on.
    """

    verdict: str
    text: str
    sources: tuple[str, ...]


def asks_for_verdict(question: str) -> bool:
    """Whether a question has a word that `compare` has a verdict for; cheap."""
    return any(words.search(question) for words in (_UP, _DOWN, _POSITIVE, _NEGATIVE, _MOST, _LEAST))


def compare(question: str, derivation: Derivation) -> Comparison | None:
    """The verdict that a derivation's figures give; None where the question asks for none or they do not say.

    Args:
        question: without instructions about the form of the answer.
        derivation: its inputs are compared; an abstention says nothing.
    """
    if derivation.abstained:
        return None
    inputs = derivation.inputs
    most, least = _MOST.search(question), _LEAST.search(question)
    if (most or least) and _WHICH.search(question):
        # 'brought in the most (or lost the least)' asks for the largest.
        first_is_most = bool(most) and (not least or (most is not None and most.start() < least.start()))
        return _extreme(inputs, largest=first_is_most)
    positive, value = _POSITIVE.search(question), derivation.value
    if positive or _NEGATIVE.search(question):
        holds = value is not None and (value > 0 if positive else value < 0)
        return None if value is None else _yes_no(holds, derivation.answer, inputs)
    up, down = _UP.search(question), _DOWN.search(question)
    if not (up or down):  # there is any of what one printed number tells
        exists = len(inputs) == 1 and EXISTENCE.search(question)
        return _yes_no(bool(inputs[0].value), derivation.answer, inputs) if exists else None
    wanted = None if up and down else bool(up)  # 'improved or declined' asks which way it went
    return _trend(inputs, wanted) or _change(derivation, inputs, wanted)


def _extreme(inputs: Sequence[Input], largest: bool) -> Comparison | None:
    by_line = {one.line: one for one in inputs}
    if len(by_line) < 2:
        return None
    ordered = sorted(by_line.values(), key=lambda one: one.value, reverse=largest)
    if ordered[0].value == ordered[1].value:
        return None
    figures = "; ".join(f"{one.line} {_shown(one)}" for one in ordered)
    word = "largest" if largest else "smallest"
    return Comparison(ordered[0].line, f"{ordered[0].line} is the {word}: {figures}.", _pages(ordered))


def _yes_no(holds: bool, figures: str, inputs: Sequence[Input]) -> Comparison:
    verdict = "Yes" if holds else "No"
    return Comparison(verdict, f"{verdict}. {figures}", _pages(inputs))


def _moved(
    change: float, up: bool | None, inputs: Sequence[Input], figures: Callable[[str], str]
) -> Comparison:
    """The verdict of a change, with figures that tell the way it went; ``up`` None asks for that alone."""
    way = "rose" if change > 0 else "fell" if change < 0 else "did not change"
    if up is None:
        return Comparison(way, figures(way), _pages(inputs))
    return _yes_no(change > 0 if up else change < 0, figures(way), inputs)


def _trend(inputs: Sequence[Input], up: bool | None) -> Comparison | None:
    """Of the one line that is there for two periods; ``up`` None asks which way it went."""
    dated = sorted((one for one in inputs if _when(one)[0]), key=_when)
    if len({one.line for one in inputs}) != 1 or len(dated) < 2 or _when(dated[0]) == _when(dated[-1]):
        return None
    first, last = dated[0], dated[-1]
    ends = f"from {_shown(first)} ({first.period}) to {_shown(last)} ({last.period})"
    return _moved(last.value - first.value, up, [first, last], lambda way: f"{first.line} {way} {ends}.")


def _change(derivation: Derivation, inputs: Sequence[Input], up: bool | None) -> Comparison | None:
    """Of a quantity that was computed for two periods."""
    match = _CHANGE.fullmatch(derivation.formula or "")
    if match is None or derivation.exact is None:
        return None
    one, other = (max(years_in(match[name]), default=0) for name in ("one", "other"))
    if not one or not other or one == other:
        return None
    change = derivation.exact if one > other else -derivation.exact
    worked_out = derivation.steps[-1].partition(" = ")[2] if derivation.steps else ""
    return _moved(change, up, inputs, lambda way: f"It {way}: {worked_out or derivation.answer}.")


def _when(one: Input) -> tuple[int, int]:
    """Year and quarter of a period, the fourth for a whole year; (0, 0) when it names no year."""
    text = one.period
    years = years_in(text)
    quarter = _QUARTER.search(text)
    return (max(years), int(next(filter(None, quarter.groups()))) if quarter else 4) if years else (0, 0)


def _shown(one: Input) -> str:
    value = one.value
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if abs(value) >= size:
            return f"{value / size:,.3f} {word}"
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def _pages(inputs: Sequence[Input]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(page_source(one.fact.filing, one.fact.page) for one in inputs))
