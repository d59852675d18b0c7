"""Figures of Martinon et al. from their published labels, and from published figures alone."""

from __future__ import annotations

import pytest

from finrag_pipeline.evaluation.intervals import agreement, cluster_proportion, normal_quantile
from finrag_pipeline.evaluation.ppi import ppi_mean
from finrag_pipeline.evaluation.simulations import effective_n_range
from finrag_pipeline.services import experiments
from finrag_pipeline_tests.recorded_data import needs_data, read_json, read_lines

ANSWERS = ("eval_rag", "relevancy_answers.jsonl")

TABLE_2, TABLE_3 = (
    [(row.label, row.chance, row.observed, row.labels, row.effective, row.judged) for row in table]
    for table in (experiments.TABLE_2, experiments.TABLE_3)
)


def labels_of(theme: str) -> tuple[list[float], list[float], list[float], list[str], list[str]]:
    """Labels, verdicts on them, other verdicts, and the questions of both."""
    rows = [row for row in read_lines(*ANSWERS) if theme in (row["thème"], "ALL")]
    judged = [row for row in rows if row["relevancy_llm"] is not None]
    labelled = [row for row in judged if row["relevancy_humaine"] is not None]
    others = [row for row in judged if row["relevancy_humaine"] is None]
    return (
        [row["relevancy_humaine"] for row in labelled],
        [row["relevancy_llm"] for row in labelled],
        [row["relevancy_llm"] for row in others],
        [row["question id"] for row in labelled],
        [row["question id"] for row in others],
    )


@needs_data(*ANSWERS)
@pytest.mark.parametrize(("theme", "chance", "observed", "n", "effective", "judged"), TABLE_2)
def test_table_2(theme, chance, observed, n, effective, judged):
    labels, verdicts, others, *_ = labels_of(theme)
    assert len(labels) == n and len(labels) + len(others) == judged
    found = ppi_mean(labels, verdicts, others)
    assert found.effective_n == pytest.approx(effective, abs=0.05)
    # "Taille effective": labels that a Wald interval of this width would take.
    spread = found.estimate * (1 - found.estimate)
    size = normal_quantile(0.95) ** 2 * spread / ((found.high - found.low) / 2) ** 2
    assert size == pytest.approx(found.effective_n)
    compared = agreement(labels, verdicts)
    assert compared.observed == pytest.approx(observed, abs=0.005)
    assert compared.chance == pytest.approx(chance, abs=0.005)


@needs_data("eval_rag", "ppi_reference.json")
def test_intervals_of_the_recorded_labels():
    for case in read_json("eval_rag", "ppi_reference.json")["results"]:
        labels, verdicts, others, *_ = labels_of(case["theme"])
        assert (len(labels), len(others)) == (case["n"], case["N"])
        for name, lam in (("ppi_lam_opt", None), ("ppi_lam_1", 1.0)):
            found = ppi_mean(labels, verdicts, others, lam=lam)
            expected = tuple(case[name][key] for key in ("point", "lo", "hi"))
            assert (found.estimate, found.low, found.high) == pytest.approx(expected, abs=1e-9)
        assert agreement(labels, verdicts).observed == pytest.approx(case["agreement"], abs=1e-12)


@needs_data(*ANSWERS)
def test_verdicts_on_twenty_answers_are_worth_far_fewer():
    for theme, most in (("Financial", 100), ("IT", 60), ("HR", 30)):
        _, verdicts, others, questions, other_questions = labels_of(theme)
        found = cluster_proportion(verdicts + others, questions + other_questions)
        assert found.effective_n < most, theme


@pytest.mark.parametrize(("theme", "chance", "observed", "n", "effective", "judged"), TABLE_3)
def test_table_3_lies_within_what_its_inputs_allow(theme, chance, observed, n, effective, judged):
    # The paper says that veracity by people is 0.80 to 0.88, and that the judge is at most 0.06 away.
    low, high = effective_n_range(observed, chance, n, judged - n, human=(0.80, 0.88), bias=0.06)
    assert low <= effective <= high
    assert high < 1.6 * n, "and none of them is worth much more than its labels"
