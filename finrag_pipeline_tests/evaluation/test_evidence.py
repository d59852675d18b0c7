from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.evaluation.failure_modes import GoldPage, gold_pages, long_numbers, repeated_share
from finrag_pipeline_tests.evaluation.gap_fixtures import (
    CASH,
    FACTS,
    GOLD,
    INCOME,
    PAGES,
    SUMMARY,
    TRADE,
    asked,
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
        return [set(page.numbers) for page in gold_pages(question, PAGES, FACTS)]

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
        (page,) = gold_pages(asked([3], "Who sells the products?", answer="Dealers"), PAGES, FACTS)
        assert not page.numbers and not page.numbered
        assert page.reach == 1.0


class TestHeld:
    def page(self, number: int, **more) -> GoldPage:
        (found,) = gold_pages(asked([number], **more), PAGES, FACTS)
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
        page = GoldPage(GOLD, 4, INCOME, "Nothingofthepageisspeltlikethis", frozenset())
        assert page.reach == 0.0
        assert page.held_by(["any passage"])
        assert not page.repeated_by("any passage"), "but no other page repeats it"

    def test_one_short_number_is_not_enough(self):
        evidence = "notes of 911 were issued to lenders at the end of the year"
        page = GoldPage(GOLD, 4, evidence, evidence, frozenset({911.0}))
        assert not page.numbered and not page.held_by(["911 elsewhere"])
        assert GoldPage(GOLD, 4, evidence, evidence, frozenset({911.0, 418.0})).numbered


class TestRepeated:
    def test_another_page_prints_all_the_numbers(self):
        text = "What is the FY2021 net margin? It is net income / total revenue."
        (page,) = gold_pages(asked([4], text, answer="0.15"), PAGES, FACTS)
        assert page.repeated_by(SUMMARY)
        assert not page.repeated_by("revenue was 48,213"), "one of two numbers"
        assert not page.repeated_by("revenue was 48.213 billion, net income 7.305"), "another scale"

    def test_another_page_says_it_in_the_same_words(self):
        (page,) = gold_pages(asked([3], "Who sells the products?", answer="Dealers"), PAGES, FACTS)
        assert page.repeated_by(PAGES[GOLD, 9])
        scattered = " filler text between the words ".join(TRADE.split()[::-1])
        assert not page.repeated_by(scattered), "the words alone stand on many pages"
        assert not page.repeated_by(CASH)

    def test_figures_of_the_evidence_must_be_repeated_too(self):
        evidence = "The dividend was 0.55 in each quarter of the year, up by 4 from the year before it"
        page = GoldPage(GOLD, 3, evidence, evidence, frozenset())
        assert page.repeated_by(f"Note. {evidence}.")
        assert not page.repeated_by(evidence.replace("0.55", "0.50").replace("4", "3"))
