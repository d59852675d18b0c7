"""What the trainers of the matcher and of the confidence keep and learn from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lightgbm")

from benchmarks import answer_confidence, row_matcher
from benchmarks.answer_confidence import Answers
from benchmarks.row_matcher import Asked
from finrag_pipeline.answering.answer_confidence import SIGNS_OF_ANSWERS
from finrag_pipeline.answering.row_matcher import FEATURES
from finrag_pipeline.statements.filing_rows import RowValue

RNG = np.random.default_rng(5)


def asked(company: str, rows: int, right: int | None) -> Asked:
    """Rows of which the right one is told by a feature."""
    features = RNG.random((rows, len(FEATURES))).astype(np.float32)
    is_right = np.arange(rows) == right
    features[:, FEATURES.index("alone")] = 10 * is_right
    return Asked(company, features, is_right, np.ones(rows, bool))


def test_what_was_looked_at_is_kept(tmp_path: Path) -> None:
    lists = [asked("ACME", 5, 2), asked("BOLT", 3, None)]
    row_matcher.keep(lists, tmp_path / "rows.npz")
    for one, read in zip(lists, row_matcher.kept(tmp_path / "rows.npz"), strict=True):
        assert one.company == read.company
        for name in ("features", "right", "shown"):
            np.testing.assert_array_equal(getattr(one, name), getattr(read, name))


def test_a_list_without_its_right_row_teaches_that_there_may_be_none() -> None:
    (without,) = row_matcher.without_right([asked("ACME", 5, 2), asked("BOLT", 3, None)])
    assert without.company == "ACME" and len(without.right) == 4 and not without.right.any()
    alone = [without.features[:, FEATURES.index(f"alone{kind}")] for kind in ("", "_behind", "_rank")]
    assert alone[0].max() == 0 and alone[1].max() == 0 and sorted(alone[2]) == [0, 1, 2, 3]


def test_rows_of_a_company_are_told_by_what_others_taught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_matcher, "ROUNDS", 20)
    lists = [asked(f"C{place % 10}", 8, place % 8 if place % 5 else None) for place in range(300)]
    trees_for = row_matcher.of_others(lists)
    chances = [np.asarray(trees_for(one.company).predict(one.features)) for one in lists]
    assert row_matcher.first_right(lists, chances) == (240, 240, 240, 1.0)
    assert trees_for("C0") is not trees_for("C1")


def test_the_confidence_in_answers_of_a_hand_is_learned_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_confidence, "ROUNDS", 60)
    signs = RNG.random((600, len(SIGNS_OF_ANSWERS))).astype(np.float32)
    right = signs[:, SIGNS_OF_ANSWERS.index("prior")] > 0.5
    hands = np.array([f"h{place % 12}" for place in range(600)])
    chances = answer_confidence.left_out(Answers(signs, right, np.ones(600, bool), hands))
    assert ((chances > 0.5) == right).mean() > 0.97


def test_answers_of_several_lakes_are_read_together(tmp_path: Path) -> None:
    for name, count in (("one", 2), ("other", 3)):
        flags = np.ones(count, bool)
        np.savez(
            tmp_path / f"{name}.npz",
            signs=np.zeros((count, 4), np.float32), right=flags, answerable=flags, hands=np.array(["a"] * count),
        )  # fmt: skip
    found = answer_confidence.read([tmp_path / "one.npz", tmp_path / "other.npz"])
    assert found.signs.shape == (5, 4) and len(found.right) == len(found.hands) == 5


def test_per_cent_of_a_fact_are_as_printed() -> None:
    half = RowValue((), None, None, None, None, 0.125, "12.5%", "percent", None, None)
    assert row_matcher._prints(half, {"value": 12.5}) and row_matcher._prints(half, {"value": 0.125})
    assert not row_matcher._prints(replace(half, unit="ratio"), {"value": 12.5})
