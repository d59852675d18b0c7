from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from finrag_pipeline.errors import ModelError
from finrag_pipeline.language_models.endpoint import EndpointModel, _seconds
from finrag_pipeline.language_models.load import load_language_model
from finrag_pipeline.language_models.protocol import Completion, Message, Request
from finrag_pipeline.settings import LanguageModelSettings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.language_models.server import Endpoint, Reply, endpoint, said

KEY = "sk-very-secret-0123456789"
QUESTION = [Message("system", "You answer."), Message("user", "What is 1 + 1?")]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    yield


def _settings(at: Endpoint | str, **changes: Any) -> LanguageModelSettings:
    base_url = at if isinstance(at, str) else at.base_url
    return LanguageModelSettings(**{"kind": "endpoint", "name": "m", "base_url": base_url, **changes})


def _ask(settings: LanguageModelSettings, slept: list[float] | None = None) -> Completion:
    model = EndpointModel(settings, sleep=(slept if slept is not None else []).append)
    return model.complete(Request(QUESTION, 0.7, 200, 3))


class TestAnswer:
    def test_what_is_asked_and_what_is_read(self) -> None:
        with endpoint(said("2", "length")) as at:
            answer = _ask(_settings(at, key=KEY))
        assert at.paths == ["/v1/chat/completions"]
        assert at.headers[0]["authorization"] == f"Bearer {KEY}"
        assert at.requests == [
            {
                "model": "m",
                "messages": [
                    {"role": "system", "content": "You answer."},
                    {"role": "user", "content": "What is 1 + 1?"},
                ],
                "temperature": 0.7,
                "max_tokens": 200,
                "stream": False,
                "seed": 3,
            }
        ]
        assert (answer.text, answer.model, answer.finish_reason) == ("2", "served-model", "length")
        assert (answer.prompt_tokens, answer.completion_tokens) == (11, 7)
        assert not answer.cached

    def test_a_sparse_answer_is_enough(self) -> None:
        body = {"choices": [{"message": {"content": "2"}}]}
        with endpoint(Reply(body=json.dumps(body).encode())) as at:
            answer = _ask(_settings(at.base_url + "/"))
        assert (answer.text, answer.model, answer.prompt_tokens, answer.finish_reason) == (
            "2",
            "m",
            None,
            "stop",
        )
        assert "authorization" not in at.headers[0]
        assert at.paths == ["/v1/chat/completions"]

    def test_without_a_seed_none_is_sent(self) -> None:
        with endpoint(said("2")) as at:
            EndpointModel(_settings(at)).complete(Request(QUESTION, 0, 5, None))
        assert "seed" not in at.requests[0]

    def test_text_that_utf_8_cannot_say_is_sent_all_the_same(self) -> None:
        with endpoint(said("2")) as at:
            EndpointModel(_settings(at)).complete(Request([Message("user", "株 \ud800 £")], 0, 5, None))
        assert at.requests[0]["messages"][0]["content"] == "株 ? £"

    def test_no_more_requests_at_a_time_than_set(self) -> None:
        with endpoint(replace(said("2"), linger=0.05)) as at, ThreadPoolExecutor(8) as pool:
            model = EndpointModel(_settings(at, max_concurrency=2))
            answers = [pool.submit(model.complete, Request(QUESTION, 0.0, 5, n)) for n in range(24)]
            assert {answer.result().text for answer in answers} == {"2"}
        assert at.most_at_once == 2
        assert sorted(request["seed"] for request in at.requests) == list(range(24))


