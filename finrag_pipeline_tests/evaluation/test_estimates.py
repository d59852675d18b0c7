from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.baseline_judge import BaselineJudge
from finrag_pipeline.evaluation.judge_estimates import judge_agreement, judged_estimates
from finrag_pipeline.evaluation.judged_answers import automatic_scores, rates
from finrag_pipeline.evaluation.judges import LanguageModelJudge, judge_answers
from finrag_pipeline.evaluation.labels import draw_sample, items_of, read_labels, sampled_items, write_csv
from finrag_pipeline.evaluation.ppi import ppi_mean
from finrag_pipeline.schemas import HUMAN_LABELS, JUDGE_AGREEMENT, JUDGED_ESTIMATES, VERDICTS
from finrag_pipeline_tests.evaluation.judged_builders import answer, reply
from finrag_pipeline_tests.evaluation.test_labels import filled
from finrag_pipeline_tests.language_models.server import ScriptedModel


def verdict_rows(judge: str, labels: list[int | None], themes: str = "") -> list[dict]:
    return [
        {
            "judge": judge,
            "criterion": "relevance",
            "language": "en",
            "answer_id": f"a{i}",
            "system": "s",
            "repeat": 0,
            "space": "corpus",
            "question_id": f"q{i // 4}",
            "theme": (themes or "t" * len(labels))[i],
            "sentence": None,
            "label": label,
            "reasoning": None,
            "attempts": 1,
            "problem": None,
            "failed": False,
        }
        for i, label in enumerate(labels)
    ]


def labels_table(labels: dict[str, int | None]) -> pa.Table:
    rows = [
        {"item_id": item, "label": label, "state": "agreed", "sheet": "s.csv"}
        for item, label in labels.items()
    ]
    return pa.Table.from_pylist(rows, schema=HUMAN_LABELS)


def sample_table(strata: Sequence[str]) -> pa.Table:
    rows = {"item_id": [f"a{i}" for i in range(len(strata))], "stratum": strata}
    return pa.table(rows | {"criterion": ["relevance"] * len(strata)})


def test_the_methods_side_by_side():
    rng = np.random.default_rng(0)
    truth = (rng.random(200) < 0.8).astype(int)
    good = np.where(rng.random(200) < 0.95, truth, 1 - truth)
    verdicts = pa.Table.from_pylist(
        [*verdict_rows("good", good.tolist()), *verdict_rows("random", rng.integers(0, 2, 200).tolist())],
        schema=VERDICTS,
    )
    labels = labels_table({f"a{i}": int(truth[i]) for i in range(0, 200, 3)})
    sample = sample_table("x" * 200)
    table = judged_estimates(verdicts, labels, sample)
    assert table.schema == JUDGED_ESTIMATES
    rows = {(r["judge"], r["theme"], r["method"]): r for r in table.to_pylist()}
    assert {method for *_, method in rows} == {"human", "human_wald", "judge", "ppi", "ppi_normal"}
    normal = rows["good", "all", "ppi_normal"]
    known = list(range(0, 200, 3))
    expected = ppi_mean(truth[known], good[known], np.delete(good, known))
    assert (normal["estimate"], normal["low"], normal["lam"]) == pytest.approx(
        (expected.estimate, expected.low, expected.lam)
    )
    assert rows["good", "all", "ppi"]["effective_n"] > rows["random", "all", "ppi"]["effective_n"]
    assert rows["random", "all", "judge"]["estimate"] < 0.65 < rows["random", "all", "ppi"]["estimate"]
    widths = {name: row["high"] - row["low"] for (name, theme, method), row in rows.items()
              if (theme, method) == ("all", "ppi")}  # fmt: skip
    assert widths["good"] < widths["random"], "a judge is chosen by the width that it leaves"
    agreed = judge_agreement(verdicts, labels, sample)
    assert agreed.schema == JUDGE_AGREEMENT
    kappa = {row["judge"]: row["kappa"] for row in agreed.to_pylist() if row["theme"] == "all"}
    assert kappa["good"] > 0.6 > 0.3 > kappa["random"]


def test_missing_verdicts_are_no_scores():
    verdicts = pa.Table.from_pylist(verdict_rows("j", [1, None, 1, 0, 1, 1]), schema=VERDICTS)
    labels = labels_table({"a0": 1, "a1": 0, "a3": 0, "a4": None})
    table = judged_estimates(verdicts, labels, sample_table("x" * 6))
    rows = {r["method"]: r for r in table.to_pylist() if r["theme"] == "all"}
    assert rows["judge"]["estimate"] == pytest.approx(4 / 5)
    assert (rows["human"]["labels"], rows["human"]["missing"], rows["human"]["verdicts"]) == (2, 1, 5)


