from __future__ import annotations

import csv
from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.evaluation.numeric_match import (
    NUMERIC_MATCHES,
    gold_number,
    numeric_match,
    numeric_match_5_percent,
    numeric_match_all,
    numeric_match_first,
    numeric_match_printed,
    numeric_match_swapped,
    strict_match,
)
from finrag_pipeline_tests.recorded_data import DATA, needs_data, read_lines

MILLIONS = "What is the FY2018 capital expenditure amount (in USD millions)?"
PERCENT = "What is the margin (in units of percents and round to one decimal place)?"
RATIO = "What is the turnover ratio? Round your answer to two decimal places."


class TestThePapersForms:
    def test_any_pair(self) -> None:
        assert numeric_match("$1577.00", "In 2018 it was $1,577 million")
        assert numeric_match("$8.70", "8.738 billion")
        assert not numeric_match("24.26", "no number at all")
        assert not numeric_match("none", "24.26")

    def test_it_is_blind_to_unit_and_scale_and_can_be_fed_dumps(self) -> None:
        assert numeric_match("$1577.00", "1577 apples")
        assert numeric_match("-0.02", "0")
        assert numeric_match("24.26", "1 2 3 24 25 26")

    def test_the_order_of_arguments_matters(self) -> None:
        # |103.1 - 100| = 3.1 is within 3 % of 103.1 plus 0.03, not within 3 % of 100 plus 0.03.
        assert numeric_match("100", "103.1") and not numeric_match_swapped("100", "103.1")
        assert numeric_match_swapped("103.1", "100") and not numeric_match("103.1", "100")

    def test_the_first_number(self) -> None:
        assert numeric_match_first("1577", "1,577 in 2018") and not numeric_match_first(
            "1577", "in 2018 1,577"
        )

    def test_older_forms(self) -> None:
        assert numeric_match_5_percent("100", "104") and not numeric_match_5_percent("100", "106")
        assert numeric_match_all("1 and 2", "2, 1") and not numeric_match_all("1 and 2", "1")
        assert numeric_match_all("0", "0.0000001") and not numeric_match_all("0", "0.1")
        assert numeric_match_printed("$1,577", "1577") and not numeric_match_printed("1.9%", "1.9")

    @given(st.lists(st.floats(-1e4, 1e4), max_size=4), st.lists(st.floats(-1e4, 1e4), max_size=4))
    def test_any_pair_is_numpy_s(self, golds: list[float], answers: list[float]) -> None:
        gold, answer = (" ; ".join(f"{x:.3f}" for x in values) for values in (golds, answers))
        pairs = product((float(f"{x:.3f}") for x in golds), (float(f"{x:.3f}") for x in answers))
        assert numeric_match(gold, answer) == any(np.isclose(g, a, atol=0.03, rtol=0.03) for g, a in pairs)


class TestGoldNumbers:
    def test_scale_comes_from_the_question(self) -> None:
        found = gold_number("$1577.00", MILLIONS)
        assert found is not None
        assert (found.value, found.unit, found.half_unit) == (1577e6, "currency", 0.005e6)

    def test_its_last_printed_digit_says_how_it_was_rounded(self) -> None:
        money, ratio = gold_number("$8.70", "Answer in USD billions."), gold_number("0.80", RATIO)
        assert money is not None and money.half_unit == pytest.approx(0.005e9)
        assert ratio is not None and ratio.half_unit == ratio.wide == pytest.approx(0.005)
        assert money.wide == pytest.approx(0.05e9), "the wide form takes zeros of money for its format"

    @pytest.mark.parametrize("gold", ["Data Center", "Yes, 5.1%", "1.9% and 2.0%", "", "FY2022"])
    def test_texts_are_no_numbers(self, gold: str) -> None:
        assert gold_number(gold, RATIO) is None and strict_match(gold, "5", RATIO) is None


