"""Runs of tokens that may be a formula: without empty brackets, words that say nothing, and loose ends."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from itertools import takewhile

from finrag_pipeline.questions.tokens import OPERATORS, Group, QuestionToken
from finrag_pipeline.questions.words import FILLERS, NO_MODIFIERS, QUESTION_WORDS
from finrag_pipeline.resolver.lexicon import any_case
from finrag_pipeline.statements.periods import FiscalPeriod

YEARLY = any_case(r"year[- ](?:over|on)[- ]year|yoy|y/y")
"""Words for a change within a year."""


def tidy(tokens: list[QuestionToken], measures: Container[object] = ()) -> list[QuestionToken]:
    """Tokens without empty brackets, brackets around periods alone, and names repeated in brackets."""
    while (shorter := _without_bracket(tokens, measures)) is not None:
        tokens = shorter
    return tokens


def _without_bracket(tokens: list[QuestionToken], measures: Container[object]) -> list[QuestionToken] | None:
    """Tokens without the first bracket of no meaning; None where there is none."""
    opening = None
    for place, token in enumerate(tokens):
        if token.kind == "LPAR":
            opening = place
        if token.kind != "RPAR" or opening is None:
            continue
        before, behind = tokens[:opening], tokens[place + 1 :]
        inside = without(tokens[opening:place], ("LPAR", "WORD"))
        kinds = {one.kind for one in inside}
        last = before[-1].kind if before else ""
        if last == "METRIC" and "METRIC" in kinds and kinds & OPERATORS:
            # 'free cash flow (A less B) / C': the brackets say what the name means.
            return [*before[:-1], *tokens[opening:]]
        if [one.value in measures for one in inside] == [True]:
            # 'days to collect receivables (DSO)': the measure is what is asked for.
            others = {one.value for one in tokens if one.kind == "METRIC"} - {inside[0].value}
            if others and not any(other in measures for other in others):
                return [*without(before, ("METRIC",)), *inside, *behind]
        names = "METRIC" in kinds and kinds <= {"METRIC", "PERIODS", "COMMA", "AND", "SPAN"}
        if not inside or (names and last in ("METRIC", "RPAR", "WORD", "PERIODS")):
            return [*before, *behind]
        if kinds == {"PERIODS"}:
            return [*before, *inside, *behind]
        opening = None
    return None


_JOINS = ("of", "from", "to", "by", "on")


def with_modifiers(tokens: list[QuestionToken], text: str) -> list[QuestionToken]:
    """Tokens in which a quantity with unknown words beside it is a name.

    What stands there may be a part of the quantity ('streaming content assets', 'revenue from licences'), so
    that the whole would be a wrong answer, or the noun that it only describes ('equity plans'); as a name it
    must be a printed line.

    Args:
        tokens: of what is asked.
        text: that they were made of.
    """

    def beside(one: QuestionToken, other: QuestionToken) -> bool:
        return not text[one.end : other.start].strip()

    kept: list[QuestionToken] = []
    place = 0
    while place < len(tokens):
        first = last = tokens[place]
        place += 1
        if first.kind != "METRIC":
            kept.append(first)
            continue
        while kept and _unknown(kept[-1]) and beside(kept[-1], first):
            first = kept.pop()
        if first is last and place < len(tokens):
            behind = tokens[place]
            if behind.text.lower() in _JOINS and behind.kind in ("WORD", "FROM", "TO", "BY"):
                run = list(takewhile(_unknown, tokens[place + 1 :]))
                last, place = (run[-1], place + 1 + len(run)) if run else (last, place)
            elif (
                _unknown(behind) and beside(last, behind) and not behind.text.lower().endswith(("ed", "ing"))
            ):
                last, place = behind, place + 1
        name = QuestionToken("NAME", text[first.start : last.end], None, first.start)
        kept.append(first if first is last else name)
    return kept


def _unknown(token: QuestionToken) -> bool:
    """Whether a word may be a part of a quantity's name."""
    word = token.text.lower()
    plain = says_nothing(word) or word.endswith("ly") or any(letter.isdigit() for letter in word)
    return token.kind == "WORD" and (word == "financial" or not plain)


def says_nothing(word: str) -> bool:
    """Whether a word, in lower case, leaves a question's quantity what it is."""
    if word.endswith(("'s", "s'", "'")) and word not in QUESTION_WORDS:
        return says_nothing(word.removesuffix("'s").removesuffix("'"))  # the possessive of a name may matter
    return (
        word in FILLERS
        or word in QUESTION_WORDS
        or word in NO_MODIFIERS
        or word.endswith(("'m", "'d", "'ll", "'ve", "'re", "-style", "-based", "-level", "-wide"))
    )


