"""Benchmark: questions with their gold pages, and folds by document."""

from pathlib import Path

import dagster as dg
import pyarrow as pa

from finrag_pipeline.evaluation.benchmark import assign_folds, get_benchmark
from finrag_pipeline.evaluation.questions import load_questions
from finrag_pipeline.orchestration.fingerprints import versions
from finrag_pipeline.orchestration.partitions import FOLD_COUNT
from finrag_pipeline.orchestration.steps import Part, Step, check, table_asset
from finrag_pipeline.storage.fingerprints import fingerprint


@table_asset(
    blocking_checks={"questions_to_measure": "At least one question."},
    checks={
        "gold_pages_exist": "Every gold page of a measurable filing exists; others are excluded and listed.",
        "well_formed": "Every line of the files is sound.",
    },
)
def benchmark_questions(part: Part) -> Step:
    """Questions of the active benchmark, each with gold filing, pages, evidence and answer."""
    store = part.store
    benchmark = get_benchmark(store)
    counts = {}
    for filing in benchmark.filings:
        info = store.info("filing_pages", {"filing": filing})
        if info is not None:
            counts[filing] = info.rows
    problems: list[str] = []

    def make() -> pa.Table:
        with store.local_copy(benchmark.questions) as questions:
            if benchmark.documents is None:
                loaded = load_questions(questions, None, counts, benchmark.filings)
            else:
                with store.local_copy(benchmark.documents) as documents:
                    loaded = load_questions(questions, Path(documents), counts, benchmark.filings)
        problems.extend(loaded.problems)
        store.write_json(store.path("benchmarks", benchmark.name, "problems.json"), loaded.problems)
        return loaded.table

    # Of the pages only their number decides.
    name = "benchmark_questions"
    wanted = fingerprint(name, *versions(name), benchmark.sha256, benchmark.filings, counts)
    step = part.made(make, wanted=wanted)
    if step.cache_hit:
        problems = store.read_json(store.path("benchmarks", benchmark.name, "problems.json")) or []
    table = part.read()
    status = table["status"].to_pylist()
    page_faults = [p for p in table["problem"].to_pylist() if p and "page" in p.lower()]
    step.checks = [
        check(
            "questions_to_measure",
            "measured" in status,
            description=None if "measured" in status else _nothing_to_measure(benchmark.name, problems),
            measured=status.count("measured"),
        ),
        check("gold_pages_exist", not page_faults, description="\n".join(page_faults[:10]) or None),
        check(
            "well_formed",
            not problems,
            warn=True,
            description="\n".join(problems[:10]) or None,
            count=len(problems),
        ),
    ]
    step.metadata = {
        "benchmark": benchmark.name,
        "measured": status.count("measured"),
        "excluded": status.count("excluded"),
        "problems": dg.MetadataValue.md("\n".join(f"- {p}" for p in problems[:50]) or "none"),
    }
    return step


def _nothing_to_measure(name: str, problems: list[str]) -> str:
    causes = problems[:3] or ["Its file of questions is empty."]
    return " ".join([f"Benchmark '{name}' has no question that can be measured.", *causes])


@table_asset(blocking_checks={"no_leak": "No document is in two folds."})
def folds(part: Part) -> Step:
    """Cross-validation folds by document: every question is tested in exactly one."""

    def make() -> pa.Table:
        return assign_folds(part.read("benchmark_questions"), FOLD_COUNT, part.values.seed)

    step = part.made(make, FOLD_COUNT)
    table = part.read()
    of_filing: dict[str, set[int]] = {}
    for filing, fold in zip(table["filing"].to_pylist(), table["fold"].to_pylist(), strict=True):
        of_filing.setdefault(filing, set()).add(fold)
    leaks = sorted(filing for filing, found in of_filing.items() if len(found) > 1)
    step.checks = [check("no_leak", not leaks, description=", ".join(leaks) or None)]
    step.metadata = {f"questions_fold_{n}": table["fold"].to_pylist().count(n) for n in range(FOLD_COUNT)}
    return step
