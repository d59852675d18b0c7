"""Companies of an index: which filings belong to one, and which of them a question names."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from finrag_pipeline.resolver.aliases import (
    Alias,
    Name,
    defined_terms,
    derive,
    former_names,
    key_of,
    read_name,
)
from finrag_pipeline.resolver.lexicon import COMMON
from finrag_pipeline.resolver.tokens import fold, plain

_COMMON_ON_COVERS = 3
_SHORTEST_MISSPELT = 5
_LESSER = ("first word", "first words", "ticker")
EQUALLY_SURE = 0.05
"""Aliases whose confidence differs by no more than this are shared."""
_FILE_NUMBER = re.compile(
    r"commission\s*file\s*(?:numbers?|nos?\.?)?[^0-9]{0,60}(\d{1,3})\s*-\s*(\d{3,6})(?!\d)", re.IGNORECASE
)
_ADDRESS = re.compile(r"www\.|@|\.com|https?:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Company:
    """A company and its filings.

    Attributes:
        key: name without legal form in lower case; identifies the company.
        names: its names, as printed, the most frequent first.
        filings: identifiers of its filings.
    """

    key: str
    names: tuple[str, ...]
    filings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Names:
    """Companies of an index and the aliases they go by.

    Attributes:
        companies: all companies.
        by_alias: for each alias key, the places in ``companies`` with the alias.
        spelt: keys to compare misspelt names with, by their first letter.
        longest: words of the longest alias.
        common: everyday words, those of the covers included.
    """

    companies: tuple[Company, ...]
    by_alias: Mapping[str, tuple[tuple[int, Alias], ...]]
    spelt: Mapping[str, tuple[str, ...]]
    longest: int
    common: frozenset[str]


def read_companies(rows: Sequence[Mapping[str, Any]], covers: Mapping[str, str]) -> Names:
    """Group filings by company and derive the aliases of each.

    Filings are one company's where they share a name without legal form, a trading symbol, the first
    commission file number on the cover, or where one states a former name that another bears.

    Args:
        rows: rows of ``filings``.
        covers: text of the first pages of a filing, by filing.
    """
    groups = _Groups()
    said = [_read(row, covers.get(str(row["filing"]), "")) for row in rows]
    for one in said:
        for mark in one.marks():
            groups.join(one.filing, mark)
    members: dict[str, list[_Said]] = defaultdict(list)
    for one in said:
        if one.printed or one.ticker:
            members[groups.root(one.filing)].append(one)
    common = COMMON | _words_of_covers(members.values())
    parts = [_parts(group) for group in members.values()]
    return _index([part for part in parts if part.names or part.tickers], common)


@dataclass(frozen=True, slots=True)
class _Said:
    """What a filing says of its company."""

    filing: str
    ticker: str
    printed: list[str]
    names: list[Name]
    former: list[str]
    cover: str

    def marks(self) -> list[str]:
        """What filings of one company share."""
        former = filter(None, map(read_name, self.former))
        marks = ["name:" + key_of(name.short) for name in (*self.names, *former)]
        if self.ticker:
            marks.append("ticker:" + self.ticker.upper())
        if number := _FILE_NUMBER.search(self.cover):
            marks.append(f"file:{int(number[1])}-{int(number[2])}")
        return marks


def _read(row: Mapping[str, Any], cover: str) -> _Said:
    stated = (row.get("company"), row.get("declared_company"))
    printed = [str(name) for name in stated if name and str(name).strip()]
    names = [name for name in map(read_name, dict.fromkeys(printed)) if name]
    former = [old for name in names for old in former_names(name, cover)]
    return _Said(str(row["filing"]), str(row.get("ticker") or ""), printed, names, former, cover)


@dataclass(frozen=True, slots=True)
class _Parts:
    names: tuple[tuple[Name, str], ...]
    tickers: tuple[str, ...]
    filings: tuple[str, ...]


class _Groups:
    """Disjoint sets of filings and marks."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def root(self, item: str) -> str:
        self._above.setdefault(item, item)
        while (above := self._above[item]) != item:
            self._above[item] = self._above[above]
            item = above
        return item

    def join(self, item: str, other: str) -> None:
        self._above[self.root(other)] = self.root(item)


