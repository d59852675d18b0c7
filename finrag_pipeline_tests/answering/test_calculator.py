import datetime as dt
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finrag_pipeline.answering.calculator import company_words
from finrag_pipeline.answering.derivation import Derivation
from finrag_pipeline.errors import LakeError, UsageError
from finrag_pipeline.questions.abstention import CANNOT_BE_DETERMINED
from finrag_pipeline.statements.filed_facts import FACT_COLUMNS, read_facts
from finrag_pipeline_tests.answering.made_facts import (
    FILINGS,
    FLOWS,
    INCOME,
    MILLION,
    OLDER,
    POSITION,
    ROWS,
    annual,
    calculator,
    fact,
    filing_row,
    quarter,
)

ZOLTEK = calculator()


def ask(question: str, **more: Any) -> Derivation:
    return ZOLTEK.answer(question, **more)


@pytest.mark.parametrize(
    ("question", "answer", "value", "unit"),
    [
        ("What was Zoltek's FY2021 revenue in USD millions?", "$1,500 million", 1500, "USD million"),
        ("What was Zoltek's FY2021 revenue in USD billions?", "$1.50 billion", 1.5, "USD billion"),
        ("Zoltek capital expenditures in 2021, in thousands", "$110,000 thousand", 110000, "USD thousand"),
        ("How much did ZTK pay in dividends in 2021?", "$90 million", 90, "USD million"),
        ("Zoltek FY2021 gross margin", "40.0%", 40, "percent"),
        ("Zoltek FY2021 gross margin, two decimals", "40.00%", 40, "percent"),
        ("Zoltek's effective tax rate in 2020?", "25.0%", 25, "percent"),
        ("Zoltek FY2021 EBITDA in USD millions", "$430 million", 430, "USD million"),
        ("What was Zoltek's depreciation in 2021?", "$90 million", 90, "USD million"),
        ("Zoltek FY2021 free cash flow?", "$200 million", 200, "USD million"),
        ("Zoltek FY2021 current ratio, rounded to two decimal places", "2.00", 2, "ratio"),
        ("Zoltek's FY2021 quick ratio", "1.12", 1.12, "ratio"),
        ("Zoltek working capital at the end of 2021", "$260 million", 260, "USD million"),
        ("Zoltek FY2021 inventory turnover", "5.00 times", 5, "times"),
        ("Zoltek FY2021 fixed asset turnover", "2.50 times", 2.5, "times"),
        ("Zoltek FY2021 DIO", "73.00 days", 73, "days"),
        ("Zoltek FY2021 ROA", "18.0%", 18, "percent"),
        ("Zoltek FY2021 dividend payout ratio", "0.40", 0.4, "ratio"),
        ("Zoltek FY2021 retention ratio", "0.60", 0.6, "ratio"),
        ("Zoltek FY2021 interest coverage", "11.00 times", 11, "times"),
        ("Zoltek revenue growth 2021", "25.0%", 25, "percent"),
        ("How did Zoltek's operating margin change between FY2020 and FY2021?", "2.0 percentage points", 2, "percentage points"),
    ("By what percent did Zoltek's operating margin change from 2020 to 2021?", "2.0 percentage points", 2, "percentage points"),
        ("By how many basis points did Zoltek's operating margin change from 2020 to 2021?", "200 basis points", 200, "basis points"),
        ("Zoltek FY2019 - FY2021 3 year average R&D as a % of revenue", "5.0%", 5, "percent"),
        ("Zoltek revenue CAGR 2019 to 2021", "22.5%", 22.5, "percent"),
        ("What was Zoltek's revenue in the second quarter of 2022?", "$420 million", 420, "USD million"),
        ("Zoltek's revenue for the six months ended June 30, 2022", "$800 million", 800, "USD million"),
        ("Total assets of Zoltek as of June 30, 2022", "$1,450 million", 1450, "USD million"),
        ("Total assets of Zoltek at the end of 2021", "$1,400 million", 1400, "USD million"),
    ],
)  # fmt: skip
def test_answers(question: str, answer: str, value: float, unit: str) -> None:
    found = ask(question)
    assert (found.answer, found.value, found.unit) == (answer, value, unit)
    assert not found.abstained and found.inputs


