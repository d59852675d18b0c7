"""What a newcomer adds, and where: docs/architecture.md names one place for each kind of thing.

A copy of the package gets a toy of each, in the places that are named and no other; a process of its own then
finds each of them wherever it belongs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from finrag_pipeline_tests.console import REPOSITORY, environment

pytestmark = pytest.mark.slow

PACKAGE = REPOSITORY / "finrag_pipeline"

TABLE = """
[toy_counts]
group = "toys"
job = "index_filing"
by = "filing"
inputs = ["filing_pages"]
code = ["orchestration.assets.toys:TOY_VERSION"]
[toy_counts.columns]
filing = ["string", "Identifier of the filing."]
words = ["int64", "Words of all its pages."]
"""
ASSET = '''
"""Toys."""

import pyarrow as pa

from finrag_pipeline.orchestration.steps import Part, Step, table_asset

TOY_VERSION = "7"


@table_asset()
def toy_counts(part: Part) -> Step:
    """Words of a filing."""
    words = part.read("filing_pages")["word_count"].to_pylist()
    return part.made(lambda: pa.table({"filing": [part.key], "words": [sum(words)]}))
'''
SYSTEM = """        RetrievalSystem("longest", "Longest chunks", Source("toys", "Table 1", "length"), Longest()),
"""
COMPONENT = '''
"""Toys."""

from dataclasses import dataclass

from finrag_pipeline.retrieval.component import Component, Hit


@dataclass(frozen=True)
class Longest(Component):
    """The longest chunks, whatever is asked."""

    def search(self, query, inputs, scope, depth, inner):
        """Chunks by their length."""
        rows = inputs.corpus.chunks.to_pylist()
        kept = [row for row in rows if scope.filings is None or row["filing"] in scope.filings]
        kept.sort(key=lambda row: -len(row["text"]))
        return [Hit(r["chunk_id"], r["filing"], r["page"], len(r["text"]), "long") for r in kept[:depth]]
'''
COMMAND = '''
"""Toys."""

from finrag_pipeline.commands.console import app, out


@app.command()
def toy(word: str) -> None:
    """Say a word twice."""
    out.print(f"{word} {word}")
'''
METRIC = """    Metric(
        "depth", "Depth", "Hundredths of the chunks that are ranked.",
        lambda one, _: len(one.ranking) / 100, "toys", True, lower_is_better=True,
    ),
"""
FORM = """    Form("11-K", ANNUAL, r"11[- ]?ks?"),
"""

LOOK = """
import json, sys
from pathlib import Path

import dagster as dg
import duckdb
import pyarrow as pa

from finrag_pipeline.evaluation.retrieval_metrics import GoldStandard, RankedChunk, score_question
from finrag_pipeline.evaluation.summary import summarise
from finrag_pipeline.filings.identity import read_identity
from finrag_pipeline.filings.intake import accept
from finrag_pipeline.filings.names import declared_from_name
from finrag_pipeline.orchestration.build import build_definitions
from finrag_pipeline.orchestration.instance import open_materialiser
from finrag_pipeline.orchestration.partitions import FILINGS, system_partitions
from finrag_pipeline.reporting.method_page import definitions
from finrag_pipeline.reporting.tables import metrics_markdown
from finrag_pipeline.resolver.resolver import Resolver
from finrag_pipeline.schemas import BENCHMARK_QUESTIONS, PER_FILING, RETRIEVAL_SCORES
from finrag_pipeline.services.search import Searcher, list_systems
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import FILE, build_warehouse
from finrag_pipeline_tests import small_filings

root = Path(sys.argv[1])
settings = Settings(lake=str(root / "lake"), workers=1)
lake = Lake(settings.lake)
spec = {s.key.to_user_string(): s for s in build_definitions(settings).resolve_all_asset_specs()}["toy_counts"]
name = accept(lake, small_filings.annual_report(root / "ALDER_2021_11K.pdf", "Alder Corp", 2021)).filing
with open_materialiser(settings) as materialiser:
    materialiser.add_partitions(FILINGS, [name])
    materialiser.run_or_raise("index_filing", partition=name)
