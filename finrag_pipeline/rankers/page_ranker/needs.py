"""What a question needs: concepts, statements, sections and words, read from its text by rule."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from finrag_pipeline.questions.formula_lexicon import formula_lexicon
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.resolver.periods import find_periods
from finrag_pipeline.resolver.tokens import plain

STATEMENT_NAMES: dict[str, re.Pattern[str]] = {
    "income_statement": re.compile(
        r"income statements?|statements? of (?:consolidated )?(?:income|operations|earnings)|\bp ?& ?l\b"
        r"|profit and loss|earnings statements?"
    ),
    "financial_position": re.compile(
        r"balance sheets?|statements? of (?:consolidated )?financial (?:position|condition)"
    ),
    "cash_flows": re.compile(r"cash ?flows? statements?|statements? of (?:consolidated )?cash ?flows?"),
    "equity": re.compile(
        r"statements? of (?:changes in )?(?:share|stock)holders'? equity|equity statements?"
    ),
    "comprehensive_income": re.compile(r"statements? of comprehensive (?:income|loss)"),
}
INTENTS: dict[str, re.Pattern[str]] = {
    "driver": re.compile(r"\b(?:what drove|drivers?|drove|why|reasons?|because|caused?|due to)\b"),
    "change": re.compile(
        r"\b(?:increas\w*|decreas\w*|declin\w*|improv\w*|chang\w*|grow\w*|growth|drop\w*|compar\w*|trend\w*"
        r"|higher|lower|versus|vs|consisten\w*|stable|maintain\w*|accelerat\w*)\b"
    ),
    "extreme": re.compile(r"\b(?:highest|lowest|largest|smallest|most|least|best|worst|biggest|top|main)\b"),
    "amount": re.compile(r"\b(?:how (?:much|many)|amount|total|quantity|what (?:is|was|percent)|value)\b"),
    "list": re.compile(r"\b(?:which|what are|list|name|who are|major)\b"),
    "yes_no": re.compile(r"^(?:is|are|was|were|does|do|did|has|have|had|will|can|could|if)\b"),
    "ratio": re.compile(r"\b(?:ratio|margin|turnover|percent\w*|rate|per cent|cagr|average|days)\b|%"),
    "definition": re.compile(r"\b(?:is |are )?defined? (?:as|here)|\bcalculate\b|\bcompute\b"),
}
"""Kinds of question; one may be several."""
BEST_CONCEPTS = 2
"""Concepts of a line that are asked for; later ones stand in where statements print none of these."""


@dataclass(frozen=True)
class Need:
    """An entry of ``needs.toml``, see there, or a line or formula of the calculator's lexicon."""

    name: str
    patterns: tuple[re.Pattern[str], ...] = ()
    excluded: re.Pattern[str] | None = None
    concepts: frozenset[str] = frozenset()
    statements: frozenset[str] = frozenset()
    sections: frozenset[str] = frozenset()
    terms: tuple[str, ...] = ()
    head: tuple[str, ...] = ()


@dataclass(frozen=True)
class QuestionNeeds:
    """What a question needs.

    Attributes:
        named: statements that it names.
        needs: lines and formulas that it names, and entries of ``needs.toml`` that it meets.
        words: its own terms, without the name of the company and periods.
        years: years it names, of a range all.
    """

    named: frozenset[str]
    needs: tuple[Need, ...]
    intents: frozenset[str]
    words: tuple[str, ...]
    years: tuple[int, ...]

    def statements(self) -> frozenset[str]:
        """Statements named, or else those of the needs."""
        return self.named or frozenset(kind for need in self.needs for kind in need.statements)

    def concepts(self) -> frozenset[str]:
        """Concepts that the needs ask for."""
        return frozenset(concept for need in self.needs for concept in need.concepts)

    def sections(self) -> frozenset[str]:
        """Sections in which the needs are usually met."""
        return frozenset(section for need in self.needs for section in need.sections)

    def expansion(self) -> tuple[str, ...]:
        """Terms that a page which meets the needs is likely to use."""
        return tuple(dict.fromkeys(term for need in self.needs for term in need.terms))

    def head(self) -> tuple[str, ...]:
        """Terms expected in headings and captions."""
        return tuple(dict.fromkeys(term for need in self.needs for term in need.head))


