"""Retrieval: rankings and per-question scores of every system, fold by fold."""

from collections.abc import Iterator

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.retrieval_metrics import METRICS_VERSION, find_gold_chunks, score_runs
from finrag_pipeline.orchestration.assets.benchmark import folds
from finrag_pipeline.orchestration.assets.indexing import chunk_index, contextual_index, parent_child_index
from finrag_pipeline.orchestration.assets.tables import statement_facts
from finrag_pipeline.orchestration.assets.tuning import hybrid_alpha_sweep
from finrag_pipeline.orchestration.corpora import Sweep, fold_questions
from finrag_pipeline.orchestration.fingerprints import scores_fingerprint
from finrag_pipeline.orchestration.partitions import fold_number, sweep_partitions
from finrag_pipeline.orchestration.resources.settings import LakeResource, SettingsResource
from finrag_pipeline.orchestration.steps import (
    Step,
    check,
    each_partition,
    ledger_key,
    part_step,
    result_or_skipped,
    skipped_step,
    table_asset,
)
from finrag_pipeline.retrieval.runner import run_system
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import SYSTEMS_VERSION, get_system


def split_key(key: str) -> tuple[str, str]:
    """Fold and system of a sweep partition."""
    keys = key.keys_by_dimension if isinstance(key, dg.MultiPartitionKey) else {}
    return keys["fold"], keys["system"]


@table_asset(
    chunk_index,
    contextual_index,
    parent_child_index,
    statement_facts,
    folds,
    hybrid_alpha_sweep,
    group="retrieval",
    version=SYSTEMS_VERSION,
    partitions=sweep_partitions,
    blocking_checks={"every_question_ranked": "No question is left out."},
    output_required=False,  # a system that cannot be run here leaves nothing
)
def retrieval_runs(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """Ranked chunks of a system for the questions of a fold, in all three search spaces.

    A system whose weights, passages or training are missing here is not run: nothing is materialised, and the
    log says why.
    """
    store, values = lake.open(), settings.get()
    sweep = Sweep(values, store)

    def work(key: str) -> Step:
        fold, name = split_key(key)
        system, number = get_system(name), fold_number(fold)
        if problem := sweep.problem(system, number):
            context.log.warning(f"{name} is not run on {fold}: {problem}")
            return skipped_step(store, "retrieval_runs", key, problem, context.run.run_id)
        questions = fold_questions(store, number)
        wanted = sweep.runs_fingerprint(system, number, questions)

        def make() -> pa.Table:
            return run_system(system, sweep.inputs(system, number), questions.to_pylist())

        partition = {"system": name, "fold": fold}
        step = part_step(
            store, "retrieval_runs", ledger_key(key), partition, wanted, make, context.run.run_id
        )
        runs = store.read("retrieval_runs", partition, ["space", "question_id"])
        pairs = set(zip(runs["space"].to_pylist(), runs["question_id"].to_pylist(), strict=True))
        expected = {(space.value, q) for space in Space for q in questions["question_id"].to_pylist()}
        # A page may hold no chunk of the kinds that an ablation keeps; it then finds nothing there.
        missing = expected - pairs if system.kinds is None else set()
        step.checks = [check("every_question_ranked", not missing, missing=len(missing))]
        step.metadata = {"questions": questions.num_rows}
        return step

    yield from result_or_skipped(each_partition(context, store, work), ["every_question_ranked"])


@table_asset(
    retrieval_runs,
    group="retrieval",
    version=METRICS_VERSION,
    partitions=sweep_partitions,
    blocking_checks={"values_in_range": "Every value lies in [0, 1]."},
    output_required=False,  # a system that cannot be run here leaves nothing
)
def retrieval_scores(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """Scores of a system on each question of a fold: the rows that every mean and plot is a view on."""
    store, values = lake.open(), settings.get()
    sweep = Sweep(values, store)

    def work(key: str) -> Step:
        fold, name = split_key(key)
        partition = {"system": name, "fold": fold}
        system, number = get_system(name), fold_number(fold)
        if problem := sweep.problem(system, number):
            context.log.warning(f"{name} is not scored on {fold}: {problem}")
            return skipped_step(store, "retrieval_scores", key, problem, context.run.run_id)
        info = store.info("retrieval_runs", partition)
        if info is None:
            raise LakeError(
                f"The lake holds no run of {name} on {fold}.", "Materialise retrieval_runs first."
            )
        questions = fold_questions(store, number)
        wanted = scores_fingerprint(info.fingerprint, questions)

        def make() -> pa.Table:
            corpus = sweep.corpus(system)
            texts = dict(zip(corpus.chunk_ids, corpus.chunks["text"].to_pylist(), strict=True))
            return score_runs(
                store.read("retrieval_runs", partition),
                questions,
                texts,
                find_gold_chunks(questions, corpus.chunks),
                expected=[(name, space.value) for space in Space],
            )

        step = part_step(
            store, "retrieval_scores", ledger_key(key), partition, wanted, make, context.run.run_id
        )
        scores = store.read("retrieval_scores", partition)
        outside = sum(not 0.0 <= value <= 1.0 + 1e-9 for value in scores["value"].to_pylist())
        step.checks = [check("values_in_range", not outside, outside=outside)]
        step.metadata = _means(scores)
        return step

    yield from result_or_skipped(each_partition(context, store, work), ["values_in_range"])


def _means(scores: pa.Table) -> dict[str, float]:
    kept = scores.filter(
        pc.and_(pc.equal(scores["k"], 5), pc.is_in(scores["metric"], pa.array(["doc_rec", "page_rec"])))
    )
    means = kept.group_by(["metric", "space"]).aggregate([("value", "mean")]).to_pylist()
    return {f"{row['metric']}_at_5_{row['space']}": round(row["value_mean"], 4) for row in means}
