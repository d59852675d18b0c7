"""The benchmark: questions with their gold pages, folds, and rankings and scores of every system by fold."""

from collections import Counter
from contextlib import ExitStack

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.benchmark import assign_folds, get_benchmark
from finrag_pipeline.evaluation.questions import load_questions
from finrag_pipeline.evaluation.retrieval_metrics import find_gold_chunks, score_runs
from finrag_pipeline.orchestration.lineage import versions
from finrag_pipeline.orchestration.partitions import FOLD_COUNT
from finrag_pipeline.orchestration.steps import Part, Step, check, listed, table_asset
from finrag_pipeline.orchestration.sweeps import Sweep, fold_questions, scores_fingerprint
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.system import run_system
from finrag_pipeline.retrieval.systems import get_system
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
    infos = {filing: store.info("filing_pages", {"filing": filing}) for filing in benchmark.filings}
    counts = {filing: info.rows for filing, info in infos.items() if info is not None}
    problems: list[str] = []

    def make() -> pa.Table:
        with ExitStack() as stack:
            questions = stack.enter_context(store.local_copy(benchmark.questions))
            documents = (
                stack.enter_context(store.local_copy(benchmark.documents)) if benchmark.documents else None
            )
            loaded = load_questions(questions, documents, counts, benchmark.filings)
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
    measured = status.count("measured")
    causes = problems[:3] or ["Its file of questions is empty."]
    nothing = " ".join([f"Benchmark '{benchmark.name}' has no question that can be measured.", *causes])
    faults = [p for p in table["problem"].to_pylist() if p and "page" in p.lower()]
    told = "\n".join(problems[:10]) or None
    step.checks = [
        check(
            "questions_to_measure",
            measured > 0,
            description=None if measured else nothing,
            measured=measured,
        ),
        check("gold_pages_exist", not faults, description="\n".join(faults[:10]) or None),
        check("well_formed", not problems, warn=True, description=told, count=len(problems)),
    ]
    step.metadata = {
        "benchmark": benchmark.name,
        "measured": measured,
        "excluded": status.count("excluded"),
        "problems": listed(problems[:50]),
    }
    return step


@table_asset(blocking_checks={"no_leak": "No document is in two folds."})
def folds(part: Part) -> Step:
    """Cross-validation folds by document: every question is tested in exactly one."""

    def make() -> pa.Table:
        return assign_folds(part.read("benchmark_questions"), FOLD_COUNT, part.values.seed)

    step = part.made(make, FOLD_COUNT)
    table = part.read()
    pairs = set(zip(table["filing"].to_pylist(), table["fold"].to_pylist(), strict=True))
    leaks = sorted(filing for filing, n in Counter(filing for filing, _ in pairs).items() if n > 1)
    step.checks = [check("no_leak", not leaks, description=", ".join(leaks) or None)]
    step.metadata = {f"questions_fold_{n}": table["fold"].to_pylist().count(n) for n in range(FOLD_COUNT)}
    return step


@table_asset(
    blocking_checks={"every_question_ranked": "No question is left out."},
    optional=True,  # a system that cannot be run here leaves nothing
)
def retrieval_runs(part: Part) -> Step:
    """Ranked chunks of a system for the questions of a fold, in all three search spaces.

    A system whose weights, passages or training are missing here is not run: nothing is materialised, and the
    log says why.
    """
    sweep, system, fold = part.run.once(Sweep), get_system(part.system), part.fold
    if problem := sweep.problem(system, fold):
        return part.skipped(problem)
    questions = fold_questions(part.store, fold)
    step = part.made(
        lambda: run_system(system, sweep.inputs(system, fold), questions.to_pylist()),
        wanted=sweep.runs_fingerprint(system, fold, questions),
    )
    runs = part.read(columns=["space", "question_id"])
    pairs = set(zip(runs["space"].to_pylist(), runs["question_id"].to_pylist(), strict=True))
    expected = {(space.value, q) for space in Space for q in questions["question_id"].to_pylist()}
    # A page may hold no chunk of the kinds that an ablation keeps; it then finds nothing there.
    missing = expected - pairs if system.kinds is None else set()
    step.checks = [check("every_question_ranked", not missing, missing=len(missing))]
    step.metadata = {"questions": questions.num_rows}
    return step


@table_asset(
    blocking_checks={"values_in_range": "Every value lies in [0, 1]."},
    optional=True,  # a system that cannot be run here leaves nothing
)
def retrieval_scores(part: Part) -> Step:
    """Scores of a system on each question of a fold: the rows that every mean and plot is a view on."""
    sweep, system, name = part.run.once(Sweep), get_system(part.system), part.system
    if problem := sweep.problem(system, part.fold):
        return part.skipped(problem)
    info = part.store.info("retrieval_runs", part.partition)
    if info is None:
        description = f"The lake holds no run of {name} on {part.partition['fold']}."
        raise LakeError(description, "Materialise retrieval_runs first.")
    questions = fold_questions(part.store, part.fold)

    def make() -> pa.Table:
        corpus = sweep.corpus(system)
        texts = dict(zip(corpus.chunk_ids, corpus.chunks["text"].to_pylist(), strict=True))
        gold = find_gold_chunks(questions, corpus.chunks)
        expected = [(name, space.value) for space in Space]
        return score_runs(part.read("retrieval_runs"), questions, texts, gold, expected=expected)

    step = part.made(make, wanted=scores_fingerprint(info.fingerprint, questions))
    scores = part.read()
    outside = sum(not 0.0 <= value <= 1.0 + 1e-9 for value in scores["value"].to_pylist())
    step.checks = [check("values_in_range", not outside, outside=outside)]
    headline = (pc.field("k") == 5) & pc.field("metric").isin(["doc_rec", "page_rec"])
    kept = scores.filter(headline & (pc.field("space") == Space.CORPUS))
    means = kept.group_by("metric").aggregate([("value", "mean")]).to_pylist()
    step.metadata = {f"{row['metric']}_at_5": round(row["value_mean"], 4) for row in means}
    return step
