from __future__ import annotations

from typing import Any

import pyarrow as pa

from finrag_pipeline.rankers.page_ranker.profiles import page_profiles
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.schemas import PAGE_PROFILES, conform

FILING = {"filing": "ALDER_2021_10K", "form": "10-K", "fiscal_year": 2021}
CELL = ["page", "table", "caption", "kind", "text"]
FACT = ["page", "statement", "scope", "line", "fiscal_year"]


def rows(names: list[str], *values: tuple[Any, ...]) -> pa.Table:
    return pa.table({name: [row[place] for row in values] for place, name in enumerate(names)})


def pages(*texts: str) -> pa.Table:
    return rows(
        ["page", "text", "word_count"], *((n, text, len(text.split())) for n, text in enumerate(texts))
    )


TEXTS = (
    "FORM 10-K\nFor the fiscal year ended December 31, 2021",
    "Item 8. Financial Statements and Supplementary Data\nConsolidated Balance Sheets\n2021 2020\nCash 5 4\n"
    "Inventories 1,200 1,100\nThe sum stands on page 12021.",
    "",
)
TABLES = rows(
    CELL,
    (1, 0, "Consolidated Balance Sheets", "header", "2021"),
    (1, 0, "Consolidated Balance Sheets", "label", "Inventories"),
    (1, 0, "Consolidated Balance Sheets", "number", "1,200"),
    (1, 1, None, "label", "Inventories"),
    (1, 1, None, "number", "7"),
    (1, 1, None, "label", "L" * 500),
)
FACTS = rows(
    FACT,
    (1, "financial_position", "primary", "InventoryNet", 2021),
    (1, "financial_position", "primary", "InventoryNet", 2020),
    (1, "financial_position", "primary", "InventoryNet", 2020),
    (1, "financial_position", "primary", None, 2021),
    (1, "cash_flows", "note", "ProfitLoss", None),
)


def profiles() -> list[dict[str, Any]]:
    return list(page_profiles(FILING, pages(*TEXTS), TABLES, FACTS).to_pylist())


def test_one_row_per_page_in_the_schema_of_the_lake() -> None:
    table = page_profiles(FILING, pages(*TEXTS), TABLES, FACTS)
    assert table.schema.equals(PAGE_PROFILES)
    assert conform(table, "page_profiles").equals(table)
    assert table["page"].to_pylist() == [0, 1, 2]
    assert set(table["filing"].to_pylist()) == {"ALDER_2021_10K"}


def test_what_stands_on_a_page() -> None:
    cover, sheet, _ = profiles()
    assert (cover["sections"], sheet["sections"]) == (["cover"], ["statements"])
    assert "Consolidated Balance Sheets" in sheet["headings"]
    assert (sheet["words"], sheet["numeric_words"]) == (len(TEXTS[1].split()), 8)
    assert sheet["characters"] == len(TEXTS[1])
    assert (sheet["tables"], sheet["cells"]) == (2, 2)
    # 12021 holds no year.
    assert (cover["years"], sheet["years"]) == ([2021], [2020, 2021])


def test_facts_are_counted_by_statement_and_their_concepts_are_told_once() -> None:
    sheet = profiles()[1]
    assert sheet["statements"] == [
        {"statement": "cash_flows", "scope": "note", "facts": 1},
        {"statement": "financial_position", "scope": "primary", "facts": 4},
    ]
    assert sheet["concepts"] == [
        {"concept": "InventoryNet", "fiscal_year": 2020, "scope": "primary"},
        {"concept": "InventoryNet", "fiscal_year": 2021, "scope": "primary"},
        {"concept": "ProfitLoss", "fiscal_year": None, "scope": "note"},
    ]


def test_terms_of_body_and_head_and_labels_as_printed() -> None:
    sheet = profiles()[1]
    assert sheet["body"] == terms(TEXTS[1])
    assert set(terms("Consolidated Balance Sheets")) <= set(sheet["head"])
    # A label that several cells share counts once, a caption too; numbers are no labels.
    assert sheet["labels"] == ["Consolidated Balance Sheets", "2021", "Inventories", "L" * 160], (
        "cut where endless"
    )


def test_an_empty_page_and_a_filing_without_tables_and_facts() -> None:
    empty = profiles()[2]
    assert empty["sections"] == ["statements"], "the section goes on"
    assert (empty["words"], empty["cells"], empty["body"], empty["statements"]) == (0, 0, [], [])
    bare = page_profiles(FILING, pages(*TEXTS), TABLES.slice(0, 0), FACTS.slice(0, 0)).to_pylist()
    assert [row["body"] for row in bare] == [row["body"] for row in profiles()]
    assert not bare[0]["tables"] and not bare[0]["labels"] and bare[0]["years"] == [2021]


SHEET = """Alder Corp
Consolidated Balance Sheets
(in millions)
December 31, 2021 2020
Cash and cash equivalents $ 1,200 1,100
Inventories 900 800
Total current assets 2,100 1,900
Total assets
4,000
3,900
Accounts payable 700 650
Total current liabilities 900 850
Total liabilities 1,500 1,450
Retained earnings 2,000 1,950
Total stockholders’ equity 2,500 2,450
Total liabilities and stockholders’ equity $ 4,000 $ 3,900
See the notes, which tell how inventories are valued and what the company owes to whom and why.
"""


def test_a_filing_without_tables_is_read_by_its_lines() -> None:
    nothing = TABLES.slice(0, 0), FACTS.slice(0, 0)
    _, sheet = page_profiles(FILING, pages("FORM 10-K for 2021", SHEET), *nothing).to_pylist()
    assert sheet["tables"] == 1 and sheet["cells"] > 20
    assert {"Cash and cash equivalents", "Total assets", "Inventories"} <= set(sheet["labels"])
    assert not any(label.startswith("See the notes") or "900" in label for label in sheet["labels"])
    (found,) = sheet["statements"]
    assert (found["statement"], found["scope"]) == ("financial_position", "primary") and found["facts"] > 10
    held = {(one["concept"], one["fiscal_year"]) for one in sheet["concepts"]}
    assert {("InventoryNet", 2021), ("InventoryNet", 2020), ("Assets", 2021)} <= held
    # Where a filing has tables, a page without one may still print rows; statements come from the tables.
    tables = rows(CELL, (0, 0, None, "label", "Cover"))
    cover, other = page_profiles(FILING, pages("FORM 10-K for 2021", SHEET), tables, nothing[1]).to_pylist()
    assert cover["labels"] == ["Cover"] and cover["tables"] == 1
    assert other["labels"] == sheet["labels"] and other["statements"] == other["concepts"] == []


def test_prose_prints_no_rows() -> None:
    text = "\n".join(["We sell paint", "to many customers", "in 12 countries", "and more will follow"] * 5)
    (page,) = page_profiles(FILING, pages(text), TABLES.slice(0, 0), FACTS.slice(0, 0)).to_pylist()
    assert page["tables"] == 0 and page["labels"] == []
