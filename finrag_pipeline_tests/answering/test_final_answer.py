from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.answering.final_answer import declines, final_answer
from finrag_pipeline.questions.abstention import CANNOT_BE_DETERMINED
from finrag_pipeline_tests.recorded_data import DATA, needs_data, read_lines


@pytest.mark.parametrize(
    ("reply", "found_by", "value"),
    [
        ("Step 1: 12 and 14.\nANSWER: $1,577 million", "marker", 1.577e9),
        ("**Final Answer:** 24.26", "marker", 24.26),
        ("Final answer:\n\n-0.02", "marker", -0.02),
        ("Answer: 2018", "marker", 2018),
        ("First 3. The answer is 7.78", "marker", 7.78),
        (r"So \[ 6,489 / 267 = \boxed{24.26} \]", "boxed", 24.26),
        ("## Step 4: VERIFY\nfine\n## Step 5: FORMAT\nIt is 65.4%.\n\nNotes: 12", "step", 0.654),
        (
            "Revenue was $5 million. Costs were $3 million. Therefore, profit was $2 million.",
            "conclusion",
            2e6,
        ),
        ("Capital expenditure was $1,577 million. It was $1,373 million before.", "sentence", 1.577e9),
        (
            "To calculate it we take 6,489 and 267.\n6,489 / 267 = 24.30\nRounded, it is 24.3.",
            "sentence",
            24.3,
        ),
        ("Data Center", "line", None),
        ("$2018.00", "sentence", 2018),
        ("The value for FY2022 was 0.66 [END OF RESPONSE]", "sentence", 0.66),
    ],
)
def test_where_the_answer_stands(reply: str, found_by: str, value: float | None) -> None:
    final = final_answer(reply)
    assert final.found_by == found_by
    assert (final.quantity.value if final.quantity else None) == (
        None if value is None else pytest.approx(value)
    )
    assert not final.declined


def test_the_last_of_several_markers_counts() -> None:
    final = final_answer("Answer: 5\n\nWait, that is wrong.\n\nAnswer: 6")
    assert final.quantity is not None and final.quantity.value == 6


def test_operands_of_an_equation_are_no_candidates() -> None:
    final = final_answer("Therefore, the ratio is 2,912 / 3,527 = 0.83.")
    assert [one.printed for one in final.candidates] == [0.83]


def test_the_same_amount_in_another_scale_counts_once() -> None:
    assert len(final_answer("Answer: $302,578,000, or $302.578 million").candidates) == 1


@pytest.mark.parametrize("reply", ["", "   ", "\n"])
def test_an_empty_reply(reply: str) -> None:
    final = final_answer(reply)
    assert (final.text, final.quantity, final.declined) == ("", None, False)


@pytest.mark.parametrize(
    "reply",
    [
        f"{CANNOT_BE_DETERMINED}: no filing of 2031.",
        "Final answer: Cannot be determined from the filings indexed.",
        "I'm sorry, but I don't have access to the 2022 filing. In 2019 it was $5 million.",
        "The provided context does not contain the information needed for FY2018.",
        "The documents do not provide the data.",
    ],
)
def test_replies_that_decline(reply: str) -> None:
    assert declines(reply) and final_answer(reply).declined


@pytest.mark.parametrize(
    "reply",
    [
        "The company does not pay dividends.",
        "No, margins did not improve: they fell from 36.8% to 34.6%.",
        "Although the exact date is not given, capital expenditure was $1,577 million.\nAnswer: $1,577 million",
    ],
)
def test_replies_that_do_not_decline(reply: str) -> None:
    assert not final_answer(reply).declined


@given(st.text(max_size=300))
def test_any_reply_can_be_read(reply: str) -> None:
    final_answer(reply)


@needs_data("financebench", "results")
def test_refusals_of_recorded_answers_are_told_as_people_tell_them() -> None:
    """2,400 answers of 16 configurations with people's verdicts."""
    refused = declined = both = 0
    for path in sorted((DATA / "financebench" / "results").glob("*.jsonl")):
        for row in read_lines("financebench", "results", path.name):
            people, ours = row["label"] == "Refusal", final_answer(str(row["model_answer"])).declined
            refused, declined, both = refused + people, declined + ours, both + (people and ours)
    assert refused == 737
    assert both / refused > 0.94
    assert both / declined > 0.92