class TestTriedAgain:
    @pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
    def test_a_busy_or_failing_server(self, status: int) -> None:
        slept: list[float] = []
        with endpoint(Reply(status), Reply(status), said("2")) as at:
            answer = _ask(_settings(at, retries=2), slept)
        assert answer.text == "2"
        assert len(slept) == 2
        assert 0.5 <= slept[0] <= 1.0 and 1.0 <= slept[1] <= 1.5, "the pauses grow"

    def test_as_long_as_retry_after_says(self) -> None:
        slept: list[float] = []
        busy = Reply(429, headers=(("Retry-After", "7"),))
        with endpoint(busy, said("2")) as at:
            _ask(_settings(at), slept)
        assert slept == [7.0]

    def test_a_server_that_wants_a_very_long_pause_is_left_alone(self) -> None:
        slept: list[float] = []
        with (
            endpoint(Reply(429, headers=(("Retry-After", "3600"),))) as at,
            pytest.raises(ModelError, match="left alone for 3600 seconds"),
        ):
            _ask(_settings(at), slept)
        assert len(at.requests) == 1 and not slept

    def test_until_the_tries_are_used_up(self) -> None:
        with (
            endpoint(Reply(503, b"warming up")) as at,
            pytest.raises(ModelError, match=r"answered with 503: warming up\.") as caught,
        ):
            _ask(_settings(at, retries=3))
        assert len(at.requests) == 4
        assert "FINRAG_LANGUAGE_MODEL__MAX_CONCURRENCY" in caught.value.remedy

    def test_a_server_that_does_not_answer(self) -> None:
        with endpoint(Reply(hang=True), said("2")) as at:
            answer = _ask(_settings(at, timeout=0.3, retries=1))
            assert answer.text == "2" and len(at.requests) == 2
        with endpoint(Reply(hang=True)) as at:
            with pytest.raises(ModelError, match=r"did not answer in 0\.3 seconds") as caught:
                _ask(_settings(at, timeout=0.3, retries=1))
            assert len(at.requests) == 2
        assert "FINRAG_LANGUAGE_MODEL__TIMEOUT" in caught.value.remedy

    def test_a_connection_that_breaks_off(self) -> None:
        whole = said("2")
        with endpoint(Reply(body=whole.body[:40], announced=len(whole.body)), whole) as at:
            assert _ask(_settings(at, retries=1)).text == "2" and len(at.requests) == 2

    def test_a_server_that_is_down(self) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
            slept: list[float] = []
            with pytest.raises(ModelError, match="cannot be reached") as caught:
                _ask(_settings(f"http://127.0.0.1:{unused.getsockname()[1]}/v1", retries=2), slept)
        assert len(slept) == 2
        assert "FINRAG_LANGUAGE_MODEL__BASE_URL" in caught.value.remedy


class TestRefused:
    """Answers that another try would not change: asked once, said clearly, never taken for text."""

    @pytest.mark.parametrize(
        ("reply", "message"),
        [
            (
                Reply(body=b"<html><h1>It works!</h1>", content_type="text/html"),
                r"no whole JSON \(text/html\)",
            ),
            (Reply(body=said("2").body[:60]), r"no whole JSON \(application/json\)"),
            (Reply(body=b""), "no whole JSON"),
            (Reply(body=b"[1, 2]"), "JSON that is no chat completion"),
            (Reply(body=b'{"error": {"message": "no such model"}}'), "no such model"),
            (Reply(body=b'{"choices": [{"text": "old protocol"}]}'), "JSON that is no chat completion"),
            (Reply(body=b'{"choices": []}'), "without a choice"),
            (said(None, "content_filter"), r"no text \(content_filter\)"),
            (said("  \n", "length"), r"no text \(length\)"),
            (Reply(400, b'{"error": "context too long"}'), r"refuses the request \(400\).*context too long"),
            (Reply(404), r"does not exist there \(404\)"),
            (Reply(302, headers=(("Location", "http://elsewhere.example"),)), r"leads elsewhere \(302\)"),
        ],
    )
    def test_once_and_clearly(self, reply: Reply, message: str, lake: Lake) -> None:
        with endpoint(reply) as at:
            model = load_language_model(_settings(at), lake)
            assert model is not None
            with pytest.raises(ModelError, match=message) as caught:
                model.complete(Request(QUESTION, 0.0, 5, 0))
            assert len(at.requests) == 1
            assert caught.value.remedy
        assert not lake.fs.exists(lake.root), "nothing wrong is kept"

    @pytest.mark.parametrize("status", [401, 403])
    def test_a_wrong_key_is_not_shown(self, status: int) -> None:
        repeated = json.dumps({"error": f"Incorrect key provided: {KEY}"}).encode()
        with endpoint(Reply(status, repeated)) as at:
            with pytest.raises(ModelError, match=rf"refuses the key \({status}\)") as caught:
                _ask(_settings(at, key=KEY))
            assert len(at.requests) == 1
        assert KEY not in str(caught.value)
        assert "FINRAG_LANGUAGE_MODEL__KEY" in caught.value.remedy

    def test_a_missing_key(self) -> None:
        with endpoint(Reply(401)) as at, pytest.raises(ModelError, match="wants a key"):
            _ask(_settings(at))

    def test_a_key_that_the_server_repeats_is_cut_out(self) -> None:
        with (
            endpoint(Reply(400, f"the header 'Bearer {KEY}' is odd".encode())) as at,
            pytest.raises(ModelError, match="Bearer …") as caught,
        ):
            _ask(_settings(at, key=KEY))
        assert KEY not in str(caught.value)


