"""Names a company goes by, derived by rule from what its filings print."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass

from finrag_pipeline.resolver.lexicon import ACRONYMS, COMMON, FILLERS, LEGAL, PLACES, WEAK_TAIL, word_set
from finrag_pipeline.resolver.tokens import fold, plain, tokenise

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
    yield from _abbreviations(name, common)


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
    """Names that a cover defines for the company right behind its name: ``Acme plc ("Acme")``."""
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
