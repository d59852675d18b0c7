"""Questions on the filings of a company, with the evidence that stands in them.

Finished PDFs are read back, so that gold evidence is literally what an extractor sees on the page.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.filings.pdf import read_pages
from finrag_pipeline.sample.company import Company
from finrag_pipeline.sample.templates import fill
from finrag_pipeline.sample.typesetting import Place

_SLACK = 2.0  # points by which a line may stand out of the recorded box
_ALL_PAGES = 1_000


@dataclass(frozen=True)
class Passage:
    """A marked passage: its zero-based page and its text, which is a substring of the page's text."""

    page: int
    text: str


@dataclass(frozen=True)
class ReadBack:
    """A filing as an extractor sees it.

    Args:
        name: the filing.
        pages: text of each page.
        passages: marked passages; one that runs over two pages has two entries.
    """

    name: str
    pages: Sequence[str]
    passages: dict[str, list[Passage]]

    def find(self, mark: str, containing: str = "") -> Passage:
        """The one passage under ``mark`` whose text holds ``containing``.

        Raises:
            BenchmarkError: there is none, or more than one.
        """
        found = [p for p in self.passages.get(mark, []) if containing in p.text]
        if len(found) != 1:
            raise BenchmarkError(
                f"Sample filing {self.name} has {len(found)} passages '{mark}' with '{containing}', not one.",
                "Correct the mark in the sample's questions or documents.",
            )
        return found[0]


def read_back(path: Path, name: str, places: Iterable[Place]) -> ReadBack:
    """Extract the text of every page of the PDF at ``path`` and of its marked passages.

    The pipeline's own extraction is used, so that evidence agrees with it to the letter.

    Raises:
        BenchmarkError: a marked passage does not stand in one piece in the text of its page.
    """
    rows = read_pages(path, name, 0, _ALL_PAGES).select(["text", "words"]).to_pylist()
    passages: dict[str, list[Passage]] = {}
    for place in places:
        text = _passage(**rows[place.page], place=place)
        if text is None:
            raise BenchmarkError(
                f"Passage '{place.mark}' is not in one piece on page {place.page} of the sample filing "
                f"{name}.",
                "Set it apart from its neighbours in the sample's layout.",
            )
        passages.setdefault(place.mark, []).append(Passage(place.page, text))
    return ReadBack(name, [row["text"] for row in rows], passages)


def _passage(text: str, words: Sequence[Mapping[str, Any]], place: Place) -> str | None:
    """The lines of a page's ``text`` that stand in ``place``, or None if they do not follow one another."""
    middles: dict[tuple[int, int], float] = {}
    for word in words:
        middles.setdefault((word["block"], word["line"]), (word["y0"] + word["y1"]) / 2)
    lines = text.split("\n")
    printed = [i for i, line in enumerate(lines) if line.strip()]
    if len(printed) != len(middles):
        return None
    top, bottom = place.top - _SLACK, place.bottom + _SLACK
    inside = [k for k, middle in enumerate(middles.values()) if top <= middle <= bottom]
    if not inside or inside != list(range(inside[0], inside[-1] + 1)):
        return None
    return "\n".join(lines[printed[inside[0]] : printed[inside[-1]] + 1])


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