class TestSettings:
    def test_the_key_is_in_no_text_of_the_settings(self) -> None:
        settings = _settings("http://localhost/v1", key=KEY)
        assert KEY not in repr(settings) + str(settings.model_dump()) + settings.model_dump_json()

    @pytest.mark.parametrize(
        ("base_url", "message"),
        [
            (None, "has no address"),
            ("", "has no address"),
            ("localhost:8000/v1", "no http or https address"),
            ("ftp://host/v1", "no http or https address"),
            ("http://", "no http or https address"),
            ("http://host:99999/v1", "no http or https address"),
            ("http://host/v1?key=1", "more than host and path"),
        ],
    )
    def test_an_address_that_is_none(self, base_url: str | None, message: str) -> None:
        with pytest.raises(ModelError, match=message) as caught:
            EndpointModel(LanguageModelSettings(kind="endpoint", base_url=base_url))
        assert "FINRAG_LANGUAGE_MODEL__" in caught.value.remedy

    def test_a_key_in_the_address_is_refused_and_not_shown(self) -> None:
        with pytest.raises(ModelError, match="more than host and path") as caught:
            EndpointModel(_settings(f"http://me:{KEY}@host/v1"))
        assert KEY not in str(caught.value)

    def test_a_key_that_is_none(self) -> None:
        with pytest.raises(ModelError, match="unprintable") as caught:
            EndpointModel(_settings("http://host/v1", key=f"{KEY}\nX-Other: 1"))
        assert KEY not in str(caught.value)

    def test_the_fingerprint_is_of_address_and_name(self) -> None:
        base = EndpointModel(_settings("http://host/v1")).fingerprint
        assert EndpointModel(_settings("http://host/v1/", key=KEY, retries=0, timeout=1)).fingerprint == base
        assert EndpointModel(_settings("http://host/v1", name="other")).fingerprint != base
        assert EndpointModel(_settings("http://host2/v1")).fingerprint != base


class TestRetryAfter:
    @pytest.mark.parametrize(
        ("header", "seconds"),
        [
            (None, None),
            ("", None),
            ("5", 5.0),
            ("0.5", 0.5),
            ("-3", 0.0),
            ("soon", None),
            ("nan", None),
            ("inf", None),
        ],
    )
    def test_seconds(self, header: str | None, seconds: float | None) -> None:
        assert _seconds(header) == seconds

    def test_a_date(self) -> None:
        past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
        assert _seconds(past) == 0.0
        future = _seconds(format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True))
        assert future is not None and 3600 < future <= 7200
