"""What a page's text says for and against its being a financial statement.

Words are compared squeezed (lower case, letters only), so that letters set apart by the extractor
(``Consolidated Balance Shee t``) and curly or missing punctuation make no difference.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Literal, get_args

Kind = Literal["income_statement", "comprehensive_income", "financial_position", "cash_flows", "equity"]
KINDS: tuple[str, ...] = get_args(Kind)
"""Kinds of statement, in the order of regulation S-X."""

PRIMARY_KINDS = ("income_statement", "financial_position", "cash_flows")
"""The three statements every annual and quarterly report holds."""

_WORDS = tomllib.loads((files("finrag_pipeline.statements") / "page_words.toml").read_text("utf-8"))
_STATEMENT = r"statements?(?:of|on)(?:the)?(?:changesin)?(?:consolidated|condensed|combined|total|net)*"


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns).replace("<statement>", _STATEMENT), re.MULTILINE)


TITLES = {kind: _any_of(patterns) for kind, patterns in _WORDS["titles"].items()}
"""A squeezed line that names a statement of each kind."""

CONTENTS = {kind: tuple(map(_any_of, groups)) for kind, groups in _WORDS["contents"].items()}
"""Line items of each kind as patterns on squeezed line starts; a statement shows most of them."""

_NO_TITLE = _any_of(_WORDS["no_title"]["words"])
_AGAINST = [(name, _any_of(said["words"]), said["weight"]) for name, said in _WORDS["against"].items()]
_AUDITOR = re.compile(r"reportsofindependentregistered|reportofindependent(?:registered|auditor)")
_NOTES = re.compile(
    r"^(?!see|refer|the|inthe)(?![a-z]*accompanying)(?:[a-z]{0,60})notesto(?:the)?(?:unaudited|condensed|consolidated|interim)*financialstatements"
    r"|^note\d?(?:basisof|summaryof|organization|description|accounting|significant|nature|business|general)"
)
_CONTINUED = re.compile(r"continued|concluded")
_NUMBER = re.compile(r"^[\s$€£(]*[\d.,]*\d[\d.,]*[)%\s]*$")
_NUMBERS = re.compile(r"\d[\d,]*(?:\.\d+)?")
# Page numbers and years of an index are no amounts.
_AMOUNTS = re.compile(r"\d,\d{3}|\d\.\d|\d{5}")
_FEW_AMOUNTS = 12
_REFERENCE = re.compile(r"(?i)(?:see|the)\s+(?:accompanying\s+)?notes")
_LETTERS = re.compile(r"[^a-z]+")
_PARAGRAPHS = re.compile(r"\n\s*\n")
_HEAD_CHARACTERS = 1500
_HEAD_LINES = 14
_PROSE_WORDS = 11


def squeezed(text: str) -> str:
    """``text`` in lower case with nothing but its letters a to z."""
    return _LETTERS.sub("", text.lower())


@dataclass(frozen=True, slots=True)
class PageEvidence:
    """What speaks for each kind of statement on one page.

    Attributes:
        titles: kind to the title line that names it.
        contents: kind to the indices of `CONTENTS` met.
        against: what speaks against any primary statement, with its weight.
        prose: share of the characters in lines of running text, in [0, 1].
        continued: the head says that the page goes on from the one before.
        auditor, notes: the page heads an auditor's report or the notes.
    """

    page: int
    titles: dict[str, str] = field(default_factory=dict)
    contents: dict[str, frozenset[int]] = field(default_factory=dict)
    against: dict[str, float] = field(default_factory=dict)
    prose: float = 0.0
    numbers: int = 0
    continued: bool = False
    auditor: bool = False
    notes: bool = False
    index: bool = False


def page_evidence(page: int, text: str) -> PageEvidence:
    """Read one page of zero-based index; labels and numbers may stand on lines apart."""
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    words = [(line, squeezed(line)) for line in lines if not _NUMBER.match(line)]
    words = [(line, letters) for line, letters in words if len(letters) > 2]
    head = words[:_HEAD_LINES]
    prose = sum(len(line) for line, _ in words if _is_prose(line)) / max(1, len(text))
    titles, places = _titles(words)
    for block in _PARAGRAPHS.split(text[:_HEAD_CHARACTERS]) if not titles else ():
        # Some extractors write each word of a title on a line of its own.
        if "\n" in block.strip():
            titles.update((kind, " ".join(block.split())) for kind in title_kinds(" ".join(block.split())))
    numbers = sum(len(_NUMBERS.findall(line)) for line in lines if not _REFERENCE.match(line))
    amounts = len(_AMOUNTS.findall(text))
    labels = [letters for _, letters in words if len(letters) < 120] if numbers > 1 and prose < 0.7 else []
    contents = contents_met(labels)
    top = " ".join(letters for _, letters in head)
    against = {name: weight for name, pattern, weight in _AGAINST if pattern.search(top)}
    return PageEvidence(
        page=page,
        titles=titles,
        contents=contents,
        against=against,
        prose=prose,
        numbers=numbers,
        continued=any(_CONTINUED.search(letters) for _, letters in head[:6]),
        auditor=any(_AUDITOR.search(letters) for _, letters in head[:5]),
        notes=any(_NOTES.search(letters) for _, letters in head[:5]),
        index=len(places) >= 3 and amounts < _FEW_AMOUNTS,
    )


def contents_met(labels: Iterable[str]) -> dict[str, frozenset[int]]:
    """Kind to the indices of `CONTENTS` that squeezed labels meet."""
    lines = "\n".join(labels)
    return {
        kind: frozenset(place for place, pattern in enumerate(patterns) if pattern.search(lines))
        for kind, patterns in CONTENTS.items()
    }


def title_kinds(line: str) -> list[str]:
    """Kinds of statement a title line names; empty where it is no title.

    A combined title, such as *Statements of Income and Comprehensive Income*, names both.
    """
    letters = squeezed(line)
    if len(letters) > 110 or len(letters) < 10 or _NO_TITLE.search(letters) or _is_prose(line):
        return []
    return [kind for kind, pattern in TITLES.items() if pattern.search(letters)]


def _titles(words: list[tuple[str, str]]) -> tuple[dict[str, str], list[int]]:
    titles: dict[str, str] = {}
    places = []
    for place, (line, letters) in enumerate(words):
        if len(letters) > 110 or not ("statement" in letters or "balancesheet" in letters):
            continue
        kinds = title_kinds(line)
        if not kinds and place + 1 < len(words) and letters.endswith(("of", "consolidated", "changesin")):
            line = f"{line} {words[place + 1][0]}"
            kinds = title_kinds(line)
        if kinds:
            places.append(place)
        for kind in kinds:
            titles.setdefault(kind, line)
    return titles, places


def _is_prose(line: str) -> bool:
    words = line.split()
    return len(words) >= _PROSE_WORDS and sum(word[:1].islower() for word in words) > len(words) * 0.5
