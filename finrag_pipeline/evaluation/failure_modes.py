"""Failure modes that the papers name, each as a rule over what is in the lake.

They are measurements and read the gold labels. A question can have several; none of them says that the mode
is the only cause. "Passages" are the first k chunks of a ranking, or what an answering system was given.

Where the filing or a gold page is missing from the passages:

* ``wrong_company``: before the first passage of the gold filing (anywhere, if there is none) stands one of
  another company.
* ``wrong_year``: there stands one of a filing of the right company for another fiscal year. Filings without
  a known fiscal year are not called wrong.
* ``lexical_gap``: every missing gold page has at most half of the question's content words, and at most three
  quarters of what the pages of the passages have of them on average. Content words are stemmed, without stop
  words, words with digits and the name of the company, which all pages of a company share alike.
* ``unannotated_page``: a passage stands on another page of the gold filing that says what a missing one does:
  it prints all the numbers that carry the answer, in the same scale; or, where there are none, it repeats
  0.8 of the evidence's words, of its numbers, and of its wording.
* ``multi_statement_gap``: of several gold pages some are among the passages, and some are not.

Where an answer was given and is wrong:

* ``scale_error``: the gold answer is a number, and the answered one is it times or over 100, 10³, 10⁶ or 10⁹,
  up to rounding, at most 3 %; signs are not looked at, nor are numbers of one digit.
* ``invented_number``: the answer's number stands in no passage, nor in the question, nor among the inputs,
  steps and result of a recorded calculation (:mod:`finrag_pipeline.answering.support`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import takewhile
from statistics import fmean
from typing import Any, NamedTuple

from finrag_pipeline.answering.final_answer import final_answer
from finrag_pipeline.answering.passages import Passage
from finrag_pipeline.answering.quantities import Quantity, years_in
from finrag_pipeline.answering.support import Sources
from finrag_pipeline.evaluation.numeric_match import STRICT_RELATIVE, TOLERANCE, gold_number
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.resolver.companies import read_companies

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

Place = tuple[str, int]
"""Filing and zero-based page."""

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
class FilingIdentity:
    """Key of the company, the same for all of its filings, and fiscal year, None if unknown."""

    company: str
    fiscal_year: int | None

    def wrong_beside(self, gold: FilingIdentity) -> str | None:
        """``wrong_company`` or ``wrong_year`` where the gold filing is another's; a year may be unknown."""
        if self.company != gold.company:
            return "wrong_company"
        known = None not in (self.fiscal_year, gold.fiscal_year)
        return "wrong_year" if known and self.fiscal_year != gold.fiscal_year else None


@dataclass(frozen=True)
class LakeTexts:
    """What the lake says of filings, pages and chunks.

    Attributes:
        chunks: text by chunk identifier.
        pages: text by filing and zero-based page.
        facts: rows of ``statement_facts`` by filing and page, at least of the gold pages.
        identities: company and fiscal year of every filing.
    """

    chunks: Mapping[str, str]
    pages: Mapping[Place, str]
    facts: Mapping[Place, Sequence[Mapping[str, Any]]]
    identities: Mapping[str, FilingIdentity]


@dataclass(frozen=True)
class GoldPage:
    """A gold page of a question.

    Attributes:
        place: gold filing and zero-based page.
        text: text of the whole page.
        evidence: annotated passages of the page, joined.
        numbers: numbers of the gold answer and its justification that the page prints, else those of its
            facts that the question asks for; see :func:`gold_pages`.
    """

    place: Place
    text: str
    evidence: str
    numbers: frozenset[float]

    @cached_property
    def reach(self) -> float:
        """Share of the evidence's words that the whole page has."""
        return repeated_share(self.evidence, [self.text])

    @property
    def numbered(self) -> bool:
        """Whether the numbers are enough to know the page by."""
        return sum(map(significant_digits, self.numbers)) >= LEAST_DIGITS_TOGETHER

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
        folded = (" ".join(one.lower().split()) for one in (self.evidence, text))
        return partial_ratio(*folded, score_cutoff=100 * REPEATED) > 0


