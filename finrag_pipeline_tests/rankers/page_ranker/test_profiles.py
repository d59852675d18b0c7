from __future__ import annotations

from typing import Any

import pyarrow as pa

from finrag_pipeline.rankers.page_ranker.profiles import page_profiles
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.schemas import PAGE_PROFILES, conform

FILING = {"filing": "ALDER_2021_10K", "form": "10-K"}
CELL = ["page", "table", "caption", "kind", "text"]
FACT = ["page", "statement", "scope", "concept", "fiscal_year"]


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


def test_terms_of_body_head_and_labels() -> None:
    sheet = profiles()[1]
    assert sheet["body"] == terms(TEXTS[1])
    assert set(terms("Consolidated Balance Sheets")) <= set(sheet["head"])
    # A label that several cells share counts once, a caption too; numbers are no labels.
    assert sheet["labels"][:5] == terms("Consolidated Balance Sheets 2021 Inventories")
    assert sheet["labels"].count("inventori") == 1 and "1,200" not in sheet["labels"]
    assert max(map(len, sheet["labels"])) == 160, "an endless label is cut"


def test_an_empty_page_and_a_filing_without_tables_and_facts() -> None:
    empty = profiles()[2]
    assert empty["sections"] == ["statements"], "the section goes on"
    assert (empty["words"], empty["cells"], empty["body"], empty["statements"]) == (0, 0, [], [])
    bare = page_profiles(FILING, pages(*TEXTS), TABLES.slice(0, 0), FACTS.slice(0, 0)).to_pylist()
    assert [row["body"] for row in bare] == [row["body"] for row in profiles()]
    assert not any(row["tables"] or row["labels"] or row["concepts"] for row in bare)