class TestStrict:
    @pytest.mark.parametrize(
        "answer",
        [
            "$1,577 million",
            "1577",
            "$1.577 billion",
            "$1,577,000,000",
            "Answer: 1577.004",
            "It was USD 1,577 million.",
        ],
    )
    def test_an_amount_in_any_true_form(self, answer: str) -> None:
        assert strict_match("$1577.00", answer, MILLIONS)

    @pytest.mark.parametrize(
        "answer",
        [
            "$1,577 billion",
            "$1.577",
            "-1577",
            "1577%",
            "1577.4",
            "1580",
            "1575",
            "cannot be determined",
            "",
            "1 2 3 1577 4",
        ],
    )
    def test_and_not_otherwise(self, answer: str) -> None:
        assert strict_match("$1577.00", answer, MILLIONS) is False

    @pytest.mark.parametrize(
        ("gold", "answer", "right"),
        [("$0.40", "$0.39", False), ("$0.40", "$0.40", True), ("0.40", "0.39", False), ("0.4", "0.39", True)],
    )
    def test_small_numbers_are_as_strict_as_they_are_printed(
        self, gold: str, answer: str, right: bool
    ) -> None:
        assert strict_match(gold, answer, RATIO) is right

    @pytest.mark.parametrize(
        ("gold", "answer"),
        [("$1577.00", "1577.4"), ("$0.40", "$0.389"), ("24.26", "24.27"), ("101.5%", "101.4%")],
    )
    def test_the_wide_form_allows_more(self, gold: str, answer: str) -> None:
        assert not strict_match(gold, answer, MILLIONS) and strict_match(gold, answer, MILLIONS, wide=True)

    @pytest.mark.parametrize(("answer", "right"), [("1.9%", True), ("1.9", True), ("0.019", False), ("1.94 percent", True), ("1.8%", False), ("-1.9%", False), ("$1.9", False)])  # fmt: skip
    def test_percent(self, answer: str, right: bool) -> None:
        assert strict_match("1.9%", answer, PERCENT) is right

    @pytest.mark.parametrize(("answer", "right"), [("24.26", True), ("24.26x", True), ("24.264", True), ("24.27", False), ("24.3", False), ("2426%", True), ("24.26%", False), ("$24.26", False)])  # fmt: skip
    def test_ratio(self, answer: str, right: bool) -> None:
        assert strict_match("24.26", answer, RATIO) is right

    def test_zero_is_not_small(self) -> None:
        assert strict_match("-0.02", "0", RATIO) is False
        assert strict_match("0", "0.00", RATIO) is True
        assert strict_match("-0.02", "-0.0153", RATIO) is True

    def test_only_the_final_answer_counts(self) -> None:
        wrong = "We have 24.26 here and 12 there. Therefore, the ratio is 30.1."
        assert numeric_match("24.26", wrong) and strict_match("24.26", wrong, RATIO) is False

    def test_a_dump_of_numbers_matches_nothing(self) -> None:
        dump = " ".join(f"{n / 100:.2f}" for n in range(2000, 3000))
        assert numeric_match("24.26", dump) and strict_match("24.26", dump, RATIO) is False

    @given(st.integers(1, 10**6), st.sampled_from(["thousand", "million", "billion"]))
    def test_its_own_gold_matches_in_every_scale(self, amount: int, scale: str) -> None:
        question = f"What was it (in USD {scale}s)?"
        assert strict_match(f"${amount}.00", f"${amount:,} {scale}", question)
        assert strict_match(f"${amount}.00", str(amount), question)
        assert not strict_match(f"${amount}.00", f"-{amount}", question)


@pytest.fixture(scope="module")
def golden() -> dict[str, list[dict[str, str]]]:
    found = defaultdict(list)
    with (DATA / "financebench_authors" / "our_answer_per_question.csv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            found[row["run"]].append(row)
    return found


@pytest.fixture(scope="module")
def gold() -> dict[str, dict[str, str]]:
    rows = read_lines("financebench", "financebench_open_source.jsonl")
    return {row["financebench_id"]: row for row in rows}


@needs_data("financebench_authors", "our_answer_per_question.csv")
class TestRecordedAnswers:
    """The authors' recorded answers: 13 files of 150 questions, scored under stated definitions."""

    def test_every_question_of_every_file(
        self, golden: dict[str, list[dict[str, str]]], gold: dict[str, dict[str, str]]
    ) -> None:
        assert sum(map(len, golden.values())) == 1950
        columns = {"numeric_match": "numeric_match", "numeric_match_swapped": "numeric_match_swapped", "numeric_match_firstnum": "numeric_match_first"}  # fmt: skip
        for run, rows in golden.items():
            lines = read_lines("financebench_authors", "answers", f"{run}.jsonl.gz")
            answers = {line["financebench_id"]: line["answer"] for line in lines}
            for row in rows:
                question = row["financebench_id"]
                for column, name in columns.items():
                    ours = NUMERIC_MATCHES[name](gold[question]["answer"], answers[question])
                    assert ours == bool(float(row[column])), (run, question, column)

    def test_totals_of_the_metrics_questions(self, gold: dict[str, dict[str, str]]) -> None:
        expected = {
            "shared_mpnet_char1024__qwen25-7b-8bit": 0.24,
            "oracledoc_mpnet_char1024__qwen25-7b-8bit": 0.28,
            "openbook_evidence_20260102__qwen25-7b-8bit": 0.54,
            "openbook_reprdict_20251119__qwen25-7b-8bit": 0.60,
            "closedbook_20251119__qwen25-7b-8bit": 0.04,
        }
        for run, total in expected.items():
            lines = read_lines("financebench_authors", "answers", f"{run}.jsonl.gz")
            asked = [
                line
                for line in lines
                if gold[line["financebench_id"]]["question_type"] == "metrics-generated"
            ]
            matches = [
                numeric_match(gold[line["financebench_id"]]["answer"], line["answer"]) for line in asked
            ]
            assert np.mean(matches) == pytest.approx(total)

    def test_the_wide_strict_match_agrees_with_people_better_than_the_papers_does(
        self, gold: dict[str, dict[str, str]]
    ) -> None:
        """800 answers to metrics questions with people's verdicts.

        The strict match itself calls more of what people let pass wrong: gold numbers with zeros at the end
        that were rounded to fewer digits.
        """
        strict, wide, papers = [], [], []
        for path in sorted((DATA / "financebench" / "results").glob("*.jsonl")):
            for row in read_lines("financebench", "results", path.name):
                asked = gold[row["financebench_id"]]
                if asked["question_type"] == "metrics-generated":
                    right, answer = row["label"] == "Correct Answer", str(row["model_answer"])
                    of = (asked["answer"], answer, asked["question"])
                    strict.append((bool(strict_match(*of)), right))
                    wide.append(strict_match(*of, wide=True) == right)
                    papers.append(numeric_match(asked["answer"], answer) == right)
        assert len(strict) == 800
        assert np.mean(wide) > 0.96 > 0.94 > np.mean(papers)
        called_wrong = np.mean([right for match, right in strict if not match])
        called_right = np.mean([right for match, right in strict if match])
        assert called_right > 0.95 and 0.1 < called_wrong < 0.25
