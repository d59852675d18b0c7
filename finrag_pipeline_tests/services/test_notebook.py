"""A lake in notebooks and scripts: results that show themselves, and the notebook of the documentation."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import finrag_pipeline as finrag
from finrag_pipeline.errors import LakeError, UsageError
from finrag_pipeline.services.notebook import Answered, PageTable, Rows
from finrag_pipeline.settings import get_settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.console import REPOSITORY
from finrag_pipeline_tests.services.test_sql import NEWEST, write_zoltek
from finrag_pipeline_tests.shared_run import sample_lake


def test_importing_the_package_loads_nothing() -> None:
    code = "import sys, finrag_pipeline; print(*({'pyarrow', 'numpy', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )
    assert done.stdout.strip() == ""


def test_facts_and_queries_are_rows_that_show_themselves(lake: Lake) -> None:
    opened = finrag.open(write_zoltek(lake).root)
    facts = opened.facts(NEWEST.lower(), concept="revenues")
    assert [row["value"] for row in facts] == [1000e6, 1200e6, 1500e6] and len(facts) == 3
    assert facts.df()["page_label"].tolist() == ["4"] * 3
    assert "<td>Net sales</td>" in facts._repr_html_() and "3 rows" in repr(facts)
    years = opened.facts("Zoltek", concept="Revenues", yearly=True)
    assert {row["period"]: row["value"] for row in years}["FY2020"] == 1200e6
    assert opened.sql("SELECT '<b>' AS risky").df()["risky"].tolist() == ["<b>"]
    assert "&lt;b&gt;" in opened.sql("SELECT '<b>' AS risky")._repr_html_()
    assert next(iter(opened.filings()))["filing"] == "ZOLTEK_2020_10K"
    with pytest.raises(UsageError, match="A series is of one concept"):
        opened.facts("Zoltek", quarterly=True)
    with pytest.raises(UsageError, match="quarterly, yearly or trailing"):
        opened.facts("Zoltek", concept="Revenues", quarterly=True, yearly=True)
    with pytest.raises(UsageError, match="tell 'PaymentsOfDividends' of no quarter"):
        opened.facts("Zoltek", concept="PaymentsOfDividends", quarterly=True)
    with pytest.raises(UsageError, match="Did you mean Revenues"):
        opened.facts("Zoltek", concept="Revenue", yearly=True)


def test_rows_without_pandas_are_told_what_to_install(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = finrag.open(write_zoltek(lake).root).filings()
    monkeypatch.setattr("finrag_pipeline.services.notebook.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="Neither pandas nor polars"):
        rows.df()
    assert rows.arrow.num_rows == 3


def test_a_lake_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="There is no lake at"):
        finrag.open(tmp_path / "none")


def run_cell(source: str, scope: dict[str, Any]) -> Any:
    """Run a cell as a notebook does; the value of its last line."""
    tree = ast.parse(source)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    exec(compile(tree, "cell", "exec"), scope)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), scope)


@pytest.mark.slow
def test_the_notebook_of_the_documentation_runs(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, _ = sample_lake(tmp_path_factory)
    monkeypatch.setenv("FINRAG_LAKE", str(lake))
    get_settings.cache_clear()
    book = json.loads((REPOSITORY / "docs" / "notebook.ipynb").read_text(encoding="utf-8"))
    scope: dict[str, Any] = {}
    values = [
        run_cell("".join(cell["source"]), scope) for cell in book["cells"] if cell["cell_type"] == "code"
    ]
    get_settings.cache_clear()
    spent, astronauts = (value for value in values if isinstance(value, Answered))
    assert (spent.answer, spent.value, len(spent.inputs)) == ("$171 million", 171.0, 1)
    assert list(spent.pictures) == ["TORVEXLEY_2023_10K, page 10"]
    assert "data:image/png;base64," in spent._repr_html_() and "(171)" in str(spent)
    assert astronauts.abstained and len(astronauts.evidence) and astronauts.df() is not None
    (table,) = (value for value in values if isinstance(value, PageTable))
    assert table.picture and "Net sales" in table.arrow.column(0).to_pylist()
    assert "<th>2023</th>" in table._repr_html_()
    with pytest.raises(UsageError, match="Page 7 of TORVEXLEY_2023_10K has no table 9"):
        scope["lake"].table("torvexley_2023_10k", 7, number=9)
    kinds = [cell["outputs"][0]["data"].keys() for cell in book["cells"] if cell["cell_type"] == "code"]
    shown = [isinstance(value, (Rows, Answered)) or hasattr(value, "_repr_html_") for value in values]
    assert ["text/html" in kind for kind in kinds] == shown, "outputs are those of the cells"
