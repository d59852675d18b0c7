"""What the question explorer shows: per question its rankings, answers and losses, gathered from the lake.

Only the questions are needed; rankings, answers, verdicts and the analysis of the retrieval gap are shown as
far as the lake holds them.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.answer_metrics import RIGHT, SHOWN, place_of
from finrag_pipeline.evaluation.judged_answers import answer_from_row, source_texts
from finrag_pipeline.evaluation.judges import REFUSAL
from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.rankers.page_ranker.candidates import company_words
from finrag_pipeline.rankers.page_ranker.features import FIELDS, FilingPages, filing_pages
from finrag_pipeline.rankers.page_ranker.needs import read_needs
from finrag_pipeline.rankers.page_ranker.ranker import STATEMENT_NAMES, page_reasons
from finrag_pipeline.reporting.explorer_pages import Place, marked_boxes, marked_spans, read_pages
from finrag_pipeline.reporting.grid import RECORDED, SPACE_NAMES, in_order, space_label
from finrag_pipeline.resolver.resolver import load_resolver
from finrag_pipeline.retrieval.question_text import snippet
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import ABLATIONS, ALL_SYSTEMS
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import lake_views

EXPLORER_TABLES = (
    "retrieval_runs", "retrieval_scores", "answers", "answer_scores", "verdicts", "retrieval_gap",
    "filing_pages", "page_tables", "statement_facts", "page_profiles",
)  # fmt: skip
"""Tables that are shown beside the questions."""

DEPTH = 10
"""Chunks of a ranking whose pages are shown."""
EXPLAINED = "finrag"
"""The system that tells what speaks for each of its pages."""
SNIPPET = 220
"""Characters of a snippet."""

_DEFAULT_ANSWERS = ("calculator", "extractive")
_FIRST = 3  # pages of `EXPLAINED` that are shown as they look
_MOST_SHOWN = 12
_MOST_REASONS = 3  # of those that speak for a filing
_SECTIONS = {"mdna": "MD&A"}
_PROFILE = ("filing", "page", "sections", "note", "statements", "concepts", "labels")

Ranking = dict[str, Any]
"""A row of `_RANKINGS`: what a system found for a question in a search space.

``pages``: of the first `DEPTH` chunks, best first, each with ``filing``, ``page``, ``ranks`` of its chunks,
``chunk_id`` of the first of them; ``doc_rec`` and ``page_rec`` at `CUTOFF`, None where not
scored; ``gold``: ``rank`` of the first chunk on each gold page that was found at all; ``depth`` in chunks.
"""

_RANKINGS = """
    WITH asked AS (SELECT question_id, filing AS gold_filing, gold_pages FROM benchmark_questions),
    places AS (
        SELECT question_id, space, system, filing, page, min(rank) AS first, max(rank) AS last,
            list(rank ORDER BY rank) FILTER (rank <= $depth) AS ranks,
            arg_min(chunk_id, rank) AS chunk_id,
            any_value(filing = gold_filing AND list_contains(gold_pages, page)) AS is_gold
        FROM retrieval_runs JOIN asked USING (question_id) GROUP BY ALL
    ),
    ranked AS (
        SELECT question_id, space, system, max(last) AS depth,
            list({'filing': filing, 'page': page, 'ranks': ranks, 'chunk_id': chunk_id}
                ORDER BY first) FILTER (first <= $depth) AS pages,
            list({'filing': filing, 'page': page, 'rank': first} ORDER BY first) FILTER (is_gold) AS gold
        FROM places GROUP BY ALL
    ),
    recall AS (
        SELECT question_id, space, system,
            any_value(nullif(value, 'nan')) FILTER (metric = 'doc_rec') AS doc_rec,
            any_value(nullif(value, 'nan')) FILTER (metric = 'page_rec') AS page_rec
        FROM retrieval_scores SEMI JOIN asked USING (question_id)
        WHERE k = $k AND metric IN ('doc_rec', 'page_rec') GROUP BY ALL
    )
    FROM ranked FULL JOIN recall USING (question_id, space, system)
    SELECT question_id, space, system, coalesce(pages, []) AS pages, doc_rec, page_rec,
        coalesce(gold, []) AS gold, coalesce(depth, 0) AS depth
    ORDER BY question_id, system, space
