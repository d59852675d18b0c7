"""The command line where something is missing or wrong: exit codes, one line for people, JSON for programs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.console import Done, called, finish, start

Call = Callable[..., Done]


@pytest.fixture
def call(tmp_path: Path) -> Call:
    """Calls the command line in this process, on an empty lake."""
    return partial(called, tmp_path / "lake")


FAILS = {
    "nothing measured": (["metrics"], 1, "Nothing was measured", "finrag run"),
    "nothing to search": (["search", "revenue"], 1, "holds nothing to search", "finrag ingest"),
    "nothing to export": (["export-run", "bm25"], 1, "holds no run of bm25", "finrag run --systems bm25"),
    "no such system": (
        ["export-run", "oracle9"],
        2,
        "no retrieval system 'oracle9'",
        "bm25, splade, dense",
    ),
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
def test_errors_say_what_is_wrong_and_what_to_do(call: Call, case: str) -> None:
    arguments, code, reason, remedy = FAILS[case]
    for_programs = call(*arguments, "--json")
    assert (for_programs.code, for_programs.out) == (code, "")
    error = for_programs.error()
    assert reason in error["error"] and remedy in error["remedy"], error

    for_people = call(*arguments)
    assert (for_people.code, for_people.out) == (code, "")
    assert for_people.err == f"error: {error['error']} {error['remedy']}\n"


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
    assert nothing.code == 3 and "failed: [red] 100%.xlsx: [red] 100%.xlsx is neither" in nothing.err


@pytest.mark.slow
def test_ctrl_c_stops_the_whole_run(tmp_path: Path) -> None:
    """Dagster takes the interrupt for a failing step; the command must not go on with the next filing."""
    root = tmp_path / "lake"
    for n in range(2):
        small_filings.annual_report(
            tmp_path / "pdfs" / f"F{n}_2020_10K.pdf", f"Number {n} Corp", 2020, pages=20
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
