"""Questions over real and invented companies: the company, and the filing that should come first."""

from __future__ import annotations

import pytest

from finrag_pipeline.resolver.resolver import Resolver
from finrag_pipeline_tests.resolver.filings import COVERS, ROWS


@pytest.fixture(scope="module")
def resolver() -> Resolver:
    return Resolver(ROWS, COVERS)


QUESTIONS = [
    # A release behind the cover of an 8-K.
    ("What did Torvexley earn in the third quarter of 2023?", "torvexley-q3"),
    ("What does Torvexley's earnings release of Q3 2023 expect of the year?", "torvexley-q3"),
    ("What did Torvexley say in its 8-K of November 2, 2023?", "torvexley-q3"),
    ("What did Torvexley say in its 8-K dated October 12, 2023?", "torvexley-loan"),
    # Names and short forms.
    ("What was Target's gross margin in FY2022?", "target-22"),
    ("How much revenue did Target report in fiscal 2021?", "target-21"),
    ("what is target's fy22 revenue?", "target-22"),
    ("Target's inventory at the end of FY2022?", "target-22"),
    ("target revenue fy2021", "target-21"),
    ("okay whats chipotles revenue for 2022", "chipotle-22"),
    ("Quillmarks revenue in 2021", "quillmark-21"),
    ("get gap net sales growth % fy2022", "gap-22"),
    ("What does TGT pay in dividends for FY2022?", "target-22"),
    ("What is the FY2022 net revenue of Visa?", "visa-22"),
    ("Did Gap close stores in FY2022?", "gap-22"),
    ("What are the total assets of The Gap, Inc. in FY2022?", "gap-22"),
    ("How many shares did Apple repurchase in FY2022?", "apple-22"),
    ("Apple, twelve months to end of September 2022, money spent for research how much it was?", "apple-22"),
    ("Apple, research spending in fiscal 2022?", "apple-22"),
    ("What is Ford's FY2022 net income?", "ford-22"),
    ("What was the dividend of (NYSE: F) in 2022?", "ford-22"),
    ("What was General Motors' capex in 2022?", "gm-22"),
    ("Compute P&G's ROA for FY22.", "pg-22"),
    ("Compute PnG's ROA for FY22.", "pg-22"),
    ("How high were Procter and Gamble's advertising costs in fiscal 2022?", "pg-22"),
    ("What was AT&T's debt in FY2022?", "att-22"),
    ("What did AT & T spend on capex in 2022?", "att-22"),
    ("How many restaurants did McDonalds run in 2022?", "mcd-22"),
    ("How many restaurants did McDonald's run in 2022?", "mcd-22"),
    ("What is Lowe's FY2022 inventory turnover?", "lowes-22"),
    ("How much did Disney spend on content in FY2022?", "disney-22"),
    ("What is HomeDepot's FY2022 ROIC?", "homedepot-22"),
    ("What is H&R Block's FY2023 revenue?", "hrblock-23"),
    ("What is the fuel cost of PanAm in 1979?", "panam-79"),
    ("What did Chipotle pay for avocados in 2022?", "chipotle-22"),
    ("What did Chipottle pay for avocados in 2022?", "chipotle-22"),
    ("What is CMG's lease liability in FY2022?", "chipotle-22"),
    ("How large were Quillmark's deferred taxes in FY2021?", "quillmark-21"),
    ("How large were deferred taxes at Quillmark.com in 2022?", "quillmark-22"),
    ("What was QMK's revenue in 2022?", "quillmark-22"),
    ("What was the revenue of Brindlewick in 2021?", "quillmark-21"),
    ("What was Meta's operating margin in FY2022?", "meta-22"),
    ("What was Facebook's operating margin in FY2020?", "facebook-20"),
    # Parent and subsidiary.
    ("What was Dominion Energy South Carolina's rate base in FY2022?", "dominion-sc-22"),
    ("What was Dominion Energy's dividend in FY2022?", "dominion-22"),
    # Periods.
    ("What was Zephyrion's revenue in FY2021?", "zephyrion-21"),
    ("What is the FY2020 - FY2022 average margin of Zephyrion?", "zephyrion-22"),
    ("What was the change in Zephyrion's margin between FY2020 and FY2021?", "zephyrion-21"),
    ("What was Zephyrion Foods' inventory as of June 30, 2023?", "zephyrion-23q2"),
    ("What did Zephyrion earn in Q2'2023?", "zephyrion-23q2"),
    ("What did Zephyrion earn in Q22023?", "zephyrion-23q2"),
    ("What did Zephyrion earn in 2Q23?", "zephyrion-23q2"),
    ("Cash flow of Zephyrion in H1 FY2023?", "zephyrion-23q2"),
    ("Cash flow of Zephyrion in the six months ended June 30, 2023?", "zephyrion-23q2"),
    ("Sales of Zephyrion in the first quarter of 2023 compared to Q1 2022?", "zephyrion-23q1"),
    ("What were fourth quarter 2022 sales at Zephyrion?", "zephyrion-22q4"),
    ("As of FY2021, what does Zephyrion expect to pay its retirees in 2024?", "zephyrion-21"),
    ("Did Zephyrion's revenue exceed $2021 million in FY2020?", "zephyrion-20"),
    ("How much of Zephyrion's notes due 2027 was left in FY2021?", "zephyrion-21"),
    # A fiscal year named after the calendar year it ends in.
    ("What were Home Depot's sales in FY2023?", "homedepot-22"),
    (
        "What did Zephyrion say about 2023 guidance in its fourth quarter 2022 earnings release?",
        "zephyrion-22q4",
    ),
    ("Did GM's inventories rise in 2022?", "gm-22"),
    ("WHAT WAS ZEPHYRION'S REVENUE IN 2021?", "zephyrion-21"),
    ("what did zephyrion foods earn in 2021", "zephyrion-21"),
    ("What was The Home Depot Inc's revenue for the fiscal year ended January 29, 2023?", "homedepot-22"),
    # Forms and events.
    ("What adjusted EPS growth did Zephyrion report for FY2022?", "zephyrion-22q4"),
    ("What guidance did Zephyrion give for FY2023 when it closed FY2022?", "zephyrion-22q4"),
    ("In its 10-K for 2022, which risk factors does Zephyrion name?", "zephyrion-22"),
    ("What did Zephyrion's 10-Q of 2023 say about leases?", "zephyrion-23q2"),
    ("At the Zephyrion AGM held on May 3, 2023, how did shareholders vote?", "zephyrion-agm"),
    ("Which nominees of Zephyrion received the fewest votes?", "zephyrion-agm"),
    ("By how much did Zephyrion raise its revolving credit facility on May 26, 2023?", "zephyrion-loan"),
    ("What is the subject of Zephyrion's 8k dated 30th May 2023?", "zephyrion-loan"),
    ("What did Apple's balance sheet of December 31, 2022 show as debt?", "apple-23q1"),
]


