from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from finrag_pipeline.errors import ModelError
from finrag_pipeline.language_models.load import (
    FOLDER,
    CachedLanguageModel,
    language_model_problem,
    load_language_model,
)
from finrag_pipeline.language_models.parallel import complete_all
from finrag_pipeline.language_models.protocol import Completion, Message, Request
from finrag_pipeline.settings import LanguageModelSettings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.language_models.server import ScriptedModel

HELLO = (Message("user", "Hello"),)


def _model() -> ScriptedModel:
    return ScriptedModel(lambda messages, seed: f"{messages[-1].content} {seed}")


def _ask(model: Any, **changes: Any) -> Completion:
    request = {"messages": HELLO, "temperature": 0.7, "max_tokens": 10, "seed": 1, **changes}
    answer = model.complete(Request(**request))
    assert isinstance(answer, Completion)
    return answer


def _file(lake: Lake) -> Path:
    (path,) = (path for path in Path(lake.path(FOLDER)).rglob("*.json"))
    return path


class TestOnce:
    def test_the_same_request_is_asked_once(self, lake: Lake) -> None:
        model = _model()
        first = _ask(CachedLanguageModel(model, lake))
        again = _ask(CachedLanguageModel(model, lake))
        assert (first.text, first.cached, again.cached) == ("Hello 1", False, True)
        assert replace(again, cached=False) == first, "tokens and time are those of the making"
        assert len(model.asked) == 1

    @pytest.mark.parametrize(
        "change",
        [
            {"seed": 2},
            {"seed": None},
            {"temperature": 0.0},
            {"max_tokens": 11},
            {"messages": (Message("system", "Hello"),)},
            {"messages": (Message("user", "Hello "),)},
            {"messages": (Message("user", "Hel"), Message("user", "lo"))},
        ],
    )
    def test_every_part_of_a_request_counts(self, lake: Lake, change: dict[str, Any]) -> None:
        model = _model()
        _ask(CachedLanguageModel(model, lake))
        assert not _ask(CachedLanguageModel(model, lake), **change).cached
        assert len(model.asked) == 2

    def test_another_model_is_asked_itself(self, lake: Lake) -> None:
        other = ScriptedModel(lambda messages, seed: "other", name="other")
        _ask(CachedLanguageModel(_model(), lake))
        assert _ask(CachedLanguageModel(other, lake)).text == "other"

    def test_whole_numbers_as_temperature_are_the_same(self, lake: Lake) -> None:
        model = _model()
        _ask(CachedLanguageModel(model, lake), temperature=0)
        assert _ask(CachedLanguageModel(model, lake), temperature=0.0).cached

    def test_text_of_any_kind(self, lake: Lake) -> None:
        odd = (Message("user", "株式 \ud800 \x00 </document>"),)
        model = ScriptedModel(lambda messages, seed: "株式")
        for cached in (False, True):
            assert _ask(CachedLanguageModel(model, lake), messages=odd).cached is cached


class TestWrong:
    @pytest.mark.parametrize("answer", ["error", "", " \n"])
    def test_what_is_no_answer_is_not_kept(self, lake: Lake, answer: str) -> None:
        with pytest.raises(ModelError):
            _ask(CachedLanguageModel(ScriptedModel(lambda messages, seed: answer), lake))
        assert not lake.fs.exists(lake.root)
        assert _ask(CachedLanguageModel(_model(), lake)).text == "Hello 1"

    @pytest.mark.parametrize(
        "damage",
        [
            lambda text: "",
            lambda text: text[: len(text) // 2],
            lambda text: "null",
            lambda text: text.replace('"Hello"', '"Another question"'),
            lambda text: text.replace('"Hello 1"', '" "'),
            lambda text: text.replace('"Hello 1"', "7"),
            lambda text: text.replace('"text"', '"txt"'),
        ],
    )
    def test_a_damaged_file_is_a_miss(self, lake: Lake, damage: Any) -> None:
        model = _model()
        _ask(CachedLanguageModel(model, lake))
        path = _file(lake)
        whole = path.read_text()
        path.write_text(damage(whole))
        assert path.read_text() != whole
        assert not _ask(CachedLanguageModel(model, lake)).cached
        assert _ask(CachedLanguageModel(model, lake)).cached
        assert len(model.asked) == 2


class TestMany:
    def test_in_order_and_an_error_stops_nothing(self, lake: Lake) -> None:
        model = ScriptedModel(lambda messages, seed: "error" if seed == 2 else str(seed))
        requests = [Request(HELLO, 0.7, 10, seed) for seed in range(6)]
        answers = complete_all(CachedLanguageModel(model, lake), requests, workers=3)
        assert [answer.text if isinstance(answer, Completion) else "-" for answer in answers] == list(
            "01-345"
        )
        assert isinstance(answers[2], ModelError) and answers[2].reason == "It is down."
        again = complete_all(CachedLanguageModel(model, lake), requests, workers=3)
        assert [isinstance(answer, Completion) and answer.cached for answer in again] == [
            True,
            True,
            False,
        ] + [True] * 3


class TestLoad:
    def test_none(self, lake: Lake) -> None:
        assert load_language_model(LanguageModelSettings(), lake) is None
        assert "FINRAG_LANGUAGE_MODEL__KIND" in (language_model_problem(LanguageModelSettings()) or "")

    def test_an_endpoint(self, lake: Lake) -> None:
        settings = LanguageModelSettings(kind="endpoint", name="m", base_url="http://host/v1")
        model = load_language_model(settings, lake)
        assert model is not None and model.name == "m"
        assert language_model_problem(settings) is None
        with pytest.raises(ModelError, match="has no address"):
            load_language_model(LanguageModelSettings(kind="endpoint"), lake)
        assert "BASE_URL" in (language_model_problem(LanguageModelSettings(kind="endpoint")) or "")

    def test_a_local_model_that_is_not_here(self, lake: Lake) -> None:
        settings = LanguageModelSettings(kind="local", name="nobody/no-such-model")
        assert "is not on this machine" in (language_model_problem(settings) or "")
        model = load_language_model(settings, lake)
        assert model is not None
        with pytest.raises(ModelError, match="is not on this machine") as caught:
            _ask(model)
        assert "FINRAG_LANGUAGE_MODEL__NAME" in caught.value.remedy
