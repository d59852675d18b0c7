"""What of a gold page's evidence stands in other texts: its words, and the numbers that carry the answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from finrag_pipeline.answering.passages import Passage
from finrag_pipeline.answering.quantities import years_in
from finrag_pipeline.rankers.page_ranker.terms import terms

HELD = 0.5
"""Share of the evidence's words, of those that its page has at all, which a passage that holds it repeats.

An annotated passage may be longer than a chunk, and the text of a page differs from the annotator's (reading
order, lost spaces); so words are counted without their order and against what the whole page reaches. Among
windows of a page shares are near 1 or below 0.3: any threshold between gives the same levels.
"""

REPEATED = 0.8
"""The same for another page that says again what a gold page says, for the numbers of the evidence, and for
the likeness of the best matching stretch of its text (normalised Indel similarity)."""

LEAST_DIGITS = 3
"""Significant digits of a number that is looked for; fewer stand on every page."""

LEAST_DIGITS_TOGETHER = 4
"""Significant digits of all numbers that are looked for together."""

_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|[.,]\d)")


@lru_cache(maxsize=1 << 15)
def page_words(text: str) -> Counter[str]:
    """Stemmed words and numbers of a text with how often they occur, stop words left out."""
    return Counter(terms(text))


@lru_cache(maxsize=1 << 15)
def long_numbers(text: str) -> frozenset[float]:
    """Numbers of a text as printed, without sign and scale: those of three significant digits, no years."""
    found = set()
    for printed in _NUMBER.findall(text):
        value = float(printed.replace(",", ""))
        year = 1900 <= value <= 2100 and len(printed) == 4
        if not year and significant_digits(value) >= LEAST_DIGITS:
            found.add(value)
    return frozenset(found)


def significant_digits(value: float) -> int:
    """Significant digits of a number, zeros at its end left out.

    >>> significant_digits(1577.0), significant_digits(0.083), significant_digits(1500.0)
    (4, 2, 2)
    """
    return len(f"{abs(value):.6f}".replace(".", "").strip("0"))


def repeated_share(evidence: str, texts: Iterable[str]) -> float:
    """Share of the words of ``evidence`` that stand in the texts together; 0.0 for evidence without words."""
    wanted, found = page_words(evidence), Counter[str]()
    for text in texts:
        found += page_words(text)
    return sum((wanted & found).values()) / wanted.total() if wanted else 0.0


@dataclass(frozen=True)
class GoldPage:
    """A gold page of a question.

    Attributes:
        filing: gold filing.
        page: zero-based page.
        text: text of the whole page.
        evidence: annotated passages of the page, joined.
        numbers: numbers of the gold answer and its justification that the page prints, else those of its
            facts that the question asks for; see :func:`gold_pages`.
    """

    filing: str
    page: int
    text: str
    evidence: str
    numbers: frozenset[float]

    @cached_property
    def reach(self) -> float:
        """Share of the evidence's words that the whole page has."""
        return repeated_share(self.evidence, [self.text])

    def held_by(self, texts: Sequence[str]) -> bool:
        """Whether passages of this page hold the evidence: enough of its words, or all of its numbers."""
        if self.numbered and self.numbers <= frozenset[float]().union(*map(long_numbers, texts)):
            return True
        # Where the annotator's text has no word of the page, nothing can be said against its passages.
        return repeated_share(self.evidence, texts) >= HELD * self.reach

    def repeated_by(self, text: str) -> bool:
        """Whether another page says the same: all of the numbers; without any, the words in their order."""
        if self.numbered:
            return self.numbers <= long_numbers(text)
        printed = {word for word in page_words(self.evidence) if any(map(str.isdigit, word))}
        if len(printed & page_words(text).keys()) < REPEATED * len(printed):
            return False
        if not repeated_share(self.evidence, [text]) >= REPEATED * self.reach > 0:
            return False
        from rapidfuzz.fuzz import partial_ratio

        # Few words stand on many pages: the best matching stretch of the page must be like them as well.
        return partial_ratio(_folded(self.evidence), _folded(text), score_cutoff=100 * REPEATED) > 0

    @property
    def numbered(self) -> bool:
        """Whether the numbers are enough to know the page by."""
        return sum(map(significant_digits, self.numbers)) >= LEAST_DIGITS_TOGETHER


def gold_pages(
    question: Mapping[str, Any],
    page_texts: Mapping[tuple[str, int], str],
    facts: Mapping[tuple[str, int], Sequence[Mapping[str, Any]]],
) -> list[GoldPage]:
    """The gold pages of a question with what is looked for on them.

    The numbers of a page are those that its text shares with the gold answer and its justification. Where
    there are none (a ratio is printed nowhere), they are those of its facts of which every word of the label
    stands in the question or its justification, in the fiscal years that the question names, if any.

    Args:
        question: row of ``benchmark_questions``.
        page_texts: text by filing and zero-based page.
        facts: rows of ``statement_facts`` by filing and page.
    """
    told = f"{question['answer']}\n{question['justification'] or ''}"
    asked = set(terms(f"{question['question']}\n{told}"))
    years = years_in(question["question"])
    found = []
    for page in question["gold_pages"]:
        place = question["filing"], page
        text = page_texts.get(place, "")
        numbers = long_numbers(told) & long_numbers(text)
        if not numbers:
            named = (
                fact["printed"]
                for fact in facts.get(place, ())
                if (not years or fact["fiscal_year"] in years) and _all_words(fact["label"], asked)
            )
            numbers = frozenset[float]().union(*map(long_numbers, named))
        passages = (item["text"] for item in question["evidence"] if item["page"] == page)
        found.append(GoldPage(*place, text, "\n".join(passages), numbers))
    return found


def _folded(text: str) -> str:
    return " ".join(text.lower().split())


def _all_words(label: str, asked: set[str]) -> bool:
    words = set(terms(label))
    return bool(words) and words <= asked


def texts_on(passages: Iterable[Passage], page: GoldPage) -> list[str]:
    """Texts of the passages that stand on a gold page."""
    return [one.text for one in passages if (one.filing, one.page) == (page.filing, page.page)]
