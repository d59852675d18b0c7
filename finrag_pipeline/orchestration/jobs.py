"""Jobs: one filing from original to searchable, the evaluation of the active benchmark, upkeep.

Concept: https://docs.dagster.io/guides/build/jobs
"""

import dagster as dg

from finrag_pipeline.chunking.registry import CHUNKINGS
from finrag_pipeline.evaluation.benchmark import active_benchmark
from finrag_pipeline.orchestration.checks import corpus as corpus_checks
from finrag_pipeline.orchestration.resources.settings import LakeResource, SettingsResource, get_encoder
from finrag_pipeline.schemas.catalogue import INDEX_FILING, INDEX_ON_DEMAND, VECTORS, made_by

CORPUS_CHECKS = dg.AssetSelection.checks(
    *(value for value in vars(corpus_checks).values() if isinstance(value, dg.AssetChecksDefinition))
)


def _job(name: str, description: str, hours: int | None = None) -> "dg.UnresolvedAssetJobDefinition":
    """The job that makes what the catalogue says; steps share a process, which costs more than most of them.

    Checks over the corpus are looked at when it is published, not with every filing.
    """
    made = dg.AssetSelection.assets(*made_by(name))
    return dg.define_asset_job(
        name,
        selection=made | CORPUS_CHECKS if name == "publish" else made - CORPUS_CHECKS,
        executor_def=dg.in_process_executor,
        description=description,
        tags={"dagster/max_runtime": str(3600 * hours)} if hours else None,
    )


index_filing_job = _job(
    INDEX_FILING, "From the original of a filing to search. The inbox sensor launches it per filing.", 2
)
index_on_demand_job = _job(
    INDEX_ON_DEMAND,
    "Vectors of a filing's chunks, its context-aware chunks, its parents and children.",
    2,
)
prepare_benchmark_job = _job(
    "prepare_benchmark",
    "Questions, folds, corpus statistics, the lexical index over all filings in the lake, and every weight "
    "of the hybrid tried on every question.",
)
sweep_job = _job("sweep", "Rankings and scores of one system on the folds of the active benchmark.", 4)
publish_job = _job(
    "publish", "Metrics with intervals, the warehouse, the report, and the checks over the corpus."
)
_TRAINING = "each without its questions, and that for searching"
_SLOW = "not part of 'finrag run', because it takes hours without a GPU."
TRAINING_JOBS = {
    "page_ranker": _job("train_page_ranker", f"The page rankers of the folds, {_TRAINING}.", 4),
    "page_scorer": _job(
        "train_page_scorer", f"The learned page scorers of the folds, {_TRAINING}; {_SLOW}", 24
    ),
    "reranker": _job("train_reranker", f"The cross-encoders of the folds, {_TRAINING}; {_SLOW}", 24),
}
"""By what they train; every week those that a search uses are trained again where their data changed."""
OTHER_JOBS = (
    _job(
        "answer",
        "Answers and scores of one answering system on the folds of the active benchmark; its retrieval must "
        "have been run.",
        4,
    ),
    _job("publish_answers", "Recorded answers of other models, and means with intervals of all answers."),
    _job(
        "judge",
        "Sentences, automatic metrics and verdicts on the answers of one system; they must have been made.",
        4,
    ),
    _job(
        "publish_judgements",
        "Rates, calibration of the judges, sheets and labels of people, estimates of both, tests between "
        "systems, and simulations.",
        4,
    ),
)
"""Jobs that no sensor or schedule launches."""


@dg.op(pool=VECTORS)
def compact_lake(context: dg.OpExecutionContext, settings: SettingsResource, lake: LakeResource) -> None:
    """Compact LanceDB, drop its versions older than a day, and remove what killed runs left behind.

    Vectors of filings without chunks go too, and results that are not measured any more.
    """
    from finrag_pipeline.orchestration.answer_sweep import answers_to_other_questions
    from finrag_pipeline.orchestration.corpora import drop, stale_results
    from finrag_pipeline.retrieval.chunk_index import open_chunk_index, searchable_filings

    store, values = lake.open(), settings.get()
    encoder = get_encoder(values, store)
    for chunking in CHUNKINGS.values():
        index = open_chunk_index(store, encoder, values, chunking)
        index.remove(index.filings() - set(searchable_filings(store, chunking)))
        index.optimize()
        context.log.info(f"{index.name}: {index.count()} vectors")
    if active_benchmark(store) and store.info("folds"):
        drop(store, stale_results(store, values) + answers_to_other_questions(store))
    leftovers = store.leftovers()
    for path in leftovers:
        store.fs.rm(path, recursive=True)
    context.log.info(f"removed {len(leftovers)} leftover files")


@dg.job(executor_def=dg.in_process_executor, description="Upkeep of the lake, every night.")
def compact_lake_job() -> None:
    """Upkeep of the lake."""
    compact_lake()
