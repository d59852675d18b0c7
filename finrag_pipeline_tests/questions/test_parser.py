import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finrag_pipeline.questions.abstention import Abstention, AbstentionKind
from finrag_pipeline.questions.definitions import split_definitions
from finrag_pipeline.questions.directives import read_directives
from finrag_pipeline.questions.expression import print_expression
from finrag_pipeline.questions.parser import ParsedQuestion, parse_question
from finrag_pipeline.questions.token_runs import says_nothing


def parsed(question: str) -> ParsedQuestion:
    return parse_question(question, {"zoltek"})


def formula(question: str) -> str:
    return print_expression(parsed(question).expression)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What was Zoltek's revenue in FY2021?", "revenue@2021"),
        ("How much did Zoltek spend on capex in fiscal 2020, in $ millions?", "capex@2020"),
        ("FY2019 - FY2021 3 year average net profit margin of Zoltek?", "mean(net_margin@2019, net_margin@2020, net_margin@2021)"),
        ("Three-year average capex to revenue ratio over FY2019 to FY2021?", "mean(capex@2019 / revenue@2019, capex@2020 / revenue@2020, capex@2021 / revenue@2021)"),
        ("By how much did net sales grow between 2020 and 2021 (in %)?", "revenue@2021 / revenue@2020 - 1"),
        ("Revenue growth in 2021?", "revenue@2021 / revenue@2020 - 1"),
        ("What is the year-over-year change in inventories from 2020 to 2021 in USD millions?", "inventory@2021 - inventory@2020"),
        ("Year-over-year change in inventories in 2021?", "inventory@2021 / inventory@2020 - 1"),
        ("% change in revenue, FY21 yoy?", "revenue@2021 / revenue@2020 - 1"),
        ("What was Zoltek's gross margin as a percentage of sales in 2021?", "gross_margin@2021"),
        ("How did the operating margin change from FY2020 to FY2021?", "operating_margin@2021 - operating_margin@2020"),
        ("Revenue CAGR from 2018 to 2021?", "power(revenue@2021 / revenue@2018, 1 / 3) - 1"),
        ("2-year CAGR of revenue ending in FY2021?", "power(revenue@2021 / revenue@2019, 1 / 2) - 1"),
        ("What is FY2021 unadjusted EBITDA less capex?", "ebitda@2021 - capex@2021"),
        ("What percentage of 2021 revenues went to research and development expenses?", "research_and_development@2021 / revenue@2021"),
        ("R&D as a percentage of revenue in 2021", "research_and_development@2021 / revenue@2021"),
        ("FY2021 COGS % margin?", "cost_of_revenue@2021 / revenue@2021"),
        ("Ratio of FY2021 revenue to FY2020 total assets?", "revenue@2021 / assets@2020"),
        ("What was the difference between total assets and total current liabilities in 2021?", "assets@2021 - current_liabilities@2021"),
        ("Average net income over 2019, 2020 and 2021?", "mean(net_income@2019, net_income@2020, net_income@2021)"),
        ("Subtract capex from operating cash flow and divide the result by revenue for 2021.", "(operating_cash_flow@2021 - capex@2021) / revenue@2021"),
        ("FY2021 ROE, using average shareholders' equity?", "roe@2021"),
        ("Revenue in Q2 of fiscal 2022?", "revenue@2022Q2"),
        ("Operating cash flow for the six months ended June 30, 2022?", "operating_cash_flow@2022-06-30M6"),
        ("Operating cash flow for the year ended June 30, 2022?", "operating_cash_flow@2022-06-30M12"),
        ("Revenue in the June 2022 quarter?", "revenue@2022-06-30M3"),
        ("Revenue in quarter two of 2022?", "revenue@2022Q2"),
        ("Total debt in 2021, notes due 2027 included?", "debt@2021"),
        ("Roughly how many times has Zoltek sold its inventory in FY2021?", "inventory_turnover@2021"),
        ("Zoltek FY2021: EBITDA/interest", "ebitda@2021 / interest_expense@2021"),
        ("Sum of capex in FY2019, FY2020 and FY2021?", "sum(capex@2019, capex@2020, capex@2021)"),
        ("Total capex over the three years FY2019 to FY2021?", "sum(capex@2019, capex@2020, capex@2021)"),
        ("How much larger was revenue in FY2021 than in FY2019, in USD millions?", "revenue@2021 - revenue@2019"),
        ("FY2021 gross profit less R&D, as a percentage of revenue?", "(gross_profit@2021 - research_and_development@2021) / revenue@2021"),
        ("Of total current assets in 2021, what percentage was inventories?", "inventory@2021 / current_assets@2021"),
        ("Did net margin increase or decrease between 2020 and 2021?", "net_margin@2021 - net_margin@2020"),
        ("How many days did it take to collect receivables in fiscal 2021 (DSO)?", "dso@2021"),
        ("Zoltek - FY2021 revenue", "revenue@2021"),
        ("Growth of net sales from 2019 to 2020, as reported in their 2021 financial documents?", "revenue@2020 / revenue@2019 - 1"),
        ("Revenue as reported in the 2021 annual report?", "revenue@2021"),
        ("What were equity compensation plans in 2021?", '"equity compensation"@2021'),
        ("Average annual capex during FY2020-FY2021?", "mean(capex@2020, capex@2021)"),
        ("What were film library assets in 2021?", '"film library assets"@2021'),
        ("What was revenue from licences in 2021?", '"revenue from licences"@2021'),
    ],
)  # fmt: skip
def test_what_is_asked(question: str, expected: str) -> None:
    assert formula(question) == expected


