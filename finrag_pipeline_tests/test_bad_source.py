"""A source with everything wrong in it: each fault is named with its remedy, the rest is measured, a re-run mends it."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

from finrag_pipeline.evaluation import unanswerable
from finrag_pipeline.filings.names import filing_id
from finrag_pipeline.orchestration import runs
from finrag_pipeline.orchestration.ahead import Item, SecondProcess
from finrag_pipeline.rankers.page_ranker import model
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.console import Done, called, finish, start
from finrag_pipeline_tests.filings import raw_pdf
from finrag_pipeline_tests.small_filings import question

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unrendered")]

ODD = "O'Hara & Söhne – report (1).pdf"
BAD = {
    "EMPTY_2020_10K": (small_filings.zero_bytes, "EMPTY_2020_10K.pdf is empty (0 bytes)."),
    "LOCKED_2020_10K": (small_filings.encrypted, "LOCKED_2020_10K.pdf is encrypted and asks for a password."),
    "CUT_2020_10K": (small_filings.truncated, "CUT_2020_10K.pdf is truncated: its end is missing."),
    "SHEET_2020_10K": (small_filings.not_a_pdf, "SHEET_2020_10K.pdf is not a PDF."),
    "SCAN_2020_10K": (small_filings.scanned, "SCAN_2020_10K.pdf has no text layer: all 2 pages are images"),
}
LEARNED = ["--systems", "bm25", "--systems", "finrag"]
"""Measured on bad files; more of them would only take longer."""
SYSTEMS = ["--systems", "bm25", "--systems", "dense"]
"""Measured by runs that are killed or meet. A ranker that was half written: `orchestration/test_ranking.py`."""
GOOD = sorted([*small_filings.COMPANIES, "COPY_2021_10K", filing_id(ODD)])


def bad_source(folder: Path) -> Path:
    small_filings.small_benchmark(folder)
    pdfs = folder / "pdfs"
    for name, (make, _) in BAD.items():
        make(pdfs / f"{name}.pdf")
    shutil.copyfile(pdfs / "ALDER_2021_10K.pdf", pdfs / "COPY_2021_10K.pdf")
    small_filings.annual_report(pdfs / ODD, "O'Hara Corp", 2019)
    (pdfs / ".hidden.pdf").write_bytes(b"")
    (pdfs / "notes.txt").write_text("no filing")
    lines: list[dict[str, Any] | str] = [
        json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    lines += [
        '{"financebench_id": "broken", "question": ',
        {key: value for key, value in question(90, "ALDER_2021_10K", 1).items() if key != "answer"},
        question(91, "NOBODY_2020_10K", 1),
        question(92, "BIRCH_2022_10K", 99),
        question(93, "SCAN_2020_10K", 0),
        question(94, ODD.removesuffix(".pdf"), 0, company="O'Hara Corp"),
    ]
    small_filings.write_lines(folder / "questions.jsonl", lines)
    small_filings.write_lines(
        folder / "small_document_information.jsonl",
        [
            {"doc_name": "ALDER_2021_10K", "company": "Alder Corp", "doc_type": "10k", "doc_period": 2021},
            {"doc_name": "BIRCH_2022_10K", "company": "Maple Ltd", "doc_type": "10q", "doc_period": "soon"},
            "not json",
        ],
    )
    return folder


def metrics(root: Path) -> str:
    done = called(root, "metrics", "--json")
    assert done.code == 0, done.err
    return done.out


def consistent(root: Path) -> None:
    """What is derived stands for what is readable, everywhere the same."""
    lake = Lake(root)
    rows = {row["filing"]: row for row in lake.read_all("filings").to_pylist()}
    pages = {keys["filing"] for keys in lake.partitions("filing_pages")}
    chunks = {keys["filing"] for keys in lake.partitions("filing_chunks")}
    assert pages == chunks <= {name for name, row in rows.items() if row["status"] == "ok"}
    for table in ("filing_pages", "filing_chunks"):
        for keys in lake.partitions(table):
            assert set(lake.read(table, keys)["filing"].to_pylist()) == {keys["filing"]}
    with duckdb.connect(str(root / "warehouse.duckdb"), read_only=True) as warehouse:
        found = warehouse.execute("SELECT DISTINCT filing FROM filing_chunks").fetchall()
        assert {name for (name,) in found} == chunks
        ranked = warehouse.execute("SELECT DISTINCT filing FROM retrieval_runs").fetchall()
        assert {name for (name,) in ranked} <= chunks


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bad") / "lake"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bad_source(tmp_path_factory.mktemp("bad_source") / "bench")


@pytest.fixture(scope="module")
def first(root: Path, source: Path) -> Done:
    return measured_quickly(root, source)


def measured_quickly(root: Path, source: Path) -> Done:
    """A run whose rankers hardly learn, and that asks one question without an answer of each kind."""
    ask = unanswerable.unanswerable_questions
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "ROUNDS", 3)
        patch.setattr(unanswerable, "unanswerable_questions", partial(ask, count=len(unanswerable.KINDS)))
        return called(root, "run", "--source", source, *LEARNED, "--json")


def test_what_is_good_is_done_and_what_is_bad_is_named(first: Done, root: Path) -> None:
    assert first.code == 3, first.err
    report = first.json()
    assert report["filings"] == len(GOOD) + len(BAD)
    assert report["indexed"] == GOOD and report["fresh"] == []
    failures = {failure["filing"]: failure["error"] for failure in report["failures"]}
    assert set(failures) == set(BAD)
    for name, (_, reason) in BAD.items():
        assert failures[name].startswith(reason), failures[name]
        remedy = failures[name].removeprefix(reason)
        assert any(word in remedy for word in ("again", "Save it", "Convert", "ocrmypdf")), remedy
    assert "small_document_information.jsonl, line 3" in " ".join(report["warnings"])
    consistent(root)


def test_every_failure_can_be_looked_up_again(first: Done, root: Path) -> None:
    listed = {row["filing"]: row for row in called(root, "filings", "--failed", "--json").json()}
    assert set(listed) == set(BAD)
    for name, (_, reason) in BAD.items():
        assert listed[name]["status"] == "failed" and listed[name]["reason"].startswith(reason.rstrip("."))
        assert listed[name]["remedy"]
    with duckdb.connect(str(root / "warehouse.duckdb"), read_only=True) as warehouse:
        failed = warehouse.execute(
            "SELECT partition, error, remedy FROM ledger WHERE outcome = 'failed'"
        ).fetchall()
    assert {name for name, _, _ in failed} == set(BAD)
    assert all(error and remedy for _, error, remedy in failed)
    (finding,) = (f for f in called(root, "doctor", "--json").json() if f["check"] == "failures")
    assert finding["status"] == "gap" and finding["found"].startswith(f"{len(BAD)} steps failed")


def test_faulty_questions_are_excluded_and_explained(first: Done, root: Path) -> None:
    with duckdb.connect(str(root / "warehouse.duckdb"), read_only=True) as warehouse:
        rows = warehouse.execute("SELECT question_id, status, problem FROM benchmark_questions").fetchall()
    status = {name: state for name, state, _ in rows}
    problem = {name: text for name, _, text in rows}
    assert [name for name, state in status.items() if state == "measured"] == [
        *(f"small_{n:03d}" for n in (1, 2, 3, 4, 5, 6)),
        "small_094",
    ]
    assert {name for name, state in status.items() if state == "excluded"} == {
        "small_091",
        "small_092",
        "small_093",
    }
    assert "NOBODY_2020_10K" in problem["small_091"]
    assert "[99]" in problem["small_092"] and "BIRCH_2022_10K" in problem["small_092"]
    assert "SCAN_2020_10K" in problem["small_093"] and "could not be read" in problem["small_093"]
    problems = json.loads((root / "benchmarks" / "bench" / "problems.json").read_text(encoding="utf-8"))
    text = "\n".join(problems)
    assert "questions.jsonl, line 7: broken JSON" in text
    assert "questions.jsonl, line 8: field 'answer' is missing" in text
    sizes = {row["n"] for row in json.loads(metrics(root)) if row["slice"] == "all"}
    assert sizes == {7}


def test_odd_and_double_filings_stay_visible(first: Done, root: Path) -> None:
    rows = {row["filing"]: row for row in called(root, "filings", "--json").json()}
    assert rows[filing_id(ODD)]["status"] == "ok"
    assert any("Maple Ltd" in conflict for conflict in rows["BIRCH_2022_10K"]["conflicts"])
    found = called(
        root, "search", "revenue of division 1 of O'Hara Corp in 2019", "--system", "bm25", "--json"
    ).json()
    assert found["results"][0]["filing"] == filing_id(ODD)


def test_a_second_run_tries_the_bad_ones_alone(first: Done, root: Path, source: Path) -> None:
    before = metrics(root)
    done = measured_quickly(root, source)
    assert done.code == 3
    report = done.json()
    assert report["indexed"] == [] and report["fresh"] == GOOD
    assert {failure["filing"] for failure in report["failures"]} == set(BAD)
    assert metrics(root) == before


def test_replacing_bad_files_and_running_again_finishes_the_work(
    first: Done, root: Path, source: Path
) -> None:
    for number, name in enumerate(BAD):
        small_filings.annual_report(source / "pdfs" / f"{name}.pdf", f"Mended {number} Corp", 2020)
    done = measured_quickly(root, source)
    assert done.code == 0, done.json()["failures"]
    assert done.json()["indexed"] == sorted(BAD) and done.json()["fresh"] == GOOD
    assert called(root, "filings", "--failed", "--json").json() == []
    sizes = {row["n"] for row in json.loads(metrics(root)) if row["slice"] == "all"}
    assert sizes == {8}, "the question on the scan counts now"
    consistent(root)

    # And the other way round: a bad file takes the place of no good one, which is searched and measured still.
    before = metrics(root)
    small_filings.scanned(source / "pdfs" / "CEDAR_2023_10K.pdf")
    done = measured_quickly(root, source)
    (failed,) = done.json()["failures"]
    assert done.code == 3 and failed["filing"] == "CEDAR_2023_10K"
    assert (
        failed["error"].startswith("CEDAR_2023_10K.pdf has no text layer") and "ocrmypdf" in failed["error"]
    )
    (listed,) = called(root, "filings", "--failed", "--json").json()
    assert listed["filing"] == "CEDAR_2023_10K" and "the lake holds stays" in listed["reason"]
    assert metrics(root) == before
    consistent(root)


def test_a_file_that_hangs_delays_no_other(tmp_path: Path) -> None:
    """Nor does it hold a lock or a slot that others need."""
    root = tmp_path / "lake"
    endless = raw_pdf.nested_forms(tmp_path / "ENDLESS_2020_10K.pdf", 9, b"")
    good = small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021)
    hanging = start(root, "ingest", endless, FINRAG_PAGE_TIMEOUT="3600")
    try:
        while not list(root.glob("ledger/*/ENDLESS_2020_10K.json.begun")):
            assert hanging.poll() is None
            time.sleep(0.1)
        assert called(root, "ingest", good).code == 0
        found = called(root, "search", "revenue of Alder Corp in 2021", "--json").json()
        assert found["results"][0]["filing"] == "ALDER_2021_10K"
        assert hanging.poll() is None, "it hangs still"
    finally:
        os.killpg(hanging.pid, signal.SIGKILL)
        hanging.communicate()


def test_a_benchmark_without_one_good_question_says_so(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    small_filings.annual_report(tmp_path / "bench" / "pdfs" / "ALDER_2021_10K.pdf", "Alder Corp", 2021)
    small_filings.write_lines(tmp_path / "bench" / "questions.jsonl", [question(1, "NOBODY_2020_10K", 1)])
    done = measured_quickly(root, tmp_path / "bench")
    assert done.code == 1 and done.out == ""
    error = done.error()
    assert "no question" in error["error"].lower() and "NOBODY_2020_10K" in error["error"], error
    assert called(root, "search", "revenue", "--system", "bm25", "--json").code == 0, (
        "its filings are indexed"
    )


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_filings.small_benchmark(tmp_path_factory.mktemp("small_source") / "bench")


class Whole(NamedTuple):
    """A lake after one undisturbed run of the small benchmark."""

    root: Path
    metrics: str


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, small: Path) -> Whole:
    root = tmp_path_factory.mktemp("whole") / "lake"
    done = called(root, "run", "--source", small, *SYSTEMS, "--json")
    assert done.code == 0, done.err
    return Whole(root, metrics(root))


def test_a_run_killed_at_any_moment_is_finished_by_the_next(
    tmp_path: Path, small: Path, whole: Whole
) -> None:
    root = tmp_path / "lake"

    def steps_done(lake: Path) -> int:
        return len(list((lake / "ledger").glob("*/*.json")))

    chance = random.Random(29)
    for target in sorted(chance.sample(range(1, steps_done(whole.root) - 3), 2)):
        process = start(root, "run", "--source", small, *SYSTEMS, "--json")
        while steps_done(root) < target and process.poll() is None:
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, 0.3))
        assert process.poll() is None, "it was to be killed at work"
        process.send_signal(signal.SIGKILL)
        process.communicate()
    done = called(root, "run", "--source", small, *SYSTEMS, "--json")
    assert done.code == 0, done.err
    assert sorted(done.json()["indexed"] + done.json()["fresh"]) == sorted(small_filings.COMPANIES)
    assert metrics(root) == whole.metrics, "to the last byte"
    consistent(root)
    # What the killed runs left half-written is known as such, and can be cleared away.
    for path in Lake(root).leftovers(older_than=0.0):
        Lake(root).fs.rm(path)
    assert not [path for path in root.rglob("*.tmp*") if path.is_file() and "models" not in path.parts]


def test_of_many_filings_the_second_process_makes_all_that_needs_them(
    tmp_path: Path, small: Path, whole: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []

    def make(process: SecondProcess, job: str, item: Item) -> Future[bytes]:
        begun.append(job)
        return makes(process, job, item)

    makes = SecondProcess.make
    monkeypatch.setattr(SecondProcess, "make", make)
    monkeypatch.setattr(runs, "_HELD_TWICE", 1)
    monkeypatch.setattr(runs, "_MANY_FILINGS", 2)
    root = tmp_path / "lake"
    done = called(root, "run", "--source", small, *SYSTEMS, "--json", FINRAG_WORKERS="2")
    assert done.code == 0, done.err
    assert list(dict.fromkeys(begun)) == ["index_filing", "index_on_demand", "prepare_benchmark", "sweep"]
    assert begun.count("sweep") == 2
    assert metrics(root) == whole.metrics, "to the last byte"
    assert {entry["outcome"] for entry in Lake(root).ledger_entries()} == {"materialised"}


def test_two_runs_at_once_leave_one_consistent_lake(tmp_path: Path, small: Path, whole: Whole) -> None:
    root = tmp_path / "lake"
    pair = [start(root, "run", "--source", small, *SYSTEMS, "--json") for _ in range(2)]
    ended = [finish(process) for process in pair]
    for done in ended:
        assert done.code != 3, done.out  # nothing is wrong with any filing
        if done.code != 0:
            done.error()  # a failure is clean: one error with its remedy, no traceback
    assert any(done.code == 0 for done in ended), [done.err for done in ended]

    after = called(root, "run", "--source", small, *SYSTEMS, "--json")
    assert after.code == 0 and after.json()["failures"] == []
    assert metrics(root) == whole.metrics
    consistent(root)


def measured(text: str) -> set[tuple[str, int]]:
    """System and number of questions of every series over all questions."""
    return {(row["system"], row["n"]) for row in json.loads(text) if row["slice"] == "all"}


def test_a_choice_of_filings_and_systems_is_measured_alone(tmp_path: Path, small: Path, whole: Whole) -> None:
    """Figures of another corpus must not stand beside those of this one. Changes the lake, and changes it back."""
    everything = measured(whole.metrics)
    assert {("bm25", 6), ("dense", 6)} <= everything
    assert {questions for _, questions in everything} == {6}

    named = ["--filings", "BIRCH_2022_10K", "--filings", "CEDAR_2023_10K", "--limit", "1"]
    one = called(whole.root, "run", "--source", small, *named, "--systems", "bm25", "--json")
    assert one.code == 0 and one.json()["filings"] == 1 and one.json()["fresh"] == ["BIRCH_2022_10K"]
    assert measured(metrics(whole.root)) == {("bm25", 2)}
    with duckdb.connect(str(whole.root / "warehouse.duckdb"), read_only=True) as warehouse:
        ranked = warehouse.execute("SELECT DISTINCT system, filing FROM retrieval_runs").fetchall()
    assert ranked == [("bm25", "BIRCH_2022_10K")]
    gone = called(whole.root, "export-run", "dense", "--to", tmp_path, "--json")
    assert gone.code == 1 and "holds no run of dense" in gone.error()["error"]

    assert called(whole.root, "run", "--source", small, *SYSTEMS, "--json").code == 0
    assert metrics(whole.root) == whole.metrics, "to the last byte"
