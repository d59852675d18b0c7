"""Figures of Martinon et al. from their published labels, and from published figures alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from finrag_pipeline.evaluation.intervals import agreement, cluster_proportion, normal_quantile
from finrag_pipeline.evaluation.ppi import ppi_mean
from finrag_pipeline.evaluation.simulations import correlation_from_agreement, expected_effective_n
from finrag_pipeline_tests.recorded_data import needs_data, read_json, read_lines

ANSWERS = ("eval_rag", "relevancy_answers.jsonl")

# Theme, chance agreement, observed agreement, human labels, effective size, verdicts in all.
TABLE_2 = [
    ("Financial", 0.62, 0.69, 29, 31.98, 791),
    ("IT", 0.43, 0.50, 30, 30.04, 551),
    ("HR", 0.61, 0.59, 29, 29.00, 325),
]
TABLE_3 = [
    ("Finance", 0.67, 0.79, 140, 155.59, 3985),
    ("IT", 0.73, 0.80, 141, 141.57, 3799),
    ("HR", 0.82, 0.88, 139, 162.36, 2408),
]


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


def effective_n_range(
    observed: float,
    chance: float,
    n: int,
    unlabelled: int,
    *,
    human: tuple[float, float],
    bias: float,
    rounding: float = 0.005,
    steps: int = 21,
) -> tuple[float, float]:
    """Least and greatest effective sample size that rounded published figures allow.

    A table of agreements (Martinon et al., Table 3) leaves open the means of labels and verdicts. Chance
    agreement ties one to the other; this goes through all that fit. The published size is z² θ (1 − θ) / u²
    at the estimate θ, which differs from the mean of the labels by λ times the distance of the verdicts on
    labelled and other answers, hence ``bias``.

    Args:
        observed: published agreement.
        chance: published chance agreement.
        n: human labels.
        unlabelled: verdicts on other answers.
        human: least and greatest mean of the human labels.
        bias: greatest distance of the judge's mean on other answers from that on labelled ones.
        rounding: half a unit of the last digit published.
        steps: values tried of each unknown.

    Returns:
        NaN twice where no means fit.
    """
    sizes: list[float] = []
    around = np.linspace(-rounding, rounding, 5)
    for mean in np.linspace(*human, steps):
        for c in chance + around:
            judge = (c - (1 - mean)) / (2 * mean - 1) if abs(mean - 0.5) > 1e-9 else math.nan
            if not 0 < judge < 1:
                continue
            for a in observed + around:
                try:
                    rho = correlation_from_agreement(a, mean, judge)
                except ValueError:
                    continue
                spread = mean * (1 - mean)
                weight = max(0.0, rho) * math.sqrt(spread / (judge * (1 - judge))) / (1 + n / unlabelled)
                base = expected_effective_n(rho, n, unlabelled)
                for shift in np.linspace(-bias, bias, 7):
                    theta = mean + weight * shift
                    sizes.append(float(base * theta * (1 - theta) / spread))
    return (min(sizes), max(sizes)) if sizes else (math.nan, math.nan)


@pytest.mark.parametrize(("theme", "chance", "observed", "n", "effective", "judged"), TABLE_3)
def test_table_3_lies_within_what_its_inputs_allow(theme, chance, observed, n, effective, judged):
    # The paper says that veracity by people is 0.80 to 0.88, and that the judge is at most 0.06 away.
    low, high = effective_n_range(observed, chance, n, judged - n, human=(0.80, 0.88), bias=0.06)
    assert low <= effective <= high
    assert high < 1.6 * n, "and none of them is worth much more than its labels"
