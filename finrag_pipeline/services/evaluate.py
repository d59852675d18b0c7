"""Evaluating: score any questions, one's own or a benchmark's, over the filings of the lake."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.answering.calculator import Calculator
from finrag_pipeline.answering.runs import run_answers
from finrag_pipeline.answering.systems import get_answer_system
from finrag_pipeline.errors import BenchmarkError, FinragError
from finrag_pipeline.evaluation.answer_metrics import SHOWN, as_series, score_answers
from finrag_pipeline.evaluation.own_questions import having, read_own_questions
from finrag_pipeline.evaluation.paired_tests import Family, compare_families
from finrag_pipeline.evaluation.questions import load_questions
from finrag_pipeline.evaluation.retrieval_metrics import find_gold_chunks, score_runs
from finrag_pipeline.evaluation.summary import summarise
from finrag_pipeline.rankers.registry import trained_models
from finrag_pipeline.resolver.resolver import load_resolver
from finrag_pipeline.retrieval.chunk_index import searchable_filings
from finrag_pipeline.retrieval.component import Inputs, Learned
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.system import RetrievalSystem, run_system
from finrag_pipeline.retrieval.systems import DEFAULT_SYSTEM, get_system, variant
from finrag_pipeline.schemas import RETRIEVAL_SCORES
from finrag_pipeline.services.search import Corpora
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake

MEASURED = (("doc_rec", 5), ("page_rec", 5), ("page_rec", 10), ("hit", 5), ("mrr", 0))
"""Metrics of pages shown, with their cut-offs."""


@dataclass(frozen=True)
class Evaluation:
    """Scores of systems on questions that nothing was trained on here; the command prints it as JSON.

    Attributes:
        questions: how many were scored.
        problems: what is wrong with the file and which filings are not searched, one sentence each.
        learned_from: questions that the ranker of a system was trained on, by system; their scores flatter.
        not_run: why systems were not run, by name.
        columns, unused: what a file of one's own has of `own_questions.COLUMNS`, and its other columns.
        asked: ``{question_id, question, answer, filing, gold_pages}`` of each question; zero-based pages.
        metrics: ``{system, slice, slice_value, metric, k, mean, low, high, n}`` each.
        comparisons: of systems with one part changed against those without, in the fields of
            ``schemas.SYSTEM_COMPARISONS``; PageRec@5.
        per_question: ``{system, question_id, page_rec_5, doc_rec_5, pages}`` each.
        answer_metrics: of the calculator's answers on the pages of each system (``calculator on finrag``), in
            the fields of ``metrics``.
        answers: ``{system, question_id, answer, gold, numeric_match, strict_match, abstained}`` each;
            ``strict_match`` is null where the gold answer is no figure.
        seconds: time it took.
    """

    questions: int
    problems: list[str]
    learned_from: dict[str, list[str]]
    not_run: dict[str, str]
    columns: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    metrics: list[dict[str, Any]] = field(default_factory=list)
    comparisons: list[dict[str, Any]] = field(default_factory=list)
    per_question: list[dict[str, Any]] = field(default_factory=list)
    answer_metrics: list[dict[str, Any]] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0


def evaluate(
    settings: Settings,
    questions_file: Path,
    systems: Sequence[str] = (),
    changes: Mapping[str, str] = MappingProxyType({}),
) -> Evaluation:
    """Run systems with their production models on questions of a file, and score them; nothing is trained.

    Args:
        settings: settings of the lake.
        questions_file: CSV or JSON Lines, as `read_own_questions` reads them, or FinanceBench's.
        systems: names; the default system when empty.
        changes: ``chunking``, ``encoder`` or ``reranker``; every system is also run with them changed.

    Raises:
        BenchmarkError: no question of the file can be measured over the filings of the lake.
        UsageError: an unknown system.
    """
    start = time.perf_counter()
    lake = Lake(settings.lake).required()
    chosen = chosen_systems(systems or [DEFAULT_SYSTEM], changes)
    rows = lake.read_all("filings").to_pylist()
    pages = {row["filing"]: row["pages"] for row in rows if row["status"] == "ok"}
    learned, corpora = trained_models(lake, settings, None), Corpora(lake, settings)
    filings, warnings, not_run = _searched(searchable_filings(lake), corpora, chosen, learned)
    searched = {filing: count for filing, count in pages.items() if filing in filings}
    loaded = read_own_questions(questions_file, searched) or load_questions(
        questions_file, None, pages, filings
    )
    problems = [*warnings, *loaded.problems]
    questions = loaded.table.filter(pc.field("status") == "measured")
    if not questions.num_rows:
        found = "; ".join(problems[:3])
        raise BenchmarkError(
            f"No question of {questions_file.name} can be measured. {found}",
            "Bring their filings into the lake: finrag ingest FILE, or finrag run --source FOLDER.",
        )
    asked = questions.to_pylist()
    calculator = Calculator.of_lake(lake, load_resolver(lake, filings))
    learned_from: dict[str, list[str]] = {}
    made: list[tuple[pa.Table, pa.Table, pa.Table]] = []
    for system in chosen:
        corpus = corpora.over(filings, system)
        inputs = Inputs(corpus, learned, frozenset(row["question"] for row in asked))
        if problem := not_run.get(system.name) or system.problem(inputs):
            not_run[system.name] = problem
            continue
        known = system.learned_from(inputs)
        if seen := [row["question_id"] for row in asked if row["question_id"] in known]:
            learned_from[system.name] = seen
        runs = run_system(system, inputs, asked, [Space.CORPUS])
        scores = _scores(runs, questions, corpus, system.name)
        reader = replace(get_answer_system("calculator"), retrieval=system.name)
        embed = corpus.encoder.embed_short
        answers = run_answers(reader, runs, asked, corpus.text, calculator, embed, None, settings)
        made.append((runs, scores, answers))
    lists: dict[str, list[dict[str, Any]]] = {}
    if made:
        runs, scores, answers = map(pa.concat_tables, zip(*made, strict=True))
        sources = {row["filing"]: row["source"] for row in rows}
        judged = score_answers(answers, having(questions, "answer"), lake)

        def means(of: pa.Table, shown: Collection[tuple[str, int]]) -> list[dict[str, Any]]:
            if not of.num_rows:
                return []
            table = summarise(of, questions, sources, settings.evaluation).select(_FIELDS).to_pylist()
            return [row for row in table if (row["metric"], row["k"]) in shown]

        lists = {
            "metrics": means(scores, MEASURED),
            "comparisons": _changed(chosen, scores, questions, settings.evaluation.confidence),
            "per_question": _per_question(runs, scores),
            "answer_metrics": means(as_series(judged), [(metric.name, 0) for metric in SHOWN]),
            "answers": _answers_shown(answers, judged, questions),
        }
    seconds = round(time.perf_counter() - start, 3)
    lists["asked"] = [{name: row[name] for name in _ASKED} for row in asked]
    columns, unused = list(loaded.columns), list(loaded.unused)
    return Evaluation(len(asked), problems, learned_from, not_run, columns, unused, **lists, seconds=seconds)


_ASKED = ("question_id", "question", "answer", "filing", "gold_pages")


def _scores(runs: pa.Table, questions: pa.Table, corpus: Corpus, system: str) -> pa.Table:
    """Scores of a ranking, of each question as far as its filing and pages are known."""
    texts = dict(zip(corpus.chunk_ids, corpus.chunks["text"].to_pylist(), strict=True))

    def scored(some: pa.Table) -> pa.Table:
        gold, pair = find_gold_chunks(some, corpus.chunks), (system, Space.CORPUS.value)
        return score_runs(runs, some, texts, gold, expected=[pair])

    on_pages = having(questions, "filing", "gold_pages")
    known = set(on_pages["question_id"].to_pylist())
    rows = [row for row in having(questions, "filing").to_pylist() if row["question_id"] not in known]
    if not rows:
        return scored(on_pages) if known else RETRIEVAL_SCORES.empty_table()
    # Any page stands for the unknown one: only whether the filing was found is kept.
    filed = scored(pa.Table.from_pylist([{**row, "gold_pages": [0]} for row in rows], questions.schema))
    filed = filed.filter(pc.field("metric") == "doc_rec")
    return pa.concat_tables([scored(on_pages), filed]) if known else filed


_FIELDS = ["system", "slice", "slice_value", "metric", "k", "mean", "low", "high", "n"]


def chosen_systems(names: Sequence[str], changes: Mapping[str, str]) -> list[RetrievalSystem]:
    """Systems by name, each followed by itself with parts changed; ``changes`` as in `evaluate`.

    Raises:
        UsageError: an unknown system or chunking.
    """
    found = [get_system(name) for name in names]
    return [one for system in found for one in (system, *([variant(system, **changes)] if changes else []))]


def _changed(
    systems: Sequence[RetrievalSystem], scores: pa.Table, questions: pa.Table, confidence: float
) -> list[dict[str, Any]]:
    """Each system that is measured beside the one it is a variant of, with the paired difference."""
    measured = set(scores["system"].unique().to_pylist())
    found: list[dict[str, Any]] = []
    for system in systems:
        if system.variant_of and {system.name, system.variant_of} <= measured:
            pair = scores.filter(pc.field("system").isin([system.name, system.variant_of]))
            family = Family(system.variant_of, "page_rec", 5)
            found += compare_families(pair, questions, [family], confidence=confidence).to_pylist()
    return found


def _searched(
    names: Sequence[str], corpora: Corpora, systems: Sequence[RetrievalSystem], learned: Learned
) -> tuple[tuple[str, ...], list[str], dict[str, str]]:
    """Filings that every one of the systems can search, what is said of the others, and what cannot run.

    All systems are measured on the same filings: figures of different corpora do not compare.
    """
    filings = set(names)
    warnings: dict[str, None] = {}
    not_run: dict[str, str] = {}
    for system in systems:
        if problem := system.problem(Inputs(corpora.with_parts(system), learned)):
            not_run[system.name] = problem
            continue
        try:
            known = corpora.known(system)
        except FinragError as error:
            not_run[system.name] = str(error)
            continue
        if set(known.missing.values()) & set(system.made_on_demand()):
            not_run[system.name] = " ".join(known.warnings)
            continue
        filings &= set(known.complete)
        warnings |= dict.fromkeys(known.warnings)
    return tuple(sorted(filings)), list(warnings), not_run


def _answers_shown(answers: pa.Table, scores: pa.Table, questions: pa.Table) -> list[dict[str, Any]]:
    gold = dict(zip(questions["question_id"].to_pylist(), questions["answer"].to_pylist(), strict=True))
    values = {
        (row["retrieval"], row["question_id"], row["metric"]): row["value"] for row in scores.to_pylist()
    }
    return [
        {
            "system": row["retrieval"],
            "question_id": row["question_id"],
            "answer": row["answer"],
            "gold": gold[row["question_id"]],
            **{
                metric: values.get((row["retrieval"], row["question_id"], metric))
                for metric in ("numeric_match", "strict_match")
            },
            "abstained": row["abstained"],
        }
        for row in answers.to_pylist()
    ]


def _per_question(runs: pa.Table, scores: pa.Table) -> list[dict[str, Any]]:
    pages: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in runs.filter(pc.field("rank") <= 5).sort_by("rank").to_pylist():
        pages[row["system"], row["question_id"]].append(f"{row['filing']} p. {row['page'] + 1}")
    found: dict[tuple[str, str], dict[str, Any]] = {}
    at_5 = (pc.field("k") == 5) & pc.field("metric").isin(["page_rec", "doc_rec"])
    for row in scores.filter(at_5).to_pylist():
        key = row["system"], row["question_id"]
        line = {"system": key[0], "question_id": key[1], "page_rec_5": None, "doc_rec_5": None}
        found.setdefault(key, {**line, "pages": pages[key]})[f"{row['metric']}_5"] = row["value"]
    return list(found.values())
