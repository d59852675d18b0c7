"""What kind of answer a question asks for, read out of its plan, and not out of the labels of a benchmark."""

from __future__ import annotations

from collections.abc import Sequence

from finrag_pipeline.answering.extractive import core_question, kind_of
from finrag_pipeline.answering.open_answer import known_name
from finrag_pipeline.questions.definitions import split_definitions
from finrag_pipeline.questions.formula_lexicon import Formula, formula_lexicon
from finrag_pipeline.questions.plan import Operation, Verdict, read_plan

KINDS = ("value", "ratio", "change", "trend", "segment", "quarter", "comparison", "yes/no", "other")
"""Kinds in the order in which they are shown."""

_COMPARED = (Verdict.MORE, Verdict.LESS, Verdict.LARGEST, Verdict.SMALLEST)
_RATIO_UNITS = ("percent", "ratio", "times", "days")
_FEWEST_OF_A_TREND = 3
"""Periods; of two, the change between them is what is asked for."""


def question_kind(question: str, companies: Sequence[str] = ()) -> str:
    """One of :data:`KINDS`: the first that applies, in the order of the code.

    ``other`` are questions for text, sums and averages. Instructions about the answer and definitions do not
    count. A quarter counts before the change or ratio that is taken of it, because it is what is hard to
    find.

    Args:
        question: the question.
        companies: names of companies that it may name.
    """
    if kind_of(question) == "yes_no":
        return "yes/no"
    lexicon = formula_lexicon()
    asked, defined = split_definitions(core_question(question))
    plan = read_plan(asked, companies, lambda words: known_name(words, lexicon) is not None)
    if plan is None:
        return "other"
    if plan.yes_no:
        return "yes/no"
    if plan.one_of is not None:
        return "segment"
    if plan.among_periods or plan.each or len(plan.periods) >= _FEWEST_OF_A_TREND or plan.years_back > 1:
        return "trend"
    if plan.verdict in _COMPARED or len(plan.of_company) > 1 or plan.operation is Operation.DIFFERENCE:
        return "comparison"
    if any(period.quarter is not None for period in plan.periods):
        return "quarter"
    if plan.operation in (Operation.CHANGE, Operation.GROWTH):
        return "change"
    named = (lexicon.entries.get(known_name(words, lexicon) or "") for words in plan.measures)
    by_name = any(isinstance(one, Formula) and one.unit in _RATIO_UNITS for one in named)
    if plan.operation is Operation.RATIO or plan.margin or by_name or any("/" in d.text for d in defined):
        return "ratio"
    if plan.names:
        return "segment"
    return "value" if plan.operation is Operation.VALUE else "other"