@pytest.mark.parametrize(
    ("question", "name", "expected"),
    [
        (
            "What is Zoltek's FY2021 DPO? DPO is defined as: 365 * (average accounts payable between FY2020 and FY2021) / (FY2021 COGS + change in inventory between FY2020 and FY2021).",
            "dpo",
            "365 * mean(payables@2020, payables@2021) / (cost_of_revenue@2021 + (inventory@2021 - inventory@2020))",
        ),
        (
            "Asset turnover in FY2021, where asset turnover is FY2021 revenue over the average of total assets for FY2020 and FY2021?",
            "asset_turnover",
            "revenue@2021 / mean(assets@2020, assets@2021)",
        ),
        ("Define net working capital as total current assets less total current liabilities. What is it for FY2021?", "working_capital", "current_assets - current_liabilities"),
        ("Calculate the FY2021 current ratio by dividing total current assets by total current liabilities.", "current_ratio", "current_assets / current_liabilities"),
        ("What is the quick ratio for 2021 if the quick ratio is (total current assets - inventories)/total current liabilities?", "quick_ratio", "(current_assets - inventory) / current_liabilities"),
        ("FY2021 inventory turnover, taking inventory turnover as COGS over average of beginning and ending inventory?", "inventory_turnover", "cost_of_revenue / mean(inventory@-1, inventory)"),
        ("Compute the 2021 net debt to EBITDA, taking EBITDA as operating income plus depreciation.", "ebitda", "operating_income + depreciation"),
        ("How many times was inventory turned over in 2021? (cost of sales over ending inventory)", "inventory_turnover", "cost_of_revenue / inventory"),
        ("What is debt to equity in 2021? Debt to equity is total liabilities divided by total equity.", "debt_to_equity", "liabilities / total_equity"),
        ("What is the 2021 current ratio (current assets divided by current liabilities)?", "current_ratio", "current_assets / current_liabilities"),
        ("What is the 2021 ROA, calculated as net income / FY2021 total assets?", "roa", "net_income / assets@2021"),
        ("Define 'cash burn index' as capex divided by (net income plus depreciation). What was the cash burn index in 2021?", "cash burn index", "capex / (net_income + depreciation)"),
        ("What was the fixed asset yield in 2021? The fixed asset yield (FAY) = operating income / FY2021 PP&E / average of FY2020 and FY2021.", "fixed asset yield", "operating_income / ppe@2021 / mean(ppe@2020, ppe@2021)"),
        ("What is the zog ratio in 2021? The zog ratio is defined as revenue divided by flurbs.", "zog ratio", "revenue / flurbs"),
        ("Inventory turnover in FY2021, where the numerator is COGS and the denominator is the average of FY2020 and FY2021 inventories?", "inventory_turnover", "cost_of_revenue / mean(inventory@2020, inventory@2021)"),
        ("We define ROIC as operating income times (1 - effective tax rate) divided by the average of total debt plus equity in FY2020 and FY2021. What was ROIC in FY2021?", "roic", "operating_income * (1 - effective_tax_rate) / mean(debt@2020 + equity@2020, debt@2021 + equity@2021)"),
        ("Receivables turnover for FY2021: net sales over the average of beginning and ending accounts receivable.", "receivables_turnover", "revenue / mean(receivables@-1, receivables)"),
        ("FY2021 sustainable growth rate, which is ROE multiplied by the retention ratio?", "sustainable growth rate", "roe * retention_ratio"),
        ("What was the FY2021 R&D intensity, i.e. research and development divided by revenue?", "r&d intensity", "research_and_development / revenue"),
        ("What is Zoltek's FY2021 inventory turnover? It is defined as: FY2021 COGS / average inventory between FY2020 and FY2021.", "inventory_turnover", "cost_of_revenue@2021 / mean(inventory@2020, inventory@2021)"),
        ("Let X = total current assets less inventories. What is X divided by total current liabilities in FY2021?", "x", "current_assets - inventory"),
    ],
)  # fmt: skip
def test_definitions_inside_the_question(question: str, name: str, expected: str) -> None:
    found = parsed(question)
    assert print_expression(found.definitions[name].expression) == expected
    assert name.replace(" ", "_") in print_expression(found.expression).replace(" ", "_")


