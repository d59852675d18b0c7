"""What the question explorer shows: one record per question, gathered from the tables of the lake.

Only the questions are needed; rankings, answers, verdicts and the analysis of the retrieval gap are shown as
far as the lake holds them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.judging.lake_answers import source_texts
from finrag_pipeline.reporting.estimates import SPACE_NAMES
from finrag_pipeline.reporting.explorer_answers import AnswerSeries, ExplorerAnswer, read_answers
from finrag_pipeline.reporting.explorer_evidence import marked_boxes, marked_spans
from finrag_pipeline.reporting.explorer_pages import PageContent, ShownPage, read_pages
from finrag_pipeline.reporting.explorer_rankings import (
    PageKinds,
    Place,
    Ranking,
    read_rankings,
)
from finrag_pipeline.retrieval.snippet import snippet
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import ABLATIONS, ALL_SYSTEMS
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake

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
    rankings = read_rankings(lake, rows)
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
    row: Mapping[str, Any],
    rankings: Mapping[tuple[str, str], Ranking],
    answers: Sequence[ExplorerAnswer],
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
