"""The loop of a training on a tiny BERT, for every kind of model that is fine-tuned: a few steps each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from finrag_pipeline.errors import ModelError
from finrag_pipeline.rankers import page_scorer, reranker
from finrag_pipeline.rankers.loop import Checkpoints, Progress, Run, State, Validation, fit
from finrag_pipeline.rankers.pairs import Neighbourhood, Pair, benchmark_pairs
from finrag_pipeline.rankers.texts import PageTexts
from finrag_pipeline.rankers.validation import AllPages, Recall
from finrag_pipeline.settings import (
    EncoderSettings,
    PageScorerSettings,
    RerankerTrainingSettings,
    TrainingSettings,
)
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.rankers.corpus import write_corpus

SEED = 5
Model = Any


@dataclass(frozen=True)
class Kind:
    """What is trained, on what, and measured by what."""

    run: type[Run]
    settings: type[TrainingSettings]
    load: Callable[[int], Model]
    pairs: list[Pair]
    validation: Validation

    def fit(
        self,
        model: Model,
        validation: Validation | None = None,
        epochs: int = 2,
        checkpoints: Checkpoints | None = None,
        progress: Progress | None = None,
        seed: int = SEED,
        **changes: Any,
    ) -> State:
        """Train on the pairs."""
        plain = {"batch_size": 4, "learning_rate": 5e-3, "negatives": ("filing",), "patience": 9}
        if self.run is reranker.CrossEncoderRun:
            plain["validation_pages"] = 5
        settings = self.settings(**{**plain, **changes})
        return fit(self.run, model, self.pairs, validation, settings, seed, epochs, checkpoints, progress)

    def fresh(self) -> Model:
        """The model before its training, the same each time."""
        return self.load(1)


@pytest.fixture(params=["bi-encoder", "cross-encoder"])
def kind(
    request: pytest.FixtureRequest, lake: Lake, tiny_encoder_settings: EncoderSettings, tiny_model: Path
) -> Kind:
    return make_kind(request.param, lake, tiny_encoder_settings, tiny_model)


@pytest.fixture
def bi_encoder(lake: Lake, tiny_encoder_settings: EncoderSettings, tiny_model: Path) -> Kind:
    return make_kind("bi-encoder", lake, tiny_encoder_settings, tiny_model)


@pytest.fixture
def cross_encoder(lake: Lake, tiny_encoder_settings: EncoderSettings, tiny_model: Path) -> Kind:
    return make_kind("cross-encoder", lake, tiny_encoder_settings, tiny_model)


def make_kind(name: str, lake: Lake, encoder: EncoderSettings, tiny: Path) -> Kind:
    names, questions = write_corpus(lake, 4)
    learned = [row for row in questions if row["filing"] != names[3]]
    held = [row for row in questions if row["filing"] == names[3]]

    def data(settings: TrainingSettings, tokens: int) -> tuple[list[Pair], Any]:
        texts = PageTexts(lake, settings, encoder, tokens)
        pairs = benchmark_pairs(learned, texts, ("filing",), Neighbourhood(lake, texts, names[:3]))
        return pairs, {names[3]: texts.pages(names[3])}

    if name == "bi-encoder":
        pairs, pages = data(PageScorerSettings(), 32)
        return Kind(
            page_scorer.BiEncoderRun,
            PageScorerSettings,
            lambda seed: page_scorer.load_bi_encoder(tiny, 32),
            pairs,
            (held, pages),
        )
    pairs, pages = data(RerankerTrainingSettings(), 40)
    return Kind(
        reranker.CrossEncoderRun,
        RerankerTrainingSettings,
        lambda seed: reranker.load_cross_encoder(tiny, 64, seed),
        pairs,
        (held, pages),
    )


def weights(model: Model) -> dict[str, np.ndarray]:
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in model.state_dict().items()}


def same(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> bool:
    return all(np.array_equal(first[name], second[name]) for name in first)


def losses(done: State) -> list[float]:
    return [epoch["loss"] for epoch in done.curve if epoch["loss"] is not None]


def without_dropout(model: Model) -> Model:
    """So small a model learns nothing in a few steps with it."""
    for part in model.modules():
        if type(part).__name__ == "Dropout":
            part.p = 0.0
    return model


def test_training_reduces_the_loss(kind: Kind) -> None:
    done = kind.fit(without_dropout(kind.fresh()), epochs=50, learning_rate=2e-3)
    assert [epoch["epoch"] for epoch in done.curve] == list(range(51)) and done.curve[0]["loss"] is None
    assert losses(done)[-1] < 0.5 * losses(done)[0]
    assert done.best_epoch == 50 and done.steps >= 100, "without validation questions the last epoch is kept"


def test_a_cross_encoder_learns_to_tell_gold_pages_from_their_negatives(cross_encoder: Kind) -> None:
    model = without_dropout(cross_encoder.fresh())
    cross_encoder.fit(model, epochs=50, learning_rate=2e-3)
    pairs = cross_encoder.pairs
    gold = reranker.score_pairs(model, [(pair.question, pair.positive) for pair in pairs], 8)
    others = reranker.score_pairs(model, [(pair.question, pair.negatives[0][0]) for pair in pairs], 8)
    assert gold.mean() > 0 > others.mean()


def test_its_loss_is_binary_cross_entropy_over_gold_page_and_negatives(cross_encoder: Kind) -> None:
    model = without_dropout(cross_encoder.fresh())
    (batch,) = cross_encoder.run.batches(cross_encoder.pairs, 99, SEED, 1)
    logits = reranker.score_pairs(model, [(q, text) for q, *texts in batch for text in texts], 8).astype(
        float
    )
    gold = np.tile([True, False], len(batch))
    expected = np.log1p(np.exp(np.where(gold, -logits, logits))).mean()
    done = cross_encoder.fit(model, epochs=1, batch_size=99)
    assert done.curve[1]["loss"] == pytest.approx(expected, rel=1e-4)


def test_cached_gradients_are_those_of_one_pass(bi_encoder: Kind) -> None:
    found = []
    for size in (None, 2):
        model = without_dropout(bi_encoder.fresh())
        done = bi_encoder.fit(model, epochs=1, mini_batch_size=size)
        found.append((losses(done)[0], weights(model)))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-4)
    for name, values in found[0][1].items():
        if "key.bias" not in name:  # its gradient is zero but for rounding
            assert np.allclose(values, found[1][1][name], atol=2e-3), name


def test_the_same_seed_gives_the_same_weights(kind: Kind) -> None:
    found = []
    for seed in (SEED, SEED, SEED + 1):
        model = kind.load(seed)
        kind.fit(model, kind.validation, seed=seed)
        found.append(weights(model))
    assert same(found[0], found[1]) and not same(found[0], found[2])


class Killed(BaseException):
    """As a signal: nothing between catches it."""


@pytest.mark.parametrize("at", [1, 3, 4])
def test_a_killed_training_ends_as_an_uninterrupted_one(at: int, lake: Lake, kind: Kind) -> None:
    whole = kind.fresh()
    expected = kind.fit(whole, kind.validation)
    kept = Checkpoints(lake, "t", 0, "kind")

    def kill(done: int, total: int) -> None:
        if done == at:
            raise Killed

    with pytest.raises(Killed):
        kind.fit(kind.fresh(), kind.validation, checkpoints=kept, progress=kill)
    assert lake.fs.exists(lake.path("checkpoints", "kind", "t.pt")) == (kept.read() is not None) == (at > 1)
    model, again = kind.fresh(), list[int]()
    done = kind.fit(model, kind.validation, checkpoints=kept, progress=lambda step, _: again.append(step))
    assert again[0] == at, "it goes on after the last step that was kept"
    assert (done.curve, done.best_epoch, done.steps) == (expected.curve, expected.best_epoch, expected.steps)
    assert same(weights(model), weights(whole))


def test_a_damaged_checkpoint_begins_anew(lake: Lake, bi_encoder: Kind) -> None:
    kept = Checkpoints(lake, "t", 0, "kind")
    lake.write_bytes(lake.path("checkpoints", "kind", "t.pt"), b"half a file")
    assert kept.read() is None
    kept.write(lambda: {"state": {"epoch": 2, "steps": 5}})  # of another version
    done = bi_encoder.fit(bi_encoder.fresh(), epochs=1, checkpoints=kept)
    assert done.steps and kept.read() is not None
    kept.clear()
    assert kept.read() is None


class TestEarlyStopping:
    def planned(
        self, kind: Kind, monkeypatch: pytest.MonkeyPatch, *values: float
    ) -> list[dict[str, np.ndarray]]:
        """Measure these values; the weights that were measured."""
        seen: list[dict[str, np.ndarray]] = []

        def measured(run: Run) -> Recall:
            seen.append(weights(run.model))
            return Recall(values[len(seen) - 1], 0.5)

        monkeypatch.setattr(kind.run, "measured", measured)
        return seen

    def test_the_weights_of_the_best_epoch_are_restored(
        self, kind: Kind, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model, seen = kind.fresh(), self.planned(kind, monkeypatch, 0.1, 0.2, 0.6, 0.5, 0.6, 0.4)
        done = kind.fit(model, kind.validation, 9, patience=3)
        assert done.best_epoch == 2 and len(done.curve) == 6, "equal is not better; three without stop it"
        assert same(weights(model), seen[2])
        assert not same(seen[2], seen[3]), "the best state is a copy, not the live one"

    def test_a_training_that_only_harms_is_undone(self, kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
        model = kind.fresh()
        self.planned(kind, monkeypatch, 0.9, 0.2, 0.1)
        done = kind.fit(model, kind.validation, 9, patience=2)
        assert done.best_epoch == 0 and same(weights(model), weights(kind.fresh()))

    def test_the_curve_is_what_the_kept_model_measures(self, bi_encoder: Kind) -> None:
        model = bi_encoder.fresh()
        done = bi_encoder.fit(model, bi_encoder.validation, 3)
        found = AllPages(*bi_encoder.validation).measure(lambda texts: page_scorer.embed_texts(model, texts))
        best = done.curve[done.best_epoch]
        assert Recall(best["page_rec"], best["mrr"]) == found


def test_nothing_to_learn_from(kind: Kind) -> None:
    with pytest.raises(ModelError, match="no pair"):
        fit(kind.run, kind.fresh(), [], None, kind.settings(), SEED, 1)


def test_a_loss_that_is_no_number_ends_the_training(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind.run, "backward", lambda run, batch: float("nan"))
    with pytest.raises(ModelError, match="no number") as caught:
        kind.fit(kind.fresh())
    assert kind.run.variable in caught.value.remedy