@pytest.mark.parametrize(("question", "filing"), QUESTIONS)
def test_the_filing_meant_comes_first(resolver: Resolver, question: str, filing: str) -> None:
    resolution = resolver.resolve(question)
    assert resolution.filings, resolution
    assert resolution.filings[0].filing == filing, resolution.filings[:3]
    assert resolution.filings[0].score >= 0.5, resolution.filings[:3]
    assert resolution.filings[0].reasons[0].startswith("filed by ")
    assert resolution.unknown_company is None


NOBODY = [
    "What is the target for gross margin in a healthy business?",
    "Target for FY2022 gross margin?",
    "What is the gap between revenue and cost?",
    "Gap between gross and net margin in FY2022?",
    "gap between gross and net margin in fy2022",
    "target for gross margin, 2022",
    "which block trades were made in 2022",
    "Which block trades were made, and which visa rules apply?",
    "An apple a day keeps which doctor away?",
    "What is the analysts' Price Target after the results?",
    "What share of sales was made in the United States?",
    "Is it low for a fund to hold cash all the time?",
    "What is the P&L and the SG&A ratio, GM %, and EPS in USD?",
    "WHAT IS THE TARGET FOR ALL COSTS?",
    "What is the meta analysis of general electric consumption?",
]


@pytest.mark.parametrize("question", NOBODY)
def test_everyday_words_are_no_companies(resolver: Resolver, question: str) -> None:
    resolution = resolver.resolve(question)
    assert resolution.companies == ()
    assert resolution.unknown_company is None
    assert resolution.allowed() is None


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What was Vantrellis's revenue in FY2022?", "Vantrellis"),
        ("How much did Korbel Dynamics earn in 2022?", "Korbel Dynamics"),
        ("What is the FY2022 capex for Ostermyr Holdings?", "Ostermyr Holdings"),
        ("How does Snapdrift Inc's revenue compare?", "Snapdrift Inc"),
        ("Did General Widgetry pay a dividend in 2022?", "General Widgetry"),
        ("What did Apple Hospitality REIT, Inc. pay in dividends in 2022?", "Apple Hospitality REIT, Inc"),
    ],
)
def test_a_company_outside_the_index_is_named_and_filters_nothing(
    resolver: Resolver, question: str, name: str
) -> None:
    resolution = resolver.resolve(question)
    assert resolution.companies == () and resolution.filings == ()
    assert resolution.allowed() is None
    assert resolution.unknown_company == name


