"""SQL over a lake: views in the shape in which people ask, and the command that prints or exports them."""

from __future__ import annotations

import csv
import datetime as dt
import shutil
from dataclasses import asdict
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import load_workbook

from finrag_pipeline.errors import UsageError
from finrag_pipeline.filings.originals import FilingSource
from finrag_pipeline.schemas import FILINGS as FILINGS_SCHEMA
from finrag_pipeline.services.sql import list_views, run_sql, sql_views, write_rows
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import FILE, build_warehouse
from finrag_pipeline_tests.answering.made_facts import FILINGS, OLDER, ROWS, annual, quarter, table
from finrag_pipeline_tests.console import called

NEWEST, OLD, QUARTER = "ZOLTEK_2021_10K", "ZOLTEK_2020_10K", "ZOLTEK_2022Q2_10Q"


def write_zoltek(lake: Lake) -> Lake:
    """Write the facts of two annual reports and a quarterly one, which restate one figure."""
    known = {row["filing"]: row for row in FILINGS}
    usual = {"file_name": "a.pdf", "bytes": 1, "sha256": "", "pages": 6, "conflicts": [], "warnings": []}
    for filing, rows in ((NEWEST, annual(NEWEST, ROWS)), (OLD, annual(OLD, OLDER)), (QUARTER, quarter())):
        row = usual | known[filing]
        lake.write("filings", pa.Table.from_pylist([row], FILINGS_SCHEMA), "f", {"filing": filing})
        lake.write("statement_facts", table(rows), "f", {"filing": filing})
        source = FilingSource(filing, "a.pdf", "pdf", 1, "", "original.pdf")
        lake.write_json(lake.path("filings", filing, "source.json"), asdict(source))
    return lake


@pytest.fixture
def zoltek(lake: Lake) -> Lake:
    """A lake with these facts."""
    return write_zoltek(lake)


def test_a_row_per_company_and_period_with_a_column_per_concept(zoltek: Lake) -> None:
    sql = "SELECT period_end, months, fiscal_quarter, Revenues / 1e6 AS r, NetIncomeLoss / 1e6 AS n FROM {} ORDER BY ALL"
    day = dt.date
    income = [tuple(row.values()) for row in run_sql(zoltek, sql.format("income_statement")).to_pylist()]
    assert income == [
        (day(2018, 12, 31), 12, None, 900, 120),
        (day(2019, 12, 31), 12, None, 1000, 135),
        (day(2020, 12, 31), 12, None, 1200, 162),  # 1190 before it was restated
        (day(2021, 12, 31), 12, None, 1500, 225),
        (day(2022, 6, 30), 3, 2, 420, None),
        (day(2022, 6, 30), 6, None, 800, None),
    ]
    balance = run_sql(
        zoltek, "SELECT period_end, Assets / 1e6 AS a, InventoryNet / 1e6 AS i FROM balance_sheet ORDER BY 1"
    )
    assert [(row["a"], row["i"]) for row in balance.to_pylist()] == [
        (None, 140), (1100, 160), (1400, 200), (1450, None),
    ]  # fmt: skip
    (flows,) = run_sql(
        zoltek, "SELECT PaymentsToAcquirePropertyPlantAndEquipment AS capex, filings FROM cash_flow "
        "WHERE fiscal_year = 2021"
    ).to_pylist()  # fmt: skip
    assert flows == {"capex": -110e6, "filings": [NEWEST]}


def test_a_company_year_has_all_statements_and_a_fact_its_page(zoltek: Lake) -> None:
    years = run_sql(
        zoltek,
        "select company, fiscal_year, Revenues, Assets, PaymentsOfDividends from COMPANY_YEAR where fiscal_year >= 2020 order by 2",
    ).to_pylist()
    assert [tuple(row.values())[1:] for row in years] == [
        (2020, 1200e6, 1100e6, -45e6), (2021, 1500e6, 1400e6, -90e6)
    ]  # fmt: skip
    assert {row["company"] for row in years} == {"Zoltek Industries, Inc."}
    (fact,) = run_sql(
        zoltek, "SELECT filing, page_label, value FROM latest_facts WHERE concept = 'Revenues' "
        "AND fiscal_year = 2020 AND months = 12"
    ).to_pylist()  # fmt: skip
    assert fact == {"filing": NEWEST, "page_label": 4, "value": 1200e6}


