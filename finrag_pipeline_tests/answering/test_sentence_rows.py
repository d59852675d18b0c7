"""Amounts that sentences tell, as rows."""

from __future__ import annotations

import datetime as dt

import pytest

from finrag_pipeline.answering.sentence_rows import sentence_rows
from finrag_pipeline.statements.filed_facts import FilingInfo

ANNUAL = FilingInfo("ACME_2024_10K", "10-K", 2024, None, dt.date(2025, 2, 1))
QUARTER = FilingInfo("ACME_2025Q2_10Q", "10-Q", 2025, 2, dt.date(2025, 6, 30))


def told(text: str, info: FilingInfo = ANNUAL) -> list[tuple[str, list[tuple[float, str, int | None]]]]:
    return [
        (row.label, [(value.value, str(value.period_end), value.months) for value in row.values])
        for row in sentence_rows([(4, text)], info)
    ]


def test_amounts_of_fiscal_years_in_the_order_of_the_sentence() -> None:
    found = told("Royalty expense was $25 million, $1.5 billion and $9.25 in fiscal 2024, 2023 and 2022.")
    assert found == [
        ("Royalty expense", [(25e6, "2025-02-01", 12), (1.5e9, "2024-02-01", 12), (9.25, "2023-02-01", 12)])
    ]


def test_balances_of_a_day_and_of_the_same_day_of_other_years() -> None:
    found = told("As of December 31, 2024 and 2023, unused gift cards were $5.4 billion and $5.3 billion.")
    assert found == [("unused gift cards", [(5.4e9, "2024-12-31", None), (5.3e9, "2023-12-31", None)])]


@pytest.mark.parametrize(
    "text",
    [
        "Advertising: these costs are charged as incurred, and totaled $9 million in 2024, $8 million in 2023.",
        "Advertising costs were $9 million in fiscal 2024 compared with $8 million in fiscal 2023.",
        "We paid for advertising $9 million and $8 million during the years ended February 1, 2025 and 2024.",
    ],
)
def test_amounts_beside_their_own_years(text: str) -> None:
    ((_, values),) = told(text)
    assert values == [(9e6, "2025-02-01", 12), (8e6, "2024-02-01", 12)]


@pytest.mark.parametrize(
    "text",
    [
        "Unused gift cards of $9 million as of February 1, 2025 rose by $1 million, or 13%, from $8 million as of February 1, 2024.",
        "In fiscal 2024, unused gift cards were $9 million compared with $8 million of them in fiscal 2023.",
        "Unused gift cards: a $9 million gain in fiscal 2024, and an $8 million gain in fiscal 2023.",
    ],
)
def test_amounts_with_words_before_their_own_years(text: str) -> None:
    ((label, values),) = told(text)
    assert label.lower().startswith("unused gift cards")
    assert [(value, end) for value, end, _ in values] == [(9e6, "2025-02-01"), (8e6, "2024-02-01")]


def test_two_quantities_with_years_of_their_own_are_two_rows() -> None:
    found = told(
        "We sold the mill for $300 million in fiscal 2024 and the forge for $20 million in fiscal 2023."
    )
    assert found == [
        ("sold the mill", [(3e8, "2025-02-01", 12)]),
        ("forge", [(2e7, "2024-02-01", 12)]),
    ]


def test_what_is_named_behind_the_amount() -> None:
    (found,) = told(
        "As of February 1, 2025, we had $93.2 billion of orders on hand that are not yet delivered."
    )
    assert found == ("orders on hand that are not yet delivered.", [(93.2e9, "2025-02-01", None)])


def test_percentages_and_shares() -> None:
    found = told("Sales to the government were 42% and 37% of the total in 2024 and 2023, respectively.")
    assert found == [("Sales to the government total", [(0.42, "2025-02-01", 12), (0.37, "2024-02-01", 12)])]
    (row,) = sentence_rows([(0, "Employees bought 377,712 shares under the purchase plan in 2024.")], ANNUAL)
    assert row.values[0].value == 377_712 and row.values[0].unit == "shares"
    assert row.filing == ANNUAL.filing and row.page == 0 and row.table < 0


def test_a_quarter() -> None:
    found = told(
        "Charges for the three months ended June 30, 2025 and 2024 were $51 million and $21 million.", QUARTER
    )
    assert [values for _, values in found] == [[(51e6, "2025-06-30", 3), (21e6, "2024-06-30", 3)]]


def test_quarters_of_years_that_a_sentence_names() -> None:
    found = told(
        "Larger sellers were 42% of sales in the fourth quarter of 2024, up from 39% in its first quarter of 2023."
    )
    assert [values for _, values in found] == [[(0.42, "2025-02-01", 3), (0.39, "2023-05-04", 3)]]
    found = told("Capital spending was $5 million in the first nine months of 2025, as planned.", QUARTER)
    assert [values for _, values in found] == []  # not over yet
    found = told("Capital spending was $5 million in the first quarter of 2025, as planned.", QUARTER)
    assert [values for _, values in found] == [[(5e6, "2025-03-31", 3)]]


def test_whole_dollars_are_in_the_scale_of_the_notes() -> None:
    notes = "Notes to Consolidated Financial Statements\n(Dollars in millions, except per share data)\n\n"
    text = "Depreciation expense of all plants was $1,349 in 2024. The grant was worth $9.50 a share in 2024."
    pages = [(7, notes + text), (8, text)]
    values = [row.values[0].value for row in sentence_rows(pages, ANNUAL)]
    assert values == [1_349e6, 9.5, 1_349e6, 9.5]
    assert sentence_rows([(8, text)], ANNUAL)[0].values[0].value == 1_349


@pytest.mark.parametrize(
    "text",
    [
        "Our sales and our profits have never been as good as they were this year.",
        "We sold $3 million of goods in some years and $4 million of them in others, we think.",
        "Acme expects to pay $3 million for the new plant in fiscal 2027 and nothing after it.",
        "Sales were $3 million and $4 million in fiscal 2024, which is more than we had hoped for.",
        "Receivables 15,880 12,481 3,300 Inventories 4,100 3,900 total $22,000 at December 31, 2024",
        "",
    ],
)
def test_what_is_no_row(text: str) -> None:
    assert told(text) == []


def test_a_filing_without_a_period_tells_nothing() -> None:
    unknown = FilingInfo("A", None, None, None, None)
    assert sentence_rows([(0, "Royalty expense was $25 million in fiscal 2024, as always.")], unknown) == []


def test_numbers_of_things_stand_for_their_own_words() -> None:
    found = told(
        "As of February 1, 2025, we employed approximately 77,300 people, with approximately 26,000 crew in Kenya "
        "and approximately 51,300 crew outside Kenya."
    )
    assert [(label, values[0][0]) for label, values in found] == [
        ("employed people,", 77_300),
        ("crew in Kenya", 26_000),
        ("crew outside Kenya.", 51_300),
    ]


def test_numbers_of_things_are_of_the_day_that_the_sentence_before_names() -> None:
    (_, (crew, values)) = told(
        "We had 32,500 people as of February 1, 2025. Our fleet is run by approximately 12,500 crew at sea. "
    )
    assert (crew, values) == ("fleet is run by crew at sea.", [(12_500, "2025-02-01", None)])


def test_cells_of_a_table_end_what_is_said_before_them() -> None:
    found = told(
        "Tax benefits\n$ 44\n$ 38\nAs of December 31, 2024, there was $396 million of cost not booked."
    )
    assert found == [("cost not booked.", [(396e6, "2024-12-31", None)])]
