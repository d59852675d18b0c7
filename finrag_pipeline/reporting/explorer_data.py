"""What the question explorer shows: per question its rankings, answers and losses, gathered from the lake.

Only the questions are needed; rankings, answers, verdicts and the analysis of the retrieval gap are shown as
far as the lake holds them.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.answer_metrics import RIGHT, SHOWN, place_of
from finrag_pipeline.evaluation.judged_answers import answer_from_row, source_texts
from finrag_pipeline.evaluation.judges import REFUSAL
from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.rankers.page_ranker.candidates import company_words
from finrag_pipeline.rankers.page_ranker.features import FIELDS, FilingPages, filing_pages
from finrag_pipeline.rankers.page_ranker.needs import read_needs
from finrag_pipeline.rankers.page_ranker.ranker import STATEMENT_NAMES, page_reasons
from finrag_pipeline.reporting.explorer_pages import (
    PageContent,
    Place,
    ShownPage,
    marked_boxes,
    marked_spans,
    read_pages,
)
from finrag_pipeline.reporting.grid import SPACE_NAMES, space_label
from finrag_pipeline.resolver.resolver import load_resolver
from finrag_pipeline.retrieval.question_text import snippet
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import ABLATIONS, ALL_SYSTEMS
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import Query, lake_views

DEPTH = 10
"""Chunks of a ranking whose pages are shown."""

_SECTIONS = {"mdna": "MD&A"}
_MOST_REASONS = 3  # of those that speak for a filing
_PROFILE = ("filing", "page", "sections", "note", "statements", "concepts", "labels")


@dataclass(frozen=True, slots=True)
class RankedPage:
    """A page of a ranking.

    Attributes:
        place: filing and page.
        ranks: ranks of its chunks among the first `DEPTH`, ascending.
        score: of its first chunk.
        chunk_id: its first chunk.
    """

    place: Place
    ranks: tuple[int, ...]
    score: float
    chunk_id: str


@dataclass(frozen=True)
class Ranking:
    """What a system found for a question in a search space.

    Attributes:
        pages: pages of its first `DEPTH` chunks, best first.
        doc_rec: DocRec@5; None where it was not scored.
        page_rec: PageRec@5, likewise.
        gold: rank of the first chunk on each gold page that was found at all.
        depth: chunks in the whole ranking.
    """

    pages: tuple[RankedPage, ...] = ()
    doc_rec: float | None = None
    page_rec: float | None = None
    gold: Mapping[Place, int] = field(default_factory=dict)
    depth: int = 0


Rankings = dict[str, dict[tuple[str, str], Ranking]]
"""By question, then by search space and system."""


_RANKINGS = """
    WITH runs AS (FROM retrieval_runs SEMI JOIN benchmark_questions USING (question_id)),
    gold AS (SELECT question_id, filing, unnest(gold_pages) AS page FROM benchmark_questions),
    pages AS (
        SELECT question_id, space, system, filing, page, list(rank ORDER BY rank) AS ranks,
            arg_min(score, rank) AS score, arg_min(chunk_id, rank) AS chunk_id, min(rank) AS first
        FROM runs WHERE rank <= $depth GROUP BY ALL
    ),
    heads AS (
        SELECT question_id, space, system,
            list((filing, page, ranks, score, chunk_id) ORDER BY first) AS pages
        FROM pages GROUP BY ALL
    ),
    found AS (
        SELECT question_id, space, system, list((filing, page, rank) ORDER BY rank) AS gold
        FROM (SELECT * REPLACE (min(rank) AS rank) FROM (
            SELECT question_id, space, system, filing, page, rank FROM runs
            SEMI JOIN gold USING (question_id, filing, page)) GROUP BY ALL)
        GROUP BY ALL
    ),
    depths AS (SELECT question_id, space, system, max(rank) AS depth FROM runs GROUP BY ALL),
    recall AS (
        SELECT question_id, space, system, any_value(value) FILTER (metric = 'doc_rec') AS doc_rec,
            any_value(value) FILTER (metric = 'page_rec') AS page_rec
        FROM retrieval_scores SEMI JOIN benchmark_questions USING (question_id)
        WHERE k = $k AND metric IN ('doc_rec', 'page_rec') GROUP BY ALL
    )
    FROM depths LEFT JOIN heads USING (question_id, space, system)
    LEFT JOIN found USING (question_id, space, system) FULL JOIN recall USING (question_id, space, system)
    SELECT question_id, space, system, pages, doc_rec, page_rec, gold, depth
    ORDER BY question_id, system, space
