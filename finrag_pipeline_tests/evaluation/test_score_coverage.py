from __future__ import annotations

import pytest

from finrag_pipeline.evaluation.simulations import (
    SCORE_STUDIES,
    SIZES,
    ScoreStudy,
    interval_coverage,
)
from finrag_pipeline.schemas import INTERVAL_COVERAGE

# 1,000 draws leave an error of about 0.007 (one standard deviation) on a coverage of 0.94.
DRAWS = 1000
SLACK = 0.016


@pytest.fixture(scope="module")
def coverage() -> dict[str, dict[str, tuple[float, float]]]:
    table = interval_coverage((), SCORE_STUDIES, draws=DRAWS)
    assert table.schema == INTERVAL_COVERAGE
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for row in table.to_pylist():
        found.setdefault(row["study"], {})[row["interval"]] = row["coverage"], row["half_width"]
    return found


def test_the_interval_of_means_covers_in_every_study(coverage):
    assert set(coverage) == {study.name for study in SCORE_STUDIES}
    for study, found in coverage.items():
        assert found["clustered"][0] >= 0.94 - SLACK, study


def test_the_percentile_bootstrap_does_not_near_one_and_with_few_filings(coverage):
    assert coverage["hit of 29 filings, 97 %"]["bootstrap"][0] < 0.7
    assert coverage["hit in 84 filings, 97 %"]["bootstrap"][0] < 0.92
    assert coverage["overlap in 8 filings, 40 %"]["bootstrap"][0] < 0.92


def test_in_the_middle_it_is_hardly_wider(coverage):
    for study in (
        "hit in 84 filings, 50 %",
        "page recall in 84 filings, 70 %",
        "overlap in 84 filings, 40 %",
    ):
        assert coverage[study]["clustered"][1] < 1.08 * coverage[study]["bootstrap"][1], study


def test_the_truth_weighs_filings_by_their_questions():
    assert (len(SIZES), sum(SIZES)) == (84, 150)
    assert ScoreStudy("", 84, 0.8, "hit").truth() == pytest.approx(0.8)
    # One filing of one question at 0.8, one of three at 0.5.
    assert ScoreStudy("", 9, 0.8, "hit", sizes=(1, 3), harder=0.3).truth() == pytest.approx(2.3 / 4)


@pytest.mark.parametrize("kind", ["hit", "page_recall", "overlap"])
def test_a_study_draws_what_it_says(kind):
    study = ScoreStudy("", 40, 0.7, kind)
    found = interval_coverage((), [study], draws=40).to_pylist()
    assert {row["interval"] for row in found} == {"clustered", "bootstrap"}
    assert all(0 <= row["coverage"] <= 1 and 0 < row["half_width"] < 0.3 for row in found)