def test_weights_and_themes():
    verdicts = pa.Table.from_pylist(verdict_rows("j", [1, 1, 1, 1, 0, 0], "xxxxyy"), schema=VERDICTS)
    sample = sample_table("xxxxyy")
    table = judged_estimates(verdicts, labels_table({"a0": 1, "a4": 0}), sample)
    rows = {(r["theme"], r["method"]): r for r in table.to_pylist()}
    assert rows["all", "human"]["estimate"] == pytest.approx(4 / 6)
    assert rows["all", "human_wald"]["estimate"] == pytest.approx(1 / 2)
    assert rows["x", "human"]["estimate"] == 1
    with pytest.raises(LakeError, match="was not sampled"):
        judged_estimates(verdicts, labels_table({"zz": 1}), sample)
    with pytest.raises(LakeError, match="No label"):
        judged_estimates(verdicts.slice(0, 1), labels_table({"a4": 1}), sample)


def test_an_unfinished_sheet_is_weighted_by_the_labels_that_there_are():
    verdicts = pa.Table.from_pylist(verdict_rows("j", [1, 1, 1, 1, 0, 0]), schema=VERDICTS)
    sample = sample_table("xxxxyy")
    labels = labels_table({"a0": 1, "a1": 0, "a2": None, "a4": 1})
    (human,) = [
        row
        for row in judged_estimates(verdicts, labels, sample).to_pylist()
        if (row["theme"], row["method"]) == ("all", "human")
    ]
    # Two labels stand for two items of x each, one for both of y.
    assert human["estimate"] == pytest.approx((2 + 2) / 6)


def test_labels_count_for_their_criterion_alone():
    rows = [
        row | {"criterion": criterion, "label": label}
        for criterion, label in (("relevance", 1), ("correctness", 0))
        for row in verdict_rows("j", [1, 1, 1])
    ]
    verdicts = pa.Table.from_pylist(rows, schema=VERDICTS)
    sample = sample_table("xx")
    table = judged_estimates(verdicts, labels_table({"a0": 1, "a1": 1}), sample)
    methods = {(row["criterion"], row["method"]) for row in table.to_pylist()}
    assert ("relevance", "ppi") in methods
    assert {method for criterion, method in methods if criterion == "correctness"} == {"judge"}
    agreed = judge_agreement(verdicts, labels_table({"a0": 1}), sample).to_pylist()
    assert {row["criterion"] for row in agreed} == {"relevance"}


def test_without_labels_the_judge_stands_alone_for_each_system():
    rows = verdict_rows("j", [1, 0, 1, 1])
    rows = [row | {"system": "ab"[place % 2]} for place, row in enumerate(rows)]
    table = judged_estimates(pa.Table.from_pylist(rows, schema=VERDICTS), labels_table({}), sample_table(""))
    found = {(row["system"], row["theme"]): row["estimate"] for row in table.to_pylist()}
    assert found["a", "all"] == 1 and found["b", "all"] == pytest.approx(0.5)
    assert {row["method"] for row in table.to_pylist()} == {"judge"}


def test_the_protocol_from_answers_to_intervals(tmp_path):
    """Repeats, automatic metrics, two judges, sample, sheet out and in, inference: all of it, with a script."""
    rng = np.random.default_rng(1)
    answers = [
        answer(
            f"q{q}/{k}",
            (
                "Revenue of Torvexley was $1,577 million in fiscal year 2022."
                if rng.random() < 0.7
                else "Revenue was $9 million.",
                ("s1",),
            ),
            ("The company employs 1,200 people.", ("s2",)),
            theme="ab"[q % 2],
        )
        for q in range(10)
        for k in range(4)
    ]
    assert rates(automatic_scores(answers)).num_rows > 0

    def says(messages, seed):
        count = int(re.search(r"list of (\d+) obj", messages[0].content)[1])
        return reply(*[0 if "$9 million" in messages[1].content else 1] * count)

    verdicts = pa.concat_tables(
        [
            judge_answers(judge, answers)
            for judge in (BaselineJudge(), LanguageModelJudge(ScriptedModel(says)))
        ]
    )
    items = items_of(answers, "veracity")
    sample = draw_sample(
        answers,
        "veracity",
        lambda texts: np.array([[len(text), "9 million" in text] for text in texts], dtype=float),
        budget=12,
    )
    drawn = set(sampled_items(sample))
    chosen = [item for item in items if item["item_id"] in drawn]
    path = tmp_path / "sheet.csv"
    write_csv(chosen, path)
    people = {
        item["item_id"]: ("0", "0") if "$9 million" in item["sentence"] else ("1", "1") for item in chosen
    }
    labels = read_labels(filled(path, people), drawn)
    veracity = verdicts.filter(pa.compute.equal(verdicts["criterion"], "veracity"))
    table = judged_estimates(veracity, labels, sample)
    rows = {(r["judge"], r["method"]): r for r in table.to_pylist() if r["theme"] == "all"}
    truth = np.mean(["$9 million" not in item["sentence"] for item in items])
    for judge in ("baseline", "scripted"):
        assert rows[judge, "ppi"]["low"] <= truth <= rows[judge, "ppi"]["high"]
        assert rows[judge, "human"]["low"] <= truth <= rows[judge, "human"]["high"]
    assert rows["baseline", "judge"]["estimate"] == pytest.approx(truth), "here numbers tell all"
