"""Questions that the filings of a lake cannot answer, and the share of them that is answered nevertheless.

Five kinds, about equally many: a company that does not exist, a fiscal year that no filing of the company
shows, an item that no page of its filings names, a line that it reports asked of a place or product that no
page names (a near miss), and what no filing speaks of (off topic). That an answer is missing is checked
against the index: invented names may not occur among its companies, years not among the periods of a
company's facts, items, places and products not on its pages. An answer other than an abstention is invented.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.evaluation.intervals import Interval, wilson
from finrag_pipeline.storage.lake import Lake

UNANSWERABLE_VERSION = "1"
"""Changes whenever a question may."""

KINDS = {
    "unknown_company": "A company of no filing",
    "unknown_year": "A year that no filing shows",
    "not_reported": "An item that no page names",
    "near_miss": "A reported line of a place or product that no page names",
    "off_topic": "What no filing speaks of",
}
"""Kinds with their titles."""

COUNT = 50
"""Questions of a set."""

_ATTEMPTS = 20

# Invented; a name that an index holds is left out.
_COMPANIES = (
    "Quorvane Industries", "Belthorne Foods", "Marrowick Holdings", "Tessandra Pharmaceuticals",
    "Ostrivale Energy", "Calderby Motors", "Nimbrosa Media", "Wexcombe Logistics", "Fenlyra Semiconductor",
    "Draymoor Chemicals", "Ilvenstar Airlines", "Kestramont Bancorp", "Lorridale Stores", "Hathermere Steel",
    "Vantriss Software", "Pyrrenholt Insurance", "Skelwith Beverages", "Umbrafell Networks",
)  # fmt: skip

# What every company reports, with how its unit is asked for.
_COMMON = (
    ("total revenue", " Answer in USD millions."),
    ("net income", " Answer in USD millions."),
    ("operating income", " Answer in USD millions."),
    ("year-end total assets", " Answer in USD millions."),
    ("capital expenditure", " Answer in USD millions."),
    ("net profit margin", " Answer in percent, rounded to one decimal place."),
    ("current ratio", " Round your answer to two decimal places."),
    ("inventory turnover ratio", " Round your answer to two decimal places."),
)

# What few companies report: the item as asked for, and the words of which none may stand on any page.
_RARE = (
    ("aircraft fuel expense", ("aircraft fuel",)),
    ("policyholder benefits and claims", ("policyholder benefits", "benefits and claims")),
    ("net premiums earned", ("premiums earned",)),
    ("regulatory assets", ("regulatory asset",)),
    ("catastrophe losses", ("catastrophe loss",)),
    ("dry hole costs", ("dry hole",)),
    ("proved oil and gas reserves", ("proved reserves", "oil and gas reserves")),
    ("revenue per available room", ("available room", "revpar")),
    ("casino revenue", ("casino",)),
    ("vessel operating expenses", ("vessel operating",)),
    ("tuition revenue", ("tuition revenue", "tuition and")),
    ("timber depletion", ("timber",)),
    ("landing fees", ("landing fee",)),
    ("biological assets", ("biological asset",)),
    ("digital assets impairment", ("digital asset", "bitcoin", "cryptocurrenc")),
    ("assets under management", ("assets under management",)),
    ("box office receipts", ("box office",)),
    ("passenger revenue", ("passenger revenue",)),
    ("mortgage servicing rights", ("mortgage servicing",)),
    ("franchise royalty income", ("franchise royalt", "franchise fee", "royalties from franchise")),
)

# What many companies report, of what few do, with the word that may stand on no page.
_NEARLY = ("revenue", "operating income", "capital expenditure", "cost of sales")
_PARTS = (
    ("in Mongolia", "mongolia"), ("in Bolivia", "bolivia"), ("in Iceland", "iceland"), ("in Nepal", "nepal"),
    ("in Madagascar", "madagascar"), ("in Paraguay", "paraguay"), ("in Fiji", "fiji"), ("in Laos", "laos"),
    ("of electric scooters", "scooter"), ("of pet insurance", "pet insurance"), ("of chess sets", "chess"),
    ("of vinyl records", "vinyl record"), ("of frozen yogurt", "yogurt"), ("of space travel", "space travel"),
)  # fmt: skip

_OFF_TOPIC = (
    "Who won the world chess championship in {year}?",
    "What is the boiling point of benzene?",
    "How do I remove a coffee stain from a wool carpet?",
    "What is the capital of Burkina Faso?",
    "How many moons does Neptune have?",
    "Write a short poem about autumn.",
    "What does the chief executive of {company} eat for breakfast?",
    "How tall is the chief executive of {company}?",
    "What was the weather in Lisbon when {company} held its annual meeting in {year}?",
    "Which football club do the auditors of {company} support?",
    "What will the share price of {company} be ten years from now?",
    "Which song did {company} play in its first television commercial?",
    "Should I marry somebody who works at {company}?",
    "Who painted the portrait in the lobby of {company}?",
)

_TEMPLATES = (
    "What was {company}'s {item} in FY{year}?{unit}",
    "How much was the FY{year} {item} of {company}?{unit}",
    "Using its annual report, what is {company}'s {item} for fiscal {year}?{unit}",
)


@dataclass(frozen=True, slots=True)
class UnanswerableQuestion:
    """A question without an answer in the index.

    Attributes:
        question_id: ``unanswerable_001`` and so on.
        question: the question.
        kind: why it cannot be answered.
        company: company asked about.
        why: the reason in one sentence.
    """

    question_id: str
    question: str
    kind: str
    company: str
    why: str


@dataclass(frozen=True, slots=True)
class IndexedCompany:
    """What an index holds of a company.

    Attributes:
        name: as its filings print it.
        years: fiscal years among the periods of its facts, and those its filings report on.
        names: whether any of the words stands on any of its pages; words are lower case.
    """

    name: str
    years: frozenset[int]
    names: Callable[[Sequence[str]], bool]


def unanswerable_questions(
    companies: Sequence[IndexedCompany], count: int = COUNT, seed: int = 17
) -> list[UnanswerableQuestion]:
    """Questions that an index cannot answer, the kinds in turn; fewer where the index leaves no more.

    The same index, count and seed give the same questions.

    Args:
        companies: what the index holds; those without any fiscal year are left out.
        count: questions wanted.
        seed: of the choice of companies, items and words.

    Raises:
        BenchmarkError: the index holds no company with a fiscal year.
    """
    known = sorted((one for one in companies if one.years), key=lambda one: one.name)
    if not known:
        raise BenchmarkError("The index holds no company with facts.", "Materialise statement_facts first.")
    random = np.random.default_rng(seed)
    makers = {
        "unknown_company": _unknown_company(known, random),
        "unknown_year": _unknown_year(known, random),
        "not_reported": _unnamed(known, random, lambda: _pick(_RARE, random)),
        "near_miss": _unnamed(known, random, lambda: _nearly(random)),
        "off_topic": _off_topic(known, random),
    }
    found: list[UnanswerableQuestion] = []
    asked: set[str] = set()
    for _, kind in product(range(count), KINDS):
        # A maker has no end; of an index that leaves it nothing new it is not asked for ever.
        for company, question, why in islice(makers[kind], _ATTEMPTS):
            if question and question not in asked and len(found) < count:
                asked.add(question)
                number = f"unanswerable_{len(found) + 1:03d}"
                found.append(UnanswerableQuestion(number, question, kind, company, why))
                break
    return found


_Made = Iterator[tuple[str, str, str]]  # company, question (empty where the index may answer it), why


def _unknown_company(known: Sequence[IndexedCompany], random: np.random.Generator) -> _Made:
    printed = " ".join(one.name.lower() for one in known)
    years = sorted({max(one.years) for one in known})
    for name in _shuffled_for_ever(_COMPANIES, random):
        item, unit = _pick(_COMMON, random)
        question = _question(name, item, unit, _pick(years, random), random)
        invented = name.split()[0].lower() not in printed
        yield name, question if invented else "", f"No filing of {name} is indexed."


def _unknown_year(known: Sequence[IndexedCompany], random: np.random.Generator) -> _Made:
    """Years after the last, before the first, and in a gap between filings."""
    for one in _shuffled_for_ever(known, random):
        # Five-year summaries and outlooks reach a few years beyond the periods of statements.
        distance = int(random.integers(3, 8))
        first, last = min(one.years), max(one.years)
        gaps = sorted(set(range(first, last)) - one.years)
        year = int(_pick([last + distance, first - distance - 3, *gaps[:1]], random))
        item, unit = _pick(_COMMON, random)
        question = _question(one.name, item, unit, year, random)
        yield one.name, question, f"No filing of {one.name} shows {year}."


def _nearly(random: np.random.Generator) -> tuple[str, tuple[str, ...]]:
    part, word = _pick(_PARTS, random)
    return f"{_pick(_NEARLY, random)} {part}", (word,)


def _unnamed(
    known: Sequence[IndexedCompany],
    random: np.random.Generator,
    item_of: Callable[[], tuple[str, tuple[str, ...]]],
) -> _Made:
    """Items, in the last year of a company, of which no word stands on any of its pages."""
    for one in _shuffled_for_ever(known, random):
        item, words = item_of()
        question = _question(one.name, item, " Answer in USD millions.", max(one.years), random)
        yield one.name, "" if one.names(words) else question, f"No page of {one.name} names {item}."


def _off_topic(known: Sequence[IndexedCompany], random: np.random.Generator) -> _Made:
    for asked in _shuffled_for_ever(_OFF_TOPIC, random):
        one = _pick(known, random)
        yield one.name, asked.format(company=one.name, year=max(one.years)), "No filing speaks of this."


def _question(company: str, item: str, unit: str, year: int, random: np.random.Generator) -> str:
    return _pick(_TEMPLATES, random).format(company=company, item=item, unit=unit, year=year)


def _pick(values: Sequence[Any], random: np.random.Generator) -> Any:
    return values[int(random.integers(len(values)))]


def _shuffled_for_ever(values: Sequence[Any], random: np.random.Generator) -> Iterator[Any]:
    while True:
        yield from (values[place] for place in random.permutation(len(values)))


def indexed_companies(lake: Lake, filings: Iterable[str] | None = None) -> list[IndexedCompany]:
    """What a lake holds of every company.

    Pages are read when a question is made about a company.

    Args:
        lake: holds ``filings``, ``filing_pages`` and ``statement_facts``.
        filings: filings that count; all when None.
    """
    wanted = None if filings is None else set(filings)
    by_name: dict[str, list[str]] = defaultdict(list)
    years: dict[str, set[int]] = defaultdict(set)
    parts = {keys["filing"] for keys in lake.partitions("statement_facts")}
    for row in lake.read_all("filings").to_pylist():
        name = row["declared_company"] or row["company"]
        if row["status"] != "ok" or not name or (wanted is not None and row["filing"] not in wanted):
            continue
        by_name[name].append(row["filing"])
        years[name] |= {row["fiscal_year"]} - {None}
        if row["filing"] in parts:
            facts = lake.read("statement_facts", {"filing": row["filing"]}, ["fiscal_year"])
            years[name] |= set(pc.unique(facts["fiscal_year"].combine_chunks()).to_pylist()) - {None}
    return [
        IndexedCompany(name, frozenset(years[name]), _Pages(lake, tuple(names)).name)
        for name, names in sorted(by_name.items())
    ]


class _Pages:
    """Text of the pages of a company's filings, read once."""

    def __init__(self, lake: Lake, filings: tuple[str, ...]) -> None:
        self._lake, self._filings = lake, filings
        self._text: str | None = None

    def name(self, words: Sequence[str]) -> bool:
        """Whether any of ``words`` stands on a page."""
        if self._text is None:
            pages = (self._lake.read("filing_pages", {"filing": one}, ["text"]) for one in self._filings)
            self._text = " ".join(" ".join(page["text"].to_pylist()) for page in pages).lower()
            self._text = " ".join(self._text.split())
        return any(word in self._text for word in words)


def false_answers(table: pa.Table, confidence: float = 0.95) -> dict[str, Interval]:
    """Share of the questions that are answered although they have no answer, by kind and over ``all``.

    Args:
        table: as ``schemas.FALSE_ANSWERS``.
        confidence: coverage of the intervals, Wilson's.
    """
    answered: dict[str, list[bool]] = defaultdict(list)
    for row in table.to_pylist():
        for kind in ("all", row["kind"]):
            answered[kind].append(not row["abstained"])
    order = ["all", *KINDS]
    return {
        kind: wilson(sum(answered[kind]), len(answered[kind]), confidence) for kind in order if answered[kind]
    }
