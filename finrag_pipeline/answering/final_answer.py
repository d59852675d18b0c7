"""The final answer in what a language model wrote, and whether it declined to answer.

The guide that these rules come from takes the last number that is not from 2015 to 2025, which drops true
answers ('$2018'); here a year is told by the words around it (:mod:`finrag_pipeline.answering.quantities`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from finrag_pipeline.answering.quantities import Quantity, plain_text, quantities
from finrag_pipeline.filings.sentences import sentences
from finrag_pipeline.resolver.lexicon import any_case

_MARKER = any_case(r"(?:^|(?<=[\s.;]))(?:the\s+)?(?:final\s+)?answer\s*(?::|=|\bis\b:?)\s*(?P<rest>[^\n]*)")
_BOXED = re.compile(r"\\boxed\s*\{(?P<rest>(?:[^{}]|\{[^{}]*\})*)\}")
_LAST_STEP = re.compile(r"(?:^|\n)\W*step\s*5\b[^\n]*\n(?P<rest>.+)", re.IGNORECASE | re.DOTALL)
_CONCLUSION = any_case(
    r"^\W*(?:therefore|thus|hence|so|in conclusion|in summary|overall|accordingly|as a result"
    r"|consequently)\b"
)
_WORKING = any_case(r"=|^\W*(?:to (?:calculate|find|determine|compute)|step 1|first)\b")
_END_MARK = any_case(r"\s*\[?\s*end of (?:response|answer)\s*\]?\s*$")

_NEGATED = (
    r"(?:(?:can|could|do|does|did|is|are|was|were)\s?(?:n['’]t|\s+not)|cannot|can['’]t|unable\s+to|not)"
)
_REFUSALS = tuple(
    any_case(pattern)
    for pattern in (
        r"\bcannot be (?:determined|calculated|answered|computed|found|provided|derived)\b",
        rf"\b{_NEGATED}\s+(?:\w+\s+){{0,2}}(?:provide|determine|calculate|compute|answer|find|locate|access|"
        r"confirm|give|derive|ascertain)\b",
        rf"\b{_NEGATED}\s+(?:\w+\s+){{0,2}}(?:contain|include|mention|specify|disclose|state|provide|have|"
        r"given|provided|mentioned|available|disclosed|specified|stated|included|enough|sufficient)\b"
        r"(?=.{0,80}\b(?:information|data|details?|figures?|values?|amounts?|documents?|context|text|"
        r"statements?|knowledge|records?|reports?|question)\b)",
        r"\b(?:insufficient|no (?:specific |direct |explicit |relevant )?|lacks?|without (?:\w+ ){0,3})"
        r"(?:information|data|details)\b",
        r"\bas an? (?:ai|artificial|language)\b",
        r"\bi(?:['’]m| am) sorry\b|\bi apologi[sz]e\b|\bmy (?:knowledge|training)\b",
    )
)
# The writer speaks of what it lacks: figures beside that are examples, not the answer.
_OWN_LIMIT = any_case(
    rf"\bi\s+(?:\w+\s+){{0,2}}?{_NEGATED}\b|\bi(?:['’]m| am) (?:sorry|unable)\b|\bas an? (?:ai|language)\b"
    r"|\bwould need (?:to|the|access|more|both|specific|two|three|actual)\b|\bif you (?:can|have|could) "
    r"|\b(?:please|you would|you can|you should|you may) (?:\w+ ){0,2}"
    r"(?:refer|consult|provide|look|review|check)\b"
    rf"|\b(?:we|this)\s+(?:\w+\s+){{0,2}}?{_NEGATED}\s+(?:\w+\s+){{0,2}}?(?:have|calculate|determine|compute)\b"
)


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """What a reply comes down to.

    Attributes:
        text: the words that carry the answer.
        found_by: ``marker``, ``boxed``, ``step``, ``conclusion``, ``sentence``, ``line`` or ``nothing``.
        candidates: all distinct amounts of ``text``, years left out.
        declined: the reply says that there is no answer and gives none.
    """

    text: str
    found_by: str
    quantity: Quantity | None
    candidates: tuple[Quantity, ...]
    declined: bool


NO_ANSWER = FinalAnswer("", "nothing", None, (), False)


def final_answer(reply: str) -> FinalAnswer:
    r"""Read the final answer of a reply.

    The last of: a line 'Answer: …' or 'Final answer: …', the contents of ``\boxed{}``, the fifth step.
    Without these, the last sentence that concludes ('Therefore, …'); else, where a calculation is written
    out, the last sentence that gives an amount, and where not, the first one: the answer comes first and is
    explained then; else the last line. Markdown and LaTeX are read through.
    """
    reply = _END_MARK.sub("", reply).strip()
    if not reply:
        return NO_ANSWER
    text, found_by = _carrier(reply)
    candidates = _distinct(_results(text))
    stated = found_by in ("marker", "boxed", "conclusion", "step")
    amounts = any(not one.year for one in candidates)
    lacking = bool(_OWN_LIMIT.search(" ".join(plain_text(reply).split()))) and not stated
    declined = declines(reply) and (not amounts or lacking or declines(text))
    with_unit = (one for one in candidates if one.unit != "number" or one.scale)
    chosen = next(with_unit, candidates[0] if candidates else None)
    return FinalAnswer(text, found_by, chosen, candidates, declined)


def declines(text: str) -> bool:
    """Whether a text says that the answer cannot be had."""
    plain = " ".join(plain_text(text).split())
    return any(pattern.search(plain) for pattern in _REFUSALS)


def _carrier(reply: str) -> tuple[str, str]:
    if boxed := list(_BOXED.finditer(reply)):
        return plain_text(boxed[-1]["rest"]).strip(), "boxed"
    plain = plain_text(reply).strip()
    for match in reversed(list(_MARKER.finditer(plain))):
        following = (line.strip() for line in plain[match.end() :].splitlines())
        if rest := match["rest"].strip() or next(filter(None, following), ""):
            return rest, "marker"
    if step := _LAST_STEP.search(plain):
        return step["rest"].strip().split("\n\n")[0], "step"
    parts = sentences(plain)
    for part in reversed(parts):
        if _CONCLUSION.match(part) and _distinct(quantities(part)):
            return part, "conclusion"
    worked_out = bool(_WORKING.search(plain))
    for part in reversed(parts) if worked_out else parts:
        if any(not one.year for one in _distinct(quantities(part))):
            return part, "sentence"
    return parts[-1] if parts else plain, "line"


def _results(text: str) -> list[Quantity]:
    """Amounts of a text; of an equation only what stands behind its last sign, the others went into it."""
    plain, found = plain_text(text), quantities(text)
    equals = max(plain.rfind("="), plain.rfind("≈"))
    return [one for one in found if one.start >= equals] or found


def _distinct(found: list[Quantity]) -> tuple[Quantity, ...]:
    """Amounts that are neither years nor spans of years, each once; when there are none, what there is."""
    amounts = [one for one in found if not one.year and one.unit != "years"] or found
    kept: list[Quantity] = []
    for one in amounts:
        if not any(abs(one.value - other.value) <= max(one.half_unit, other.half_unit) for other in kept):
            kept.append(one)
    return tuple(kept)
