"""Companies of an index: which filings belong to one, and the names it goes by.

Names are derived by rule from what the filings print.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from finrag_pipeline.resolver.lexicon import (
    ACRONYMS,
    COMMON,
    FILLERS,
    LEGAL,
    PLACES,
    WEAK_TAIL,
    any_case,
    word_set,
)
from finrag_pipeline.resolver.tokens import fold, one_line, plain, tokenise

_SHORTEST_WORD = 4
_SHORTEST_TAIL = 5
_LONGEST_NAME = 160


@dataclass(frozen=True, slots=True)
class Alias:
    """A way to write a company's name.

    Attributes:
        key: its words written together, without fillers such as ``and``.
        words: number of words of the alias.
        confidence: how surely it means the company where it stands as a name, in (0, 1].
        kind: how it was derived, for reasons.
        common: all of its words are everyday words; it needs capitals or context.
        capitals: it must be printed in capitals (tickers, initials) ...
        initial: ... or begin with one.
    """

    key: str
    words: int
    confidence: float
    kind: str
    common: bool = False
    capitals: bool = False
    initial: bool = False


@dataclass(frozen=True, slots=True)
class Name:
    """A company's name in words.

    Attributes:
        printed: the name as printed.
        words: all words without the leading article.
        core: words without legal forms at the end.
        short: core without 'International', 'Group' and the like at the end, if a name is left.
    """

    printed: str
    words: tuple[str, ...]
    core: tuple[str, ...]
    short: tuple[str, ...]


def read_name(printed: str) -> Name | None:
    """Take a company's name apart; None if it holds no word."""
    text = plain(printed)[:_LONGEST_NAME]
    # 'P.L.C.' and 'N.V.' are words.
    text = re.sub(r"(?<![^\W_])((?:[A-Za-z]\.){2,4})", lambda match: match[1].replace(".", ""), text)
    text = re.sub(r"\s*\([^()]*\)|\s/[A-Z]{2,3}/?$", "", text)
    words = [token.text for token in tokenise(text)]
    if len(words) > 1 and fold(words[0]) == "the":
        words = words[1:]
    if not words or not fold(words[0]):
        return None
    core = list(words)
    while len(core) > 1 and fold(core[-1]) in LEGAL | FILLERS:
        core.pop()
    short = list(core)
    while len(short) > 1 and fold(short[-1]) in WEAK_TAIL | LEGAL | FILLERS:
        short.pop()
    if len(short) == 1 and fold(short[0]) in COMMON:
        short = core
    return Name(printed, tuple(words), tuple(core), tuple(short))


def key_of(words: tuple[str, ...] | list[str]) -> str:
    """Return words written together in lower case, without fillers; all of them if there is nothing else."""
    keys = [fold(word) for word in words]
    return "".join(key for key in keys if key not in FILLERS) or "".join(keys)


