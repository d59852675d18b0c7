"""Plan, calculator and rows as functions that a language model may call; what they return is a fact."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from finrag_pipeline.answering.calculator import Calculator
from finrag_pipeline.answering.evidence import EvidenceRow, closest_rows, cut
from finrag_pipeline.answering.grounding import Facts, facts_from, facts_of
from finrag_pipeline.answering.open_answer import known_name
from finrag_pipeline.answering.passages import page_source
from finrag_pipeline.errors import FinragError
from finrag_pipeline.language_models.fencing import NOTICE, fenced
from finrag_pipeline.language_models.protocol import Tool
from finrag_pipeline.questions.formula_lexicon import formula_lexicon
from finrag_pipeline.questions.plan import read_plan
from finrag_pipeline.questions.series import read_series


def _tool(name: str, description: str, **arguments: str) -> Tool:
    """A function whose arguments, with what they mean, are all texts and all needed."""
    properties = {one: {"type": "string", "description": what} for one, what in arguments.items()}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return Tool(name, description, schema | {"additionalProperties": False})


_QUESTION = "A question in words that names company and period, such as 'Acme revenue in FY2023'."

TOOLS = (
    _tool(
        "read_question",
        "How a question is understood: operation, measures, periods, series, parts of the company.",
        question=_QUESTION,
    ),
    _tool(
        "calculate",
        "Calculates the answer to a question from facts of the filings: a value, change, growth, ratio, "
        "series over quarters or years, parts of the company; with formula, steps and cells.",
        question=_QUESTION,
    ),
    _tool(
        "evaluate",
        "Computes a formula over lines of the statements of a company in a period, with cells.",
        formula="Such as 'revenue / prev(revenue) - 1' or 'operating_income@2023 / revenue@2023'. "
        "Other lines are printed labels in double quotes. Names: " + ", ".join(formula_lexicon().entries),
        company="Name of the company.",
        period="Such as 'FY2023' or 'Q2 2023'; empty for the latest.",
    ),
    _tool(
        "find_rows",
        "The printed rows of any table that come closest to a question, with their numbers and pages.",
        question=_QUESTION,
    ),
)


class FinancialTools:
    """The functions for one conversation; remembers what they returned as facts, from ``first`` on.

    ``filings`` are the only ones to use; those that a question means when None.
    """

    tools: Sequence[Tool] = TOOLS

    def __init__(self, calculator: Calculator, filings: Sequence[str] | None = None, first: int = 1) -> None:
        self._calculator = calculator
        self._filings = filings
        self._next = first
        self._found: list[Facts] = []

    def call(self, name: str, arguments: str) -> str:
        """The result of a call, fenced as quoted data; what is wrong with it where it cannot be run."""
        tool = next((one for one in self.tools if one.name == name), None)
        try:
            given = json.loads(arguments or "{}")
        except ValueError:
            given = None
        wanted = tool.parameters["required"] if tool else []
        if (
            tool is None
            or not isinstance(given, dict)
            or not all(isinstance(given.get(one), str) for one in wanted)
        ):
            return f"Error: call one of {', '.join(one.name for one in self.tools)} with texts as described."
        try:
            found = getattr(self, f"_{name}")(**{one: given[one] for one in wanted})
        except FinragError as error:
            return f"Error: {error}"
        documents, mark = fenced([found])
        return f"{NOTICE.format(mark=mark)}\n{documents}"

    def beside(self, facts: Facts) -> Facts:
        """Facts with those that the calls returned."""
        for one in self._found:
            sources, amounts = {**facts.sources, **one.sources}, (*facts.amounts, *one.amounts)
            facts = replace(facts, text=f"{facts.text}\n{one.text}", sources=sources, amounts=amounts)
        return facts

    def _remember(self, facts: Facts) -> str:
        self._next += len(facts.sources)
        self._found.append(facts)
        return facts.text

    def _read_question(self, question: str) -> str:
        resolution = self._calculator.resolver.resolve(question)
        series = read_series(question)
        lexicon = formula_lexicon()
        plan = read_plan(
            series.rest if series else question,
            resolution.printed_names,
            lambda words: known_name(words, lexicon) is not None,
        )
        read: dict[str, Any] = {"companies": resolution.companies}
        if plan is not None:
            read |= {
                "operation": plan.operation,
                "measures": {one: known_name(one, lexicon) or "a printed row" for one in plan.measures},
                "periods": [period.label for period in plan.periods],
                "by": plan.one_of,
                "yes_or_no": plan.yes_no,
            }
        if series is not None:
            ends = {"from": series.first, "to": series.last}
            read["series"] = {"each": series.each, "count": series.count} | {
                name: end.label for name, end in ends.items() if end
            }
        return json.dumps(read, ensure_ascii=False)

    def _calculate(self, question: str) -> str:
        return self._remember(facts_of(self._calculator.answer(question, filings=self._filings), self._next))

    def _evaluate(self, formula: str, company: str, period: str) -> str:
        found = self._calculator.evaluate(formula, company, period, self._filings)
        return self._remember(facts_of(found, self._next))

    def _find_rows(self, question: str) -> str:
        if self._calculator.rows is None:
            return "No rows are here."
        resolution = self._calculator.resolver.resolve(question)
        rows = closest_rows(question, resolution, self._calculator.opened, self._filings)
        lines = [(page_source(one.row.filing, one.row.page), _told(one)) for one in rows]
        amounts = (value.value for one in rows for value in one.values)
        return self._remember(facts_from(lines, amounts, self._next)) or "No row was found."


def _told(row: EvidenceRow) -> str:
    """A row as one line, its numbers in full units."""
    values = "; ".join(
        f"{cut(one.header)}: {one.value:,.12g} (printed as '{one.printed}')" for one in row.values
    )
    place = f"{row.row.filing}, page {row.row.page + 1}"
    return f"{' > '.join(cut(part) for part in row.row.path)} ({row.unit or 'no unit'}): {values} ({place})"