"""


class _PageKinds:
    """What pages are, and what speaks for them: from their profiles, as the page ranker tells it."""

    def __init__(self, lake: Lake, filings: Iterable[Mapping[str, Any]]) -> None:
        self._lake = lake
        self._filings = {row["filing"]: row for row in filings}
        self._resolver = load_resolver(lake, self._filings)
        self._profiles = cache(self._read)
        self._pages = cache(self._describe)

    def kind(self, place: Place) -> str:
        """``Cash flow statement``, ``Note 2. Revenue``, ``MD&A``; empty where nothing is known."""
        if not self._known(place):
            return ""
        profile = self._profiles(place[0])[place[1]]
        primary = {found["statement"] for found in profile["statements"] if found["scope"] == "primary"}
        parts = [_capital(name) for key, name in STATEMENT_NAMES.items() if key in primary]
        if not parts and profile["note"]:
            parts = [" ".join(profile["note"].split())[:80]]
        if not parts:
            names = [name for name in profile["sections"] if name != "other"]
            parts = [_SECTIONS.get(name, _capital(name.replace("_", " "))) for name in names[:2]]
        return ", ".join(parts)

    def reasons(self, question: str, places: Collection[Place]) -> dict[Place, str]:
        """What the page ranker says for each page: its statement, concepts and section, then its filing."""
        known = list(filter(self._known, places))
        if not known:
            return {}
        resolution = self._resolver.resolve(question)
        needs = read_needs(question, company_words(resolution))
        of_filing = {ranked.filing: ranked.reasons[:_MOST_REASONS] for ranked in resolution.filings}
        return {
            (filing, page): "; ".join(
                [*page_reasons(needs, self._pages(filing), page), *of_filing.get(filing, ())]
            )
            for filing, page in known
        }

    def _known(self, place: Place) -> bool:
        return 0 <= place[1] < len(self._profiles(place[0]))

    def _read(self, filing: str) -> list[dict[str, Any]]:
        keys = {"filing": filing}
        if filing not in self._filings or self._lake.info("page_profiles", keys) is None:
            return []
        rows = self._lake.read("page_profiles", keys, list(_PROFILE)).sort_by("page")
        return list(rows.to_pylist())

    def _describe(self, filing: str) -> FilingPages:
        # The reasons do not depend on the words of a page; reading them would take most of the time.
        without = {"words": 0, "numeric_words": 0, "tables": 0, "cells": 0, "headings": [], "years": []}
        terms: dict[str, list[str]] = {name: [] for name in FIELDS}
        profiles = [{**without, **terms, **profile} for profile in self._profiles(filing)]
        return filing_pages(self._filings[filing], profiles)


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


LONGEST = 4000
"""Characters of an answer or a passage that are shown."""

_SCALES = {1.0: "1", 0.01: "%", 1e3: "thousands", 1e6: "millions", 1e9: "billions"}
_VERDICTS = {
    "relevance": ("relevant", "not relevant"),
    "veracity": ("supported", "not supported"),
    "correctness": ("correct", "incorrect"),
}


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


class AnswerSeries(NamedTuple):
    """How answers were made: by what, and on the chunks of which retrieval in which space, if any."""

    system: str
    retrieval: str | None
    space: str | None

    @property
    def key(self) -> str:
        """Identifier in a link."""
        return "/".join(part or "-" for part in self)

    @property
    def recorded(self) -> bool:
        """Whether others made the answers."""
        return self.system.startswith(RECORDED)

    @property
    def title(self) -> str:
        """Name for people, without the space."""
        name = self.system.removeprefix(RECORDED)
        return f"{name} on {self.retrieval}" if self.retrieval else name

    @property
    def given(self) -> str:
        """What the answering system was given, in words."""
        return space_label(self.space) if self.space else "nothing given"


ExplorerAnswer = dict[str, Any]
"""A row of ``answers`` and what is known of it.

