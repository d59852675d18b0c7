"""The retrieval gap: the first level at which each question is lost, failure modes, and their counts."""

import dagster as dg
import pyarrow as pa

from finrag_pipeline.evaluation.retrieval_gap import GAP_VERSION, answer_outcomes
from finrag_pipeline.evaluation.retrieval_gap import gap_counts as count_gap
from finrag_pipeline.evaluation.retrieval_gap import retrieval_gap as measure_gap
from finrag_pipeline.judging.baseline import BASELINE_VERSION
from finrag_pipeline.orchestration.assets.answering import answer_scores
from finrag_pipeline.orchestration.assets.reporting import system_metrics
from finrag_pipeline.orchestration.assets.retrieval import retrieval_runs
from finrag_pipeline.orchestration.gap_sources import READ, judged_outcomes, read_gap_sources
from finrag_pipeline.orchestration.metadata import picture
from finrag_pipeline.orchestration.resources.settings import LakeResource, SettingsResource
from finrag_pipeline.orchestration.steps import part_step, result, table_asset
from finrag_pipeline.reporting.gap_levels import gap_markdown
from finrag_pipeline.reporting.plots import gap_levels_plot
from finrag_pipeline.storage.fingerprints import fingerprint

JUDGE = "the deterministic judge"


@table_asset(
    retrieval_runs,
    answer_scores,
    system_metrics,  # which removes the runs that are no longer measured
    group="evaluation",
    version=GAP_VERSION,
)
def retrieval_gap(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult:
    """The first level lost of every question, retrieval and answer over it, with failure modes."""
    store = lake.open()
    questions = store.read("benchmark_questions")
    tables = ("retrieval_runs", "answers", "answer_scores", "benchmark_questions", *READ)
    wanted = fingerprint("retrieval_gap", GAP_VERSION, BASELINE_VERSION, store.fingerprints(*tables))

    def make() -> pa.Table:
        answers = store.read_all("answers")
        judged = judged_outcomes(answers, questions)
        return measure_gap(
            store.read_all("retrieval_runs"),
            questions,
            read_gap_sources(store),
            answers,
            answer_outcomes(answers, store.read_all("answer_scores"), judged, JUDGE),
            expected={keys["system"] for keys in store.partitions("retrieval_runs")},
        )

    return result([part_step(store, "retrieval_gap", "", None, wanted, make, context.run.run_id)])


@table_asset(retrieval_gap, group="evaluation", version=GAP_VERSION)
def gap_counts(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """Questions by first level lost and by failure mode, per system, with intervals over filings."""
    store, values = lake.open(), settings.get()
    made_from = store.info("retrieval_gap")
    wanted = fingerprint(
        "gap_counts", GAP_VERSION, made_from.fingerprint if made_from else None, values.evaluation.confidence
    )

    def make() -> pa.Table:
        questions = store.read("benchmark_questions", columns=["question_id", "filing"])
        return count_gap(store.read("retrieval_gap"), questions, values.evaluation.confidence)

    step = part_step(store, "gap_counts", "", None, wanted, make, context.run.run_id)
    counts = store.read("gap_counts")
    return result(
        [step],
        table=dg.MetadataValue.md(gap_markdown(counts)),
        levels=picture(
            gap_levels_plot(counts, fmt="png"), "First level lost per system, share of the questions"
        ),
    )
