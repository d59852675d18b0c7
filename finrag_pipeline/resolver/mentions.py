"""Companies a question names, and names of companies that the index does not hold (best effort)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from finrag_pipeline.resolver.companies import EQUALLY_SURE, Alias, Names, plain_name
from finrag_pipeline.resolver.lexicon import (
    ACRONYMS,
    FOLLOWING,
    FRONT,
    LEGAL,
    METRICS,
    MONTHS,
    NAMING,
    NOT_FOLLOWING,
    word_set,
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
        company: position of the company among those of the index.
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
    reading = _Reading(question, names)
    found = list(reading.exact()) or list(reading.misspelt())
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


class _Reading:
    """A question as it is read: its words, how it is printed, and the names of the index."""

    def __init__(self, question: str, names: Names) -> None:
        self.question, self.names = question, names
        self.tokens = tokenise(question)
        self.style = style_of(self.tokens)

    def exact(self) -> Iterator[Mention]:
        """Companies named by one of their aliases."""
        position = 0
        while position < len(self.tokens):
            taken = 0
            for last, key in self._spans(position, min(self.names.longest + 2, _LONGEST_SPAN)):
                owners = [
                    (company, alias)
                    for company, alias in self.names.by_alias.get(key, ())
                    if self._stands_as_name(position, last, alias)
                ]
                owners = list({company: (company, alias) for company, alias in reversed(owners)}.values())[
                    ::-1
                ]
                if owners and len(owners) <= _MOST_OWNERS:
                    taken = last + 1 - position
                    best = owners[0][1].confidence
                    equal = sum(alias.confidence >= best - EQUALLY_SURE for _, alias in owners)
                    for company, alias in owners:
                        yield self._mention(position, last, company, alias, equal)
                    break
            position += taken or 1

    def _spans(self, position: int, longest: int) -> list[tuple[int, str]]:
        """Last token and key of every run of words from ``position`` on, the longest first."""
        if self.tokens[position].filler:
            return []
        spans: list[tuple[int, str]] = []
        key = ""
        for last in range(position, min(position + longest, len(self.tokens))):
            token = self.tokens[last]
            if last > position and (not token.joined or self.tokens[last - 1].possessive):
                break
            if token.filler:
                continue
            spans.append((last, key + token.key))
            if token.bare:
                spans.append((last, key + token.bare))
            key += token.key
        return spans[::-1]

    def _mention(self, position: int, last: int, company: int, alias: Alias, owners: int) -> Mention:
        end = self.tokens[last].end
        if self.tokens[last].bare and alias.key.endswith(self.tokens[last].bare or ""):
            end -= 2
        printed = self.question[self.tokens[position].start : end]
        shared = f", one of {owners} companies with it" if owners > 1 else ""
        reason = f'company: "{printed}" = {plain_name(self.names.companies[company])} ({alias.kind}{shared})'
        confidence = alias.confidence * (_SHARED if owners > 1 else 1.0)
        return Mention(company, self.tokens[position].start, round(confidence, 4), reason, printed)

    def _stands_as_name(self, position: int, last: int, alias: Alias) -> bool:
        span = self.tokens[position : last + 1]
        words = [token for token in span if not token.filler]
        if (
            len(words) > alias.words
            and len(alias.key) < _SHORTEST_JOINED
            and not any(t.ampersand for t in span)
        ):
            return False  # 'for d' is not Ford
        if alias.capitals:
            return self._is_symbol(position, last, alias)
        if alias.kind != "full name" and self._goes_on_as_another(last):
            return False
        capital = all(token.capital for token in words)
        if alias.common:
            return self._common_name(position, last, alias, capital)
        return capital or not alias.initial or self.style.caseless

    def _is_symbol(self, position: int, last: int, alias: Alias) -> bool:
        """Whether a word is printed as a symbol or initials: in capitals, as ``JnJ``, beside an exchange."""
        token = self.tokens[position]
        printed = token.text[:-2] if token.bare == alias.key else token.text
        if _EXCHANGE.search(self.question[max(0, token.start - 24) : token.start]):
            return True
        if position != last or len(alias.key) < 2:
            return False
        if alias.key in ACRONYMS and not (
            token.possessive or (position and self.tokens[position - 1].key in _DOING)
        ):
            return False  # 'GM' may be the gross margin, but 'Did GM pay' and "GM's" are the company
        letters = [c for c in printed if c.isalpha()]
        mixed = len(printed) > 2 and printed[0].isupper() and printed[-1].isupper()
        if self.style.caseless:
            if all(c.isupper() for c in letters) and any(c.islower() for c in self.question):
                return True  # 'HD inventory turns': in a question without other capitals these say most
            in_context = token.possessive or (position > 0 and self.tokens[position - 1].key in NAMING)
            return (
                len(alias.key) >= 3
                and alias.key not in self.names.common
                and (in_context or not letters[0].islower())
            )
        return bool(letters) and (all(c.isupper() for c in letters) or mixed)

    def _common_name(self, position: int, last: int, alias: Alias, capital: bool) -> bool:
        """Whether everyday words stand as a name: by capitals, or by the words around them."""
        before = self.tokens[position - 1] if position else None
        after = self.tokens[last + 1] if last + 1 < len(self.tokens) else None
        ends = after is None or after.opens or not after.joined
        followed = (
            ends
            or self.tokens[last].possessive
            or (
                after is not None
                and (after.key in FOLLOWING or PERIOD_WORD.fullmatch(after.text) is not None)
            )
        )
        led = before is not None and before.key in NAMING
        if alias.kind == "first word" and not (
            capital and (self.tokens[last].possessive or (led and followed))
        ):
            return False  # a part of a name, and an everyday word
        if self.style.caseless or (self.style.titled and position == last):
            return self.tokens[last].possessive or (led and followed)
        if not capital:
            return False
        if self.tokens[position].opens:
            if last > position:
                return True
            # A comma, as in 'Apple, three months to June', or a measure, as in 'Gap sales', follows no noun.
            beside = after is not None and not after.opens and (not after.joined or after.key in METRICS)
            if alias.kind == "name" and beside:
                return True
            return self.tokens[last].possessive or (
                followed and (after is None or after.key not in NOT_FOLLOWING)
            )
        # 'H&R Block' is another company than Block, and a 'Price Target' none.
        stranger = (
            before is not None
            and before.joined
            and before.capital
            and not before.possessive
            and not before.opens
            and before.key not in FRONT
            and not PERIOD_WORD.fullmatch(before.text)
            and before.key not in ACRONYMS
            and self.tokens[position].joined
        )
        glued = before is not None and "&" in before.text and self.tokens[position].joined
        return not stranger and not glued

    def _goes_on_as_another(self, last: int) -> bool:
        """Whether capital words and a legal form follow: 'Apple Hospitality REIT, Inc.' is not Apple."""
        if self.tokens[last].possessive:
            return False
        for capitals, token in enumerate(self.tokens[last + 1 : last + 5]):
            if not token.joined or not token.capital:
                return False
            if token.key in LEGAL:
                return capitals > 0
            if token.possessive or PERIOD_WORD.fullmatch(token.text) or token.key in ACRONYMS:
                return False
        return False

    def _candidates(self) -> Iterator[tuple[int, int]]:
        """Runs of up to three words that may be a name: first and last token."""
        for position, token in enumerate(self.tokens):
            before = self.tokens[position - 1] if position else None
            led = token.possessive or (before is not None and before.key in NAMING)
            if token.filler or not (
                (token.capital and (not token.opens or led)) or (self.style.caseless and led)
            ):
                continue
            if before is not None and _within_run(before, token):
                continue  # within a run that has been given
            for last in range(position, min(position + 3, len(self.tokens))):
                after = self.tokens[last]
                if last > position and (
                    not after.joined or not (after.capital or self.style.caseless or after.filler)
                ):
                    break
                if not after.filler:
                    yield position, last
                if after.possessive:
                    break

    def misspelt(self) -> Iterator[Mention]:
        """Companies whose alias is spelled nearly as words of the question are."""
        from rapidfuzz import fuzz, process

        for position, last in self._candidates():
            written = [t.bare or t.key for t in self.tokens[position : last + 1] if not t.filler]
            key = "".join(written)
            if len(key) < _SHORTEST_MISSPELT or any(word in ACRONYMS for word in written):
                continue
            if all(word in self.names.common for word in written):
                continue
            near = process.extractOne(
                key, self.names.spelt.get(key[0], ()), scorer=fuzz.ratio, score_cutoff=_SAME_SPELLING
            )
            if near is None:
                continue
            items = self.names.by_alias[near[0]]
            if len(items) > _MOST_OWNERS:
                continue
            printed = self.question[self.tokens[position].start : self.tokens[last].end]
            for company, _ in items:
                shown = plain_name(self.names.companies[company])
                yield Mention(
                    company,
                    self.tokens[position].start,
                    round(0.75 * near[1] / 100, 4),
                    f'company: "{printed}" = {shown} (spelling {near[1]:.0f} % alike)',
                    printed,
                )


_MONTH_NAMES = word_set(
    "january february march april may june july august september october november december sept"
)
_NO_NAME = word_set("i we us our you my it its their this that these those there here let company") | FRONT
_LEADING = NAMING - word_set("and vs versus between")
_LONGEST_RUN = 5
_ASKING = word_set(
    "analyse analyze approximate break calculate check compare compute concerning derive describe detail "
    "determine discuss display estimate evaluate explain extract find highlight identify kindly list locate "
    "outline please present provide quantify regarding retrieve review search summarise summarize"
)
"""Words that open a question and are no names."""


def unknown_name(question: str, names: Names) -> str | None:
    """Return a capitalised name that a question without any known company asks about, or None.

    It stands as a possessive (``Zephyrion's``), after 'for', 'did' and the like, or before a legal form.
    Words of finance, places and months are no names; questions without capitals or full of them name nobody.

    Args:
        question: text in plain characters (see :func:`~finrag_pipeline.resolver.tokens.plain`).
        names: companies and aliases of the index.
    """
    tokens = tokenise(question)
    style = style_of(tokens)
    if style.caseless or style.titled:
        return None
    for position, token in enumerate(tokens):
        before = tokens[position - 1] if position else None
        if not token.capital or (token.bare or token.key) in _NO_NAME:
            continue
        if before is not None and (before.key in ("the", "a", "an") or _within_run(before, token)):
            continue
        run = _run(tokens, position)
        led = before is not None and before.key in _LEADING
        legal = len(run) > 1 and run[-1].key in LEGAL
        if (led or legal or run[-1].possessive) and _may_be_company(run, legal, names):
            return question[run[0].start : run[-1].end - (2 if run[-1].bare else 0)]
    return None


def possible_name(question: str, names: Names) -> str | None:
    """The first capitalised name that may be a company's: no everyday word, or a possessive.

    Wider than `unknown_name`: also the name of a place or a product, or the word before a metric that opens a
    search such as 'Zephyrion revenue 2022'.
    """
    tokens = tokenise(question)
    style = style_of(tokens)
    if style.caseless:
        opens_metric = len(tokens) > 1 and tokens[1].key in METRICS and tokens[0].key not in _ASKING
        tokens = tokens[:1] if opens_metric else []
    for place, token in enumerate([] if style.titled else tokens):
        if not token.capital or (token.bare or token.key) in _NO_NAME | METRICS or _is_time(token):
            continue
        owner = token.possessive and place > 0 and tokens[place - 1].key not in ("the", "a", "an")
        if owner or not _everyday(token, names):
            return question[token.start : token.end - (2 if token.bare else 0)]
    return None


def _within_run(before: Token, token: Token) -> bool:
    """Whether the word goes on with capital words before it, which have been looked at."""
    return before.capital and token.joined and not before.opens and before.key not in FRONT


def _run(tokens: list[Token], position: int) -> list[Token]:
    """The capital words from ``position`` on, up to a possessive."""
    run = [tokens[position]]
    for other in tokens[position + 1 : position + _LONGEST_RUN]:
        if run[-1].possessive or not other.joined or not (other.capital or other.text in ("of", "and")):
            break
        if PERIOD_WORD.fullmatch(other.text):
            break
        run.append(other)
    while len(run) > 1 and run[-1].filler:
        run.pop()
    return run


def _may_be_company(run: list[Token], legal: bool, names: Names) -> bool:
    parts = [token for token in run if token.key not in LEGAL]
    if legal:
        return bool(parts)
    if len(parts) > 1 and not any((token.bare or token.key) in METRICS | ACRONYMS for token in parts):
        # Several capital words of everyday language, such as 'General Widgets'.
        return not all(_is_time(token) for token in parts)
    return any(not _everyday(token, names) for token in parts)


def _everyday(token: Token, names: Names) -> bool:
    word = token.bare or token.key
    return (
        word in names.common
        or word in ACRONYMS
        or token.filler
        or _is_time(token)
        or (token.text.isupper() and len(word) <= 2)
    )


def _is_time(token: Token) -> bool:
    word = token.bare or token.key
    month = word[:3] in MONTHS and any(name.startswith(word) for name in _MONTH_NAMES)
    return month or PERIOD_WORD.match(token.text) is not None
