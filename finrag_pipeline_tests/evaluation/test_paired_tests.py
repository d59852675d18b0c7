from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.paired_tests import Family, compare_families, detectable_difference, holm
from finrag_pipeline.schemas import SYSTEM_COMPARISONS
from finrag_pipeline_tests.evaluation.builders import question_row, questions_table, scores_table


def study(values: dict[str, np.ndarray], per_document: int = 2):
    """Scores and questions; question i is about filing i // per_document."""
    count = len(next(iter(values.values())))
    questions = questions_table(
        *(question_row(f"q{i}", f"F{i // per_document}_2020_10K", [0]) for i in range(count))
    )
    rows = [
        (system, "corpus", f"q{i}", "page_rec", 5, float(value))
        for system, series in values.items()
        for i, value in enumerate(series)
    ]
    return scores_table(rows), questions


PAGE_RECALL = Family("dense", "page_rec", 5)


def compare(values, per_document: int = 2, **options):
    return compare_families(*study(values, per_document), [PAGE_RECALL], **options)


class TestHolm:
    def test_worked_by_hand(self):
        # .01·4, max(.04, .02·3), max(.06, .03·2), max(.06, .5)
        assert holm([0.02, 0.5, 0.01, 0.03]) == pytest.approx([0.06, 0.5, 0.04, 0.06])

    def test_bounds_and_gaps(self):
        assert holm([0.9, 0.8]) == [1.0, 1.0]
        corrected = holm([0.01, math.nan])
        assert corrected[0] == 0.01 and math.isnan(corrected[1])
        assert holm([]) == []


def test_detectable_difference():
    # (1.95996 + 0.84162) · SE, and with the quantile of 0.05 / 5 for a family of five.
    assert detectable_difference(0.03) == pytest.approx(2.801585 * 0.03, rel=1e-6)
    assert detectable_difference(0.03, tests=5) == pytest.approx((2.575829 + 0.841621) * 0.03, rel=1e-6)


def test_the_detectable_difference_is_found_four_times_in_five():
    rng = np.random.default_rng(0)
    noise = 0.4
    found = 0
    for _ in range(120):
        base = rng.random(80)
        differences = rng.normal(detectable_difference(noise / np.sqrt(80)), noise, 80)
        row = compare({"dense": base, "new": base + differences}, draws=400).to_pylist()[0]
        found += row["p_value"] < 0.05
    assert 0.68 <= found / 120 <= 0.92


def test_a_clear_difference_and_none():
    rng = np.random.default_rng(1)
    base = rng.integers(0, 2, 60).astype(float)
    better = np.where(rng.random(60) < 0.7, 1.0, base)
    table = compare({"dense": base, "better": better, "same": base.copy()})
    assert table.schema == SYSTEM_COMPARISONS
    rows = {row["system"]: row for row in table.to_pylist()}
    assert list(rows) == ["better", "same"]
    better_row = rows["better"]
    assert better_row["difference"] == pytest.approx((better - base).mean())
    assert better_row["low"] > 0 and better_row["p_holm"] == pytest.approx(2 / 10_001)
    assert (better_row["worse"], better_row["n"], better_row["documents"]) == (0, 60, 30)
    assert better_row["better"] + better_row["equal"] == 60
    assert better_row["detectable_in_family"] > better_row["detectable"] > 0
    assert (rows["same"]["difference"], rows["same"]["p_value"]) == (0, 1)


def test_without_a_difference_one_test_in_twenty_errs():
    rng = np.random.default_rng(2)
    rejected = 0
    for _ in range(200):
        effects = np.repeat(rng.normal(size=40), 2)
        row = compare(
            {"dense": np.zeros(80), "new": effects + 0.5 * rng.normal(size=80)}, draws=400
        ).to_pylist()[0]
        rejected += row["p_value"] < 0.05
    assert rejected / 200 < 0.10  # 0.05 aimed at; ignoring documents it is about 0.17