def test_two_companies_are_both_searched(resolver: Resolver) -> None:
    resolution = resolver.resolve("Did Target or Walt Disney have the higher revenue in FY2022?")
    assert set(resolution.companies) == {"target", "walt disney"}
    assert set(resolution.allowed(2) or ()) == {"target-22", "disney-22"}


def test_a_share_of_a_name_is_a_lesser_match_than_the_name(resolver: Resolver) -> None:
    resolution = resolver.resolve("What was Dominion Energy's dividend in FY2022?")
    scores = {item.filing: item.score for item in resolution.filings}
    assert scores["dominion-22"] > scores["dominion-sc-22"] > 0


def test_a_changed_name_is_one_company(resolver: Resolver) -> None:
    resolution = resolver.resolve("How did Facebook's revenue grow in FY2022?")
    assert len(resolution.companies) == 1
    assert resolution.filings[0].filing == "meta-22"


def test_a_former_name_in_the_question_finds_the_company(resolver: Resolver) -> None:
    resolution = resolver.resolve("What is Brindlewick's (now Quillmark) FY2022 quick ratio?")
    assert resolution.filings[0].filing == "quillmark-22"


def test_another_year_than_the_filings_is_ranked_not_dropped(resolver: Resolver) -> None:
    resolution = resolver.resolve("What net income did Zephyrion report for 2019?")
    # Annual reports show three years of income.
    assert resolution.filings[0].filing == "zephyrion-20"
    assert resolution.allowed() is not None and len(resolution.filings) == 8


def test_a_period_no_filing_reports_on_leaves_the_latest_at_a_low_score(resolver: Resolver) -> None:
    best = resolver.resolve("What was Zephyrion's revenue in FY2035?").filings[0]
    assert best.filing == "zephyrion-22" and best.score < 0.2
    assert "no filing on the period asked for" in best.reasons


def test_companies_compared_without_possessive_are_both_found(resolver: Resolver) -> None:
    resolution = resolver.resolve("Compare Ford and General Motors on FY2022 capex")
    assert set(resolution.allowed(2) or ()) == {"ford-22", "gm-22"}


def test_without_period_the_latest_annual_report_comes_first(resolver: Resolver) -> None:
    resolution = resolver.resolve("In which industry does Zephyrion operate?")
    assert resolution.filings[0].filing == "zephyrion-22"
    assert resolution.periods == () and resolution.form is None


def test_a_period_alone_filters_only_if_few_filings_fit(resolver: Resolver) -> None:
    assert resolver.resolve("What was revenue in FY2022?").allowed() is None
    assert resolver.resolve("What did passengers pay in FY1979?").allowed() == ("panam-79",)


def test_an_event_without_company_is_found_by_the_items_of_the_8k(resolver: Resolver) -> None:
    resolution = resolver.resolve("Which board nominees received the fewest votes?")
    assert resolution.allowed() == ("zephyrion-agm",)
    assert any("item 5.07" in reason for reason in resolution.filings[0].reasons)


def test_reasons_are_in_words(resolver: Resolver) -> None:
    best = resolver.resolve("Compute PnG's ROA for FY22.").filings[0]
    assert best.reasons[0] == 'filed by THE PROCTER & GAMBLE COMPANY, asked for as "PnG" (initials)'
    assert best.reasons[1] == "the fiscal year asked for, 2022"
    other = resolver.resolve("What net income did Zephyrion report for 2019?").filings[0]
    assert other.reasons[1] == "fiscal year 2020, not 2019"
    loan = resolver.resolve("What did Zephyrion borrow on May 24, 2023?").filings[0]
    assert "date 2023-05-24 is 2 days before the event of 2023-05-26" in loan.reasons