"""


def _read_rankings(query: Query) -> Rankings:
    """Rankings of the benchmark's questions with their scores, as far as the lake holds them."""
    rankings: Rankings = defaultdict(dict)
    for row in query(_RANKINGS, {"depth": DEPTH, "k": CUTOFF}).to_pylist():
        pages = [tuple(one.values()) for one in row["pages"] or ()]
        rankings[row["question_id"]][row["space"], row["system"]] = Ranking(
            tuple(
                RankedPage((filing, page), tuple(ranks), score, chunk)
                for filing, page, ranks, score, chunk in pages
            ),
            row["doc_rec"],
            row["page_rec"],
            {(filing, page): rank for filing, page, rank in (one.values() for one in row["gold"] or ())},
            row["depth"] or 0,
        )
    return rankings


class PageKinds:
    """What pages are, and what speaks for them: from their profiles, as the page ranker tells it.

    Args:
        lake: holds ``page_profiles``; pages without a profile have nothing to tell.
        filings: rows of ``filings``.
    """

    def __init__(self, lake: Lake, filings: Sequence[Mapping[str, Any]]) -> None:
        self._lake = lake
        self._filings = {row["filing"]: row for row in filings}
        self._resolver = load_resolver(lake, self._filings)
        self._profiles: dict[str, list[dict[str, Any]]] = {}
        self._pages: dict[str, FilingPages] = {}

    def kind(self, place: Place) -> str:
        """``Cash flow statement``, ``Note 2. Revenue``, ``MD&A``; empty where nothing is known."""
        filing, page = place
        profiles = self._profiles_of(filing)
        if not 0 <= page < len(profiles):
            return ""
        profile = profiles[page]
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
        known = [place for place in places if 0 <= place[1] < len(self._profiles_of(place[0]))]
        if not known:
            return {}
        resolution = self._resolver.resolve(question)
        needs = read_needs(question, company_words(resolution))
        of_filing = {ranked.filing: ranked.reasons for ranked in resolution.filings}
        return {
            (filing, page): "; ".join(
                [
                    *page_reasons(needs, self._filing_pages(filing), page),
                    *of_filing.get(filing, ())[:_MOST_REASONS],
                ]
            )
            for filing, page in known
        }

    def _profiles_of(self, filing: str) -> list[dict[str, Any]]:
        if filing not in self._profiles:
            keys = {"filing": filing}
            known = filing in self._filings and self._lake.info("page_profiles", keys) is not None
            rows = self._lake.read("page_profiles", keys, list(_PROFILE)).sort_by("page") if known else None
            self._profiles[filing] = rows.to_pylist() if rows is not None else []
        return self._profiles[filing]

    def _filing_pages(self, filing: str) -> FilingPages:
        if filing not in self._pages:
            # The reasons do not depend on the words of a page; reading them would take most of the time.
            without = {"words": 0, "numeric_words": 0, "tables": 0, "cells": 0, "headings": [], "years": []}
            terms: dict[str, list[str]] = {name: [] for name in FIELDS}
            profiles = [{**without, **terms, **profile} for profile in self._profiles_of(filing)]
            self._pages[filing] = filing_pages(self._filings[filing], profiles)
        return self._pages[filing]


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


EXPLORER_TABLES = (
    "retrieval_runs", "retrieval_scores", "answers", "answer_scores", "verdicts", "retrieval_gap",
    "filing_pages", "page_tables", "statement_facts", "page_profiles",
)  # fmt: skip
"""Tables that are shown beside the questions."""

EXPLAINED = "finrag"
"""The system that tells what speaks for each of its pages."""
SNIPPET = 220
"""Characters of a snippet."""