def domain_dropped(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return words without ``.com`` and the like at the end of any."""
    return tuple(
        re.sub(r"(?<=\w\w)\.(?:com|net|org|io|ai)$", "", word, flags=re.IGNORECASE) for word in words
    )


def derive(
    name: Name, first_words: dict[str, int], holders: dict[str, int], common: Set[str]
) -> Iterator[Alias]:
    """Derive the aliases of a name.

    Args:
        name: the name.
        first_words: for each word, how many companies' names begin with it.
        holders: for each word, how many companies' names hold it.
        common: everyday words.
    """

    def alias(words: tuple[str, ...], confidence: float, kind: str, initial: bool = False) -> Iterator[Alias]:
        content = [fold(word) for word in words if fold(word) not in FILLERS]
        if content and not (len(content) > 1 and set(content) <= PLACES):
            everyday = set(content) <= common
            yield Alias(key_of(words), len(content), confidence, kind, everyday, initial=initial or everyday)

    yield from alias(name.words, 1.0, "full name")
    if len(name.core) > 1 or fold(name.core[0]) not in LEGAL:
        yield from alias(name.core, 1.0, "name")
    yield from alias(name.short, 0.97, "name")
    if (bare := domain_dropped(name.short)) != name.short:
        yield from alias(bare, 0.95, "name without domain")
    content = [fold(word) for word in name.short]
    for count in range(len(name.short) - 1, 1, -1):
        if fold(name.short[count - 1]) not in FILLERS:
            yield from alias(name.short[:count], 0.85, "first words", initial=True)
    if len(name.short) > 1:
        first, last = name.short[0], content[-1]
        distinct = content[0] not in common and first_words.get(content[0], 0) <= 2
        if distinct and (len(content[0]) >= _SHORTEST_WORD or (len(first) > 1 and first.isupper())):
            # Where the whole name is in capitals, a short first word may be anything.
            short = len(content[0]) < _SHORTEST_WORD
            yield Alias(content[0], 1, 0.85, "first word", False, capitals=short, initial=True)
        elif first_words.get(content[0], 0) == 1 and content[0] not in PLACES | FILLERS:
            yield Alias(content[0], 1, 0.7, "first word", True, initial=True)
        if last not in common and holders.get(last, 0) == 1 and len(last) >= _SHORTEST_TAIL:
            yield Alias(last, 1, 0.7, "last word", False, initial=True)
    for word in name.short:
        glued = _GLUED_FORM.fullmatch(word)
        if glued and len(name.short) == 1 and fold(glued["own"]) not in common:
            yield Alias(fold(glued["own"]), 1, 0.85, "first word", False, initial=True)
    yield from _abbreviations(name, common)


_GLUED_FORM = re.compile(r"(?P<own>[A-Z][a-z]{3,})(?:Co|Corp)")
"""A name whose legal form is part of the word, which people leave out: 'ToolCo'."""


def _abbreviations(name: Name, common: Set[str]) -> Iterator[Alias]:
    for words in {name.core, name.short}:
        keys = [fold(word) for word in words]
        content = [key for key in keys if key not in FILLERS]
        if len(content) < 2:
            continue
        variants = {"".join(key[0] for key in content)}
        if "and" in keys or "&" in name.printed:
            # '&' between two words of a name is no word of it; find where it stands.
            variants |= set(_with_and(name.printed, content))
        for initials in sorted(variants):
            if initials not in ACRONYMS | common and initials not in PLACES:
                yield Alias(initials, 1, 0.8 if len(initials) > 2 else 0.7, "initials", capitals=True)
    content = [fold(word) for word in name.short if fold(word) not in FILLERS]
    if len(content) >= 2 and min(map(len, content[:2])) >= 3:
        for first in (2, 3, 4):
            for second in (2, 3):
                syllables = content[0][:first] + content[1][:second]
                if syllables not in common | ACRONYMS and syllables not in content:
                    yield Alias(syllables, 1, 0.72, "syllables", initial=True)


def _with_and(printed: str, content: list[str]) -> Iterator[str]:
    """Initials in which ``&`` or ``and`` is an ``n`` or an ``a``: JnJ, and M&S as MaS."""
    letters = []
    for part in re.findall(r"&|[^\W_]+", plain(printed)):
        key = "&" if part == "&" or fold(part) == "and" else fold(part)
        if key == "&" or key in content:
            letters.append("&" if key == "&" else key[0])
    initials = "".join(letters).rstrip("&")
    if "&" in initials:
        yield from (initials.replace("&", letter) for letter in "na")


_TERM = re.compile(r"[\"']([^\"'()]{2,40}?),?[\"']")
_BRACKET = re.compile(r"\(([^()]{2,160})\)")
_GENERIC = word_set(
    "company registrant corporation we us our issuer parent trust bank firm partnership group commission sec"
)
_NAME_LIKE = r"(?P<name>[A-Z0-9][\w&.'-]*(?:,?\s+(?:(?:[A-Z0-9&][\w&.'-]*)|of|and|the)){0,6})"
_FORMER = re.compile(
    rf"(?:(?i:(?:formerly|previously)(?:\s+(?:known\s+as|named))?|f/k/a))[\s:,\"]+{_NAME_LIKE}"
)


def defined_terms(name: Name, cover: str) -> Iterator[str]:
    """Names that a cover defines for the company right after its name: ``Acme plc ("Acme")``."""
    stem = re.escape(" ".join(name.core[:3]))
    for match in re.finditer(stem, cover, re.IGNORECASE):
        brackets, end = "", match.end()
        # A former name may stand in brackets of its own before the terms.
        while len(brackets) < 400 and (bracket := _BRACKET.search(cover, end, end + 240)):
            if bracket.start() - end > 60:
                break
            brackets, end = f"{brackets} {bracket[1]}", bracket.end()
        for term in _TERM.findall(brackets):
            content = [fold(word) for word in term.split() if fold(word) not in FILLERS]
            # A term is taken if it begins as the name does: 'Acme', 'ACM'; not 'Credit Agreement'.
            if content and not set(content) & _GENERIC and content[0][:1] == fold(name.core[0])[:1]:
                yield term


def former_names(name: Name, cover: str) -> Iterator[str]:
    """Names the cover says the company had before: ``Acme plc (formerly known as Widget plc)``."""
    stem = re.escape(" ".join(name.core[:3]))
    for start in re.finditer(stem, cover, re.IGNORECASE):
        match = _FORMER.search(cover, start.end(), start.end() + 200)
        if match is None:
            continue
        # Only a legal form and brackets may stand between; further on it is somebody else's former name.
        between = re.sub(r"\([^()]*\)", " ", cover[start.end() : match.start()])
        if not {fold(word) for word in re.findall(r"[^\W_]+", between)} <= LEGAL | WEAK_TAIL:
            continue
        former = re.sub(r"[\s,.]+$", "", match["name"])
        if len(former) > 2 and fold(former.split()[0]) not in FILLERS | {"name", "na", "none"}:
            yield former


_COMMON_ON_COVERS = 3
_SHORTEST_MISSPELT = 5
_LESSER = ("first word", "first words", "ticker")
EQUALLY_SURE = 0.05
"""Aliases whose confidence differs by no more than this are shared."""
_FILE_NUMBER = any_case(
    r"commission\s*file\s*(?:numbers?|nos?\.?)?[^0-9]{0,60}(\d{1,3})\s*-\s*(\d{3,6})(?!\d)"
)
_ADDRESS = any_case(r"www\.|@|\.com|https?:")


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
        by_alias: for each alias key, the positions in ``companies`` of those with the alias.
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
    above: dict[str, str] = {}

    def root(item: str) -> str:
        """What stands for all filings and marks of one company: the root of a disjoint set."""
        while above.setdefault(item, item) != item:
            above[item] = item = above[above[item]]
        return item

    said = [_read(row, covers.get(str(row["filing"]), "")) for row in rows]
    for one in said:
        for mark in one.marks():
            above[root(mark)] = root(one.filing)
    members: dict[str, list[_Said]] = defaultdict(list)
    for one in said:
        if one.printed or one.ticker:
            members[root(one.filing)].append(one)
    common = COMMON | _words_of_covers(members.values())
    return _index(members.values(), common)


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


def _words_of_covers(groups: Iterable[list[_Said]]) -> frozenset[str]:
    """Words that the covers of several companies print in lower case: they are no names."""
    count: Counter[str] = Counter()
    for group in groups:
        words = " ".join(one.cover for one in group[:3]).split()
        text = " ".join(word for word in words if not _ADDRESS.search(word))
        count.update(set(re.findall(r"(?<![^\W_])[a-z]{3,}(?![^\W_])", text)))
    return frozenset(word for word, companies in count.items() if companies >= _COMMON_ON_COVERS)


def _names_of(group: list[_Said]) -> list[tuple[Name, str]]:
    """Names of a company, the most frequent first, then those of its covers, with how they were found."""
    printed = Counter(name for one in group for name in one.printed)
    extra: dict[str, str] = {}
    for one in group:
        extra |= dict.fromkeys(one.former, "former name")
        for name in one.names:
            extra |= dict.fromkeys(defined_terms(name, one.cover), "defined on the cover")
    ordered = [(name, "") for name, _ in sorted(printed.items(), key=lambda item: (-item[1], item[0]))]
    ordered += [(name, kind) for name, kind in sorted(extra.items()) if name not in printed]
    return [(read, kind) for text, kind in ordered if (read := read_name(text))]


def _index(groups: Iterable[list[_Said]], common: frozenset[str]) -> Names:
    parts = [
        (group, _names_of(group), sorted({one.ticker for one in group if fold(one.ticker)}))
        for group in groups
    ]
    parts = [part for part in parts if part[1] or part[2]]
    first_words: Counter[str] = Counter()
    holders: Counter[str] = Counter()
    for _, names, _ in parts:
        first_words.update({fold(name.core[0]) for name, _ in names})
        holders.update({fold(word) for name, _ in names for word in name.core})
    companies: list[Company] = []
    keys: Counter[str] = Counter()
    by_alias: dict[str, list[tuple[int, Alias]]] = defaultdict(list)
    for position, (group, names, tickers) in enumerate(parts):
        found: dict[tuple[str, bool], Alias] = {}
        for name, kind in names:
            for alias in derive(name, first_words, holders, common):
                if not kind:
                    _keep(found, alias)
                elif alias.kind in ("full name", "name"):
                    _keep(found, replace(alias, confidence=0.95, kind=kind))
        for ticker in tickers:
            _keep(found, Alias(fold(ticker), 1, 0.9, "ticker", capitals=True))
        key = (" ".join(names[0][0].core) if names else tickers[0]).casefold()
        keys[key] += 1
        numbered = key if keys[key] == 1 else f"{key} {keys[key]}"
        printed = tuple(name.printed for name, _ in names) or tuple(tickers)
        companies.append(Company(numbered, printed, tuple(one.filing for one in group)))
        for alias in found.values():
            by_alias[alias.key].append((position, alias))
    owners = {key: _owners(items) for key, items in by_alias.items()}
    spelt: dict[str, list[str]] = defaultdict(list)
    for key, items in sorted(owners.items()):
        written = [one for _, one in items if one.kind not in ("syllables", "last word")]
        if len(key) >= _SHORTEST_MISSPELT and any(not (one.capitals or one.common) for one in written):
            spelt[key[0]].append(key)
    longest = max((alias.words for items in by_alias.values() for _, alias in items), default=1)
    by_letter = {letter: tuple(some) for letter, some in spelt.items()}
    return Names(tuple(companies), owners, by_letter, longest, common)


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
    return one_line(company.names[0])