def test_nested_definitions() -> None:
    found = parsed(
        "Compute the cash conversion cycle in FY2021 where CCC = DIO + DSO - DPO, DIO = 365 * average inventory / cost of"
        " sales, DSO = 365 * average receivables / net sales, and DPO = 365 * average accounts payable / cost of sales."
    )
    assert print_expression(found.expression) == "cash_conversion_cycle@2021"
    assert {name: print_expression(entry.expression) for name, entry in found.definitions.items()} == {
        "cash_conversion_cycle": "dio + dso - dpo",
        "dio": "365 * avg(inventory) / cost_of_revenue",
        "dso": "365 * avg(receivables) / revenue",
        "dpo": "365 * avg(payables) / cost_of_revenue",
    }


@pytest.mark.parametrize(
    "question",
    [
        "What is the FY2021 gross margin? Gross margin is defined as revenue divided by divided by 3.",
        "Compute days sales outstanding for FY2021, using year-end receivables.",
    ],
)
def test_a_definition_that_is_not_understood_is_never_replaced_by_the_usual_one(question: str) -> None:
    with pytest.raises(Abstention, match="cannot be read"):
        parsed(question)


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("How much tax did it actually pay in cash in FY2021?", ("tax",)),
        (
            "Show how revenue developed over the last eight quarters.",
            ("developed", "last", "eight", "quarters"),
        ),
        ("What was net income in FY2021, for the parent only?", ("parent",)),
        ("How much revenue did Butterfly bring in FY2021?", ("Butterfly",)),
        ("Roughly how much was revenue in FY2021?", ()),
        ("What was FY2021 revenue in constant euros?", ("constant", "euros")),
        ("What was the FY2021 revenue, less returns to suppliers?", ("less", "returns", "suppliers")),
        ("What was revenue in FY2021 compared with the prior year?", ("FY2021 the prior year",)),
        ("By how much did revenue rise from FY2020 to FY2021?", ()),
        ("In the light of the balance sheet, what were total assets at the end of FY2021?", ()),
        ("What were total assets in FY2021, in USD millions?", ()),
    ],
)
def test_words_that_a_formula_leaves_out_are_told(question: str, left: tuple[str, ...]) -> None:
    assert parsed(question).left_over == left


def test_quantities_side_by_side_and_zero_where_not_reported() -> None:
    found = parsed("What were revenue and net income in FY2021?")
    assert print_expression(found.expression) == "revenue@2021" and [name.name for name in found.also] == [
        "net_income"
    ]
    assert parsed("Restructuring costs in FY2021? If they are not outlined then state 0.").otherwise_zero
    assert not found.otherwise_zero


def test_quantities_are_not_dropped_silently() -> None:
    with pytest.raises(Abstention):
        parsed("How many times could interest expense be paid from operating income in FY2021?")


def test_a_list_of_inputs_defines_nothing() -> None:
    found = parsed("What is FY2021 EBITDA margin? Calculate EBITDA using operating income and D&A.")
    assert found.definitions == {} and print_expression(found.expression) == "ebitda_margin@2021"


@pytest.mark.parametrize(
    ("words", "unit", "scale", "decimals"),
    [
        ("Answer in USD millions.", "currency", 10**6, None),
        ("(in USD billions)", "currency", 10**9, None),
        ("in thousands of dollars", "currency", 1000, None),
        ("in USD '000", "currency", 1000, None),
        ("in $000s", "currency", 1000, None),
        ("The net margin% that is meant.", "percent", None, None),
        ("in USD million, rounded to the nearest integer", "currency", 10**6, 0),
        ("Round your answer to two decimal places.", None, None, 2),
        ("Answer in units of percents and round to one decimal place.", "percent", None, 1),
        ("as a percent, one decimal place", "percent", None, 1),
        ("Express as a percentage.", "percent", None, None),
        ("Give the result with three decimals", None, None, 3),
        ("rounded to the nearest hundredth", None, None, 2),
        ("in percentage points", "points", None, None),
        ("by how many basis points", "basis_points", None, None),
        ("in days", "days", None, None),
        ("as a ratio", "ratio", None, None),
    ],
)
def test_units_and_rounding(words: str, unit: str | None, scale: int | None, decimals: int | None) -> None:
    found, rest = read_directives(f"What is it? {words}")
    assert (found.unit, found.scale, found.decimals) == (unit, scale, decimals)
    assert len(rest) == len(f"What is it? {words}") and rest.startswith("What is it?")


def test_statements_named() -> None:
    found, rest = read_directives("According to the P&L and the statement of cash flows, what is D&A?")
    assert found.statements == ("income_statement", "cash_flows")
    assert "P&L" not in rest and rest.endswith("what is D&A?")


