"""Training on a tiny BERT: a few steps each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from finrag_pipeline.errors import ModelError
from finrag_pipeline.rankers.page_scorer import training
from finrag_pipeline.rankers.page_scorer.loop import Checkpoints, Training
from finrag_pipeline.rankers.page_scorer.pairs import Neighbourhood, Pair, benchmark_pairs
from finrag_pipeline.rankers.page_scorer.texts import PageTexts, Pieces
from finrag_pipeline.rankers.page_scorer.training import embed_texts, fit
from finrag_pipeline.rankers.page_scorer.validation import Recall, Validation, recall, sampled
from finrag_pipeline.settings import EncoderSettings, PageScorerSettings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.rankers.page_scorer.corpus import question, write_corpus

SEED = 5
Model = Any


def settings(**changes: Any) -> PageScorerSettings:
    plain = {"batch_size": 4, "learning_rate": 5e-3, "negatives": ("filing",), "patience": 9}
    return PageScorerSettings(**{**plain, **changes})


@pytest.fixture
def data(lake: Lake, tiny_encoder_settings: EncoderSettings) -> tuple[list[Pair], Validation]:
    names, questions = write_corpus(lake, 4)
    texts = PageTexts(lake, settings(), tiny_encoder_settings, 32)
    around = Neighbourhood(lake, texts, names[:3])
    learned = [row for row in questions if row["filing"] != names[3]]
    held = [row for row in questions if row["filing"] == names[3]]
    return benchmark_pairs(learned, texts, ("filing",), around), Validation(
        held, {names[3]: texts.pages(names[3])}
    )


def weights(model: Model) -> dict[str, np.ndarray]:
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in model.state_dict().items()}


def same(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> bool:
    return all(np.array_equal(first[name], second[name]) for name in first)


def losses(done: Training) -> list[float]:
    return [epoch.loss for epoch in done.curve if epoch.loss is not None]


def without_dropout(model: Model) -> Model:
    """So small a model learns nothing in a few steps with it."""
    for part in model.modules():
        if type(part).__name__ == "Dropout":
            part.p = 0.0
    return model


def test_training_reduces_the_loss(
    fresh_model: Callable[[], Model], data: tuple[list[Pair], Validation]
) -> None:
    model = without_dropout(fresh_model())
    done = fit(model, data[0], None, settings(learning_rate=2e-3), SEED, 20)
    assert [epoch.epoch for epoch in done.curve] == list(range(21)) and done.curve[0].loss is None
    assert losses(done)[-1] < 0.5 * losses(done)[0]
    assert done.best_epoch == 20 and done.steps >= 40, "without validation questions the last epoch is kept"


def test_the_same_seed_gives_the_same_weights(
    fresh_model: Callable[[], Model], data: tuple[list[Pair], Validation]
) -> None:
    found = []
    for seed in (SEED, SEED, SEED + 1):
        model = fresh_model()
        fit(model, data[0], data[1], settings(), seed, 2)
        found.append(weights(model))
    assert same(found[0], found[1]) and not same(found[0], found[2])


class Killed(BaseException):
    """As a signal: nothing between catches it."""


@pytest.mark.parametrize("at", [1, 3, 5])
def test_a_killed_training_ends_as_an_uninterrupted_one(
    at: int, lake: Lake, fresh_model: Callable[[], Model], data: tuple[list[Pair], Validation]
) -> None:
    whole = fresh_model()
    expected = fit(whole, data[0], data[1], settings(), SEED, 3)
    asked: list[int] = []

    def kill(done: int, total: int) -> None:
        asked.append(done)
        if done == at:
            raise Killed

    with pytest.raises(Killed):
        fit(fresh_model(), data[0], data[1], settings(), SEED, 3, Checkpoints(lake, "t", 0), kill)
    assert (Checkpoints(lake, "t", 0).read() is not None) == (at > 1)
    model = fresh_model()
    again: list[int] = []
    done = fit(
        model, data[0], data[1], settings(), SEED, 3, Checkpoints(lake, "t", 0), lambda n, _: again.append(n)
    )
    assert again[0] == at, "it goes on after the last step that was kept"
    assert done == expected and same(weights(model), weights(whole))


def test_a_damaged_checkpoint_begins_anew(
    lake: Lake, fresh_model: Callable[[], Model], data: tuple[list[Pair], Validation]
) -> None:
    lake.write_bytes(lake.path("checkpoints", "page_scorer", "t.pt"), b"half a file")
    kept = Checkpoints(lake, "t", 0)
    assert kept.read() is None
    done = fit(fresh_model(), data[0], None, settings(), SEED, 1, kept)
    assert done.steps and kept.read() is not None
    kept.clear()
    assert kept.read() is None


class Planned(Validation):
    """Says what it is told to, and remembers the weights it was asked about."""

    def __init__(self, values: list[float], model: Model) -> None:
        self.values, self.model = values, model
        self.seen: list[dict[str, np.ndarray]] = []

    def measure(self, embed: Any) -> Recall:
        self.seen.append(weights(self.model))
        return Recall(self.values[len(self.seen) - 1], 0.5)


class TestEarlyStopping:
    def test_the_weights_of_the_best_epoch_are_restored(
        self, fresh_model: Callable[[], Model], data: tuple[list[Pair], Validation]
    ) -> None:
        model = fresh_model()
        planned = Planned([0.1, 0.2, 0.6, 0.5, 0.6, 0.4], model)
        done = fit(model, data[0], planned, settings(patience=3), SEED, 9)
        assert done.best_epoch == 2 and len(done.curve) == 6, "equal is not better; three without stop it"
        assert same(weights(model), planned.seen[2])
        assert not same(planned.seen[2], planned.seen[3]), "the best state is a copy, not the live one"

    def test_a_training_that_only_harms_is_undone(
        self, fresh_model: Callable[[], Model], data: tuple[list[Pair], Validation]
    ) -> None:
        model = fresh_model()
        planned = Planned([0.9, 0.2, 0.1], model)
        done = fit(model, data[0], planned, settings(patience=2), SEED, 9)
        assert done.best_epoch == 0 and same(weights(model), weights(fresh_model()))

    def test_the_curve_is_what_the_kept_model_measures(
        self, fresh_model: Callable[[], Model], data: tuple[list[Pair], Validation]
    ) -> None:
        model = fresh_model()
        done = fit(model, data[0], data[1], settings(), SEED, 3)
        found = data[1].measure(lambda texts: embed_texts(model, texts))
        assert done.curve[done.best_epoch].recall == found


def test_cached_gradients_are_those_of_one_pass(
    fresh_model: Callable[[], Model], data: tuple[list[Pair], Validation]
) -> None:
    found = []
    for size in (None, 2):
        model = without_dropout(fresh_model())
        done = fit(model, data[0], None, settings(mini_batch_size=size), SEED, 1)
        found.append((losses(done)[0], weights(model)))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-4)
    for name, values in found[0][1].items():
        if "key.bias" not in name:  # its gradient is zero but for rounding
            assert np.allclose(values, found[1][1][name], atol=2e-3), name


def test_nothing_to_learn_from(fresh_model: Callable[[], Model]) -> None:
    with pytest.raises(ModelError, match="no pair"):
        fit(fresh_model(), [], None, settings(), SEED, 1)


def test_a_loss_that_is_no_number_ends_the_training(
    fresh_model: Callable[[], Model],
    data: tuple[list[Pair], Validation],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class NotANumber:
        def __call__(self, features: Any, labels: Any) -> Any:
            import torch

            return torch.tensor(float("nan"), requires_grad=True)

    monkeypatch.setattr(training, "_loss", lambda model, settings: NotANumber())
    with pytest.raises(ModelError, match="no number"):
        fit(fresh_model(), data[0], None, settings(), SEED, 1)


def test_page_recall_and_reciprocal_rank() -> None:
    pages = [("F", n) for n in range(9)]
    gold = [{("F", 0)}, {("F", 4), ("F", 8)}, {("F", 7)}, {("G", 0)}]
    found = recall([pages] * 4, gold)
    assert found.page_rec == pytest.approx((1 + 0.5) / 4)
    assert found.mrr == pytest.approx((1 + 1 / 5 + 1 / 8) / 4)
    assert Recall(0.5, 0.3).better_than(Recall(0.5, 0.2)) and not Recall(0.5, 0.2).better_than(
        Recall(0.5, 0.2)
    )


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
    found = Validation(rows, pages).measure(lambda texts: np.array([vectors[text] for text in texts]))
    assert found.page_rec == 0.5 and found.mrr == pytest.approx((1 + 1 / 9) / 2), "a blank page comes last"
