"""Evaluating: score any questions in FinanceBench's format over the filings of the lake."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.answering.calculator import Calculator
from finrag_pipeline.answering.runs import run_answers
from finrag_pipeline.answering.systems import get_answer_system
from finrag_pipeline.errors import BenchmarkError, FinragError
from finrag_pipeline.evaluation.answer_metrics import SHOWN, as_series, score_answers
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
from finrag_pipeline.services.search import Corpora
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake

MEASURED = (("doc_rec", 5), ("page_rec", 5), ("page_rec", 10), ("hit", 5), ("mrr", 0))
"""Metrics of pages shown, with their cut-offs."""


@dataclass(frozen=True)
class Evaluation:
    """Scores of systems on questions that nothing was trained on here.

    Attributes:
        questions: how many were scored.
        problems: what is wrong with the file and which filings are not searched, one sentence each.
        learned_from: questions that the ranker of a system was trained on, by system; their scores flatter.
        not_run: why systems were not run, by name.
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
    metrics: list[dict[str, Any]]
    comparisons: list[dict[str, Any]]
    per_question: list[dict[str, Any]]
    answer_metrics: list[dict[str, Any]]
    answers: list[dict[str, Any]]
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """The documented contract: the attributes as they are."""
        return dict(vars(self))


def evaluate(
    settings: Settings,
    questions_file: Path,
    systems: Sequence[str] = (),
    progress: Callable[[str, int, int], object] | None = None,
    changes: Mapping[str, str] | None = None,
) -> Evaluation:
    """Run systems with their production models on questions of a file, and score them; nothing is trained.

    Args:
        settings: settings of the lake.
        questions_file: JSON Lines in FinanceBench's format.
        systems: names; the default system when empty.
        progress: called with the system, its number and how many there are.
        changes: ``chunking``, ``encoder`` or ``reranker``; every system is also run with them changed.

    Raises:
        BenchmarkError: no question of the file can be measured over the filings of the lake.
        UsageError: an unknown system.
    """
    start = time.perf_counter()
    lake = Lake(settings.lake)
    chosen = chosen_systems(systems or [DEFAULT_SYSTEM], changes or {})
    rows = lake.read_all("filings").to_pylist()
    pages = {row["filing"]: row["pages"] for row in rows if row["status"] == "ok"}
    learned, corpora = trained_models(lake, settings, None), Corpora(lake, settings)
    filings, warnings, not_run = _searched(searchable_filings(lake), corpora, chosen, learned)
    loaded = load_questions(questions_file, None, pages, filings)
    problems = [*warnings, *loaded.problems]
    questions = loaded.table.filter(pc.equal(loaded.table["status"], "measured"))
    if not questions.num_rows:
        found = "; ".join(problems[:3])
        raise BenchmarkError(
            f"No question of {questions_file.name} can be measured. {found}",
            "Bring their filings into the lake: finrag ingest FILE, or finrag run --source FOLDER.",
        )
    asked = frozenset(questions["question"].to_pylist())
    scores: list[pa.Table] = []
    runs: list[pa.Table] = []
    answered: list[pa.Table] = []
    calculator = Calculator(lake, load_resolver(lake, filings))
    learned_from: dict[str, list[str]] = {}
    for number, system in enumerate(chosen):
        if progress:
            progress(system.name, number, len(chosen))
        corpus = corpora.over(filings, system)
        inputs = Inputs(corpus, learned, asked)
        if problem := not_run.get(system.name) or system.problem(inputs):
            not_run[system.name] = problem
            continue
        known = system.learned_from(inputs)
        if seen := [question for question in questions["question_id"].to_pylist() if question in known]:
            learned_from[system.name] = seen
        ranked = run_system(system, inputs, questions.to_pylist(), [Space.CORPUS])
        texts = dict(zip(corpus.chunk_ids, corpus.chunks["text"].to_pylist(), strict=True))
        gold = find_gold_chunks(questions, corpus.chunks)
        scores.append(
            score_runs(ranked, questions, texts, gold, expected=[(system.name, Space.CORPUS.value)])
        )
        runs.append(ranked)
        answered.append(_answers(system.name, ranked, questions, corpus, calculator, settings))
    if progress:
        progress("", len(chosen), len(chosen))
    metrics: list[dict[str, Any]] = []
    comparisons: list[dict[str, Any]] = []
    per_question: list[dict[str, Any]] = []
    answer_metrics: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []
    if scores:
        all_scores = pa.concat_tables(scores)
        sources = {row["filing"]: row["source"] for row in rows}
        table = summarise(all_scores, questions, sources, settings.evaluation)
        metrics = [_shown(row) for row in table.to_pylist() if (row["metric"], row["k"]) in MEASURED]
        comparisons = _changed(chosen, all_scores, questions, settings)
        per_question = _per_question(pa.concat_tables(runs), all_scores)
        all_answers = pa.concat_tables(answered)
        judged = score_answers(all_answers, questions, lake)
        series = summarise(as_series(judged), questions, sources, settings.evaluation)
        shown = {(metric.name, 0) for metric in SHOWN}
        answer_metrics = [_shown(row) for row in series.to_pylist() if (row["metric"], row["k"]) in shown]
        answers = _answers_shown(all_answers, judged, questions)
    return Evaluation(
        questions.num_rows,
        problems,
        learned_from,
        not_run,
        metrics,
        comparisons,
        per_question,
        answer_metrics,
        answers,
        round(time.perf_counter() - start, 3),
    )


