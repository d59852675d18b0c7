from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.evaluation.judges import read_reply, reply_schema
from finrag_pipeline_tests.evaluation.judged_builders import reply


def test_a_valid_reply_in_any_order():
    found = read_reply(reply(0, 1, numbers=[2, 1]), "veracity", 2)
    assert [one.label for one in found] == [1, 0]
    assert found[0].reasoning == "because"


def test_a_fence_around_all_of_it_is_taken_off():
    assert read_reply(f"```json\n{reply(1)}\n```", "relevance", 1)[0].label == 1


def test_a_refusal_is_a_label_of_correctness_alone():
    assert read_reply(reply(2), "correctness", 1)[0].label == 2
    assert "label" in read_reply(reply(2), "relevance", 1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        f"Here you are: {reply(1, 1)}",
        f"{reply(1, 1)} I hope this helps.",
        reply(1),
        reply(1, 1, 1),
        reply(1, 1, numbers=[1, 1]),
        reply(1, 1, numbers=[0, 1]),
        reply(1, 3),
        '{"verdicts": [{"number": 1, "reasoning": "x", "label": "1"}, {"number": 2, "reasoning": "x", "label": 1}]}',
        '{"verdicts": [{"number": 1, "reasoning": "x", "label": true}, {"number": 2, "reasoning": "x", "label": 1}]}',
        '{"verdicts": [{"number": 1, "reasoning": "", "label": 1}, {"number": 2, "reasoning": "x", "label": 1}]}',
        '{"verdicts": [{"number": 1, "label": 1}, {"number": 2, "label": 1}]}',
        '{"verdicts": [], "score": 1}',
        '{"verdicts": "1"}',
        "null",
        "[]",
    ],
)
def test_anything_else_is_no_verdict(text):
    assert isinstance(read_reply(text, "veracity", 2), str)


@given(
    st.text()
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["verdicts", "number", "label", "reasoning"]), inner)
        ),
    ).map(json.dumps)
)
def test_no_reply_raises(text):
    found = read_reply(text, "veracity", 1)
    assert isinstance(found, (str, list))


def test_the_schema_in_the_prompt_is_that_of_the_reader():
    schema = json.loads(reply_schema("veracity"))
    assert schema["required"] == ["verdicts"] and schema["additionalProperties"] is False