def _words_of_covers(groups: Iterable[list[_Said]]) -> frozenset[str]:
    """Words that the covers of several companies print in lower case: they are no names."""
    count: Counter[str] = Counter()
    for group in groups:
        words = " ".join(one.cover for one in group[:3]).split()
        text = " ".join(word for word in words if not _ADDRESS.search(word))
        count.update(set(re.findall(r"(?<![^\W_])[a-z]{3,}(?![^\W_])", text)))
    return frozenset(word for word, companies in count.items() if companies >= _COMMON_ON_COVERS)


def _parts(group: list[_Said]) -> _Parts:
    printed = Counter(name for one in group for name in one.printed)
    extra: dict[str, str] = {}
    for one in group:
        extra |= dict.fromkeys(one.former, "former name")
        for name in one.names:
            extra |= dict.fromkeys(defined_terms(name, one.cover), "defined on the cover")
    ordered = [name for name, _ in sorted(printed.items(), key=lambda item: (-item[1], item[0]))]
    every = [(read_name(name), "") for name in ordered]
    every += [(read_name(name), kind) for name, kind in sorted(extra.items()) if name not in printed]
    return _Parts(
        names=tuple((name, kind) for name, kind in every if name),
        tickers=tuple(sorted({one.ticker for one in group if fold(one.ticker)})),
        filings=tuple(one.filing for one in group),
    )


def _index(parts: Sequence[_Parts], common: frozenset[str]) -> Names:
    first_words: Counter[str] = Counter()
    holders: Counter[str] = Counter()
    for part in parts:
        first_words.update({fold(name.core[0]) for name, _ in part.names})
        holders.update({fold(word) for name, _ in part.names for word in name.core})
    companies: list[Company] = []
    keys: Counter[str] = Counter()
    by_alias: dict[str, list[tuple[int, Alias]]] = defaultdict(list)
    longest = 1
    for place, part in enumerate(parts):
        found: dict[tuple[str, bool], Alias] = {}
        for name, kind in part.names:
            for alias in derive(name, first_words, holders, common):
                if kind and alias.kind in ("full name", "name"):
                    alias = Alias(
                        alias.key, alias.words, 0.95, kind, alias.common, alias.capitals, alias.initial
                    )
                elif kind:
                    continue
                _keep(found, alias)
        for ticker in part.tickers:
            _keep(found, Alias(fold(ticker), 1, 0.9, "ticker", capitals=True))
        shown = part.names[0][0] if part.names else None
        key = " ".join(shown.core).casefold() if shown else part.tickers[0].casefold()
        if keys[key]:
            key = f"{key} {keys[key] + 1}"
        keys[key] += 1
        companies.append(
            Company(key, tuple(name.printed for name, _ in part.names) or part.tickers, part.filings)
        )
        for alias in found.values():
            by_alias[alias.key].append((place, alias))
            longest = max(longest, alias.words)
    owners = {key: _owners(items) for key, items in by_alias.items()}
    spelt: dict[str, list[str]] = defaultdict(list)
    for alias_key, items in owners.items():
        if len(alias_key) >= _SHORTEST_MISSPELT and any(_may_be_misspelt(alias) for _, alias in items):
            spelt[alias_key[0]].append(alias_key)
    by_letter = {letter: tuple(sorted(keys_of)) for letter, keys_of in spelt.items()}
    return Names(tuple(companies), owners, by_letter, longest, common)


def _may_be_misspelt(alias: Alias) -> bool:
    return not (alias.capitals or alias.common or alias.kind in ("syllables", "last word"))


def _owners(items: Sequence[tuple[int, Alias]]) -> tuple[tuple[int, Alias], ...]:
    """Companies an alias may mean, the surest first.

    Beside the surest only those stay that share it equally, those whose name begins with it, since a company
    may have had a longer name before (``Acme`` and ``Acme Systems``), and those whose trading symbol it is.
    """
    ranked = sorted(items, key=lambda item: (-item[1].confidence, item[0]))
    best = ranked[0][1].confidence
    return tuple(
        item for item in ranked if item[1].confidence >= best - EQUALLY_SURE or item[1].kind in _LESSER
    )


def _keep(found: dict[tuple[str, bool], Alias], alias: Alias) -> None:
    """Keep the better of two derivations of one key; a symbol beside a name, since it needs capitals."""
    if not alias.key or (alias.kind != "ticker" and len(alias.key) < 2):
        return
    known = found.get((alias.key, alias.capitals))
    if known is None or alias.confidence > known.confidence:
        found[alias.key, alias.capitals] = alias


def plain_name(company: Company) -> str:
    """The company's name as printed most often, for reasons."""
    return " ".join(plain(company.names[0]).split())