def test_a_derivation_names_every_cell() -> None:
    found = ask(
        "What is Zoltek's FY2021 asset turnover? Asset turnover is defined as FY2021 revenue / average of FY2020 and FY2021"
        " total assets. Round to two decimal places."
    )
    assert found.answer == "1.20 times"
    assert found.formula == "asset_turnover@2021 = revenue@2021 / mean(assets@2020, assets@2021)"
    assert found.steps == (
        "Asset turnover FY2021 = 1,500 million / ((1,100 million + 1,400 million) / 2) = 1.2",
    )
    assert [(item.line, item.period, item.fact.printed, item.fact.page) for item in found.inputs] == [
        ("Revenue", "FY2021", "1500", 3),
        ("Total assets", "FY2020", "1100", 4),
        ("Total assets", "FY2021", "1400", 4),
    ]
    told = json.loads(json.dumps(found.as_json()))
    assert told["inputs"][0]["box"] == [10.0, 20.0, 50.0, 28.0]
    assert told["inputs"][0]["page_label"] == "4" and told["inputs"][0]["scale"] == MILLION
    assert [cited["page"] for cited in told["citations"]] == [3, 4, 4]
    assert {
        "question",
        "answer",
        "value",
        "unit",
        "formula",
        "steps",
        "inputs",
        "citations",
        "alternatives",
    } <= set(told)
    assert {"abstained", "why", "seconds"} <= set(told)
    assert "ZOLTEK_2021_10K p. 4" in found.as_text()


def test_costs_and_outflows_are_positive_and_losses_negative() -> None:
    facts = {
        "ZOLTEK_2021_10K": annual(
            "ZOLTEK_2021_10K", ((INCOME, "NetIncomeLoss", "Net loss", {2021: -12}), *ROWS[:2])
        )
    }
    made = calculator(facts, FILINGS[:1])
    assert made.answer("Zoltek FY2021 net income").answer == "-$12 million"
    assert made.answer("Zoltek FY2021 COGS").answer == "$900 million"
    assert made.answer("Zoltek FY2021 net margin").answer == "-0.8%"


def test_the_filing_of_the_year_wins_and_the_restated_value_is_shown() -> None:
    found = ask("What was Zoltek's revenue in FY2020 in USD millions?")
    assert found.value == 1190 and found.inputs[0].fact.filing == "ZOLTEK_2020_10K"
    (other,) = found.alternatives
    assert other["value"] == 1200e6 and other["filing"] == "ZOLTEK_2021_10K"
    assert "1200" in found.as_text()


def test_years_that_the_filing_lacks_come_from_another() -> None:
    found = ask("Zoltek revenue CAGR from 2018 to 2021?")
    assert found.answer == "18.6%"
    assert {item.fact.filing for item in found.inputs} == {"ZOLTEK_2020_10K", "ZOLTEK_2021_10K"}


def test_pages_restrict_and_filings_too() -> None:
    question = "What was Zoltek's revenue in FY2020 in USD millions?"
    assert ask(question, filings=["ZOLTEK_2021_10K"]).value == 1200
    assert ask(question, pages=[("ZOLTEK_2021_10K", 3)], only_pages=True).value == 1200
    assert ask(question, pages=[("ZOLTEK_2021_10K", 4)], only_pages=True).abstained


def test_rows_of_one_filing_that_disagree_are_shown() -> None:
    rows = [*ROWS, (INCOME, "Revenues", "Total revenues", {2021: 1510})]
    made = calculator({"ZOLTEK_2021_10K": annual("ZOLTEK_2021_10K", rows)}, FILINGS[:1])
    found = made.answer("Zoltek FY2021 revenue")
    assert found.value == 1500 and [other["answer"] for other in found.alternatives] == ["1510"]


def test_net_sales_are_no_total_revenue_where_both_are_printed() -> None:
    rows = [
        (INCOME, None, "Net sales", {2021: 1500}),
        (INCOME, None, "Membership fees", {2021: 40}),
        (INCOME, "Revenues", "Total revenue", {2021: 1540}),
        (INCOME, "NetIncomeLoss", "Net income attributable to Zoltek", {2021: 90}),
        (INCOME, None, "Net income", {2021: 95}),
    ]
    made = calculator({"ZOLTEK_2021_10K": annual("ZOLTEK_2021_10K", rows)}, FILINGS[:1])
    asked = {
        "Zoltek FY2021 net sales": 1500,
        "Zoltek FY2021 revenue": 1540,
        "Zoltek FY2021 total revenue": 1540,
        "Zoltek FY2021 net income": 90,
    }
    assert {question: made.answer(question).value for question in asked} == asked


