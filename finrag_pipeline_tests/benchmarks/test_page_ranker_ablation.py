from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.page_ranker_ablation import (
    FEATURES,
    FULL,
    ROWS,
    NoResolver,
    Question,
    Row,
    ablate,
    labels,
    markdown,
    page_recall,
    train_fold,
    without,
)
from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.rankers.page_ranker.features import question_features
from finrag_pipeline.rankers.page_ranker.model import Example
from finrag_pipeline.rankers.page_ranker.needs import read_needs
from finrag_pipeline_tests.rankers.page_ranker.made_up import annual_report, candidates, planted


def question_row(filing: str, pages: list[int], **changes: Any) -> dict[str, Any]:
    return {
        "question_id": f"q {filing}",
        "question_type": "metrics",
        "filing": filing,
        "gold_pages": pages,
        **changes,
    }


def questions(count: int, folds: int = 2) -> list[Question]:
    """Questions on filings of their own whose gold page has a large ``feature 1``."""
    made = []
    for number, example in enumerate(planted(count)):
        name = f"F{number}"
        pages = replace(example.candidates, filings=[name] * len(example.relevant))
        row = question_row(name, np.flatnonzero(example.relevant).tolist())
        made.append(Question(row, number % folds, Example(pages, example.relevant), pages))
    return made


class TestParts:
    @pytest.fixture
    def names(self) -> set[str]:
        pages = annual_report()
        dense = {kind: np.zeros(pages.pages, np.float32) for kind in ("sentence", "sentences")}
        names = set(question_features(read_needs("What is the quick ratio?"), pages, dense))
        return names | {"filing_score", "filing_behind", "filing_rank", "filings"}

    def test_every_feature_belongs_to_a_part(self, names: set[str]) -> None:
        assert {
            name for name in names if not any(re.match(part, name) for part in FEATURES.values())
        } == set()

    def test_every_part_has_features_and_leaves_others(self, names: set[str]) -> None:
        for part, pattern in FEATURES.items():
            assert 0 < sum(bool(re.match(pattern, name)) for name in names) < len(names), part

    def test_rows_have_names_of_their_own_and_the_full_ranker_comes_first(self) -> None:
        assert len({row.name for row in ROWS}) == len(ROWS)
        assert ROWS[0] == Row(FULL)


def test_features_are_taken_out_together_with_their_columns() -> None:
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    left = without(candidates(values, ["bm25_a", "q_b", "bm25_c", "dense_d"]), FEATURES["words"])
    assert left.names == ("q_b", "dense_d")
    np.testing.assert_array_equal(left.features, values[:, [1, 3]])


def test_gold_pages_of_another_filing_are_not_gold() -> None:
    pages = replace(candidates(np.zeros((3, 1), np.float32)), filings=["A", "A", "B"])
    pages = replace(pages, pages=np.array([0, 1, 1]))
    assert labels(pages, question_row("A", [1, 7])).tolist() == [False, True, False]
    assert page_recall([("A", 1), ("B", 7)], question_row("A", [1, 7])) == 0.5


class TestAblate:
    def test_the_feature_that_tells_gold_pages_is_missed_and_noise_is_not(self) -> None:
        made = questions(24)
        whole = np.mean(ablate(made, None, [Row("whole")], 0)["whole"])
        noise = np.mean(ablate(made, "feature 0", [Row("noise")], 0)["noise"])
        blind = np.mean(ablate(made, "feature 1", [Row("blind")], 0)["blind"])
        assert whole > 0.9 and noise > 0.9
        assert blind < 0.5

    def test_rows_that_share_models_are_those_of_models_trained_for_each(self) -> None:
        made = questions(8)
        both = ablate(made, None, [Row("all"), Row("one", objectives=("binary",))], 0)
        assert both["all"] == ablate(made, None, [Row("all")], 0)["all"]
        assert set(both) == {"all", "one"}

    def test_a_filing_on_both_sides_is_refused(self) -> None:
        first, second, *_ = questions(4)
        again = replace(second, row={**second.row, "filing": first.row["filing"]})
        with pytest.raises(BenchmarkError, match="trained on what it is measured on"):
            train_fold([first, again], 0, None, 0)


def test_without_the_resolver_nothing_is_read_out_of_a_question() -> None:
    found = NoResolver().resolve("What was the FY2018 revenue of 3M?")
    assert (found.companies, found.periods, found.filings, found.allowed()) == ((), (), (), None)


def test_the_table_shows_paired_differences() -> None:
    rows = [question_row(name, [0]) for name in "abcd"]
    text = markdown({FULL: [1.0, 1.0, 1.0, 0.0], "words": [0.0, 1.0, 0.0, 0.0]}, rows, 200, 0)
    head, rule, full, words = text.splitlines()
    assert head == "| taken out | PageRec@5 | difference | metrics |"
    assert rule.count("|") == head.count("|")
    assert full.startswith("| nothing | 0.750 [") and full.endswith("|  | 0.75 |")
    assert words.startswith("| words | 0.250 [") and "| -0.500 [" in words
