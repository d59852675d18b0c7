"""Jobs: a filing from original to searchable, the evaluation of the benchmark, upkeep.

Concept: https://docs.dagster.io/guides/build/jobs
"""

from collections.abc import Hashable
from typing import Any

import dagster as dg

from finrag_pipeline.chunking.registry import CHUNKINGS
from finrag_pipeline.evaluation.benchmark import active_benchmark, benchmark_filings
from finrag_pipeline.orchestration import checks
from finrag_pipeline.orchestration.resources import LakeResource, SettingsResource, get_encoder, make_corpus
from finrag_pipeline.retrieval.systems import ABLATIONS, SYSTEMS, get_system
from finrag_pipeline.schemas import TABLES
from finrag_pipeline.schemas.catalogue import CATALOGUE, INDEX_FILING, INDEX_ON_DEMAND, VECTORS, made_by
from finrag_pipeline.storage.lake import Lake

_TRAINING = "each without its questions, and that for searching"
_SLOW = "not part of 'finrag run', because it takes hours without a GPU."
_DESCRIBED: dict[str, tuple[str, int | None]] = {
    INDEX_FILING: ("From the original of a filing to search. The inbox sensor launches it per filing.", 2),
    INDEX_ON_DEMAND: (
        "Vectors of a filing's chunks, its context-aware chunks, its parents and children.",
        2,
    ),
    "prepare_benchmark": (
        "Questions, folds, corpus statistics, the lexical index over all filings in the lake, and every "
        "weight of the hybrid tried on every question.",
        None,
    ),
    "sweep": ("Rankings and scores of one system on the folds of the active benchmark.", 4),
    "publish": ("Metrics with intervals, the warehouse, the report, and the checks over the corpus.", None),
    "train_page_ranker": (f"The page rankers of the folds, {_TRAINING}.", 4),
    "train_page_scorer": (f"The learned page scorers of the folds, {_TRAINING}; {_SLOW}", 24),
    "train_reranker": (f"The cross-encoders of the folds, {_TRAINING}; {_SLOW}", 24),
    "answer": (
        "Answers and scores of one answering system on the folds of the active benchmark; its retrieval must "
        "have been run.",
        4,
    ),
    "publish_answers": (
        "Recorded answers of other models, and means with intervals of all answers.",
        None,
    ),
    "judge": (
        "Sentences, automatic metrics and verdicts on the answers of one system; they must have been made.",
        4,
    ),
    "publish_judgements": (
        "Rates, calibration of the judges, sheets and labels of people, estimates of both, tests between "
        "systems, and simulations.",
        4,
    ),
}
"""Descriptions of jobs, and the hours that a run may take."""
_CORPUS_CHECKS = dg.AssetSelection.checks(
    *(value for value in vars(checks).values() if isinstance(value, dg.AssetChecksDefinition))
)


def _job(name: str) -> "dg.UnresolvedAssetJobDefinition":
    """The job that makes what the catalogue says; steps share a process, which costs more than most of them.

    Checks over the corpus are looked at when it is published, not with every filing.
    """
    made = dg.AssetSelection.assets(*made_by(name))
    description, hours = _DESCRIBED.get(name, (None, None))
    return dg.define_asset_job(
        name,
        selection=made | _CORPUS_CHECKS if name == "publish" else made - _CORPUS_CHECKS,
        executor_def=dg.in_process_executor,
        description=description,
        tags={"dagster/max_runtime": str(3600 * hours)} if hours else None,
    )


JOBS = {name: _job(name) for name in dict.fromkeys(entry.job for entry in CATALOGUE.values())}
"""Jobs of the catalogue, by name."""


@dg.op(pool=VECTORS)
def compact_lake(context: dg.OpExecutionContext, settings: SettingsResource, lake: LakeResource) -> None:
    """Compact LanceDB, drop its versions older than a day, and remove what killed runs left or nothing uses.

    Vectors of filings without chunks go too, and results that are not measured any more; lexical indexes of
    another corpus after a day; indexes of other settings, what was damaged and old runs after ``keep_days``.
    """
    from finrag_pipeline.orchestration.sweeps import answers_to_other_questions, drop, stale_results
    from finrag_pipeline.retrieval.chunk_index import open_chunk_index, searchable_filings

    store, values = lake.open(), settings.get()
    encoder, kept = get_encoder(values, store), values.keep_days * _DAY
    indexes = {".writer.lock"}
    for chunking in CHUNKINGS.values():
        index = open_chunk_index(store, encoder, values, chunking)
        indexes |= {f"{index.name}.lance", f".{index.name}.sha256.json"}
        index.remove(index.filings() - set(searchable_filings(store, chunking)))
        index.optimize()
        context.log.info(f"{index.name}: {index.count()} vectors")
    corpora = [searchable_filings(store)]
    if active_benchmark(store) and store.info("folds"):
        drop(store, stale_results(store, values) + answers_to_other_questions(store))
        corpora.append(benchmark_filings(store))
    systems, shared = [get_system(name) for name in (*SYSTEMS, *ABLATIONS)], dict[Hashable, Any]()
    lexical = {
        make_corpus(values, store, own, one, shared).bm25_folder[-1] for own in corpora for one in systems
    }
    removed = [
        store.remove_superseded("bm25", used=lexical, older_than=_DAY),
        store.remove_superseded("lance", used=indexes, older_than=kept),
        store.remove_superseded("damaged", older_than=kept),
        *(
            store.remove_superseded("models", kind, used=_models(store, kind), older_than=kept)
            for kind in TRAINED
        ),
    ]
    context.log.info(
        f"removed {store.remove_leftovers()} leftover files, and {sum(removed)} that nothing uses"
    )


_DAY = 86_400.0
TRAINED = ("page_ranker", "page_scorer", "reranker")
"""What is trained fold by fold."""


def _models(store: Lake, kind: str) -> set[str]:
    """Folders of the models of a kind that its table tells of: by its fingerprints, or in a column."""
    named = store.read_all(kind, ["model"])["model"].to_pylist() if "model" in TABLES[kind].names else []
    return {*store.fingerprints(kind), *named}


@dg.job(executor_def=dg.in_process_executor, description="Upkeep of the lake, every night.")
def compact_lake_job() -> None:
    """Upkeep of the lake."""
    compact_lake()
