"""Training a cross-encoder on a tiny BERT: a few steps each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from finrag_pipeline.errors import ModelError
from finrag_pipeline.rankers.page_scorer.loop import Checkpoints
from finrag_pipeline.rankers.page_scorer.pairs import Neighbourhood, Pair, benchmark_pairs
from finrag_pipeline.rankers.page_scorer.texts import PageTexts, Pieces
from finrag_pipeline.rankers.page_scorer.validation import Recall
from finrag_pipeline.rankers.reranker.model import load_cross_encoder, score_pairs
from finrag_pipeline.rankers.reranker.training import epoch_rows, fit_reranker
from finrag_pipeline.rankers.reranker.validation import CandidatePages, likely_pieces
from finrag_pipeline.settings import EncoderSettings, RerankerTrainingSettings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.rankers.page_scorer.corpus import question, write_corpus
from finrag_pipeline_tests.tiny_transformers import write_tiny_bert

SEED = 5
Model = Any
Data = tuple[list[Pair], CandidatePages]


def settings(**changes: Any) -> RerankerTrainingSettings:
    plain = {"batch_size": 4, "learning_rate": 5e-3, "negatives": ("filing",), "patience": 9}
    return RerankerTrainingSettings(**{**plain, **changes})


@pytest.fixture
def data(lake: Lake, tiny_encoder_settings: EncoderSettings) -> Data:
    names, questions = write_corpus(lake, 4)
    texts = PageTexts(lake, settings(), tiny_encoder_settings, 40)
    learned = [row for row in questions if row["filing"] != names[3]]
    held = [row for row in questions if row["filing"] == names[3]]
    pairs = benchmark_pairs(learned, texts, ("filing",), Neighbourhood(lake, texts, names[:3]))
    return pairs, CandidatePages(held, {names[3]: texts.pages(names[3])}, 5, 2)


def weights(model: Model) -> dict[str, np.ndarray]:
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in model.state_dict().items()}


def same(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> bool:
    return all(np.array_equal(first[name], second[name]) for name in first)


def test_it_learns_to_tell_gold_pages_from_their_negatives(
    fresh_model: Callable[[], Model], data: Data
) -> None:
    model = fresh_model()
    for part in model.modules():  # so small a model learns nothing in a few steps with dropout
        if type(part).__name__ == "Dropout":
            part.p = 0.0
    done = fit_reranker(model, data[0], None, settings(learning_rate=2e-3), SEED, 50)
    losses = [epoch.loss for epoch in done.curve if epoch.loss is not None]
    assert losses[-1] < 0.5 * losses[0] and done.best_epoch == 50
    gold = score_pairs(model, [(pair.question, pair.positive) for pair in data[0]], 8)
    others = score_pairs(model, [(pair.question, pair.negatives[0][0]) for pair in data[0]], 8)
    assert gold.mean() > 0 > others.mean()


def test_the_loss_is_binary_cross_entropy_over_gold_page_and_negatives(
    fresh_model: Callable[[], Model], data: Data
) -> None:
    model = fresh_model()
    for part in model.modules():
        if type(part).__name__ == "Dropout":
            part.p = 0.0
    (batch,) = epoch_rows(data[0], 99, SEED, 1)
    logits = score_pairs(model, [(q, text) for q, *texts in batch for text in texts], 8).astype(float)
    gold = np.tile([True, False], len(batch))
    expected = np.log1p(np.exp(np.where(gold, -logits, logits))).mean()
    done = fit_reranker(model, data[0], None, settings(batch_size=99), SEED, 1)
    assert done.curve[1].loss == pytest.approx(expected, rel=1e-4)


def test_every_pair_stands_once_in_an_epoch(data: Data) -> None:
    first, again, other = (epoch_rows(data[0], 4, SEED, epoch) for epoch in (1, 1, 2))
    assert first == again != other
    assert [len(batch) for batch in first] == [4] * (len(data[0]) // 4) + [len(data[0]) % 4] * (
        len(data[0]) % 4 > 0
    )
    assert sorted(row[:2] for batch in first for row in batch) == sorted(
        [pair.question, pair.positive] for pair in data[0]
    )


def test_the_same_seed_gives_the_same_weights(tiny_model: Path, data: Data) -> None:
    found = []
    for seed in (SEED, SEED, SEED + 1):
        model = load_cross_encoder(tiny_model, 64, seed)
        fit_reranker(model, data[0], data[1], settings(), seed, 1)
        found.append(weights(model))
    assert same(found[0], found[1]) and not same(found[0], found[2])


class Killed(BaseException):
    """As a signal: nothing between catches it."""


@pytest.mark.parametrize("at", [1, 3])
def test_a_killed_training_ends_as_an_uninterrupted_one(
    at: int, lake: Lake, fresh_model: Callable[[], Model], data: Data
) -> None:
    whole = fresh_model()
    expected = fit_reranker(whole, data[0], data[1], settings(), SEED, 2)
    kept = Checkpoints(lake, "t", 0, "reranker")

    def kill(done: int, total: int) -> None:
        if done == at:
            raise Killed

    with pytest.raises(Killed):
        fit_reranker(fresh_model(), data[0], data[1], settings(), SEED, 2, kept, kill)
    assert lake.fs.exists(lake.path("checkpoints", "reranker", "t.pt")) == (at > 1)
    model, again = fresh_model(), list[int]()
    done = fit_reranker(
        model, data[0], data[1], settings(), SEED, 2, kept, lambda step, _: again.append(step)
    )
    assert again[0] == at, "it goes on after the last step that was kept"
    assert done == expected and same(weights(model), weights(whole))


class Planned(CandidatePages):
    """Says what it is told to, and remembers the weights it was asked about."""

    def __init__(self, values: list[float], model: Model) -> None:
        self.values, self.model = values, model
        self.seen: list[dict[str, np.ndarray]] = []

    def measure(self, score: Any) -> Recall:
        self.seen.append(weights(self.model))
        return Recall(self.values[len(self.seen) - 1], 0.5)


def test_the_weights_of_the_best_epoch_are_restored(fresh_model: Callable[[], Model], data: Data) -> None:
    model = fresh_model()
    planned = Planned([0.1, 0.6, 0.5, 0.6], model)
    done = fit_reranker(model, data[0], planned, settings(patience=2), SEED, 9)
    assert done.best_epoch == 1 and len(done.curve) == 4, "equal is not better; two without stop it"
    assert same(weights(model), planned.seen[1]) and not same(planned.seen[1], planned.seen[2])


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
        with pytest.raises(ModelError, match="no safetensors weights"):
            load_cross_encoder(folder, 64, 1)


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
