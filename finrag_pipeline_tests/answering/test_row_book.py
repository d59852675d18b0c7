"""Numbers out of printed rows: which row, which column, which part of the company."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from unittest.mock import patch

import numpy as np
import pytest

from finrag_pipeline.answering import open_answer
from finrag_pipeline.answering.open_answer import PlanReader, _apart, derive
from finrag_pipeline.answering.row_book import OpenBook, RowBook, _has_and_lacks, in_series
from finrag_pipeline.answering.row_matcher import FEATURES, SIGNS, Features, Lessened, Rated, row_matcher
from finrag_pipeline.answering.series import OpenAnswer
from finrag_pipeline.questions.abstention import Abstention
from finrag_pipeline.questions.formula_lexicon import formula_lexicon
from finrag_pipeline.questions.plan import Operation, QuestionPlan, read_plan
from finrag_pipeline.statements.filed_facts import FilingInfo
from finrag_pipeline.statements.filing_rows import FilingRow, RowValue
from finrag_pipeline.statements.periods import FiscalPeriod
from finrag_pipeline.statements.trees import probabilities

ANNUAL = FilingInfo("TORVEX_2023_10K", "10-K", 2023, None, dt.date(2023, 12, 31))
NINE = FilingInfo("TORVEX_2023Q3_10Q", "10-Q", 2023, 3, dt.date(2023, 9, 30))
YEARS = (FiscalPeriod(2021), FiscalPeriod(2022), FiscalPeriod(2023))


def value(
    number: float, year: int | None = 2023, months: int | None = 12, column: Sequence[str] = (), unit: str = "currency"
) -> RowValue:  # fmt: skip
    end = (
        None
        if year is None
        else dt.date(year, 12 if months in (12, None) else months, 31 if months in (12, None) else 30)
    )
    return RowValue(
        tuple(column), end, months, year, None, number, f"{number:,.0f}", unit, "USD", (0.0, 0.0, 1.0, 1.0)
    )


def row(
    place: int, path: Sequence[str], *values: RowValue, caption: str = "", filing: str = ANNUAL.filing
) -> FilingRow:
    columns = tuple(dict.fromkeys(part for v in values for part in v.column))
    return FilingRow(filing, 4, 0, place, caption, tuple(path), columns, None, None, values)


def yearly(*numbers: float) -> list[RowValue]:
    return [value(number, 2024 - len(numbers) + place) for place, number in enumerate(numbers)]


ROWS = [
    row(0, ["Toner sales", "Germany"], *yearly(30e6, 31e6, 36e6)),
    row(1, ["Toner sales", "France"], *yearly(10e6, 14e6, 12e6)),
    row(2, ["Toner sales", "Total"], *yearly(40e6, 45e6, 48e6)),
    row(3, ["Paper sales"], *yearly(80e6, 90e6, 96e6)),
    row(4, ["Warranty claims paid"], value(7e6), value(5e6, 2022)),
    row(5, ["Depots"], value(12, None, None, unit="count")),
    row(
        6, ["Idle plants, segment profit"], value(8e6, column=["Printers"]), value(-3e6, column=["Plotters"])
    ),
]


def book(
    rows: Sequence[FilingRow] = ROWS, names: Sequence[str] = (), together: Sequence[FiscalPeriod] = ()
) -> RowBook:
    by_filing = [(info, in_series([r for r in rows if r.filing == info.filing])) for info in (ANNUAL, NINE)]
    return RowBook(by_filing, row_matcher().rate, names, together)


def number(words: str, period: FiscalPeriod = YEARS[-1], **more: Sequence[str]) -> float | None:
    found = book(**more).find(words, period)
    return None if found is None else found.fact.value


def test_the_number_of_the_row_and_period() -> None:
    assert number("paper sales") == 96e6
    assert number("paper sales", FiscalPeriod(2022)) == 90e6
    assert number("paper sales", FiscalPeriod(2019)) is None


def test_a_total_comes_before_its_parts_unless_one_is_asked_for() -> None:
    assert number("toner sales") == 48e6
    assert number("toner sales in Germany") == 36e6


def test_a_total_column_comes_before_the_others_unless_one_is_asked_for() -> None:
    cells = [value(n, column=[name]) for n, name in ((4e6, "Leased"), (5e6, "Owned"), (9e6, "Total"))]
    vans = [row(0, ["Delivery vans"], *cells)]
    assert number("delivery vans", rows=vans) == 9e6
    assert number("owned delivery vans", rows=vans) == 5e6


def test_a_row_is_of_the_part_that_its_section_is_about_where_that_is_asked_for() -> None:
    heads = [
        replace(row(place, ["Headcount"], *yearly(people)), section=part, table=place, page=place)
        for place, (people, part) in enumerate(((300, "TONER SERVICES"), (500, "PAPER AND BOARD")))
    ]
    for part, people in (("Toner Services", 300), ("Paper and Board", 500)):
        question = f"What was the headcount of {part} in 2023?"
        rows = RowBook([(ANNUAL, in_series(heads))], row_matcher().rate, part.split(), question=question)
        found = rows.find(f"headcount {part}", YEARS[-1])
        assert found is not None and found.fact.value == people


def test_a_part_is_of_what_it_is_a_part_of() -> None:
    rows = [
        row(0, ["Staff in Kenya"], value(40, None, None, unit="count")),
        row(1, ["Depots", "Kenya"], value(5, None, None, unit="count")),
        row(2, ["Depots", "Peru"], value(15, None, None, unit="count")),
        row(3, ["Total depots"], value(20, None, None, unit="count")),
    ]
    (share,) = answered("What percentage of Torvex's total depots was in Kenya in 2023?", rows).values
    assert float(share[1].value) == 0.25


def test_a_share_is_of_numbers_of_one_unit() -> None:
    rows = [
        row(0, ["Kenya"], value(9e6)),
        row(1, ["Crew", "Kenya"], value(40, unit="count")),
        row(2, ["Crew", "Total crew"], value(160, unit="count")),
    ]
    (share,) = answered("What percentage of Torvex's total crew was in Kenya in 2023?", rows).values
    assert float(share[1].value) == 0.25


def test_footnotes_make_no_other_name() -> None:
    rows = [row(0, ["Toner sales (1)"], value(5e6)), row(1, ["Toner sales (1)(3)"], value(4e6, 2022))]
    (change,) = answered("By how much did Torvex's toner sales change from 2022 to 2023?", rows).values
    assert change[1].value == 1_000_000


def test_an_amount_is_not_added_to_itself() -> None:
    with pytest.raises(Abstention):
        told("How much did Torvex pay for toner sales plus toner revenue in 2023?", ROWS[2:3])


def test_a_total_gives_no_number_of_a_part_that_words_name() -> None:
    spent = [
        row(0, ["Supply chain and other"], *yearly(7e6)),
        row(1, ["Store remodels"], *yearly(3e6)),
        row(2, ["Total capital expenditures"], *yearly(10e6)),
    ]
    found = book(spent).find("capital expenditures supply chain", YEARS[-1])
    assert found is None or found.fact.value == 7e6 or found.probability < 0.3


def test_what_is_paid_is_an_amount_and_what_is_netted_keeps_its_sign() -> None:
    paid, netted = (
        replace(row(place, [label], *yearly(-2e9, -1e8)), statement="cash_flows")
        for place, label in enumerate(("Share buy-backs - common", "Inventories, net change"))
    )
    once = replace(row(2, ["Short-term borrowings"], *yearly(5e8, -4e8)), statement="cash_flows")
    rows = [paid, netted, once]
    assert number("share buy-backs common", rows=rows) == 1e8
    assert number("inventories net change", rows=rows) == -1e8
    assert number("short-term borrowings", rows=rows) == -4e8


def test_a_part_may_be_a_heading_of_columns() -> None:
    assert [part.columns for part in in_series([ROWS[6]])] == [("Printers",), ("Plotters",)]
    assert number("segment profit Plotters") == -3e6


def test_a_name_must_be_said_by_the_row() -> None:
    sure = book().find("paper sales", YEARS[-1])
    unsure = book(names=["Inkwell"]).find("Inkwell paper sales", YEARS[-1])
    assert sure is not None and unsure is not None
    assert sure.probability > 0.5 and 0.6 * sure.probability > unsure.probability


def test_what_a_row_includes_is_not_the_row() -> None:
    rows = [row(0, ["Cloud revenue, which includes Inkwell and other services"], *yearly(9e6))]
    sure = book(rows, names=["Cloud"]).find("Cloud revenue", YEARS[-1])
    part = book(rows, names=["Inkwell"]).find("Inkwell revenue", YEARS[-1])
    assert sure is not None and (part is None or part.probability < 0.1 < sure.probability)


def test_what_a_question_includes_is_not_what_it_asks_for() -> None:
    asked = [row(0, ["Equity"], value(90e6)), row(1, ["Lease interests"], value(5e6))]
    by_filing = [(ANNUAL, in_series(asked))]
    chances = {}
    for question in ("equity, including the lease interests", "equity and the lease interests"):
        opened = RowBook(by_filing, row_matcher().rate, question=question)
        chances[question] = opened._rate("equity lease interests", (YEARS[-1],)).chances[1]
    inside, beside = chances.values()
    assert 0 < inside < 0.1 * beside


def test_a_line_of_the_company_is_none_of_a_part_that_is_spoken_of_behind_it() -> None:
    line = replace(row(0, ["Net income"], value(90e6)), statement="income_statement", concept="NetIncomeLoss")
    part = row(1, ["Net income"], value(60e6, column=["Licensed"]))
    alone, beside = (
        RowBook([(ANNUAL, in_series(rows))], row_matcher().rate)
        ._rate("net income licensed", (YEARS[-1],))
        .chances
        for rows in ([line], [line, part])
    )
    assert 0 < beside[0] < 0.5 * alone[0]


def test_what_a_row_leaves_out_is_not_in_it() -> None:
    rows = [
        row(0, ["Toner profit, non-European"], *yearly(5e6)),
        row(1, ["Toner profit, European"], *yearly(8e6)),
        row(2, ["Cash, including pledged"], *yearly(3e6)),
        row(3, ["Cash, excluding pledged"], *yearly(2e6)),
    ]
    for words, wanted in (
        ("European toner profit", 8e6),
        ("non-European toner profit", 5e6),
        ("cash without pledged", 2e6),
    ):
        found = book(rows).find(words, YEARS[-1])
        assert found is not None and found.fact.value == wanted, words


def test_a_difference_between_rows_of_two_tables_is_doubtful() -> None:
    question = "By how much did Torvex's school sales exceed its shop sales in 2023?"
    one = [row(0, ["School sales"], *yearly(9e6)), row(1, ["Shop sales"], *yearly(4e6))]
    two = [one[0], replace(one[1], table=1)]
    assert answered(question, one).confidence > 1.2 * answered(question, two).confidence


def test_a_change_is_that_of_one_row() -> None:
    rows = [row(0, ["Paper sales"], *yearly(96e6)), row(1, ["Paper sales, net"], value(90e6, 2022))]
    assert told("What were Torvex's paper sales in 2023?", rows) == "$96 million"
    with pytest.raises(Abstention, match="differently"):
        answered("How much did Torvex's paper sales rise from 2022 to 2023?", rows)


def test_quarters_and_years_are_never_mixed() -> None:
    assert number("paper sales", FiscalPeriod(2023, 3)) is None
    assert number("paper sales", FiscalPeriod(2023, 3, 9)) is None


def test_an_amount_and_its_change_are_not_compared() -> None:
    rows = [
        replace(row(0, ["Deposits"], value(96e6, 2023, None)), concept="Deposits"),
        replace(row(1, ["Changes in:", "Deposits"], value(5e6, 2022)), concept="Deposits"),
    ]
    with pytest.raises(Abstention, match=r"its change|differently"):
        answered("How much did Torvex's deposits rise from 2022 to 2023?", rows)


def test_a_balance_changes_from_the_beginning_of_its_period() -> None:
    ends = {dt.date(2022, 9, 30): 3e6, dt.date(2022, 12, 31): 5e6, dt.date(2023, 9, 30): 9e6}
    balances = [replace(value(amount, end.year, None), period_end=end) for end, amount in ends.items()]
    rows = [row(0, ["Toner credits"], *balances, filing=NINE.filing)]
    asked = "By how much did Torvex's toner credits grow in the first nine months of 2023"
    assert told(f"{asked}?", rows) == "$4 million"
    assert told(f"{asked} from a year earlier?", rows) == "$6 million"


def test_a_segment_that_is_spoken_of_is_not_the_company() -> None:
    rows = [
        row(0, ["Operating income", "Pet"], *yearly(4e6, 5e6)),
        row(1, ["Operating income", "Total"], *yearly(30e6, 36e6)),
        row(2, ["Products", "Food for a pet"], *yearly(2e6, 3e6)),
    ]
    asked = "The Pet segment at Torvex had a good year. How much was its operating income in 2023?"
    assert told(asked, rows) == told(asked.replace(". How", " - how"), rows) == "$5 million"
    with pytest.raises(Abstention, match="does not say which"):
        answered("Was our segment's operating income at Torvex higher in 2023 than in 2022?", rows)


def test_all_periods_are_taken_from_one_row() -> None:
    other = row(7, ["Paper sales to schools"], value(95e6, 2022), value(1e6, 2021))
    found = [book([*ROWS, other], together=YEARS).find("paper sales", year) for year in YEARS]
    assert [one.fact.value for one in found if one] == [80e6, 90e6, 96e6]


def test_balances_below_each_other_are_a_series() -> None:
    rows = [row(8 + at, [f"Balance, December 31, {year}"], value(amount, year, None))
            for at, (year, amount) in enumerate(((2022, 4e6), (2023, 5e6)))]  # fmt: skip
    (series,) = in_series(rows)
    assert series.label == "Balance" and [one.value for one in series.values] == [4e6, 5e6]


def test_columns_of_years_below_each_other_are_series() -> None:
    rows = [row(8 + at, [str(year)], value(amount, year, column=["Gallons"]), value(1, year, column=["Price"]))
            for at, (year, amount) in enumerate(((2023, 5e6), (2022, 4e6)))]  # fmt: skip
    gallons, price = in_series(rows)
    assert (gallons.label, price.label) == ("Gallons", "Price")
    assert [one.value for one in gallons.values] == [5e6, 4e6]


def test_the_whole_of_a_share_is_the_total_of_its_table() -> None:
    found = book().share("Germany toner sales", "total toner sales", YEARS[-1], True)
    assert found is not None and (found[1].value, found[2].value) == (36e6, 48e6)
    assert book().share("paper sales", "total sales", YEARS[-1], True) is None


def test_one_number_is_not_two_measures() -> None:
    with pytest.raises(Abstention):
        told("What was the ratio of paper sales to sales of paper in 2023?")


def test_a_row_without_a_period_is_of_its_filing() -> None:
    assert number("depots") == 12
    assert number("depots", FiscalPeriod(2023, 4)) is None
    other = book().find("depots", YEARS[0])
    assert other is None or other.probability < 0.2


def test_the_date_in_a_label_is_the_period_of_a_balance() -> None:
    balance = row(
        8,
        ["Goodwill, December 31, 2022"],
        value(9e6, None, None, ["Printers"]),
        value(4e6, None, None, ["Plotters"]),
    )
    found = book([*ROWS, balance]).find("goodwill Plotters", FiscalPeriod(2022))
    assert found is not None and found.fact.value == 4e6 and found.fact.period_end == dt.date(2022, 12, 31)
    assert book([*ROWS, balance]).find("goodwill Plotters", FiscalPeriod(2022, 4)) is not None


# --- plans over rows -------------------------------------------------------------------------------------


def answered(question: str, rows: Sequence[FilingRow] = ROWS) -> OpenAnswer:
    plan = read_plan(question, ("Torvex",))
    assert plan is not None
    filings = [(ANNUAL, []), (NINE, [])]
    opened = OpenBook(filings, formula_lexicon(), lambda: book(rows, plan.names, plan.periods))
    return PlanReader(opened, formula_lexicon(), YEARS[-1]).answer(plan)


LEAST = 0.25
"""Least confidence here, as a few rows tell less apart than those of a filing."""


def told(question: str, rows: Sequence[FilingRow] = ROWS, least: float = LEAST) -> str:
    plan = read_plan(question, ("Torvex",))
    assert plan is not None
    with patch.object(open_answer, "LEAST_CONFIDENCE", least):
        return derive(question, plan, {"Torvex": answered(question, rows)}).answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What were Torvex's paper sales in 2023?", "$96 million"),
        ("How much did Torvex's paper sales rise from 2022 to 2023?", "$6 million"),
        ("By what percent did Torvex's paper sales grow in 2023 versus 2022?", "6.7%"),
        ("Torvex toner sales as a percentage of paper sales, 2023", "50.0%"),
        ("By how much did Torvex's paper sales exceed its toner sales in 2023?", "$48 million"),
        ("What were Torvex's paper sales in 2021, 2022 and 2023?", "FY2021: $80 million; FY2022: $90 million; FY2023: $96 million"),
    ],
)  # fmt: skip
def test_operations(question: str, answer: str) -> None:
    assert told(question) == answer


def test_compound_growth_is_that_of_a_year() -> None:
    rows = [row(0, ["Toner sales"], *yearly(40e6, 44e6, 48.4e6))]
    for question in (
        "At what compound annual rate did Torvex's toner sales grow from 2021 to 2023?",
        "Torvex toner sales, CAGR 2021-2023",
    ):
        assert told(question, rows) == "10.0%"


def test_several_values_are_a_series_with_bars() -> None:
    question = "What were Torvex's paper sales in 2021, 2022 and 2023?"
    plan = read_plan(question, ("Torvex",))
    assert plan is not None
    found = derive(question, plan, {"Torvex": answered(question)})
    assert [(one.label, one.value) for one in found.series] == [
        ("FY2021", 80e6),
        ("FY2022", 90e6),
        ("FY2023", 96e6),
    ]
    lines = [line for line in found.as_text().splitlines() if "█" in line]
    assert [line.count("█") for line in lines] == [25, 28, 30]


def test_yes_or_no_with_its_ground() -> None:
    text = told("Did Torvex's paper sales rise in 2023 compared with 2022?")
    assert text.startswith("Yes. $6 million") and "96,000,000" in text and "90,000,000" in text
    assert told("Were Torvex's toner sales larger than its paper sales in 2023?").startswith("No.")


def test_the_largest_part() -> None:
    text = told("Which Torvex country had the highest toner sales in 2023?")
    assert text.startswith("Germany: $36 million") and "France $12 million" in text


def test_the_mean_of_printed_averages_is_one_number() -> None:
    rows = [row(0, ["Average price per depot"], *yearly(2e6, 4e6, 9e6))]
    plan = QuestionPlan(
        Operation.AVERAGE, ("average price depot",), tuple(YEARS), asked="average price, 2021 to 2023"
    )
    opened = OpenBook([(ANNUAL, [])], formula_lexicon(), lambda: book(rows, (), plan.periods))
    (mean,) = PlanReader(opened, formula_lexicon(), YEARS[-1]).answer(plan).values
    assert float(mean[1].value) == 5e6


def test_what_exceeds_an_amount_in_each_of_several_years_is_told_with_a_yes_or_no() -> None:
    question = "Did Torvex's paper sales exceed $85 million in both 2022 and 2023?"
    assert told(question) == "Yes. FY2022: $90 million; FY2023: $96 million"
    assert told(question.replace("85", "95")).startswith("No. FY2022")


def test_the_whole_of_a_share_may_have_a_name_that_no_row_prints() -> None:
    rows = [
        row(0, ["Kenya"], value(40, None, None, unit="count"), caption="Employees by country"),
        row(1, ["Total employees"], value(160, None, None, unit="count"), caption="Employees by country"),
    ]
    (share,) = answered("What share of Torvex's workforce was in Kenya in 2023, in per cent?", rows).values
    assert float(share[1].value) == 0.25


def test_the_rest_is_not_the_whole() -> None:
    rows = [
        row(0, ["Kenya"], *yearly(2e6)),
        row(1, ["Other countries"], *yearly(7e6)),
        row(2, ["Total"], *yearly(9e6)),
    ]
    rows = [replace(one, caption="Tram sales by country of the world") for one in rows]
    assert number("tram sales rest of the world", rows=rows) == 7e6


def test_a_share_may_be_printed_as_such() -> None:
    shares = [value(0.21, 2023, unit="percent"), value(0.24, 2022, unit="percent")]
    rows = [
        replace(row(0, ["Net sales"], *yearly(80e6, 96e6)), statement="income_statement"),
        row(1, ["Harbor Stores accounted net sales"], *shares),
        row(2, ["Harbor Stores net sales", "Europe"], value(0.4, unit="percent", column=["Ferries"])),
        row(3, ["Net sales to Harbor Stores grew"], value(0.05, unit="percent")),
    ]
    for question, answer in (
        ("What percentage of Torvex's net sales went to Harbor Stores in 2023?", "21.0%"),
        ("Did Harbor Stores make up more than a fifth of Torvex's net sales in 2023?", "Yes. 21.0%"),
    ):
        assert told(question, rows).startswith(answer)
        assert [one.fact.row for one in answered(question, rows).inputs] == [1]


def test_a_choice_by_margin_is_among_profits_over_revenues_of_the_same_parts() -> None:
    numbers = {"Revenue": (40e6, 60e6), "Operating income": (8e6, 6e6), "Discount rate": (0.1, 0.2)}
    rows = [
        row(2 * at + place, [label, part], value(amounts[place]), caption="Results of segments")
        for at, (label, amounts) in enumerate(numbers.items())
        for place, part in enumerate(("Trams", "Ferries"))
    ]
    found = answered("Which segment of Torvex had the highest operating margin in 2023?", rows)
    assert [(name, told.answer) for name, _, told in found.values] == [
        ("Ferries", "10.0%"),
        ("Trams", "20.0%"),
    ]
    assert len(found.inputs) == 4


def test_parts_that_add_up_are_those_meant_and_places_are_regions() -> None:
    parts = [("by use", "Corporate offices", 30e6), ("by use", "Schools", 18e6)]
    parts += [("by place", "Europe", 20e6), ("by place", "Asia", 28e6)]
    rows = [
        row(place, [f"Toner sales {how}", name], *yearly(n)) for place, (how, name, n) in enumerate(parts)
    ]
    for one_of, names in (("channel", {"Corporate offices", "Schools"}), ("region", {"Europe", "Asia"})):
        found = book(rows).families("toner sales", one_of, YEARS[-1:], whole=48e6)
        assert found is not None and found[0] > 0.3
        assert {part.name for part in found[1]} == names


def test_what_no_table_calls_its_parts_is_none_of_them() -> None:
    rows = [
        row(place, ["Toner sales", name], *yearly(24e6)) for place, name in enumerate(("Schools", "Offices"))
    ]
    by_channel, by_trail = (
        book(rows).families("toner sales", one_of, YEARS[-1:], whole=48e6)
        for one_of in ("channel", "hiking trail")
    )
    assert by_channel is not None and by_trail is not None and by_trail[0] < 0.2 < by_channel[0]


def test_a_total_leaves_nothing_out() -> None:
    rows = [
        row(place, ["Toner sales", name], *yearly(number))
        for place, (name, number) in enumerate((("U.S.", 30e6), ("International", 18e6), ("Total", 48e6)))
    ]
    everywhere, abroad = (
        book(rows).find(words, YEARS[-1]) for words in ("toner sales", "toner sales outside the U.S.")
    )
    assert everywhere is not None and everywhere.fact.value == 48e6
    assert abroad is None or abroad.fact.value == 18e6 or abroad.probability < 0.1


def test_amounts_of_which_one_is_deducted_are_compared_as_amounts() -> None:
    rows = [row(0, ["Benefits paid"], *yearly(-9e6)), row(1, ["Employer contributions"], *yearly(4e6))]
    question = "By how much did Torvex's benefits paid exceed its employer contributions in 2023?"
    assert answered(question, rows).values[0][2].answer == "$5 million"
    loss = [row(0, ["Pump segment loss"], *yearly(-9e6)), rows[1]]
    question = (
        "What is the difference between Torvex's pump segment loss and its employer contributions in 2023?"
    )
    assert answered(question, loss).values[0][2].answer == "-$13 million"


def test_a_model_that_no_row_prints_leaves_nothing_sure() -> None:
    plan = read_plan("What were Torvex's paper sales in 2023?", ("Torvex",))
    assert plan is not None
    opened = OpenBook([(ANNUAL, [])], formula_lexicon(), book)
    plain, of_a_model = (
        PlanReader(opened, formula_lexicon(), YEARS[-1]).answer(replace(plan, names=names)).confidence
        for names in ((), ("PX-22",))
    )
    assert of_a_model < 0.2 < 0.8 < plain


def test_a_loss_that_is_asked_for_is_told_by_its_sign() -> None:
    rows = [
        row(0, ["Net loss from discontinued pumps"], *yearly(-9e6)),
        row(1, ["Paper profit (loss)"], *yearly(4e6)),
    ]
    assert told("Did Torvex report a net loss from discontinued pumps in 2023?", rows).startswith("Yes")
    assert told("Did Torvex report a paper loss in 2023?", rows).startswith("No")


def test_a_fourth_quarter_is_the_year_less_nine_months_and_says_so() -> None:
    nine = row(0, ["Paper sales"], value(70e6, 2023, 9), filing=NINE.filing)
    found = answered("What were Torvex's paper sales in the fourth quarter of 2023?", [*ROWS, nine])
    assert found.values[0][2].answer == "$26 million"
    assert any("the year less its first nine months" in step for step in found.steps)


OPENING = (
    row(0, ["Provision for rebates", "Balance at beginning of year"], value(5e6, 2022, None), value(4e6, 2021, None)),
    row(1, ["Provision for rebates", "Balance at end of year"], value(6e6, 2023, None), value(5e6, 2022, None)),
)  # fmt: skip
OTHERS = (
    row(0, ["Toner sales"], *yearly(40e6, 45e6, 48e6)),
    row(1, ["Other sales"], *yearly(1e6, 3e6, 2e6)),
    row(2, ["Total sales"], *yearly(41e6, 48e6, 50e6)),
)
PRINTED = (*OTHERS, row(3, ["Net debt"], *yearly(30e6, 27e6, 20e6)))


@pytest.mark.parametrize(
    ("question", "rows", "answer"),
    [
        ("What was the beginning balance of the provision for rebates in 2023?", OPENING, "$5 million"),
        ("What was the provision for rebates at the end of 2023?", OPENING, "$6 million"),
        ("What were other sales in 2023?", OTHERS, "$2 million"),
        ("What was net debt in 2023?", PRINTED, "$20 million"),
        ("What was the average of paper sales in 2023?", ROWS, "$93 million"),
        ("What was the increase in paper sales in 2023?", ROWS, "$6 million"),
        (
            "What was the ratio of warranty claims paid plus paper sales to toner sales in 2023?",
            ROWS,
            "214.6%",
        ),
    ],
)
def test_what_words_say_of_a_row(question: str, rows: Sequence[FilingRow], answer: str) -> None:
    """The opening of a period, 'other' beside a total, a printed ratio, an average of one year, an increase."""
    assert told(question, rows) == answer


@pytest.mark.parametrize(
    "question",
    [
        "What were Torvex's organic paper sales to astronauts in 2023?",
        "What did Torvex pay its lawyers in 2023?",
        "What were Torvex's paper sales in 2017?",
    ],
)
def test_what_no_row_surely_says_is_not_answered(question: str) -> None:
    with pytest.raises(Abstention):
        told(question, least=open_answer.LEAST_CONFIDENCE)


# --- the matcher -----------------------------------------------------------------------------------------


def test_probabilities_are_of_the_rows_and_repeat() -> None:
    chances = row_matcher().rate("warranty claims", ROWS).chances
    assert chances.shape == (len(ROWS),) and int(np.argmax(chances)) == 4
    assert ((chances >= 0) & (chances <= 1)).all()
    np.testing.assert_array_equal(chances, row_matcher().rate("warranty claims", ROWS).chances)


@pytest.mark.parametrize("words", ["", "the of", "zzz qqq"])
def test_words_that_no_row_has_name_none(words: str) -> None:
    assert row_matcher().rate(words, ROWS).chances.max() < 0.05


def test_a_row_may_be_named_without_a_word_of_it() -> None:
    wages = [row(0, ["Compensation of employees"], value(4e6)), row(1, ["Buildings, net"], value(5e6))]
    staff, buildings = row_matcher().rate("what it pays its staff", wages).chances
    assert staff > 0 and staff > 3 * buildings


def test_no_rows() -> None:
    assert row_matcher().rate("sales", []).chances.shape == (0,)


def test_a_word_that_a_row_does_not_say_counts_against_it() -> None:
    plain = row_matcher().rate("warranty claims", ROWS).chances[4]
    assert row_matcher().rate("organic warranty claims of astronauts", ROWS).chances[4] < 0.8 * plain


def test_trees_are_walked_as_they_were_trained() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    from benchmarks.trees import tree_arrays

    rng = np.random.default_rng(3)
    x = rng.random((600, len(FEATURES))).astype(np.float32)
    y = x[:, 0] + x[:, 5] > 1
    booster = lightgbm.train(
        {"objective": "binary", "num_leaves": 6, "verbose": -1, "num_threads": 1}, lightgbm.Dataset(x, y), 12
    )
    np.testing.assert_allclose(probabilities(tree_arrays(booster), x), booster.predict(x), rtol=1e-4)


def test_what_is_lessened_is_less_likely() -> None:
    plain, less = (
        row_matcher().rate(
            "warranty claims", ROWS, lessened=lambda places, left=left: np.full(len(places), left)
        )
        for left in (1.0, 0.001)
    )
    assert less.chances[4] < plain.chances[4]
    assert less.signs is not None and less.signs[4][SIGNS.index("lessened")] < -6


def test_features_have_names() -> None:
    found = Features(ROWS).of("paper sales", [3, 4])
    assert found.shape == (2, FEATURES.index("filing"))
    assert found[0, FEATURES.index("label")] == pytest.approx(1.0)
    assert found[1, FEATURES.index("any")] == 0.0


def test_a_part_of_equity_that_words_do_not_name_is_not_the_equity() -> None:
    parts = [
        (30e6, "Common stock", ("CommonStockMember",)),
        (80e6, "Retained earnings", ("RetainedEarningsMember",)),
    ]
    values = [replace(value(n, months=None, column=[head]), members=of) for n, head, of in parts]
    equity = replace(row(0, ["Balance, shareholders' equity"], *values), statement="equity")
    rows = [equity, row(1, ["Owners' equity"], value(110e6, months=None))]
    assert number("equity of shareholders", rows=rows) == 110e6
    assert number("retained earnings in shareholders' equity", rows=rows) == 80e6


@pytest.mark.parametrize(("other", "apart"), [(0.3, True), (0.02, False)])
def test_two_names_that_fit_one_number_best_are_told_apart(other: float, apart: bool) -> None:
    chances = {"profit": (0.6, other), "revenue": (0.8, 0.1)}
    rows = [row(0, ["Printers, first"], *yearly(50e6)), row(1, ["Printers, second"], *yearly(10e6))]
    printed = RowBook([(ANNUAL, rows)], lambda words, *_: Rated(np.array(chances[words])))
    opened = OpenBook([(ANNUAL, [])], formula_lexicon(), lambda: printed)
    assert opened.tell_apart("profit", "revenue", YEARS[-1]) is True
    found = [opened.find_label(words, YEARS[-1]) for words in ("profit", "revenue")]
    values = [one.fact.value for one in found if one]
    assert values == ([10e6, 50e6] if apart else [50e6, 10e6])
    assert not opened.tell_apart("profit", "revenue", YEARS[-1]), "once"


@pytest.mark.parametrize(
    "question",
    [
        "What were Torvex's paper sales in 2023, in percent?",
        "What were Torvex's paper sales in 2023, in days?",
    ],
)
def test_money_is_no_percentage_and_no_number_of_days(question: str) -> None:
    with pytest.raises(Abstention, match="asks for"):
        told(question)


def test_only_rows_that_show_a_period_are_looked_at() -> None:
    seen: list[list[str]] = []

    def match(words: str, rows: Sequence[FilingRow], *_: object) -> Rated:
        seen.append([one.label for one in rows])
        return Rated(np.full(len(rows), 0.5))

    rows = [row(0, ["Old toner"], *yearly(1e6, 2e6)[:1]), row(1, ["New toner"], *yearly(3e6))]
    of = RowBook([(ANNUAL, rows)], match, together=YEARS[1:])
    assert of.find("toner", YEARS[2]) is not None and seen == [["Old toner", "New toner"]]
    of.find("toner", YEARS[1])
    assert len(seen) == 1, "the periods of a question are looked up together"
    assert of.find("toner", FiscalPeriod(2015)) is None and len(seen) == 1
    alone = RowBook([(ANNUAL, rows)], match)
    assert alone.find("toner", YEARS[2]) is not None and seen[1:] == [["New toner"]]


def test_a_name_of_two_words_that_no_row_prints_leaves_nothing_sure() -> None:
    assert answered("What were the paper sales in 2023?").confidence > 0.35
    with pytest.raises(Abstention):
        told("What were the paper sales on the Silver Falcon contract in 2023?")
    assert book().says("toner SALES") and not book().says("toner sale")


def test_names_that_a_row_must_say_stand_in_its_labels_or_at_the_head_of_its_caption() -> None:
    prose = "Makes printers of all kinds for offices and homes in many countries of the world, among them the TX-90."
    inks = [row(0, ["Net sales"], *yearly(1e6, 2e6), caption=prose)]
    said = book(inks, names=("TX-90",)).find("TX-90 net sales", YEARS[-1])
    labelled = [row(0, ["TX-90 net sales"], *yearly(1e6, 2e6))]
    plainly = book(labelled, names=("TX-90",)).find("TX-90 net sales", YEARS[-1])
    assert said is not None and plainly is not None
    assert said.probability < 0.1 < plainly.probability


def test_a_rare_name_in_a_question_in_small_letters_must_be_said_too() -> None:
    rows = [
        row(0, ["Quillfeather"], value(3, unit="count")),
        row(1, ["Toner plants", "Paper sales"], *yearly(1e6)),
    ]

    def chance(question: str) -> float:
        def likely(_: str, listed: Sequence[FilingRow], __: str, lessened: Lessened) -> Rated:
            named = np.array([0.8 * (one.label == "Paper sales") for one in listed])
            return Rated(named * lessened(range(len(listed))))

        found = RowBook([(ANNUAL, in_series(rows))], likely, question=question).find(
            "quillfeather paper sales", YEARS[-1]
        )
        return found.probability if found else 0.0

    asked = ("quillfeather paper sales 2023", "What were quillfeather paper sales in 2023?")
    small, capital = map(chance, asked)
    assert small < capital / 2


def test_words_that_are_a_name_together_must_be_said() -> None:
    rows = [
        *ROWS,
        row(0, ["Coastal Investments", "Paper sales"], *yearly(7e6)),
        row(1, ["Towns in coastal areas"], *yearly(3e6)),
    ]
    rows.append(row(2, ["Short-term investments"], *yearly(5e6)))
    plan = read_plan("What were Torvex's paper sales in 2023?", ("Torvex",))
    assert plan is not None
    plan = replace(plan, names=("Coastal", "Investments"), asked="paper sales in Coastal Investments")
    opened = OpenBook([(ANNUAL, [])], formula_lexicon(), lambda: book(rows))
    assert PlanReader(opened, formula_lexicon(), YEARS[-1]).answer(plan).values[0][1].value == 7_000_000


def test_an_allowance_that_is_taken_off_grows_in_amount() -> None:
    rows = [row(0, ["Less: valuation allowance"], *yearly(-4e6, -9e6))]
    answer = told("Was Torvex's valuation allowance bigger in 2023 than in 2022?", rows)
    assert answer.startswith("Yes. $5 million")


def test_amounts_that_are_taken_off_compare_by_how_much_is() -> None:
    rows = [row(0, ["Less: capitalized interest"], *yearly(-9e6, -4e6, -2e6))]
    question = "In which year was Torvex's capitalized interest the highest, 2021, 2022 or 2023?"
    assert told(question, rows).startswith("FY2021")
    losses = [row(0, ["Pump profit (loss)"], *yearly(-9e6, -4e6, -2e6))]
    question = "In which year was Torvex's pump profit the highest, 2021, 2022 or 2023?"
    assert told(question, losses).startswith("FY2023")


def test_a_sum_that_one_row_prints_is_that_row() -> None:
    rows = [
        row(0, ["Accounts payable and accrued liabilities"], *yearly(5e6, 3e6)),
        row(1, ["Accounts payable and accrued liabilities", "Accrued liabilities"], *yearly(2e6, 1e6)),
    ]
    assert told("What were Torvex's accounts payable and accrued liabilities in 2023?", rows) == "$3 million"


def test_a_part_is_not_surely_compared_with_what_it_is_a_part_of() -> None:
    rows = [
        row(0, ["Toner sales"], *yearly(30e6, 36e6)),
        row(1, ["Toner sales", "Germany"], *yearly(20e6, 21e6)),
        row(2, ["Paper sales"], *yearly(5e6, 6e6)),
    ]
    beside = answered("By how much did toner sales exceed paper sales in 2023?", rows)
    below = answered("By how much did toner sales exceed Germany toner sales in 2023?", rows)
    assert below.confidence < 0.5 < beside.confidence


def test_an_average_over_years_is_of_lines_of_one_name() -> None:
    rows = [
        row(0, ["Change in toner stocks"], *yearly(2e6, 4e6)),
        row(1, ["Toner stocks at cost"], *yearly(70e6, 80e6, 90e6)),
    ]
    assert told("What was Torvex's average change in toner stocks?", rows) == "$3 million"


def test_two_numbers_that_are_set_against_each_other_stand_together() -> None:
    rows = [
        replace(row(0, ["Tram fares"], value(9e6)), page=7),
        replace(row(0, ["Tram fares"], value(4e6), value(5e6, column=["Night"])), page=9),
        replace(row(1, ["Ferry fares"], value(2e6)), page=9),
        replace(row(2, ["Ferry fares", "Dogs"], value(1e6, column=["Night"])), page=9),
    ]
    found = book(rows).pair("tram fares", "ferry fares", YEARS[-1], (None, None))
    assert found is not None
    assert [(one.page, one.path, one.columns) for one in found] == [
        (9, ("Tram fares",), ()),
        (9, ("Ferry fares",), ()),
    ]
    beside = book(rows).find("tram fares", YEARS[-1], pair=found)
    assert beside is not None and beside.fact.page == 9


def test_words_that_no_measure_has_are_looked_up_with_it_where_rows_are_likelier_so() -> None:
    rows = [
        row(0, ["Harbour depot", "Fuel"], *yearly(7e6)),
        row(1, ["Harbour depot", "Crane hire"], *yearly(3e6)),
    ]
    plan = read_plan("How much crane hire did Torvex have at its harbour depot in 2023?", ("Torvex",))
    assert plan is not None
    plan = replace(plan, measures=("harbour depot",), spoken=(), unread=("crane hire", "quick"))
    read = OpenBook([], formula_lexicon(), lambda: book(rows))
    found = PlanReader(read, formula_lexicon(), YEARS[-1]).answer(plan)
    assert found.inputs[0].fact.value == 3e6


def test_what_the_topic_of_a_question_says_is_asked_for() -> None:
    rows = [row(0, ["Paper sales"], *yearly(96e6))]
    assert told("Torvex 2023: paper sales?", rows) == "$96 million"
    with pytest.raises(Abstention, match="surely"):
        told("Confetti, Torvex 2023: paper sales?", rows, open_answer.LEAST_CONFIDENCE)


def test_an_amount_that_is_taken_off_is_compared_by_how_much_it_is() -> None:
    rows = [row(0, ["Capitalized tram costs"], value(-3e9))]
    question = "Did Torvex have more than $2 billion of capitalized tram costs in 2023?"
    assert told(question, rows).startswith("Yes.")


def test_a_part_is_no_share_of_another_part() -> None:
    rows = [
        row(0, ["Trams", "Fares"], *yearly(3e6)),
        row(1, ["Ferries", "Fares"], *yearly(5e6)),
        replace(row(2, ["Fares"], *yearly(8e6)), page=9, statement="income_statement"),
    ]
    found = book(rows).pair("tram fares", "fares", YEARS[-1], (None, None), share=True)
    assert found is not None and found[1].page == 9


def test_what_is_taken_off_is_no_part_of_a_total() -> None:
    rows = [
        row(0, ["Tram cars, gross"], *yearly(9e6)),
        row(1, ["Less: accumulated wear"], *yearly(4e6)),
        row(2, ["Total tram cars, net"], *yearly(5e6)),
    ]
    assert book(rows).share("accumulated wear", "tram cars", YEARS[-1], True) is None


def test_of_rows_that_are_called_alike_the_whole_company_is_meant() -> None:
    rows = [
        row(0, ["Tram sales", "Kenya"], *yearly(2e6), caption="Tram sales by country"),
        replace(row(0, ["Kenya"], *yearly(9e6), caption="Sales by country"), page=7),
    ]
    question = "What were sales in Kenya in 2023?"
    found = RowBook([(ANNUAL, rows)], lambda *_: Rated(np.array([0.6, 0.4])), question=question)
    whole = found.find("sales Kenya", YEARS[-1])
    of_trams = RowBook(
        [(ANNUAL, rows)], lambda *_: Rated(np.array([0.6, 0.4])), question="Tram sales in Kenya, 2023?"
    ).find("tram sales Kenya", YEARS[-1])
    assert whole is not None and of_trams is not None
    assert (whole.fact.value, of_trams.fact.value) == (9e6, 2e6)


def test_a_row_of_another_line_than_words_name_is_unlikely() -> None:
    rows = [row(0, ["Trams", "Income before income taxes"], *yearly(2e6)), row(1, ["Claims"], *yearly(1e6))]
    of = RowBook([(ANNUAL, rows)], lambda words, rows, *_: Rated(np.full(len(rows), 0.8)))
    sales, profit = (of.find(words, YEARS[-1]) for words in ("net sales trams", "pretax income trams"))
    assert sales is not None and profit is not None
    assert (sales.fact.value, profit.fact.value) == (1e6, 2e6)


def test_a_line_is_no_part_of_itself_that_other_rows_speak_of() -> None:
    rows = [
        row(0, ["Accrued liabilities"], *yearly(9e6)),
        row(1, ["Insurance of tram cars"], *yearly(1e6)),
    ]

    def match(_: str, listed: Sequence[FilingRow], __: str, lessened: Lessened) -> Rated:
        return Rated(np.array([0.9, 0.3]) * lessened(range(len(listed))))

    of = RowBook([(ANNUAL, rows)], match)
    found = of.find("accrued liabilities insurance", YEARS[-1])
    assert found is not None and found.fact.value == 1e6


def test_what_is_due_in_a_coming_year_is_of_that_year() -> None:
    rows = [
        row(0, ["2024"], value(3e6, 2023, None, ["Lease debt"])),
        row(1, ["2025"], value(2e6, 2023, None, ["Lease debt"])),
        row(2, ["Thereafter"], value(7e6, 2023, None, ["Lease debt"])),
    ]
    for year, amount in ((2024, 3e6), (2025, 2e6)):
        asked = f"How much lease debt was due in {year}?"
        due, plain = (
            RowBook([(ANNUAL, in_series(rows))], row_matcher().rate, question=question)
            for question in (asked, f"What was the lease debt in {year}?")
        )
        found = due.find("lease debt", FiscalPeriod(year))
        assert found is not None and found.fact.value == amount
        assert plain.find("lease debt", FiscalPeriod(year)) is None, "a schedule shows no balance"


def test_what_is_never_negative_is_neither_a_gain_nor_a_loss() -> None:
    rows = [row(0, ["Fair value of tram bonds"], *yearly(9e6)), row(1, ["Tram profit"], *yearly(2e6))]
    with pytest.raises(Abstention):
        told("Was the fair value of Torvex's tram bonds below their cost in 2023?", rows)
    assert told("Did Torvex make a tram profit in 2023?", rows).startswith("Yes")


def test_a_larger_loss_rises() -> None:
    rows = [row(0, ["Cash used by trams"], value(-3e6), value(-7e6, 2022))]
    for word, answer in (("less", "Yes"), ("more", "No")):
        question = f"Did Torvex use {word} cash by trams in 2023 than in 2022?"
        assert told(question, rows).startswith(answer), question


def test_a_share_that_is_asked_for_is_no_amount() -> None:
    with pytest.raises(Abstention):
        told("What percentage of Torvex's paper sales in 2023?")


def test_the_heavier_of_two_losses_is_the_larger_amount() -> None:
    rows = [row(0, ["Tram operating loss"], *yearly(-8e6)), row(1, ["Ferry operating loss"], *yearly(-5e6))]
    question = "Which had the heavier operating loss at Torvex in 2023: Tram or Ferry?"
    assert told(question, rows).startswith("Tram operating loss")


def test_an_allowance_is_a_share_by_its_size() -> None:
    rows = [row(0, ["Tram loan loss allowance"], *yearly(-2e6)), row(1, ["Tram loans"], *yearly(40e6))]
    question = "What was Torvex's tram loan loss allowance as a percentage of tram loans in 2023?"
    assert told(question, rows) == "5.0%"


def test_a_table_that_names_its_part_in_the_caption_alone_is_of_that_part() -> None:
    rows = [
        replace(row(0, ["Operating income"], *yearly(90e6)), statement="income_statement"),
        replace(row(0, ["Operating income"], *yearly(5e6), caption="Kenya Ferries segment"), page=9),
    ]
    of = RowBook(
        [(ANNUAL, rows)],
        lambda *_: Rated(np.array([0.1, 0.6])),
        ["Kenya"],
        question="What was the operating income of Kenya Ferries in 2023?",
    )
    found = of.find("operating income Kenya Ferries", YEARS[-1])
    assert found is not None and found.fact.value == 5e6


def test_a_country_has_two_names() -> None:
    rows = [row(0, ["Sales in the U.S."], *yearly(3e6)), row(1, ["Sales elsewhere"], *yearly(9e6))]
    assert number("sales United States", rows=rows, names=["United", "States"]) == 3e6


def test_without_is_told_by_ex_too() -> None:
    rows = [row(0, ["Toner sales in Kenya"], *yearly(3e6)), row(1, ["Toner sales abroad"], *yearly(9e6))]
    assert number("toner sales ex-Kenya", rows=rows) == 9e6


def test_several_periods_are_of_one_row_where_one_shows_them_all() -> None:
    rows = [
        row(0, ["Trams in use at year end"], *yearly(7e6)),
        row(1, ["Trams in use, five years"], *yearly(5e6, 6e6, 7.1e6)),
    ]
    both = YEARS[0], YEARS[-1]
    of = RowBook([(ANNUAL, rows)], lambda *_: Rated(np.array([0.6, 0.5])), together=both)
    assert [one.fact.value for one in map(partial(of.find, "trams in use"), both) if one] == [5e6, 7.1e6]


def test_a_table_comes_before_a_sentence_that_rounds_it() -> None:
    told = replace(row(0, ["Backlog was"], value(135.4e9)), table=-1)
    told = replace(told, values=(replace(told.values[0], printed="$135.4 billion"),))
    rows = [told, replace(row(1, ["Backlog"], value(135355e6)), page=9)]
    of = RowBook([(ANNUAL, rows)], lambda *_: Rated(np.array([0.7, 0.5])))
    found = of.find("backlog", YEARS[-1])
    assert found is not None and found.fact.value == 135355e6


def test_worldwide_is_read_where_ww_is_printed() -> None:
    assert in_series([row(0, ["Inkwell", "WW"], value(3e6))])[0].path == ("Inkwell", "Worldwide")


def test_a_share_is_of_the_part_that_is_named() -> None:
    rows = [
        row(0, ["Toner", "Inkwell"], *yearly(6e6)),
        row(1, ["Paper", "Foolscap"], *yearly(9e6)),
        row(2, ["Total net sales"], *yearly(40e6)),
        replace(row(3, ["Net sales", "Toner"], *yearly(12e6)), page=9),
    ]
    question = "What share of Torvex's Toner net sales in 2023 was Inkwell?"
    assert told(question, rows, 0.1) == "50.0%"


def test_a_half_is_not_added_to_its_quarters() -> None:
    half, quarter = FiscalPeriod(2023, 2, 6), FiscalPeriod(2023, 2)
    assert _apart((half, quarter, FiscalPeriod(2023, 4))) == [half, FiscalPeriod(2023, 4)]


def test_a_smaller_loss_is_smaller() -> None:
    rows = [row(0, ["Ferry venture"], *yearly(-7e6, -2e6))]
    question = "Was Torvex's share of the Ferry venture loss smaller in 2023 than in 2022?"
    assert told(question, rows).startswith("Yes")


def test_each_of_several_years_is_judged() -> None:
    rows = [row(0, ["Free cash flow"], *yearly(-7e6, -2e6, -1e6))]
    question = "Has Torvex burned cash every single year from 2021 to 2023, going by its free cash flow?"
    assert told(question, rows).startswith("Yes")


def test_a_change_from_nothing_and_a_peak_are_doubtful() -> None:
    rows = [row(0, ["Toner debt"], *yearly(0.0, 7e6)), row(1, ["Paper debt"], *yearly(6e6, 7e6))]
    asked = ("How much did Torvex's {} debt rise from 2022 to 2023?", "What was Torvex's {} debt in 2023?")
    nothing, some = (answered(asked[0].format(of), rows).confidence for of in ("toner", "paper"))
    assert nothing < 0.5 * some
    peak = answered("What was Torvex's highest paper debt at any point in 2023?", rows).confidence
    assert peak < 0.5 * answered(asked[1].format("paper"), rows).confidence


@pytest.mark.parametrize(
    "said", ["leaving the trolleys aside", "stripping out trolleys", "excluding trolleys"]
)
def test_what_is_left_aside_is_left_out(said: str) -> None:
    assert "trollei" in _has_and_lacks(f"tram sales, {said}")[1] or "trolley" in _has_and_lacks(said)[1]