_DEFAULT_ANSWERS = ("calculator", "extractive")
_FIRST = 3  # pages of `EXPLAINED` that are shown as they look
_MOST_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Loss:
    """Where a question was lost, and under which names that failure goes.

    Attributes:
        retrieval: retrieval system.
        answering: answering system; None where only retrieval was looked at.
        space: search space.
        level: filing, page, chunk, generation or none.
        labels: failure modes.
        why: in a sentence.
        place: the page that shows it, where there is one.
    """

    retrieval: str
    answering: str | None
    space: str
    level: str
    labels: tuple[str, ...]
    why: str
    place: Place | None = None


@dataclass(frozen=True)
class ExplorerQuestion:
    """A question with everything that is known of it.

    Attributes:
        row: as in ``benchmark_questions``.
        source: pdf or page_text; None where the gold filing is not in the lake.
        rankings: by search space and system.
        snippets: by chunk, of those that the metrics look at.
        kinds: what each ranked page is.
        reasons: what the page ranker says for the pages of `EXPLAINED`.
        answers: of this pipeline first.
        losses: from the analysis of the retrieval gap.
        shown: pages with a picture or their text.
    """

    row: Mapping[str, Any]
    source: str | None = None
    rankings: Mapping[tuple[str, str], Ranking] = field(default_factory=dict)
    snippets: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[Place, str] = field(default_factory=dict)
    reasons: Mapping[Place, str] = field(default_factory=dict)
    answers: tuple[ExplorerAnswer, ...] = ()
    losses: tuple[Loss, ...] = ()
    shown: tuple[ShownPage, ...] = ()

    @property
    def question_id(self) -> str:
        """Identifier in the benchmark."""
        return str(self.row["question_id"])

    def is_gold(self, place: Place) -> bool:
        """Whether a page is a gold page."""
        return place[0] == self.row["filing"] and place[1] in (self.row["gold_pages"] or ())


@dataclass(frozen=True)
class ExplorerData:
    """All questions.

    Attributes:
        questions: in the order of the benchmark.
        pages: contents of the pages that any question shows.
    """

    questions: tuple[ExplorerQuestion, ...] = ()
    pages: Mapping[Place, PageContent] = field(default_factory=dict)

    @property
    def systems(self) -> list[str]:
        """Retrieval systems with a ranking, those of the registry first and variants last."""
        found = {system for question in self.questions for _, system in question.rankings}
        known = [name for name in ALL_SYSTEMS if name in found and name not in ABLATIONS]
        variants = [name for name in ABLATIONS if name in found]
        return [*known, *sorted(found - set(ALL_SYSTEMS)), *variants]

    @property
    def spaces(self) -> list[str]:
        """Search spaces, from the widest to the narrowest."""
        found = {space for question in self.questions for space, _ in question.rankings}
        return [*(name for name in SPACE_NAMES if name in found), *sorted(found - set(SPACE_NAMES))]

    @property
    def series(self) -> list[AnswerSeries]:
        """Ways to answer, those of this pipeline first."""
        found = dict.fromkeys(answer.series for question in self.questions for answer in question.answers)
        return sorted(found, key=lambda series: series.recorded)


def collect_explorer(lake: Lake, settings: Settings, filings: Collection[str]) -> ExplorerData:
    """Gather what the explorer shows.

    Args:
        lake: to read from; needs ``benchmark_questions`` alone.
        settings: of the lake.
        filings: the benchmark's corpus.

    Raises:
        LakeError: there are no questions, or a table is damaged.
    """
    rows = lake.read("benchmark_questions").to_pylist()
    filing_rows = lake.read_all("filings", only={"filing": filings}).to_pylist()
    sources = {row["filing"]: row["source"] for row in filing_rows}
    with lake_views(lake) as query:
        rankings = _read_rankings(query)
    answers = read_answers(lake, [row["question_id"] for row in rows])
    losses = _read_losses(lake)
    chunks = {chunk for found in rankings.values() for chunk in _quoted(found)}
    texts = source_texts(lake, chunks)
    kinds = PageKinds(lake, filing_rows)
    records = [
        _question(
            row,
            sources,
            rankings.get(row["question_id"], {}),
            texts,
            kinds,
            answers.get(row["question_id"], []),
            losses.get(row["question_id"], []),
        )
        for row in rows
    ]
    pages = read_pages(lake, {shown.place for record in records for shown in record.shown}, sources)
    found = tuple(_marked(record, pages) for record in records)
    return ExplorerData(found, pages)


