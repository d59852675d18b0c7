import datetime as dt

import pyarrow as pa
import pytest

from finrag_pipeline.schemas import conform
from finrag_pipeline.statements.classify import StatementPage
from finrag_pipeline.statements.facts import qualifier_of, statement_facts
from finrag_pipeline_tests.statements.books import (
    FILING,
    FLOWS,
    INCOME,
    PER_SHARE,
    POSITION,
    annual_report,
    page_tables,
    table,
)

KINDS = {5: "income_statement", 6: "financial_position", 8: "cash_flows"}


def statements(
    *keys: tuple[int, int], kind: str | None = None, scope: str = "primary"
) -> list[StatementPage]:
    return [StatementPage(page, ordinal, kind or KINDS[page], scope) for page, ordinal in keys]


def facts_of(*tables: list, found: list[StatementPage] | None = None) -> pa.Table:
    return statement_facts(FILING, page_tables(*tables), annual_report(), "10-K", found)


def lines_in(facts: pa.Table) -> dict[str, float]:
    """Line of the lexicon to value in the last year."""
    return {
        fact["line"]: fact["value"]
        for fact in facts.to_pylist()
        if fact["line"] and fact["period_end"] == dt.date(2021, 12, 31)
    }


def test_facts_of_an_annual_report() -> None:
    facts = facts_of(table(5, INCOME, per_share=PER_SHARE), table(6, POSITION, instant=True), table(8, FLOWS))
    conform(facts, "statement_facts")
    found = lines_in(facts)
    assert found["Revenues"] == 1000e6
    assert found["ProfitLoss"] == 100e6
    assert found["NetIncomeLoss"] == 95e6
    assert found["EarningsPerShareDiluted"] == 0.93
    assert found["Assets"] == found["LiabilitiesAndStockholdersEquity"] == 910e6
    assert found["StockholdersEquity"] == 430e6
    assert found["StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest"] == 470e6
    assert found["PaymentsToAcquirePropertyPlantAndEquipment"] == -70e6
    assert found["PaymentsOfDividends"] == -10e6


def test_same_label_on_both_sides_of_the_balance_sheet_is_told_apart() -> None:
    found = lines_in(facts_of(table(6, POSITION, instant=True), found=statements((6, 0))))
    assert found["DeferredIncomeTaxAssetsNet"] == 10e6
    assert found["DeferredIncomeTaxLiabilitiesNet"] == 40e6


def test_sides_hold_over_a_second_page() -> None:
    halves = table(6, POSITION[:9], instant=True), table(6, POSITION[9:], ordinal=1, instant=True)
    found = lines_in(facts_of(*halves, found=statements((6, 0), (6, 1))))
    assert found["DeferredIncomeTaxLiabilitiesNet"] == 40e6


def test_a_concept_stands_once_per_statement_and_period() -> None:
    facts = facts_of(
        table(5, INCOME, per_share=PER_SHARE),
        table(5, [("Total revenues", "$ 1,000", "$ 900"), ("Gross margin", "400", "350")], ordinal=1),
        found=statements((5, 0), (5, 1)),
    )
    keys = [
        (name, fact["statement"], fact[name], fact["period_end"])
        for fact in facts.to_pylist()
        for name in ("concept", "line")
        if fact[name] and fact["scope"] == "primary"
    ]
    assert len(keys) == len(set(keys))
    assert facts.num_rows == sum(len(line) - 1 for line in INCOME) + 4


def test_every_number_is_a_fact_with_its_place() -> None:
    facts = facts_of(table(8, FLOWS), found=statements((8, 0))).to_pylist()
    assert len(facts) == sum(len(line) - 1 for line in FLOWS)
    dividends = next(fact for fact in facts if fact["label"] == "Dividends paid")
    assert dividends["path"] == ["Cash flows from financing activities", "Dividends paid"]
    assert (dividends["page"], dividends["table"], dividends["row"], dividends["column"]) == (8, 0, 10, 1)
    assert dividends["fact_id"] == f"{FILING}:8:0:10:1"
    assert (dividends["printed"], dividends["scale"]) == ("(10)", 1e6)
    assert len({fact["fact_id"] for fact in facts}) == len(facts)


def test_totals_without_label_are_read_by_their_sums() -> None:
    lines = [
        ("Revenues",), ("Revenues > Rooms", "70", "60"), ("Revenues > Food", "30", "25"), ("", "100", "85"),
        ("Expenses",), ("Expenses > Rooms", "20", "18"), ("Expenses > Food", "15", "12"), ("", "35", "30"),
    ]  # fmt: skip
    facts = facts_of(table(5, lines), found=statements((5, 0)))
    found = lines_in(facts)
    assert (found["Revenues"], found["CostsAndExpenses"]) == (100e6, 35e6)
    assert "" in facts["label"].to_pylist()


