from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.errors import ModelError
from finrag_pipeline.language_models.load import CachedLanguageModel
from finrag_pipeline.language_models.protocol import LanguageModel
from finrag_pipeline.retrieval import queries
from finrag_pipeline.retrieval.queries import (
    GeneratedPassages,
    RecordedPassages,
    hyde_vector,
    passage_source,
)
from finrag_pipeline.settings import EncoderSettings, HydeSettings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.language_models.server import ScriptedModel

QUESTION = "What was net revenue in 2022?"
PASSAGES = ["Net revenue was 7 million.", "Revenue rose by 3%.", "In the year, sales fell."]


@pytest.fixture
def encoder(tiny_encoder_settings: EncoderSettings, lake: Lake) -> Encoder:
    return Encoder(tiny_encoder_settings, lake)


def _write(path: Path, contents: Any) -> Path:
    path.write_text(contents if isinstance(contents, str) else json.dumps(contents), "utf-8")
    return path


class TestGenerated:
    def _source(self, model: LanguageModel, **changes: Any) -> GeneratedPassages:
        return GeneratedPassages(model, HydeSettings(seed=100, **changes), workers=2)

    def test_one_seed_per_passage(self) -> None:
        model = ScriptedModel(lambda messages, seed: f" passage {seed}\n")
        assert self._source(model).passages(QUESTION, 4) == tuple(f"passage {n}" for n in range(100, 104))
        assert sorted((temperature, length, seed) for _, temperature, length, seed in model.asked) == [
            (0.7, 200, seed) for seed in range(100, 104)
        ]
        messages = model.asked[0][0]
        assert [message.role for message in messages] == ["system", "user"]
        assert QUESTION in messages[-1].content

    def test_hyde_s_passage_is_the_first_of_multi_hyde_and_written_once(self, lake: Lake) -> None:
        model = ScriptedModel(lambda messages, seed: f"passage {seed}")
        one = self._source(CachedLanguageModel(model, lake)).passages(QUESTION, 1)
        source = self._source(CachedLanguageModel(model, lake))
        assert source.passages(f"  {QUESTION}\n", 4)[:1] == one
        assert len(model.asked) == 4

    def test_an_error_is_told(self) -> None:
        model = ScriptedModel(lambda messages, seed: "error" if seed == 102 else "passage")
        with pytest.raises(ModelError, match="It is down"):
            self._source(model).passages(QUESTION, 4)

    def test_the_fingerprint_covers_how_passages_are_written(self) -> None:
        model, other = (ScriptedModel(lambda messages, seed: "x", name=name) for name in "ab")
        prints = [
            GeneratedPassages(used, HydeSettings(**changes)).fingerprint
            for used, changes in (
                (model, {}),
                (other, {}),
                (model, {"temperature": 0.5}),
                (model, {"max_tokens": 100}),
                (model, {"seed": 1}),
            )
        ]
        assert len(set(prints)) == 5
        assert GeneratedPassages(model, HydeSettings(passages=2)).fingerprint == prints[0]


class TestRecorded:
    def test_questions_match_after_folding_their_white_space(self, tmp_path: Path) -> None:
        recorded = RecordedPassages(_write(tmp_path / "p.json", {f" {QUESTION}\n ": [" a ", "b", "c"]}))
        assert recorded.find(QUESTION.replace(" ", "  ")) == ("a", "b", "c")
        assert recorded.passages(QUESTION, 1) == ("a",)
        assert recorded.passages(QUESTION, 4) == ("a", "b", "c"), "as many as there are"
        assert recorded.most == 3

    def test_a_question_without_passages(self, tmp_path: Path) -> None:
        recorded = RecordedPassages(
            _write(tmp_path / "p.json", {QUESTION: ["a"], "empty": [], "blank": [" "]})
        )
        for question in ("other", "empty", "blank", QUESTION.lower()):
            assert recorded.find(question) is None
            with pytest.raises(
                ModelError, match=f"No passages were recorded for the question '{question[:5]}"
            ):
                recorded.passages(question, 1)

    @pytest.mark.parametrize(
        ("contents", "message"),
        [
            *((wrong, "no JSON of lists of texts") for wrong in ("{", [], {"q": "passage"}, {"q": [1]})),
            ({"q": ["a"], "q ": ["b"]}, "holds the question 'q' twice"),
        ],
    )
    def test_a_wrong_file(self, tmp_path: Path, contents: Any, message: str) -> None:
        with pytest.raises(ModelError, match=message):
            RecordedPassages(_write(tmp_path / "p.json", contents))

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match="cannot be read") as caught:
            RecordedPassages(tmp_path / "none.json")
        assert "FINRAG_HYDE__RECORDED" in caught.value.remedy

    def test_the_fingerprint_is_of_the_contents(self, tmp_path: Path) -> None:
        prints = [
            RecordedPassages(_write(tmp_path / name, contents)).fingerprint
            for name, contents in (("1", {"q": ["a"]}), ("2", '{"q":  ["a"]}'), ("3", {"q": ["b"]}))
        ]
        assert prints[0] == prints[1] != prints[2]