def test_other_conventions_are_shown() -> None:
    found = ask("Zoltek FY2021 quick ratio")
    assert [other["answer"] for other in found.alternatives] == ["1.23"]
    assert not ask("Zoltek FY2021 current ratio").alternatives


def test_depreciation_without_amortization_is_completed() -> None:
    found = ask("Zoltek FY2021 depreciation and amortization in USD millions")
    assert found.value == 100
    assert found.steps == ("Depreciation and amortization FY2021 = 90 million + 10 million = 100 million",)


def test_components_are_added_where_there_is_no_total() -> None:
    rows = (
        ROWS[0],
        (INCOME, None, "Cost of products", {2021: -500}),
        (INCOME, None, "Cost of services", {2021: -100}),
    )
    made = calculator({"ZOLTEK_2021_10K": annual("ZOLTEK_2021_10K", rows)}, FILINGS[:1])
    found = made.answer("Zoltek FY2021 gross profit in USD millions")
    assert found.value == 900 and len(found.inputs) == 3


def test_an_average_without_the_year_before_says_so() -> None:
    found = ask("Zoltek FY2020 fixed asset turnover", filings=["ZOLTEK_2021_10K"])
    assert found.value == 2.4
    assert "FY2019 is not in the filings" in found.steps[0]


def test_a_printed_label_may_be_used_in_a_definition() -> None:
    found = ask(
        "What is Zoltek's content share in 2021? The content share is defined as film library / total assets."
    )
    assert found.answer == "0.02" and found.inputs[0].fact.label == "Film library"


def test_a_quarter_of_cash_flows_is_the_year_to_date_and_says_so() -> None:
    found = ask("Zoltek operating cash flow in Q2 2022")
    assert found.value == 130 and "6 months to 2022-06-30" in found.steps[0]


def test_a_year_by_another_name_than_the_cover() -> None:
    row = filing_row(
        "ZOLTEK_2022_10K", "Zoltek Industries", "10-K", 2021, dt.date(2022, 1, 29), declared_year=2022
    )
    made = calculator({"ZOLTEK_2022_10K": annual("ZOLTEK_2022_10K", ROWS)}, [row])
    assert made.answer("Zoltek revenue growth FY2022").answer == "25.0%"
    assert made.answer("Zoltek revenue FY2021").value == 1500


@pytest.mark.parametrize(
    ("question", "kind", "words"),
    [
        ("What was Zephyrion's revenue in 2021?", "unknown_company", "Zephyrion"),
        ("What was revenue in 2021?", "unknown_company", "no company"),
        ("Zoltek revenue in FY2031?", "unknown_period", "FY2031"),
        ("Zoltek revenue in FY1999?", "unknown_period", "FY1999"),
        ("Zoltek goodwill in FY2021?", "not_reported", "Goodwill"),
        ("Brexo Foods FY2021 inventory turnover?", "not_reported", "Inventory"),
        (
            "What is Zoltek's zog ratio in 2021? The zog ratio is defined as revenue / flurbs.",
            "undefined_name",
            "flurbs",
        ),
        (
            "What is Zoltek's odd ratio in 2021? The odd ratio = revenue / (capex - capex).",
            "division_by_zero",
            "zero",
        ),
        (
            "What is Zoltek's odd sum in 2021? The odd sum = revenue + gross margin.",
            "units_disagree",
            "units",
        ),
        ("Why did Zoltek's gross margin fall in 2021?", "not_a_calculation", "explanation"),
        ("Zoltek", "not_a_calculation", "no quantity"),
        ("Zoltek's revenue in Europe in 2021?", "not_a_calculation", "part of the company"),
        ("Zoltek and Brexo Foods revenue in FY2021?", "several_companies", "one at a time"),
        ("Zoltek cloud software revenue in FY2021?", "no_line", "cloud software revenue"),
    ],
)
def test_abstentions(question: str, kind: str, words: str) -> None:
    found = ask(question)
    assert found.abstained and found.kind == kind
    assert found.answer.startswith(CANNOT_BE_DETERMINED) and words in found.answer
    assert found.value is None and found.inputs == ()


