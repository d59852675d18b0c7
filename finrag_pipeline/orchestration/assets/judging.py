"""Judging: sentences, automatic metrics and verdicts of every answer; how far judges agree with people."""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError
from finrag_pipeline.judging.automatic_metrics import AUTOMATIC_VERSION, rates
from finrag_pipeline.judging.automatic_metrics import automatic_scores as score_answers
from finrag_pipeline.judging.calibration import CALIBRATION_VERSION, calibrate
from finrag_pipeline.judging.items import ITEMS_VERSION, Answer, sentence_rows
from finrag_pipeline.judging.judges import JUDGES_VERSION, Judge, judge_answers
from finrag_pipeline.judging.lake_answers import labelled_answers, read_answers, without_text
from finrag_pipeline.judging.panel import load_judges
from finrag_pipeline.judging.verdicts import REFUSAL, Criterion
from finrag_pipeline.orchestration.assets.answering import RECORDED, answers, recorded_answers
from finrag_pipeline.orchestration.assets.benchmark import benchmark_questions
from finrag_pipeline.orchestration.assets.retrieval import split_key
from finrag_pipeline.orchestration.partitions import answer_partitions
from finrag_pipeline.orchestration.resources.settings import LakeResource, SettingsResource
from finrag_pipeline.orchestration.steps import (
    Step,
    check,
    each_partition,
    ledger_key,
    part_step,
    result,
    result_or_skipped,
    skipped_step,
    table_asset,
)
from finrag_pipeline.reporting.grid import grid_markdown
from finrag_pipeline.reporting.judging_tables import calibration_grid, rates_grid
from finrag_pipeline.schemas import JUDGE_CALIBRATION
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

_VALID = {"relevance": {0, 1}, "veracity": {0, 1}, "correctness": {0, 1, REFUSAL}}
_QUESTION = ("question_id", "question", "answer", "question_type", "reasoning")
_VERDICT_CHECKS = ["labels_are_valid", "no_verdict_missing"]


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


def _skipped(context: dg.AssetExecutionContext, store: Lake, asset: str, key: str) -> Step:
    fold, name = split_key(key)
    store.remove(asset, {"system": name, "fold": fold})  # of answers that are gone
    return skipped_step(
        store, asset, key, f"The lake holds no answers of {name} on {fold}.", context.run.run_id
    )


@table_asset(
    answers,
    benchmark_questions,
    group="judging",
    version=ITEMS_VERSION,
    partitions=answer_partitions,
    blocking_checks={
        "sources_have_text": "The lake holds the text of every source that was given to an answer."
    },
    output_required=False,  # a system that did not answer leaves nothing
)
def answer_sentences(
    context: dg.AssetExecutionContext, lake: LakeResource
) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """Every answer by sentence: what it cites, what of that was retrieved, and what it is held against."""
    store = lake.open()

    def work(key: str) -> Step:
        fold, name = split_key(key)
        partition = {"system": name, "fold": fold}
        if (made_from := _made_from(store, partition)) is None:
            return _skipped(context, store, "answer_sentences", key)
        found, missing = _answers(store, partition)
        step = part_step(
            store, "answer_sentences", ledger_key(key), partition, fingerprint("answer_sentences", made_from),
            lambda: sentence_rows(found), context.run.run_id,
        )  # fmt: skip
        told = f"No text of {', '.join(missing[:5])}: chunk the filings as they were." if missing else None
        step.checks = [check("sources_have_text", not missing, description=told, missing=len(missing))]
        repeats = max((one.repeat + 1 for one in found), default=0)
        step.metadata = {"answers": len(found), "repeats": repeats}
        return step

    yield from result_or_skipped(each_partition(context, store, work), ["sources_have_text"])


@table_asset(
    answers,
    answer_sentences,
    group="judging",
    version=AUTOMATIC_VERSION,
    partitions=answer_partitions,
    output_required=False,
)
def automatic_scores(
    context: dg.AssetExecutionContext, lake: LakeResource
) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """Right language, a response at all, citations that work: of every answer and sentence."""
    store = lake.open()

    def work(key: str) -> Step:
        fold, name = split_key(key)
        partition = {"system": name, "fold": fold}
        if (made_from := _made_from(store, partition)) is None:
            return _skipped(context, store, "automatic_scores", key)
        wanted = fingerprint("automatic_scores", AUTOMATIC_VERSION, made_from)

        def make() -> pa.Table:
            return score_answers(_answers(store, partition)[0])

        return part_step(
            store, "automatic_scores", ledger_key(key), partition, wanted, make, context.run.run_id
        )

    yield from result_or_skipped(each_partition(context, store, work), [])


