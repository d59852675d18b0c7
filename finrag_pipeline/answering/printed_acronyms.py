"""Acronyms that a filing explains, such as 'Harbour Services North (HSN)', spelled out in its rows.

Tables are headed by them, and people ask for the names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from finrag_pipeline.resolver.lexicon import ACRONYMS
from finrag_pipeline.statements.filing_rows import FilingRow

_EXPLAINED = re.compile(
    r"(?P<before>(?:[A-Z][\w&'’.-]*(?:,? (?:and|of|the|for|to|in|&))* ){2,8})"
    r"\(\W{0,2}(?P<short>[A-Z][A-Za-z&]{1,6})\W{0,2}\)"
)
_BETWEEN_WORDS = re.compile(r"[\s./-]+")


def acronyms(texts: Iterable[str]) -> dict[str, str]:
    """Names by their acronyms, as the pages of a filing first explain them; those of finance are left out."""
    found: dict[str, str] = {}
    for text in texts:
        for one in _EXPLAINED.finditer(" ".join(text.split())):
            name = _name(one["before"], [letter for letter in one["short"] if letter.isupper()])
            if name and one["short"].lower() not in ACRONYMS:
                found.setdefault(one["short"], name)
    return found


def _name(before: str, initials: Sequence[str]) -> str:
    """The last words of a text whose capitals are these initials; '' where there are none."""
    words = before.split()
    for at in reversed(range(len(words))):
        parts = (part for word in words[at:] for part in _BETWEEN_WORDS.split(word))
        own = [part[0] for part in parts if part[:1].isupper()]
        if own == initials and len(initials) > 1:
            return " ".join(words[at:])
        if len(own) > len(initials):
            break
    return ""


def speller(names: Mapping[str, str]) -> Callable[[str], str]:
    """What puts names in place of their acronyms in a text."""
    if not names:
        return str
    short = re.compile(rf"(?<![\w&])(?:{'|'.join(map(re.escape, names))})(?![\w&])")
    return partial(short.sub, lambda one: names[one[0]])


def spelled_out(rows: Iterable[FilingRow], names: Mapping[str, str]) -> Iterator[FilingRow]:
    """Rows whose labels, headings, columns and captions have names in place of their acronyms."""
    if not names:
        yield from rows
        return
    with_names = speller(names)
    for row in rows:
        if with_names(row.text) == row.text:
            yield row
            continue
        path, columns = (tuple(map(with_names, parts)) for parts in (row.path, row.columns))
        renamed = dict(zip(row.columns, columns, strict=True))
        values = tuple(
            replace(value, column=tuple(renamed.get(part, part) for part in value.column))
            for value in row.values
        )
        yield replace(row, caption=with_names(row.caption), path=path, columns=columns, values=values)
