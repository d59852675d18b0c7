"""A question of the sample benchmark before its evidence is looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from finrag_pipeline.sample.company import Company
from finrag_pipeline.sample.readback import ReadBack

METRICS = "metrics-generated"
DOMAIN = "domain-relevant"
NOVEL = "novel-generated"


@dataclass(frozen=True)
class Source:
    """Where evidence stands: the mark of a passage, and words that tell its parts apart when it is split."""

    mark: str
    containing: str = ""


@dataclass(frozen=True)
class Question:
    """A question with its answer, computed from the books or taken from the text's own constants.

    Args:
        company: who is asked about.
        filing: the gold filing.
        kind: question type, as FinanceBench names it.
        text: the question.
        answer: the gold answer.
        sources: where the evidence stands.
        justification: how the answer follows.
        reasoning: kind of reasoning, as FinanceBench names it; None for novel questions.
        domain: number of the domain-relevant question, None for others.
    """

    company: Company
    filing: str
    kind: str
    text: str
    answer: str
    sources: tuple[Source, ...]
    justification: str | None = None
    reasoning: str | None = None
    domain: str | None = None

    def record(self, number: int, filing: ReadBack) -> dict[str, Any]:
        """The question in FinanceBench's fields, with its evidence read from ``filing``."""
        found = [filing.find(source.mark, source.containing) for source in self.sources]
        return {
            "financebench_id": f"sample_id_{number:05d}",
            "company": self.company.name,
            "doc_name": self.filing,
            "question_type": self.kind,
            "question_reasoning": self.reasoning,
            "domain_question_num": self.domain,
            "question": self.text,
            "answer": self.answer,
            "justification": self.justification,
            "dataset_subset_label": "SAMPLE",
            "evidence": [
                {
                    "evidence_text": passage.text,
                    "doc_name": self.filing,
                    "evidence_page_num": passage.page,
                    "evidence_text_full_page": filing.pages[passage.page],
                }
                for passage in found
            ],
        }


def line_items(*pairs: tuple[str, str]) -> str:
    """A justification that names the statement lines used: (metric, line as printed)."""
    parts = [f"Metric {i}: {metric}, printed as '{label}'." for i, (metric, label) in enumerate(pairs, 1)]
    return "The answer was computed from these line items of the filing. " + " ".join(parts)
