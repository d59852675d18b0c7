"""Answers: what every answering system says to the benchmark's questions, and how it is scored."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from finrag_pipeline.answering.systems import get_answer_system
from finrag_pipeline.orchestration.resources import get_encoder
from finrag_pipeline.orchestration.steps import Part, Step, check, table_asset
from finrag_pipeline.orchestration.sweeps import AnswerSweep, fold_questions
from finrag_pipeline.schemas import ANSWERS, FALSE_ANSWERS

if TYPE_CHECKING:
    from finrag_pipeline.evaluation.unanswerable import UnanswerableQuestion

RECORDED = {"system": "recorded", "fold": "recorded"}
"""Part of ``answers`` that holds recorded answers of other models."""
_GOLD = ("question_id", "question", "answer")


@table_asset(
    checks={"every_question_answered": "Every question has an answer or an abstention, and no error."},
    optional=True,  # a system without its retrieval or its model leaves nothing
)
def answers(part: Part) -> Step:
    """Answers of a system to the questions of a fold, in all search spaces that its retrieval ran in."""
    sweep, system, fold = part.run.once(AnswerSweep), get_answer_system(part.system), part.partition["fold"]
    if problem := sweep.problem(system, fold):
        return part.skipped(problem)
    step = part.made(
        lambda: sweep.answers(system, fold, part.fold), wanted=sweep.fingerprint(system, fold, part.fold)
    )
    made = part.read(columns=["error", "abstained", "prompt_tokens", "completion_tokens"])
    failed = made.num_rows - made["error"].null_count
    step.checks = [check("every_question_answered", not failed, warn=True, failed=failed)]
    step.metadata = {
        "answers": made.num_rows,
        **{name: sum(filter(None, made[name].to_pylist())) for name in made.column_names[1:]},
    }
    return step


@table_asset(optional=True)  # a system that did not answer leaves nothing
def answer_scores(part: Part) -> Step:
    """Scores of a system on each question of a fold."""
    system, fold = get_answer_system(part.system), part.partition["fold"]
    if problem := part.run.once(AnswerSweep).problem(system, fold):
        return part.skipped(problem)
    questions = fold_questions(part.store, part.fold)

    def make() -> pa.Table:
        from finrag_pipeline.evaluation.answer_metrics import score_answers

        return score_answers(part.read("answers"), questions, part.store)

    return part.made(make, [questions[column].to_pylist() for column in _GOLD])


@table_asset()
def recorded_answers(part: Part) -> Step:
    """Answers of other models that were recorded (FINRAG_ANSWERS__RECORDED), with their scores."""
    from finrag_pipeline.evaluation.answer_metrics import score_answers
    from finrag_pipeline.evaluation.published import load_recorded_answers, recorded_fingerprint

    store = part.store
    folders = [Path(folder).expanduser() for folder in part.values.answers.recorded]
    questions = store.read("benchmark_questions")
    wanted = part.wanted(recorded_fingerprint(folders))

    def make() -> pa.Table:
        asked = {row["question_id"]: row["question"] for row in questions.to_pylist()}
        found = [ANSWERS.empty_table(), *(load_recorded_answers(folder, asked) for folder in folders)]
        loaded = pa.concat_tables(found)
        store.write("answer_scores", score_answers(loaded, questions), wanted, RECORDED)
        return loaded

    step = part.made(make, wanted=wanted, partition=RECORDED)
    step.metadata = {"folders": len(folders)}
    return step


@table_asset()
def false_answers(part: Part) -> Step:
    """What 'finrag ask' says to questions made for this index that it cannot answer."""
    from finrag_pipeline.evaluation.unanswerable import indexed_companies, unanswerable_questions
    from finrag_pipeline.services.ask import Asker
    from finrag_pipeline.services.search import Searcher

    values, store = part.values, part.store

    def questions() -> "list[UnanswerableQuestion]":
        companies = [one for one in indexed_companies(store) if one.years]
        return unanswerable_questions(companies) if companies else []

    def make() -> pa.Table:
        if not (asked := questions()):
            return FALSE_ANSWERS.empty_table()
        asker = Asker(values, Searcher(values, encoder=get_encoder(values, store)))
        replies = [(one, asker.ask(one.question, with_evidence=False).answer) for one in asked]
        rows = [{**asdict(one), "answer": said.answer, "abstained": said.abstained} for one, said in replies]
        return pa.Table.from_pylist(rows, FALSE_ANSWERS)

    step = part.made(make)
    step.metadata = {"answered": part.read(columns=["abstained"])["abstained"].to_pylist().count(False)}
    return step