def test_documents_are_resampled_not_questions():
    differences = np.repeat(np.array([0.3, -0.1, 0.2, -0.2, 0.4, 0.1, -0.3, 0.2]), 5)
    values = {"dense": np.zeros(40), "new": differences}
    together, apart = (compare(values, per_document).to_pylist()[0] for per_document in (5, 1))
    assert together["high"] - together["low"] > 1.8 * (apart["high"] - apart["low"])


def test_only_shared_questions_count():
    scores, questions = study({"dense": np.array([1.0, 0.0, 1.0, 0.0]), "new": np.ones(4)})
    scores = scores.filter(
        [
            not (s == "new" and q == "q0")
            for s, q in zip(scores["system"].to_pylist(), scores["question_id"].to_pylist(), strict=True)
        ]
    )
    row = compare_families(scores, questions, [PAGE_RECALL]).to_pylist()[0]
    assert (row["n"], row["mean"], row["baseline_mean"]) == (3, 1.0, pytest.approx(1 / 3))


def test_one_document_has_no_interval():
    scores, questions = study({"dense": np.zeros(2), "new": np.ones(2)})
    row = compare_families(scores, questions, [PAGE_RECALL]).to_pylist()[0]
    assert row["difference"] == 1
    assert row["low"] is row["p_value"] is row["p_holm"] is row["detectable"] is None


def test_folds_that_overlap_are_refused():
    scores, questions = study({"dense": np.zeros(4), "new": np.ones(4)})
    twice = scores_table([tuple(row.values()) for row in [*scores.to_pylist(), scores.to_pylist()[0]]])
    with pytest.raises(LakeError, match="scored twice"):
        compare_families(twice, questions, [PAGE_RECALL])


QUESTIONS = questions_table(*(question_row(f"q{n}", f"F{n // 2}_2020", [0]) for n in range(8)))


def scored(system: str, values: dict[int, float], space: str = "corpus") -> list[tuple]:
    return [(system, space, f"q{n}", "page_rec", 5, value) for n, value in values.items()]


def test_a_family_is_all_systems_that_share_a_question_with_its_baseline():
    scores = scores_table(
        [
            *scored("dense", dict.fromkeys(range(6), 0.0)),
            *scored("good", dict.fromkeys(range(6), 1.0)),
            *scored("part", {0: 1.0, 7: 1.0}),
            *scored("apart", {6: 1.0, 7: 1.0}),
            *scored("elsewhere", dict.fromkeys(range(6), 1.0), "pages"),
        ]
    )
    family = PAGE_RECALL
    table = compare_families(scores, QUESTIONS, [family, Family("missing", "page_rec", 5)], draws=200)
    rows = {row["system"]: row for row in table.to_pylist()}
    assert list(rows) == ["good", "part"]
    assert (rows["good"]["difference"], rows["good"]["n"]) == (1.0, 6)
    assert (rows["part"]["n"], rows["part"]["documents"]) == (1, 1)
    alone = scores.filter(pc.is_in(scores["system"], pa.array(["dense", "good"])))
    (row,) = compare_families(alone, QUESTIONS, [family], draws=200).to_pylist()
    assert rows["good"]["p_value"] == pytest.approx(row["p_value"]), "all systems share the draws"


def test_the_correction_is_that_of_the_family():
    scores = scores_table(
        [
            *scored("dense", dict.fromkeys(range(8), 0.0)),
            *(row for name in "abc" for row in scored(name, {n: float(n % 3 == 0) for n in range(8)})),
        ]
    )
    rows = compare_families(scores, QUESTIONS, [PAGE_RECALL], draws=500).to_pylist()
    assert all(row["p_holm"] == pytest.approx(min(1.0, 3 * row["p_value"])) for row in rows)


def test_nothing_to_compare():
    assert compare_families(scores_table([]), QUESTIONS, [PAGE_RECALL]).num_rows == 0
