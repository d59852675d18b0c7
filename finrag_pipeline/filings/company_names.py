"""Whether two spellings plausibly name the same company."""

from __future__ import annotations

import difflib
import re
import unicodedata

# fmt: off
_LEGAL = frozenset({
    "inc", "incorporated", "corp", "corporation", "co", "company", "companies", "plc", "ltd", "limited",
    "llc", "lp", "llp", "nv", "sa", "ag", "se", "spa", "holding", "holdings", "group", "trust",
})
# fmt: on
_FILLERS = frozenset({"the", "and", "of"})
_SHORTEST_RUN = 2
_LONGEST_ABBREVIATION = 4
_SAME_SPELLING = 0.9


def same_company(name: str, other: str, ticker: str | None = None) -> bool:
    """Tell whether two spellings plausibly name one company.

    Case, punctuation, accents and legal forms do not count. One name may be part of the other
    (``Acme Foods`` of ``Acme Foods International, Inc.``, also written together), its initials or another
    abbreviation (``ABC`` of ``American Beet Company``), its trading symbol, or a misspelling of it.
    Doubtful cases count as the same: the question is whether to warn somebody.

    Args:
        name: one spelling.
        other: another.
        ticker: trading symbol of either company.
    """
    first, second = _tokens(name), _tokens(other)
    if not first or not second:
        return True
    joined, other_joined = "".join(first), "".join(second)
    if ticker and ticker.casefold() in (joined, other_joined):
        return True
    if joined in _runs(second) or other_joined in _runs(first):
        return True
    if _abbreviates(joined, other) or _abbreviates(other_joined, name):
        return True
    return difflib.SequenceMatcher(None, joined, other_joined).ratio() >= _SAME_SPELLING


def _words(name: str) -> list[str]:
    decomposed = unicodedata.normalize("NFKD", name).casefold()
    plain = "".join(c for c in decomposed if not unicodedata.combining(c))
    # "McDonald's" and "L.P." are one word, "A.com" and "Wal-Mart" are two.
    plain = re.sub(r"['\u2019]|(?<=\b\w)\.(?=\w\b)", "", plain)
    return [word for word in re.split(r"[\W_]+", plain) if word]


def _tokens(name: str) -> list[str]:
    """Words without fillers and legal forms; all words where nothing else is left."""
    words = [word for word in _words(name) if word not in _FILLERS]
    return [word for word in words if word not in _LEGAL] or words


def _runs(tokens: list[str]) -> set[str]:
    """Every run of neighbouring words, written together."""
    count = len(tokens)
    runs = ("".join(tokens[i:j]) for i in range(count) for j in range(i + 1, count + 1))
    return {run for run in runs if len(run) >= _SHORTEST_RUN}


def _abbreviates(short: str, name: str) -> bool:
    """Whether ``short`` is the initials of ``name`` or, up to four letters, letters of it in order."""
    words = [word for word in _words(name) if word not in _FILLERS]
    if len(short) < 2 or not words or short[0] != words[0][0]:
        return False
    if "".join(word[0] for word in words).startswith(short):
        return True
    if len(short) > _LONGEST_ABBREVIATION:
        return False
    letters = iter("".join(words))
    return all(letter in letters for letter in short)
