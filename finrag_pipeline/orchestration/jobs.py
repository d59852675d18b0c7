"""Jobs: one filing from original to searchable, the evaluation of the active benchmark, upkeep.

Concept: https://docs.dagster.io/guides/build/jobs
"""

import dagster as dg

from finrag_pipeline.chunking.registry import CHUNKINGS, ON_DEMAND
from finrag_pipeline.orchestration.checks import corpus as corpus_checks
from finrag_pipeline.orchestration.pools import VECTORS
from finrag_pipeline.orchestration.resources.settings import LakeResource, SettingsResource, get_encoder
from finrag_pipeline.schemas import PER_FILING

BENCHMARK = ("benchmark_questions", "folds", "corpus_statistics")
SWEEP = ("retrieval_runs", "retrieval_scores")
ANSWERS = ("answers", "answer_scores")
JUDGE = ("answer_sentences", "automatic_scores", "verdicts")
JUDGEMENTS = (
    "recorded_verdicts",
    "answer_rates",
    "judge_calibration",
    "label_sample",
    "human_labels",
    "judged_estimates",
    "judge_agreement",
    "system_comparisons",
    "judge_sensitivity",
    "interval_coverage",
)
PUBLISH = ("system_metrics", "retrieval_gap", "gap_counts", "warehouse", "report")

CORPUS_CHECKS = dg.AssetSelection.checks(
    *(value for value in vars(corpus_checks).values() if isinstance(value, dg.AssetChecksDefinition))
)

# Steps of one filing share a process: starting one per step would cost more than the steps.
index_filing_job = dg.define_asset_job(
    "index_filing",
    selection=dg.AssetSelection.assets(*PER_FILING) - CORPUS_CHECKS,
    executor_def=dg.in_process_executor,
    description="From the original of a filing to search. The inbox sensor launches it per filing.",
    tags={"dagster/max_runtime": "7200"},
)

prepare_benchmark_job = dg.define_asset_job(
    "prepare_benchmark",
    selection=dg.AssetSelection.assets(*BENCHMARK, "bm25_index", "hybrid_alpha_sweep") - CORPUS_CHECKS,
    executor_def=dg.in_process_executor,
    description="Questions, folds, corpus statistics, the lexical index over all filings in the lake, and "
    "every weight of the hybrid tried on every question.",
)

index_on_demand_job = dg.define_asset_job(
    "index_on_demand",
    selection=dg.AssetSelection.assets(*ON_DEMAND) - CORPUS_CHECKS,
    executor_def=dg.in_process_executor,
    description="Vectors of a filing's chunks, its context-aware chunks, its parents and children.",
    tags={"dagster/max_runtime": "7200"},
)

train_page_ranker_job = dg.define_asset_job(
    "train_page_ranker",
    selection=dg.AssetSelection.assets("page_ranker"),
    executor_def=dg.in_process_executor,
    description="The page rankers of the folds, each without its questions, and the one for searching.",
    tags={"dagster/max_runtime": "14400"},
)

train_page_scorer_job = dg.define_asset_job(
    "train_page_scorer",
    selection=dg.AssetSelection.assets("page_scorer"),
    executor_def=dg.in_process_executor,
    description="The learned page scorers of the folds, each without its questions, and that for searching; "
    "not part of 'finrag run', because it takes hours without a GPU.",
    tags={"dagster/max_runtime": "86400"},
)

train_reranker_job = dg.define_asset_job(
    "train_reranker",
    selection=dg.AssetSelection.assets("reranker"),
    executor_def=dg.in_process_executor,
    description="The cross-encoders of the folds, each without its questions, and that for searching; "
    "not part of 'finrag run', because it takes hours without a GPU.",
    tags={"dagster/max_runtime": "86400"},
)

sweep_job = dg.define_asset_job(
    "sweep",
    selection=dg.AssetSelection.assets(*SWEEP),
    executor_def=dg.in_process_executor,
    description="Rankings and scores of one system on the folds of the active benchmark.",
    tags={"dagster/max_runtime": "14400"},
)

answer_job = dg.define_asset_job(
    "answer",
    selection=dg.AssetSelection.assets(*ANSWERS),
    executor_def=dg.in_process_executor,
    description="Answers and scores of one answering system on the folds of the active "
    "benchmark; its retrieval must "
    "have been run.",
    tags={"dagster/max_runtime": "14400"},
)

publish_answers_job = dg.define_asset_job(
    "publish_answers",
    selection=dg.AssetSelection.assets("recorded_answers", "answer_metrics", "false_answers"),
    executor_def=dg.in_process_executor,
    description="Recorded answers, means with intervals of all answers, and questions that have none.",
)

judge_job = dg.define_asset_job(
    "judge",
    selection=dg.AssetSelection.assets(*JUDGE),
    executor_def=dg.in_process_executor,
    description="Sentences, automatic metrics and verdicts on the answers of one system; they must have been "
    "made.",
    tags={"dagster/max_runtime": "14400"},
)

publish_judgements_job = dg.define_asset_job(
    "publish_judgements",
    selection=dg.AssetSelection.assets(*JUDGEMENTS),
    executor_def=dg.in_process_executor,
    description="Rates, calibration of the judges, sheets and labels of people, estimates of both, tests "
    "between systems, and simulations.",
    tags={"dagster/max_runtime": "14400"},
)

publish_job = dg.define_asset_job(
    "publish",
    selection=dg.AssetSelection.assets(*PUBLISH) | CORPUS_CHECKS,
    executor_def=dg.in_process_executor,
    description="Metrics with intervals, the warehouse, the report, and the checks over the corpus.",
)


@dg.op(pool=VECTORS)
def compact_lake(context: dg.OpExecutionContext, settings: SettingsResource, lake: LakeResource) -> None:
    """Compact LanceDB, drop its versions older than a day, and remove what killed runs left behind.

    Vectors of filings without chunks go too.
    """
    from finrag_pipeline.retrieval.chunk_index import open_chunk_index, searchable_filings

    store, values = lake.open(), settings.get()
    encoder = get_encoder(values, store)
    for chunking in CHUNKINGS.values():
        index = open_chunk_index(store, encoder, values, chunking)
        index.remove(index.filings() - set(searchable_filings(store, chunking)))
        index.optimize()
        context.log.info(f"{index.name}: {index.count()} vectors")
    leftovers = store.leftovers()
    for path in leftovers:
        store.fs.rm(path, recursive=True)
    context.log.info(f"removed {len(leftovers)} leftover files")


@dg.job(executor_def=dg.in_process_executor, description="Upkeep of the lake, every night.")
def compact_lake_job() -> None:
    """Upkeep of the lake."""
    compact_lake()
