"""Definitions inside a question: where they stand, what they define, where they end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from finrag_pipeline.questions.words import FILLERS, QUESTION_WORDS
from finrag_pipeline.resolver.lexicon import any_case

_MARKER = re.compile(
    r"""(?:,?\s*\(?\b(?:is|are|be|being|was|were)?\s*\(?
        (?:defined|calculated|computed|measured|derived|expressed|determined|given|taken)\s+
        (?:here\s+|simply\s+|basically\s+)?(?:as(?:\s+being)?|by(?=\s+(?:taking|dividing|subtracting|adding|multiplying|the))|to\s+be|via|using(?:\s+the\s+formula)?|with\s+the\s+formula)\s*(?:follows\s*)?[:,]?)
      | ,?\s*\bwhich\s+(?:is|equals|means)\b
        (?=.*(?:divided|multiplied|\bless\b|\bminus\b|\bplus\b|\bover\b|[/*+]))
      | \s*(?:(?<![<>!=])=(?!=)|:=|\bequals\b|\bis\s+equal\s+to\b|\bmeans\b|\bis\s+given\s+by\b)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_DEFINE = any_case(
    r"\b(?:define|defining|calculate|calculating|compute|computing|derive|deriving|"
    r"determine|measure|measuring|treat|treating|take|taking|assume|assuming|"
    r"consider|considering|approximate|estimate)\s+"
    r"(?P<name>(?:(?!\b(?:defining|treating|taking|assuming|considering)\b)[^.;:=]){1,90}?)\s+"
    r"(?:as(?!\s+(?:well|of|at)\b)(?:\s+being)?|to\s+be|"
    r"by|via|using(?:\s+the\s+formula)?|with)\s*[:,]?\s+"
)
_WHERE = any_case(
    r"(?:\bwhere|\bwith|\bwhereby|\blet|\bif)\s+(?P<name>[^.;:=,]{1,60}?)\s+(?:is|"
    r"are|be|being|as)\s+(?!defined|calculated|computed|measured|equal|given)"
)
_IS = any_case(
    r"^\s*(?:here,?\s+|note:?\s+)?(?P<name>(?!.*\b(?:what|how|which)\b)"
    r"[^.;:=,]{2,60}?)\s+(?:is|are)\s+(?:simply\s+|just\s+)?"
    r"(?=.*(?:divided by|/|\bless\b|\bminus\b|\bplus\b|\bratio of\b|\bsum of\b|"
    r"\bover\b|\*|\+|\bmultiplied\b|\bpercent\w* of\b))"
)
_BRACKET = any_case(
    r"(?<=[\w%)\"'])(?<!\bof)(?<!\bthe)(?<!\bis)(?<!\bwas)(?<!\bcompute)"
    r"(?<!\bcalculate)(?<!\bfind)(?<!\bdetermine)"
    r"\s*\((?P<body>[^()]*(?:\([^()]*\)[^()]*)*)\)"
    r"(?!\s*(?:[-+*/×÷]|divided|over\b|less\b|minus\b|plus\b|times\b|per\b|as\b|to\b))"
)
ARITHMETIC = any_case(
    r"divided by|\w\s*/\s*[\w(]|\s[-−+*×÷x]\s|\bless\b|\bminus\b|\bplus\b|\bover\b|"
    r"\bratio of\b|\bsum of\b|\bmultiplied\b"
)
# A dash between words of a question is punctuation as often as an operator.
_OPERATION = any_case(r"divided by|\w\s*/\s*[\w(]|\s[+*×÷]\s|\bless\b|\bminus\b|\bplus\b|\bmultiplied\b")
_COLON = any_case(
    r"(?:(?<=[a-z0-9)&])\s*(?::|,?\s(?:i\.e\.|that is|namely),?)\s+(?!.*\b(?:what|how|which)\b)"
    r"(?=[^:?]*(?:divided by|\w\s*/\s*[\w(]|\s[-+*×÷]\s|\bless\b|\bminus\b|\bplus\b|\bover\b))"
    r"|,\s+(?:with|using|being)\s+(?=[^:?,]*(?:divided by|\w\s*/\s*[\w(]|\bover\b)))"
)
_STARTS = any_case(r"(?:^|[;,]|\bwhere\b|\bwith\b|\band\b|\bwhereby\b|\bformula\b\s*:?|:|\((?=[^()]*$))\s*")


@dataclass(frozen=True, slots=True)
class Definition:
    """What a question says a name means.

    Attributes:
        name: words before the definition.
        text: the definition.
    """

    name: str
    text: str


def split_definitions(sentence: str) -> tuple[str, list[Definition]]:
    """A sentence without its definitions but with its question mark, and the definitions.

    Understands ``X is defined as E``, ``X, calculated as E``, ``X = E``, ``Define X as E``, ``Calculate X by
    dividing A by B``, ``where X is E``, several of them in a row, and all of these in brackets.
    """
    definitions: list[Definition] = []
    asks, sentence = sentence.endswith("?"), sentence.removesuffix("?")
    # From the last marker to the first, so that a definition ends where the next one begins.
    while True:
        # Of two readings of the same words the one whose name begins first is the more complete.
        last = max(_markers(sentence, asks), key=lambda place: place[2], default=None)
        found = last or _bracketed(sentence)
        if found is None:
            return _LOOSE_END.sub("", sentence) + "?" * asks, definitions
        start, name, body, keep_name = found
        tail_start = body + _extent(sentence[body:])
        text = _LOOSE_END.sub("", sentence[body:tail_start])
        definitions.insert(0, Definition(name, text))
        head = sentence[:start] + (f" {name} " if keep_name else " ")
        sentence = head.rstrip() + " " + sentence[tail_start:].lstrip(") ").strip()


_Place = tuple[int, str, int, bool]
"""Start of a definition, its name, start of its body, and whether the name is part of the ask."""


def _markers(sentence: str, asks: bool) -> Iterator[_Place]:
    for match in _DEFINE.finditer(sentence):
        if not (_ROLE.match(sentence, match.end()) or _ASK_LIKE.search(match["name"])):
            calculates = not match[0].lower().startswith(("defin", "treat", "tak", "assum", "consider"))
            yield match.start(), match["name"], match.end(), calculates
    for match in _WHERE.finditer(sentence):
        body = sentence[match.end() :]
        if ARITHMETIC.search(body[: _extent(body)]):  # not 'if gross margin is not a useful metric'
            yield match.start(), match["name"], match.end(), False
    if not asks and (plain := _IS.search(sentence)):
        yield 0, plain["name"], plain.end(), False
    for match in _MARKER.finditer(sentence):
        before = sentence[: match.start()]
        # 'A, B and C is defined as' is a name with commas where no earlier start gives words.
        starts = (found.end() for found in _STARTS.finditer(before) if before[found.end() :].strip())
        start = max(starts, default=0)
        if name := before[start:].strip(" ,("):
            yield match.start() if _INQUIRES.search(name) else start, name, match.end(), False


_ROLE = re.compile(r"\s*(?:an?|the) (?:investment|public|standpoint|perspective)")
_ASK_LIKE = any_case(r"\b(?:what|how|which|asked|question|answer)\b")
_INQUIRES = any_case(r"\b(?:what|how|which|calculate|compute|find|determine)\b")
_FORMULA = any_case(r"\b(?:formula|equation|definition)\b[^:=]{0,40}:\s*(?P<body>[^=]+)$")


def bare_formula(sentence: str) -> str | None:
    """The formula where a sentence is nothing but one, in brackets or behind 'formula:'; else None."""
    if match := _FORMULA.search(sentence):
        return match["body"] if ARITHMETIC.search(match["body"]) else None
    text = sentence.strip()
    whole = text.startswith("(") and text.endswith(")") and text.find(")") == len(text) - 1
    return text[1:-1] if whole and ARITHMETIC.search(text) and not re.search(r"=|\bdefined\b", text) else None


_LOOSE_END = any_case(r"(?:[\s,(]+(?:and|where|with|whereby|let))*[\s,(]*$")


def _bracketed(sentence: str) -> _Place | None:
    """A formula in brackets right behind a name: 'inventory turnover (cost of sales over inventory)'."""
    for match in _BRACKET.finditer(sentence):
        before = sentence[: match.start()]
        outside = _OPERATION.search(before) or _OPERATION.search(sentence, match.end())
        if ARITHMETIC.search(match["body"]) and not outside:
            return match.start(), before, match.start("body"), False
    if colon := _COLON.search(sentence):
        return colon.start(), sentence[: colon.start()], colon.end(), False
    return None


def _extent(text: str) -> int:
    """Length of a definition's body: up to an unmatched bracket, or words that begin something else."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if depth < 0:
            return place
    cut = _BEHIND.search(text)
    return cut.start() if cut else len(text)


_BEHIND = any_case(
    r",?\s+(?:what (?:is|was|were|are)|how (?:much|many)|for (?:the )?(?:company|purposes)|"
    r"if (?:the|it|this)|please|round(?:ed|ing)?\b|express(?:ed)?\b|give |using only|where\s*$|, where\b)"
)


def clean_name(name: str, skip: Iterable[str]) -> str:
    """The name that a definition gives, without the words around it; empty if there is none."""
    words = re.sub(r"[^\w&%/()' .-]|(?<!\w)'|'(?!\w)", " ", name.lower()).split()
    skipped = set(skip)
    kept = [word for word in words if word.removesuffix("'s") not in skipped]
    while kept and (kept[0] in FILLERS | QUESTION_WORDS or re.fullmatch(r"(?:fy)?\d{2,4}", kept[0])):
        kept.pop(0)
    while kept and (kept[-1] in FILLERS - {"value"} or kept[-1] in (",", "for", "and")):
        kept.pop()
    text = " ".join(kept)
    # 'custom leverage for the company in FY2020' is called by what stands before 'for'.
    text = re.split(r" (?:for|of the company|in (?:fy|fiscal|\d))", text)[0]
    words = text.strip(" .-").split()
    while words and words[-1] in FILLERS:
        words.pop()
    return " ".join(words)