@cache
def lexicon() -> tuple[Need, ...]:
    """Entries of ``needs.toml``, in its order."""
    source = files("finrag_pipeline.rankers.page_ranker").joinpath("needs.toml").read_text(encoding="utf-8")
    return tuple(
        Need(
            entry["name"],
            tuple(re.compile(pattern) for pattern in entry["patterns"]),
            re.compile(entry["not"]) if "not" in entry else None,
            frozenset(entry.get("concepts", ())),
            frozenset(entry.get("statements", ())),
            frozenset(entry.get("sections", ())),
            tuple(dict.fromkeys(terms(entry.get("terms", "")))),
            tuple(dict.fromkeys(terms(entry.get("head", "")))),
        )
        for entry in tomllib.loads(source)["need"]
    )


def _line_need(name: str) -> Need:
    """What a line or formula of the calculator's lexicon needs: its lines, where statements print them."""
    lines = formula_lexicon().lines_of(name)
    return Need(
        name,
        concepts=frozenset(concept for line in lines for concept in line.concepts[:BEST_CONCEPTS]),
        statements=frozenset(line.statements[0] for line in lines),
        terms=tuple(dict.fromkeys(terms(" ".join(line.label for line in lines)))),
    )


# 'Answer in USD millions, rounded to two decimals': how to answer, not where the answer stands.
_FRAME = re.compile(
    r"(?:answer|round|state|respond|give|provide|address|approach|base|calculate|compute|please)\b[^.?:]*"
    r"(?:usd|millions|billions|decimal|percents?|question|answer|perspective|judg\w+|lines? items?)"
    r"[^.?:]*[.?:]?"
)
# 'In its annual report', 'the 10-K': where to look, and every cover says it.
_DOCUMENT = re.compile(
    r"\b(?:form\s+)?(?:10-?[kq]|8-?k|20-?f)s?(?:\s+(?:report|filing)s?)?\b|\b(?:annual|quarterly)\s+(?:report|filing)s?\b"
    r"|(?:\b(?:the|this|its|their|latest|recent)|'s)\s+(?:report|filing)s?\b"
)
# 'The value of', 'respectively', 'the average of 2018 and 2019': what to do with the figures.
_OPERATION = re.compile(
    r"(?:(?<=the )|(?<=total )|(?<=average ))(?:values?|amounts?) of\b|\brespectively\b"
    r"|\bpercent(?:age)? (?=change|increase|decrease)"
)
_AVERAGE = re.compile(r"(?<!weighted )(?<!weighted-)\baverages?\b")
_FRAME_WORDS = frozenset({"fy", "fiscal", "year", "quarter", "end", "usd", "million", "billion"})


def read_needs(question: str, company_words: frozenset[str] = frozenset()) -> QuestionNeeds:
    """What a question needs; terms of the company's name say nothing about the page."""
    bare = asked = plain(question)
    places = find_periods(asked)
    for place in reversed(places):  # 'this', since '2019 filing' is to be read as a document
        bare = f"{bare[: place.start]} this {bare[place.end :]}"
    years = {period.fiscal_year for place in places for period in place.periods if period.fiscal_year}
    text, bare = " ".join(asked.lower().split()), " ".join(bare.lower().split())
    found = tuple(
        need
        for need in lexicon()
        if any(pattern.search(text) for pattern in need.patterns)
        and not (need.excluded and need.excluded.search(text))
    )
    named = frozenset(kind for kind, pattern in STATEMENT_NAMES.items() if pattern.search(text))
    core = _OPERATION.sub(" ", _DOCUMENT.sub(" ", _FRAME.sub(" ", bare)))
    if len(years) > 1:  # over years, not a line of the filing
        core = _AVERAGE.sub(" ", core)
    core = core if len(core.split()) > 3 else bare
    words = [term for term in terms(core) if term not in company_words and term not in _FRAME_WORDS]
    intents = frozenset(name for name, pattern in INTENTS.items() if pattern.search(text))
    lines = tuple(_line_need(name) for name in formula_lexicon().named(text))
    return QuestionNeeds(named, lines + found, intents, tuple(words), tuple(sorted(years)))
