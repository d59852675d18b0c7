"""Sentences of a text: the Punkt splitter of NLTK with the abbreviations of filings, nothing downloaded.

Kiss & Strunk 2006, "Unsupervised Multilingual Sentence Boundary Detection". Abbreviations are given instead
of learned: a model of them would have to be downloaded.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from finrag_pipeline.storage.optional_imports import UNUSED, without

_ABBREVIATIONS = """
    u.s u.k e.g i.e a.m p.m etc inc corp co ltd llc plc n.a n.v s.a l.p no nos vs v approx p pp fig sec art
    mr mrs ms dr jr sr st messrs jan feb mar apr jun jul aug sept sep oct nov dec dept est incl excl cf al
"""
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[•●▪■◦*–—-]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+\S)")
_WHITE = re.compile(r"\s+")


def sentences(text: str, of: re.Pattern[str] | None = None) -> list[str]:
    """Sentences in their order, line breaks within them folded; blank lines and bullets end one too.

    Args:
        text: of a page.
        of: only paragraphs in which it is found are split, which takes most of the time.
    """
    found = []
    for paragraph in _PARAGRAPH.split(text):
        folded = _WHITE.sub(" ", paragraph).strip()
        if folded and (of is None or of.search(folded)):
            found += [part.strip() for part in _splitter().tokenize(folded)]
    return [part for part in found if part]


@cache
def _splitter() -> Any:
    with without(*UNUSED, "scipy"):
        from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    parameters = PunktParameters()
    parameters.abbrev_types = set(_ABBREVIATIONS.split())
    return PunktSentenceTokenizer(parameters)
