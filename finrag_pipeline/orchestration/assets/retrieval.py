"""Retrieval: rankings and per-question scores of every system, fold by fold."""

from collections.abc import Callable
from functools import lru_cache

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import BenchmarkError, LakeError
from finrag_pipeline.evaluation.benchmark_registry import get_benchmark
from finrag_pipeline.evaluation.retrieval_metrics import METRICS_VERSION, find_gold_chunks, score_runs
from finrag_pipeline.orchestration.assets.benchmark import OWNERS, folds
from finrag_pipeline.orchestration.assets.indexing import chunk_index, contextual_index
from finrag_pipeline.orchestration.fingerprints import runs_fingerprint, scores_fingerprint
from finrag_pipeline.orchestration.partitions import fold_number, fold_partitions, sweep_partitions
from finrag_pipeline.orchestration.resources.settings import LakeResource, SettingsResource, get_corpus
from finrag_pipeline.orchestration.steps import (
    Step,
    check,
    column_schema,
    each_partition,
    ledger_key,
    part_step,
    result,
)
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.runner import run_system
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import ALL_SYSTEMS, SYSTEMS_VERSION, RetrievalSystem, get_system
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake

# One run per system: its models and indexes are loaded once for all folds.
ONE_SYSTEM_PER_RUN = dg.BackfillPolicy.single_run()


def benchmark_filings(store: Lake) -> tuple[str, ...]:
    """Filings of the benchmark's corpus that could be read and chunked."""
    chunked = {keys["filing"] for keys in store.partitions("filing_chunks")}
    names = tuple(filing for filing in get_benchmark(store).filings if filing in chunked)
    if not names:
        raise BenchmarkError(
            "None of the benchmark's filings could be read.", "See the failures of filing_pages."
        )
    return names


def fold_questions(store: Lake, fold: int) -> pa.Table:
    """Measured questions that are tested in ``fold``."""
    table = store.read("folds")
    tested = table.filter(pc.equal(table["fold"], fold))["question_id"]
    questions = store.read("benchmark_questions")
    return questions.filter(pc.is_in(questions["question_id"], tested.combine_chunks()))


def corpora(values: Settings, store: Lake) -> Callable[[RetrievalSystem], Corpus]:
    """The corpus of each system; what one consists of is read from the lake once, not for every fold."""
    names = benchmark_filings(store)

    @lru_cache(maxsize=1)  # the last one alone: a loaded corpus is large
    def corpus_of(system: RetrievalSystem) -> Corpus:
        return get_corpus(values, store, names, system)

    return corpus_of


def drop_stale_results(store: Lake, values: Settings) -> list[str]:
    """Remove runs and scores that were made on another corpus, other questions or another configuration.

    Only the systems of a sweep are made anew. What the others left from before must not stand beside them:
    their figures would be those of another corpus.

    Returns:
        Systems of which something was removed.
    """
    corpus_of = corpora(values, store)
    dropped = set()
    found = [*store.partitions("retrieval_runs"), *store.partitions("retrieval_scores")]
    for keys in sorted(found, key=lambda keys: keys["system"]):
        runs = scores = None
        if keys["system"] in ALL_SYSTEMS and keys["fold"] in fold_partitions.get_partition_keys():
            questions = fold_questions(store, fold_number(keys["fold"]))
            system = ALL_SYSTEMS[keys["system"]]
            runs = runs_fingerprint(system, corpus_of(system), values, questions)
            scores = scores_fingerprint(runs, questions)
        for asset, wanted in (("retrieval_runs", runs), ("retrieval_scores", scores)):
            info = store.info(asset, keys)
            if info is not None and info.fingerprint != wanted:
                store.remove(asset, keys)
                dropped.add(keys["system"])
    return sorted(dropped)


def split_key(key: str) -> tuple[str, str]:
    """Fold and system of a sweep partition."""
    keys = key.keys_by_dimension if isinstance(key, dg.MultiPartitionKey) else {}
    return keys["fold"], keys["system"]


@dg.asset(
    deps=[
        dg.AssetDep(chunk_index, partition_mapping=dg.AllPartitionMapping()),
        dg.AssetDep(contextual_index, partition_mapping=dg.AllPartitionMapping()),
        dg.AssetDep(folds),
    ],
    partitions_def=sweep_partitions,
    backfill_policy=ONE_SYSTEM_PER_RUN,
    group_name="retrieval",
    kinds={"python", "parquet"},
    owners=OWNERS,
    code_version=SYSTEMS_VERSION,
    metadata=column_schema("retrieval_runs"),
    check_specs=[
        dg.AssetCheckSpec(
            "every_question_ranked",
            asset="retrieval_runs",
            blocking=True,
            description="No question is left out.",
        )
    ],
)
def retrieval_runs(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """Ranked chunks of a system for the questions of a fold, in all three search spaces."""
    store, values = lake.open(), settings.get()
    corpus_of = corpora(values, store)

    def work(key: str) -> Step:
        fold, name = split_key(key)
        system = get_system(name)
        corpus = corpus_of(system)
        questions = fold_questions(store, fold_number(fold))
        wanted = runs_fingerprint(system, corpus, values, questions)

        def make() -> pa.Table:
            return run_system(system, corpus, questions.to_pylist())

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

    return result(each_partition(context, store, work))


@dg.asset(
    deps=[retrieval_runs],
    partitions_def=sweep_partitions,
    backfill_policy=ONE_SYSTEM_PER_RUN,
    group_name="retrieval",
    kinds={"python", "parquet"},
    owners=OWNERS,
    code_version=METRICS_VERSION,
    metadata=column_schema("retrieval_scores"),
    check_specs=[
        dg.AssetCheckSpec(
            "values_in_range",
            asset="retrieval_scores",
            blocking=True,
            description="Every value lies in [0, 1].",
        )
    ],
)
def retrieval_scores(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """Scores of a system on each question of a fold: the rows that every mean and plot is a view on."""
    store, values = lake.open(), settings.get()
    corpus_of = corpora(values, store)

    def work(key: str) -> Step:
        fold, name = split_key(key)
        corpus = corpus_of(get_system(name))
        partition = {"system": name, "fold": fold}
        info = store.info("retrieval_runs", partition)
        if info is None:
            raise LakeError(
                f"The lake holds no run of {name} on {fold}.", "Materialise retrieval_runs first."
            )
        questions = fold_questions(store, fold_number(fold))
        wanted = scores_fingerprint(info.fingerprint, questions)

        def make() -> pa.Table:
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

    return result(each_partition(context, store, work))


def _means(scores: pa.Table) -> dict[str, float]:
    kept = scores.filter(
        pc.and_(pc.equal(scores["k"], 5), pc.is_in(scores["metric"], pa.array(["doc_rec", "page_rec"])))
    )
    means = kept.group_by(["metric", "space"]).aggregate([("value", "mean")]).to_pylist()
    return {f"{row['metric']}_at_5_{row['space']}": round(row["value_mean"], 4) for row in means}
