"""Terms for lexical features: words without inflection, numbers and years as they are."""

from __future__ import annotations

import re
from functools import cache

from Stemmer import Stemmer

_ENGLISH = Stemmer("english")
_WORD = re.compile(r"[^\W_]+(?:[.,][0-9]+)*")
_APOSTROPHE = re.compile(r"['’‘](?:s\b)?")

_STOP_WORDS = """
a about above after all also am among an and any are as at be been between both but by can
could did do does during each for from further had has have having here how i if in into is it
its itself like may more most my no nor not of on once only or other our out over own s same
should so some such t than that the their them then there these they this those through to
under until up us very was we were what when where which while who whom why will with would you
your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Words that say nothing about where an answer stands."""


def terms(text: str) -> list[str]:
    """Stemmed words of a text in their order, stop words left out; numbers keep their separators.

    Stems are Snowball's for English (Porter 2).
    """
    words = _WORD.findall(_APOSTROPHE.sub("", text).lower())
    return [_stem(word) for word in words if word not in STOP_WORDS]


@cache
def _stem(word: str) -> str:
    return str(_ENGLISH.stemWord(word)) if word.isalpha() else word
