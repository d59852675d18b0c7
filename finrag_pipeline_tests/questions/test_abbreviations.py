"""Tests of what clipped words and initials are spelled out as."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.questions.abbreviations import Abbreviations, in_words, may_be_shortened
from finrag_pipeline.questions.formula_lexicon import formula_lexicon

WORDS = frozenset(
    [
        "what",
        "was",
        "the",
        "for",
        "of",
        "in",
        "on",
        "to",
        "at",
        "over",
        "net",
        "total",
        "int",
        "inc",
        "op",
        "rev",
        "cash",
        "debt",
        "paid",
        "growth",
        "pumps",
        "valves",
        "cut",
        "pet",
        "people",
        "and",
        "how",
        "much",
        "did",
        "they",
        "spend",
        "issued",
        "margin",
        "income",
    ]
)
PRINTED = (
    "Segment operating income", "Industrial Water Systems", "Interest expense, net", "Long-term debt",
    "Unvested restricted stock units", "Pumps and Valves", "Net income attributable to Acme", "Regulated",
    "Regulated", "Registration fees", "Short-term borrowings", "International",
)  # fmt: skip


def abbreviations() -> Abbreviations:
    """What is spelled out by a small filing."""
    known = (entry.label for entry in formula_lexicon().entries.values())
    return Abbreviations(PRINTED, known, WORDS.__contains__)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("acme op. mgn FY22?", "acme operating margin FY22?"),
        ("acme int. exp. FY22", "acme interest expense FY22"),
        ("acme NI attrib. FY22?", "acme net income attributable FY22?"),
        ("acme GM% 3QFY22?", "acme gross margin% 3QFY22?"),
        ("IWS seg. op. inc", "Industrial Water Systems segment operating income"),
        ("total debt (S/T + L/T)", "total debt (short-term + long-term)"),
        ("unvested RSU", "unvested restricted stock units"),
        ("acme rest. stk units FY22", "acme restricted stock units FY22"),
        ("S-T borr. YE22, \u0394", "short-term borrowings YE22, change"),
        ("pumps v valves", "pumps versus valves"),
        ("pumps % chg", "pumps % change"),
        ("fees for reg. business", "fees for regulated business"),
        ("acme int. exp. YoY % change", "acme interest expense YoY % change"),
        ("acme Int'l pumps, Acme's view", "acme International pumps, Acme's view"),
        (
            "R&D and SG&A in FY2022",
            "research and development and selling, general and administrative in FY2022",
        ),
        ("PP&E on the B/S", "property, plant and equipment on the balance sheet"),
        ("tax paid per CF stmt", "tax paid per cash flow statement"),
        ("profit in the I/S (GAAP)", "profit in the income statement"),
    ],
)
def test_spells_out_what_is_printed(asked: str, meant: str) -> None:
    assert abbreviations().spelled_out(asked, {"acme"})[0] == meant


@pytest.mark.parametrize(
    "asked",
    [
        "What was the net income of Acme in 2022?",
        "How much did they spend on pumps?",
        "M&A of S&P Global, non-GAAP",
        "What was the EBITDA in 2Q22? Pumps cut in the U.S.",
        "Skyrizi revenue in 2022",
        "WHAT WAS THE NET INCOME OF ACME",
        "",
    ],
)
def test_leaves_words_as_they_are(asked: str) -> None:
    assert abbreviations().spelled_out(asked, {"acme"}) == (asked, {})


def test_says_what_stands_for_what() -> None:
    _, found = abbreviations().spelled_out("IWS op. mgn in 2022", ())
    assert found == {"IWS": "Industrial Water Systems", "op. mgn": "operating margin"}


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("amortisation of capitalised fulfilment costs", "amortization of capitalized fulfillment costs"),
        ("Unrecognised Labour at the defence centre", "Unrecognized Labor at the defense center"),
        ("programme costs analysed, cancelled orders", "program costs analyzed, canceled orders"),
        ("four hours raised by the organisation", "four hours raised by the organisation"),
    ],
)
def test_british_spelling_is_read_as_it_is_printed(asked: str, meant: str) -> None:
    labels = (
        "Amortization of costs capitalized", "Fulfillment", "Unrecognized tax benefits", "Labor", "Defense",
        "Center", "Program costs", "Analyzed", "Canceled orders",
    )  # fmt: skip
    assert may_be_shortened(asked, ())
    assert Abbreviations(labels, (), lambda word: True).spelled_out(asked)[0] == meant


def test_needs_no_rows_for_common_words() -> None:
    assert not may_be_shortened("how much did they spend on pumps", ())
    assert may_be_shortened("pumps op. mgn", ())


@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    spelled, found = abbreviations().spelled_out(text, ())
    assert all(short in text for short in found) or found == {} or spelled


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("calc acme operating margin 2022", "acme operating margin 2022"),
        ("Please get me acme revenue 2022", "acme revenue 2022"),
        (
            "Confirm whether Acme spent less in 2022 than in 2021.",
            "Is it true that Acme spent less in 2022 than in 2021?",
        ),
        ("acme pumps lower in 2022 than 2021? y/n", "Is it true that acme pumps lower in 2022 than 2021?"),
        ("check: was the margin above 5 %", "was the margin above 5 %"),
        ("Confirm or deny: Acme's margin rose.", "Is it true that Acme's margin rose?"),
        ("Did Acme pay a dividend? Answer Y/N.", "Did Acme pay a dividend"),
        ("Did Acme pay a dividend, yes or no?", "Did Acme pay a dividend"),
        ("Acme sales outside the US", "Acme sales outside the U.S."),
        ("give us sales in US$", "give us sales in US$"),
        ("US GAAP net income of Acme", "net income of Acme"),
        ("non-GAAP net income of Acme (U.S. GAAP)", "non-GAAP net income of Acme"),
    ],
)
def test_orders_and_confirmations_become_questions(asked: str, meant: str) -> None:
    assert in_words(asked) == meant
