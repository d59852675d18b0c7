"""Answers as the question explorer shows them: whether they are right and who says so, with their proof."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.answer_metrics import RIGHT, SHOWN
from finrag_pipeline.evaluation.printed_citations import place_of
from finrag_pipeline.judging.items import answer_from_row
from finrag_pipeline.judging.verdicts import REFUSAL
from finrag_pipeline.reporting.estimates import space_label
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.storage.lake import Lake

LONGEST = 4000
"""Characters of an answer or a passage that are shown."""

_SCALES = {1.0: "1", 0.01: "%", 1e3: "thousands", 1e6: "millions", 1e9: "billions"}
_VERDICTS = {
    "relevance": ("relevant", "not relevant"),
    "veracity": ("supported", "not supported"),
    "correctness": ("correct", "incorrect"),
}
_RECORDED = "recorded "
_KEY = ("system", "retrieval", "space")


class Outcome(StrEnum):
    """What became of an answer."""

    RIGHT = "right"
    WRONG = "wrong"
    DECLINED = "declined"
    FAILED = "failed"
    UNKNOWN = "not judged"

    @property
    def mark(self) -> str:
        """Sign beside the word, so that nothing hangs on a colour."""
        return "✓✗–!?"[list(Outcome).index(self)]

    @property
    def code(self) -> str:
        """One letter, for data and styles."""
        return "rwdfu"[list(Outcome).index(self)]


@dataclass(frozen=True, slots=True)
class AnswerSeries:
    """Answers that were made in one way.

    Attributes:
        system: what answered.
        retrieval: system whose chunks it was given; None for none.
        space: search space of that retrieval; None where nothing was given.
    """

    system: str
    retrieval: str | None
    space: str | None

    @property
    def key(self) -> str:
        """Identifier in a link."""
        return "/".join(part or "-" for part in (self.system, self.retrieval, self.space))

    @property
    def recorded(self) -> bool:
        """Whether others made the answers."""
        return self.system.startswith(_RECORDED)

    @property
    def title(self) -> str:
        """Name for people, without the space."""
        name = self.system.removeprefix(_RECORDED)
        return f"{name} on {self.retrieval}" if self.retrieval else name

    @property
    def given(self) -> str:
        """What the answering system was given, in words."""
        return space_label(self.space) if self.space else "nothing given"


@dataclass(frozen=True, slots=True)
class JudgeVerdict:
    """What a judge says of an answer, or of one of its sentences.

    Attributes:
        judge: who.
        criterion: relevance, veracity or correctness.
        sentence: from 0; None for the whole answer.
        label: 1 good, 0 not, `REFUSAL` for a declined answer; None where there is no verdict.
        reasoning: why, or what kept the judge from a verdict.
    """

    judge: str
    criterion: str
    sentence: int | None
    label: int | None
    reasoning: str | None

    @property
    def what(self) -> str:
        """What was judged, for people."""
        return "Whole answer" if self.sentence is None else f"Sentence {self.sentence + 1}"

    @property
    def word(self) -> str:
        """The label for people."""
        if self.label is None:
            return "no verdict"
        if self.label == REFUSAL:
            return "declined"
        good, bad = _VERDICTS.get(self.criterion, ("good", "not good"))
        return good if self.label else bad


@dataclass(frozen=True)
class ExplorerAnswer:
    """One answer.

    Attributes:
        series: how it was made.
        repeat: which of several answers to the same request, from 0.
        text: as written.
        outcome: whether it is right.
        judged_by: who or what says so; empty where nobody does.
        scores: name and value of each metric that is shown.
        verdicts: of judges.
        derivation: as `Derivation.as_json` stored it; None where nothing was calculated.
        sentences: ``{text, sources, supported}`` of each sentence with its citations.
        cited: filing and zero-based page of everything it cites, once each.
        why: why it abstained, failed or fell back.
        warnings: what is odd about it.
        model: language model that wrote it.
        inputs: of the derivation, with filing and page.
    """

    series: AnswerSeries
    repeat: int
    text: str
    outcome: Outcome
    judged_by: str = ""
    scores: tuple[tuple[str, float], ...] = ()
    verdicts: tuple[JudgeVerdict, ...] = ()
    derivation: Mapping[str, Any] | None = None
    sentences: tuple[Mapping[str, Any], ...] = ()
    cited: tuple[tuple[str, int], ...] = ()
    why: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    model: str | None = None
    inputs: tuple[Mapping[str, Any], ...] = field(default=())

    @property
    def citing(self) -> tuple[Mapping[str, Any], ...]:
        """Its sentences, where they cite something and no calculation says more."""
        cites = self.derivation is None and any(one.get("sources") for one in self.sentences)
        return self.sentences if cites else ()


def read_answers(lake: Lake, question_ids: Sequence[str]) -> dict[str, list[ExplorerAnswer]]:
    """Answers of the lake to these questions, with scores and verdicts as far as there are any.

    Args:
        lake: may hold ``answers``, ``answer_scores`` and ``verdicts``.
        question_ids: identifiers.

    Returns:
        By question; those of this pipeline before recorded ones, each in the order of the table.
    """
    wanted = pa.array(sorted(set(question_ids)), pa.string())
    scores: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
    for row in _rows(lake, "answer_scores", wanted):
        scores[_key(row)][row["metric"]] = row["value"]
    verdicts: dict[str, list[JudgeVerdict]] = defaultdict(list)
    for row in _rows(lake, "verdicts", wanted):
        said = {name: row[name] for name in ("judge", "criterion", "sentence", "label")}
        verdict = JudgeVerdict(**said, reasoning=row["reasoning"] or row["problem"])
        verdicts[row["answer_id"]].append(verdict)
    found: dict[str, list[ExplorerAnswer]] = defaultdict(list)
    for row in _rows(lake, "answers", wanted):
        judged = verdicts.get(_answer_id(row) or "", []) if verdicts else []
        answer = _answer(row, scores.get(_key(row), {}), judged)
        found[row["question_id"]].append(answer)
    for answers in found.values():
        answers.sort(key=lambda answer: answer.series.recorded)
    return found


def outcomes(answers: Sequence[ExplorerAnswer]) -> dict[AnswerSeries, Outcome]:
    """What became of each series on a question: what most of its repeats came to."""
    counted: dict[AnswerSeries, Counter[Outcome]] = defaultdict(Counter)
    for answer in answers:
        counted[answer.series][answer.outcome] += 1
    return {series: counts.most_common(1)[0][0] for series, counts in counted.items()}


def _rows(lake: Lake, table: str, wanted: pa.Array) -> list[dict[str, Any]]:
    rows = lake.read_all(table)
    return list(rows.filter(pc.is_in(rows["question_id"], wanted)).to_pylist())


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return (row["question_id"], *(row[name] for name in _KEY), row["repeat"])


def _answer_id(row: Mapping[str, Any]) -> str | None:
    try:
        return answer_from_row(row, {}).answer_id
    except LakeError:  # its citations cannot be read: no judge has seen it
        return None


def _answer(
    row: Mapping[str, Any], scores: Mapping[str, float], verdicts: Sequence[JudgeVerdict]
) -> ExplorerAnswer:
    derivation = _json(row["derivation"], dict)
    sentences = tuple(one for one in _json(row["citations"], list) or [] if isinstance(one, dict))
    inputs = tuple(
        one
        for one in (derivation or {}).get("inputs") or []
        if isinstance(one, dict) and isinstance(one.get("page"), int) and isinstance(one.get("filing"), str)
    )
    cited = [(one["filing"], one["page"]) for one in inputs]
    cited += [
        place for one in sentences for source in one.get("sources") or [] if (place := place_of(str(source)))
    ]
    outcome, judged_by = _outcome(row, scores, verdicts)
    why = (row["error"], row["why"], row["fallback"])
    return ExplorerAnswer(
        AnswerSeries(*(row[name] for name in _KEY)),
        row["repeat"],
        row["answer"],
        outcome,
        judged_by,
        tuple((metric.term, scores[metric.name]) for metric in SHOWN if metric.name in scores),
        tuple(verdicts),
        derivation if derivation and not derivation.get("abstained") else None,
        sentences,
        tuple(dict.fromkeys(cited)),
        tuple(text for text in why if text),
        tuple(row["warnings"] or ()),
        row["model"],
        inputs,
    )


def _outcome(
    row: Mapping[str, Any], scores: Mapping[str, float], verdicts: Sequence[JudgeVerdict]
) -> tuple[Outcome, str]:
    """People decide, then the exact comparison with a gold number, then a judge of correctness."""
    if row["error"] and not row["answer"]:
        return Outcome.FAILED, ""
    if row["human_label"]:
        told = {"correct": Outcome.RIGHT, "incorrect": Outcome.WRONG, "refusal": Outcome.DECLINED}
        return told.get(row["human_label"], Outcome.UNKNOWN), "people"
    if row["abstained"]:
        return Outcome.DECLINED, ""
    if RIGHT in scores:
        return (Outcome.RIGHT if scores[RIGHT] >= 1 else Outcome.WRONG), "comparison of the numbers"
    for verdict in verdicts:
        if verdict.criterion == "correctness" and verdict.sentence is None and verdict.label is not None:
            of_label = {1: Outcome.RIGHT, 0: Outcome.WRONG, REFUSAL: Outcome.DECLINED}
            return of_label.get(verdict.label, Outcome.UNKNOWN), f"judge {verdict.judge}"
    return Outcome.UNKNOWN, ""


def _json(text: str | None, kind: type) -> Any:
    """What a JSON column holds, or None where it is damaged or of another kind."""
    try:
        value = json.loads(text) if text else None
    except ValueError:
        return None
    return value if isinstance(value, kind) else None


def answer_cards(answers: Sequence[ExplorerAnswer]) -> list[dict[str, Any]]:
    """Answers of this pipeline to one question by series, the whole corpus first.

    Returns:
        ``series``, its ``answers``, their common ``outcome``, whether it is over the ``corpus``, and
        ``repeats``: how many of several answers came out how, in words.
    """
    found: dict[AnswerSeries, list[ExplorerAnswer]] = defaultdict(list)
    for answer in answers:
        if not answer.series.recorded:
            found[answer.series].append(answer)
    told = outcomes([one for group in found.values() for one in group])
    cards = []
    for series in sorted(found, key=lambda series: series.space != Space.CORPUS):
        counts = Counter(one.outcome for one in found[series])
        repeats = [f"{counts[kind]} {kind.value}" for kind in Outcome if counts[kind]]
        card = {"series": series, "answers": found[series], "outcome": told[series]}
        card["repeats"] = ", ".join(repeats) if len(found[series]) > 1 else ""
        cards.append(card | {"corpus": series.space == Space.CORPUS})
    return cards


def recorded_answers(answers: Sequence[ExplorerAnswer]) -> list[ExplorerAnswer]:
    """Answers that others recorded, in the order right, wrong, declined, not judged."""
    recorded = (answer for answer in answers if answer.series.recorded)
    return sorted(recorded, key=lambda one: (list(Outcome).index(one.outcome), one.series.title))


def cut(text: object, most: int = LONGEST) -> str:
    """A text of bounded length, with a word on what was left out."""
    text = str(text)
    return text if len(text) <= most else f"{text[:most].rstrip()} … ({len(text) - most:,} more characters)"


def source_text(source: object) -> str:
    """A cited page or chunk for people, who count pages from 1."""
    place = place_of(str(source))
    return f"{place[0]}, page {place[1] + 1}" if place else str(source)


def cell_text(fact_id: Any) -> str:
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