@pytest.mark.parametrize(
    "question",
    [
        "How much could Zoltek borrow at the end of 2021?",
        "Zoltek makes roof tiles. What was its revenue from those in 2021?",
        "Why did margins fall in 2021?",
        "What drove the change in operating margin in FY2021?",
        "Which segment had the highest revenue in 2021?",
        "What is Zoltek's FY2021 adjusted EBITDA?",
        "What revenue was Zoltek guiding to for 2021?",
        "If rates were to rise in 2021, what would Zoltek's revenue be?",
        "Who is the chief executive?",
        "Hello there",
        "Quel est le chiffre d'affaires ?",
        "营业收入是多少？",
    ],
)
def test_no_calculation(question: str) -> None:
    with pytest.raises(Abstention) as found:
        parsed(question)
    assert found.value.kind is AbstentionKind.NOT_A_CALCULATION


@pytest.mark.parametrize(
    ("question", "measure"),
    [
        ("What was Acme's revenue per available room in FY2022?", "revenue per available room"),
        ("What were the assets under management of Acme in FY2022?", "assets under management"),
        ("What was Acme's sales per employee in FY2022 in USD thousands?", "sales per employee"),
    ],
)
def test_a_measure_of_its_own_is_not_the_line_it_begins_with(question: str, measure: str) -> None:
    with pytest.raises(Abstention) as abstained:
        parse_question(question)
    assert abstained.value.kind == AbstentionKind.NO_LINE and measure in abstained.value.why


@pytest.mark.parametrize(
    "question",
    [
        "What were Acme's earnings per share in FY2022?",
        "What were Acme's earnings per diluted share in FY2022?",
        "What was Acme's revenue per the income statement in FY2022?",
        "What was Acme's debt under finance leases in FY2022?",
    ],
)
def test_words_that_only_qualify_a_line_stay(question: str) -> None:
    try:
        parse_question(question)
    except Abstention as abstained:
        assert "no line" not in abstained.why, "that its line is unknown is another matter"


def test_a_definition_that_cannot_be_read_is_named() -> None:
    with pytest.raises(Abstention, match="cannot be read") as found:
        parsed("What is the zog ratio in 2021? The zog ratio is defined as revenue / / 3.")
    assert found.value.kind is AbstentionKind.UNREADABLE


def test_definitions_are_cut_out_of_a_sentence() -> None:
    rest, found = split_definitions("What is X in 2021, where X = A / B (and A = C + D)")
    assert rest.strip() == "What is X in 2021"
    assert [(part.name, part.text.strip()) for part in found] == [("X", "A / B"), ("A", "C + D")]


WORDS = st.lists(
    st.sampled_from(
        [
            "what",
            "is",
            "the",
            "FY2021",
            "FY2019",
            "-",
            "(",
            ")",
            "/",
            "*",
            "+",
            "average",
            "of",
            "revenue",
            "capex",
            "margin",
            "growth",
            "defined",
            "as",
            "=",
            "where",
            ",",
            ".",
            "?",
            "and",
            "to",
            "by",
            "divided",
            "dividing",
            "less",
            "net",
            "income",
            "365",
            "between",
            "change",
            "percent",
            "Q2",
            "2020",
            "3",
            "year",
            "CAGR",
            "ratio",
            "[",
            "]",
            ";",
            "in",
            "USD",
            "millions",
        ]
    ),
    max_size=30,
).map(" ".join)


@settings(deadline=None, max_examples=60)
@given(WORDS | st.text(max_size=200))
def test_any_text_is_parsed_or_abstained_from(question: str) -> None:
    try:
        found = parsed(question)
    except Abstention as abstention:
        assert abstention.why
    else:
        assert print_expression(found.expression)


def test_a_hyphen_or_a_possessive_makes_no_filler() -> None:
    assert (
        "parent-only" in parse_question("What was Acme's parent-only net income in 2023?", {"acme"}).left_over
    )
    asked = parse_question("What was Acme's research spending on Alzheimer's in 2023?", {"acme"})
    assert "Alzheimer's" in print_expression(asked.expression)
    assert says_nothing("company's") and not says_nothing("alzheimer's")


def test_an_average_over_years_without_a_named_one_counts_back_from_the_latest() -> None:
    text = print_expression(
        parse_question("Acme's average tax rate over the last five years?", {"acme"}).expression
    )
    assert text.count("effective_tax_rate") == 5 and "@-4" in text


@pytest.mark.parametrize(
    "question",
    [
        "If it isn't too much trouble, what revenue had Zoltek in 2021?",
        "If you could tell me: what was Zoltek's revenue in 2021?",
    ],
)
def test_a_polite_condition_asks_for_what_is_known(question: str) -> None:
    assert formula(question) == "revenue@2021"
