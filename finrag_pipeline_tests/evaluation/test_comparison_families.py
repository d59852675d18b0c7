from __future__ import annotations

import pytest

from finrag_pipeline.evaluation.paired_tests import Family, compare_families, compare_systems
from finrag_pipeline_tests.evaluation.builders import question_row, questions_table, scores_table

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
    family = Family("dense", "page_rec", 5)
    table = compare_families(scores, QUESTIONS, [family, Family("missing", "page_rec", 5)], draws=200)
    rows = {row["system"]: row for row in table.to_pylist()}
    assert list(rows) == ["good", "part"]
    assert (rows["good"]["difference"], rows["good"]["n"]) == (1.0, 6)
    assert (rows["part"]["n"], rows["part"]["documents"]) == (1, 1)
    alone = compare_systems(scores, QUESTIONS, "dense", "page_rec", 5, "corpus", systems=["good"], draws=200)
    assert rows["good"]["p_value"] == pytest.approx(alone["p_value"][0].as_py())


def test_the_correction_is_that_of_the_family():
    scores = scores_table(
        [
            *scored("dense", dict.fromkeys(range(8), 0.0)),
            *(row for name in "abc" for row in scored(name, {n: float(n % 3 == 0) for n in range(8)})),
        ]
    )
    rows = compare_families(scores, QUESTIONS, [Family("dense", "page_rec", 5)], draws=500).to_pylist()
    assert all(row["p_holm"] == pytest.approx(min(1.0, 3 * row["p_value"])) for row in rows)


def test_nothing_to_compare():
    assert compare_families(scores_table([]), QUESTIONS, [Family("dense", "page_rec", 5)]).num_rows == 0
