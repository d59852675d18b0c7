"""Comparisons: tests between systems, and simulations that show what judges and intervals are worth."""

import dagster as dg
import pyarrow as pa

from finrag_pipeline.evaluation.interval_coverage import COVERAGE_VERSION
from finrag_pipeline.evaluation.interval_coverage import interval_coverage as simulate_intervals
from finrag_pipeline.evaluation.paired_tests import (
    ANSWERS,
    FAMILIES_VERSION,
    RETRIEVAL,
    compare_families,
)
from finrag_pipeline.evaluation.ppi_simulation import SENSITIVITY_VERSION, sensitivity_to_agreement
from finrag_pipeline.orchestration.assets.answering import answer_scores, recorded_answers
from finrag_pipeline.orchestration.assets.benchmark import benchmark_questions
from finrag_pipeline.orchestration.assets.retrieval import retrieval_scores
from finrag_pipeline.orchestration.metadata import picture
from finrag_pipeline.orchestration.resources.settings import LakeResource, SettingsResource
from finrag_pipeline.orchestration.steps import check, part_step, result, table_asset
from finrag_pipeline.reporting.grid import grid_markdown
from finrag_pipeline.reporting.judging_tables import comparison_grid
from finrag_pipeline.reporting.plots import coverage_plot, sensitivity_plot
from finrag_pipeline.schemas import SYSTEM_COMPARISONS
from finrag_pipeline.storage.fingerprints import fingerprint

AGREEMENTS = tuple(round(0.62 + 0.02 * step, 2) for step in range(15)) + tuple(
    round(0.91 + 0.01 * step, 2) for step in range(9)
)
"""Agreements of people and judge that are simulated: 62 % to 99 %, closer where it matters."""

_HOLD = {"clustered", "ppi"}
"""Intervals that must hold the truth in every study."""


@table_asset(
    retrieval_scores,
    answer_scores,
    recorded_answers,
    benchmark_questions,
    group="judging",
    version=FAMILIES_VERSION,
    blocking_checks={
        "corrected_p_values": "No corrected p-value is below its own, "
        "and every difference lies in its interval."
    },
)
def system_comparisons(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """Paired tests: retrieval against dense and the page scorer, answers against the calculator."""
    store, values = lake.open(), settings.get()
    questions = store.read("benchmark_questions")
    tables = ("retrieval_scores", "answer_scores")
    asked = [questions[name].to_pylist() for name in ("question_id", "filing", "status")]
    confidence = values.evaluation.confidence
    wanted = fingerprint(
        "system_comparisons", FAMILIES_VERSION, store.fingerprints(*tables), asked,
        confidence, values.seed,
    )  # fmt: skip

    def make() -> pa.Table:
        from finrag_pipeline.evaluation.answer_metrics import as_series

        scored = ((store.read_all(tables[0]), RETRIEVAL), (as_series(store.read_all(tables[1])), ANSWERS))
        return pa.concat_tables(
            [
                SYSTEM_COMPARISONS.empty_table(),
                *(
                    compare_families(scores, questions, families, confidence=confidence, seed=values.seed)
                    for scores, families in scored
                ),
            ]
        )

    step = part_step(store, "system_comparisons", "", None, wanted, make, context.run.run_id)
    made = store.read("system_comparisons")
    rows = made.to_pylist()
    broken = [
        row
        for row in rows
        if row["p_value"] is not None
        and not (row["p_value"] <= row["p_holm"] <= 1 and row["low"] <= row["difference"] <= row["high"])
    ]
    step.checks = [check("corrected_p_values", not broken, broken=len(broken))]
    sure = sum(row["p_holm"] is not None and row["p_holm"] < 1 - confidence for row in rows)
    return result([step], significant=sure, table=dg.MetadataValue.md(grid_markdown(comparison_grid(made))))


@table_asset(group="judging", version=SENSITIVITY_VERSION)
def judge_sensitivity(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """What a judge is worth: half width of the PPI++ interval over its agreement with people, simulated."""
    store, values = lake.open(), settings.get()
    draws, confidence = values.judge.simulation_draws, values.evaluation.confidence
    wanted = fingerprint("judge_sensitivity", SENSITIVITY_VERSION, AGREEMENTS, draws, confidence, values.seed)

    def make() -> pa.Table:
        return sensitivity_to_agreement(AGREEMENTS, confidence=confidence, draws=draws, seed=values.seed)

    step = part_step(store, "judge_sensitivity", "", None, wanted, make, context.run.run_id)
    rows = store.read("judge_sensitivity").to_pylist()
    plot = picture(sensitivity_plot(rows, fmt="png"), "Half width of the interval over agreement with people")
    widths = {f"half_width_at_{100 * row['agreement']:.0f}": row["half_width"] for row in rows[-9:]}
    return result([step], plot=plot, **widths)


@table_asset(
    group="judging",
    version=COVERAGE_VERSION,
    checks={
        "intervals_hold": "Intervals over questions hold the truth as often as they say, in every study."
    },
)
def interval_coverage(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """How often each interval holds the truth in simulated studies, with its mean half width."""
    store, values = lake.open(), settings.get()
    draws, confidence = values.judge.simulation_draws, values.evaluation.confidence
    wanted = fingerprint("interval_coverage", COVERAGE_VERSION, draws, confidence, values.seed)

    def make() -> pa.Table:
        return simulate_intervals(draws=draws, confidence=confidence, seed=values.seed)

    step = part_step(store, "interval_coverage", "", None, wanted, make, context.run.run_id)
    rows = store.read("interval_coverage").to_pylist()
    # One point below what is aimed at, and three standard errors of the simulation.
    least = confidence - 0.01 - 3 * (confidence * (1 - confidence) / draws) ** 0.5
    short = [row for row in rows if row["interval"] in _HOLD and row["coverage"] < least]
    told = "; ".join(f"{row['interval']}, {row['study']}: {row['coverage']:.3f}" for row in short) or None
    step.checks = [check("intervals_hold", not short, description=told)]
    return result(
        [step], plot=picture(coverage_plot(rows, confidence, fmt="png"), "Coverage by interval and study")
    )