def test_an_abstention_says_what_was_looked_for() -> None:
    found = ask("Zoltek goodwill in FY2021?")
    assert found.looked_for == ("Goodwill, FY2021",)


def test_a_filing_that_came_as_text_only_is_named_where_its_figures_are_missing() -> None:
    end = dt.date(2023, 12, 31)
    text = filing_row("ZOLTEK_2023_10K", "Zoltek Inc", "10-K", 2023, end, ticker="ZTK", source="page_text")
    older = {"ZOLTEK_2021_10K": annual("ZOLTEK_2021_10K", ROWS), "ZOLTEK_2023_10K": []}
    made = calculator(older, [*FILINGS, text])
    for question in ("Zoltek revenue in FY2023?", "Zoltek goodwill in FY2023? If it reports none, answer 0."):
        found = made.answer(question)
        assert found.why and found.why.endswith("ZOLTEK_2023_10K is text only: no tables")
        assert "text only: no tables" in found.as_text() and found.as_json()["why"] == found.why
    assert made.answer("Zoltek revenue in FY2021?").value == 1500
    assert "text only" not in (made.answer("Zoltek goodwill in FY2021?").why or "")


@pytest.mark.parametrize("question", ["", "   ", "x" * 20_001, "\ud800"])
def test_no_questions(question: str) -> None:
    with pytest.raises(UsageError):
        ask(question)


def test_a_long_question_is_answered_or_abstained_from() -> None:
    assert ask("Zoltek revenue in FY2021? " + "blah (" * 3000).value == 1500


@settings(deadline=None, max_examples=40)
@given(st.text(max_size=300).filter(str.strip))
def test_any_question_gives_a_derivation(question: str) -> None:
    try:
        found = ask(f"Zoltek {question} revenue FY2021")
    except UsageError:
        return
    assert json.dumps(found.as_json()) and found.as_text()


def test_the_statement_named_decides() -> None:
    rows = (
        (INCOME, "DepreciationDepletionAndAmortization", "Depreciation and amortization", {2021: 95}),
        (FLOWS, "DepreciationDepletionAndAmortization", "Depreciation and amortization", {2021: 100}),
    )
    made = calculator({"ZOLTEK_2021_10K": annual("ZOLTEK_2021_10K", rows)}, FILINGS[:1])
    assert made.answer("Zoltek FY2021 D&A").value == 100
    assert made.answer("According to the income statement, what is Zoltek's FY2021 D&A?").value == 95


def test_facts_of_the_parent_alone_are_no_candidates() -> None:
    alone = fact(
        "ZOLTEK_2021_10K",
        POSITION,
        "Goodwill",
        "Goodwill",
        7e6,
        None,
        dt.date(2021, 12, 31),
        year=2021,
        scope="parent_only",
    )
    made = calculator({"ZOLTEK_2021_10K": [*annual("ZOLTEK_2021_10K", OLDER), alone]}, FILINGS[:1])
    assert made.answer("Zoltek goodwill in 2021").abstained


def test_other_periods_and_quantities_named_are_answered_too() -> None:
    found = ask("How does Zoltek's gross margin in FY2021 compare to FY2020?")
    assert found.answer == "FY2020: 41.7%; FY2021: 40.0%" and found.value == 40
    assert {item.period for item in found.inputs} == {"FY2020", "FY2021"}
    assert (
        ask("What were Zoltek's revenue and net income in FY2021?").answer
        == "Revenue: $1,500 million; Net income: $225 million"
    )


def test_zero_where_the_question_asks_for_it() -> None:
    found = ask("What were Zoltek's restructuring costs in FY2021? If they are not outlined then state 0.")
    assert (found.answer, found.value, found.abstained) == ("0", 0.0, False)
    assert "do not report" in found.steps[0]


