"""Tuning: what systems choose by measuring, kept question by question so that a fold can be left out."""

from collections.abc import Iterator

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.orchestration.assets.benchmark import benchmark_questions, folds
from finrag_pipeline.orchestration.assets.indexing import chunk_index
from finrag_pipeline.orchestration.corpora import benchmark_filings
from finrag_pipeline.orchestration.fingerprints import alpha_sweep_fingerprint
from finrag_pipeline.orchestration.metadata import picture
from finrag_pipeline.orchestration.partitions import FOLD_COUNT
from finrag_pipeline.orchestration.resources.settings import LakeResource, SettingsResource, get_corpus
from finrag_pipeline.orchestration.steps import part_step, result, skipped_step, table_asset
from finrag_pipeline.reporting.plots import alpha_plot
from finrag_pipeline.retrieval.alpha import ALPHA_VERSION, alpha_means, alpha_sweep
from finrag_pipeline.retrieval.component import Inputs
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import SYSTEMS


@table_asset(
    chunk_index,
    benchmark_questions,
    folds,
    group="retrieval",
    version=ALPHA_VERSION,
    table="retrieval_scores",
    output_required=False,  # without vectors of the chunks there is nothing to weigh
)
def hybrid_alpha_sweep(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> Iterator[dg.MaterializeResult]:
    """PageRec@5 and DocRec@5 of every weight of the hybrid on every question; a fold asks the others.

    Where filings have no vectors of their chunks, nothing is materialised, and the log says so.
    """
    from finrag_pipeline.rankers.registry import ALPHA_SWEEP, alphas_without

    store, values = lake.open(), settings.get()
    system = SYSTEMS["hybrid_alpha"]
    inputs = Inputs(get_corpus(values, store, benchmark_filings(store), system))
    if problem := system.not_made(inputs):
        context.log.warning(f"The weights are not tried: {problem}")
        skipped_step(store, ALPHA_SWEEP, "", problem, context.run.run_id)
        return
    questions = store.read("benchmark_questions")
    questions = questions.filter(pc.equal(questions["status"], "measured"))

    def make() -> pa.Table:
        return alpha_sweep(system, inputs, questions.to_pylist())

    wanted = alpha_sweep_fingerprint(system, inputs, questions)
    step = part_step(
        store, ALPHA_SWEEP, "", None, wanted, make, context.run.run_id, schema="retrieval_scores"
    )
    means = alpha_means(store.read(ALPHA_SWEEP))
    of_folds = [alphas_without(store, fold) for fold in range(FOLD_COUNT)]
    chosen = {space.value: [found[space] for found in of_folds if space in found] for space in Space}
    yield result(
        [step],
        sweep=picture(alpha_plot(means, chosen, fmt="png"), "Page recall over the weight of the dense score"),
        chosen={space: [round(alpha, 2) for alpha in alphas] for space, alphas in chosen.items()},
        **{f"alpha_{space}": alpha for space, alpha in alphas_without(store, None).items()},
    )
