"""Questions that are derived from an unlabelled filing: from its facts and headings, each with its page.

They are written by templates, so they are many, plain and sound rather than clever: what a line is, how it
changed, a ratio of lines of one statement, what stands under a heading or in a note. No question or label of
a benchmark is read.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from finrag_pipeline.page_scorer.derived_headings import heading_topics
from finrag_pipeline.page_scorer.derived_topics import Numbers, Topic, fact_topics
from finrag_pipeline.page_scorer.derived_wording import (
    Casing,
    Subject,
    known_names,
    lexicon,
    lexicon_text,
    short_name,
    slots,
    word,
)
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

DERIVED_VERSION = "1"

PER_PAGE = 5
"""Questions on one page at most."""

TURNS = (
    *("value", "heading", "ratio", "note", "driver", "value", "heading", "change", "risk", "statement"),
    *("heading", "note", "driver", "value", "change"),
)
"""Kinds in the order in which they take turns until a filing has its questions."""


_OUTLINE = ["page", "sections", "note", "headings"]


@dataclass(frozen=True)
class DerivedQuestion:
    """A question with its page.

    Attributes:
        question_id: filing and number.
        question: its text.
        kind: value, change, ratio, statement, heading, note, risk or driver.
        filing: where it is answered.
        page: zero-based.
        also: other pages that may answer it: neither right nor wrong.
        evidence: words of the place on the page.
    """

    question_id: str
    question: str
    kind: str
    filing: str
    page: int
    also: tuple[int, ...]
    evidence: str

    def row(self) -> dict[str, Any]:
        """As a row of ``benchmark_questions``, as far as training reads it."""
        return {
            "question_id": self.question_id,
            "question": self.question,
            "filing": self.filing,
            "gold_pages": [self.page],
            "other_pages": list(self.also),
            "evidence": [{"page": self.page, "text": self.evidence}],
        }


def derived_questions(lake: Lake, filing: str, count: int, seed: int) -> list[DerivedQuestion]:
    """Questions on a filing, the same for the same seed.

    Args:
        lake: holds ``filings``, ``filing_pages``, ``page_profiles`` and ``statement_facts`` of it.
        filing: to ask about.
        count: questions at most; fewer where there is less to ask. None where company or period are unknown.
        seed: of choice and wording.
    """
    keys = {"filing": filing}
    if any(lake.info(table, keys) is None for table in ("filings", "filing_pages", "page_profiles")):
        return []
    facts = lake.read("statement_facts", keys).to_pylist() if lake.info("statement_facts", keys) else []
    return questions_of(
        lake.read("filings", keys).to_pylist()[0],
        lake.read("filing_pages", keys, ["page", "text"]).sort_by("page")["text"].to_pylist(),
        lake.read("page_profiles", keys, ["page", "sections", "note", "headings"])
        .sort_by("page")
        .to_pylist(),
        facts,
        count,
        seed,
    )


def questions_of(
    identity: Mapping[str, Any],
    texts: Sequence[str],
    profiles: Sequence[Mapping[str, Any]],
    facts: Sequence[Mapping[str, Any]],
    count: int,
    seed: int,
) -> list[DerivedQuestion]:
    """Questions on a filing of which the tables are at hand.

    Args:
        identity: its row of ``filings``.
        texts: of its pages, in order.
        profiles: its rows of ``page_profiles``, in order.
        facts: its rows of ``statement_facts``.
        count: questions at most.
        seed: of choice and wording.
    """
    casing = Casing(texts)
    subject = subject_of(identity, casing)
    if subject is None or not subject.periods():
        return []
    # Lines of flows: management explains why they changed.
    flows = [fact for fact in facts if fact["scope"] == "primary" and fact["period_kind"] == "duration"]
    names = [name for fact in flows for name in lexicon().names.get(fact["concept"] or "", ())]
    lines = {fact["label"] for fact in flows}.union(names)
    company = [name for name in (subject.company, identity["company"]) if name]
    topics = fact_topics(facts, subject, Numbers(texts))
    topics += heading_topics(texts, profiles, subject.form, lines, company)
    filing = str(identity["filing"])
    random = np.random.default_rng([seed, *filing.encode()])
    found: dict[str, DerivedQuestion] = {}
    for topic in _chosen(topics, count, random):
        question = _worded(topic, subject, casing, random)
        name = f"derived {filing} {len(found)}"
        also = tuple(sorted(topic.also))
        found.setdefault(
            question, DerivedQuestion(name, question, topic.kind, filing, topic.page, also, topic.evidence)
        )
    return list(found.values())


def subject_of(identity: Mapping[str, Any], casing: Casing) -> Subject | None:
    """What a filing is about; None where its company is unknown.

    Args:
        identity: its row of ``filings``. Its periods are those of the cover, as in its facts.
        casing: of the filing's words.
    """
    printed = identity["declared_company"] or identity["company"]
    company = short_name(printed, casing) if printed else None
    if company is None:
        return None
    return Subject(
        company,
        identity["form"] or identity["declared_form"],
        identity["fiscal_year"] or identity["declared_year"],
        identity["fiscal_quarter"] or identity["declared_quarter"],
        identity["period_end"],
    )


def _chosen(topics: Sequence[Topic], count: int, random: np.random.Generator) -> list[Topic]:
    """Topics of all kinds in turn, in random order, at most `PER_PAGE` of a page."""
    left: dict[str, list[Topic]] = defaultdict(list)
    for place in random.permutation(len(topics)):
        left[topics[place].kind].append(topics[place])
    chosen: list[Topic] = []
    on_page: Counter[int] = Counter()
    while len(chosen) < count and any(left.values()):
        for kind in TURNS:
            while left[kind] and on_page[left[kind][-1].page] >= PER_PAGE:
                left[kind].pop()
            if left[kind] and len(chosen) < count:
                chosen.append(left[kind].pop())
                on_page[chosen[-1].page] += 1
    return chosen


def _worded(topic: Topic, subject: Subject, casing: Casing, random: np.random.Generator) -> str:
    filled = slots(subject, topic.instant, random)
    item = str(random.choice(topic.items))
    # The company's own name keeps its capitals, though its words may be everyday ones.
    name = re.compile(rf"\b{re.escape(subject.company)}\b", re.IGNORECASE)
    plain = item if item in known_names() else casing.plain(item)
    filled["item"] = name.sub(lambda match: subject.company, plain)
    if topic.statement:
        filled["statement"] = str(random.choice(lexicon().statements[topic.statement]))
    return word(topic.kind, filled, random)


def questions_fingerprint(lake: Lake, filings: Collection[str]) -> str:
    """What the questions on ``filings`` are made from, but for count and seed."""
    made = [
        (table, filing, part.fingerprint if (part := lake.info(table, {"filing": filing})) else None)
        for table in ("filings", "filing_pages", "page_profiles", "statement_facts")
        for filing in sorted(filings)
    ]
    return fingerprint("derived_questions", DERIVED_VERSION, lexicon_text(), PER_PAGE, TURNS, made)
