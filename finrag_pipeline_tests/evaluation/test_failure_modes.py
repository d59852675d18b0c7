from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.evaluation.failure_modes import (
    LABELS,
    GoldPage,
    answer_failures,
    content_words,
    gold_pages,
    long_numbers,
    repeated_share,
    retrieval_failures,
)
from finrag_pipeline_tests.evaluation.gap_fixtures import (
    CASH,
    GOLD,
    INCOME,
    LAKE,
    PAGES,
    SUMMARY,
    TRADE,
    answer_row,
    asked,
    passages,
)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("$1,577 and 12,345.60", {1577.0, 12345.6}),
        ("in 2021 there were 2,021 shops", {2021.0}),
        ("5.1 % of 1500, page 12, FY22, 10-K", set()),
        ("8.738 or 0.0125", {8.738, 0.0125}),
        ("(1,420)", {1420.0}),
    ],
)
def test_long_numbers(text, numbers):
    assert long_numbers(text) == numbers


def test_words_are_counted_once_each_and_without_their_order():
    assert repeated_share("net sales of net assets", ["assets, sales"]) == pytest.approx(2 / 4)
    assert repeated_share("net sales of net assets", ["sales net", "net assets"]) == 1.0
    assert repeated_share("", ["anything"]) == 0.0


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=3))
def test_a_share_lies_between_zero_and_one_and_grows_with_the_texts(evidence, texts):
    share = repeated_share(evidence, texts)
    assert 0 <= share <= repeated_share(evidence, [*texts, evidence]) <= 1


class TestGoldPages:
    def numbers(self, question) -> list[set[float]]:
        return [set(page.numbers) for page in gold_pages(question, LAKE)]

    def test_numbers_of_the_gold_answer_come_first(self):
        assert self.numbers(asked([4])) == [{48213.0}]

    def test_numbers_of_the_justification_count(self):
        question = asked([4, 6], answer="31 %", justification="7,305 less 3,118 over 999,999")
        assert self.numbers(question) == [{7305.0}, {3118.0}]

    def test_a_ratio_is_known_by_the_facts_that_are_asked_for(self):
        text = "What is the FY2021 net margin? It is net income / total revenue."
        assert self.numbers(asked([4], text, answer="0.15")) == [{48213.0, 7305.0}]
        both = "What is the margin from FY2020 to FY2021? It is net income / total revenue."
        assert self.numbers(asked([4], both, answer="0.15")) == [{48213.0, 46002.0, 7305.0}]

    def test_a_question_in_words_has_no_numbers(self):
        (page,) = gold_pages(asked([3], "Who sells the products?", answer="Dealers"), LAKE)
        assert not page.numbers and not page.numbered
        assert page.reach == 1.0


class TestHeld:
    def page(self, number: int, **more) -> GoldPage:
        (found,) = gold_pages(asked([number], **more), LAKE)
        return found

    def test_most_of_the_words_or_the_number_that_answers(self):
        page = self.page(4)
        assert page.held_by([INCOME])
        assert page.held_by(["Alder | Income | Total revenue | 2021: 48,213"]), "a row with the number"
        assert not page.held_by(["Consolidated Statements of Income"])
        assert not page.held_by([])

    def test_two_halves_hold_what_they_hold_together(self):
        page = self.page(3, answer="Dealers")
        words = TRADE.split()
        assert page.held_by([" ".join(words[:5]), " ".join(words[5:])])
        assert not page.held_by([" ".join(words[:3])])

    def test_evidence_in_other_words_than_its_page_is_not_held_against_a_passage(self):
        page = GoldPage((GOLD, 4), INCOME, "Nothingofthepageisspeltlikethis", frozenset())
        assert page.reach == 0.0
        assert page.held_by(["any passage"])
        assert not page.repeated_by("any passage"), "but no other page repeats it"

    def test_one_short_number_is_not_enough(self):
        evidence = "notes of 911 were issued to lenders at the end of the year"
        page = GoldPage((GOLD, 4), evidence, evidence, frozenset({911.0}))
        assert not page.numbered and not page.held_by(["911 elsewhere"])
        assert GoldPage((GOLD, 4), evidence, evidence, frozenset({911.0, 418.0})).numbered


class TestRepeated:
    def test_another_page_prints_all_the_numbers(self):
        text = "What is the FY2021 net margin? It is net income / total revenue."
        (page,) = gold_pages(asked([4], text, answer="0.15"), LAKE)
        assert page.repeated_by(SUMMARY)
        assert not page.repeated_by("revenue was 48,213"), "one of two numbers"
        assert not page.repeated_by("revenue was 48.213 billion, net income 7.305"), "another scale"

    def test_another_page_says_it_in_the_same_words(self):
        (page,) = gold_pages(asked([3], "Who sells the products?", answer="Dealers"), LAKE)
        assert page.repeated_by(PAGES[GOLD, 9])
        scattered = " filler text between the words ".join(TRADE.split()[::-1])
        assert not page.repeated_by(scattered), "the words alone stand on many pages"
        assert not page.repeated_by(CASH)

    def test_figures_of_the_evidence_must_be_repeated_too(self):
        evidence = "The dividend was 0.55 in each quarter of the year, up by 4 from the year before it"
        page = GoldPage((GOLD, 3), evidence, evidence, frozenset())
        assert page.repeated_by(f"Note. {evidence}.")
        assert not page.repeated_by(evidence.replace("0.55", "0.50").replace("4", "3"))


LAST_YEAR, LETTER, OTHER = ("ALDER_2020_10K", 4), ("ALDER_LETTER", 0), ("BIRCH_2021_10K", 4)


def labels_of(question: dict, *places: tuple[str, int]) -> dict[str, tuple[str | None, int | None]]:
    gold = gold_pages(question, LAKE)
    found = retrieval_failures(question, passages(*places), gold, LAKE)
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
