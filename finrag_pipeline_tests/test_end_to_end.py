"""``finrag run`` over the generated sample, and every way to read its results back, as other programs do it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pytest

from finrag_pipeline.evaluation.summary import SLICES
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import SYSTEMS
from finrag_pipeline.sample.generate import entries
from finrag_pipeline.schemas.catalogue import FOLDERS
from finrag_pipeline.services.ask import Asker
from finrag_pipeline.services.sql import sql_views
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.console import Done, called, environment
from finrag_pipeline_tests.shared_run import sample_copy, sample_lake

pytestmark = pytest.mark.slow

RUNNABLE = (
    "bm25",
    "dense",
    "hybrid_rrf",
    "hybrid_alpha",
    "parent_child",
    "query_expansion",
    "filtered_dense",
    "filtered_sentences",
    "statement_aware",
    "finrag",
)
"""Systems that need no weights, passages or training which a fresh lake does not hold."""
SAMPLE = sorted(entry.name for entry in entries())
METRIC_KEYS = ["system", "space", "slice", "slice_value", "metric", "k", "mean", "low", "high", "n"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return sample_lake(tmp_path_factory)[1]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, run: Done) -> Path:
    assert run.code == 0, run.err
    return sample_lake(tmp_path_factory)[0]


@pytest.fixture(scope="module")
def metrics(root: Path) -> list[dict[str, Any]]:
    done = called(root, "metrics", "--json")
    assert done.code == 0, done.err
    return list(done.json())


@pytest.fixture(scope="module")
def warehouse(root: Path) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(str(root / "warehouse.duckdb"), read_only=True)


def test_the_run_says_what_it_did(run: Done, root: Path) -> None:
    report = run.json()
    assert list(report) == [
        "source",
        "filings",
        "indexed",
        "fresh",
        "failures",
        "warnings",
        "not_run",
        "report",
        "seconds",
    ]
    assert report["source"] == "sample" and report["filings"] == len(SAMPLE)
    assert report["indexed"] == SAMPLE and report["fresh"] == [] and report["failures"] == []
    assert report["report"] == str(root / "report" / "index.html")
    assert report["seconds"] > 0
    assert set(report["not_run"]) == set(SYSTEMS) - set(RUNNABLE)
    assert "was trained without the questions of fold" in report["not_run"]["page_scorer"]
    assert run.code == 0, "nobody asked for these"


def test_metrics_hold_every_system_space_slice_and_metric(metrics: list[dict[str, Any]]) -> None:
    assert all(list(row) == METRIC_KEYS for row in metrics)
    series: dict[tuple[str, str], set[tuple[str, str, str, int]]] = defaultdict(set)
    for row in metrics:
        key = row["system"], row["space"], row["metric"], row["k"]
        assert key not in series[row["slice"], row["slice_value"]], f"{key} stands there twice"
        series[row["slice"], row["slice_value"]].add(key)
    cuts = {(row["metric"], row["k"]) for row in metrics}
    assert {m for m, _ in cuts} >= {"doc_rec", "page_rec", "max_bleu", "max_rouge_l", "ndcg", "mrr", "hit"}
    assert {("doc_rec", 5), ("page_rec", 5), ("ndcg", 10), ("mrr", 0)} <= cuts
    everything = {(s, space.value, m, k) for s, space, (m, k) in product(RUNNABLE, Space, cuts)}
    for where, found in series.items():
        assert found == everything, where
    assert {name for name, _ in series} == set(SLICES)
    assert {value for name, value in series if name == "doc_type"} == {"10-K", "10-Q", "8-K", "EARNINGS"}
    assert {value for name, value in series if name == "source"} == {"pdf", "page_text"}


def test_metrics_are_means_with_their_intervals(metrics: list[dict[str, Any]]) -> None:
    for row in metrics:
        assert 0.0 <= row["mean"] <= 1.0 and row["n"] >= 1
        assert (row["low"] is None) == (row["high"] is None)
        if row["low"] is not None:
            assert (
                0.0 <= row["low"] <= row["mean"] + 1e-12 and row["mean"] <= row["high"] + 1e-12 <= 1.0 + 1e-9
            )
    sizes = defaultdict(set)
    for row in metrics:
        sizes[row["slice"], row["slice_value"]].add(row["n"])
    assert all(len(n) == 1 for n in sizes.values()), "every series of a slice is over the same questions"
    (all_questions,) = sizes["all", "all"]
    for name in ("question_type", "doc_type", "company", "source"):
        assert sum(min(n) for (s, _), n in sizes.items() if s == name) == all_questions


def test_an_oracle_finds_at_least_what_its_parent_finds(metrics: list[dict[str, Any]]) -> None:
    mean = {
        (row["system"], row["space"], row["metric"], row["k"]): row["mean"]
        for row in metrics
        if row["slice"] == "all"
    }
    for system in ("bm25", "dense"):  # a fusion re-ranks, so that nothing is certain of it
        for k in (1, 5, 20):
            values = [mean[system, space, "page_rec", k] for space in ("corpus", "filing", "pages")]
            assert values == sorted(values)
        assert mean[system, "filing", "doc_rec", 1] == mean[system, "pages", "doc_rec", 1] == 1.0
    assert mean["hybrid_rrf", "corpus", "page_rec", 5] > 0.3, "the sample can be answered"


def test_every_mean_is_a_view_on_rows_about_one_question(
    warehouse: duckdb.DuckDBPyConnection, metrics: list[dict[str, Any]]
) -> None:
    rows = warehouse.execute(
        "SELECT s.system, s.space, q.doc_type, s.metric, s.k, avg(s.value), count(*) "
        "FROM retrieval_scores s JOIN benchmark_questions q USING (question_id) "
        "WHERE q.status = 'measured' GROUP BY ALL"
    ).fetchall()
    means = {tuple(row[:5]): (row[5], row[6]) for row in rows}
    compared = [row for row in metrics if row["slice"] == "doc_type"]
    assert compared
    for row in compared:
        mean, n = means[row["system"], row["space"], row["slice_value"], row["metric"], row["k"]]
        assert mean == pytest.approx(row["mean"], abs=1e-12) and n == row["n"]


def test_the_warehouse_holds_every_table(warehouse: duckdb.DuckDBPyConnection, root: Path) -> None:
    names = {
        name for (name,) in warehouse.execute("SELECT table_name FROM information_schema.tables").fetchall()
    }
    assert names == {*FOLDERS, "ledger", *sql_views(Lake(root))}

    def value(sql: str) -> Any:
        (row,) = warehouse.execute(sql).fetchall()
        return row[0]

    assert value("SELECT count(*) FROM filings WHERE status = 'ok'") == len(SAMPLE)
    assert value("SELECT count(*) FROM filing_pages") == value("SELECT sum(pages) FROM filings")
    assert value("SELECT max(tokens) FROM filing_chunks") <= 1024
    assert value("SELECT count(*) FROM benchmark_questions WHERE status <> 'measured'") == 0
    assert value("SELECT count(*) FROM benchmark_questions WHERE list_contains(gold_pages, 0)") >= 1
    assert value("SELECT count(DISTINCT fold) FROM folds") >= 2
    assert value("SELECT count(DISTINCT (question_id, system, space)) FROM retrieval_runs") == value(
        "SELECT count(*) FROM benchmark_questions"
    ) * len(RUNNABLE) * len(Space)
    outcomes = warehouse.execute("SELECT outcome, count(*) FROM ledger GROUP BY ALL").fetchall()
    assert dict(outcomes).keys() == {"materialised"}
    comment = value(
        "SELECT comment FROM duckdb_columns() WHERE table_name = 'filings' AND column_name = 'period_end'"
    )
    assert comment.startswith("Last day of the period")


def test_the_identity_of_the_filings_is_read_from_their_covers(root: Path) -> None:
    rows = {row["filing"]: row for row in called(root, "filings", "--json").json()}
    assert sorted(rows) == SAMPLE
    for entry in entries():
        row = rows[entry.name]
        assert row["status"] == "ok" and row["conflicts"] == [], row
        assert row["source"] == ("page_text" if entry.as_text else "pdf")
        assert row["warnings"] == (["text only: no tables"] if entry.as_text else []), row
        assert row["form"] == {"10k": "10-K", "10q": "10-Q", "8k": "8-K", "earnings": "EARNINGS"}[entry.kind]
        assert row["fiscal_year"] == entry.period and row["pages"] >= 1
    assert called(root, "filings", "--failed", "--json").json() == []


@pytest.mark.parametrize("system", ["bm25", "hybrid_rrf", "finrag"])
def test_search_answers_in_the_documented_form(root: Path, system: str) -> None:
    question = "capital expenditure of Torvexley in 2023"
    done = called(root, "search", question, "--system", system, "-k", "3", "--json")
    assert done.code == 0 and done.err == "", done.err
    answer = done.json()
    assert list(answer) == ["question", "system", "results", "seconds", "warnings"]
    assert (answer["question"], answer["system"]) == (question, system)
    assert [hit["rank"] for hit in answer["results"]] == [1, 2, 3]
    for hit in answer["results"]:
        assert list(hit) == ["rank", "filing", "page", "page_label", "chunk_id", "score", "snippet", "why"]
        assert hit["filing"] in SAMPLE and hit["page"] >= 0 and hit["page_label"]
        assert hit["chunk_id"].startswith(f"{hit['filing']}/p{hit['page']}/")
        assert hit["snippet"] and hit["why"] and "\n" not in hit["snippet"]
    scores = [hit["score"] for hit in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    assert any(hit["filing"].startswith("TORVEXLEY") for hit in answer["results"])


def test_a_question_for_revenue_finds_the_income_statement_first(root: Path) -> None:
    found = called(root, "search", "Pellamoor's revenue in FY2023", "-k", "1", "--json").json()
    (first,) = found["results"]
    assert first["filing"] == "PELLAMOOR_2023_10K" and first["why"].startswith("income statement")
    assert found["warnings"] == []


def test_the_report_can_be_opened(root: Path) -> None:
    text = (root / "report" / "index.html").read_text(encoding="utf-8")
    assert "</html>" in text and "http://" not in text.replace("http://www.w3.org", "")
    for name in (*RUNNABLE, "Torvexley", "Pellamoor", "Sundrevale", "10-K", "EARNINGS"):
        assert name in text
    assert str(root) not in text, "a report that is handed on names no folder of its maker"


def test_the_doctor_finds_nothing_broken(root: Path) -> None:
    done = called(root, "doctor", "--json")
    assert done.code == 0, done.out
    findings = {finding["check"]: finding for finding in done.json()}
    assert all(list(finding) == ["check", "status", "found", "remedy"] for finding in findings.values())
    assert {finding["status"] for finding in findings.values()} <= {"ok", "gap"}
    assert all(finding["remedy"] for finding in findings.values() if finding["status"] == "gap")
    for check in ("dagster", "encoder", "lake", "failures", "dagster instance"):
        assert findings[check]["status"] == "ok", findings[check]
    assert f"{len(SAMPLE)} filings" in findings["lake"]["found"]


def stamps(root: Path) -> dict[str, int]:
    """Modification time of every result in the lake."""
    return {
        str(path.relative_to(root)): path.stat().st_mtime_ns
        for folder in ("parquet", "bm25", "lance", "report", "filings", "ledger", "benchmarks")
        for path in sorted((root / folder).rglob("*"))
        if path.is_file()
    } | {"warehouse": (root / "warehouse.duckdb").stat().st_mtime_ns}


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory, run: Done) -> tuple[Path, Done]:
    """A lake like the one after the run, in which it was run once more, for people; others read the first."""
    copy = sample_copy(tmp_path_factory, tmp_path_factory.mktemp("again") / "lake")
    return copy, called(copy, "run")


def test_the_page_of_results_holds_what_the_lake_does(root: Path, metrics: list[dict[str, Any]]) -> None:
    done = called(root, "metrics", "--markdown")
    assert done.code == 0, done.err
    page = done.out
    (best,) = [
        row
        for row in metrics
        if (row["system"], row["space"], row["slice"], row["metric"], row["k"])
        == ("finrag", "corpus", "all", "page_rec", 5)
    ]
    figure = f"{best['mean']:.3f} [{best['low']:.3f}, {best['high']:.3f}]"
    assert re.search(rf"^\| `finrag` \| Whole corpus \|.* {re.escape(figure)} \|", page, re.MULTILINE)
    assert "| All | 10 | 87 | " in page and re.search(
        r"^- Encoder: \S+/all-MiniLM-L6-v2, \w+\.$", page, re.MULTILINE
    )
    # Filings with a PDF are named beside the total, and how many questions that is said once.
    strata = re.findall(r"^\| (All|PDF|Text only) \|.* (\d+) \|$", page.partition("## ")[0], re.MULTILINE)
    assert [name for name, _ in strata] == ["All", "PDF", "Text only"]
    questions = [int(n) for _, n in strata]
    assert questions[0] == sum(questions[1:]) == best["n"] and questions[2] > 0
    (text_only,) = re.findall(
        r"^Best: .*by source of the filing: PDF .*; Text only (.*)\.$", page, re.MULTILINE
    )
    assert text_only.count("(n = ") == 1
    assert "| Calculator on the passages of finrag | Whole corpus |" in page
    assert called(root, "metrics", "--markdown").out == page
    assert called(root, "metrics", "--markdown", "--by", "source").code == 2


def test_a_second_run_does_nothing(root: Path, again: tuple[Path, Done]) -> None:
    copy, done = again
    assert done.code == 0, done.err
    count = len(SAMPLE)
    assert f"sample: {count} filings, 0 indexed, {count} fresh, 0 failed" in done.out

    def launched(lake: Path) -> int:
        with dg.DagsterInstance.from_config(str(lake / "dagster_home")) as instance:
            return len(instance.get_runs())

    assert launched(copy) == launched(root), "nothing is launched when nothing has changed"
    untouched = stamps(root.parent / "untouched" / "lake")
    changed = {name for name, stamp in stamps(copy).items() if untouched.get(name) != stamp}
    # Registering the benchmark writes its record anew, with the same contents.
    assert not {name for name in changed if not name.startswith("benchmarks/")}


def test_it_ends_with_questions_that_the_sample_answers(root: Path, again: tuple[Path, Done]) -> None:
    printed = [shlex.split(line) for line in again[1].out.splitlines() if " ask " in line]
    assert len(printed) == 3
    asker = Asker(Settings(lake=str(root)))
    for command, verb, question in printed:
        assert Path(command).name == "finrag" and verb == "ask"
        answer = asker.ask(question).as_json()
        assert not answer["abstained"] and answer["value"] is not None and answer["citations"], question


def test_a_second_process_took_its_share_and_nothing_is_left_to_commit(root: Path) -> None:
    entries = [one for asset in ("page_ranker", "answers") for one in Lake(root).ledger_entries(asset)]
    assert {one["outcome"] for one in entries} == {"materialised"}
    assert all(one["seconds"] > 0 for one in entries)


def test_the_calculator_has_answered_what_it_can(root: Path, warehouse: duckdb.DuckDBPyConnection) -> None:
    """Without it every page of a question says that no system has answered."""
    counts = warehouse.execute(
        "SELECT space, count(*), count(*) FILTER (NOT abstained) FROM answers "
        "WHERE system = 'calculator' GROUP BY space"
    ).fetchall()
    (questions,) = warehouse.execute("SELECT count(*) FROM benchmark_questions").fetchone() or (0,)
    assert {(space, asked) for space, asked, _ in counts} == {(space.value, questions) for space in Space}
    assert all(answered > 10 for _, _, answered in counts)
    pages = [path.read_text(encoding="utf-8") for path in (root / "report" / "questions").glob("*.html")]
    assert len(pages) == questions
    assert not [page for page in pages if "No answering system has answered" in page]


def test_the_lake_holds_no_leftovers(again: tuple[Path, Done]) -> None:
    copy, _ = again
    assert Lake(copy).leftovers(older_than=0.0) == []
    done = called(copy, "clean")
    assert done.code == 0 and "removed 0 files" in done.out


def test_the_command_prints_its_dagster_home(root: Path) -> None:
    home = Path(called(root, "home").out.strip())
    assert home == root / "dagster_home" and (home / "dagster.yaml").is_file()


def test_the_installed_script_is_the_same_command(root: Path) -> None:
    script = shutil.which(
        "finrag", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    )
    if script is None:
        pytest.skip("the package is not installed, only importable")
    done = subprocess.run(
        [script, "sql", "FROM system_metrics", "--json"],
        env=environment(root),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and {row["system"] for row in json.loads(done.stdout)} == set(RUNNABLE)
    assert not done.stderr, "libraries have nothing to say at the end either"
