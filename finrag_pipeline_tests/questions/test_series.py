"""Which periods a series is of, and what is left of its question."""

from __future__ import annotations

import pytest

from finrag_pipeline.questions.series import read_series
from finrag_pipeline.statements.periods import FiscalPeriod

LATEST = FiscalPeriod(2023, 2)


@pytest.mark.parametrize(
    ("question", "codes", "rest"),
    [
        ("How did Acme's revenue develop over the last three quarters?", "2022Q4 2023Q1 2023Q2", "How did Acme's revenue ?"),
        ("Acme net sales by quarter, last 2 quarters", "2023Q1 2023Q2", "Acme net sales"),
        ("Acme's revenue for each quarter of 2022", "2022Q1 2022Q2 2022Q3 2022Q4", "Acme's revenue"),
        ("Quarterly net sales of Acme since Q4 2022", "2022Q4 2023Q1 2023Q2", "net sales of Acme"),
        ("Acme's quarterly revenue in 2023", "2023Q1 2023Q2", "Acme's revenue"),
        ("What is the latest quarterly revenue of Acme?", "2023Q2", "What is revenue of Acme?"),
        ("How has Acme's margin moved in the past two years?", "2021 2022", "what was Acme's margin ?"),
        ("Which direction have Acme's sales been going over the last two years?", "2021 2022", "what was Acme's sales been going ?"),
        ("Acme revenues since 2020, year by year", "2020 2021 2022", "Acme revenues"),
        ("Trend of Acme's gross margin, 2019 to 2021", "2019 2020 2021", "Acme's gross margin"),
        ("Acme's revenue over the trailing twelve months", "2023M12", "Acme's revenue"),
    ],
)  # fmt: skip
def test_periods_and_the_rest(question: str, codes: str, rest: str) -> None:
    asked = read_series(question)
    assert asked is not None
    assert [period.code for period in asked.periods(LATEST)] == codes.split()
    assert asked.rest == rest


def test_a_question_for_quarters_alone_means_eight() -> None:
    asked = read_series("Show Acme's revenue quarter by quarter")
    assert asked is not None and len(asked.periods(LATEST)) == 8


@pytest.mark.parametrize(
    "question",
    [
        "What was Acme's revenue in 2021, 2022 and 2023?",
        "What was Acme's average revenue over the last three years?",
        "By how much did Acme's revenue change over the last four quarters?",
        "How did Acme's margin change between 2020 and 2021?",
        "What was Acme's revenue in the second quarter of 2023?",
        "In which of the last three years was Acme's revenue highest?",
        "Acme's revenue for the twelve months ended June 30, 2023",
        "Why did Acme's revenue fall over the last two quarters?",
        "Has Acme's revenue developed well since 2020?",
        "Who spends more on research and development, Acme (FY2022) or Zoltek (FY2023)?",
    ],
)
def test_what_is_no_series(question: str) -> None:
    assert read_series(question) is None
