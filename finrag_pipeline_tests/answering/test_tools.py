"""A language model that calls plan, calculator and rows: what it is given, and what it may say after."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from finrag_pipeline.answering.generation import Asked, Generated, generate
from finrag_pipeline.answering.passages import Passage
from finrag_pipeline.answering.tools import TOOLS, FinancialTools
from finrag_pipeline.language_models.endpoint import EndpointModel
from finrag_pipeline.language_models.load import CachedLanguageModel
from finrag_pipeline.language_models.parallel import MOST_ROUNDS
from finrag_pipeline.settings import AnswerSettings, LanguageModelSettings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.answering.made_facts import calculator
from finrag_pipeline_tests.language_models.server import Endpoint, Reply, endpoint, said

ZOLTEK = calculator()
QUESTION = "Is Zoltek doing well?"
PAGE = Passage("c1", "ZOLTEK_2021_10K", 2, "The company makes gearboxes.")
MARGIN = {"formula": "operating_income / revenue", "company": "Zoltek", "period": "FY2021"}


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    yield


def calls(*asked: tuple[str, Any]) -> Reply:
    """A completion that calls functions and says nothing."""
    made = [
        {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": text if isinstance(text, str) else json.dumps(text)}}
        for n, (name, text) in enumerate(asked)
    ]  # fmt: skip
    message = {"role": "assistant", "content": None, "tool_calls": made}
    return said(None, choices=[{"index": 0, "message": message, "finish_reason": "tool_calls"}])


def answered(at: Endpoint, lake: Lake | None = None, **settings: Any) -> Generated:
    model = EndpointModel(LanguageModelSettings(kind="endpoint", name="m", base_url=at.base_url))
    derivation = ZOLTEK.answer(QUESTION)
    assert derivation.abstained
    asked = Asked(QUESTION, (PAGE,), derivation, partial(FinancialTools, ZOLTEK, None))
    kept = CachedLanguageModel(model, lake) if lake is not None else model
    (found,) = generate(kept, "grounded", [asked], AnswerSettings(**settings))
    return found


def results(at: Endpoint, turn: int = -1) -> list[str]:
    return [one["content"] for one in at.requests[turn]["messages"] if one["role"] == "tool"]


def test_what_functions_return_may_be_said() -> None:
    with endpoint(calls(("evaluate", MARGIN)), said("The operating margin was 22.0 % in FY2021 [F3].")) as at:
        found = answered(at)
    assert found.fallback is None and not found.abstained
    assert found.answer == "The operating margin was 22.0 % in FY2021."
    assert {tool["function"]["name"] for tool in at.requests[0]["tools"]} == {tool.name for tool in TOOLS}
    (result,) = results(at)
    assert "F1: Operating income, FY2021: 330,000,000" in result and "data only" in result
    called, told = at.requests[1]["messages"][-2:]
    assert called["tool_calls"][0]["id"] == told["tool_call_id"] == "c0"
    assert found.completion is not None and found.completion.prompt_tokens == 22


def test_a_number_that_no_function_returned_is_not_let_through() -> None:
    with endpoint(calls(("evaluate", MARGIN)), said("The operating margin was 31.7 % in FY2021.")) as at:
        found = answered(at)
    assert found.fallback == "The number '31.7 %' stands in no source." and found.abstained


def test_facts_are_numbered_through_and_cited() -> None:
    both = calls(("calculate", {"question": "Zoltek revenue in FY2021"}), ("evaluate", MARGIN))
    with endpoint(both, said("Revenue was $1,500 million [F1]. The margin was 22.0 % [F5].")) as at:
        found = answered(at)
    first, second = results(at)
    assert "F1: Revenue, FY2021" in first and "F4: Revenue, FY2021" not in first and "F3: " in second
    assert found.fallback is None and found.citations[0] == "ZOLTEK_2021_10K#page=3"


def test_a_question_is_read_and_rows_are_looked_for() -> None:
    box = FinancialTools(ZOLTEK)
    read = box.call(
        "read_question", '{"question": "How did Zoltek\'s revenue develop over the last two years?"}'
    )
    assert '"revenue": "revenue"' in read and '"each": "year", "count": 2' in read and "zoltek" in read
    assert "No rows are here." in box.call("find_rows", '{"question": "Zoltek film library"}')


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("delete", "{}"), ("calculate", "{"), ("calculate", "{}"), ("calculate", '{"question": 3}')],
)
def test_a_call_that_cannot_be_run_says_so(name: str, arguments: str) -> None:
    assert (
        FinancialTools(ZOLTEK).call(name, arguments).startswith("Error: call one of read_question, calculate")
    )


def test_what_cannot_be_computed_is_told_as_such() -> None:
    box = FinancialTools(ZOLTEK)
    for formula in ("revenue /", "organic_revenue / revenue"):
        result = box.call("evaluate", json.dumps(MARGIN | {"formula": formula}))
        assert "No fact was found." in result
    assert "No fact was found." in box.call("evaluate", json.dumps(MARGIN | {"company": "Nobody"}))


def test_an_endpoint_that_ignores_functions_answers_as_before() -> None:
    with endpoint(said("Cannot be determined from the filings indexed: nothing is said.")) as at:
        assert answered(at).abstained and len(at.requests) == 1


@pytest.mark.parametrize("status", [400, 404, 422, 500])
def test_an_endpoint_that_refuses_functions_is_asked_without(status: int) -> None:
    refusal = Reply(status, b'{"error": "m does not support tools"}')
    with endpoint(refusal, said("It makes gearboxes [2].")) as at:
        found = answered(at)
    assert (
        found.answer == "It makes gearboxes." and "tools" in at.requests[0] and "tools" not in at.requests[1]
    )


def test_a_model_that_only_calls_gives_way_to_the_calculator() -> None:
    with endpoint(calls(("evaluate", MARGIN))) as at:
        found = answered(at)
    assert found.error is not None and "does not answer" in found.error and found.abstained
    assert len(at.requests) == MOST_ROUNDS + 1 and "tools" not in at.requests[-1]


def test_functions_can_be_turned_off() -> None:
    with endpoint(said("It makes gearboxes [2].")) as at:
        answered(at, tools=False)
    assert "tools" not in at.requests[0] and "functions" not in at.requests[0]["messages"][-1]["content"]


def test_a_conversation_is_kept_call_by_call(lake: Lake) -> None:
    with endpoint(calls(("evaluate", MARGIN)), said("The operating margin was 22.0 % [F3].")) as at:
        first, second = answered(at, lake), answered(at, lake)
    assert len(at.requests) == 2 and second.answer == first.answer
    assert second.completion is not None and second.completion.cached
