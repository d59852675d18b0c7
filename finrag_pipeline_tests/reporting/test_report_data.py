"""What a report reads from a lake: what is there, of the benchmark's filings only, and when it is stale."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from finrag_pipeline.reporting.method_page import models_used
from finrag_pipeline.reporting.report_data import (
    FACT_COLUMNS,
    PROFILE_COLUMNS,
    lake_fingerprints,
    lake_tables,
)
from finrag_pipeline.schemas import ANSWERS, PAGE_PROFILES, PAGE_SCORER, PAGE_TABLES, STATEMENT_FACTS
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import lake_views
from finrag_pipeline_tests.reporting.lake_builders import answer_metrics, balance_sheet, epoch, profile, sweep

OURS = ("OURS",)


def read(lake: Lake) -> dict[str, pa.Table]:
    with lake_views(lake) as query:
        return lake_tables(query, OURS)


def cell(page: int, table: int, kind: str, value: float | None = None, reason: str | None = None) -> dict:
    lists = {"row_path": [], "column_path": []}
    numbers = dict.fromkeys(("row", "column", "row_span", "column_span", "level"), 0)
    flags = {"continues": False, "header": False}
    texts = {"filing": "OURS", "detector": "words", "text": "x", "kind": kind}
    return {
        **lists,
        **numbers,
        **flags,
        **texts,
        "page": page,
        "table": table,
        "value": value,
        "reason": reason,
    }


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    store = Lake(tmp_path / "lake")
    for name in ("OURS", "ANOTHER"):
        part = {"filing": name}
        facts = balance_sheet(name)
        store.write("statement_facts", pa.Table.from_pylist(facts, STATEMENT_FACTS), "a", part)
        store.write("page_profiles", pa.Table.from_pylist([profile(1, name)], PAGE_PROFILES), "a", part)
    cells = [
        cell(3, 0, "number", 1.0),
        cell(3, 1, "number", 2.0),
        cell(3, 1, "text", reason="a date"),
        cell(9, 0, "label"),
    ]
    store.write("page_tables", pa.Table.from_pylist(cells, PAGE_TABLES), "a", {"filing": "OURS"})
    return store


def test_an_empty_lake_gives_nothing(tmp_path: Path) -> None:
    assert not any(table.num_rows for table in read(Lake(tmp_path)).values())
    assert lake_fingerprints(Lake(tmp_path), OURS) == []


def test_only_filings_of_the_benchmark_are_read(lake: Lake) -> None:
    found = read(lake)
    known = {name for name, table in found.items() if table.num_rows}
    assert known == {"statement_facts", "page_profiles", "table_counts"}
    assert found["statement_facts"].column_names == list(FACT_COLUMNS)
    assert found["page_profiles"].column_names == list(PROFILE_COLUMNS)
    assert set(found["statement_facts"]["filing"].to_pylist()) == {"OURS"}
    assert found["page_profiles"].num_rows == 1


def test_tables_are_counted_by_filing_and_detector(lake: Lake) -> None:
    expected = {"filing": "OURS", "detector": "words", "pages": 2, "tables": 3, "numbers": 2, "unread": 1}
    assert read(lake)["table_counts"].to_pylist() == [expected]


def test_folds_become_a_column(lake: Lake) -> None:
    row = {name: value for name, value in epoch("", 1).items() if name != "fold"}
    for fold in ("fold_0", "production"):
        lake.write("page_scorer", pa.Table.from_pylist([row], PAGE_SCORER), "a", {"fold": fold})
    assert read(lake)["page_scorer"]["fold"].to_pylist() == ["fold_0", "production"]


def test_recorded_answers_without_passages_are_told(lake: Lake) -> None:
    rows = [
        {**dict.fromkeys(ANSWERS.names), "system": f"recorded {name}", "space": space}
        | {"question_id": "q", "question": "?", "repeat": 0, "answer": "", "abstained": False}
        | {"retrieved": [], "warnings": []}
        for name, space in (("closed", None), ("oracle", "pages"))
    ]
    part = {"system": "recorded", "fold": "recorded"}
    lake.write("answers", pa.Table.from_pylist(rows, ANSWERS), "a", part)
    assert read(lake)["closed_book"]["system"].to_pylist() == ["recorded closed"]


def test_whatever_is_shown_makes_a_report_stale(lake: Lake) -> None:
    before = lake_fingerprints(lake, OURS)
    lake.write("answer_metrics", answer_metrics(), "b")
    lake.write("hybrid_alpha_sweep", sweep(), "c")
    after = lake_fingerprints(lake, OURS)
    assert len(after) == len(before) + 2
    lake.write("answer_metrics", answer_metrics(), "changed")
    assert len(set(lake_fingerprints(lake, OURS)) - set(after)) == 1


def test_another_filing_makes_no_report_stale(lake: Lake) -> None:
    before = lake_fingerprints(lake, OURS)
    lake.remove("statement_facts", {"filing": "ANOTHER"})
    assert lake_fingerprints(lake, OURS) == before


def test_models_are_listed_even_where_their_files_are_gone(lake: Lake, tmp_path: Path) -> None:
    row = {name: value for name, value in epoch("", 1).items() if name != "fold"}
    lake.write("page_scorer", pa.Table.from_pylist([row], PAGE_SCORER), "abc", {"fold": "fold_0"})
    settings = Settings(
        lake=str(tmp_path),
        encoder={"name": str(tmp_path / "nowhere"), "revision": "v1"},
        language_model={"kind": "endpoint", "name": "a-model", "base_url": "http://localhost:1"},
    )
    assert models_used(lake, settings) == [
        ("Encoder", f"{tmp_path / 'nowhere'} at v1, auto", ""),
        ("Page scorer", "fold 0", "abc"),
        ("Language model", "a-model (endpoint)", ""),
    ]
