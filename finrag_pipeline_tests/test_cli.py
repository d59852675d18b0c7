"""The command line where something is missing or wrong: exit codes, one line for people, JSON for programs."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import typer
from rich.console import Console

from finrag_pipeline import __version__
from finrag_pipeline.commands.console import app
from finrag_pipeline.filings.originals import FilingSource
from finrag_pipeline.schemas import TABLES
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.console import Done, called, finish, start
from finrag_pipeline_tests.indexed_lake import IndexedLake

Call = Callable[..., Done]


@pytest.fixture
def call(tmp_path: Path) -> Call:
    """Calls the command line in this process, on an empty lake."""
    (tmp_path / "lake").mkdir()
    return partial(called, tmp_path / "lake")


FAILS = {
    "nothing measured": (["metrics"], 1, "Nothing was measured", "finrag run"),
    "nothing to search": (["search", "revenue"], 1, "holds nothing to search", "finrag ingest"),
    "nothing to export": (["export-run", "bm25"], 1, "holds no run of bm25", "finrag run --systems bm25"),
    "no such system": (["export-run", "oracle9"], 2, "no retrieval system 'oracle9'", "bm25, splade, dense"),
    "no such space": (
        ["export-run", "bm25", "--space", "moon"],
        2,
        "no space 'moon'",
        "corpus, filing, pages",
    ),
    "no such slice": (["metrics", "--by", "colour"], 2, "no slice 'colour'", "question_type"),
    "no such system to run": (["run", "--systems", "bm26"], 2, "no retrieval system 'bm26'", "bm25"),
    "no such filing to run": (
        ["run", "--filings", "NOBODY_10K"],
        2,
        "holds no filing NOBODY_10K",
        "Choose among",
    ),
    "no such source": (["run", "--source", "nowhere"], 1, "nowhere is not a folder", "--source"),
    "no limit below one": (["run", "--limit", "0"], 2, "--limit", "finrag run --help"),
    "no number": (["search", "x", "-k", "two"], 2, "'-k'", "finrag search --help"),
    "no such option": (["metrics", "--nope"], 2, "No such option: --nope.", "finrag metrics --help"),
    "no such command": (["dance"], 2, "No such command 'dance'.", "finrag --help"),
    "missing argument": (["search"], 2, "Missing argument 'question'.", "finrag search --help"),
}


@pytest.mark.parametrize("case", FAILS)
def test_errors_say_what_is_wrong_and_what_to_do(
    call: Call, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finrag_pipeline.sample.generate.write_sample", small_filings.small_benchmark)
    arguments, code, reason, remedy = FAILS[case]
    for_programs = call(*arguments, "--json")
    assert (for_programs.code, for_programs.out) == (code, "")
    error = for_programs.error()
    assert reason in error["error"] and remedy in error["remedy"], error

    for_people = call(*arguments)
    assert (for_people.code, for_people.out) == (code, "")
    assert for_people.err == f"error: {error['error']} {error['remedy']}\n"


WRONG: dict[str, list[list[str]]] = {
    "answers": [["--systems", "nobody"]],
    "ask": [[""], ["x", "--mode", "poem"], ["x", "--filing", "nobody"]],
    "backfill": [["nothing"]],
    "clean": [["x"]],
    "doctor": [["x"]],
    "edgar": [["--since", "yesterday"]],
    "evaluate": [[], ["--questions", "nowhere.jsonl"], ["--questions", "."]],
    "export": [[], ["."]],
    "export-run": [["nobody"], ["bm25"]],
    "facts": [
        ["nobody"],
        ["x", "--year", "y"],
        ["x", "--label", "x"],
        ["x", "--quarterly"],
        ["x", "--concept", "Revenues", "--yearly", "--trailing"],
    ],
    "fetch": [["x"]],
    "filings": [["x"]],
    "home": [["x"]],
    "import": [[], ["nowhere.tar"], ["."]],
    "index": [[], ["nobody"], ["dense"]],
    "ingest": [[]],
    "judge": [["--systems", "nobody"], []],
    "labels check": [["nowhere.csv"]],
    "labels import": [["nowhere.csv"]],
    "labels write": [[]],
    "mcp": [["x"]],
    "metrics": [["--by", "colour"]],
    "report": [[]],
    "reproduce": [["nobody"], ["financerag"]],
    "run": [["--source", "nowhere"], ["--systems", "nobody"]],
    "search": [[""], ["x", "-k", "0"], ["x", "--system", "nobody"]],
    "serve": [["--port", "x"], ["--host", "no such host"]],
    "show": [["nobody", "1"], ["x", "first"]],
    "sql": [["DROP TABLE filings"], ["FROM nowhere"], ["SELECT 1", "--to", "rows.doc"]],
    "stale": [["x"]],
    "systems": [["x"]],
    "tables": [[], ["--pdfs", "nowhere"]],
    "train": [["nobody"], ["reranker", "--folds", "nobody"]],
}
"""Arguments that no command can do anything with, by command."""


def _commands(group: Any, before: str = "") -> Iterator[str]:
    for name, command in group.commands.items():
        yield from _commands(command, f"{name} ") if hasattr(command, "commands") else [before + name]


def test_every_command_was_given_wrong_input() -> None:
    assert sorted(_commands(typer.main.get_command(app))) == sorted(WRONG)


@pytest.mark.parametrize("place", ["an empty lake", "no lake", "no place for one"])
@pytest.mark.parametrize("command", WRONG)
def test_wrong_input_is_answered_with_a_remedy(command: str, place: str, tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "file").touch()
    lake = {"an empty lake": "lake", "no lake": "none", "no place for one": "file/lake"}[place]
    for arguments in WRONG[command]:
        done = called(tmp_path / lake, *command.split(), *arguments)
        assert done.code in (1, 2), (arguments, done)
        assert re.search(r"^error: \S.*\. \S.*\n\Z", done.err, re.MULTILINE) and "defect" not in done.err, (
            arguments,
            done.err,
        )
        assert not (tmp_path / "none").exists(), "what only reads makes no lake"


@pytest.mark.parametrize("command", ["filings", "facts A_2020_10K", "metrics", "search x", "ask x", "report"])
def test_a_lake_that_is_not_there_is_said_to_be_missing(command: str, tmp_path: Path) -> None:
    done = called(tmp_path / "none", *command.split())
    assert (done.code, done.out) == (1, "") and "There is no lake at" in done.err, done


def test_a_lake_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = called(tmp_path / "file" / "lake", "run", "--json")
    assert done.code == 1 and str(tmp_path / "file") in done.error()["error"]
    assert "--lake FOLDER" in done.error()["remedy"]


def test_a_defect_is_told_in_a_line_with_its_traceback_in_a_file(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr("finrag_pipeline.services.filings.list_filings", broken)
    done = call("filings")
    assert done.code == 1 and done.err.startswith("error: ZeroDivisionError: of all things")
    log = Path(done.err.split()[-1].rstrip("."))
    assert "in broken" in log.read_text()
    log.unlink()


def test_the_version(call: Call) -> None:
    assert call("--version").out == f"finrag_pipeline {__version__}\n"


def test_a_filing_is_named_in_any_case(indexed: IndexedLake) -> None:
    def search(filing: str) -> Done:
        given = ["--filing", filing, "--system", "bm25", "--json"]
        return called(indexed.lake.root, "search", "revenue", *given, **indexed.variables())

    assert {row["filing"] for row in search("cedar_2023_10k").json()["results"]} == {"CEDAR_2023_10K"}
    assert search("ALDER_2021_10Q").error()["remedy"].startswith("Did you mean ALDER_2021_10K")


def test_filings_and_systems_fit_eighty_columns(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finrag_pipeline.commands.console.out", Console(width=80))
    names = ["A_CORPORATION_2022_8K_dated-11-03", "ZOLTEK_2021_10K"]
    usual = {"status": "ok", "file_name": "a.pdf", "source": "pdf", "bytes": 1, "sha256": "", "pages": 160}
    for filing in names:
        about = {
            "company": "Zoltek Industries of the Northern Shore, Inc.",
            "form": "10-K",
            "fiscal_year": 2021,
        }
        row = {"filing": filing, **usual, **about, "conflicts": [], "warnings": ["text only: no tables"]}
        lake.write("filings", pa.Table.from_pylist([row], TABLES["filings"]), "f", {"filing": filing})
    lake.write("page_tables", TABLES["page_tables"].empty_table(), "f", {"filing": names[0]})
    shown = called(lake.root, "filings").out
    assert not [line for line in shown.splitlines() if len(line) > 80 and line.startswith(" ")]
    assert all(name in shown for name in names), "no identifier is broken"
    systems = called(lake.root, "systems").out
    found = re.findall(r"^ (\w+) +(?:measured|runs|needs)", systems, re.MULTILINE)
    assert len(found) == len(set(found)) and {"bm25", "finrag", "calculator", "words"} <= set(found)
    assert not {"oracle_filing", "bm25_pages", "prompt_bm25"} & set(found)
    assert "oracle_filing" in called(lake.root, "systems", "--all").out


def test_a_filing_without_any_table_says_so(lake: Lake) -> None:
    row = {
        "filing": "A",
        "status": "ok",
        "file_name": "a.pdf",
        "source": "pdf",
        "bytes": 1,
        "sha256": "",
        "pages": 3,
    }
    rows = pa.Table.from_pylist([{**row, "conflicts": [], "warnings": []}], TABLES["filings"])
    lake.write("filings", rows, "f", {"filing": "A"})
    lake.write("page_tables", TABLES["page_tables"].empty_table(), "f", {"filing": "A"})
    lake.write("statement_facts", TABLES["statement_facts"].empty_table(), "f", {"filing": "A"})
    lake.write_json(lake.path("filings", "A", "source.json"), _source("A"))
    assert called(lake.root, "filings", "--json").json()[0]["warnings"] == ["no table could be read"]
    found = called(lake.root, "facts", "A", "--label", "x")
    assert (found.code, found.err) == (0, "") and "No fact" in found.out


def _source(filing: str) -> dict[str, Any]:
    return asdict(FilingSource(filing, "a.pdf", "pdf", 1, "", "original.pdf"))


def test_settings_that_make_no_sense_name_the_variable(call: Call) -> None:
    done = call("metrics", "--json", FINRAG_WORKERS="none")
    assert done.code == 2
    assert "FINRAG_WORKERS" in done.error()["error"]
    assert "FINRAG_CHUNKS__TOKENS" in call("systems", "--json", FINRAG_CHUNKS__TOKENS="1").error()["error"]


def test_an_empty_lake_can_be_looked_at(call: Call, tmp_path: Path) -> None:
    assert call("filings", "--json").json() == []
    assert call("filings").code == 0
    assert call("clean").out.startswith("removed 0 files")
    status = {row["name"]: row["status"] for row in call("systems", "--json").json()}
    assert {status[name] for name in ("bm25", "dense", "finrag")} == {"runs here"}  # it ships with a ranker
    assert status["page_scorer"] == status["finrag_rerank"] == "needs"
    doctor = call("doctor", "--json")
    assert doctor.code == 0, doctor.out
    assert "0 filings" in next(f["found"] for f in doctor.json() if f["check"] == "lake")


def test_without_its_model_a_system_says_why_it_cannot_run(call: Call) -> None:
    rows = call("systems", "--json", FINRAG_ENCODER__NAME="nobody/no-such-model").json()
    status = {row["name"]: (row["status"], row["why"]) for row in rows}
    assert status["bm25"] == ("runs here", "")
    for name in ("dense", "hybrid_rrf"):
        assert status[name][0] == "needs" and "nobody/no-such-model" in status[name][1]
    doctor = call("doctor", "--json", FINRAG_ENCODER__NAME="nobody/no-such-model")
    assert doctor.code == 1
    broken = [finding for finding in doctor.json() if finding["status"] == "broken"]
    assert [finding["check"] for finding in broken] == ["encoder"] and broken[0]["remedy"]


def test_the_option_for_the_lake_goes_before_the_environment(call: Call, tmp_path: Path) -> None:
    assert (
        str(tmp_path / "other")
        in call("--lake", str(tmp_path / "other"), "metrics", "--json").error()["error"]
    )


def test_help_is_worth_reading(call: Call) -> None:
    done = call("run", "--help")
    assert done.code == 0 and "What is fresh is not" in " ".join(done.out.split())
    for name in ("run", "ingest", "search", "systems", "metrics", "export-run", "filings", "fetch", "doctor"):
        text = call(name, "--help").out
        assert "Usage:" in text and len(text) > 300, name
    bare = call()
    assert bare.code == 2 and "Commands" in bare.out + bare.err


@pytest.mark.slow
def test_ingest_makes_files_searchable_and_names_those_it_refuses(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    good = small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021)
    spread = tmp_path / "table.xlsx"
    spread.write_bytes(b"PK")
    done = called(root, "ingest", good, spread, tmp_path / "missing.pdf", "--json")
    assert done.code == 3, done.err
    report = done.json()
    assert report["indexed"] == ["ALDER_2021_10K"] and report["filings"] == 3
    failures = {failure["filing"]: failure["error"] for failure in report["failures"]}
    assert failures["table.xlsx"].startswith("table.xlsx is no filing by its name. ")
    assert failures["missing.pdf"].startswith("missing.pdf cannot be read: ")
    assert called(root, "search", "revenue of division 1", "--json").json()["results"][0]["page"] == 1

    again = called(root, "ingest", good, "--json")
    assert again.code == 0 and again.json()["fresh"] == ["ALDER_2021_10K"]
    spread = spread.rename(tmp_path / "[red] 100%.xlsx")
    nothing = called(root, "ingest", spread)
    assert nothing.code == 3 and "failed: [red] 100%.xlsx: [red] 100%.xlsx is no filing" in nothing.err


@pytest.mark.slow
def test_ctrl_c_stops_the_whole_run(tmp_path: Path) -> None:
    """Dagster takes the interrupt for a failing step; the command must not go on with the next filing."""
    root = tmp_path / "lake"
    for n in range(2):
        small_filings.annual_report(
            tmp_path / "pdfs" / f"F{n}_2020_10K.pdf", f"Number {n} Corp", 2020, pages=6
        )
    process = start(root, "run", "--source", tmp_path / "pdfs", "--json")
    first = root / "ledger" / "filing_chunks" / "F0_2020_10K.json"
    deadline = time.monotonic() + 120
    while not first.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    done = finish(process)
    assert done.code == 130, (done.out, done.err)
    assert done.error()["error"] == "Stopped." and "same command again" in done.error()["remedy"]
    assert not (root / "report").exists()

    done = called(root, "run", "--source", tmp_path / "pdfs", "--json")
    assert done.code == 0 and len(done.json()["indexed"]) + len(done.json()["fresh"]) == 2
