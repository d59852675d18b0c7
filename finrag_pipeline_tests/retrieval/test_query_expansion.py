from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finrag_pipeline.retrieval.query_expansion import ACRONYMS, expand_query, expansions

_WORDS = [
    *ACRONYMS,
    *(acronym.lower() for acronym in ACRONYMS),
    *(phrase for phrases in ACRONYMS.values() for phrase in phrases),
    *[
        "FY18",
        "FY 2019",
        "fy'20",
        "FY",
        "Q2",
        "2Q23",
        "Q4'19",
        "H1 2021",
        "FY22Q3",
        "Q1FY2020",
        "Q",
        "18",
        "2018",
    ],
    *[
        "fiscal year 2018",
        "second quarter",
        "what",
        "is",
        "the",
        "(",
        ")",
        ";",
        "?",
        "\n",
        "'s",
        "-",
        "株式",
        "İ",
        "ß",
    ],
]
_QUESTIONS = st.lists(st.sampled_from(_WORDS), max_size=12).flatmap(
    lambda words: st.sampled_from([" ", "", "  "]).map(lambda between: between.join(words))
) | st.text(max_size=80)


@settings(max_examples=500, deadline=None)
@given(_QUESTIONS)
def test_the_question_is_never_lost_and_expanded_once(question: str) -> None:
    expanded = expand_query(question)
    assert expanded.startswith(question)
    assert expand_query(expanded) == expanded
    added = expanded[len(question) :]
    assert not added or re.fullmatch(r" \([^()]+\)", added)
    assert set(added.strip(" ()").split("; ")) <= {*expansions(question), ""}


@pytest.mark.parametrize("phrase", [phrase for phrases in ACRONYMS.values() for phrase in phrases])
def test_what_an_acronym_stands_for_holds_none_itself(phrase: str) -> None:
    assert expand_query(phrase) == phrase


@pytest.mark.parametrize(
    ("question", "added"),
    [
        ("What is the FY2018 capex?", "capital expenditure; capital expenditures; fiscal year 2018"),
        ("FY18 CAPEX", "capital expenditure; capital expenditures; fiscal year 2018"),
        ("FY 18 and FY'19, FY’20", "fiscal year 2018; fiscal year 2019; fiscal year 2020"),
        ("FY1999 and FY99", "fiscal year 1999"),
        ("FYE2021", "fiscal year 2021"),
        ("FY69 and FY70", "fiscal year 2069; fiscal year 1970"),
        ("revenue by FY", "fiscal year"),
        ("Net PP&E of the company", "property, plant and equipment"),
        ("COGS, D&A and EBITDA", "cost of goods sold; depreciation and amortization; earnings before interest, taxes, "
         "depreciation and amortization"),
        ("AR and DPO", "accounts receivable; days payable outstanding"),
        ("YoY growth", "year over year"),
        ("yoy growth", "year over year"),
        ("SG&A over R&D", "research and development; selling, general and administrative"),
        ("MD&A on M&A", "mergers and acquisitions; management's discussion and analysis"),
        ("Q2 revenue", "second quarter"),
        ("Q2 2018 revenue", "second quarter 2018"),
        ("2Q18 revenue", "second quarter 2018"),
        ("Q3'19 revenue", "third quarter 2019"),
        ("Q2 of FY2023", "second quarter; fiscal year 2023"),
        ("Q2 FY2023", "second quarter; fiscal year 2023"),
        ("Q2FY23", "second quarter; fiscal year 2023"),
        ("FY23Q2", "second quarter; fiscal year 2023"),
        ("1H22 and H2", "first half 2022; second half"),
        ("EPS's growth", "earnings per share"),
        ("the company's (EPS)", "earnings per share"),
    ],
)  # fmt: skip
def test_acronyms_and_periods(question: str, added: str) -> None:
    assert expand_query(question) == f"{question} ({added})"


@pytest.mark.parametrize(
    "question",
    [
        "",
        "What is the revenue of 2018?",
        "How are they roe deer, and what did the ap say?",  # lower case words, not ROE and AP
        "Was it sold by BARE and AT&AP?",
        "Capital expenditure (capital expenditures) in CAPEX of fiscal year 2018",
        "In fiscal year 2018 (FY18)",
        "FY2018.5 and FY20,000",
        "Q5 and 7Q, Q25, H3",
        "XFY18 and Q2B",
        "In the second quarter (Q2) of 2023",
        "EPS_2 and EPS2",
    ],
)
def test_nothing_to_add(question: str) -> None:
    assert expand_query(question) == question


def test_a_bare_number_behind_a_quarter_is_no_year() -> None:
    assert expand_query("In Q2 15 stores opened") == "In Q2 15 stores opened (second quarter)"


def test_what_the_question_says_itself_is_not_said_again() -> None:
    question = "Capital  EXPENDITURE, or capex"
    assert expand_query(question) == f"{question} (capital expenditures)"


def test_a_long_question() -> None:
    question = "FY18 capex " * 2000
    assert expand_query(question).count("fiscal year 2018") == 1
