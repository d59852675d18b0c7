"""Questions on the filings of a company, with the evidence that stands in them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from finrag_pipeline.sample.company import Company
from finrag_pipeline.sample.readback import ReadBack
from finrag_pipeline.sample.templates import fill


@dataclass(frozen=True)
class Question:
    """A question with its answer, computed from the books or taken from the text's own constants.

    Args:
        kind: question type, as FinanceBench names it.
        sources: where the evidence stands: the mark of a passage, and words that tell its parts apart when it
            is split.
        justification: how the answer follows.
        lines: or the statement lines that it is computed from, each with its name in the question.
        reasoning: kind of reasoning, as FinanceBench names it; None for novel questions.
        domain: number of the domain-relevant question, None for others.
    """

    filing: str
    kind: str
    text: str
    answer: str
    sources: tuple[tuple[str] | tuple[str, str], ...]
    justification: str | None = None
    lines: tuple[tuple[str, str], ...] = ()
    reasoning: str | None = None
    domain: str | None = None

    def record(self, number: int, company: Company, filing: ReadBack) -> dict[str, Any]:
        """The question in FinanceBench's fields, with its evidence read from ``filing``."""
        named = [f"Metric {i}: {name}, printed as '{line}'." for i, (name, line) in enumerate(self.lines, 1)]
        computed = "The answer was computed from these line items of the filing."
        return {
            "financebench_id": f"sample_id_{number:05d}",
            "company": company.name,
            "doc_name": self.filing,
            "question_type": self.kind,
            "question_reasoning": self.reasoning,
            "domain_question_num": self.domain,
            "question": self.text,
            "answer": self.answer,
            "justification": self.justification or (" ".join([computed, *named]) if named else None),
            "dataset_subset_label": "SAMPLE",
            "evidence": [
                {
                    "evidence_text": passage.text,
                    "doc_name": self.filing,
                    "evidence_page_num": passage.page,
                    "evidence_text_full_page": filing.pages[passage.page],
                }
                for passage in (filing.find(*source) for source in self.sources)
            ],
        }


def read_questions(company: Company) -> list[Question]:
    """The questions on ``company``: a template that gives TOML, in which line breaks of a text are spaces."""
    text, _ = fill(f"questions_{company.key.lower()}.jinja", company)
    plain = [
        {key: " ".join(value.split()) if isinstance(value, str) else value for key, value in one.items()}
        for one in tomllib.loads(text)["questions"]
    ]
    return TypeAdapter(list[Question]).validate_python(plain)
