"""Which part of a company, such as a segment, words describe by what it does.

'The arm that makes helicopters' is the segment of whose sentences that word is. Parts are names of rows,
headings or columns that sentences about segments list beside each other; what is said of each are sentences
that name it alone, and those below its heading. The words of a question choose among them as in naive Bayes
(Manning, Raghavan & Schütze, Introduction to Information Retrieval, 2008, section 13.2), rare words alone.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from finrag_pipeline.answering.part_sections import headings_of, is_known_name, part_name
from finrag_pipeline.filings.sentences import sentences
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.resolver.lexicon import any_case
from finrag_pipeline.statements.filing_rows import FilingRow

_LISTS = any_case(r"\b(?:segments|divisions|reporting units)\b")
_NO_PART = any_case(
    r"\d|^net$|\b(?:total|eliminat\w*|intersegment|unallocated|other|consolidated|segments?|sales|revenues?|"
    r"income|profit|earnings|assets|expenses?|costs?|operating)\b|^corporate$"
)
_KIND = any_case(r"\s*(?:reportable |operating )?(?:segments?|divisions?)$")
_FOOTNOTE = re.compile(r"\s*(?:\([\w*]{1,2}\))+\s*$|[\s:.*]+$")
_LENGTH = range(3, 60)
_OFTEN = 5
"""Names that are listed so many times less often than the first are none."""

_MOST_CHARACTERS, _MOST_DIGITS = 1500, 0.15
"""Of sentences; longer ones, and those of more digits, are tables."""

_MOST_PAGES, _SECTION = 3, 5000
"""Pages up to the next heading, and characters of a section where it is farther away."""

_SEEN, _UNSEEN = 0.2, 6.0
"""Pseudo-counts of a word and of sentences without it."""

_COMMON, _RARE = 0.5, 2.0
"""Inverse document frequencies over the pages of words that count not at all, and in full."""

_TELLS = 0.3
"""Least log-likelihood ratio of a word that tells a part."""


@dataclass(frozen=True)
class Described:
    """The part that words describe.

    Attributes:
        name: as it is printed.
        chance: probability among the parts.
        stems: of the words that tell it.
    """

    name: str
    chance: float
    stems: frozenset[str]


class PartDescriptions:
    """What a filing says of its parts.

    Args:
        rows: of the filing.
        pages: zero-based numbers of its pages and their texts.
    """

    def __init__(self, rows: Sequence[FilingRow], pages: Sequence[tuple[int, str]]) -> None:
        self._pages = len(pages)
        self._on: Counter[str] = Counter(stem for _, text in pages for stem in set(terms(text)))
        listing = (one for _, text in pages for one in _prose(text, _LISTS))
        self.names = _listed(rows, listing)
        self._of: dict[str, Counter[str]] = {name: Counter() for name in self.names}
        self._told: Counter[str] = Counter()
        self._stems = {name: frozenset(terms(name)) for name in self.names}
        if len(self.names) < 2:
            return
        found = {name: _pattern(name) for name in self.names}
        any_name = re.compile("|".join(pattern.pattern for pattern in found.values()))
        for sentence in (one for _, text in pages for one in _prose(text, any_name)):
            here = [name for name, pattern in found.items() if pattern.search(sentence)]
            alone = [name for name in here if not any(name != one and name in one for one in here)]
            if len(alone) == 1:
                self._keep(alone[0], sentence)
        for name, text in _sections(self.names, pages):
            for sentence in _prose(text):
                self._keep(name, sentence)

    def _keep(self, name: str, sentence: str) -> None:
        self._of[name].update(set(terms(sentence)))
        self._told[name] += 1

    def named_in(self, stems: Collection[str]) -> tuple[str, ...]:
        """Parts whose names words say, by their stems; of names within each other the longest."""
        said = set(stems)
        found = {name: own for name, own in self._stems.items() if own <= said}
        return tuple(name for name, own in found.items() if not any(own < other for other in found.values()))

    def described(self, stems: Collection[str]) -> Described | None:
        """The part that words describe; None where there are no two, or no word tells one."""
        if len(self.names) < 2:
            return None
        scores = dict.fromkeys(self.names, 0.0)
        telling: dict[str, set[str]] = {name: set() for name in self.names}
        for stem in dict.fromkeys(stems):
            if not self._on[stem]:
                continue
            rarity = (math.log((self._pages + 1) / (self._on[stem] + 1)) - _COMMON) / (_RARE - _COMMON)
            rates = {
                name: 1.0 if stem in own else (self._of[name][stem] + _SEEN) / (self._told[name] + _UNSEEN)
                for name, own in self._stems.items()
            }
            mean = sum(rates.values()) / len(rates)
            for name, rate in rates.items():
                ratio = math.log(rate / mean) * max(0.0, min(1.0, rarity))
                scores[name] += ratio
                if ratio > _TELLS and (self._of[name][stem] or stem in self._stems[name]):
                    telling[name].add(stem)
        best = max(scores, key=scores.__getitem__)
        chance = 1 / sum(math.exp(score - scores[best]) for score in scores.values())
        return Described(best, chance, frozenset(telling[best])) if telling[best] else None


def _prose(text: str, of: re.Pattern[str] | None = None) -> list[str]:
    """Sentences of a page that are no tables, of paragraphs in which a pattern is found."""
    return [
        one
        for one in sentences(text, of)
        if len(one) <= _MOST_CHARACTERS and sum(map(str.isdigit, one)) <= _MOST_DIGITS * len(one)
    ]


def _listed(rows: Sequence[FilingRow], said: Iterator[str]) -> tuple[str, ...]:
    """Names of rows, headings and columns that sentences about segments list."""
    printed = {part for row in rows for part in (*row.path, *row.columns)}
    bare = {_KIND.sub("", _FOOTNOTE.sub("", part)).strip() for part in printed}
    names = sorted(
        (
            name
            for name in bare
            if len(name) in _LENGTH
            and name[0].isupper()
            and not _NO_PART.search(name)
            and not is_known_name(part_name(name))
        ),
        key=len,
        reverse=True,
    )
    times: Counter[str] = Counter()
    for sentence in said:
        if not _LISTS.search(sentence):
            continue
        here, rest = [], sentence
        for name in names:
            if name in rest and (pattern := _pattern(name)).search(rest):
                here.append(name)
                rest = pattern.sub(" ", rest)
        if len(here) > 1:
            times.update(here)
    most = max(times.values(), default=0)
    return tuple(name for name, count in times.items() if count >= max(2, most / _OFTEN))


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")


def _sections(names: Sequence[str], pages: Sequence[tuple[int, str]]) -> Iterator[tuple[str, str]]:
    """Texts below headings that are names, up to the next such heading."""
    by_key = {part_name(name): name for name in names}
    headings = headings_of(pages, by_key)
    texts = dict(pages)
    for at, own in enumerate(headings):
        ahead = next((one for one in headings[at + 1 :] if one.name != own.name), None)
        if ahead is None or ahead.page - own.page > _MOST_PAGES:
            yield by_key[own.name], texts[own.page][own.place : own.place + _SECTION]
            continue
        for page in range(own.page, ahead.page + 1):
            text = texts.get(page, "")
            begin = own.place if page == own.page else 0
            yield by_key[own.name], text[begin : ahead.place if page == ahead.page else len(text)]
