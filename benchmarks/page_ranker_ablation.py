"""The page ranker with each of its parts taken out, trained anew per fold: PageRec@5 on a benchmark.

A part is a group of features, the resolver, or a step of the model. Features of all questions are computed
once and shared by all rows; every row is trained in the same folds, with the same seeds. Folds are by filing,
or by company (``--by company``): filings of one company in different years are near-copies of one another.

Rows are kept in a JSON file as they are done (``--out``), so that a run that was cut short goes on.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pyarrow.compute as pc

from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.evaluation.benchmark import assign_folds
from finrag_pipeline.evaluation.intervals import cluster_bootstrap
from finrag_pipeline.rankers.card import check_no_leak
from finrag_pipeline.rankers.page_ranker.candidates import Candidates, Encode, read_candidates
from finrag_pipeline.rankers.page_ranker.library import PageLibrary
from finrag_pipeline.rankers.page_ranker.model import Example, RankingModel, train_model
from finrag_pipeline.rankers.page_ranker.ranker import LIKELY, show_every_filing
from finrag_pipeline.rankers.page_ranker.training import card_of
from finrag_pipeline.resolver.resolver import Resolution, Resolver, load_resolver
from finrag_pipeline.retrieval.chunk_index import searchable_filings
from finrag_pipeline.settings import get_settings
from finrag_pipeline.storage.lake import Lake

CUTOFF = 5
FULL = "all parts"

FEATURES: dict[str, str] = {
    "words": r"(bm25|cover|passage|pairs)_",
    "labels of tables, one by one": r"label_",
    "vectors": r"dense_",
    "statements": r"statement_|primary_statements$|side_statements$",
    "concepts of facts": r"concepts_",
    "years": r"years_named$|concepts_dated$",
    "sections, notes, headings": r"section_|in_note$|headings$",
    "position": r"position$|page_from_start$|pages_of_filing$",
    "layout and form": r"log_words$|numeric_share$|tables$|tables_of_filing$|log_cells$|form_",
    "neighbours": r".*_near$",
    "ranks and distances to the best": r"(bm25|passage|pairs|label|dense)_.*_(rank|relative|z|top)$",
    "filing scores": r"filing_|filings$",
    "kind of question": r"q_",
    "lexicon of needs": (
        r"(bm25|cover|passage|label)_(terms|head)|section_match$|statement_(asked|side|size)$|concepts_"
        r"|q_(statements|concepts|needs|sections|wants_)"
    ),
}
"""Features of each part, as the beginning of their names; a feature may belong to several parts."""

PAGES_WITHOUT_RESOLVER = 1_000
"""Pages of a question that are learned from where the whole corpus is searched, besides the gold ones."""


@dataclass(frozen=True)
class Question:
    """A question with its pages.

    Attributes:
        row: of ``benchmark_questions``.
        fold: in which it is tested.
        example: candidate pages with labels, the gold filing among them: learned from.
        tested: candidate pages as a search has them.
    """

    row: Mapping[str, Any]
    fold: int
    example: Example
    tested: Candidates


@dataclass(frozen=True)
class Row:
    """A row of the ablation.

    Attributes:
        name: what is taken out.
        dropped: features that are taken out, as a pattern of their beginning.
        objectives: models that are kept; all when empty.
        rule: whether every likely filing is shown among the first pages.
    """

    name: str
    dropped: str | None = None
    objectives: tuple[str, ...] = ()
    rule: bool = True


ROWS = (
    Row(FULL),
    *(Row(name, pattern) for name, pattern in FEATURES.items()),
    Row("classifier (LambdaMART alone)", objectives=("lambdarank",)),
    Row("LambdaMART (classifier alone)", objectives=("binary",)),
    Row("rule of likely filings", rule=False),
)
RESOLVER = "resolver"
"""Row without the resolver; its pages are others, so it is computed by itself."""


class NoResolver(Resolver):
    """Reads nothing out of a question, so that every filing is searched."""

    def __init__(self) -> None:
        super().__init__([])

    def resolve(self, question: str) -> Resolution:
        return Resolution(question, (), (), None, ())


def without(candidates: Candidates, pattern: str | None) -> Candidates:
    """Candidates without the features whose names begin with a match of ``pattern``."""
    if pattern is None:
        return candidates
    kept = [place for place, name in enumerate(candidates.names) if not re.match(pattern, name)]
    names = tuple(candidates.names[place] for place in kept)
    return replace(candidates, names=names, features=np.ascontiguousarray(candidates.features[:, kept]))


def labels(candidates: Candidates, row: Mapping[str, Any]) -> np.ndarray:
    """Whether each candidate is a gold page; shape (candidates,)."""
    gold = {(row["filing"], page) for page in row["gold_pages"]}
    places = zip(candidates.filings, candidates.pages.tolist(), strict=True)
    return np.array([place in gold for place in places], bool)


def read_questions(
    rows: Sequence[Mapping[str, Any]],
    folds: Mapping[str, int],
    encode: Encode,
    library: PageLibrary,
    resolver: Resolver,
    known: Sequence[str],
) -> list[Question]:
    """Pages and features of every question; the slow step, done once."""
    questions = []
    for row in rows:
        tested = read_candidates(row["question"], encode, library, resolver, known)
        learned = tested
        if row["filing"] not in tested.filings:
            learned = read_candidates(row["question"], encode, library, resolver, known, also=[row["filing"]])
        example = Example(learned, labels(learned, row))
        questions.append(Question(row, folds[row["question_id"]], example, tested))
    return questions


def first_pages(
    model: RankingModel, candidates: Candidates, rule: bool = True, general: RankingModel | None = None
) -> list[tuple[str, int]]:
    """The first pages of a ranking as (filing, zero-based page)."""
    order = np.argsort(-model.scores(candidates, general), kind="stable")
    if rule:
        likely = [found.filing for found in candidates.resolution.filings if found.score >= LIKELY]
        order = show_every_filing(order, candidates.filings, likely)
    return [(candidates.filings[place], int(candidates.pages[place])) for place in order[:CUTOFF].tolist()]


def page_recall(pages: Sequence[tuple[str, int]], row: Mapping[str, Any]) -> float:
    """Share of the gold pages among ``pages``."""
    gold = {(row["filing"], page) for page in row["gold_pages"]}
    return len(gold & set(pages)) / len(gold)


def train_fold(questions: Sequence[Question], fold: int, pattern: str | None, seed: int) -> RankingModel:
    """A model of the questions outside a fold.

    Raises:
        BenchmarkError: a question or a gold filing would be on both sides.
    """
    learned = [question for question in questions if question.fold != fold]
    tested = [question.row for question in questions if question.fold == fold]
    card = card_of([question.row for question in learned], "")
    check_no_leak(card, tested, f"The model of fold {fold}", "page_ranker")
    examples = [
        Example(without(question.example.candidates, pattern), question.example.relevant)
        for question in learned
    ]
    return train_model(examples, seed, {})


def ablate(
    questions: Sequence[Question], pattern: str | None, rows: Sequence[Row], seed: int
) -> dict[str, list[float]]:
    """PageRec of each question for rows that share their trained models; by name of the row."""
    found = {row.name: [0.0] * len(questions) for row in rows}
    for fold in sorted({question.fold for question in questions}):
        whole = train_fold(questions, fold, pattern, seed)
        for row in rows:
            kept = {
                name: models
                for name, models in whole.boosters.items()
                if not row.objectives or name in row.objectives
            }
            model = RankingModel(whole.names, kept, {})
            for number, question in enumerate(questions):
                if question.fold == fold:
                    pages = first_pages(model, without(question.tested, pattern), row.rule)
                    found[row.name][number] = page_recall(pages, question.row)
    return found


def without_resolver(
    rows: Sequence[Mapping[str, Any]],
    folds: Mapping[str, int],
    encode: Encode,
    library: PageLibrary,
    known: Sequence[str],
    seed: int,
) -> list[float]:
    """PageRec of each question where all filings are searched; learned from a sample of their pages."""
    draw = np.random.default_rng(seed)
    pattern = FEATURES["filing scores"]

    def candidates(row: Mapping[str, Any]) -> Candidates:
        return without(read_candidates(row["question"], encode, library, NoResolver(), known), pattern)

    questions = []
    for row in rows:
        every = candidates(row)
        gold = labels(every, row)
        others = np.flatnonzero(~gold)
        drawn = draw.choice(others, min(len(others), PAGES_WITHOUT_RESOLVER), replace=False)
        kept = np.sort(np.concatenate([np.flatnonzero(gold), drawn]))
        sample = replace(
            every,
            filings=[every.filings[place] for place in kept.tolist()],
            pages=every.pages[kept],
            features=every.features[kept],
        )
        questions.append(Question(row, folds[row["question_id"]], Example(sample, gold[kept]), sample))
    models = {fold: train_fold(questions, fold, None, seed) for fold in sorted(set(folds.values()))}
    # All pages of all questions do not fit into memory at once, so they are made a second time.
    return [page_recall(first_pages(models[folds[row["question_id"]]], candidates(row)), row) for row in rows]


def markdown(
    found: Mapping[str, Sequence[float]], rows: Sequence[Mapping[str, Any]], draws: int, seed: int
) -> str:
    """Table of the rows: mean and paired difference to the full ranker, with document-cluster intervals."""
    clusters = [row["filing"] for row in rows]
    types = sorted({str(row["question_type"]) for row in rows})
    head = ["taken out", f"PageRec@{CUTOFF}", "difference", *types]
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    full = np.array(found[FULL])
    for name, values in found.items():
        own = np.array(values)
        mean, low, high = cluster_bootstrap(np.stack([own, own - full], 1), clusters, draws, 0.95, seed)
        cells = [f"{mean[0]:.3f} [{low[0]:.2f}, {high[0]:.2f}]"]
        cells += ["" if name == FULL else f"{mean[1]:+.3f} [{low[1]:+.2f}, {high[1]:+.2f}]"]
        for kind in types:
            cells.append(f"{own[[str(row['question_type']) == kind for row in rows]].mean():.2f}")
        lines.append(f"| {'nothing' if name == FULL else name} | {' | '.join(cells)} |")
    return "\n".join(lines)


_shared: list[Question] = []


def _work(pattern: str | None, rows: list[Row], seed: int) -> dict[str, list[float]]:
    return ablate(_shared, pattern, rows, seed)


def run_rows(
    questions: Sequence[Question],
    rows: Sequence[Row],
    seed: int,
    workers: int,
    done: Callable[[dict[str, list[float]]], None],
) -> None:
    """Compute rows, those that share trained models together, in ``workers`` processes."""
    jobs: dict[str | None, list[Row]] = {}
    for row in rows:
        jobs.setdefault(row.dropped, []).append(row)
    _shared[:] = questions  # inherited by the forked processes: the features are not copied
    with ProcessPoolExecutor(workers, multiprocessing.get_context("fork")) as pool:
        for job in as_completed(pool.submit(_work, *item, seed) for item in jobs.items()):
            done(job.result())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--by", choices=("filing", "company"), default="filing", help="what folds keep together"
    )
    parser.add_argument(
        "--rows", nargs="*", help="rows to compute (default: all); 'full' for the whole ranker"
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--out", type=Path, help="JSON file that keeps the rows; rows it holds are not repeated"
    )
    parser.add_argument("--draws", type=int, default=5_000, help="resamples of filings per interval")
    options = parser.parse_args()
    settings = get_settings()
    lake = Lake(settings.lake)
    table = lake.read("benchmark_questions")
    table = table.filter(pc.equal(table["status"], "measured"))
    by = cast('Literal["filing", "company"]', options.by)
    assigned = assign_folds(table, settings.evaluation.folds, settings.seed, by)
    folds = dict(zip(assigned["question_id"].to_pylist(), assigned["fold"].to_pylist(), strict=True))
    rows = table.to_pylist()
    known = searchable_filings(lake)
    encoder = Encoder(settings.encoder, lake)
    library = PageLibrary(lake)
    found: dict[str, list[float]] = {}
    if options.out and options.out.exists():
        found = json.loads(options.out.read_text())
    asked = [
        FULL if name == "full" else name for name in options.rows or [row.name for row in ROWS] + [RESOLVER]
    ]
    wanted = [row for row in ROWS if row.name in asked and row.name not in found]

    def keep(values: dict[str, list[float]]) -> None:
        found.update(values)
        for name, own in values.items():
            print(f"{name}: {np.mean(own):.3f}", flush=True)
        if options.out:
            options.out.write_text(json.dumps(found))

    if wanted:
        resolver = load_resolver(lake, known)
        questions = read_questions(rows, folds, encoder.embed_short, library, resolver, known)
        run_rows(questions, wanted, settings.seed, options.workers, keep)
    if RESOLVER in asked and RESOLVER not in found:
        keep({RESOLVER: without_resolver(rows, folds, encoder.embed_short, library, known, settings.seed)})
    order = [name for name in [row.name for row in ROWS] + [RESOLVER] if name in found]
    if FULL in found:
        print(markdown({n: found[n] for n in order}, rows, options.draws, settings.seed))


if __name__ == "__main__":
    main()
