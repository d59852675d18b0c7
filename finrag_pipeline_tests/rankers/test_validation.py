from __future__ import annotations

import numpy as np
import pytest

from finrag_pipeline.rankers.texts import Pieces
from finrag_pipeline.rankers.validation import (
    AllPages,
    CandidatePages,
    Recall,
    likely_pieces,
    recall,
    sampled,
)
from finrag_pipeline_tests.rankers.corpus import question


def test_page_recall_and_reciprocal_rank() -> None:
    pages = [("F", n) for n in range(9)]
    gold = [{("F", 0)}, {("F", 4), ("F", 8)}, {("F", 7)}, {("G", 0)}]
    found = recall([pages] * 4, gold)
    assert found.page_rec == pytest.approx((1 + 0.5) / 4)
    assert found.mrr == pytest.approx((1 + 1 / 5 + 1 / 8) / 4)
    assert Recall(0.6, 0.1) > Recall(0.5, 0.3) > Recall(0.5, 0.2)


def test_some_pages_are_drawn_and_gold_pages_stay() -> None:
    pages: list[Pieces] = [(f"page {n}",) for n in range(30)]
    found = sampled(pages, {3, 29}, 10, 7)
    kept = {n for n, pieces in enumerate(found) if pieces}
    assert len(kept) == 10 and {3, 29} <= kept and found[3] == pages[3] and len(found) == 30
    assert found == sampled(pages, {3, 29}, 10, 7) != sampled(pages, {3, 29}, 10, 8)
    assert sampled(pages, {3}, None, 7) == pages and sampled(pages, {1, 2, 3}, 1, 7)[1:4] == pages[1:4]


def test_validation_ranks_all_pages_of_its_filings() -> None:
    vectors = {"q": [1.0, 0.0], "near": [1.0, 0.0], "far": [0.0, 1.0]}
    pages: dict[str, list[Pieces]] = {"F": [("far",), (), ("far", "near")], "G": [("far",)] * 6}
    rows = [question(0, "F", [2], "q"), question(1, "F", [1], "q")]
    found = AllPages(rows, pages).measure(lambda texts: np.array([vectors[text] for text in texts]))
    assert found.page_rec == 0.5 and found.mrr == pytest.approx((1 + 1 / 9) / 2), "a blank page comes last"


PAGES: dict[str, list[Pieces]] = {
    "F": [("tax tax",), (), ("other words", "tax in the second piece"), ("nothing",), ("gold",)]
}


class TestCandidates:
    def test_lexically_near_pages_and_the_gold_page(self) -> None:
        found = CandidatePages([question(0, "F", [4], "tax?")], PAGES, 3, 2)
        assert set(found.candidates[0]) == {("F", 0), ("F", 2), ("F", 4)}
        found = CandidatePages([question(0, "F", [3, 4], "tax?")], PAGES, 1, 2)
        assert set(found.candidates[0]) == {("F", 3), ("F", 4)}, "gold pages always stay"

    def test_windows_near_the_question_are_read(self) -> None:
        pieces = ("of the", "the tax", "deferred tax asset", "an asset")
        assert likely_pieces(pieces, "Which deferred tax asset?", 2) == ("deferred tax asset", "the tax")
        assert likely_pieces(pieces, "?", 2) == ("of the", "the tax") and likely_pieces((), "tax", 2) == ()

    def test_a_page_is_as_good_as_its_best_piece(self) -> None:
        rows = [question(0, "F", [2], "tax?"), question(1, "F", [1], "blank?")]
        scores = {"tax in the second piece": -3.0, "tax tax": -4.0}

        def score(pairs: list[tuple[str, str]]) -> np.ndarray:
            return np.array([scores.get(text, -9.0) for _, text in pairs])

        found = CandidatePages(rows, PAGES, 5, 2).measure(score)
        assert (found.page_rec, found.mrr) == (0.5, 0.5), "a blank gold page is never found"
