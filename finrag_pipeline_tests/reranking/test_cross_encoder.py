from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from finrag_pipeline.errors import ModelError
from finrag_pipeline.reranking import cross_encoder
from finrag_pipeline.reranking.cross_encoder import CrossEncoderReranker, load_reranker
from finrag_pipeline.settings import RerankerSettings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.tiny_transformers import (
    POSITIONS,
    change_json,
    write_tiny_bert,
    write_tiny_xlm_roberta,
)

QUESTION = "What was net revenue in the year?"
TEXTS = ["net revenue of the year", "goodwill", "cash flow, total assets and debt", "tax", "goodwill"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reranker") / "bert"
    return write_tiny_bert(folder, "BertForSequenceClassification", num_labels=1)


@pytest.fixture(scope="module")
def xlm_roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_xlm_roberta(tmp_path_factory.mktemp("reranker") / "xlm_roberta")


@pytest.fixture
def copy(bert: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(bert, tmp_path / "copy"))


def _reranker(folder: Path, lake: Lake, **changes: Any) -> CrossEncoderReranker:
    return CrossEncoderReranker(RerankerSettings(name=str(folder), **changes), lake)


def _expected(folder: Path, head: str, texts: list[str], longest: int = POSITIONS) -> np.ndarray:
    """Scores by transformers alone: one pair at a time, the output before any sigmoid."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = getattr(transformers, head).from_pretrained(folder).eval()
    scores = []
    with torch.inference_mode():
        for text in texts:
            pair = tokenizer(
                QUESTION, text, truncation=True, max_length=longest, padding=False, return_tensors="pt"
            )
            scores.append(float(model(**pair).logits[0, 0]))
    return np.array(scores, np.float32)


class TestScores:
    def test_as_transformers_gives_them(self, bert: Path, lake: Lake) -> None:
        scores = _reranker(bert, lake).score(QUESTION, TEXTS)
        assert (scores.shape, scores.dtype) == ((5,), np.float32)
        np.testing.assert_allclose(scores, _expected(bert, "BertForSequenceClassification", TEXTS), atol=1e-5)
        assert len(np.unique(scores)) == 4
        assert scores[1] == scores[4]

    def test_the_architecture_of_the_published_reranker(self, xlm_roberta: Path, lake: Lake) -> None:
        long = "cash flow of the company " * 40
        scores = _reranker(xlm_roberta, lake).score(QUESTION, [*TEXTS, long])
        expected = _expected(xlm_roberta, "XLMRobertaForSequenceClassification", [*TEXTS, long])
        np.testing.assert_allclose(scores, expected, atol=1e-5)

    def test_long_pairs_are_cut(self, bert: Path, lake: Lake) -> None:
        long = "net revenue " * 100
        for longest in (32, 512):
            scores = _reranker(bert, lake, max_length=longest).score(QUESTION, [long])
            expected = _expected(bert, "BertForSequenceClassification", [long], min(longest, POSITIONS))
            np.testing.assert_allclose(scores, expected, atol=1e-5)

    def test_batches_change_nothing(self, bert: Path, tmp_path: Path) -> None:
        texts = [f"revenue of {n} million " * (n % 7 + 1) for n in range(40)]
        one = _reranker(bert, Lake(tmp_path / "1"), batch_size=1).score(QUESTION, texts)
        many = _reranker(bert, Lake(tmp_path / "2"), batch_size=16).score(QUESTION, texts)
        np.testing.assert_allclose(one, many, atol=1e-5)

    def test_no_texts(self, lake: Lake) -> None:
        scores = CrossEncoderReranker(RerankerSettings(name="nobody/no-such-model"), lake).score(QUESTION, [])
        assert (scores.shape, scores.dtype) == ((0,), np.float32)


class TestOnce:
    def test_no_pair_is_scored_twice(self, bert: Path, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
        scored: list[tuple[str, str]] = []
        predicted = CrossEncoderReranker._predicted

        def count(self: CrossEncoderReranker, question: str, texts: list[str]) -> np.ndarray:
            scored.extend((question, text) for text in texts)
            return predicted(self, question, texts)

        monkeypatch.setattr(CrossEncoderReranker, "_predicted", count)
        first = _reranker(bert, lake).score(QUESTION, TEXTS)
        again = _reranker(bert, lake)
        np.testing.assert_array_equal(again.score(f"  {QUESTION}\n", [*TEXTS[::-1], "debt"])[:5], first[::-1])
        assert len(scored) == 5 == len(set(scored)), "four distinct texts, then one more"
        assert "debt" in scored[-1]
        again.score("Another question?", TEXTS[:2])
        assert len(scored) == 7

    def test_weights_are_not_loaded_for_kept_scores(self, bert: Path, lake: Lake) -> None:
        _reranker(bert, lake).score(QUESTION, TEXTS)
        again = _reranker(bert, lake)
        again.score(QUESTION, TEXTS[:3])
        assert "_model" not in vars(again)

    def test_other_weights_and_lengths_have_scores_of_their_own(
        self, bert: Path, tmp_path: Path, lake: Lake
    ) -> None:
        other = write_tiny_bert(tmp_path / "other", "BertForSequenceClassification", seed=1, num_labels=1)
        prints = {
            _reranker(bert, lake).fingerprint,
            _reranker(other, lake).fingerprint,
            _reranker(bert, lake, max_length=32).fingerprint,
        }
        assert len(prints) == 3
        assert _reranker(bert, lake, batch_size=3).fingerprint in prints
        assert not np.allclose(
            _reranker(bert, lake).score(QUESTION, TEXTS), _reranker(other, lake).score(QUESTION, TEXTS)
        )


class TestRefused:
    def test_an_encoder_is_no_cross_encoder(self, tiny_model: Path, lake: Lake) -> None:
        """transformers would give it a head of random weights and a score for everything."""
        with pytest.raises(ModelError, match=r"is no cross-encoder \(architecture BertModel\)") as caught:
            _reranker(tiny_model, lake).score(QUESTION, TEXTS)
        assert "FINRAG_RERANKER__NAME" in caught.value.remedy

    def test_several_outputs(self, tmp_path: Path, lake: Lake) -> None:
        folder = write_tiny_bert(tmp_path / "three", "BertForSequenceClassification", num_labels=3)
        with pytest.raises(ModelError, match="has 3 outputs"):
            _reranker(folder, lake).score(QUESTION, TEXTS)

    def test_scores_that_are_no_numbers_are_not_kept(self, copy: Path, lake: Lake) -> None:
        from safetensors.torch import load_file, save_file

        weights = load_file(copy / "model.safetensors")
        weights["classifier.bias"][:] = float("nan")
        save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(ModelError, match="scores that are not numbers"):
            _reranker(copy, lake).score(QUESTION, TEXTS)
        assert not lake.fs.exists(lake.root)

    def test_damaged_weights(self, copy: Path, lake: Lake) -> None:
        path = copy / "model.safetensors"
        path.write_bytes(path.read_bytes()[:5000])
        with pytest.raises(ModelError, match="cannot be loaded"):
            _reranker(copy, lake).score(QUESTION, TEXTS)

    def test_a_pickle_is_never_loaded(self, copy: Path, lake: Lake, tmp_path: Path) -> None:
        class Intruder:
            def __reduce__(self) -> tuple:
                return (Path.touch, (tmp_path / "intruder was here",))

        (copy / "model.safetensors").unlink()
        (copy / "pytorch_model.bin").write_bytes(pickle.dumps(Intruder()))
        with pytest.raises(ModelError, match="holds more than tensors"):
            _reranker(copy, lake).score(QUESTION, TEXTS)
        assert not (tmp_path / "intruder was here").exists()

    def test_a_config_that_says_nothing(self, copy: Path, lake: Lake) -> None:
        change_json(copy / "config.json", architectures=None)
        with pytest.raises(ModelError, match=r"architecture none"):
            _reranker(copy, lake).score(QUESTION, TEXTS)


class TestByName:
    def test_the_default_is_not_on_this_machine(self, lake: Lake) -> None:
        reranker = load_reranker(None, RerankerSettings(), lake)
        problem = reranker.problem()
        assert problem == "Model BAAI/bge-reranker-v2-m3 is not on this machine and HF_HUB_OFFLINE is set."
        with pytest.raises(ModelError, match="is not on this machine"):
            reranker.score(QUESTION, TEXTS)

    def test_any_other_takes_its_slot_under_its_own_name(self, bert: Path, lake: Lake) -> None:
        settings = RerankerSettings(revision="of the default", max_length=32)
        reranker = load_reranker(str(bert), settings, lake)
        assert reranker.problem() is None
        assert reranker.fingerprint == _reranker(bert, lake, max_length=32).fingerprint

    def test_a_revision_stays_with_the_model_it_was_set_for(
        self, lake: Lake, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[tuple[object, ...]] = []
        monkeypatch.setattr(cross_encoder, "model_problem", lambda *given: asked.append(given))
        settings = RerankerSettings(name="a/b", revision="r")
        for name in (None, "a/b", "c/d"):
            load_reranker(name, settings, lake).problem()
        assert [given[:2] for given in asked] == [("a/b", "r"), ("a/b", "r"), ("c/d", None)]
