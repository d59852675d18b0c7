"""Tuning: what systems choose by measuring, kept question by question so that a fold can be left out."""

import pyarrow.compute as pc

from finrag_pipeline.orchestration.corpora import asked, benchmark_filings
from finrag_pipeline.orchestration.fingerprints import versions
from finrag_pipeline.orchestration.metadata import picture
from finrag_pipeline.orchestration.partitions import FOLD_COUNT
from finrag_pipeline.orchestration.resources.settings import get_corpus
from finrag_pipeline.orchestration.steps import Part, Step, table_asset
from finrag_pipeline.reporting.plots import alpha_plot
from finrag_pipeline.retrieval.alpha import GRID, alpha_means, alpha_sweep
from finrag_pipeline.retrieval.component import Inputs
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import SYSTEMS
from finrag_pipeline.storage.fingerprints import fingerprint


@table_asset(optional=True)  # without vectors of the chunks there is nothing to weigh
def hybrid_alpha_sweep(part: Part) -> Step:
    """PageRec@5 and DocRec@5 of every weight of the hybrid on every question; a fold asks the others.

    Where filings have no vectors of their chunks, nothing is materialised, and the log says so.
    """
    from finrag_pipeline.rankers.registry import alphas_without

    store = part.store
    system = SYSTEMS["hybrid_alpha"]
    inputs = Inputs(get_corpus(part.values, store, benchmark_filings(store), system))
    if problem := system.not_made(inputs):
        return part.skipped(problem)
    questions = part.read("benchmark_questions")
    questions = questions.filter(pc.equal(questions["status"], "measured"))
    code = versions("hybrid_alpha_sweep")
    wanted = fingerprint("hybrid_alpha_sweep", code, GRID, system.fingerprint(inputs), asked(questions))
    step = part.made(lambda: alpha_sweep(system, inputs, questions.to_pylist()), wanted=wanted)
    means = alpha_means(part.read())
    of_folds = [alphas_without(store, fold) for fold in range(FOLD_COUNT)]
    chosen = {space.value: [found[space] for found in of_folds if space in found] for space in Space}
    plot = alpha_plot(means, chosen, fmt="png")
    step.metadata = {
        "sweep": picture(plot, "Page recall over the weight of the dense score"),
        "chosen": {space: [round(alpha, 2) for alpha in alphas] for space, alphas in chosen.items()},
        **{f"alpha_{space}": alpha for space, alpha in alphas_without(store, None).items()},
    }
    return step
