"""Training by recipe, and pages ordered anew by what came out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.rankers.page_scorer.recipe import Recipe
from finrag_pipeline.rankers.reranker.ranking import RerankedPages, TrainedReranker
from finrag_pipeline.rankers.reranker.recipe import RerankerRecipe
from finrag_pipeline.rankers.reranker.validation import likely_pieces
from finrag_pipeline.reranking.cross_encoder import CrossEncoderReranker
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.rankers.page_scorer.corpus import write_corpus
from finrag_pipeline_tests.retrieval.stand_ins import FixedPages

Corpus = tuple[list[str], list[dict[str, Any]]]


def changed(settings: Settings, **changes: Any) -> Settings:
    training = settings.reranker_training.model_copy(update=changes)
    return settings.model_copy(update={"reranker_training": training})


@pytest.fixture
def corpus(lake: Lake) -> Corpus:
    return write_corpus(lake)


class TestRecipe:
    def test_the_card_says_what_was_seen(
        self, lake: Lake, training_settings: Settings, corpus: Corpus
    ) -> None:
        names, questions = corpus
        tested = [row for row in questions if row["filing"] == names[0]]
        learned = [row for row in questions if row["filing"] != names[0]]
        recipe = RerankerRecipe(lake, changed(training_settings, epochs=1), learned, tested, names)
        card = recipe.trained("the reranker")
        assert recipe.folder[:2] == ("models", "reranker") and card["loss"] == "binary cross-entropy"
        assert set(card["question_ids"]) == {row["question_id"] for row in learned}
        assert names[0] not in card["filings"] and card["validation_question_ids"]
        assert (card["max_tokens"], card["text_tokens"]) == (64, 32), "the question has its half"
        assert len(card["curve"]) == 2 and card["curve"][0]["page_rec"] is not None
        files = [path.name for path in lake.local_path(*recipe.folder).rglob("*")]
        assert "model.safetensors" in files and not any(name.endswith((".bin", ".pt")) for name in files)
        assert not lake.fs.exists(lake.path("checkpoints", "reranker", f"{recipe.fingerprint}.pt"))

    def test_a_leak_fails_before_anything_is_trained(
        self, lake: Lake, training_settings: Settings, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names, questions = corpus
        monkeypatch.setattr("finrag_pipeline.rankers.reranker.recipe.fit_reranker", None)
        for tested in ([questions[0]], [{**questions[0], "question_id": "another of the same filing"}]):
            with pytest.raises(BenchmarkError, match="was trained on what it is measured on") as caught:
                RerankerRecipe(lake, training_settings, questions, tested, names).trained("it")
            assert "reranker" in caught.value.remedy

    def test_what_makes_another_model(self, lake: Lake, training_settings: Settings, corpus: Corpus) -> None:
        names, questions = corpus

        def made_from(settings: Settings) -> str:
            return RerankerRecipe(lake, settings, questions, [], names).fingerprint

        plain = made_from(training_settings)
        assert plain == made_from(
            changed(training_settings, pages=7, fusion_k=60, prediction_batch_size=3, pretraining_rows=9)
        )
        others = [
            made_from(changed(training_settings, epochs=9)),
            made_from(changed(training_settings, question_tokens=8)),
            made_from(changed(training_settings, windows=3)),
            made_from(training_settings.model_copy(update={"seed": 3})),
            Recipe(lake, training_settings, questions, [], names).fingerprint,
        ]
        assert len({plain, *others}) == 6


class TestTrainedReranker:
    @pytest.fixture
    def reranker(self, lake: Lake, training_settings: Settings, corpus: Corpus) -> TrainedReranker:
        settings = changed(training_settings, epochs=1, max_tokens=16)
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
    return RerankedPages(ranker, Scored(values), pages, k).rank_pages("q", nothing, None, None, depth)


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