``series``; ``outcome`` and ``judged_by``, who says so; ``scores``: name and value of each metric shown;
``verdicts``: rows with ``what`` was judged, and ``word``, the label for people; ``derivation`` and ``inputs``
of a calculation, these with filing and page; ``citing``: sentences with what they cite, where no calculation
says more; ``cited``: places, once each; ``reasons``: why it abstained, failed or fell back.
"""


def read_answers(lake: Lake) -> dict[str, list[ExplorerAnswer]]:
    """Answers by question, with scores and verdicts; those of this pipeline before recorded ones."""
    names = ("question_id", *AnswerSeries._fields, "repeat")
    scores: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
    for row in lake.read_all("answer_scores").to_pylist():
        scores[tuple(row[name] for name in names)][row["metric"]] = row["value"]
    verdicts: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in lake.read_all("verdicts").to_pylist():
        good, bad = _VERDICTS.get(row["criterion"], ("good", "not good"))
        words = {None: "no verdict", REFUSAL: "declined", 0: bad}
        what = "Whole answer" if row["sentence"] is None else f"Sentence {row['sentence'] + 1}"
        told = {"what": what, "word": words.get(row["label"], good)}
        verdicts[row["answer_id"]].append(row | told | {"reasoning": row["reasoning"] or row["problem"]})
    found: dict[str, list[ExplorerAnswer]] = defaultdict(list)
    for row in lake.read_all("answers").to_pylist():
        judged: list[dict[str, Any]] = []
        with suppress(LakeError):  # its citations cannot be read: no judge has seen it
            judged = verdicts.get(answer_from_row(row, {}).answer_id, []) if verdicts else []
        answer = _answer(row, scores.get(tuple(row[name] for name in names), {}), judged)
        found[row["question_id"]].append(answer)
    for answers in found.values():
        answers.sort(key=lambda answer: answer["series"].recorded)
    return found


def outcomes(answers: Iterable[ExplorerAnswer]) -> dict[AnswerSeries, Outcome]:
    """What became of each series on a question: what most of its repeats came to."""
    counted: dict[AnswerSeries, Counter[Outcome]] = defaultdict(Counter)
    for answer in answers:
        counted[answer["series"]][answer["outcome"]] += 1
    return {series: counts.most_common(1)[0][0] for series, counts in counted.items()}


def _answer(
    row: Mapping[str, Any], scores: Mapping[str, float], verdicts: Sequence[Mapping[str, Any]]
) -> ExplorerAnswer:
    derivation = _json(row["derivation"], dict) or {}
    sentences = [one for one in _json(row["citations"], list) or () if isinstance(one, dict)]
    inputs = [
        one
        for one in derivation.get("inputs") or ()
        if isinstance(one, dict) and isinstance(one.get("page"), int) and isinstance(one.get("filing"), str)
    ]
    sources = [place_of(str(source)) for one in sentences for source in one.get("sources") or ()]
    cited = [*((one["filing"], one["page"]) for one in inputs), *filter(None, sources)]
    calculated = derivation and not derivation.get("abstained")
    outcome, judged_by = _outcome(row, scores, verdicts)
    return {
        **row,
        "series": AnswerSeries(*(row[name] for name in AnswerSeries._fields)),
        "outcome": outcome,
        "judged_by": judged_by,
        "scores": [(metric.term, scores[metric.name]) for metric in SHOWN if metric.name in scores],
        "verdicts": verdicts,
        "derivation": derivation if calculated else None,
        "inputs": inputs,
        "citing": sentences if sources and not calculated else [],
        "cited": list(dict.fromkeys(cited)),
        "reasons": [text for text in (row["error"], row["why"], row["fallback"]) if text],
    }


def _outcome(
    row: Mapping[str, Any], scores: Mapping[str, float], verdicts: Iterable[Mapping[str, Any]]
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
    for one in verdicts:
        if one["criterion"] == "correctness" and one["sentence"] is None and one["label"] is not None:
            of_label = {1: Outcome.RIGHT, 0: Outcome.WRONG, REFUSAL: Outcome.DECLINED}
            return of_label.get(one["label"], Outcome.UNKNOWN), f"judge {one['judge']}"
    return Outcome.UNKNOWN, ""


def _json(text: str | None, kind: type) -> Any:
    """What a JSON column holds, or None where it is damaged or of another kind."""
    try:
        value = json.loads(text) if text else None
    except ValueError:
        return None
    return value if isinstance(value, kind) else None


def answer_cards(answers: Iterable[ExplorerAnswer]) -> list[dict[str, Any]]:
    """Answers of this pipeline to one question by series, the whole corpus first.

    Returns:
        ``series``, its ``answers``, their common ``outcome``, whether it is over the ``corpus``, and
        ``repeats``: how many of several answers came out how, in words.
    """
    own = [answer for answer in answers if not answer["series"].recorded]
    cards = []
    for series, outcome in sorted(outcomes(own).items(), key=lambda item: item[0].space != Space.CORPUS):
        of_series = [one for one in own if one["series"] == series]
        counts = Counter(one["outcome"] for one in of_series)
        repeats = ", ".join(f"{counts[kind]} {kind.value}" for kind in Outcome if counts[kind])
        card: dict[str, Any] = {"series": series, "answers": of_series, "outcome": outcome}
        card["repeats"] = repeats if len(of_series) > 1 else ""
        cards.append(card | {"corpus": series.space == Space.CORPUS})
    return cards


def recorded_answers(answers: Iterable[ExplorerAnswer]) -> list[ExplorerAnswer]:
    """Answers that others recorded, in the order right, wrong, declined, not judged."""
    recorded = (answer for answer in answers if answer["series"].recorded)
    return sorted(recorded, key=lambda one: (list(Outcome).index(one["outcome"]), one["series"].title))


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


def series_bars(series: Any) -> list[dict[str, Any]]:
    """Values of a series, with ``percent`` of the longest, whether ``negative``, and ``first`` of a kind."""
    rows = [one for one in series or () if isinstance(one, dict) and number_text(one.get("value"))]
    most = max((abs(one["value"]) for one in rows), default=0.0) or 1.0
    return [
        {name: str(one.get(name) or "") for name in ("of", "label", "answer", "change")}
        | {
            "percent": round(100 * abs(one["value"]) / most, 1),
            "negative": one["value"] < 0,
            "first": not place or one.get("of") != rows[place - 1].get("of"),
        }
        for place, one in enumerate(rows)
    ]


WORDING = {one.__name__: one for one in (cut, cell_text, number_text, scale_text, series_bars)}
"""Functions of ``proof.html.jinja``, which tells an answer's proof."""