build_warehouse(lake)
warehouse = duckdb.connect(str(lake.local_path(FILE)), read_only=True)
cover = '''UNITED STATES SECURITIES AND EXCHANGE COMMISSION
FORM 11-K
ANNUAL REPORT
For the fiscal year ended December 31, 2022
Commission file number 1-12345
ALDER CORP
(Exact name of registrant as specified in its charter)'''
read = read_identity([cover])
gold = GoldStandard(name, frozenset([0]), frozenset(["a"]))
scored = score_question([RankedChunk("a", name, 0)], gold, {"a": (0.0, 0.0)})
common = {"question_id": "q", "system": "bm25", "space": "corpus", "filing": name}
rows = [{**common, "metric": metric, "k": k, "value": value} for metric, k, value in scored]
scores = pa.Table.from_pylist(rows, RETRIEVAL_SCORES)
asked = {"question_id": "q", "question": "?", "company": "Alder", "filing": name, "status": "measured"}
questions = pa.Table.from_pylist([asked], BENCHMARK_QUESTIONS)
means = summarise(scores, questions, {name: "pdf"}, settings.evaluation)
row = {"filing": name, "status": "ok", "company": "Alder Corp", "form": "11-K", "fiscal_year": 2022}
print(json.dumps({
    "table": {
        "deps": sorted(dep.asset_key.to_user_string() for dep in spec.deps),
        "code": spec.code_version,
        "columns": [column.name for column in spec.metadata["dagster/column_schema"].columns],
        "by itself": spec.automation_condition.get_label(),
        "of every filing": "toy_counts" in PER_FILING,
        "warehouse": warehouse.sql("SELECT filing, words > 9 FROM toy_counts").fetchall(),
        "ledger": lake.ledger_entry("toy_counts", name)["outcome"],
    },
    "retriever": {
        "listed": [row["status"] for row in list_systems(settings) if row["name"] == "longest"],
        "partition": "longest" in system_partitions.get_partition_keys(),
        "found": len(Searcher(settings).search("revenue", "longest", 2).results),
    },
    "metric": {
        "mean": [r["mean"] for r in means.to_pylist() if (r["metric"], r["slice"]) == ("depth", "all")],
        "column": "Depth" in metrics_markdown(means),
        "defined": definitions()["retrieval"]["depth"],
    },
    "form": {
        "by name": declared_from_name("ALDER_2022_11K").form,
        "by cover": [read.form, read.fiscal_year],
        "asked": Resolver([row]).resolve("What does the 11-K of Alder for 2022 say?").form,
    },
}))
"""


def insert(path: Path, before: str, text: str) -> None:
    """Put ``text`` in front of the first line that begins with ``before``."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if line.startswith(before))
    path.write_text("".join([*lines[:place], text, *lines[place:]]), encoding="utf-8")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a copy of the package that has a toy of each kind."""
    root = tmp_path_factory.mktemp("additions")
    copy = root / "finrag_pipeline"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    # A table: its declaration, and the function that makes a part of it.
    insert(copy / "schemas" / "tables.toml", "[ledger]", f"{TABLE}\n")
    (copy / "orchestration" / "assets" / "toys.py").write_text(ASSET.lstrip())
    # A retriever: an entry of the registry, and its component in a module of its own.
    (copy / "retrieval" / "toys.py").write_text(COMPONENT.lstrip())
    insert(copy / "retrieval" / "systems.py", '        RetrievalSystem("bm25"', SYSTEM)
    insert(
        copy / "retrieval" / "systems.py",
        "def chunking_variants",
        "from finrag_pipeline.retrieval.toys import Longest\n\n",
    )
    # A metric: its declaration.
    insert(copy / "evaluation" / "retrieval_metrics.py", ")  # fmt: skip", METRIC)
    # A command: a module.
    (copy / "commands" / "toys.py").write_text(COMMAND.lstrip())
    # A form of filing: an entry.
    insert(copy / "filings" / "forms.py", '    Form("10-Q"', FORM)
    return root


def run(package: Path, *arguments: str) -> str:
    path = os.pathsep.join([str(package), str(REPOSITORY)])
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment(package / "lake", PYTHONPATH=path),
        capture_output=True,
        text=True,
        cwd=package,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def found(package: Path) -> dict[str, Any]:
    """What a process finds of the toys."""
    result: dict[str, Any] = json.loads(run(package, "-c", LOOK, str(package)).splitlines()[-1])
    return result


def test_a_table_is_in_graph_lake_and_warehouse(found: dict[str, Any]) -> None:
    assert found["table"] == {
        "deps": ["filing_pages"],
        "code": "7",
        "columns": ["filing", "words"],
        "by itself": "on_changed_data",
        "of every filing": True,
        "warehouse": [["ALDER_2021_11K", True]],
        "ledger": "materialised",
    }


def test_a_retriever_is_listed_measured_and_searched_with(found: dict[str, Any]) -> None:
    assert found["retriever"] == {"listed": ["runs here"], "partition": True, "found": 2}


def test_a_metric_is_scored_averaged_shown_and_defined(found: dict[str, Any]) -> None:
    said = ["Depth", "Hundredths of the chunks that are ranked. Lower is better.", "toys"]
    assert found["metric"] == {"mean": [0.01], "column": True, "defined": said}


def test_a_command_is_on_the_command_line(package: Path) -> None:
    assert run(package, "-m", "finrag_pipeline.cli", "toy", "hey").strip() == "hey hey"
    assert "Say a word twice." in run(package, "-m", "finrag_pipeline.cli", "--help")


def test_a_form_is_read_from_names_covers_and_questions(found: dict[str, Any]) -> None:
    assert found["form"] == {"by name": "11-K", "by cover": ["11-K", 2022], "asked": "10-K"}