def gold_pages(question: Mapping[str, Any], lake: LakeTexts) -> list[GoldPage]:
    """The gold pages of a row of ``benchmark_questions`` with what is looked for on them.

    The numbers of a page are those that its text shares with the gold answer and its justification. Where
    there are none (a ratio is printed nowhere), they are those of its facts of which every word of the label
    stands in the question or its justification, in the fiscal years that the question names, if any.
    """
    gold = f"{question['answer']}\n{question['justification'] or ''}"
    asked = set(terms(f"{question['question']}\n{gold}"))
    years = years_in(question["question"])
    found = []
    for page in question["gold_pages"]:
        place = question["filing"], page
        text = lake.pages.get(place, "")
        numbers = long_numbers(gold) & long_numbers(text)
        if not numbers:
            named = (
                fact["printed"]
                for fact in lake.facts.get(place, ())
                if (not years or fact["fiscal_year"] in years)
                and (words := set(terms(fact["label"])))
                and words <= asked
            )
            numbers = frozenset[float]().union(*map(long_numbers, named))
        passages = (item["text"] for item in question["evidence"] if item["page"] == page)
        found.append(GoldPage(place, text, "\n".join(passages), numbers))
    return found


RETRIEVAL_LABELS = ("wrong_company", "wrong_year", "lexical_gap", "unannotated_page", "multi_statement_gap")
ANSWER_LABELS = ("scale_error", "invented_number")
LABELS = (*RETRIEVAL_LABELS, *ANSWER_LABELS)
"""Every failure mode, in the order in which they are listed."""

SCALES = (1e2, 1e3, 1e6, 1e9)
"""Factors between a number and the same number in another unit: per cent, thousands, millions, billions."""

FEW_WORDS = 0.5
"""Share of the question's content words up to which a page has few of them."""

FEWER = 0.75
"""Share of what the pages found have of them up to which it has clearly fewer."""


def filing_identities(
    rows: Iterable[Mapping[str, Any]], covers: Mapping[str, str] | None = None
) -> dict[str, FilingIdentity]:
    """Company and fiscal year of each filing, from its cover.

    Filings of a company that was renamed, or that is spelt in several ways, get one key (see
    :func:`finrag_pipeline.resolver.companies.read_companies`); a filing without any name is a company of its
    own.
    Covers are texts of the first page, by filing.
    """
    readable = [row for row in rows if row["status"] == "ok"]
    found = read_companies(readable, covers or {}).companies
    company = {filing: one.key for one in found for filing in one.filings}
    return {
        row["filing"]: FilingIdentity(company.get(row["filing"], row["filing"]), row["fiscal_year"])
        for row in readable
    }


class Finding(NamedTuple):
    """A failure mode, or the level lost: its label, why, and the page that shows it."""

    label: str
    why: str
    filing: str | None = None
    page: int | None = None


def missing_pages(passages: Iterable[Passage], gold: Iterable[GoldPage]) -> list[GoldPage]:
    """Gold pages that no passage stands on."""
    seen = {(one.filing, one.page) for one in passages}
    return [one for one in gold if one.place not in seen]


def page_numbers(pages: Iterable[GoldPage]) -> str:
    """Numbers of pages for people, who count from 1."""
    return ", ".join(str(one.place[1] + 1) for one in pages)


def retrieval_failures(
    question: Mapping[str, Any], passages: Sequence[Passage], gold: Sequence[GoldPage], lake: LakeTexts
) -> list[Finding]:
    """Failure modes of a retrieval that lacks the gold filing or one of its gold pages; else none.

    Of passages, best first, and all gold pages of the question.
    """
    missing = missing_pages(passages, gold)
    if not missing:
        return []
    found = _outranked(question["filing"], passages, lake.identities)
    found += _lexical_gap(content_words(question), passages, missing, lake.pages)
    found += _unannotated(passages, gold, missing, lake.pages)
    if len(missing) < len(gold):
        why = f"of {len(gold)} gold pages {len(gold) - len(missing)} found"
        why = f"{why}, without page {page_numbers(missing)}"
        found.append(Finding("multi_statement_gap", why, *missing[0].place))
    return found


