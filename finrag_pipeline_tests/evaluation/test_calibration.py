from __future__ import annotations

from collections import Counter

import pytest

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.baseline_judge import BaselineJudge
from finrag_pipeline.evaluation.judge_estimates import HUMAN_LABELS, LabelledAnswer, calibrate, supported
from finrag_pipeline.evaluation.judges import LanguageModelJudge, Verdict
from finrag_pipeline.schemas import JUDGE_CALIBRATION
from finrag_pipeline_tests.evaluation.judged_builders import answer, reply
from finrag_pipeline_tests.language_models.server import ScriptedModel
from finrag_pipeline_tests.recorded_data import DATA, needs_data, read_lines

ANSWERS = [answer(f"q{i}/0", (f"Revenue was ${i} million.", ("s1",))) for i in range(6)]
LABELS = [1, 1, 0, 0, 2, 2]
LABELLED = [LabelledAnswer(one, label, "x") for one, label in zip(ANSWERS, LABELS, strict=True)]


def judge_by_answer(labels: list[int | None]) -> LanguageModelJudge:
    def say(messages, seed):
        place = next(i for i in range(len(labels)) if f"Revenue was ${i} million." in messages[1].content)
        return "no JSON" if labels[place] is None else reply(labels[place])

    return LanguageModelJudge(ScriptedModel(say))


def test_worked_by_hand():
    table = calibrate(judge_by_answer([1, 0, 0, 0, 2, None]), "correctness", LABELLED)
    assert table.schema == JUDGE_CALIBRATION
    three, two = table.to_pylist()
    assert (three["labels"], three["n"], three["missing"]) == ("three", 5, 1)
    # People 1 1 0 0 2, judge 1 0 0 0 2: 4 of 5 equal; chance (2·1 + 2·3 + 1·1) / 25.
    assert three["observed"] == pytest.approx(0.8) and three["chance"] == pytest.approx(9 / 25)
    assert three["kappa"] == pytest.approx((0.8 - 0.36) / 0.64)
    assert (three["human_rate"], three["judge_rate"]) == pytest.approx((0.4, 0.2))
    assert two["observed"] == pytest.approx(0.8)


def test_groups():
    labelled = [one._replace(system=system) for one, system in zip(LABELLED, "aabbcc", strict=True)]
    table = calibrate(judge_by_answer(LABELS), "correctness", labelled)
    rows = {(row["group"], row["labels"]): row for row in table.to_pylist()}
    assert {group for group, _ in rows} == {"all", "a", "b", "c"}
    assert rows["all", "three"]["kappa"] == 1 and rows["a", "three"]["kappa"] is None


def test_a_judge_without_a_single_verdict_is_no_judge():
    with pytest.raises(LakeError, match="gave no verdict"):
        calibrate(judge_by_answer([None] * 6), "correctness", LABELLED)


def test_support_of_an_answer():
    one, none, missing = Verdict(1), Verdict(0), Verdict(None)
    assert supported(ANSWERS[0], [one, one]).label == 1
    assert supported(ANSWERS[0], [missing, none]).label == 0
    assert supported(ANSWERS[0], [one, missing]).label is None
    assert supported(answer("q/0", abstains=True), []).label == 0
    assert supported(ANSWERS[0], [one, Verdict(None, failed=True)]).failed
    assert not supported(ANSWERS[0], [one, missing]).failed


@needs_data("financebench", "results")
def test_labels_of_people_on_financebench():
    questions = {
        row["financebench_id"]: row for row in read_lines("financebench", "financebench_open_source.jsonl")
    }
    files = sorted((DATA / "financebench" / "results").glob("*.jsonl"))
    rows = [(path.stem, row) for path in files for row in read_lines("financebench", "results", path.name)]
    assert len(rows) == 2400
    names = {"Correct Answer": "correct", "Incorrect Answer": "incorrect", "Refusal": "refusal"}
    labels = [HUMAN_LABELS[names[row["label"]]] for _, row in rows]
    assert Counter(labels) == {1: 1135, 0: 528, 2: 737}
    some = slice(None, None, 16)  # for speed; of all 2,400: observed 0.827, chance 0.340, κ 0.738
    answers = [
        answer(
            f"{row['financebench_id']}/{name}",
            question=row["question"],
            text=row["model_answer"] or "",
            question_id=row["financebench_id"],
        )
        for name, row in rows[some]
    ]
    labelled = [
        LabelledAnswer(one, label, questions[one.question_id]["answer"])
        for one, label in zip(answers, labels[some], strict=True)
    ]
    found = calibrate(BaselineJudge(), "correctness", labelled).to_pylist()[0]
    assert (found["n"], found["missing"]) == (150, 0)
    assert found["observed"] == pytest.approx(0.827, abs=0.08)
    assert found["kappa"] == pytest.approx(0.738, abs=0.12)
