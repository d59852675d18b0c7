"""Comparisons: tests between systems, and simulations that show what judges and intervals are worth."""

import dagster as dg
import pyarrow as pa

from finrag_pipeline.evaluation.paired_tests import ANSWERS, RETRIEVAL, compare_families
from finrag_pipeline.evaluation.simulations import interval_coverage as simulate_intervals
from finrag_pipeline.evaluation.simulations import sensitivity_to_agreement
from finrag_pipeline.orchestration.corpora import measured_systems
from finrag_pipeline.orchestration.metadata import picture
from finrag_pipeline.orchestration.steps import Part, Step, check, table_asset
from finrag_pipeline.reporting.grid import grid_markdown
from finrag_pipeline.reporting.plots import coverage_plot, sensitivity_plot
from finrag_pipeline.reporting.tables import comparison_grid
from finrag_pipeline.schemas import SYSTEM_COMPARISONS

AGREEMENTS = tuple(round(0.62 + 0.02 * step, 2) for step in range(15)) + tuple(
    round(0.91 + 0.01 * step, 2) for step in range(9)
)
"""Agreements of people and judge that are simulated: 62 % to 99 %, closer where it matters."""

_HOLD = {"clustered", "ppi"}
"""Intervals that must hold the truth in every study."""


@table_asset(
    blocking_checks={
        "corrected_p_values": "No corrected p-value is below its own, "
        "and every difference lies in its interval."
    }
)
def system_comparisons(part: Part) -> Step:
    """Paired tests: retrieval against dense and the page scorer, answers against the calculator."""
    store, values = part.store, part.values
    confidence = values.evaluation.confidence

    def make() -> pa.Table:
        from finrag_pipeline.evaluation.answer_metrics import as_series

        questions = store.read("benchmark_questions")
        answers = as_series(store.read_all("answer_scores"))
        retrieval = store.read_all("retrieval_scores", only={"system": measured_systems(store)})
        scored = ((retrieval, RETRIEVAL), (answers, ANSWERS))
        compared = [
            compare_families(scores, questions, families, confidence=confidence, seed=values.seed)
            for scores, families in scored
        ]
        return pa.concat_tables([SYSTEM_COMPARISONS.empty_table(), *compared])

    step = part.made(make)
    found = part.read()
    rows = found.to_pylist()
    broken = [
        row
        for row in rows
        if row["p_value"] is not None
        and not (row["p_value"] <= row["p_holm"] <= 1 and row["low"] <= row["difference"] <= row["high"])
    ]
    step.checks = [check("corrected_p_values", not broken, broken=len(broken))]
    sure = sum(row["p_holm"] is not None and row["p_holm"] < 1 - confidence for row in rows)
    table = dg.MetadataValue.md(grid_markdown(comparison_grid(found)))
    step.metadata = {"significant": sure, "table": table}
    return step


@table_asset()
def judge_sensitivity(part: Part) -> Step:
    """What a judge is worth: half width of the PPI++ interval over its agreement with people, simulated."""
    values = part.values
    draws, confidence = values.judge.simulation_draws, values.evaluation.confidence

    def make() -> pa.Table:
        return sensitivity_to_agreement(AGREEMENTS, confidence=confidence, draws=draws, seed=values.seed)

    step = part.made(make, AGREEMENTS)
    found = part.read()
    rows = found.to_pylist()
    plot = picture(sensitivity_plot(rows, fmt="png"), "Half width of the interval over agreement with people")
    widths = {f"half_width_at_{100 * row['agreement']:.0f}": row["half_width"] for row in rows[-9:]}
    step.metadata = {"plot": plot, **widths}
    return step


@table_asset(
    checks={"intervals_hold": "Intervals over questions hold the truth as often as they say, in every study."}
)
def interval_coverage(part: Part) -> Step:
    """How often each interval holds the truth in simulated studies, with its mean half width."""
    values = part.values
    draws, confidence = values.judge.simulation_draws, values.evaluation.confidence
    step = part.made(lambda: simulate_intervals(draws=draws, confidence=confidence, seed=values.seed))
    found = part.read()
    rows = found.to_pylist()
    # One point below what is aimed at, and three standard errors of the simulation.
    least = confidence - 0.01 - 3 * (confidence * (1 - confidence) / draws) ** 0.5
    short = [row for row in rows if row["interval"] in _HOLD and row["coverage"] < least]
    told = "; ".join(f"{row['interval']}, {row['study']}: {row['coverage']:.3f}" for row in short) or None
    step.checks = [check("intervals_hold", not short, description=told)]
    plot = picture(coverage_plot(rows, confidence, fmt="png"), "Coverage by interval and study")
    step.metadata = {"plot": plot}
    return step
