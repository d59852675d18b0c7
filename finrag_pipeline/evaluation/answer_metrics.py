"""Metrics of answers: each declared once, with what it means and how it is scored; one row per question.

The scores, the means, the columns of every table and the definitions on the method page come from
:data:`ANSWER_METRICS`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.answering.final_answer import final_answer
from finrag_pipeline.answering.passages import read_page_source
from finrag_pipeline.answering.quantities import quantities
from finrag_pipeline.evaluation.metrics import ORACLE, RIGOROUS, Metric
from finrag_pipeline.evaluation.numeric_match import NUMERIC_MATCHES, strict_match
from finrag_pipeline.evaluation.retrieval_metrics import TextOverlap
from finrag_pipeline.schemas import ANSWER_SCORES, conform
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import query_tables

_CHUNK_SOURCE = re.compile(r"(?P<filing>.+)/p(?P<page>\d+)/[^/]+")
_ROOM = 1.0  # points between a word and the edge of its cell
_FILINGS_KEPT = 8  # answers to one question cite the same filings


def place_of(source: str) -> tuple[str, int] | None:
    """Filing and zero-based page of a cited page or chunk; None for an identifier that names neither."""
    if page := read_page_source(source):
        return page
    found = _CHUNK_SOURCE.fullmatch(source)
    return (found["filing"], int(found["page"])) if found else None


class PrintedPages:
    """Text and words of the pages of filings; of a filing that the lake does not hold nothing is printed."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._filing = lru_cache(maxsize=_FILINGS_KEPT)(self._read)
        self._page = lru_cache(maxsize=64)(self._find)

    def _read(self, filing: str) -> pa.Table | None:
        keys = {"filing": filing}
        known = self._lake.info("filing_pages", keys) is not None
        return self._lake.read("filing_pages", keys, ["page", "text", "words"]) if known else None

    def _find(self, filing: str, page: int) -> Mapping[str, Any]:
        table = self._filing(filing)
        rows = table.filter(pc.equal(table["page"], page)).to_pylist() if table is not None else []
        return rows[0] if rows else {"text": "", "words": []}

    def says(self, filing: str, page: int, sentence: str) -> bool:
        """Whether a sentence stands on a page, line breaks, hyphens and signs aside."""
        wanted = _folded(sentence)
        return bool(wanted) and wanted in _folded(self._page(filing, page)["text"])

    def shows(self, filing: str, page: int, box: list[float] | None, printed: str) -> bool | None:
        """Whether a cited number is all that a box (left, top, right, bottom in points) of a page holds.

        None for a page that came without boxes.
        """
        words = self._page(filing, page)["words"]
        if box is None or not words:
            return None
        left, upper, right, lower = box
        inside = (
            word["text"]
            for word in words
            if left - _ROOM <= (word["x0"] + word["x1"]) / 2 <= right + _ROOM
            and upper - _ROOM <= (word["y0"] + word["y1"]) / 2 <= lower + _ROOM
        )
        return _digits("".join(inside)) == _digits(printed) != ""


def printed_citations(row: Mapping[str, Any], pages: PrintedPages) -> Iterator[bool]:
    """For each cell and each quoted sentence that an answer cites, whether it is printed there.

    A number must be all that the words inside its cell's box say, a sentence must stand on one of its pages.
    What cannot be looked up (a page without boxes, words that are no quote) is left out.
    """
    if row["abstained"]:  # which has nothing to cite
        return
    derivation = json.loads(row["derivation"]) if row["derivation"] else {}
    for one in derivation.get("inputs", ()):
        found = pages.shows(one["filing"], one["page"], one["box"], one["printed"])
        if found is not None:
            yield found
    for sentence in json.loads(row["citations"]) if row["citations"] else ():
        places = [place for source in sentence["sources"] if (place := place_of(source))]
        if places and f"“{sentence['text']}”" in row["answer"]:
            yield any(pages.says(*place, sentence["text"]) for place in places)


