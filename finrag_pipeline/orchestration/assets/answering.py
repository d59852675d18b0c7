"""Answers: what every answering system says to the benchmark's questions, and how it is scored."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import dagster as dg
import pyarrow as pa

from finrag_pipeline.answering.systems import RUNS_VERSION, get_answer_system
from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation import ANSWER_METRICS_VERSION
from finrag_pipeline.evaluation.summary import SLICED, SUMMARY_VERSION, summarise
from finrag_pipeline.evaluation.unanswerable import UNANSWERABLE_VERSION
from finrag_pipeline.orchestration.answer_sweep import AnswerSweep, drop_answers_to_other_questions
from finrag_pipeline.orchestration.assets.benchmark import benchmark_questions, folds
from finrag_pipeline.orchestration.assets.chunking import filing_chunks
from finrag_pipeline.orchestration.assets.retrieval import retrieval_runs, split_key
from finrag_pipeline.orchestration.assets.tables import statement_facts
from finrag_pipeline.orchestration.assets.training import page_ranker
from finrag_pipeline.orchestration.corpora import fold_questions
from finrag_pipeline.orchestration.partitions import answer_partitions, fold_number
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
from finrag_pipeline.schemas import ANSWERS, FALSE_ANSWERS
from finrag_pipeline.storage.fingerprints import fingerprint

RECORDED = {"system": "recorded", "fold": "recorded"}
"""Part of ``answers`` that holds recorded answers of other models."""
_GOLD = ("question_id", "question", "answer")


@table_asset(
    retrieval_runs,
    statement_facts,
    folds,
    group="answering",
    version=RUNS_VERSION,
    partitions=answer_partitions,
    checks={"every_question_answered": "Every question has an answer or an abstention, and no error."},
    output_required=False,  # a system without its retrieval or its model leaves nothing
)
def answers(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """Answers of a system to the questions of a fold, in all search spaces that its retrieval ran in."""
    store, values = lake.open(), settings.get()
    sweep = AnswerSweep(values, store)

    def work(key: str) -> Step:
        fold, name = split_key(key)
        system, number = get_answer_system(name), fold_number(fold)
        if problem := sweep.problem(system, fold):
            context.log.warning(f"{name} does not answer {fold}: {problem}")
            return skipped_step(store, "answers", key, problem, context.run.run_id)
        wanted = sweep.fingerprint(system, fold, number)
        partition = {"system": name, "fold": fold}

        def make() -> pa.Table:
            return sweep.answers(system, fold, number)

        step = part_step(store, "answers", ledger_key(key), partition, wanted, make, context.run.run_id)
        made = store.read("answers", partition, ["error", "abstained", "prompt_tokens", "completion_tokens"])
        failed = made.num_rows - made["error"].null_count
        step.checks = [check("every_question_answered", not failed, warn=True, failed=failed)]
        step.metadata = {
            "answers": made.num_rows,
            "abstained": sum(made["abstained"].to_pylist()),
            "prompt_tokens": sum(filter(None, made["prompt_tokens"].to_pylist())),
            "completion_tokens": sum(filter(None, made["completion_tokens"].to_pylist())),
        }
        return step

    yield from result_or_skipped(each_partition(context, store, work), ["every_question_answered"])


@table_asset(
    answers,
    group="answering",
    version=ANSWER_METRICS_VERSION,
    partitions=answer_partitions,
    output_required=False,  # a system that did not answer leaves nothing
)
def answer_scores(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """Scores of a system on each question of a fold."""
    store, values = lake.open(), settings.get()
    sweep = AnswerSweep(values, store)

    def work(key: str) -> Step:
        fold, name = split_key(key)
        partition = {"system": name, "fold": fold}
        if problem := sweep.problem(get_answer_system(name), fold):
            return skipped_step(store, "answer_scores", key, problem, context.run.run_id)
        info = store.info("answers", partition)
        if info is None:
            raise LakeError(f"The lake holds no answers of {name} on {fold}.", "Materialise answers first.")
        questions = fold_questions(store, fold_number(fold))
        gold = [questions[column].to_pylist() for column in _GOLD]
        wanted = fingerprint("answer_scores", ANSWER_METRICS_VERSION, info.fingerprint, gold)

        def make() -> pa.Table:
            from finrag_pipeline.evaluation.answer_metrics import score_answers

            return score_answers(store.read("answers", partition), questions, store)

        return part_step(store, "answer_scores", ledger_key(key), partition, wanted, make, context.run.run_id)

    yield from result_or_skipped(each_partition(context, store, work), [])


@table_asset(benchmark_questions, group="answering", version=ANSWER_METRICS_VERSION, table="answers")
def recorded_answers(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """Answers of other models that were recorded (FINRAG_ANSWERS__RECORDED), with their scores."""
    from finrag_pipeline.evaluation.answer_metrics import score_answers
    from finrag_pipeline.evaluation.recorded_answers import load_recorded_answers, recorded_fingerprint

    store, values = lake.open(), settings.get()
    folders = [Path(folder).expanduser() for folder in values.answers.recorded]
    questions = store.read("benchmark_questions")
    gold = [questions[column].to_pylist() for column in _GOLD]
    wanted = fingerprint("recorded_answers", ANSWER_METRICS_VERSION, recorded_fingerprint(folders), gold)

    def make() -> pa.Table:
        asked = dict(zip(gold[0], gold[1], strict=True))
        found = [ANSWERS.empty_table(), *(load_recorded_answers(folder, asked) for folder in folders)]
        loaded = pa.concat_tables(found)
        store.write("answer_scores", score_answers(loaded, questions), wanted, RECORDED)
        return loaded

    step = part_step(store, "answers", "recorded", RECORDED, wanted, make, context.run.run_id)
    step.metadata = {"folders": len(folders)}
    return result([step])


@table_asset(answer_scores, recorded_answers, group="answering", version=ANSWER_METRICS_VERSION)
def answer_metrics(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """Mean and document-cluster interval of every metric of answers, by system, space and slice."""
    store, values = lake.open(), settings.get()
    if dropped := drop_answers_to_other_questions(store):
        context.log.warning(f"answered other questions, ask them again: {', '.join(dropped)}")
    rows = store.read_all("filings", ["filing", "source"]).to_pylist()
    sources = {row["filing"]: row["source"] for row in rows}
    questions = store.read("benchmark_questions")
    wanted = fingerprint(
        "answer_metrics",
        (ANSWER_METRICS_VERSION, SUMMARY_VERSION),
        store.fingerprints("answer_scores"),
        [questions[name].to_pylist() for name in SLICED],
        sources,
        values.evaluation,
        values.seed,
    )

    def make() -> pa.Table:
        from finrag_pipeline.evaluation.answer_metrics import as_series

        series = as_series(store.read_all("answer_scores"))
        return summarise(series, questions, sources, values.evaluation)

    step = part_step(store, "answer_metrics", "", None, wanted, make, context.run.run_id)
    return result([step])


@table_asset(statement_facts, filing_chunks, page_ranker, group="answering", version=UNANSWERABLE_VERSION)
def false_answers(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """What 'finrag ask' says to questions made for this index that it cannot answer."""
    from finrag_pipeline.answering.calculator import CALCULATOR_VERSION
    from finrag_pipeline.evaluation.unanswerable import indexed_companies, unanswerable_questions
    from finrag_pipeline.services.ask import Asker

    store, values = lake.open(), settings.get()
    versions = (UNANSWERABLE_VERSION, RUNS_VERSION, CALCULATOR_VERSION)
    tables = ("filing_pages", "filing_chunks", "page_tables", "statement_facts", "page_ranker")
    wanted = fingerprint("false_answers", versions, store.fingerprints(*tables), values.encoder)

    def make() -> pa.Table:
        companies = [one for one in indexed_companies(store) if one.years]
        if not companies:
            return FALSE_ANSWERS.empty_table()
        asker = Asker(values)
        asked = unanswerable_questions(companies)
        told = [(one, asker.ask(one.question).answer) for one in asked]
        rows = [{**asdict(one), "answer": said.answer, "abstained": said.abstained} for one, said in told]
        return pa.Table.from_pylist(rows, FALSE_ANSWERS)

    step = part_step(store, "false_answers", "", None, wanted, make, context.run.run_id)
    answered = store.read("false_answers", columns=["abstained"])["abstained"].to_pylist().count(False)
    return result([step], answered=answered)