@dataclass(frozen=True)
class ExplorerQuestion:
    """A question with everything that is known of it.

    ``shown`` are pages with a picture or their text: ``place``; ``roles``, why it is shown; ``evidence``:
    boxes around the words of the gold passages; ``spans``: the same in the page's text, as start and end;
    ``used``: boxes of the cells that a calculation read.
    """

    row: Mapping[str, Any]  # of ``benchmark_questions``
    source: str | None = None  # pdf or page_text; None where the gold filing is not in the lake
    rankings: Mapping[tuple[str, str], Ranking] = field(default_factory=dict)  # by search space and system
    snippets: Mapping[str, str] = field(default_factory=dict)  # by chunk, of those that the metrics look at
    kinds: Mapping[Place, str] = field(default_factory=dict)  # what each ranked page is
    reasons: Mapping[Place, str] = field(default_factory=dict)  # for the pages of `EXPLAINED`
    answers: Sequence[ExplorerAnswer] = ()
    losses: Sequence[Mapping[str, Any]] = ()  # rows of ``retrieval_gap``
    shown: Sequence[Mapping[str, Any]] = ()

    @property
    def question_id(self) -> str:
        """Identifier in the benchmark."""
        return str(self.row["question_id"])


@dataclass(frozen=True)
class ExplorerData:
    """Questions in the order of the benchmark, and as `read_pages` gives them the pages that any shows."""

    questions: Sequence[ExplorerQuestion] = ()
    pages: Mapping[Place, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def systems(self) -> list[str]:
        """Retrieval systems with a ranking, those of the registry first and variants last."""
        found = {system for question in self.questions for _, system in question.rankings}
        return sorted(in_order(sorted(found), ALL_SYSTEMS), key=lambda name: name in ABLATIONS)

    @property
    def spaces(self) -> list[str]:
        """Search spaces, from the widest to the narrowest."""
        return in_order(sorted({space for one in self.questions for space, _ in one.rankings}), SPACE_NAMES)

    @property
    def series(self) -> list[AnswerSeries]:
        """Ways to answer, those of this pipeline first."""
        found = dict.fromkeys(answer["series"] for question in self.questions for answer in question.answers)
        return sorted(found, key=lambda series: series.recorded)


def collect_explorer(lake: Lake, filings: Collection[str]) -> ExplorerData:
    """Gather what the explorer shows of the benchmark's corpus; the lake needs ``benchmark_questions`` alone.

    Raises:
        LakeError: there are no questions, or a table is damaged.
    """
    rows = lake.read("benchmark_questions").to_pylist()
    filing_rows = lake.read_all("filings", only={"filing": filings}).to_pylist()
    sources = {row["filing"]: row["source"] for row in filing_rows}
    rankings: dict[str, dict[tuple[str, str], Ranking]] = defaultdict(dict)
    with lake_views(lake) as query:
        for ranking in query(_RANKINGS, {"depth": DEPTH, "k": CUTOFF}).to_pylist():
            rankings[ranking["question_id"]][ranking["space"], ranking["system"]] = ranking
    answers = read_answers(lake)
    losses: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for loss in lake.read_all("retrieval_gap").to_pylist():
        losses[loss["question_id"]].append(loss)
    texts = source_texts(lake, {chunk for found in rankings.values() for chunk in _quoted(found)})
    kinds = _PageKinds(lake, filing_rows)
    roles = [_roles(row, rankings[row["question_id"]], answers.get(row["question_id"], ())) for row in rows]
    pages = read_pages(lake, {place for told in roles for place in told}, sources)
    found = []
    for row, told in zip(rows, roles, strict=True):
        own, answered = rankings[row["question_id"]], answers.get(row["question_id"], [])
        ranked = dict.fromkeys(_place(page) for ranking in own.values() for page in ranking["pages"])
        explained = {
            _place(page)
            for (_, system), ranking in own.items()
            if system == EXPLAINED
            for page in ranking["pages"]
        }
        question = ExplorerQuestion(
            row,
            sources.get(row["filing"]),
            own,
            {c: snippet(texts[c], row["question"], SNIPPET) for c in _quoted(own) if c in texts},
            {place: kind for place in ranked if (kind := kinds.kind(place))},
            kinds.reasons(row["question"], explained),
            answered,
            losses[row["question_id"]],
            [_shown(place, names, row, answered, pages[place]) for place, names in told.items()],
        )
        found.append(question)
    return ExplorerData(found, pages)


def _place(row: Mapping[str, Any]) -> Place:
    return row["filing"], row["page"]


def _quoted(rankings: Mapping[tuple[str, str], Ranking]) -> set[str]:
    """Chunks that are shown with a snippet: those that the metrics look at."""
    pages = (page for ranking in rankings.values() for page in ranking["pages"])
    return {page["chunk_id"] for page in pages if page["ranks"][0] <= CUTOFF}


def _roles(
    row: Mapping[str, Any],
    rankings: Mapping[tuple[str, str], Ranking],
    answers: Sequence[ExplorerAnswer],
) -> dict[Place, list[str]]:
    """Gold pages, pages that the default answers cite, and the first of the best ranking; and why."""
    roles: dict[Place, list[str]] = defaultdict(list)
    for page in row["gold_pages"] or ():
        roles[row["filing"], page].append("gold page")
    for name in _DEFAULT_ANSWERS:
        for answer in answers:
            if answer["system"] == name and answer["space"] == Space.CORPUS and not answer["repeat"]:
                for place in answer["cited"]:
                    roles[place].append(f"cited by {name}")
    ranking = rankings.get((Space.CORPUS.value, EXPLAINED))
    for found in ranking["pages"][:_FIRST] if ranking else ():
        roles[_place(found)].append(f"rank {found['ranks'][0]} of {EXPLAINED}")
    return dict(list(roles.items())[:_MOST_SHOWN])


def _shown(
    place: Place,
    roles: Sequence[str],
    row: Mapping[str, Any],
    answers: Sequence[ExplorerAnswer],
    content: Mapping[str, Any],
) -> dict[str, Any]:
    """A page that a question shows, with the question's evidence found on it."""
    texts = [one["text"] for one in row["evidence"] or () if _place(one) == place]
    used = [
        tuple(one["box"])
        for answer in answers
        if not answer["series"].recorded
        for one in answer["inputs"]
        if _place(one) == place and _is_box(one.get("box"))
    ]
    words, text = content.get("words"), content.get("text", "")
    return {
        "place": place,
        "roles": roles,
        "evidence": marked_boxes(words, texts) if words and texts else [],
        "spans": marked_spans(text, texts) if texts and not words else [],
        "used": list(dict.fromkeys(used)),
    }


def _is_box(box: object) -> bool:
    return isinstance(box, list) and len(box) == 4 and all(isinstance(edge, int | float) for edge in box)