def _folded(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _digits(text: str) -> str:
    """Digits with their point, without what marks currency, sign and thousands."""
    return re.sub(r"[^\d.]", "", text).strip(".")


BINS = (1, *range(10, 100, 10))
"""Lower ends of intervals of stated confidence, in per cent: cut-offs of ``confidence``. 1 stands for 0."""

RIGHT = "strict_match_wide"
"""The metric that says whether an answer is right. Of 800 recorded answers people say the same of 96.9 %, and
of 88.4 % by ``strict_match``: FinanceBench rounds gold numbers and then pads them with zeros."""

_YES_NO = re.compile(r"\W*(yes|no)\b")
_OURS = ("calculator", "extractive")
"""Systems that cite what they were given and nothing else, by construction."""


@dataclass(frozen=True)
class Answered:
    """A row of ``schemas.ANSWERS`` with all that a metric may look at; pages are None if not looked up."""

    row: Mapping[str, Any]
    question: str
    gold: str
    overlap: TextOverlap
    pages: PrintedPages | None = None

    def strict(self, wide: bool = False) -> float | None:
        """The strict match of its last word, else of what can be read out of it; an abstention is none."""
        final = final_answer(self.row["final_answer"] or self.row["answer"])
        match = strict_match(self.gold, final, self.question, wide)
        return None if match is None else float(match and not self.row["abstained"])

    @property
    def confidence(self) -> float | None:
        """The confidence it states where it rests on rows of any table."""
        found = json.loads(self.row["derivation"]) if self.row["derivation"] else {}
        stated = found.get("confidence") if found.get("from_rows") and not self.row["abstained"] else None
        return None if stated is None else float(stated)

    @property
    def citing(self) -> list[tuple[set[str], int]]:
        """Sources of each sentence and how many of them were retrieved, where that need not be all."""
        if self.row["abstained"] or self.row["system"] in _OURS or not self.row["citations"]:
            return []
        known, found = set(self.row["retrieved"]), []
        for sentence in json.loads(self.row["citations"]):
            sources = {*sentence.get("sources", ()), *sentence.get("unknown", ())}
            found.append((sources, len(sources & known)))
        return found


def _form(name: str) -> Callable[[Answered], float]:
    return lambda one: float(NUMERIC_MATCHES[name](one.gold, one.row["answer"]))


def _share(values: Iterator[bool]) -> float | None:
    found = list(values)
    return sum(found) / len(found) if found else None


def _right(one: Answered) -> float | None:
    if one.confidence is None:
        return None
    gold, said = (_YES_NO.match(text.casefold()) for text in (one.gold, one.row["answer"]))
    if gold and said:
        return float(gold[1] == said[1])
    golds = [number.text for number in quantities(one.gold) if not number.year]
    final = final_answer(one.row["answer"])
    return (
        None
        if not golds
        else float(any(strict_match(number, final, one.question, wide=True) for number in golds))
    )


def _brier(one: Answered) -> float | None:
    stated, right = one.confidence, _right(one)
    return None if stated is None or right is None else (stated - right) ** 2


ANSWER_METRICS = (
    Metric(
        "numeric_match", "Numeric match",
        "1 if any number of the gold answer lies within 0.03 plus 3 % of any number of the answer. Unit and "
        "scale are not looked at, a text with many numbers meets it by chance, and a gold answer without a "
        "number scores 0.",
        _form("numeric_match"), ORACLE, True,
    ),
    Metric(
        "strict_match", "Strict match",
        "Only where the gold answer is one number: the final answer alone has its unit and sign and lies "
        "within half a unit of its last printed digit. An abstention scores 0.",
        Answered.strict, "", True,
    ),
    Metric(
        "strict_match_wide", "Strict match, wide",
        "The same within 0.1 % too, with zeros at the end of an amount of money taken for its format.",
        lambda one: one.strict(wide=True), "", True,
    ),
    Metric(
        "rouge_l", "ROUGE-L", "F-measure with the Porter stemmer against the gold answer.",
        lambda one: one.overlap.rouge_l(one.gold, one.row["answer"]), f"{ORACLE}, generation", True,
    ),
    Metric(
        "abstained", "Abstained", "1 if the answer says that it cannot be had. On these questions a miss.",
        lambda one: float(one.row["abstained"]), "", True, lower_is_better=True,
    ),
    Metric(
        "citations_printed", "Citations printed",
        "Share of what is cited that the page prints: a number is all that the words inside its cell's box "
        "say, a quoted sentence stands on its page. Only of PDFs, and where a cell or a quote is cited.",
        lambda one: _share(printed_citations(one.row, one.pages)) if one.pages else None, "", True,
    ),
    Metric(
        "citation_validity", "Citations retrieved",
        "Share of the sources cited by a language model that were retrieved; others cite nothing else.",
        lambda one: (
            sum(known for _, known in one.citing) / cited
            if (cited := sum(len(sources) for sources, _ in one.citing))
            else None
        ),
        RIGOROUS, True,
    ),
    Metric(
        "cited_sentences", "Sentences with a citation",
        "Share of a language model's sentences that cite a retrieved source.",
        lambda one: _share(known > 0 for _, known in one.citing),
    ),
    Metric(
        "confidence", "Confidence",
        "What answers from rows of any table state; at a cut-off k, of those that state k to k + 10 %.",
        lambda one: one.confidence,
    ),
    Metric(
        "confident_right", "Right where confident",
        "Of answers that state a confidence: 1 if it says yes or no as the gold answer, or is any of its "
        "numbers by the wide strict match; at a cut-off k, of those that state k to k + 10 %.",
        _right,
    ),
    Metric(
        "brier", "Brier score", "Squared difference of the stated confidence and whether it is right.",
        _brier, "Brier, 1950", lower_is_better=True,
    ),
    *(
        Metric(name, name.replace("_", " ").capitalize(), str(match.__doc__), _form(name))
        for name, match in NUMERIC_MATCHES.items()
        if name != "numeric_match"
    ),
)  # fmt: skip
"""Every metric of answers, scored on an `Answered` (None: does not apply); those that are shown first."""

SHOWN = tuple(one for one in ANSWER_METRICS if one.shown)


def score_answers(answers: pa.Table, questions: pa.Table, lake: Lake | None = None) -> pa.Table:
    """Value of every metric that applies to answers to the questions of a benchmark.

    Args:
        answers: rows as ``schemas.ANSWERS``; those to other questions are left out.
        questions: rows as ``schemas.BENCHMARK_QUESTIONS``.
        lake: holds the pages that are cited; what they print is not measured when None.

    Returns:
        Table as ``schemas.ANSWER_SCORES``, in the order of ``answers``.
    """
    gold = {row["question_id"]: row for row in questions.to_pylist()}
    overlap, pages = TextOverlap(), PrintedPages(lake) if lake is not None else None
    rows = []
    for row in answers.to_pylist():
        asked = gold.get(row["question_id"])
        if asked is None:
            continue
        key = {name: row[name] for name in ("question_id", "system", "retrieval", "space", "repeat")}
        one = Answered(row, asked["question"], asked["answer"], overlap, pages)
        scored = ((metric.name, metric.score(one)) for metric in ANSWER_METRICS)
        rows += [{**key, "metric": name, "value": value} for name, value in scored if value is not None]
    return conform(pa.Table.from_pylist(rows, ANSWER_SCORES), "answer_scores")


_SERIES = """
    WITH named AS (
        SELECT * REPLACE (
            system || coalesce(' on ' || nullif(retrieval, ''), '') AS system,
            coalesce(space, 'corpus') AS space
        ), row_number() OVER () AS row FROM scores
    ),
    means AS (
        SELECT system, space, question_id, metric, 0 AS k, avg(value) AS value, min(row) AS row
        FROM named GROUP BY ALL
    ),
    stated AS (
        SELECT system, space, question_id, list_max([low FOR low IN $bins IF 100 * value >= low]) AS low
        FROM means SEMI JOIN (FROM means WHERE metric = 'brier') USING (system, space, question_id)
        WHERE metric = 'confidence'
    )
    SELECT system, space, question_id, metric, k, value FROM (
        FROM means UNION ALL BY NAME
        SELECT * REPLACE (coalesce(low, $bins[1]) AS k)
        FROM means JOIN stated USING (system, space, question_id)
        WHERE metric IN ('confidence', 'confident_right')
    )
    ORDER BY min(row) OVER (PARTITION BY system, space, question_id), k > 0, row
"""


def as_series(scores: pa.Table) -> pa.Table:
    """Scores in the columns that :func:`finrag_pipeline.evaluation.summary.summarise` takes.

    A series is a system on a retrieval (``prompt on dense``) in a space; the repeats of a question are
    averaged, so that a question counts once. The cut-off is 0; ``confidence`` and ``confident_right`` stand
    also at the lower end of the interval of the confidence (:data:`BINS`).
    """
    return conform(query_tables(_SERIES, {"bins": list(BINS)}, scores=scores), "retrieval_scores")
