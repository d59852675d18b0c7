"""Tables of tests between systems, and of simulations that show what intervals are worth."""

from __future__ import annotations

import pyarrow as pa

from finrag_pipeline.schemas.columns import column as _column

SYSTEM_COMPARISONS = pa.schema(
    [
        _column("system", pa.string(), "System that is compared."),
        _column("baseline", pa.string(), "System that it is compared with."),
        _column("space", pa.string(), "Search space."),
        _column("metric", pa.string(), "Name of the metric."),
        _column("k", pa.int32(), "Cut-off; 0 for metrics of answers."),
        _column("mean", pa.float64(), "Mean of the system over the shared questions."),
        _column("baseline_mean", pa.float64(), "Mean of the baseline over them."),
        _column("difference", pa.float64(), "Mean minus that of the baseline."),
        _column("low", pa.float64(), "Lower end of the difference, bootstrap of documents.", True),
        _column("high", pa.float64(), "Upper end.", True),
        _column("p_value", pa.float64(), "Two-sided p-value, bootstrap of documents.", True),
        _column("p_holm", pa.float64(), "Corrected for the number of systems (Holm).", True),
        _column("detectable", pa.float64(), "Least true difference found with a chance of 80 %.", True),
        _column(
            "detectable_in_family", pa.float64(), "The same at the first step of Holm's procedure.", True
        ),
        _column("better", pa.int32(), "Questions on which the system is better."),
        _column("worse", pa.int32(), "Questions on which it is worse."),
        _column("equal", pa.int32(), "Questions on which both are equal."),
        _column("n", pa.int32(), "Questions that both are scored on."),
        _column("documents", pa.int32(), "Distinct gold documents (the clusters resampled)."),
    ]
)
"""One row per system beside a baseline. Ends, p-values and detectable differences are null with fewer than
two documents."""

JUDGE_SENSITIVITY = pa.schema(
    [
        _column("agreement", pa.float64(), "Agreement of people and judge, in [0, 1]."),
        _column("half_width", pa.float64(), "Mean half width of the PPI++ interval."),
        _column("half_width_low", pa.float64(), "Its 2.5 % quantile over the draws."),
        _column("half_width_high", pa.float64(), "Its 97.5 % quantile."),
        _column("effective_n", pa.float64(), "Labels that would give the mean half width."),
        _column("lam", pa.float64(), "Mean λ, weight of the judge."),
        _column("coverage", pa.float64(), "Share of the draws whose interval holds the truth."),
        _column("expected_half_width", pa.float64(), "Half width by the closed form."),
        _column("expected_effective_n", pa.float64(), "Effective sample size by the closed form."),
    ]
)
"""One row per agreement."""

INTERVAL_COVERAGE = pa.schema(
    [
        _column("study", pa.string(), "What was simulated."),
        _column("interval", pa.string(), "wald, wilson, clustered, ppi_normal, ppi or bootstrap."),
        _column("coverage", pa.float64(), "Share of the draws whose interval holds the truth."),
        _column("half_width", pa.float64(), "Mean half width."),
        _column("draws", pa.int32(), "Simulated studies."),
    ]
)
"""One row per study and interval."""