def test_an_amendment_wins_over_what_it_amends(zoltek: Lake) -> None:
    keys = {"filing": f"{NEWEST}_amended"}
    for name in ("filings", "statement_facts"):
        rows = zoltek.read(name, {"filing": NEWEST}).to_pylist()
        new = keys | ({"form": "10-K/A"} if name == "filings" else {})
        part = pa.Table.from_pylist([row | new for row in rows], zoltek.read(name, {"filing": NEWEST}).schema)
        zoltek.write(name, part, "f", keys)
    query = (
        "SELECT filing FROM latest_facts WHERE concept = 'Revenues' AND fiscal_year = 2021 AND months = 12"
    )
    assert run_sql(zoltek, query).to_pylist() == [keys]
    for filing, day in ((NEWEST, 9), (keys["filing"], 7), (OLD, 5), (QUARTER, 8)):
        (row,) = zoltek.read("filings", {"filing": filing}).to_pylist()
        part = pa.Table.from_pylist([row | {"filed": dt.date(2023, 1, day)}], FILINGS_SCHEMA)
        zoltek.write("filings", part, "f", {"filing": filing})
    assert run_sql(zoltek, query).to_pylist() == [{"filing": NEWEST}], "what was filed last"


def test_the_warehouse_has_the_views_and_finds_the_lake_where_both_were_moved(
    zoltek: Lake, tmp_path: Path
) -> None:
    build_warehouse(zoltek, sql_views)
    moved = Path(shutil.move(zoltek.root, tmp_path / "moved [1]"))
    with duckdb.connect(str(moved / FILE), read_only=True) as notebook:
        query = "SELECT count(*) FROM company_year"
        assert notebook.execute(query).fetchone() == (4,)
        comments = notebook.execute("SELECT view_name, comment FROM duckdb_views() WHERE comment <> ''")
        assert dict(comments.fetchall()) == {name: view.doc for name, view in sql_views(Lake(moved)).items()}
    assert (moved / FILE).read_bytes()[12:13] == b"@", "storage version 64: DuckDB from 1.0 on opens it"


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT no_such FROM filings", "no_such"),
        ("FROM no_such_table", "no_such_table"),
        ("SELECT 1; SELECT 2", "not one query"),
        ("", "not one query"),
        ("COPY (SELECT 1) TO 'x.csv'", "not one query"),
        ("CREATE TABLE filings (a INTEGER)", "not one query"),
    ],
)
def test_what_is_no_query_is_refused(zoltek: Lake, sql: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        run_sql(zoltek, sql)
    assert caught.value.remedy and "\n" not in caught.value.reason


def test_rows_are_written_by_the_ending_of_the_file(zoltek: Lake, tmp_path: Path) -> None:
    rows = run_sql(zoltek, "SELECT filing, '=1+1' AS risky, period_end, conflicts FROM filings ORDER BY 1")
    for ending in ("csv", "parquet", "xlsx"):
        write_rows(rows, tmp_path / f"rows.{ending}")
    assert pq.read_table(tmp_path / "rows.parquet").equals(rows)
    with (tmp_path / "rows.csv").open(newline="") as stream:
        assert next(csv.DictReader(stream))["filing"] == OLD
    cells = list(load_workbook(tmp_path / "rows.xlsx")["rows"].iter_rows(min_row=2))
    assert cells[0][1].value == "=1+1" and cells[0][1].data_type == "s", "no formula"
    assert cells[0][2].value == dt.datetime(2020, 12, 31)
    with pytest.raises(UsageError, match="no known ending"):
        write_rows(rows, tmp_path / "rows.doc")
    with pytest.raises(UsageError, match="cannot be written"):
        write_rows(rows, tmp_path / "nowhere" / "rows.csv")


def test_the_command_prints_lists_and_exports(zoltek: Lake, tmp_path: Path) -> None:
    sql = "SELECT filing, form FROM company_filings ORDER BY 1"
    assert called(zoltek.root, "sql", sql, "--json").json()[0] == {"filing": OLD, "form": "10-K"}
    assert "ZOLTEK_2021_10K" in called(zoltek.root, "sql", sql).out
    done = called(zoltek.root, "sql", sql, "--to", tmp_path / "out.csv")
    assert done.code == 0 and (tmp_path / "out.csv").read_text().startswith("filing,form\n")
    assert {"company_year", "filings"} <= {row["name"] for row in list_views(zoltek)}
    assert "income_statement" in called(zoltek.root, "sql").out
    wrong = called(zoltek.root, "sql", "FROM nowhere", "--json")
    assert wrong.code == 2 and "finrag sql" in wrong.error()["remedy"]
