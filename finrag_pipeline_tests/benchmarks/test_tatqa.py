"""The benchmark over TAT-QA: a grid becomes rows with scale and period, and its questions are answered."""

from __future__ import annotations

import json

import pytest

from benchmarks.tatqa import answer, exact_match, read_table
from finrag_pipeline.answering import open_answer


@pytest.fixture(autouse=True)
def least_confidence(monkeypatch: pytest.MonkeyPatch) -> None:
    """One small table tells its rows less apart than a filing does."""
    monkeypatch.setattr(open_answer, "LEAST_CONFIDENCE", 0.5)


GRID = [
    ["", "Years ended June 30,", "", ""],
    ["", "2019", "2018", "2017"],
    ["Aerospace", "$1,327.9", "$1,182.3", "$973.3"],
    ["Medical devices", "205.0", "175.3", "125.5"],
    ["Interest income", "12.0", "9.0", "15.0"],
    ["Total sales", "$1,680", "$1,500", "$1,200"],
    ["Gain on sale of businesses", "7", "4", "1"],
    ["Average order book", "$310", "$305", "$290"],
]
CONTEXT = {"text": "Net sales by end market (in millions):\nAerospace | 1", "table": json.dumps(GRID)}


@pytest.mark.parametrize(
    ("question", "gold", "scale"),
    [
        ("What were the sales of Medical devices in 2018?", ["175.3"], "million"),
        ("What was the change in Aerospace in 2019 from 2018?", 145.6, "million"),
        ("What was the percentage change in Medical devices between 2018 and 2019?", 16.94, "percent"),
        ("What was the average Aerospace from 2017 to 2019?", 1161.17, "million"),
        ("What was the average interest income for 2018 and 2019?", 10.5, "million"),
        ("In which year was the interest income the largest?", ["2017"], ""),
        ("In which year was Medical devices lower, 2018 or 2019?", ["2018"], ""),
        ("What was the average order book in 2019?", ["$310"], "million"),
        ("What is the average Aerospace?", 1161.17, "million"),
        ("What was the change in Aerospace between 2017 and 2019?", 354.6, "million"),
        ("What is the total amount of Aerospace in 2018 and 2019?", 2510.2, "million"),
        ("What is the percentage of Medical devices in total sales in 2019?", 12.2, "percent"),
        ("What was the gain on sale of businesses in 2018?", ["4"], "million"),
        ("What was the average Aerospace in 2017 and 2019?", 1150.6, "million"),
        ("What was the change in Aerospace from June 30, 2018 to 2019?", 145.6, "million"),
        (
            "What was the change in Medical devices as a percentage of total sales from 2018 to 2019?",
            0.52,
            "percent",
        ),
        (
            "What is the change in Aerospace between 2018 and 2019 as a percentage of the 2018 Aerospace?",
            12.31,
            "percent",
        ),
        ("What was the sum of Aerospace and Medical devices in 2019?", 1532.9, "million"),
        ("What was Medical devices as a ratio of Aerospace in 2019?", 15.44, "percent"),
        ("What was the combined Aerospace in 2018 and 2019?", 2510.2, "million"),
    ],
)
def test_questions_over_a_table(question: str, gold: object, scale: str) -> None:
    found = answer(question, *read_table("t", CONTEXT))
    assert found is not None
    assert exact_match({"answer": gold, "scale": scale}, found), found.answer


def test_another_number_sign_or_scale_is_no_match() -> None:
    rose = answer("What was the change in Aerospace in 2019 from 2018?", *read_table("t", CONTEXT))
    assert rose is not None
    assert exact_match({"answer": 145.6, "scale": "million"}, rose)
    assert not exact_match({"answer": -145.6, "scale": "million"}, rose)
    assert not exact_match({"answer": 145.6, "scale": "thousand"}, rose)
    assert not exact_match({"answer": 145.7, "scale": "million"}, rose)


def test_a_formula_of_numbers_without_a_unit() -> None:
    grid = [["", "2019", "2018"], ["Gross profit", "7 shares", "5 shares"], ["Headcount", "3", "2"]]
    table = read_table("t", {"text": "", "table": json.dumps(grid)})
    for words in ("gross profit", "free cash flow", "working capital", "headcount"):
        answer(f"What was the {words} in 2019?", *table)


def test_scales_in_other_currencies_are_read() -> None:
    grid = [["", "2019", "2018"], ["", "£m", "£m"], ["Deferred tax", "0.7", "0.5"]]
    found = answer(
        "What was the deferred tax in 2019?", *read_table("t", {"text": "", "table": json.dumps(grid)})
    )
    assert found is not None
    assert exact_match({"answer": ["0.7"], "scale": "million"}, found)


def test_a_formula_takes_rows_of_any_table() -> None:
    grid = [
        ["(in millions)", "2019", "2018"],
        ["Total current assets", "121", "110"],
        ["Total assets", "336", "300"],
        ["Total current liabilities", "154", "100"],
    ]
    found = answer(
        "What is the current ratio in 2019?", *read_table("t", {"text": "", "table": json.dumps(grid)})
    )
    assert found is not None
    assert exact_match({"answer": 0.79, "scale": ""}, found)
