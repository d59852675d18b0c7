from __future__ import annotations

import pytest

from finrag_pipeline.evaluation.question_kinds import KINDS, question_kind

EXAMPLES = {
    "What was Alder's revenue in FY2022, in USD millions?": "value",
    "What is the FY2022 inventory turnover ratio of Alder?": "ratio",
    "What is Alder's FY2022 cash ratio? Cash ratio is defined as: cash / total current liabilities.": "ratio",
    "By how much did Alder's revenue grow from FY2021 to FY2022?": "change",
    "What was Alder's revenue in FY2020, FY2021 and FY2022?": "trend",
    "Which of Alder's segments had the highest sales in FY2022?": "segment",
    "What was Alder's operating income in Q2 of 2023 (in USD millions)?": "quarter",
    "Did Alder pay dividends in FY2022?": "yes/no",
    "What drove the gross margin change of Alder in FY2022? If gross margin is not useful, say so.": "other",
}


@pytest.mark.parametrize(("question", "kind"), EXAMPLES.items())
def test_kinds(question: str, kind: str) -> None:
    assert question_kind(question, ["Alder"]) == kind


def test_a_comparison_of_companies() -> None:
    asked = "Which had the higher revenue in FY2022, Alder or Birch?"
    assert question_kind(asked, ["Alder", "Birch"]) == "comparison"
    assert {*EXAMPLES.values(), "comparison"} == set(KINDS)
