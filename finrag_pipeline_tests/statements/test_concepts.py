import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.statements.concepts import concept_names, lexicon, match_row, normal_label, read_lexicon
from finrag_pipeline.statements.page_evidence import KINDS


@pytest.mark.parametrize(
    ("printed", "normal"),
    [
        ("Net income (loss)", "net income"),
        ("Total shareholders’ equity (Note 5)", "total shareholders equity"),
        ("Cash & cash equivalents", "cash and cash equivalents"),
        ("Other expense (income), net", "other expense, net"),
        ("Non-current assets", "noncurrent assets"),
        ("Property, plant and equipment — net", "property, plant and equipment net"),
        ("Long-term debt:", "long term debt"),
        ("(Benefit)", "benefit"),
        ("Net earnings per share (Diluted)", "net earnings per share diluted"),
        ("Earnings per share . . . . .", "earnings per share"),
        ("", ""),
    ],
)
def test_labels_are_compared_without_marks(printed: str, normal: str) -> None:
    assert normal_label(printed) == normal


@pytest.mark.parametrize(
    ("statement", "label", "headings", "unit", "concept"),
    [
        ("income_statement", "Total net revenue", (), "currency", "Revenues"),
        ("income_statement", "Sales to customers", (), "currency", "Revenues"),
        ("income_statement", "Cost of products sold", (), "currency", "CostOfRevenue"),
        ("income_statement", "Net loss attributable to Madeup Inc.", (), "currency", "NetIncomeLoss"),
        ("income_statement", "(Provision) benefit for income taxes", (), "currency", "IncomeTaxExpenseBenefit"),
        ("income_statement", "Diluted", ("Net income per share:",), "currency/share", "EarningsPerShareDiluted"),
        ("income_statement", "Basic", ("Weighted average shares outstanding",), "shares",
         "WeightedAverageNumberOfSharesOutstandingBasic"),
        ("financial_position", "Trade receivables, net", ("Current assets:",), "currency", "ReceivablesNetCurrent"),
        ("financial_position", "Merchandise inventories", (), "currency", "InventoryNet"),
        ("financial_position", "Property and equipment, net", (), "currency", "PropertyPlantAndEquipmentNet"),
        ("financial_position", "Total deficit", (), "currency",
         "StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest"),
        ("financial_position", "Total liabilities, redeemable interests and shareholders’ deficit", (), "currency",
         "LiabilitiesAndStockholdersEquity"),
        ("cash_flows", "Net cash (used in) provided by operating activities", (), "currency",
         "NetCashProvidedByUsedInOperatingActivities"),
        ("cash_flows", "Capital expenditures", ("Investing activities",), "currency",
         "PaymentsToAcquirePropertyPlantAndEquipment"),
        ("cash_flows", "Dividends paid", ("Financing activities",), "currency", "PaymentsOfDividends"),
        ("cash_flows", "Depreciation and amortization of property, equipment and intangibles", (), "currency",
         "DepreciationDepletionAndAmortization"),
    ],
)  # fmt: skip
def test_usual_labels_are_read(
    statement: str, label: str, headings: tuple[str, ...], unit: str, concept: str
) -> None:
    assert match_row(statement, label, headings, unit)[0].concept.name == concept


@pytest.mark.parametrize(
    ("statement", "label", "headings", "unit", "concept"),
    [
        ("income_statement", "Total costs and expenses", (), "currency", "CostOfRevenue"),
        ("income_statement", "Income before income taxes", (), "currency", "NetIncomeLoss"),
        ("income_statement", "Net income", ("Earnings per share",), "currency", "NetIncomeLoss"),
        ("income_statement", "Basic", ("Weighted average shares",), "shares", "EarningsPerShareBasic"),
        ("financial_position", "Total liabilities and equity", (), "currency", "Liabilities"),
        ("financial_position", "Total current assets", (), "currency", "Assets"),
        ("cash_flows", "Accrued capital expenditures", ("Noncash activities",), "currency",
         "PaymentsToAcquirePropertyPlantAndEquipment"),
        ("cash_flows", "Dividends paid to noncontrolling interests", (), "currency", "PaymentsOfDividends"),
        ("income_statement", "Earnings per share (Diluted)", (), "currency/share", "EarningsPerShareBasic"),
        ("financial_position", "Long-term debt due within one year", (), "currency", "LongTermDebtNoncurrent"),
        ("cash_flows", "Proceeds from sales of loans held for sale", ("Operating activities",), "currency",
         "ProceedsFromIssuanceOfCommonStock"),
    ],
)  # fmt: skip
def test_lookalikes_are_not_read(
    statement: str, label: str, headings: tuple[str, ...], unit: str, concept: str
) -> None:
    assert concept not in [match.concept.name for match in match_row(statement, label, headings, unit)]


def test_lexicon_covers_every_primary_statement() -> None:
    names = {concept.name for concept in lexicon()}
    assert len(names) >= 80
    assert {kind for concept in lexicon() for kind in concept.statements} >= set(KINDS[:4])


def test_names_without_patterns() -> None:
    assert concept_names() == tuple(dict.fromkeys(concept.name for concept in lexicon()))


def test_another_unit_is_no_match() -> None:
    assert match_row("income_statement", "Net sales", (), "currency")
    assert not match_row("income_statement", "Net sales", (), "percent")


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ('statements = ["cash_flows"]\nlabels = ["a"]', "name: Field required"),
        ('name = "X"\nstatements = ["budget"]\nlabels = ["a"]', "statements.0: Input should be"),
        (
            'name = "X"\nstatements = ["cash_flows"]\nlabels = ["("]',
            "labels.0: Input should be a valid regular expression",
        ),
        ('name = "X"\nstatements = ["cash_flows"]\nlabels = ["a"]\nunit = "miles"', "unit: Input should be"),
        (
            'name = "X"\nstatements = ["cash_flows"]\nlabels = ["a"]\nnot = "b"',
            "not: Unexpected keyword argument",
        ),
        (
            'name = "X"\nstatements = ["cash_flows"]\nlabels = ["a"]\nprefer = "best"',
            "prefer: Input should be",
        ),
    ],
)
def test_a_malformed_entry_is_named(entry: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem.replace("(", r"\(")):
        read_lexicon(f"[[concept]]\n{entry}\n")


@given(st.text(max_size=60))
def test_normal_labels_stay_as_they_are(label: str) -> None:
    once = normal_label(label)
    assert normal_label(once) == once


@given(st.text(max_size=60), st.lists(st.text(max_size=20), max_size=2))
def test_any_label_can_be_looked_up(label: str, headings: list[str]) -> None:
    for statement in KINDS:
        ranks = [match.rank for match in match_row(statement, label, tuple(headings))]
        assert ranks == sorted(ranks)
