from __future__ import annotations

import json

import pytest

from finrag_pipeline.evaluation.failure_modes import (
    LABELS,
    answer_failures,
    content_words,
    gold_pages,
    retrieval_failures,
)
from finrag_pipeline_tests.evaluation.gap_fixtures import (
    FACTS,
    GOLD,
    IDENTITIES,
    PAGES,
    answer_row,
    asked,
    passages,
)

LAST_YEAR, LETTER, OTHER = ("ALDER_2020_10K", 4), ("ALDER_LETTER", 0), ("BIRCH_2021_10K", 4)


def labels_of(question: dict, *places: tuple[str, int]) -> dict[str, tuple[str | None, int | None]]:
    gold = gold_pages(question, PAGES, FACTS)
    found = retrieval_failures(question, passages(*places), gold, IDENTITIES, PAGES)
    assert [one.label for one in found] == [label for label in LABELS if label in {f.label for f in found}]
    assert all(one.why for one in found)
    return {one.label: (one.filing, one.page) for one in found}


class TestOutranked:
    def test_nothing_fails_where_all_gold_pages_are_there(self):
        assert labels_of(asked([4]), OTHER, LAST_YEAR, (GOLD, 4)) == {}

    def test_passages_before_the_first_of_the_gold_filing(self):
        assert labels_of(asked([4]), LAST_YEAR, (GOLD, 0), OTHER) == {"wrong_year": LAST_YEAR}
        assert labels_of(asked([4]), (GOLD, 0), LAST_YEAR, OTHER) == {}
        both = labels_of(asked([4]), LAST_YEAR, OTHER, ("BIRCH_2021_10K", 4))
        assert both == {"wrong_company": OTHER, "wrong_year": LAST_YEAR}

    def test_a_filing_without_a_fiscal_year_is_of_no_wrong_year(self):
        assert labels_of(asked([4]), LETTER) == {}

    def test_an_empty_ranking_has_no_mode(self):
        assert labels_of(asked([4])) == {}


class TestLexicalGap:
    QUESTION = "Who are the customers that Alder's goods reach in 2021?"

    def test_content_words(self):
        words = content_words(asked([3], "What were Alder's FY2021 dividends, in 2021?"))
        assert words == {"dividend"}

    def test_the_gold_page_says_it_in_other_words(self):
        question = asked([3], "What shareholders and revenue total?", answer="Dealers")
        assert labels_of(question, LETTER) == {"lexical_gap": (GOLD, 3)}

    def test_a_gold_page_with_the_words_of_the_question_is_no_gap(self):
        question = asked([3], "Which dealers and distributors sell products?", answer="Dealers")
        assert labels_of(question, LETTER) == {}

    def test_few_words_everywhere_is_no_gap_either(self):
        question = asked([3], "Which vendors purvey merchandise?", answer="Dealers")
        assert labels_of(question, LETTER) == {}


class TestPages:
    def test_another_page_holds_the_answer(self):
        assert labels_of(asked([4]), (GOLD, 0), (GOLD, 8)) == {"unannotated_page": (GOLD, 8)}
        assert "unannotated_page" not in labels_of(asked([4]), (GOLD, 0), (GOLD, 6))

    def test_a_page_of_another_filing_is_not_one_of_the_gold_filing(self):
        # Last year's report prints this year's figure nowhere; but even if it did, it is another filing.
        question = asked([4], answer="$46002.00", question="What is Alder's FY2020 total revenue?")
        assert "unannotated_page" not in labels_of(question, LAST_YEAR)

    def test_some_of_several_gold_pages(self):
        ratio = asked([4, 6], "What is FY2021 dividends paid over net income?", answer="0.16")
        assert labels_of(ratio, (GOLD, 4)) == {"multi_statement_gap": (GOLD, 6)}
        assert labels_of(ratio, (GOLD, 6), (GOLD, 8)) == {
            "unannotated_page": (GOLD, 8),
            "multi_statement_gap": (GOLD, 4),
        }
        assert "multi_statement_gap" not in labels_of(ratio, (GOLD, 0))


def answer_labels(answer: str, question: dict | None = None, **more) -> list[str]:
    row, given = answer_row(answer, **more), passages((GOLD, 4))
    return [one.label for one in answer_failures(question or asked([4]), row, given)]


class TestAnswers:
    @pytest.mark.parametrize(
        ("answer", "off"),
        [
            ("$48.213 million", True),
            ("48.213", True),
            ("48,213,000", True),
            ("$48,213 billion", True),
            ("-48.2", True),  # rounded, and of the other sign
            ("$482.13 million", True),
            ("$4,821.3 million", False),  # ten times is no unit
            ("$46,002 million", False),
            ("nothing at all", False),
        ],
    )
    def test_scale_error(self, answer, off):
        assert ("scale_error" in answer_labels(answer)) is off

    def test_per_cent(self):
        margin = asked([4], "What is the net margin in percent?", answer="15.2%")
        assert "scale_error" in answer_labels("0.152%", margin)
        assert "scale_error" not in answer_labels("17%", margin)
        assert "scale_error" not in answer_labels("152", margin), "a thousand times is no unit of per cent"
        assert "scale_error" not in answer_labels("48.2 percent")
        assert "scale_error" not in answer_labels("5", asked([4], answer="0.05")), "one digit is chance"

    def test_a_gold_answer_in_words_has_no_scale(self):
        assert "scale_error" not in answer_labels("48.213", asked([4], answer="Alder sold more than before."))

    def test_invented_number(self):
        assert "invented_number" in answer_labels("Revenue was $51,999 million.")
        assert answer_labels("Revenue was $46,002 million.") == []
        assert answer_labels("It cannot be said.") == []

    def test_a_calculation_accounts_for_its_result(self):
        derivation = {
            "answer": "0.152",
            "steps": ["Net margin = 7,305 million / 48,213 million = 0.1515"],
            "inputs": [{"value": 7305e6}, {"value": 48213e6}],
        }
        assert "invented_number" in answer_labels("0.152")
        assert "invented_number" not in answer_labels("0.152", derivation=json.dumps(derivation))