def once(tokens: list[QuestionToken]) -> list[QuestionToken]:
    """Tokens with 'increased or decreased' as one word, and without 'ratio of' behind a quantity.

    Nor does 'yoy' mean another change where one is named: '% change in sales, yoy'.
    """
    kept: list[QuestionToken] = []
    moves = [token for token in tokens if token.kind in ("CHANGE", "GROWTH", "CAGR")]
    yearly = [token for token in moves if YEARLY.fullmatch(token.text)]
    if len(yearly) < len(moves):
        tokens = [token for token in tokens if token not in yearly]
    for token in tokens:
        before = kept[-1].kind if kept else ""
        changed = token.kind == "CHANGE" and before in ("CHANGE", "GROWTH")
        named = token.kind == "RATIO" and before in ("METRIC", "NAME")  # 'debt to assets ratio of Acme'
        if not (changed or named):
            kept.append(token)
    return kept


def outside_brackets(tokens: list[QuestionToken]) -> list[QuestionToken]:
    """Tokens outside brackets, where these only repeat quantities named outside; else no tokens."""
    kept: list[QuestionToken] = []
    inside: list[QuestionToken] = []
    depth = 0
    for token in tokens:
        depth += token.kind == "LPAR"
        (inside if depth > 0 else kept).append(token)
        depth -= token.kind == "RPAR"
    named = {token.value for token in kept if token.kind == "METRIC"}
    return kept if inside and all(t.value in named for t in inside if t.kind == "METRIC") else []


def without(tokens: list[QuestionToken], kinds: Iterable[str]) -> list[QuestionToken]:
    """Tokens of other kinds than these."""
    dropped = set(kinds)
    return [token for token in tokens if token.kind not in dropped]


def with_names(tokens: list[QuestionToken], lenient: bool) -> list[QuestionToken]:
    """Tokens of a definition, runs of unknown words as names; ``lenient`` drops those beside a quantity."""
    kept: list[QuestionToken] = []
    for token in without(tokens, ("SPAN", "BETWEEN")):
        if token.kind != "WORD":
            kept.append(token)
        elif token.text.lower() not in FILLERS or token.text == "A":
            run = f"{kept.pop().text} {token.text}" if kept and kept[-1].kind == "NAME" else token.text
            kept.append(QuestionToken("NAME", run, None, token.start))
    if not lenient:
        return kept
    before = ["", *(token.kind for token in kept)]
    behind = [*(token.kind for token in kept[1:]), ""]
    return [
        token
        for token, left, right in zip(kept, before, behind, strict=False)
        if token.kind != "NAME"
        or not (
            left in ("METRIC", "RPAR", "PERIODS", "NUMBER")
            or right in ("METRIC", "LPAR", "AVERAGE", "PERIODS")
        )
    ]


def trims(tokens: list[QuestionToken], operators: bool = True) -> Iterable[list[QuestionToken]]:
    """Tokens, and tokens without loose words at the ends; ``operators`` may be loose too."""
    yield tokens
    loose = ("AND", "TO", "BY", "FROM", "COMMA", *(OPERATORS if operators else ()))
    start, end = 0, len(tokens)
    while start < end and tokens[start].kind in loose:
        start += 1
    while end > start and tokens[end - 1].kind in loose:
        end -= 1
    if (start, end) != (0, len(tokens)):
        yield tokens[start:end]


_BASIS = frozenset(["using", "based", "assuming", "given", "considering", "utilizing", "relying", "if"])


def segments(tokens: list[QuestionToken]) -> list[list[QuestionToken]]:
    """Parts of a question between commas and words such as 'using', after which its inputs are told."""
    parts: list[list[QuestionToken]] = [[]]
    for token in tokens:
        if token.kind == "COMMA" or (token.kind == "WORD" and token.text.lower() in _BASIS):
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def basis_parts(tokens: Sequence[QuestionToken]) -> list[list[QuestionToken]]:
    """Parts of a question that tell what its answer rests on: from 'using' and the like up to a comma.

    At the end of a question such a part goes on over commas, as a list.
    """
    parts: list[list[QuestionToken]] = []
    inside = False
    first = True
    for token in tokens:
        if token.kind == "WORD" and token.text.lower() in _BASIS:
            parts.append([])
            inside = True
        elif token.kind == "COMMA" and inside and first:
            inside = False
        if inside:
            parts[-1].append(token)
        elif token.kind in ("METRIC", "NAME"):
            first = False
    return parts


def is_list(tokens: list[QuestionToken]) -> bool:
    """Whether tokens are only quantities side by side: 'using operating income and D&A' is no formula."""
    kinds = {token.kind for token in tokens}
    quantities = sum(token.kind in ("METRIC", "NAME") for token in tokens)
    return quantities > 1 and kinds <= {"METRIC", "NAME", "AND", "COMMA", "PERIODS"}


def all_periods(tokens: list[QuestionToken]) -> Group:
    """Every period of a question as one group, with the number of years that it counts."""
    span = next((int(str(t.value)) for t in tokens if t.kind == "SPAN"), None)
    groups = [token.value for token in tokens if isinstance(token.value, Group)]
    periods: list[FiscalPeriod | int] = []
    for group in groups:
        periods += [p for p in group.periods if p not in periods and isinstance(p, FiscalPeriod)]
    ranged = any(group.ranged for group in groups)
    return Group(tuple(periods), ranged, span)
