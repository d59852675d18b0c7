"""How likely an answer from printed rows is right.

Trees (Friedman, Greedy function approximation, 2001, section 4.4) weigh how surely each row is meant and what
the question and its plan are like. They learned from answers to questions of people
(``benchmarks.answer_confidence``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from safetensors.numpy import load

from finrag_pipeline.answering.derivation import Input
from finrag_pipeline.answering.row_book import AHEAD
from finrag_pipeline.answering.row_matcher import log_odds
from finrag_pipeline.questions.plan import Operation, QuestionPlan
from finrag_pipeline.statements.trees import probabilities

CONFIDENCE_FILE = "answer_confidence.safetensors"
"""The shipped trees, made by ``python -m benchmarks.answer_confidence``."""

_LEAST_OF_ROWS = (
    "coverage", "alone", "together", "likeness", "alone_behind", "together_behind", "any", "near", "size",
    "lessened", AHEAD,
)  # fmt: skip
_MOST_OF_ROWS = ("label_extra", "unsaid", "context_unsaid")
"""Signs of rows; that of the worst row counts."""

_OF_ROWS = ("least", "second", "product", "doubt", "inputs", "primary", "rows")
_OF_PLAN = (
    "operation", "number", "direction", "measure", "meant", "verdict", "yes_no", "one_of", "among_periods",
    "partial", "named", "unread", "topic", "words", "measure_words",
)  # fmt: skip

SIGNS_OF_ANSWERS = (
    *_OF_ROWS,
    *(f"least_{name}" for name in _LEAST_OF_ROWS),
    *(f"most_{name}" for name in _MOST_OF_ROWS),
    *_OF_PLAN,
    *(f"is_{operation}" for operation in Operation),
    "several",
    "prior",
)
"""What trees judge an answer by, in order.

Log-odds of the ``least`` and ``second`` least likely row and the log of the ``product`` of four; the log of
what is left after other doubts; counts of inputs and of names that were looked up, and the share of inputs
from primary statements; the worst of each sign of the rows; logs of the probabilities of the plan's parts and
what it has; whether several companies are compared; the log-odds of the product of all probabilities.
"""

_NO_SECOND = 5.0
_MOST_ROWS, _MOST_INPUTS = 4, 6


def signs_of_rows(
    chances: Iterable[float], rows: Sequence[Mapping[str, float]], doubt: float, inputs: Sequence[Input]
) -> dict[str, float]:
    """What the rows of one company tell of its answer.

    Args:
        chances: probability of each row and line.
        rows: signs of each row that was looked up.
        doubt: what is left of the confidence after all else.
        inputs: of the answer.
    """
    least = sorted(chances)[:_MOST_ROWS] or [1.0]
    primary = sum(one.fact.scope == "primary" for one in inputs)
    found = {
        "least": float(log_odds(least[0])),
        "second": float(log_odds(least[1])) if len(least) > 1 else _NO_SECOND,
        "product": float(np.log(np.clip(least, 1e-5, 1)).sum()),
        "doubt": _log(doubt),
        "inputs": min(len(inputs), _MOST_INPUTS),
        "primary": primary / max(1, len(inputs)),
        "rows": len(rows),
    }
    for name in _LEAST_OF_ROWS:
        found[f"least_{name}"] = min((one[name] for one in rows), default=0.0)
    for name in _MOST_OF_ROWS:
        found[f"most_{name}"] = max((one[name] for one in rows), default=0.0)
    return found


def signs_of_answer(
    question: str, plan: QuestionPlan, rows: Mapping[str, float], several: bool, prior: float
) -> np.ndarray:
    """`SIGNS_OF_ANSWERS`, shape (signs,).

    Args:
        question: as asked.
        plan: of the question.
        rows: `signs_of_rows` of the least sure company.
        several: whether several companies are compared.
        prior: the product of all probabilities.
    """
    of_plan = {
        "operation": _log(plan.chance),
        "number": _log(plan.number_chance),
        "direction": _log(plan.direction_chance),
        "measure": _log(plan.measure_chance),
        "meant": bool(plan.meant),
        "verdict": plan.verdict is not None,
        "yes_no": plan.yes_no,
        "one_of": plan.one_of is not None,
        "among_periods": plan.among_periods,
        "partial": plan.partial,
        "named": bool(plan.names),
        "unread": len(" ".join(plan.unread).split()),
        "topic": bool(plan.topic),
        "words": len(question.split()),
        "measure_words": max((len(one.split()) for one in plan.measures), default=0),
    }
    operations = {f"is_{one}": one is plan.operation for one in Operation}
    found = {**rows, **of_plan, **operations, "several": several, "prior": float(log_odds(prior))}
    return np.array([found[name] for name in SIGNS_OF_ANSWERS], np.float32)


def _log(chance: float) -> float:
    return math.log(max(chance, 1e-6))


def answer_confidence(signs: np.ndarray) -> float:
    """Probability that an answer of `SIGNS_OF_ANSWERS` is right."""
    return float(probabilities(_trees(), signs[None])[0])


@cache
def _trees() -> Mapping[str, np.ndarray]:
    return load((files("finrag_pipeline.answering") / CONFIDENCE_FILE).read_bytes())