def chosen_systems(names: Sequence[str], changes: Mapping[str, str]) -> list[RetrievalSystem]:
    """Systems by name, each followed by itself with parts changed; ``changes`` as in `evaluate`.

    Raises:
        UsageError: an unknown system or chunking.
    """
    found = [get_system(name) for name in names]
    return [one for system in found for one in (system, *([variant(system, **changes)] if changes else []))]


def _changed(
    systems: Sequence[RetrievalSystem], scores: pa.Table, questions: pa.Table, settings: Settings
) -> list[dict[str, Any]]:
    """Each system that is measured beside the one it is a variant of, with the paired difference."""
    measured = set(scores["system"].unique().to_pylist())
    confidence = settings.evaluation.confidence
    found: list[dict[str, Any]] = []
    for system in systems:
        if system.variant_of and {system.name, system.variant_of} <= measured:
            pair = scores.filter(pc.is_in(scores["system"], pa.array([system.name, system.variant_of])))
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


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    wanted = ("system", "slice", "slice_value", "metric", "k", "mean", "low", "high", "n")
    return {name: row[name] for name in wanted}


def _answers(
    system: str,
    ranked: pa.Table,
    questions: pa.Table,
    corpus: Corpus,
    calculator: Calculator,
    settings: Settings,
) -> pa.Table:
    answering = replace(get_answer_system("calculator"), retrieval=system)
    rows = questions.select(["question_id", "question"]).to_pylist()
    embed = corpus.encoder.embed_short
    return run_answers(answering, ranked, rows, corpus.text, calculator, embed, None, settings)


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
            "numeric_match": values.get((row["retrieval"], row["question_id"], "numeric_match")),
            "strict_match": values.get((row["retrieval"], row["question_id"], "strict_match")),
            "abstained": row["abstained"],
        }
        for row in answers.to_pylist()
    ]


def _per_question(runs: pa.Table, scores: pa.Table) -> list[dict[str, Any]]:
    pages: dict[tuple[str, str], list[str]] = {}
    for row in runs.sort_by("rank").to_pylist():
        shown = pages.setdefault((row["system"], row["question_id"]), [])
        if row["rank"] <= 5:
            shown.append(f"{row['filing']} p. {row['page'] + 1}")
    values = {
        (row["system"], row["question_id"], row["metric"]): row["value"]
        for row in scores.to_pylist()
        if row["k"] == 5 and row["metric"] in ("page_rec", "doc_rec")
    }
    asked = dict.fromkeys((system, question) for system, question, _ in values)
    return [
        {
            "system": system,
            "question_id": question,
            "page_rec_5": values[system, question, "page_rec"],
            "doc_rec_5": values[system, question, "doc_rec"],
            "pages": pages.get((system, question), []),
        }
        for system, question in asked
    ]
