"""Words the resolver knows (``words.toml`` explains each kind), patterns of topics, and items of Form 8-K."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib.resources import files


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text; long lists of words read better so than as literals."""
    return frozenset(text.split())


_WORDS = {
    kind: word_set(text)
    for kind, text in tomllib.loads(
        (files("finrag_pipeline.resolver") / "words.toml").read_text("utf-8")
    ).items()
}
LEGAL, WEAK_TAIL, FILLERS, PLACES = (_WORDS[kind] for kind in ("legal", "weak_tail", "fillers", "places"))
COMMON, ACRONYMS = PLACES | _WORDS["common"], _WORDS["acronyms"]
FRONT, NAMING, FOLLOWING = (_WORDS[kind] for kind in ("front", "naming", "following"))
NOT_FOLLOWING, METRICS = _WORDS["not_following"], _WORDS["metrics"]

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
_SMALL_NUMBERS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen
"""
SMALL_NUMBERS = {word: value for value, word in enumerate(_SMALL_NUMBERS.split())}
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
TENS = {word: 10 * value for value, word in enumerate(_TENS.split(), 2)}
NUMBERS = {word: value for word, value in SMALL_NUMBERS.items() if value <= 12}


def any_case(pattern: str) -> re.Pattern[str]:
    """Compile a pattern that meets capitals and small letters alike."""
    return re.compile(pattern, re.IGNORECASE)


def words(pattern: str) -> re.Pattern[str]:
    """Compile a pattern that stands alone, between characters that are neither letters nor digits."""
    return any_case(rf"(?<![^\W_])(?:{pattern})(?![^\W_])")


_OF_PLACE = re.compile(r"\b[A-Z][a-z]{3,}(?:n|ese)\b")
_UK = re.compile(r"\bU\.?K\b\.?")
_COUNTRIES = (
    (_UK, "United Kingdom"),
    (re.compile(r"\bU\.?S\b"), "United States"),
    (re.compile(r"\bUnited States\b"), "U.S."),
)
"""Countries that filings call by two names, with the other."""


@lru_cache(maxsize=1 << 10)
def _place_of(word: str) -> str:
    """The place that a word such as 'European' is made of; the word where it is made of none."""
    stems = (word.removesuffix(end) for end in ("", "n", "an", "ian", "ese"))
    places = (f"{stem}{end}" for stem in stems for end in ("", "a", "o", "y") if f"{stem}{end}" != word)
    return next((place for place in places if place.lower() in PLACES), word)


def is_place(word: str) -> bool:
    """Whether a word is a place, dots aside: 'U.S.'."""
    return word.lower().replace(".", "") in PLACES


def as_places(text: str) -> str:
    """A text with the place for each word that is made of one: 'Europe sales' for 'European sales'."""
    return _OF_PLACE.sub(lambda word: _place_of(word[0]), _UK.sub("United Kingdom", text))


def with_places(text: str) -> str:
    """A text with the places behind it that words of it are made of: 'Canadian Operations Canada'."""
    places = (place for word in _OF_PLACE.findall(text) if (place := _place_of(word)) != word)
    else_called = (other for pattern, other in _COUNTRIES if pattern.search(text))
    return " ".join((text, *places, *else_called))


FORWARD = words(
    r"expect(?:s|ed|ing|ations?)?|forecast(?:s|ed|ing)?|guid(?:ance|ed|ing)|outlook|project(?:s|ed|ions?)|"
    r"anticipat(?:e|es|ed|ing)|plan(?:s|ned|ning)? to|target(?:s|ed|ing) for|intend(?:s|ed)?|in the "
    r"future|upcoming"
)
"""Words that look ahead: the filing is older than the period they name."""

RELEASE_STYLE = words(
    r"(?<!un)adjusted|non-? ?gaap|guidance|outlook|constant[- ]currency|organic(?:ally)?|comparable sales|"
    r"same[- ]store sales|ebitdar|fx|currency[- ]neutral|like[- ]for[- ]like|one-off items?|headline"
)
"""Measures and topics of earnings releases; annual reports show them seldom."""

REPORT_STYLE = words(
    r"balance sheets?|income statements?|cash ?flow statements?|statements? of [a-z]+(?: [a-z]+)?|p&l|"
    r"notes? to|legal (?:proceedings|matters|actions)|lawsuits?|litigation|risk factors?|"
    r"securities (?:are )?registered|employees|properties|"
    r"auditors?|critical accounting|unadjusted|capital[- ]intensive|lease (?:obligations|liabilities)|"
    r"customer concentration|industry|seasonal(?:ity)?|cyclical(?:ity)?|competitors?|historically|pension"
)
"""Topics of annual and quarterly reports."""

_ITEMS = {
    "1.01": r"(?:credit|merger|purchase|separation|loan|material definitive) agreements?|"
    r"credit facilit(?:y|ies)",
    "1.03": r"bankruptcy|receivership",
    "2.01": r"complet\w* (?:of )?(?:the |its )?(?:acquisition|disposition|sale|separation|merger|"
    r"exchange offer)|separation|split-?off|spin-?off|discontinued operations?|divest\w*",
    "2.02": r"results of operations|earnings release",
    "2.03": r"credit (?:agreements?|facilit(?:y|ies))|revolving|revolver|term loan|senior notes|borrow\w*",
    "2.05": r"restructuring plan|lay-?offs?|workforce reduction|headcount reduction|exit (?:plan|activities)",
    "2.06": r"material impairments?",
    "4.01": r"(?:new|change\w*|dismiss\w*|appoint\w*) (?:of |in )?(?:its |the )?(?:independent )?"
    r"(?:auditors?|accountants?)|certifying accountant",
    "4.02": r"restate\w*|non-reliance",
    "5.02": r"(?:new|former|previous|outgoing|interim) (?:ceo|cfo|coo|chief|director|president|chair\w*)|"
    r"(?:appoint|resign|retire|success|depart)\w*|step(?:s|ped|ping) down|"
    r"compensatory arrangements?",
    "5.03": r"by-?laws|articles of incorporation|change (?:of|in) fiscal year",
    "5.07": r"votes?|voted|voting results|nominees?|shareholder proposals?|stockholder proposals?|agm|"
    r"annual (?:general )?meeting|say[- ]on[- ]pay|shareholder vote",
}
EVENT_ITEMS = {item: words(pattern) for item, pattern in _ITEMS.items()}
"""Items of Form 8-K and the words a question on such an event uses."""
