from __future__ import annotations

import pytest

from finrag_pipeline.answering.sanity import sanity_warnings
from finrag_pipeline.answering.support import Sources

QUESTION = "What was Alder's FY2021 capital expenditure (in USD millions)?"
TABLE = "ALDER_2021_10K, page 60 Purchases of property (1,577) (1,373) in millions 2021 2020 rate 24.6% two plants"


@pytest.fixture(scope="module")
def sources() -> Sources:
    return Sources(QUESTION, [TABLE], [1577e6, -0.037], ["FY2021 printed as '(1,577)'"])


@pytest.mark.parametrize(
    "text",
    [
        "It was $1,577 million in FY2021.",
        "It was $1.577 billion.",
        "It was $1.58 billion, rounded.",
        "It was 1,577.",
        "It was $1,577,000,000.",
        "It fell by 3.7% from 2020.",
        "The rate was 24.6 percent.",
        "In Q4 of fiscal 2021, as the 10-K of ALDER says, there were two plants.",
        "In mid-2021 it had one plant.",
        "No number at all.",
        "",
    ],
)
def test_what_stands_in_the_sources(sources: Sources, text: str) -> None:
    assert not sources.unsupported(text)


@pytest.mark.parametrize(
    ("text", "unsupported"),
    [
        ("It was $1,578 million.", "$1,578 million"),
        ("It was $2 billion.", "$2 billion"),  # one digit is too few to be a rounding
        ("It was $1,577 billion.", "$1,577 billion"),
        ("In 2019 it was 1,577.", "2019"),
        ("It rose in FY2017.", "FY2017"),
        ("It grew 14.9%.", "14.9%"),
        ("About five plants.", "five"),
        ("Billions of dollars.", "Billions"),
        ("It doubled.", "doubled"),
        ("As of COVID-19.", "COVID-19"),
        ("See X77.", "X77"),
        ("It was １２３４.", "1234"),  # full-width digits
        ("It was 1 234 567 dollars", "234"),
        ("It was 12.345.678", "12.345.678"),
    ],
)
def test_what_does_not(sources: Sources, text: str, unsupported: str) -> None:
    assert any(unsupported in one or one in unsupported for one in sources.unsupported(text)), text


def test_a_sentence_of_mixed_numbers_names_only_the_false_ones(sources: Sources) -> None:
    assert sources.unsupported("Of 1,577 in 2021, 400 went to 3 plants.") == ("400", "3")


class TestSanity:
    @pytest.mark.parametrize(
        ("question", "value", "unit"),
        [
            ("What is the FY2022 operating margin?", 6.0, "percent"),
            ("What is the FY2022margin as a % of sales?", -1.5, "percent"),
            ("What is the gross margin?", 600, "number"),
            ("What is the quick ratio?", 120, "number"),
            ("What is the inventory turnover?", -1, "ratio"),
            ("What is the revenue growth?", 6.0, "percent"),
            ("What is the revenue CAGR?", -501, "number"),
            ("What is it?", float("nan"), "number"),
        ],
    )
    def test_what_warns(self, question: str, value: float, unit: str) -> None:
        assert len(sanity_warnings(question, value, unit)) == 1

    @pytest.mark.parametrize(
        ("question", "value", "unit"),
        [
            ("What is the operating margin?", 0.45, "percent"),
            ("What is the operating margin?", 0.45, "number"),
            ("What is the operating margin?", 45, "number"),
            ("What is the quick ratio?", 0.9, "ratio"),
            ("What is the ratio of days?", 120, "days"),
            ("What is the revenue growth?", 0.2, "percent"),
            ("By how much did revenue increase (in USD millions)?", 5e9, "currency"),
            ("How much was the marginal revenue?", 5e9, "number"),
            ("What is the margin?", None, None),
        ],
    )
    def test_what_does_not(self, question: str, value: float | None, unit: str | None) -> None:
        assert sanity_warnings(question, value, unit) == ()
