"""Retrieval: rankings and per-question scores of every system, fold by fold."""

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.retrieval_metrics import find_gold_chunks, score_runs
from finrag_pipeline.orchestration.corpora import Sweep, fold_questions, scores_fingerprint
from finrag_pipeline.orchestration.steps import Part, Step, check, table_asset
from finrag_pipeline.retrieval.runner import run_system
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import get_system


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
        told = f"The lake holds no run of {name} on {part.partition['fold']}."
        raise LakeError(told, "Materialise retrieval_runs first.")
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
    step.metadata = _means(scores)
    return step


def _means(scores: pa.Table) -> dict[str, float]:
    kept = scores.filter(
        pc.and_(pc.equal(scores["k"], 5), pc.is_in(scores["metric"], pa.array(["doc_rec", "page_rec"])))
    )
    means = kept.group_by(["metric", "space"]).aggregate([("value", "mean")]).to_pylist()
    return {f"{row['metric']}_at_5_{row['space']}": round(row["value_mean"], 4) for row in means}