def test_unlabelled_row_that_sums_up_nothing_has_no_concept() -> None:
    lines = [
        ("Revenues",),
        ("Revenues > Rooms", "70", "60"),
        ("Revenues > Food", "30", "25"),
        ("", "90", "70"),
    ]
    assert "Revenues" not in lines_in(facts_of(table(5, lines), found=statements((5, 0))))


def test_unlabelled_totals_of_a_balance_sheet_are_the_two_equal_rows() -> None:
    lines = [("" if label in ("Total assets", "Total liabilities and equity") else label, *numbers)
             for label, *numbers in POSITION]  # fmt: skip
    found = lines_in(facts_of(table(6, lines, instant=True), found=statements((6, 0))))
    assert found["Assets"] == found["LiabilitiesAndStockholdersEquity"] == 910e6


def test_per_cent_columns_carry_no_concept() -> None:
    year = (dt.date(2021, 1, 1), dt.date(2021, 12, 31))
    facts = facts_of(
        table(5, [("Net sales", "1,000", "100.0"), ("Gross profit", "400", "40.0")],
              headers=["2021", "Percent to sales"], periods=[year, year], units=[None, "percent"]),
        found=statements((5, 0)),
    ).to_pylist()  # fmt: skip
    assert [fact["line"] for fact in facts] == ["Revenues", None, "GrossProfit", None]
    assert facts[1]["qualifier"] == "Percent to sales"


def test_components_do_not_stand_for_the_whole() -> None:
    lines = [
        ("Cost of products", "60", "50"),
        ("Cost of services", "40", "30"),
        ("Total costs and expenses", "100", "80"),
    ]
    assert "CostOfRevenue" not in lines_in(facts_of(table(5, lines), found=statements((5, 0))))
    assert lines_in(facts_of(table(5, lines[:1]), found=statements((5, 0))))["CostOfRevenue"] == 60e6


def test_equity_without_other_owners_is_the_stockholders() -> None:
    lines = [("Retained earnings", "430", "330"), ("Total equity", "430", "330")]
    assert (
        lines_in(facts_of(table(6, lines, instant=True), found=statements((6, 0))))["StockholdersEquity"]
        == 430e6
    )


def test_a_second_table_of_other_figures_is_no_primary_statement() -> None:
    other = [("Total assets", "30", "25"), ("Total liabilities", "20", "15")]
    facts = facts_of(
        table(6, POSITION, instant=True),
        table(6, other, ordinal=1, instant=True),
        found=statements((6, 0), (6, 1)),
    )
    assert set(facts.filter(pa.compute.equal(facts["table"], 1))["scope"].to_pylist()) == {"note"}


def test_net_income_of_the_cash_flows_follows_the_income_statement() -> None:
    facts = facts_of(
        table(5, INCOME, per_share=PER_SHARE), table(8, FLOWS), found=statements((5, 0), (8, 0))
    ).to_pylist()
    first = next(
        fact for fact in facts if fact["statement"] == "cash_flows" and fact["label"] == "Net income"
    )
    assert first["line"] == first["concept"] == "ProfitLoss"


@pytest.mark.parametrize(
    ("path", "qualifier"),
    [
        (["Year ended December 31,", "2021"], None),
        (["Three Months Ended", "June 30, 2022 (Unaudited)"], None),
        (["In millions", "2021"], None),
        (["Retained Earnings"], "Retained Earnings"),
        (["2021", "% Change"], "% Change"),
        ([], None),
        (None, None),
    ],
)
def test_headers_that_say_more_than_a_period_qualify(path: list[str] | None, qualifier: str | None) -> None:
    assert qualifier_of(path) == qualifier


def test_a_filing_without_tables_has_no_facts() -> None:
    facts = statement_facts(FILING, page_tables([]), annual_report(), "10-K")
    assert facts.num_rows == 0
    conform(facts, "statement_facts")


def test_a_page_of_only_numbers_and_a_very_wide_table_do_no_harm() -> None:
    wide = [("", *("1" for _ in range(400))) for _ in range(30)]
    headers = ["" for _ in range(400)]
    cells = table(5, wide, headers=headers, periods=[(None, None)] * 400)
    facts = facts_of(cells, found=statements((5, 0)))
    assert facts.num_rows == 30 * 400
    assert facts["concept"].null_count == facts.num_rows


def test_cells_that_could_not_be_read_are_no_facts() -> None:
    facts = facts_of(table(5, [("Net sales", "n/m", "900")]), found=statements((5, 0)))
    assert facts["value"].to_pylist() == [900e6]
