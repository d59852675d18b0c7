"""What can be asked of a filing's facts, with the page that answers it: lines, changes, ratios."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from finrag_pipeline.page_scorer.derived_wording import Subject, lexicon
from finrag_pipeline.statements.concepts import normal_label

Fact = Mapping[str, Any]

TOLD_APART = 3
"""Digits from which on a number is not the same as another by chance."""

_STATEMENTS = ("income_statement", "comprehensive_income", "financial_position", "cash_flows")
_SCOPES = ("primary", "mdna", "note")
_UNITS = ("currency", "currency/share", "shares")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_MARKS = re.compile(r"\s*(?:\((?:note |see )?[\d, a-f]{1,6}\)|[*†‡§]|\.{2,}.*$)", re.IGNORECASE)
_LONGEST_LABEL = 80
_CHANGES = re.compile(r"\b(?:change|increase|decrease)", re.IGNORECASE)
_PREFIX = re.compile(r"^(?:less|plus|add|deduct|of which)\b[:,]?\s+", re.IGNORECASE)
# fmt: off
_VAGUE = frozenset({
    "total", "other", "net", "basic", "diluted", "balance", "amount", "assets", "liabilities", "current",
    "noncurrent", "gross", "common", "three", "months", "less", "more", "than", "over", "years", "year",
    "thereafter", "increase", "decrease", "changes", "period", "beginning", "ending",
})
# fmt: on


@dataclass(frozen=True)
class Topic:
    """Something to ask about, and where it is answered.

    Attributes:
        kind: of question, as the templates name it.
        page: zero-based page that answers it.
        items: ways to name it.
        evidence: words of the place on the page.
        statement: the statement that holds it, where it is a primary one.
        instant: a quantity at the end of the period, not over it.
        also: other pages that may answer it; they are neither right nor wrong.
    """

    kind: str
    page: int
    items: tuple[str, ...]
    evidence: str
    statement: str | None = None
    instant: bool = False
    also: frozenset[int] = frozenset()


class Numbers:
    """On which pages numbers stand.

    Args:
        texts: of the pages, by zero-based page.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._pages: dict[str, set[int]] = defaultdict(set)
        for page, text in enumerate(texts):
            for number in _NUMBER.findall(text):
                self._pages[_digits(number)].add(page)

    def pages(self, facts: Iterable[Fact]) -> frozenset[int]:
        """Pages with the numbers of all facts, as printed; empty where a number is too short to tell."""
        numbers = [_digits(number) for fact in facts for number in _NUMBER.findall(fact["printed"])[:1]]
        if not numbers or any(_length(number) < TOLD_APART for number in numbers):
            return frozenset()
        return frozenset(set.intersection(*(self._pages.get(number, set()) for number in numbers)))


def _digits(number: str) -> str:
    return number.replace(",", "").rstrip(".")


def _length(number: str) -> int:
    return len(number.replace(".", ""))


def of_period(fact: Fact, subject: Subject, back: int = 0) -> bool:
    """Whether a fact is of the period that the filing reports on, or of that ``back`` years before."""
    if subject.year is None or fact["fiscal_year"] != subject.year - back:
        return False
    if fact["period_kind"] == "instant":
        return subject.quarter is None or (not back and fact["period_end"] == subject.end)
    return bool(fact["fiscal_quarter"] == subject.quarter)


def fact_topics(facts: Sequence[Fact], subject: Subject, numbers: Numbers) -> list[Topic]:
    """Lines of statements, their changes, ratios of them, and the statements themselves.

    A line elsewhere than on a primary statement is taken only where its number stands on no other page.

    Args:
        facts: rows of ``statement_facts`` of the filing.
        subject: what the filing is about.
        numbers: where numbers stand.
    """
    usable = [
        fact
        for fact in facts
        if fact["statement"] in _STATEMENTS
        and fact["scope"] in _SCOPES
        and fact["unit"] in _UNITS
        and not fact["qualifier"]
        and _NUMBER.search(fact["printed"])
    ]
    now = _lines(fact for fact in usable if of_period(fact, subject))
    before = _lines(fact for fact in usable if of_period(fact, subject, 1))
    best = _statement_pages(facts)
    home = _homes(now.values())
    topics = []
    for key, fact in now.items():
        items = _items(fact)
        # What another statement shows first, or a group of companies shows of its own, is ambiguous.
        if not items or any(home.get(name, fact) is not fact for name in _same_line(fact)):
            continue
        earlier = before.get(key)
        for kind, shown in (("value", [fact]), ("change", [fact, earlier] if earlier else [])):
            where = numbers.pages(shown) - {fact["page"]} if shown else None
            primary = fact["scope"] == "primary"
            if where is None or (not primary and (where or not numbers.pages(shown))):
                continue
            topics.append(_topic(kind, shown, items, where))
    topics += _ratios(now, numbers)
    for statement, pages in best.items():
        if statement in lexicon().statements:
            first, *others = sorted(pages, key=lambda page: (-pages[page], page))
            names = lexicon().statements[statement]
            instant = statement == "financial_position"
            topics.append(Topic("statement", first, names, names[0], statement, instant, frozenset(others)))
    return topics


