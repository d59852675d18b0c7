"""Answers, their proof and what judges say, as the page of a question shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from finrag_pipeline.judging.verdicts import REFUSAL
from finrag_pipeline.reporting.estimates import space_label
from finrag_pipeline.reporting.explorer_answers import (
    AnswerSeries,
    ExplorerAnswer,
    JudgeVerdict,
    Outcome,
    outcomes,
)
from finrag_pipeline.retrieval.spaces import Space

MARKS = {
    Outcome.RIGHT: "✓",
    Outcome.WRONG: "✗",
    Outcome.DECLINED: "–",
    Outcome.FAILED: "!",
    Outcome.UNKNOWN: "?",
}
"""Sign beside the word, so that nothing hangs on a colour."""

CODES = {
    Outcome.RIGHT: "r",
    Outcome.WRONG: "w",
    Outcome.DECLINED: "d",
    Outcome.FAILED: "f",
    Outcome.UNKNOWN: "u",
}
"""One letter for each outcome, for data and styles."""

LONGEST = 4000
"""Characters of an answer or a passage that are shown."""

_SCALES = {1.0: "1", 0.01: "%", 1e3: "thousands", 1e6: "millions", 1e9: "billions"}
_VERDICTS = {
    "relevance": ("relevant", "not relevant"),
    "veracity": ("supported", "not supported"),
    "correctness": ("correct", "incorrect"),
}


def cut(text: str, most: int = LONGEST) -> str:
    """A text of bounded length, with a word on what was left out."""
    return text if len(text) <= most else f"{text[:most].rstrip()} … ({len(text) - most:,} more characters)"


def outcome_view(outcome: Outcome) -> dict[str, str]:
    """Sign, word and letter of an outcome."""
    return {"mark": MARKS[outcome], "word": outcome.value, "code": CODES[outcome]}


def given_to(series: AnswerSeries) -> str:
    """What an answering system was given, in words."""
    return space_label(series.space) if series.space else "nothing given"


def answer_cards(answers: Sequence[ExplorerAnswer]) -> list[dict[str, Any]]:
    """Answers of this pipeline: one card per series, the whole corpus first.

    Args:
        answers: of one question.
    """
    found: dict[AnswerSeries, list[ExplorerAnswer]] = {}
    for answer in answers:
        if not answer.series.recorded:
            found.setdefault(answer.series, []).append(answer)
    ordered = sorted(found, key=lambda series: series.space != Space.CORPUS)
    told = outcomes([one for group in found.values() for one in group])
    return [_card(series, found[series], told[series]) for series in ordered]


def recorded_rows(answers: Sequence[ExplorerAnswer]) -> list[dict[str, Any]]:
    """Answers that others recorded, in the order right, wrong, declined, not judged."""
    rows = [
        {
            "title": answer.series.title,
            "given": given_to(answer.series),
            "text": cut(answer.text),
            "outcome": outcome_view(answer.outcome),
            "judged_by": answer.judged_by,
            "scores": scores_view(answer.scores),
            "verdicts": verdict_rows(answer.verdicts),
            "order": list(Outcome).index(answer.outcome),
        }
        for answer in answers
        if answer.series.recorded
    ]
    return sorted(rows, key=lambda row: (row["order"], row["title"]))


def scores_view(scores: Sequence[tuple[str, float]]) -> list[tuple[str, str]]:
    """Name and value of each metric."""
    return [(name, f"{value:.2f}") for name, value in scores]


def verdict_rows(verdicts: Sequence[JudgeVerdict]) -> list[dict[str, str]]:
    """Verdicts for people: who, on what, what, why."""
    return [
        {
            "judge": verdict.judge,
            "criterion": verdict.criterion,
            "what": "Whole answer" if verdict.sentence is None else f"Sentence {verdict.sentence + 1}",
            "label": _verdict_word(verdict),
            "reasoning": cut(verdict.reasoning or "", 1200),
        }
        for verdict in verdicts
    ]


def _verdict_word(verdict: JudgeVerdict) -> str:
    if verdict.label is None:
        return "no verdict"
    if verdict.label == REFUSAL:
        return "declined"
    words = _VERDICTS.get(verdict.criterion, ("good", "not good"))
    return words[0] if verdict.label else words[1]


def _card(series: AnswerSeries, answers: Sequence[ExplorerAnswer], outcome: Outcome) -> dict[str, Any]:
    first = answers[0]
    counts = [
        f"{sum(one.outcome == kind for one in answers)} {kind.value}"
        for kind in Outcome
        if any(one.outcome == kind for one in answers)
    ]
    return {
        "title": series.title,
        "system": series.system,
        "given": given_to(series),
        "corpus": series.space == Space.CORPUS,
        "outcome": outcome_view(outcome),
        "judged_by": first.judged_by,
        "text": cut(first.text),
        "model": first.model,
        "scores": scores_view(first.scores),
        "why": [cut(text, 1000) for text in first.why],
        "warnings": [cut(text, 1000) for text in first.warnings],
        "sentences": _sentences(first),
        "derivation": _derivation(first),
        "verdicts": verdict_rows(first.verdicts),
        "repeats": ", ".join(counts) if len(answers) > 1 else "",
        "others": [(one.repeat + 1, outcome_view(one.outcome), cut(one.text, 1000)) for one in answers[1:]],
    }


def _sentences(answer: ExplorerAnswer) -> list[dict[str, Any]]:
    """Sentences with what they cite, where there is more to say than the answer itself says."""
    rows = [
        {
            "text": cut(str(one.get("text") or ""), 1000),
            "sources": [source_text(str(source)) for source in one.get("sources") or ()],
            "supported": bool(one.get("supported")),
        }
        for one in answer.sentences
    ]
    cites = any(row["sources"] for row in rows)
    return rows if cites and answer.derivation is None else []


def source_text(source: str) -> str:
    """A cited page or chunk for people, who count pages from 1."""
    from finrag_pipeline.reporting.explorer_answers import place_of

    place = place_of(source)
    return f"{place[0]}, page {place[1] + 1}" if place else source


def _derivation(answer: ExplorerAnswer) -> dict[str, Any] | None:
    found = answer.derivation
    if not found:
        return None
    others = [one for one in found.get("alternatives") or () if isinstance(one, dict)]
    return {
        "answer": cut(str(found.get("answer") or "")),
        "formula": str(found.get("formula") or ""),
        "steps": [cut(str(step), 1000) for step in found.get("steps") or ()],
        "inputs": [_input(one) for one in answer.inputs],
        "alternatives": [
            {name: cut(str(one.get(name) or ""), 600) for name in ("what", "answer", "why")} for one in others
        ],
    }


def _input(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "line": str(one.get("line") or ""),
        "period": str(one.get("period") or ""),
        "printed": str(one.get("printed") or ""),
        "scale": scale_text(one.get("scale")),
        "value": number_text(one.get("value")),
        "label": str(one.get("label") or ""),
        "place": (one["filing"], one["page"]),
        "cell": _cell(one.get("fact_id")),
    }


def _cell(fact_id: Any) -> str:
    """``table 1, row 19, column 2``, counted from 1, out of ``filing:page:table:row:column``."""
    parts = str(fact_id or "").rsplit(":", 4)
    if len(parts) != 5 or not all(part.isdecimal() for part in parts[1:]):
        return ""
    table, row, column = (int(part) + 1 for part in parts[2:])
    return f"table {table}, row {row}, column {column}"


def scale_text(scale: Any) -> str:
    """``millions``; ``× 250`` for a scale without a name."""
    if not isinstance(scale, int | float):
        return ""
    return _SCALES.get(float(scale), f"× {scale:,g}")


def number_text(value: Any) -> str:
    """A number in full, with thousands set off."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return f"{value:,.6f}".rstrip("0").rstrip(".").replace("-", "−")