def _question(
    row: Mapping[str, Any],
    sources: Mapping[str, str],
    rankings: Mapping[tuple[str, str], Ranking],
    texts: Mapping[str, str],
    kinds: PageKinds,
    answers: Sequence[ExplorerAnswer],
    losses: Sequence[Loss],
) -> ExplorerQuestion:
    ranked = {page.place: None for ranking in rankings.values() for page in ranking.pages}
    explained = [
        page.place
        for (_, system), ranking in rankings.items()
        if system == EXPLAINED
        for page in ranking.pages
    ]
    chunks = _quoted(rankings)
    return ExplorerQuestion(
        row,
        sources.get(row["filing"]),
        rankings,
        {chunk: snippet(texts[chunk], row["question"], SNIPPET) for chunk in chunks if chunk in texts},
        {place: kind for place in ranked if (kind := kinds.kind(place))},
        kinds.reasons(row["question"], set(explained)) if explained else {},
        tuple(answers),
        tuple(losses),
        _shown(row, rankings, answers),
    )


def _quoted(rankings: Mapping[tuple[str, str], Ranking]) -> set[str]:
    """Chunks that are shown with a snippet: those that the metrics look at."""
    return {
        page.chunk_id for ranking in rankings.values() for page in ranking.pages if page.ranks[0] <= CUTOFF
    }


def _shown(
    row: Mapping[str, Any], rankings: Mapping[tuple[str, str], Ranking], answers: Sequence[ExplorerAnswer]
) -> tuple[ShownPage, ...]:
    """Gold pages, pages that the default answers cite, and the first of the best ranking."""
    roles: dict[Place, list[str]] = defaultdict(list)
    for page in row["gold_pages"] or ():
        roles[row["filing"], page].append("gold page")
    for name in _DEFAULT_ANSWERS:
        for answer in answers:
            if answer.series.system == name and answer.series.space == Space.CORPUS and not answer.repeat:
                for place in answer.cited:
                    roles[place].append(f"cited by {answer.series.system}")
    ranking = rankings.get((Space.CORPUS.value, EXPLAINED))
    for found in ranking.pages[:_FIRST] if ranking else ():
        roles[found.place].append(f"rank {found.ranks[0]} of {EXPLAINED}")
    return tuple(ShownPage(place, tuple(told)) for place, told in list(roles.items())[:_MOST_SHOWN])


def _marked(record: ExplorerQuestion, pages: Mapping[Place, PageContent]) -> ExplorerQuestion:
    """The question with its evidence found on the pages it shows."""
    passages: dict[Place, list[str]] = defaultdict(list)
    for one in record.row["evidence"] or ():
        passages[one["filing"], one["page"]].append(one["text"])
    inputs = [one for answer in record.answers if not answer.series.recorded for one in answer.inputs]
    shown = []
    for one in record.shown:
        content, texts = pages[one.place], passages.get(one.place, [])
        used = [tuple(i["box"]) for i in inputs if (i["filing"], i["page"]) == one.place and _is_box(i)]
        evidence = marked_boxes(content.words, texts) if texts and content.words else ()
        spans = marked_spans(content.text, texts) if texts and not content.words else ()
        marked = replace(one, evidence=tuple(evidence), spans=tuple(spans), used=tuple(dict.fromkeys(used)))
        shown.append(marked)
    return replace(record, shown=tuple(shown))


def _is_box(item: Mapping[str, Any]) -> bool:
    box = item.get("box")
    return isinstance(box, list) and len(box) == 4 and all(isinstance(edge, int | float) for edge in box)


def _read_losses(lake: Lake) -> dict[str, list[Loss]]:
    """Rows of ``retrieval_gap`` by question, where the lake holds them."""
    found: dict[str, list[Loss]] = defaultdict(list)
    for row in lake.read_all("retrieval_gap").to_pylist():
        place = None if row["page"] is None else (row["filing"], row["page"])
        told = {name: row[name] for name in ("retrieval", "answering", "space", "level", "why")}
        found[row["question_id"]].append(Loss(**told, labels=tuple(row["labels"]), place=place))
    return found