def _same_line(fact: Fact) -> tuple[tuple[str, str], ...]:
    named = (("label", normal_label(_label(fact))),)
    return (*named, ("concept", fact["concept"])) if fact["concept"] else named


def _homes(facts: Iterable[Fact]) -> dict[tuple[str, str], Fact]:
    """The primary fact that a label or concept means first, by the order of the statements."""
    found: dict[tuple[str, str], Fact] = {}
    primary = [fact for fact in facts if fact["scope"] == "primary"]
    for fact in sorted(primary, key=lambda fact: _STATEMENTS.index(fact["statement"])):
        for name in _same_line(fact):
            found.setdefault(name, fact)
    return found


def _lines(facts: Iterable[Fact]) -> dict[tuple[Any, ...], Fact]:
    """Lines by page, scope, statement and label; those with several values are left out."""
    found: dict[tuple[Any, ...], list[Fact]] = defaultdict(list)
    for fact in facts:
        found[fact["page"], fact["scope"], fact["statement"], normal_label(fact["label"])].append(fact)
    return {key: own[0] for key, own in found.items() if len({fact["value"] for fact in own}) == 1}


def _label(fact: Fact) -> str:
    """The label in words: without marks of notes and 'Less:', on a cash flow statement as a change."""
    label = " ".join(_MARKS.sub("", fact["label"]).split()).strip(" :.,-–—")
    label = _PREFIX.sub("", label)
    # On a cash flow statement 'Inventories' is what they changed by.
    above = " ".join(fact["path"][:-1])
    by_change = (fact["concept"] or "").startswith("IncreaseDecrease") or _CHANGES.search(above)
    if fact["statement"] == "cash_flows" and by_change and not _CHANGES.search(label):
        return f"change in {label}"
    return label


def _items(fact: Fact) -> tuple[str, ...]:
    """Ways to name a line: its label, unless that says too little, and names of its concept."""
    named, label = lexicon().names.get(fact["concept"] or "", ()), _label(fact)
    words = re.findall(r"[a-z]+", normal_label(fact["label"]))
    tells = any(len(word) > 3 and word not in _VAGUE for word in words) and len(label) <= _LONGEST_LABEL
    if tells and label[0].isalpha() and not re.search(r"\d{3}|[\d$%]$", label):
        # The label counts as much as all other names together.
        return (*[label] * max(1, len(named)), *named)
    return named


def _topic(kind: str, facts: Sequence[Fact], items: tuple[str, ...], also: Iterable[int]) -> Topic:
    fact = facts[0]
    return Topic(
        kind,
        fact["page"],
        items,
        " ".join(f"{fact['label']} {fact['printed']}" for fact in facts),
        fact["statement"] if fact["scope"] == "primary" else None,
        fact["period_kind"] == "instant",
        frozenset(also),
    )


def _ratios(now: Mapping[tuple[Any, ...], Fact], numbers: Numbers) -> list[Topic]:
    shown: dict[tuple[int, str], dict[str, Fact]] = defaultdict(dict)
    for fact in now.values():
        if fact["scope"] == "primary" and fact["concept"]:
            shown[fact["page"], fact["statement"]].setdefault(fact["concept"], fact)
    topics = []
    for (page, _), lines in shown.items():
        for names, concepts in lexicon().ratios:
            if all(concept in lines for concept in concepts):
                parts = [lines[concept] for concept in concepts]
                topics.append(_topic("ratio", parts, names, numbers.pages(parts) - {page}))
    return topics


def _statement_pages(facts: Iterable[Fact]) -> dict[str, Counter[int]]:
    """Facts on each page of each primary statement."""
    pages: dict[str, Counter[int]] = defaultdict(Counter)
    for fact in facts:
        if fact["scope"] == "primary":
            pages[fact["statement"]][fact["page"]] += 1
    return pages
