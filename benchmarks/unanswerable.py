"""Questions that the filings of a lake cannot answer: how many of them `finrag ask` answers nevertheless.

    python -m benchmarks.unanswerable --seeds 1 2 3

Three kinds, about equally many: a company that does not exist, a fiscal year that no filing of the company
shows, and an item that no page of its filings names. That an answer is missing is checked against the index:
invented names may not occur among its companies, years not among the periods of a company's facts, items not
on its pages. An answer other than an abstention is invented.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow.compute as pc

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.services.ask import Asker
from finrag_pipeline.settings import get_settings
from finrag_pipeline.storage.lake import Lake

Kind = Literal["unknown_company", "unknown_year", "not_reported"]
KINDS: tuple[Kind, ...] = ("unknown_company", "unknown_year", "not_reported")

COUNT = 40
"""Questions of a set."""

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
    kind: Kind
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
        "unknown_company": _unknown_company,
        "unknown_year": _unknown_year,
        "not_reported": _not_reported,
    }
    rounds = 2 + count // len(known)
    made: dict[Kind, _Made] = {kind: makers[kind](known, rounds, random) for kind in KINDS}
    found: list[UnanswerableQuestion] = []
    asked: set[str] = set()
    while len(found) < count and any(made.values()):
        for kind in KINDS:
            if len(found) < count and made[kind]:
                company, question, why = made[kind].pop(0)
                if question not in asked:
                    asked.add(question)
                    number = f"unanswerable_{len(found) + 1:03d}"
                    found.append(UnanswerableQuestion(number, question, kind, company, why))
    return found


_Made = list[tuple[str, str, str]]  # company, question, why


def _unknown_company(known: Sequence[IndexedCompany], rounds: int, random: np.random.Generator) -> _Made:
    printed = " ".join(one.name.lower() for one in known)
    years = sorted({max(one.years) for one in known})
    found = []
    for name in _shuffled(_COMPANIES, random) * rounds:
        if name.split()[0].lower() in printed:
            continue
        item, unit = _pick(_COMMON, random)
        question = _question(name, item, unit, _pick(years, random), random)
        found.append((name, question, f"No filing of {name} is indexed."))
    return found


def _unknown_year(known: Sequence[IndexedCompany], rounds: int, random: np.random.Generator) -> _Made:
    """Years after the last, before the first, and in a gap between filings."""
    found = []
    for _ in range(rounds):
        for one in _shuffled(known, random):
            # Five-year summaries and outlooks reach a few years beyond the periods of statements.
            distance = int(random.integers(3, 8))
            first, last = min(one.years), max(one.years)
            gaps = sorted(set(range(first, last)) - one.years)
            year = int(_pick([last + distance, first - distance - 3, *gaps[:1]], random))
            item, unit = _pick(_COMMON, random)
            question = _question(one.name, item, unit, year, random)
            found.append((one.name, question, f"No filing of {one.name} shows {year}."))
    return found


def _not_reported(known: Sequence[IndexedCompany], rounds: int, random: np.random.Generator) -> _Made:
    found = []
    for _ in range(rounds):
        for one in _shuffled(known, random):
            item, words = _pick(_RARE, random)
            if not one.names(words):
                unit = " Answer in USD millions."
                question = _question(one.name, item, unit, max(one.years), random)
                found.append((one.name, question, f"No page of {one.name} names {item}."))
    return found


def _question(company: str, item: str, unit: str, year: int, random: np.random.Generator) -> str:
    return _pick(_TEMPLATES, random).format(company=company, item=item, unit=unit, year=year)


def _pick(values: Sequence[Any], random: np.random.Generator) -> Any:
    return values[int(random.integers(len(values)))]


def _shuffled(values: Sequence[Any], random: np.random.Generator) -> list[Any]:
    return [values[place] for place in random.permutation(len(values))]


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="questions of a set")
    parser.add_argument("--seeds", type=int, nargs="*", default=[17])
    options = parser.parse_args()
    settings = get_settings()
    companies = indexed_companies(Lake(settings.lake))
    asker = Asker(settings)
    abstained: dict[Kind, list[bool]] = defaultdict(list)
    for seed in options.seeds:
        for one in unanswerable_questions(companies, options.count, seed):
            answer = asker.ask(one.question).answer
            abstained[one.kind].append(answer.abstained)
            if not answer.abstained:
                print(f"answered: {one.question} ({one.why})")
    for kind, told in abstained.items():
        print(f"{kind}: {sum(told)} of {len(told)} get an abstention")


if __name__ == "__main__":
    main()
