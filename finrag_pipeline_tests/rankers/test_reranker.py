"""The model of a trained reranker, and pages ordered anew by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.errors import ModelError
from finrag_pipeline.rankers.reranker import (
    RerankedPages,
    RerankerRecipe,
    TrainedReranker,
    load_cross_encoder,
    score_pairs,
)
from finrag_pipeline.rankers.validation import likely_pieces
from finrag_pipeline.reranking.cross_encoder import CrossEncoderReranker
from finrag_pipeline.retrieval.spaces import Scope
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.rankers.corpus import write_corpus
from finrag_pipeline_tests.retrieval.stand_ins import FixedPages
from finrag_pipeline_tests.tiny_transformers import write_tiny_bert

Corpus = tuple[list[str], list[dict[str, Any]]]


@pytest.fixture
def corpus(lake: Lake) -> Corpus:
    return write_corpus(lake)


class TestModel:
    def test_a_cross_encoder_keeps_its_own_output(self, tmp_path: Path) -> None:
        folder = write_tiny_bert(tmp_path / "one", "BertForSequenceClassification", num_labels=1)
        found = [
            score_pairs(load_cross_encoder(folder, 64, seed), [("net revenue?", "tax")], 2) for seed in (1, 2)
        ]
        assert found[0] == found[1]

    def test_an_encoder_gets_a_fresh_one_by_the_seed(self, tiny_model: Path) -> None:
        found = [
            float(score_pairs(load_cross_encoder(tiny_model, 64, seed), [("net revenue?", "tax")], 2)[0])
            for seed in (1, 1, 2)
        ]
        assert found[0] == found[1] != found[2]

    def test_several_outputs_and_pickles_are_refused(self, tmp_path: Path) -> None:
        folder = write_tiny_bert(tmp_path / "three", "BertForSequenceClassification", num_labels=3)
        with pytest.raises(ModelError, match="cannot be trained as a cross-encoder"):
            load_cross_encoder(folder, 64, 1)
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
        with pytest.raises(ModelError, match=r"no file named model\.safetensors"):
            load_cross_encoder(folder, 64, 1)


class TestTrainedReranker:
    @pytest.fixture
    def reranker(self, lake: Lake, training_settings: Settings, corpus: Corpus) -> TrainedReranker:
        training = training_settings.reranker_training.model_copy(update={"epochs": 1, "max_tokens": 16})
        settings = training_settings.model_copy(update={"reranker_training": training})
        recipe = RerankerRecipe(lake, settings, corpus[1], [], corpus[0])
        return TrainedReranker(lake, training_settings, recipe.folder, recipe.trained("it"))

    def test_the_score_of_a_page_is_that_of_its_best_window(
        self, lake: Lake, reranker: TrainedReranker, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names, asked = corpus[0], "What was the revenue?"
        texts = reranker._texts.pages(names[0])
        assert max(map(len, texts)) > 1, "pages are read in windows"
        found = reranker.scores(asked, [(names[0], 3), (names[0], 0)])
        expected = [
            reranker._model.score(asked, likely_pieces(texts[page], asked, 2)).max() for page in (3, 0)
        ]
        np.testing.assert_array_equal(found, np.array(expected, np.float32))
        # Kept in the lake: the same pairs are never read again.
        monkeypatch.setattr(CrossEncoderReranker, "_predicted", None)
        np.testing.assert_array_equal(reranker.scores(asked, [(names[0], 3)]), found[:1])

    def test_recall_is_that_of_the_validation(self, reranker: TrainedReranker, corpus: Corpus) -> None:
        curve, best = reranker.card["curve"], reranker.card["best_epoch"]
        held = [row for row in corpus[1] if row["question_id"] in reranker.card["validation_question_ids"]]
        found = reranker.recall(held)
        assert found is not None and found.page_rec == pytest.approx(curve[best]["page_rec"])
        assert found.mrr == pytest.approx(curve[best]["mrr"]) and reranker.recall([]) is None


@dataclass
class Scored:
    """Scores pages by a list."""

    values: Sequence[float]
    fingerprint: str = "scored"
    question_ids: Sequence[str] = ("b", "c")

    def scores(self, question: str, places: Sequence[tuple[str, int]]) -> np.ndarray:
        return np.array([self.values[page] for _, page in places], np.float32)


def reranked(values: Sequence[float], pages: int = 20, k: int = 1, depth: int = 100) -> list[Any]:
    ranker = FixedPages([("F", page) for page in range(len(values))], question_ids=("a", "b"))
    nothing: Any = None
    return RerankedPages(ranker, Scored(values), pages, k).rank_pages("q", nothing, Scope(), depth)


class TestRerankedPages:
    def test_both_orders_count(self) -> None:
        hits = reranked([0.0, 3.0, 1.0, 2.0, 9.0], pages=4)
        # 1 / (1 + rank) by ranker and cross-encoder: 1/2 + 1/5, 1/3 + 1/2, 1/4 + 1/4, 1/5 + 1/3.
        assert [hit.page for hit in hits] == [1, 0, 3, 2, 4], "the fifth page is not among the first four"
        assert [hit.score for hit in hits] == [1.0, 1 / 2, 1 / 3, 1 / 4, 1 / 5], "scores go with places"
        assert hits[0].why == "page rank 2; rank 2 of the page ranker, 1 of the cross-encoder (3.00)"
        assert hits[4].why == "page rank 5"

    def test_depth_changes_no_order(self) -> None:
        values = [0.0, 3.0, 1.0, 2.0, 9.0]
        assert reranked(values, pages=4, depth=2) == reranked(values, pages=4)[:2]
        assert reranked([]) == []

    @given(st.permutations(range(20)))
    def test_the_first_page_of_either_order_stays_among_the_first_four(self, values: list[int]) -> None:
        pages = [hit.page for hit in reranked([float(value) for value in values])]
        assert sorted(pages) == list(range(20))
        assert pages.index(0) < 4 and pages.index(values.index(19)) < 4

    def test_the_worst_that_a_cross_encoder_can_do(self) -> None:
        values = [float(-n) for n in range(20)]
        values[0], values[1], values[2], values[3] = -99.0, 1.0, 2.0, 3.0
        assert [hit.page for hit in reranked(values)][:4] == [3, 1, 2, 0]

    def test_a_cross_encoder_that_agrees_or_says_nothing_changes_nothing(self) -> None:
        for values in ([float(-n) for n in range(20)], [0.0] * 20):
            assert [hit.page for hit in reranked(values)] == list(range(20))

    def test_its_fingerprint_and_questions_are_those_of_both(self) -> None:
        ranker = FixedPages([], "ranker", question_ids=("a", "b"))
        found = {
            RerankedPages(FixedPages([], name), Scored([], other), n, k).fingerprint
            for name, other, n, k in (
                ("r", "s", 20, 1), ("x", "s", 20, 1), ("r", "x", 20, 1), ("r", "s", 9, 1), ("r", "s", 20, 0),
            )
        }  # fmt: skip
        assert len(found) == 5
        assert list(RerankedPages(ranker, Scored([]), 20, 1).question_ids) == ["a", "b", "c"]
