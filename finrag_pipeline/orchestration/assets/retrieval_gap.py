"""The retrieval gap: the first level at which each question is lost, failure modes, and their counts."""

import dagster as dg
import pyarrow as pa

from finrag_pipeline.evaluation.benchmark import benchmark_filings
from finrag_pipeline.evaluation.retrieval_gap import answer_outcomes, read_texts
from finrag_pipeline.evaluation.retrieval_gap import gap_counts as count_gap
from finrag_pipeline.evaluation.retrieval_gap import retrieval_gap as measure_gap
from finrag_pipeline.orchestration.steps import Part, Step, picture, table_asset
from finrag_pipeline.orchestration.sweeps import measured_systems
from finrag_pipeline.reporting.plots import gap_levels_plot
from finrag_pipeline.reporting.tables import gap_markdown


@table_asset()
def retrieval_gap(part: Part) -> Step:
    """The first level lost of every question, retrieval and answer over it, with failure modes."""
    store = part.store
    questions, measured = store.read("benchmark_questions"), measured_systems(store)

    def make() -> pa.Table:
        answers = store.read_all("answers")
        return measure_gap(
            store.read_all("retrieval_runs", only={"system": measured}),
            questions,
            read_texts(store, benchmark_filings(store)),
            answers,
            answer_outcomes(answers, store.read_all("answer_scores"), questions),
            expected=measured,
        )

    return part.made(make)


@table_asset()
def gap_counts(part: Part) -> Step:
    """Questions by first level lost and by failure mode, per system, with intervals over filings."""

    def make() -> pa.Table:
        questions = part.store.read("benchmark_questions", columns=["question_id", "filing"])
        return count_gap(part.read("retrieval_gap"), questions, part.values.evaluation.confidence)

    step = part.made(make)
    counts = part.read()
    plot = gap_levels_plot(counts, fmt="png")
    step.metadata = {
        "table": dg.MetadataValue.md(gap_markdown(counts)),
        "levels": picture(plot, "First level lost per system, share of the questions"),
    }
    return step