class TestLoad:
    def test_which_source(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = str(_write(tmp_path / "p.json", {"q": ["a"]}))
        monkeypatch.setattr(queries, "language_model", lambda _: ScriptedModel(lambda messages, seed: "x"))

        def loaded(source: str, recorded: bool, model: bool) -> str:
            settings = SimpleNamespace(
                hyde=HydeSettings(source=source, recorded=path if recorded else None),
                language_model=SimpleNamespace(kind="endpoint" if model else "none", max_concurrency=1),
            )
            corpus: Any = SimpleNamespace(settings=settings, once=lambda name, load: load())
            try:
                return type(passage_source(corpus)).__name__
            except ModelError:
                return "nothing"

        kinds = {
            case: loaded(*case)
            for case in product(("auto", "generated", "recorded"), (True, False), (True, False))
        }
        assert kinds == {
            ("auto", True, True): "RecordedPassages",
            ("auto", True, False): "RecordedPassages",
            ("auto", False, True): "GeneratedPassages",
            ("auto", False, False): "nothing",
            ("generated", True, True): "GeneratedPassages",
            ("generated", True, False): "nothing",
            ("generated", False, True): "GeneratedPassages",
            ("generated", False, False): "nothing",
            ("recorded", True, True): "RecordedPassages",
            ("recorded", True, False): "RecordedPassages",
            ("recorded", False, True): "nothing",
            ("recorded", False, False): "nothing",
        }


class TestVector:
    def test_the_mean_of_the_passages_at_unit_length(self, encoder: Encoder) -> None:
        vectors = encoder.embed(PASSAGES)
        mean = vectors.mean(axis=0)
        found = hyde_vector(encoder, PASSAGES)
        np.testing.assert_allclose(found, mean / np.linalg.norm(mean), atol=1e-6)
        assert (found.shape, found.dtype) == ((vectors.shape[1],), np.float32)
        assert np.linalg.norm(mean) < 0.999, "or nothing was normalised"

    def test_one_passage_takes_the_place_of_the_question(self, encoder: Encoder) -> None:
        np.testing.assert_allclose(
            hyde_vector(encoder, PASSAGES[:1]), encoder.embed(PASSAGES[:1])[0], atol=1e-6
        )

    def test_a_passage_longer_than_a_window_counts_whole(self, encoder: Encoder) -> None:
        long = "net revenue of the company in the year and " * 8 + "goodwill risk debt"
        windows = encoder.windows(long)
        assert len(windows) > 1
        mean = encoder.embed(windows).mean(axis=0)
        whole = mean / np.linalg.norm(mean)
        np.testing.assert_allclose(hyde_vector(encoder, [long]), whole, atol=1e-6)
        both = whole + encoder.embed(PASSAGES[:1])[0]
        found = hyde_vector(encoder, [long, PASSAGES[0]])
        np.testing.assert_allclose(found, both / np.linalg.norm(both), atol=1e-6)

    def test_vectors_are_kept(
        self, encoder: Encoder, tiny_encoder_settings: EncoderSettings, lake: Lake
    ) -> None:
        hyde_vector(encoder, PASSAGES)
        again = Encoder(tiny_encoder_settings, lake)
        hyde_vector(again, PASSAGES)
        assert "embedder" not in vars(again)

    def test_no_vector_from_nothing(self, encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(ModelError, match="no passages"):
            hyde_vector(encoder, [])
        monkeypatch.setattr(encoder, "embed", lambda texts: np.array([[1, 0], [-1, 0]], np.float32))
        with pytest.raises(ModelError, match="cancel out"):
            hyde_vector(encoder, PASSAGES[:2])
