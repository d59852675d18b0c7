"""Companies a question names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from finrag_pipeline.resolver.aliases import Alias
from finrag_pipeline.resolver.companies import EQUALLY_SURE, Names, plain_name
from finrag_pipeline.resolver.lexicon import (
    ACRONYMS,
    FOLLOWING,
    FRONT,
    LEGAL,
    METRICS,
    NAMING,
    NOT_FOLLOWING,
)
from finrag_pipeline.resolver.tokens import Token, tokenise

_LONGEST_SPAN = 8
_SHORTEST_JOINED = 6
_SHORTEST_MISSPELT = 5
_SAME_SPELLING = 87.0
_MOST_OWNERS = 3
_SHARED = 0.6
_TITLE_CASE = 0.7
PERIOD_WORD = re.compile(r"(?:FY|CY|Q|H)?\d+[A-Za-z]*\d*", re.IGNORECASE)
_DOING = ("did", "does")
_EXCHANGE = re.compile(r"(?:(?:NYSE|NASDAQ|Nasdaq|AMEX|LSE|OTC)\w*\s?:\s?|ticker(?:\ssymbol)?\s?:?\s?|\$)$")


@dataclass(frozen=True, slots=True)
class Mention:
    """A company named in a question.

    Attributes:
        company: place of the company among those of the index.
        start: first character of the name in the question.
        confidence: in (0, 1].
        reason: how the name was recognised, in words.
        printed: the name as the question has it.
    """

    company: int
    start: int
    confidence: float
    reason: str
    printed: str


@dataclass(frozen=True, slots=True)
class Style:
    """How a question is printed: without capitals of names, in capitals, or with every word capitalised."""

    caseless: bool
    titled: bool


def find_mentions(question: str, names: Names) -> list[Mention]:
    """Find the companies a question names, the surest and then the first named in front.

    The longest alias at a place counts. Misspelt names are looked for only where nothing else is found.

    Args:
        question: text in plain characters (see :func:`~finrag_pipeline.resolver.tokens.plain`).
        names: companies and aliases of the index.
    """
    tokens = tokenise(question)
    style = style_of(tokens)
    found = list(_exact(question, tokens, style, names)) or list(_misspelt(question, tokens, style, names))
    best: dict[int, Mention] = {}
    for mention in found:
        known = best.get(mention.company)
        if known is None or mention.confidence > known.confidence:
            best[mention.company] = mention
    return sorted(best.values(), key=lambda mention: (-mention.confidence, mention.start, mention.company))


def style_of(tokens: Sequence[Token]) -> Style:
    """Tell how a question is printed, by the words that do not begin a sentence."""
    inner = [token for token in tokens if not token.opens and any(c.isalpha() for c in token.text)]
    if not inner or not any(c.islower() for token in inner for c in token.text):
        return Style(caseless=True, titled=False)
    names = [t for t in inner if not PERIOD_WORD.fullmatch(t.text) and t.key not in ACRONYMS]
    capitals = sum(token.capital for token in names)
    return Style(
        caseless=capitals == 0, titled=len(names) > 3 and capitals / max(len(names), 1) > _TITLE_CASE
    )


def _exact(question: str, tokens: Sequence[Token], style: Style, names: Names) -> Iterator[Mention]:
    place = 0
    while place < len(tokens):
        taken = 0
        for last, key in _spans(tokens, place, min(names.longest + 2, _LONGEST_SPAN)):
            owners = [
                (company, alias)
                for company, alias in names.by_alias.get(key, ())
                if _stands_as_name(question, tokens, place, last, alias, style, names)
            ]
            owners = list({company: (company, alias) for company, alias in reversed(owners)}.values())[::-1]
            if owners and len(owners) <= _MOST_OWNERS:
                taken = last + 1 - place
                best = owners[0][1].confidence
                equal = sum(alias.confidence >= best - EQUALLY_SURE for _, alias in owners)
                for company, alias in owners:
                    yield _mention(question, tokens, place, last, company, alias, equal, names)
                break
        place += taken or 1


def _spans(tokens: Sequence[Token], place: int, longest: int) -> list[tuple[int, str]]:
    """Last token and key of every run of words from ``place`` on, the longest first."""
    if tokens[place].filler:
        return []
    spans: list[tuple[int, str]] = []
    key = ""
    for last in range(place, min(place + longest, len(tokens))):
        token = tokens[last]
        if last > place and (not token.joined or tokens[last - 1].possessive):
            break
        if token.filler:
            continue
        spans.append((last, key + token.key))
        if token.bare:
            spans.append((last, key + token.bare))
        key += token.key
    return spans[::-1]


def _mention(
    question: str,
    tokens: Sequence[Token],
    place: int,
    last: int,
    company: int,
    alias: Alias,
    owners: int,
    names: Names,
) -> Mention:
    end = tokens[last].end
    if tokens[last].bare and alias.key.endswith(tokens[last].bare or ""):
        end -= 2
    printed = question[tokens[place].start : end]
    shared = f", one of {owners} companies with it" if owners > 1 else ""
    reason = f'company: "{printed}" = {plain_name(names.companies[company])} ({alias.kind}{shared})'
    confidence = alias.confidence * (_SHARED if owners > 1 else 1.0)
    return Mention(company, tokens[place].start, round(confidence, 4), reason, printed)


def _stands_as_name(
    question: str,
    tokens: Sequence[Token],
    place: int,
    last: int,
    alias: Alias,
    style: Style,
    names: Names,
) -> bool:
    span = tokens[place : last + 1]
    words = [token for token in span if not token.filler]
    if len(words) > alias.words and len(alias.key) < _SHORTEST_JOINED and not any(t.ampersand for t in span):
        return False  # 'for d' is not Ford
    if alias.capitals:
        return _is_symbol(question, tokens, place, last, alias, style, names)
    if alias.kind not in ("full name",) and _goes_on_as_another(tokens, last):
        return False
    capital = all(token.capital for token in words)
    if alias.common:
        return _common_name(tokens, place, last, alias, capital, style)
    return capital or not alias.initial or style.caseless


def _is_symbol(
    question: str,
    tokens: Sequence[Token],
    place: int,
    last: int,
    alias: Alias,
    style: Style,
    names: Names,
) -> bool:
    """Whether a word is printed as a symbol or initials: in capitals, as ``JnJ``, or beside an exchange."""
    token = tokens[place]
    printed = token.text[:-2] if token.bare == alias.key else token.text
    if _EXCHANGE.search(question[max(0, token.start - 24) : token.start]):
        return True
    if place != last or len(alias.key) < 2:
        return False
    if alias.key in ACRONYMS and not (token.possessive or (place and tokens[place - 1].key in _DOING)):
        return False  # 'GM' may be the gross margin, but 'Did GM pay' and "GM's" are the company
    letters = [c for c in printed if c.isalpha()]
    mixed = len(printed) > 2 and printed[0].isupper() and printed[-1].isupper()
    if style.caseless:
        if all(c.isupper() for c in letters) and any(c.islower() for c in question):
            return True  # 'HD inventory turns': in a question without other capitals these say most
        in_context = token.possessive or (place > 0 and tokens[place - 1].key in NAMING)
        return (
            len(alias.key) >= 3 and alias.key not in names.common and (in_context or not letters[0].islower())
        )
    return bool(letters) and (all(c.isupper() for c in letters) or mixed)


def _common_name(
    tokens: Sequence[Token], place: int, last: int, alias: Alias, capital: bool, style: Style
) -> bool:
    """Whether everyday words stand as a name: by capitals, or by the words around them."""
    before = tokens[place - 1] if place else None
    behind = tokens[last + 1] if last + 1 < len(tokens) else None
    ends = behind is None or behind.opens or not behind.joined
    followed = (
        ends
        or tokens[last].possessive
        or (
            behind is not None and (behind.key in FOLLOWING or PERIOD_WORD.fullmatch(behind.text) is not None)
        )
    )
    led = before is not None and before.key in NAMING
    if alias.kind == "first word" and not (capital and (tokens[last].possessive or (led and followed))):
        return False  # a part of a name, and an everyday word
    if style.caseless or (style.titled and place == last):
        return tokens[last].possessive or (led and followed)
    if not capital:
        return False
    if tokens[place].opens:
        if last > place:
            return True
        # A comma, as in 'Apple, three months to June', or a measure, as in 'Gap sales', follows no noun.
        beside = behind is not None and not behind.opens and (not behind.joined or behind.key in METRICS)
        if alias.kind == "name" and beside:
            return True
        return tokens[last].possessive or (followed and (behind is None or behind.key not in NOT_FOLLOWING))
    # 'H&R Block' is another company than Block, and a 'Price Target' none.
    stranger = (
        before is not None
        and before.joined | before.opens
        and before.capital
        and not before.possessive
        and not before.opens
        and before.key not in FRONT
        and not PERIOD_WORD.fullmatch(before.text)
        and before.key not in ACRONYMS
        and tokens[place].joined
    )
    glued = before is not None and "&" in before.text and tokens[place].joined
    return not stranger and not glued


def _goes_on_as_another(tokens: Sequence[Token], last: int) -> bool:
    """Whether capital words and a legal form follow: 'Apple Hospitality REIT, Inc.' is not Apple."""
    if tokens[last].possessive:
        return False
    for capitals, token in enumerate(tokens[last + 1 : last + 5]):
        if not token.joined or not token.capital:
            return False
        if token.key in LEGAL:
            return capitals > 0
        if token.possessive or PERIOD_WORD.fullmatch(token.text) or token.key in ACRONYMS:
            return False
    return False


def _candidates(tokens: Sequence[Token], style: Style) -> Iterator[tuple[int, int, str]]:
    """Runs of up to three words that may be a name: first and last token, and the words as printed."""
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else None
        led = token.possessive or (before is not None and before.key in NAMING)
        if token.filler or not (
            (token.capital and (not token.opens or led or token.possessive)) or (style.caseless and led)
        ):
            continue
        if (
            before is not None
            and before.capital
            and token.joined
            and not before.opens
            and before.key not in FRONT
        ):
            continue  # within a run that has been given
        for last in range(place, min(place + 3, len(tokens))):
            behind = tokens[last]
            if last > place and (
                not behind.joined or not (behind.capital or style.caseless or behind.filler)
            ):
                break
            if not behind.filler:
                yield place, last, behind.text
            if behind.possessive:
                break


def _misspelt(question: str, tokens: Sequence[Token], style: Style, names: Names) -> Iterator[Mention]:
    from rapidfuzz import fuzz, process

    for place, last, _ in _candidates(tokens, style):
        written = [t.bare or t.key for t in tokens[place : last + 1] if not t.filler]
        key = "".join(written)
        if len(key) < _SHORTEST_MISSPELT or any(word in ACRONYMS for word in written):
            continue
        if all(word in names.common for word in written):
            continue
        near = process.extractOne(
            key, names.spelt.get(key[0], ()), scorer=fuzz.ratio, score_cutoff=_SAME_SPELLING
        )
        if near is None:
            continue
        items = names.by_alias[near[0]]
        if len(items) > _MOST_OWNERS:
            continue
        printed = question[tokens[place].start : tokens[last].end]
        for company, _ in items:
            shown = plain_name(names.companies[company])
            yield Mention(
                company,
                tokens[place].start,
                round(0.75 * near[1] / 100, 4),
                f'company: "{printed}" = {shown} (spelling {near[1]:.0f} % alike)',
                printed,
            )
