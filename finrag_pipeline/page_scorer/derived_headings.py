"""Headings of a filing that are worth a question: they stand on one page, with prose below them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from finrag_pipeline.page_scorer.derived_topics import Topic
from finrag_pipeline.statements.concepts import match_row, normal_label

_NUMBERING = re.compile(
    r"^(?:(?:item|note|part|section)\s+[\divx]+[a-c]?|\(?[ivx]{1,4}\)|\(?[a-z]\)|[A-Z]\.|\d{1,2}(?:\.\d+)*)"
    r"(?:[\s.:)–—|-]+|$)",
    re.IGNORECASE,
)
_NOTE = re.compile(r"^(?:note\s+)?\d{1,2}\s*[.:)–—-]", re.IGNORECASE)
_CONTINUED = re.compile(r"\bcont(?:inued|[’']?d)\b", re.IGNORECASE)
_TAIL = re.compile(
    r"\s*(?:\((?:continued|cont[’']?d|unaudited|[\d, ]{1,5})\)|[-–—]\s*continued|[*†‡§]+|[:–—-])$", re.I
)
_DANGLING = re.compile(
    r"\b(?:and|or|of|the|to|in|for|on|with|by|from|at|as|a|an|our|its|is|are|we|that|about|related|under|following"
    r"|per|not)$",
    re.IGNORECASE,
)
_NO_TOPIC = re.compile(
    r"table of contents|financial statements|\bstatements? of\b|balance sheets?\b"
    r"|exhibit|signature|this page|forward.looking|cautionary"
    r"|safe harbor|www\.|@"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\s+\d"
    r"|^(?:fiscal|years?|quarters?|three|six|nine|twelve)\b.*\b(?:ended|months|versus|vs|compared)\b"
    r"|\b(?:inc|corp|llc|ltd|subsidiaries)\b|^(?:see|to the)\b|^\w{2,8}: "
    r"|opinions? on|critical audit|independent registered|vice president|chief .* officer",
    re.IGNORECASE,
)
# fmt: off
_VAGUE = frozenset({
    "overview", "general", "other", "introduction", "background", "summary", "results", "description",
    "discussion", "details", "highlights", "outlook", "total", "company", "basis", "none", "not",
    "applicable", "notes", "business", "properties", "item", "items", "reference", "us", "our",
    "information", "additional", "certain", "matters", "related",
})
# fmt: on
_MOVES = re.compile(
    r"\b(?:(?:increas|decreas|declin)ed|(?:in|de)creases? (?:in|of|was)|higher|lower|grew|driven)\b"
)
_NOT_READ = frozenset({"cover", "contents", "exhibits"})
_SHORT_FORMS = ("8-K", "EARNINGS")
_MOST_WORDS = 14
_LINES_BELOW = 6
_LETTERS_BELOW = 90
_FIRST_LINE = 35


@dataclass(frozen=True)
class Place:
    """A heading where it stands.

    Attributes:
        page: zero-based.
        line: as printed.
        topic: what it is about.
        below: the first lines below it.
        last: no other heading follows on the page.
    """

    page: int
    line: str
    topic: str
    below: str
    last: bool


def topic_of(line: str) -> str | None:
    """What a heading is about: without numbering and '(continued)'; None where it says too little.

    >>> topic_of("Note 13. Long-Term Debt (continued)")
    'Long-Term Debt'
    """
    text = _bare(line)
    words = re.findall(r"[^\W\d_]+", text)
    telling = [word for word in words if len(word) > 3 and word.casefold() not in _VAGUE]
    if not telling or len(words) > _MOST_WORDS or (len(words) == 1 and len(words[0]) < 8):
        return None
    letters = sum(character.isalpha() or character.isspace() for character in text)
    if letters < 0.85 * len(text) or not text[0].isalpha() or text[0].islower():
        return None
    if _NO_TOPIC.search(text) or _DANGLING.search(text) or text.endswith((",", "(", "&", "/")):
        return None
    return None if text.count("(") != text.count(")") else text


def heading_key(topic: str) -> str:
    """Letters of a heading, by which repeated ones are known."""
    return re.sub(r"[\W\d_]+", "", topic.casefold())


def places(texts: Sequence[str], headings: Sequence[Collection[str]]) -> list[Place]:
    """Headings with prose below them, in order.

    Args:
        texts: of the pages.
        headings: lines of each page that read like headings.
    """
    found = []
    for page, (text, known) in enumerate(zip(texts, headings, strict=True)):
        lines = [" ".join(line.split()) for line in text.splitlines()]
        lines = [line for line in lines if line]
        named = {" ".join(line.split()) for line in known}
        at = [n for n, line in enumerate(lines) if line in named]
        for n in at:
            topic = topic_of(lines[n])
            below = lines[n + 1 : n + 1 + _LINES_BELOW]
            if (
                topic
                and not _CONTINUED.search(lines[n])
                and not _goes_on(lines[n - 1] if n else "")
                and _is_prose(below)
            ):
                found.append(Place(page, lines[n], topic, " ".join(below), n == at[-1]))
    return found


def _goes_on(before: str) -> bool:
    """Whether a line is left unfinished, so that the next one is a part of it."""
    return bool(before) and (
        bool(_DANGLING.search(before)) or (len(before) > 60 and before[-1] not in '.:;!?”")')
    )


def _is_prose(lines: Sequence[str]) -> bool:
    text = " ".join(lines)
    words = text.split()
    if len(text) < _LETTERS_BELOW or len(lines[0]) < _FIRST_LINE:
        return False
    if words[0][0].islower() or not words[0].lstrip('“"(•●')[:1].isalpha():
        return False
    return sum(word[0].islower() for word in words) >= 0.5 * len(words)


def heading_topics(
    texts: Sequence[str],
    profiles: Sequence[Mapping[str, Any]],
    form: str | None,
    lines: Iterable[str],
    company: Iterable[str] = (),
) -> list[Topic]:
    """Questions on sections, notes, risks, and on what moved a line of the statements.

    Running heads and whatever else stands on several pages is left out; so are contents, covers and exhibits.

    Args:
        texts: of the pages.
        profiles: rows of ``page_profiles``, by page.
        form: of the filing; the text of an 8-K or earnings release is often an exhibit.
        lines: names of lines of the statements, whose changes management explains.
        company: names of the company, which are no topics.
    """
    ignored = _NOT_READ - ({"exhibits"} if form in _SHORT_FORMS else set())
    read = [not ignored & set(profile["sections"]) for profile in profiles]
    pages = [profile["headings"] if wanted else () for profile, wanted in zip(profiles, read, strict=True)]
    # Also where no prose stands below it: a running head does not always have any.
    seen = Counter(
        key
        for page, wanted in enumerate(read)
        if wanted
        for key in {heading_key(_bare(line)) for line in texts[page].splitlines()}
        if key
    )
    own = {heading_key(name) for name in company}
    known = {normal_label(line) for line in lines}
    found = places(texts, pages)
    in_mdna = Counter(
        heading_key(place.topic) for place in found if "mdna" in profiles[place.page]["sections"]
    )
    topics: list[Topic] = []
    notes: set[str] = set()
    for place in found:
        key, profile = heading_key(place.topic), profiles[place.page]
        if any(name and name in key and len(key) < len(name) + 12 for name in own):
            continue
        also = {place.page + 1} if place.last and place.page + 1 < len(texts) else set()
        item = place.topic
        # What is named as a note, or as a line that management explains, may have the name of something else.
        if "notes" in profile["sections"] and _NOTE.match(place.line) and key not in notes:
            kind = "note"
            notes.add(key)
            also = {n for n, other in enumerate(profiles) if heading_key(_bare(other["note"])) == key}
        elif in_mdna[key] == 1 and "mdna" in profile["sections"] and _is_moved_line(place, known):
            kind = "driver"
            item = f"cash flow from {item}" if key.endswith("activities") and "cash" not in key else item
        elif seen[key] > 1:
            continue
        else:
            kind = "risk" if list(profile["sections"]) == ["risk_factors"] else "heading"
        evidence = f"{place.line} {place.below}"
        topics.append(Topic(kind, place.page, (item,), evidence, also=frozenset(also - {place.page})))
    return topics


def _is_moved_line(place: Place, known: Collection[str]) -> bool:
    statements = ("income_statement", "cash_flows")
    is_line = normal_label(place.topic) in known or any(
        match_row(statement, place.topic) for statement in statements
    )
    return is_line and bool(_MOVES.search(place.below))


def _bare(line: str) -> str:
    text = " ".join(line.split())
    for _ in range(2):
        text = _TAIL.sub("", _NUMBERING.sub("", text)).strip(" .•·")
    return text
