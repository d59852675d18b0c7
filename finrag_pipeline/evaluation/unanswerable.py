"""Questions that the filings of a lake cannot answer, and the share of them that is answered nevertheless.

Five kinds, about equally many: a company that does not exist, a fiscal year that no filing of the company
shows, an item that no page of its filings names, a line that it reports asked of a place or product that no
page names (a near miss), and what no filing speaks of (off topic). That an answer is missing is checked
against the index: invented names may not occur among its companies, years not among the periods of a
company's facts, items, places and products not on its pages. An answer other than an abstention is invented.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from itertools import chain, islice, product
from typing import Any

import numpy as np
import pyarrow as pa

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.evaluation.intervals import Interval, wilson
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import lake_views, query_tables

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

_MADE_OF: dict[str, Any] = tomllib.loads(
    files("finrag_pipeline.evaluation").joinpath("unanswerable.toml").read_text("utf-8")
)


@dataclass(frozen=True, slots=True)
class UnanswerableQuestion:
    """A question without an answer in the index, of one of `KINDS`, and why it has none in one sentence."""

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
        "not_reported": _unnamed(known, random, lambda: _pick(_MADE_OF["rare"], random)),
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
    for name in _shuffled_for_ever(_MADE_OF["companies"], random):
        item, unit = _pick(_MADE_OF["common"], random)
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
        item, unit = _pick(_MADE_OF["common"], random)
        question = _question(one.name, item, unit, year, random)
        yield one.name, question, f"No filing of {one.name} shows {year}."


def _nearly(random: np.random.Generator) -> tuple[str, tuple[str, ...]]:
    part, word = _pick(_MADE_OF["parts"], random)
    return f"{_pick(_MADE_OF['nearly'], random)} {part}", (word,)


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
    for asked in _shuffled_for_ever(_MADE_OF["off_topic"], random):
        one = _pick(known, random)
        yield one.name, asked.format(company=one.name, year=max(one.years)), "No filing speaks of this."


def _question(company: str, item: str, unit: str, year: int, random: np.random.Generator) -> str:
    return _pick(_MADE_OF["templates"], random).format(company=company, item=item, unit=unit, year=year)


def _pick(values: Sequence[Any], random: np.random.Generator) -> Any:
    return values[int(random.integers(len(values)))]


def _shuffled_for_ever(values: Sequence[Any], random: np.random.Generator) -> Iterator[Any]:
    while True:
        yield from (values[place] for place in random.permutation(len(values)))


def indexed_companies(lake: Lake) -> list[IndexedCompany]:
    """What a lake holds of every company in ``filings``, ``filing_pages`` and ``statement_facts``."""
    sql = """
        WITH named AS (
            SELECT coalesce(nullif(declared_company, ''), company) AS name, filing, fiscal_year
            FROM filings WHERE status = 'ok'
        ),
        years AS (
            FROM named UNION
            SELECT name, filing, facts.fiscal_year FROM named JOIN statement_facts AS facts USING (filing)
        )
        SELECT name, list(DISTINCT filing ORDER BY filing) AS filings, list(DISTINCT fiscal_year) AS years
        FROM years WHERE coalesce(name, '') <> '' GROUP BY name ORDER BY name
    """
    with lake_views(lake) as query:
        found = query(sql).to_pylist()

    @cache  # read when a question is made about the company
    def text(filings: tuple[str, ...]) -> str:
        pages = (lake.read("filing_pages", {"filing": one}, ["text"])["text"].to_pylist() for one in filings)
        return " ".join(" ".join(chain.from_iterable(pages)).lower().split())

    def names(filings: tuple[str, ...], words: Sequence[str]) -> bool:
        return any(word in text(filings) for word in words)

    return [
        IndexedCompany(one["name"], frozenset(one["years"]) - {None}, partial(names, tuple(one["filings"])))
        for one in found
    ]


def false_answers(table: pa.Table, confidence: float = 0.95) -> dict[str, Interval]:
    """Share of ``schemas.FALSE_ANSWERS`` that are no abstentions, by kind and over ``all``, by Wilson."""
    sql = """
        SELECT coalesce(kind, 'all') AS kind, count(*) FILTER (NOT abstained) AS answered, count(*) AS n
        FROM asked GROUP BY GROUPING SETS ((), (kind)) ORDER BY list_position($kinds, coalesce(kind, 'all'))
    """
    found = query_tables(sql, {"kinds": ["all", *KINDS]}, asked=table).to_pylist()
    return {row["kind"]: wilson(row["answered"], row["n"], confidence) for row in found if row["n"]}