def _outranked(
    gold: str, passages: Sequence[Passage], identities: Mapping[str, FilingIdentity]
) -> list[Finding]:
    """Passages of another company or year in front of the first one of the gold filing."""
    right = identities[gold]
    found: dict[str, Finding] = {}
    for one in takewhile(lambda passage: passage.filing != gold, passages):
        other = identities[one.filing]
        if label := other.wrong_beside(right):
            years = f"is of fiscal year {other.fiscal_year}, not {right.fiscal_year}"
            why = years if label == "wrong_year" else "is another company's"
            found.setdefault(label, Finding(label, f"{one.place}, {why}", one.filing, one.page))
    return [found[label] for label in RETRIEVAL_LABELS if label in found]


def content_words(question: Mapping[str, Any]) -> frozenset[str]:
    """Content words of a question: stemmed, without stop words, words with digits, and the company's name."""
    words = (word for word in terms(question["question"]) if word.isalpha())
    return frozenset(words) - set(terms(question["company"]))


def _lexical_gap(
    words: frozenset[str],
    passages: Sequence[Passage],
    missing: Sequence[GoldPage],
    page_texts: Mapping[Place, str],
) -> list[Finding]:
    if not words or not passages:
        return []

    def share(text: str) -> float:
        return len(words & page_words(text).keys()) / len(words)

    best = max(missing, key=lambda one: share(one.text))
    pages = dict.fromkeys((one.filing, one.page) for one in passages)
    highest, usual = share(best.text), fmean(share(page_texts.get(place, "")) for place in pages)
    if highest > FEW_WORDS or highest > FEWER * usual or not usual:
        return []
    number = page_numbers([best])
    why = f"gold page {number} has {highest:.0%} of the question's words, those found {usual:.0%}"
    return [Finding("lexical_gap", why, *best.place)]


def _unannotated(
    passages: Sequence[Passage],
    gold: Sequence[GoldPage],
    missing: Sequence[GoldPage],
    page_texts: Mapping[Place, str],
) -> list[Finding]:
    annotated = {one.place for one in gold}
    for one in passages:
        place = one.filing, one.page
        if place in annotated or one.filing != missing[0].place[0]:
            continue
        for lost in missing:
            if lost.repeated_by(page_texts.get(place, "")):
                why = f"{one.place}, also holds what gold page {page_numbers([lost])} says"
                return [Finding("unannotated_page", why, *place)]
    return []


def answer_failures(
    question: Mapping[str, Any], answer: Mapping[str, Any], passages: Iterable[Passage]
) -> list[Finding]:
    """Failure modes of a row of ``answers``, neither right nor an abstention, and what it was given."""
    quantity = final_answer(answer["final_answer"] or answer["answer"]).quantity
    if quantity is None:
        return []
    found = _scale_error(quantity, question)
    derivation = json.loads(answer["derivation"]) if answer["derivation"] else {}
    inputs = derivation.get("inputs") or []
    amounts = [one["value"] for one in inputs if one.get("value") is not None]
    said = [str(derivation.get("answer") or ""), *map(str, derivation.get("steps") or ())]
    shown = [f"{one.place} {one.text}" for one in passages]
    if Sources(question["question"], shown, amounts, said).unsupported(quantity.text):
        found.append(Finding("invented_number", f"'{quantity.text}' stands in nothing it was given"))
    return found


def _scale_error(quantity: Quantity, question: Mapping[str, Any]) -> list[Finding]:
    wanted = gold_number(question["answer"], question["question"])
    if wanted is None or not wanted.value or quantity.year:
        return []
    if significant_digits(quantity.printed) < 2 or {wanted.unit, quantity.unit} == {"currency", "percent"}:
        return []  # one digit is right by chance, and no unit turns money into per cent
    # A bare amount of money is in the unit that the question asks for.
    bare = wanted.unit == "currency" and quantity.scale is None
    times = abs((quantity.printed * wanted.scale if bare else quantity.value) / wanted.value)
    rounding = max(wanted.half_unit / abs(wanted.value), quantity.half_unit / abs(quantity.value))
    near = min(max(STRICT_RELATIVE, rounding), TOLERANCE)
    for scale in SCALES[:1] if wanted.unit == "percent" else SCALES:  # per cent have no thousands
        for factor in (scale, 1 / scale):
            if abs(times / factor - 1) <= near:
                size = f"{scale:,.0f} times" if factor > 1 else f"1/{scale:,.0f} of"
                why = f"'{quantity.text}' is {size} the gold answer '{question['answer']}'"
                return [Finding("scale_error", why)]
    return []
