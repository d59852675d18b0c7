from __future__ import annotations

import pyarrow as pa
import pytest

from finrag_pipeline.retrieval.filters import (
    CASH,
    INCOME,
    POSITION,
    STATEMENTS,
    StatementPages,
    needed_statements,
    read_statement_pages,
    statement_locations,
)
from finrag_pipeline.schemas import STATEMENT_FACTS
from finrag_pipeline.storage.lake import Lake


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        # The guide's own examples: a ratio decides before the metrics whose words it holds.
        ("What is the FY2017 operating cash flow ratio?", (POSITION, CASH)),
        ("What was the return on assets in FY2020?", (INCOME, POSITION)),
        ("Compute ROA.", (INCOME, POSITION)),
        ("fixed asset turnover", (INCOME, POSITION)),
        ("What is the quick ratio?", (POSITION,)),
        ("interest coverage ratio", (INCOME,)),
        # Single metrics add up.
        ("How did revenue and capital expenditure change?", (INCOME, CASH)),
        ("year-end FY2018 net PPNE", (POSITION,)),
        ("free cash flow in FY2021", (CASH,)),
        ("SG&A as a share of net sales", (INCOME,)),
        ("using information from the balance sheet", (POSITION,)),
        ("information of the P&L statement", (INCOME,)),
        # Nothing named: all three.
        ("Who is the chief executive officer?", STATEMENTS),
        ("", STATEMENTS),
        # Parts of words are no metrics.
        ("Which broader programme was presented?", STATEMENTS),
    ],
)
def test_statements_that_a_metric_stands_in(question: str, expected: tuple[str, ...]) -> None:
    assert needed_statements(question) == expected
    assert needed_statements(question.upper()) == expected


class TestPages:
    PAGES: StatementPages = {  # noqa: RUF012
        ("a", 5, INCOME): frozenset({2020, 2021}),
        ("a", 5, POSITION): frozenset({2021}),
        ("a", 7, CASH): frozenset(),
        ("b", 3, INCOME): frozenset({2019}),
    }

    def test_of_filings_and_statements(self) -> None:
        assert statement_locations(self.PAGES, None, [INCOME]) == (("a", 5), ("b", 3))
        assert statement_locations(self.PAGES, ["a"], STATEMENTS) == (("a", 5), ("a", 7))
        assert statement_locations(self.PAGES, ["c"], STATEMENTS) == ()

    def test_of_years_where_a_page_shows_one(self) -> None:
        assert statement_locations(self.PAGES, None, [INCOME], [2019]) == (("b", 3),)
        assert statement_locations(self.PAGES, ["a"], [POSITION], [2020]) == (("a", 5),), (
            "2020 stands under income alone"
        )
        assert statement_locations(self.PAGES, None, [INCOME], [1999]) == (("a", 5), ("b", 3))


def test_only_facts_of_primary_statements_count(lake: Lake) -> None:
    common = dict.fromkeys(STATEMENT_FACTS.names) | {
        "fact_id": "x", "filing": "a", "label": "x", "path": [], "value": 1.0, "unit": "currency",
        "printed": "1", "source": "table", "scale": 1.0, "table": 0, "row": 0, "column": 0,
    }  # fmt: skip
    rows = [
        {**common, "page": 5, "statement": INCOME, "scope": "primary", "fiscal_year": 2021},
        {**common, "page": 5, "statement": INCOME, "scope": "primary", "fiscal_year": 2020},
        {**common, "page": 6, "statement": CASH, "scope": "primary"},
        {**common, "page": 9, "statement": INCOME, "scope": "note", "fiscal_year": 2021},
    ]
    lake.write("statement_facts", pa.Table.from_pylist(rows, schema=STATEMENT_FACTS), "f", {"filing": "a"})
    pages = read_statement_pages(lake, ["a", "without facts"])
    assert pages == {("a", 5, INCOME): frozenset({2020, 2021}), ("a", 6, CASH): frozenset()}
    assert not read_statement_pages(lake, ["without facts"])
