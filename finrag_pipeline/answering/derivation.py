"""An answer with its proof: formula, steps, inputs with the cells they were read from, and other readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from finrag_pipeline.statements.filed_facts import Fact


@dataclass(frozen=True)
class Input:
    """A number that a calculation read from a filing.

    Attributes:
        value: the number used, in full units; its sign may not be the printed one, see ``formulas.toml``.
    """

    line: str
    period: str
    fact: Fact
    value: float

    def as_json(self) -> dict[str, Any]:
        """The input for programs; the page as in `Fact.cited`."""
        fact = self.fact
        return {
            "line": self.line,
            "concept": fact.concept,
            "label": fact.label,
            "period": self.period,
            "period_end": str(fact.period_end),
            "statement": fact.statement,
            "filing": fact.filing,
            "page": fact.page,
            "page_label": str(fact.page + 1),
            "printed": fact.printed,
            "scale": fact.scale,
            "unit": fact.unit,
            "value": self.value,
            "box": list(fact.box) if fact.box else None,
            "fact_id": fact.fact_id,
        }


@dataclass(frozen=True)
class SeriesValue:
    """One of several values that answer a question: of a period, a part of the company, a company.

    Attributes:
        of: what the values of one of several series have in common; '' where there is one series.
        change: on the year before, in words; of a part its share of the whole; '' where neither is known.
    """

    label: str
    answer: str
    value: float
    of: str = ""
    change: str = ""


_BAR = 30
"""Length of the longest bar, in characters."""


def listing(series: Sequence[SeriesValue]) -> str:
    """Values one behind the other: 'FY2022: $3 million; FY2023: $4 million'."""
    return "; ".join(f"{one.of} {one.label}: {one.answer}".strip() for one in series)


def headline(answer: str, series: Sequence[SeriesValue]) -> str:
    """An answer without the values that a table below it shows."""
    return answer.removesuffix(listing(series)).rstrip() or answer


def bars(series: Sequence[SeriesValue]) -> list[str]:
    """Values below each other, with bars, light where negative; several series under their names."""
    most = max((abs(one.value) for one in series), default=0.0) or 1.0
    labels, answers, changes = (
        max((len(getattr(one, name)) for one in series), default=0) for name in ("label", "answer", "change")
    )
    lines: list[str] = []
    of = ""
    for one in series:
        if one.of != of:
            of = one.of
            lines.append(of)
        change = f"  {one.change:>{changes}}" if changes else ""
        bar = ("█" if one.value >= 0 else "░") * round(_BAR * abs(one.value) / most)
        lines.append(f"{one.label:{labels}}  {one.answer:>{answers}}{change}  {bar}".rstrip())
    return lines


@dataclass(frozen=True)
class Derivation:
    """What the calculator found; `as_json` is the documented contract.

    Attributes:
        answer: for people; what cannot be determined and why where it abstains.
        value: in ``unit``, rounded as asked; None where it abstains.
        unit: for instance ``USD million``, ``percent``, ``ratio``, ``times``, ``days``, ``USD per share``.
        steps: how the value comes about, one line each.
        alternatives: values by other conventions, and facts that contradict an input: ``{what, answer, why}``
            and more.
        kind: kind of abstention, see :class:`~finrag_pipeline.questions.abstention.AbstentionKind`.
        filings: filings that the question may mean; None where it names no company of several.
        names: words of the companies' names, in lower case.
        exact: the value in full units before rounding: money in dollars, shares of one for per cent.
        confidence: probability that the answer is right, in [0, 1]; None where none is stated.
        from_rows: it rests on rows of any table, found by the words of the question.
    """

    question: str
    answer: str
    value: float | None = None
    unit: str | None = None
    formula: str | None = None
    steps: tuple[str, ...] = ()
    inputs: tuple[Input, ...] = ()
    alternatives: tuple[dict[str, Any], ...] = ()
    abstained: bool = False
    kind: str | None = None
    why: str | None = None
    looked_for: tuple[str, ...] = ()
    filings: tuple[str, ...] | None = ()
    names: frozenset[str] = frozenset()
    exact: float | None = None
    seconds: float = 0.0
    confidence: float | None = None
    from_rows: bool = False
    series: tuple[SeriesValue, ...] = ()

    def citations(self) -> list[dict[str, Any]]:
        """Cells cited, once each: ``{filing, page, page_label, fact_id}``."""
        return list({item.fact.fact_id: item.fact.cited() for item in self.inputs}.values())

    def as_json(self) -> dict[str, Any]:
        """The derivation for programs."""
        return {
            "question": self.question,
            "answer": self.answer,
            "value": self.value,
            "unit": self.unit,
            "formula": self.formula,
            "steps": list(self.steps),
            "inputs": [item.as_json() for item in self.inputs],
            "citations": self.citations(),
            "alternatives": list(self.alternatives),
            "abstained": self.abstained,
            "kind": self.kind,
            "why": self.why,
            "looked_for": list(self.looked_for),
            "confidence": self.confidence,
            "from_rows": self.from_rows,
            "series": [asdict(one) for one in self.series],
            "plot": bars(self.series),
            "seconds": self.seconds,
        }

    def as_text(self) -> str:
        """The derivation for people, in lines."""
        if self.abstained:
            return self.answer
        lines = [headline(self.answer, self.series), ""]
        if self.series:
            lines += [*(f"  {line}" for line in bars(self.series)), ""]
        lines.append(f"  formula  {self.formula}")
        lines += [f"  {step}" for step in self.steps]
        lines += ["", "  from"]
        for item in self.inputs:
            fact = item.fact
            lines.append(
                f"    {item.line}, {item.period}: {fact.printed} ('{fact.label}'), "
                f"{fact.filing} p. {fact.page + 1}"
            )
        shown = {one.label for one in self.series}
        others = [other for other in self.alternatives if other.get("named") not in shown]
        if others:
            lines += ["", "  also"]
            lines += [f"    {other['what']}: {other['answer']} ({other['why']})" for other in others]
        return "\n".join(lines)
