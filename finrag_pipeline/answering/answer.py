"""One answer with its proof, whichever way it was made: calculated, quoted, written by a language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from finrag_pipeline.answering.comparisons import asks_for_verdict
from finrag_pipeline.answering.derivation import Derivation
from finrag_pipeline.answering.extractive import (
    Embed,
    ExtractiveAnswer,
    answer_from_text,
    kind_of,
    no_verdict,
)
from finrag_pipeline.answering.modes import AnswerMode, Mode
from finrag_pipeline.answering.passages import Passage
from finrag_pipeline.questions.abstention import AbstentionKind
from finrag_pipeline.settings import AnswerSettings

if TYPE_CHECKING:
    from finrag_pipeline.answering.generation import Generated
    from finrag_pipeline.answering.tools import FinancialTools
    from finrag_pipeline.language_models.protocol import LanguageModel

TEXT_MAY_ANSWER = (AbstentionKind.NOT_A_CALCULATION, AbstentionKind.NOT_UNDERSTOOD)
"""Kinds of abstention of the calculator after which sentences are looked at."""


@dataclass(frozen=True)
class Answer:
    """An answer and what it rests on.

    Attributes:
        derivation: the calculator's, also where it abstains.
        text: quotes and verdicts; None where the derivation is the whole answer.
        generated: the language model's; None in the mode ``calculator``.
    """

    mode: AnswerMode
    derivation: Derivation
    text: ExtractiveAnswer | None
    generated: Generated | None
    passages: tuple[Passage, ...]

    @property
    def _said(self) -> Generated | ExtractiveAnswer | Derivation:
        return self.generated or self.text or self.derivation

    @property
    def answer(self) -> str:
        """The answer for people."""
        return self._said.answer or (self.generated.error if self.generated else None) or ""

    @property
    def abstained(self) -> bool:
        """Whether the answer is that it cannot be determined."""
        return self._said.abstained

    @property
    def why(self) -> str | None:
        """Why it abstains; None where it does not."""
        return self._said.why

    @property
    def sources(self) -> tuple[str, ...]:
        """Identifiers of the passages and pages that the answer cites."""
        if self.generated is not None:
            return self.generated.citations
        if self.text is None:
            return ()
        return tuple(dict.fromkeys(source for one in self.text.sentences for source in one.sources))

    def citations(self) -> list[dict[str, Any]]:
        """Cells and pages cited, once each: ``{filing, page, page_label}``, and ``fact_id`` of a cell."""
        cells = self.derivation.citations() if self.generated is None or self.mode == "grounded" else []
        pages = {
            (one.filing, one.page): {
                "filing": one.filing, "page": one.page, "page_label": str(one.page + 1)
            }
            for one in self.passages
            if one.source in self.sources
        }  # fmt: skip
        seen = {(cell["filing"], cell["page"]) for cell in cells}
        return [*cells, *(page for place, page in pages.items() if place not in seen)]

    def as_json(self) -> dict[str, Any]:
        """The derivation's fields with what this answer says in their place, ``mode`` and ``quotes``."""
        found = self.derivation.as_json()
        made = self.generated
        found |= {
            "mode": self.mode,
            "answer": self.answer,
            "citations": self.citations(),
            "abstained": self.abstained,
            "why": self.why,
            "quotes": [
                {"text": q.text, "filing": q.filing, "page": q.page, "page_label": str(q.page + 1)}
                for q in (self.text.quotes if self.text is not None else ())
            ],
            "warnings": list(made.warnings) if made else [],
            "fallback": made.fallback if made else None,
            "model": made.completion.model if made and made.completion else None,
        }
        if self.text is not None:
            found |= {"kind": None} | ({"value": None, "unit": None} if self.text.abstained else {})
        return found

    def as_text(self) -> str:
        """The answer for people, with its proof, in lines."""
        if self.generated is None and self.text is None:
            return self.derivation.as_text()
        lines = [self.answer]
        if not self.derivation.abstained:
            lines += ["", *(f"  {line}" for line in self.derivation.as_text().splitlines())]
        if self.generated is not None:
            lines += [f"  warning: {warning}" for warning in self.generated.warnings]
            if self.generated.fallback:
                lines.append(f"  the model's own words were not let through: {self.generated.fallback}")
        return "\n".join(lines)


def pages_of(passages: Sequence[Passage]) -> list[tuple[str, int]]:
    """(filing, page) of the passages, once each, best first."""
    return list(dict.fromkeys((passage.filing, passage.page) for passage in passages))


def explain(derivation: Derivation, passages: Sequence[Passage] = (), embed: Embed | None = None) -> Answer:
    """The answer that a derivation gives: its figure, its verdict, or quotes where nothing can be computed.

    Quoted are ``passages``, best first; ``embed`` gives vectors of sentences, without it words alone decide.
    """
    question = derivation.question
    text: ExtractiveAnswer | None = None
    # An answer from rows judges what it must itself.
    if not derivation.abstained and not derivation.from_rows:
        yes_no = kind_of(question) == "yes_no"
        if yes_no or asks_for_verdict(question):
            found = answer_from_text(question, (), None, derivation)
            text = found if found.verdict is not None else no_verdict(derivation) if yes_no else None
    elif derivation.abstained and derivation.kind in TEXT_MAY_ANSWER:
        own = [passage for passage in passages if passage.filing in (derivation.filings or ())]
        text = answer_from_text(question, own, embed, names=derivation.names, why=derivation.why)
    return Answer("calculator", derivation, text, None, tuple(passages))


def answer_with_model(
    model: LanguageModel,
    mode: Mode,
    derivation: Derivation,
    passages: Sequence[Passage],
    settings: AnswerSettings,
    tools: Callable[[int], FinancialTools] | None = None,
) -> Answer:
    """The same question answered by a language model, ``grounded`` in the calculator's derivation."""
    from finrag_pipeline.answering.generation import Asked, generate  # nothing else needs them

    asked = Asked(derivation.question, tuple(passages), derivation if mode == "grounded" else None, tools)
    (generated,) = generate(model, mode, [asked], settings.model_copy(update={"repeats": 1}))
    return Answer(mode, derivation, None, generated, asked.passages)