_LABELS_ARE_VALID = {"labels_are_valid": "Every label is one of its criterion, and a missing one says why."}
_NO_VERDICT_MISSING = {"no_verdict_missing": "Every judge gave a verdict on everything."}


@table_asset(
    answers,
    answer_sentences,
    benchmark_questions,
    group="judging",
    version=JUDGES_VERSION,
    partitions=answer_partitions,
    blocking_checks=_LABELS_ARE_VALID,
    checks=_NO_VERDICT_MISSING,
    output_required=False,
)
def verdicts(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """Relevance and correctness of every answer, veracity of every sentence, by every judge.

    Replies of language models are kept by what they were asked, and what has failed is asked again.
    """
    store = lake.open()
    judges, problems = load_judges(settings.get().judge, store)
    for name, problem in problems.items():
        context.log.warning(f"Judge {name} is not asked: {problem}")

    def work(key: str) -> Step:
        fold, name = split_key(key)
        partition = {"system": name, "fold": fold}
        if (made_from := _made_from(store, partition)) is None:
            return _skipped(context, store, "verdicts", key)
        return _judged(
            context, store, judges, ledger_key(key), partition, made_from,
            ("relevance", "veracity", "correctness"),
        )  # fmt: skip

    yield from result_or_skipped(each_partition(context, store, work), _VERDICT_CHECKS)


@table_asset(
    recorded_answers,
    benchmark_questions,
    group="judging",
    version=JUDGES_VERSION,
    table="verdicts",
    blocking_checks=_LABELS_ARE_VALID,
    checks=_NO_VERDICT_MISSING,
)
def recorded_verdicts(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """Verdicts on recorded answers, and whether they are in the right language.

    What they were given is not recorded, so that neither veracity nor citations can be judged.
    """
    store = lake.open()
    judges, problems = load_judges(settings.get().judge, store)
    for name, problem in problems.items():
        context.log.warning(f"Judge {name} is not asked: {problem}")
    made_from = _made_from(store, RECORDED) or []
    wanted = fingerprint("automatic_scores", AUTOMATIC_VERSION, made_from)
    if (info := store.info("automatic_scores", RECORDED)) is None or info.fingerprint != wanted:
        scores = score_answers(_answers(store, RECORDED)[0] if made_from else [])
        scores = scores.filter(pc.equal(scores["metric"], "correct_language"))
        store.write("automatic_scores", scores, wanted, RECORDED)
    return result(
        [_judged(context, store, judges, "recorded", RECORDED, made_from, ("relevance", "correctness"))]
    )


def _judged(
    context: dg.AssetExecutionContext,
    store: Lake,
    judges: Sequence[Judge],
    key: str,
    partition: dict[str, str],
    made_from: list[Any],
    criteria: Sequence[Criterion],
) -> Step:
    """One part of ``verdicts``."""
    wanted = fingerprint(
        "verdicts", JUDGES_VERSION, made_from, list(criteria), [(one.name, one.fingerprint) for one in judges]
    )
    info = store.info("verdicts", partition)
    if info and any(store.read("verdicts", partition, ["failed"])["failed"].to_pylist()):
        store.remove("verdicts", partition)  # what has failed is asked again; replies that came are kept

    def make() -> pa.Table:
        rows = store.read("benchmark_questions").to_pylist()
        gold = {row["question_id"]: row["answer"] for row in rows}
        found = [one for one in _answers(store, partition)[0] if one.text.strip()] if made_from else []
        references = {one.answer_id: gold[one.question_id] for one in found}
        return pa.concat_tables(judge_answers(judge, found, criteria, references) for judge in judges)

    step = part_step(store, "verdicts", key, partition, wanted, make, context.run.run_id)
    table = store.read("verdicts", partition, ["judge", "criterion", "label", "problem"])
    found = table.to_pylist()
    missing = [row for row in found if row["label"] is None]
    wrong = [
        row
        for row in found
        if not (row["problem"] if row["label"] is None else row["label"] in _VALID[row["criterion"]])
    ]
    why = sorted({f"{row['judge']}: {row['problem']}" for row in missing})
    step.checks = [
        check("labels_are_valid", not wrong, wrong=len(wrong)),
        check(
            "no_verdict_missing", not missing, warn=True, description="\n".join(why[:5]) or None,
            missing=len(missing),
        ),
    ]  # fmt: skip
    step.metadata = {"missing": len(missing), "judges": [judge.name for judge in judges]}
    return step


@table_asset(automatic_scores, recorded_verdicts, group="judging", version=AUTOMATIC_VERSION)
def answer_rates(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """Rates of the automatic metrics by system, type of question and kind of reasoning, over questions."""
    store, values = lake.open(), settings.get()
    confidence = values.evaluation.confidence
    made_from = store.fingerprints("automatic_scores")
    wanted = fingerprint("answer_rates", AUTOMATIC_VERSION, made_from, confidence)

    def make() -> pa.Table:
        return rates(store.read_all("automatic_scores"), confidence)

    step = part_step(store, "answer_rates", "", None, wanted, make, context.run.run_id)
    rows = store.read("answer_rates").to_pylist()
    return result([step], table=dg.MetadataValue.md(grid_markdown(rates_grid(rows))))


@table_asset(
    benchmark_questions,
    group="judging",
    version=CALIBRATION_VERSION,
    checks={
        "better_than_chance": "Every judge agrees with people on correctness more often than chance would."
    },
    output_required=False,  # without labels of people there is nothing to compare with
)
def judge_calibration(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """Agreement of judges with people on recorded answers that these labelled (FINRAG_JUDGE__LABELLED)."""
    store, values = lake.open(), settings.get()
    folder = Path(values.judge.labelled).expanduser() if values.judge.labelled else None
    questions = store.read("benchmark_questions")

    def skipped(reason: str) -> Iterator[dg.AssetCheckResult | dg.MaterializeResult]:
        store.remove("judge_calibration", {})  # a judge may have changed since
        context.log.warning(reason)
        steps = [skipped_step(store, "judge_calibration", "", reason, context.run.run_id)]
        return result_or_skipped(steps, ["better_than_chance"])

    if folder is None:
        yield from skipped("No labels of people are given: set FINRAG_JUDGE__LABELLED to their folder.")
        return
    found, labels, references, groups = labelled_answers(store, folder, questions)
    if not found:
        yield from skipped(f"No labelled answer of {folder.name} is to a question of the active benchmark.")
        return
    judges, _ = load_judges(values.judge, store)
    compared = [
        (one.answer_id, label, gold) for one, label, gold in zip(found, labels, references, strict=True)
    ]
    evidence = {one.question_id: dict(one.sources) for one in found}
    panel = [(one.name, one.fingerprint) for one in judges]
    wanted = fingerprint(
        "judge_calibration", CALIBRATION_VERSION, JUDGES_VERSION, compared, evidence, panel, values.seed
    )
    if store.info("judge_calibration"):
        known = store.read("judge_calibration", columns=["judge", "failed"]).to_pylist()
        silent = {judge.name for judge in judges} - {row["judge"] for row in known}
        if silent or any(row["failed"] for row in known):
            store.remove(
                "judge_calibration", {}
            )  # what has failed is asked again; replies that came are kept

    def make() -> pa.Table:
        tables = [JUDGE_CALIBRATION.empty_table()]
        for judge, criterion in product(judges, ("correctness", "veracity")):
            try:
                tables.append(
                    calibrate(
                        judge,
                        found,
                        labels,
                        references=references,
                        groups=groups,
                        criteria=[criterion],
                        seed=values.seed,
                    )
                )
            except LakeError as error:  # no verdict at all: the others are reported nevertheless
                context.log.error(str(error))
        return pa.concat_tables(tables)

    step = part_step(store, "judge_calibration", "", None, wanted, make, context.run.run_id)
    rows = [row for row in store.read("judge_calibration").to_pylist() if row["group"] == "all"]
    good = {
        row["judge"] for row in rows if row["criterion"] == "correctness" and (row["kappa_low"] or 0.0) > 0
    }
    weak = [judge.name for judge in judges if judge.name not in good]
    told = f"Not better than chance, or without verdicts: {', '.join(weak)}." if weak else None
    step.checks = [check("better_than_chance", not weak, warn=True, description=told)]
    yield result([step], answers=len(found), table=dg.MetadataValue.md(grid_markdown(calibration_grid(rows))))