def test_an_expense_printed_as_a_deduction_is_turned() -> None:
    tax = "IncomeTaxExpenseBenefit"
    kept = [row for row in ROWS if row[1] != tax]
    made = {}
    for name, printed in (("expense", 75), ("deduction", -75)):
        rows = [*kept, (INCOME, tax, "Income taxes", {2021: printed})]
        made[name] = calculator({"ZOLTEK_2021_10K": annual("ZOLTEK_2021_10K", rows)}, FILINGS[:1])
    assert made["expense"].answer("Zoltek FY2021 effective tax rate").answer == "25.0%"
    turned = made["deduction"].answer("Zoltek FY2021 effective tax rate")
    assert turned.answer == "25.0%" and turned.inputs[0].value == 75e6 and "deduction" in turned.steps[0]


def test_a_balance_sheet_a_year_early_is_moved_to_the_year_end() -> None:
    end = dt.date(2022, 1, 1)
    row = filing_row("ZOLTEK_2021_10K", "Zoltek Industries", "10-K", 2021, end)
    facts = [
        fact(
            "ZOLTEK_2021_10K",
            POSITION,
            "InventoryNet",
            "Inventories",
            value,
            None,
            day,
            year=day.year - 1,
            row=place,
        )
        for place, (value, day) in enumerate([(200e6, dt.date(2021, 1, 1)), (160e6, dt.date(2020, 1, 1))])
    ]
    made = calculator({"ZOLTEK_2021_10K": facts}, [row])
    assert made.answer("Zoltek inventory FY2021").value == 200
    assert made.answer("Zoltek inventory FY2020").value == 160


def test_names_of_companies_are_read_off_the_question() -> None:
    assert company_words("What did Acme Foods International's sales do?", [9]) == {
        "acme",
        "foods",
        "international",
    }
    assert company_words("acme revenue", [0]) == {"acme"}
    assert company_words("no company", []) == set()


def test_days_of_a_quarter_are_a_quarter_of_the_year() -> None:
    name, end = "ZOLTEK_2022Q2_10Q", dt.date(2022, 6, 30)
    facts = [
        *quarter(),
        fact(
            name, POSITION, "ReceivablesNetCurrent", "Accounts receivable", 210e6, None, end, year=2022, row=9
        ),
    ]
    made = calculator({name: facts}, FILINGS[2:3])
    assert made.answer("Zoltek DSO Q2 2022").value == 45.63


def test_the_concept_of_the_filing_asked_for_is_nearer() -> None:
    net, whole = "NetIncomeLoss", "ProfitLoss"
    facts = {
        "ZOLTEK_2021_10K": annual(
            "ZOLTEK_2021_10K", ((INCOME, whole, "Net income", {2021: 225, 2020: 160}),)
        ),
        "ZOLTEK_2020_10K": annual("ZOLTEK_2020_10K", ((INCOME, net, "Net income", {2020: 162}),)),
    }
    found = calculator(facts, FILINGS[:2]).answer(
        "Zoltek net income growth from FY2020 to FY2021, in percent"
    )
    assert {item.fact.filing for item in found.inputs} == {"ZOLTEK_2021_10K"} and found.answer == "40.6%"


def test_what_a_failed_try_has_read_is_still_an_input_of_the_next() -> None:
    """Operating income without its line: a first way fails on operating expenses, after reading gross profit."""
    without = [row for row in ROWS if row[1] not in ("OperatingIncomeLoss", "ResearchAndDevelopmentExpense")]
    selling: tuple[Any, ...] = (
        INCOME,
        "SellingGeneralAndAdministrativeExpense",
        "Selling and administrative",
        {2020: 260, 2021: 270},
    )
    name = "ZOLTEK_2021_10K"
    found = calculator({name: annual(name, [*without, selling])}).answer("Zoltek FY2021 operating margin")
    assert found.answer == "22.0%"
    labels = {item.fact.label for item in found.inputs}
    assert labels == {"Net sales", "Cost of goods sold", "Selling and administrative"}


def test_facts_of_another_version_are_told_with_what_to_do() -> None:
    table = pa.table({name: pa.array([], pa.string()) for name in FACT_COLUMNS if name != "line"})
    with pytest.raises(LakeError, match="no column line") as told:
        read_facts(table)
    assert "finrag run" in told.value.remedy
