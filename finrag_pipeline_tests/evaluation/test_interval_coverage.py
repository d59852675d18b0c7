from __future__ import annotations

import pytest

from finrag_pipeline.evaluation.simulations import STUDIES, Study, interval_coverage
from finrag_pipeline.schemas import INTERVAL_COVERAGE

# 800 draws leave an error of about 0.008 (one standard deviation) on a coverage of 0.94.
DRAWS = 800
SLACK = 0.018


@pytest.fixture(scope="module")
def coverage() -> dict[str, dict[str, float]]:
    table = interval_coverage(STUDIES, (), draws=DRAWS)
    assert table.schema == INTERVAL_COVERAGE
    found: dict[str, dict[str, float]] = {}
    for row in table.to_pylist():
        found.setdefault(row["study"], {})[row["interval"]] = row["coverage"]
    return found


def test_the_intervals_in_use_cover(coverage):
    for study, intervals in coverage.items():
        assert intervals["clustered"] >= 0.94 - SLACK, study
        assert intervals.get("ppi", 1.0) >= 0.94 - SLACK, study


def test_wald_and_the_published_interval_do_not(coverage):
    assert coverage["29 labels, 97 %"]["wald"] < 0.7
    assert coverage["29 labels, 97 %"]["ppi_normal"] < 0.7
    for study in ("all of 40 × 20 answers labelled, 80 %", "all of 29 × 20 answers labelled, 97 %"):
        assert coverage[study]["wald"] < 0.6
    clustered = coverage["140 labels on 63 × 20 answers, 80 %"]
    assert clustered["wald"] < 0.88 and clustered["ppi_normal"] < 0.85
    assert coverage["three labels in each of 30 groups"]["wald"] < 0.6, "the design has weights"


def test_a_study_does_not_depend_on_the_others():
    one, other = Study("a", 30, 1, 10, 0.8), Study("b", 30, 2, 10, 0.8, 0.3)
    both = interval_coverage([other, one], (), draws=20).to_pylist()
    assert interval_coverage([one], (), draws=20).to_pylist() == [row for row in both if row["study"] == "a"]
