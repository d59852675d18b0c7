"""Judging: sentences, automatic metrics and verdicts of every answer; how far judges agree with people."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.baseline_judge import load_judges
from finrag_pipeline.evaluation.judge_estimates import calibrate, labelled_answers
from finrag_pipeline.evaluation.judged_answers import (
    AUTOMATIC_VERSION,
    ITEMS_VERSION,
    Answer,
    rates,
    read_answers,
    sentence_rows,
    without_text,
)
from finrag_pipeline.evaluation.judged_answers import automatic_scores as score_answers
from finrag_pipeline.evaluation.judges import JUDGES_VERSION, REFUSAL, Criterion, Judge, judge_answers
from finrag_pipeline.orchestration.assets.answering import RECORDED
from finrag_pipeline.orchestration.fingerprints import versions
from finrag_pipeline.orchestration.steps import Part, Run, Step, check, table_asset
from finrag_pipeline.reporting.grid import grid_markdown
from finrag_pipeline.reporting.tables import calibration_grid, rates_grid
from finrag_pipeline.schemas import JUDGE_CALIBRATION
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

_VALID = {"relevance": {0, 1}, "veracity": {0, 1}, "correctness": {0, 1, REFUSAL}}
_QUESTION = ("question_id", "question", "answer", "question_type", "reasoning")


def _made_from(store: Lake, partition: dict[str, str]) -> list[Any] | None:
    """What an answer is read from, as fingerprints; None where there are no answers."""
    info = store.info("answers", partition)
    questions = store.read("benchmark_questions", columns=_QUESTION)
    return [info.fingerprint, ITEMS_VERSION, questions.to_pydict()] if info else None


def _answers(store: Lake, partition: dict[str, str]) -> tuple[list[Answer], list[str]]:
    """Answers of a part, and sources of theirs that the lake holds no text of."""
    rows = store.read("answers", partition)
    found = read_answers(store, rows, store.read("benchmark_questions"))
    return found, without_text(rows, found)


def _skipped(part: Part) -> Step:
    part.store.remove(part.entry.name, part.partition)  # of answers that are gone
    return part.skipped(f"The lake holds no answers of {part.system} on {part.partition['fold']}.")


@table_asset(
    blocking_checks={
        "sources_have_text": "The lake holds the text of every source that was given to an answer."
    },
    optional=True,  # a system that did not answer leaves nothing
)
def answer_sentences(part: Part) -> Step:
    """Every answer by sentence: what it cites, what of that was retrieved, and what it is held against."""
    if (made_from := _made_from(part.store, part.partition)) is None:
        return _skipped(part)
    found, missing = _answers(part.store, part.partition)
    step = part.made(lambda: sentence_rows(found), wanted=fingerprint("answer_sentences", made_from))
    told = f"No text of {', '.join(missing[:5])}: chunk the filings as they were." if missing else None
    step.checks = [check("sources_have_text", not missing, description=told, missing=len(missing))]
    repeats = max((one.repeat + 1 for one in found), default=0)
    step.metadata = {"answers": len(found), "repeats": repeats}
    return step


@table_asset(optional=True)
def automatic_scores(part: Part) -> Step:
    """Right language, a response at all, citations that work: of every answer and sentence."""
    if (made_from := _made_from(part.store, part.partition)) is None:
        return _skipped(part)
    wanted = fingerprint("automatic_scores", AUTOMATIC_VERSION, made_from)
    return part.made(lambda: score_answers(_answers(part.store, part.partition)[0]), wanted=wanted)


_LABELS_ARE_VALID = {"labels_are_valid": "Every label is one of its criterion, and a missing one says why."}
_NO_VERDICT_MISSING = {"no_verdict_missing": "Every judge gave a verdict on everything."}


def _judges(run: Run) -> list[Judge]:
    judges, problems = run.once(_load_judges)
    for name, problem in problems.items():
        run.context.log.warning(f"Judge {name} is not asked: {problem}")
    return judges


def _load_judges(values: Settings, store: Lake) -> tuple[list[Judge], dict[str, str]]:
    return load_judges(values.judge, store)


@table_asset(blocking_checks=_LABELS_ARE_VALID, checks=_NO_VERDICT_MISSING, optional=True)
def verdicts(part: Part) -> Step:
    """Relevance and correctness of every answer, veracity of every sentence, by every judge.

    Replies of language models are kept by what they were asked, and what has failed is asked again.
    """
    if (made_from := _made_from(part.store, part.partition)) is None:
        return _skipped(part)
    return _judged(part, part.partition, made_from, ("relevance", "veracity", "correctness"))


@table_asset(blocking_checks=_LABELS_ARE_VALID, checks=_NO_VERDICT_MISSING)
def recorded_verdicts(part: Part) -> Step:
    """Verdicts on recorded answers, and whether they are in the right language.

    What they were given is not recorded, so that neither veracity nor citations can be judged.
    """
    store = part.store
    made_from = _made_from(store, RECORDED) or []
    wanted = fingerprint("automatic_scores", AUTOMATIC_VERSION, made_from)
    if (info := store.info("automatic_scores", RECORDED)) is None or info.fingerprint != wanted:
        scores = score_answers(_answers(store, RECORDED)[0] if made_from else [])
        scores = scores.filter(pc.equal(scores["metric"], "correct_language"))
        store.write("automatic_scores", scores, wanted, RECORDED)
    return _judged(part, RECORDED, made_from, ("relevance", "correctness"))


def _judged(
    part: Part, partition: dict[str, str], made_from: list[Any], criteria: Sequence[Criterion]
) -> Step:
    """One part of ``verdicts``."""
    store, judges = part.store, _judges(part.run)
    panel = [(one.name, one.fingerprint) for one in judges]
    wanted = fingerprint("verdicts", JUDGES_VERSION, made_from, list(criteria), panel)
    info = store.info("verdicts", partition)
    if info and any(store.read("verdicts", partition, ["failed"])["failed"].to_pylist()):
        store.remove("verdicts", partition)  # what has failed is asked again; replies that came are kept

    def make() -> pa.Table:
        rows = store.read("benchmark_questions").to_pylist()
        gold = {row["question_id"]: row["answer"] for row in rows}
        found = [one for one in _answers(store, partition)[0] if one.text.strip()] if made_from else []
        references = {one.answer_id: gold[one.question_id] for one in found}
        return pa.concat_tables(judge_answers(judge, found, criteria, references) for judge in judges)

    step = part.made(make, wanted=wanted, partition=partition)
    found = store.read("verdicts", partition, ["judge", "criterion", "label", "problem"]).to_pylist()
    missing = [row for row in found if row["label"] is None]
    wrong = [
        row
        for row in found
        if not (row["problem"] if row["label"] is None else row["label"] in _VALID[row["criterion"]])
    ]
    why = "\n".join(sorted({f"{row['judge']}: {row['problem']}" for row in missing})[:5]) or None
    step.checks = [
        check("labels_are_valid", not wrong, wrong=len(wrong)),
        check("no_verdict_missing", not missing, warn=True, description=why, missing=len(missing)),
    ]
    step.metadata = {"missing": len(missing), "judges": [judge.name for judge in judges]}
    return step


@table_asset()
def answer_rates(part: Part) -> Step:
    """Rates of the automatic metrics by system, type of question and kind of reasoning, over questions."""
    confidence = part.values.evaluation.confidence
    step = part.made(lambda: rates(part.store.read_all("automatic_scores"), confidence))
    step.metadata = {"table": dg.MetadataValue.md(grid_markdown(rates_grid(part.read())))}
    return step


@table_asset(
    checks={
        "better_than_chance": "Every judge agrees with people on correctness more often than chance would."
    },
    optional=True,  # without labels of people there is nothing to compare with
)
def judge_calibration(part: Part) -> Step:
    """Agreement of judges with people on recorded answers that these labelled (FINRAG_JUDGE__LABELLED)."""
    store, values = part.store, part.values
    folder = Path(values.judge.labelled).expanduser() if values.judge.labelled else None
    questions = store.read("benchmark_questions")

    def skipped(reason: str) -> Step:
        store.remove("judge_calibration", {})  # a judge may have changed since
        return part.skipped(reason)

    if folder is None:
        return skipped("No labels of people are given: set FINRAG_JUDGE__LABELLED to their folder.")
    found, labels, references, groups = labelled_answers(store, folder, questions)
    if not found:
        return skipped(f"No labelled answer of {folder.name} is to a question of the active benchmark.")
    judges, _ = part.run.once(_load_judges)
    compared = [
        (one.answer_id, label, gold) for one, label, gold in zip(found, labels, references, strict=True)
    ]
    evidence = {one.question_id: dict(one.sources) for one in found}
    panel = [(one.name, one.fingerprint) for one in judges]
    code = versions("judge_calibration")
    wanted = fingerprint("judge_calibration", code, JUDGES_VERSION, compared, evidence, panel, values.seed)
    if store.info("judge_calibration"):
        known = part.read(columns=["judge", "failed"]).to_pylist()
        silent = {judge.name for judge in judges} - {row["judge"] for row in known}
        if silent or any(row["failed"] for row in known):
            store.remove("judge_calibration", {})  # what has failed is asked again; replies are kept

    def make() -> pa.Table:
        tables = [JUDGE_CALIBRATION.empty_table()]
        told: dict[str, Any] = {"references": references, "groups": groups, "seed": values.seed}
        for judge, criterion in product(judges, ("correctness", "veracity")):
            try:
                tables.append(calibrate(judge, found, labels, criteria=[criterion], **told))
            except LakeError as error:  # no verdict at all: the others are reported nevertheless
                part.context.log.error(str(error))
        return pa.concat_tables(tables)

    step = part.made(make, wanted=wanted)
    rows = [row for row in part.read().to_pylist() if row["group"] == "all"]
    good = {
        row["judge"] for row in rows if row["criterion"] == "correctness" and (row["kappa_low"] or 0.0) > 0
    }
    weak = [judge.name for judge in judges if judge.name not in good]
    told = f"Not better than chance, or without verdicts: {', '.join(weak)}." if weak else None
    step.checks = [check("better_than_chance", not weak, warn=True, description=told)]
    table = dg.MetadataValue.md(grid_markdown(calibration_grid(part.read())))
    step.metadata = {"answers": len(found), "table": table}
    return step
