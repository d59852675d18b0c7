from __future__ import annotations

import pyarrow as pa

from finrag_pipeline.reporting.grid import grid_markdown
from finrag_pipeline.reporting.tables import calibration_grid, comparison_grid, estimates_grid, rates_grid
from finrag_pipeline.schemas import ANSWER_RATES, JUDGE_CALIBRATION, JUDGED_ESTIMATES, SYSTEM_COMPARISONS

RATE = {
    "system": "prompt on <b>|dense", "space": "corpus", "metric": "response", "theme": "all", "difficulty": "all",
    "rate": 0.9, "low": 0.8, "high": 0.95, "n": 20, "questions": 5, "effective_n": 8.0,
}  # fmt: skip
CALIBRATION = {
    "judge": "baseline", "criterion": "correctness", "labels": "two", "group": "all", "n": 9, "missing": 1,
    "observed": 0.8, "observed_low": 0.7, "observed_high": 0.9, "chance": 0.5, "kappa": None, "kappa_low": None,
    "kappa_high": None, "human_rate": 0.5, "judge_rate": 0.4, "failed": 0,
}  # fmt: skip
ESTIMATE = {
    "system": "prompt", "space": "corpus", "criterion": "veracity", "judge": "j", "theme": "all", "method": "ppi",
    "estimate": 0.7, "low": 0.5, "high": 0.8, "effective_n": 21.25, "lam": 0.4, "labels": 9, "verdicts": 40,
    "missing": 2, "questions": 5,
}  # fmt: skip
COMPARISON = {
    "system": "finrag", "baseline": "dense", "space": "corpus", "metric": "page_rec", "k": 5, "mean": 0.8,
    "baseline_mean": 0.2, "difference": -0.25, "low": -0.3, "high": -0.2, "p_value": 0.001, "p_holm": 0.026,
    "detectable": 0.12, "detectable_in_family": 0.2, "better": 3, "worse": 9, "equal": 1, "n": 13, "documents": 8,
}  # fmt: skip


def table(schema: pa.Schema, rows: list[dict]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema)


def texts(grid) -> list[list[str]]:
    return [[f"{cell.text} {cell.small}".strip() for cell in row.cells] for row in grid.rows]


def test_rates_of_all_questions_with_their_intervals() -> None:
    grid = rates_grid(table(ANSWER_RATES, [RATE, {**RATE, "theme": "x", "rate": 0.1}]))
    assert texts(grid) == [["prompt on <b>|dense", "corpus", "–", "0.900 0.800–0.950", "–"]]
    assert r"prompt on \<b\>\|dense" in grid_markdown(rates_grid(table(ANSWER_RATES, [RATE]))), (
        "no text is taken for markup"
    )


def test_calibration_without_a_kappa() -> None:
    (row,) = texts(
        calibration_grid(table(JUDGE_CALIBRATION, [CALIBRATION, {**CALIBRATION, "group": "some system"}]))
    )
    assert row == ["baseline", "correctness", "two", "0.800 0.700–0.900", "0.500", "–", "9", "1"]


def test_estimates_of_people_name_no_judge() -> None:
    human = {**ESTIMATE, "method": "human", "effective_n": None}
    first, second = texts(
        estimates_grid(table(JUDGED_ESTIMATES, [ESTIMATE, human, {**ESTIMATE, "theme": "x"}]))
    )
    assert first == [
        "prompt",
        "Whole corpus",
        "veracity",
        "j",
        "PPI, over questions",
        "0.700 0.500–0.800",
        "21.2",
        "9",
        "40",
        "2",
    ]
    assert second[3:5] == ["", "People, over questions"] and second[6] == "–"


def test_comparisons_show_difference_interval_and_corrected_p() -> None:
    single = {**COMPARISON, "low": None, "high": None, "p_holm": None, "detectable": None}
    first, second = texts(comparison_grid(table(SYSTEM_COMPARISONS, [COMPARISON, single])))
    assert first[3:] == [
        "PageRec@5",
        "0.800 n = 13",
        "−0.250 [−0.300, −0.200]",
        "0.0260",
        "0.120",
        "3 / 9 / 1",
    ]
    assert second[5:8] == ["−0.250", "–", "–"]


def test_empty_tables_say_so() -> None:
    for grid in (rates_grid, calibration_grid, estimates_grid, comparison_grid):
        assert grid_markdown(grid(None)).startswith("_")
