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
    any_case,
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
PERIOD_WORD = any_case(r"(?:FY|CY|Q|H)?\d+[A-Za-z]*\d*")
_DOING = ("did", "does")
_OPENS = 0.8
"""Confidence left to a name that nothing but its place tells from an everyday word."""
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


def find_mentions(question: str, names: Names) -> list[Mention]:
    """Find the companies a question names, the surest and then the first named in front.

    The longest alias at a place counts. Misspelt names are looked for only where nothing else is found.

    Args:
        question: text in plain characters (see :func:`~finrag_pipeline.resolver.tokens.plain`).
        names: companies and aliases of the index.
    """
    return first_of_each(every_mention(question, names))


def every_mention(question: str, names: Names) -> list[Mention]:
    """All mentions of companies that `find_mentions` chooses from, the surest and then the first in front."""
    reading = _Reading(question, names)
    found = list(reading.exact()) or list(reading.misspelt()) or list(reading.opening())
    return sorted(found, key=lambda mention: (-mention.confidence, mention.start, mention.company))


def first_of_each(found: Sequence[Mention]) -> list[Mention]:
    """The first mention of each company."""
    return list({mention.company: mention for mention in reversed(found)}.values())[::-1]


class _Reading:
    """A question as it is read: its words, how it is printed, and the names of the index.

    Attributes:
        caseless: it is printed without capitals of names, or all in capitals.
        titled: every word is capitalised.
    """

    def __init__(self, question: str, names: Names) -> None:
        self.question, self.names = question, names
        self.tokens = tokenise(question)
        inner = [token for token in self.tokens if not token.opens and any(c.isalpha() for c in token.text)]
        words = [t for t in inner if not PERIOD_WORD.fullmatch(t.text) and t.key not in ACRONYMS]
        capitals = sum(token.capital for token in words)
        in_capitals = not any(c.islower() for token in inner for c in token.text)
        self.caseless = in_capitals or capitals == 0
        self.titled = not in_capitals and len(words) > 3 and capitals / len(words) > _TITLE_CASE

    def exact(self) -> Iterator[Mention]:
        """Companies named by one of their aliases."""
        position = 0
        while position < len(self.tokens):
            taken = 0
            for last, key in self._spans(position, min(self.names.longest + 2, _LONGEST_SPAN)):
                owners: dict[int, Alias] = {}
                for company, alias in self.names.by_alias.get(key, ()):
                    if self._stands_as_name(position, last, alias):
                        owners.setdefault(company, alias)
                if 0 < len(owners) <= _MOST_OWNERS:
                    taken = last + 1 - position
                    best = next(iter(owners.values())).confidence
                    equal = sum(alias.confidence >= best - EQUALLY_SURE for alias in owners.values())
                    shared = f", one of {equal} companies with it" if equal > 1 else ""
                    for company, alias in owners.items():
                        sure = alias.confidence * (_SHARED if equal > 1 else 1.0)
                        end = self.tokens[last]
                        stop = end.stem_end if alias.key.endswith(end.bare or " ") else end.end
                        yield self._mention(position, stop, company, sure, f"{alias.kind}{shared}")
                    break
            position += taken or 1

    def opening(self) -> Iterator[Mention]:
        """The company whose everyday name opens a search in small letters: 'gap sales 2022'."""
        spoken = (place for place, token in enumerate(self.tokens) if token.key not in _OPENERS)
        position = next(spoken, None)
        small = position is not None and self.caseless and not self.tokens[position].capital
        if position is None or not small or not any(map(is_period, self.tokens)):
            return
        for last, key in self._spans(position, min(self.names.longest + 2, _LONGEST_SPAN)):
            owners = [
                (company, alias)
                for company, alias in self.names.by_alias.get(key, ())
                if not alias.capitals and alias.kind not in ("first word", "last word")
            ]
            after = self.tokens[last + 1].key if last + 1 < len(self.tokens) else None
            goes_on = after is None or after in NAMING | NOT_FOLLOWING  # 'gap between sales and costs'
            if owners and not goes_on and len(owners) <= _MOST_OWNERS:
                for company, alias in owners:
                    how = f"{alias.kind}, which opens the search"
                    end = self.tokens[last].stem_end
                    yield self._mention(position, end, company, _OPENS * alias.confidence, how)
                return

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
            if not token.filler:
                unmarked = token.key[:-1] if token.key.endswith("s") else None  # 'verizons sales'
                spans += [(last, key + form) for form in (unmarked, token.key, token.bare) if form]
                key += token.key
        return spans[::-1]

    def _mention(self, position: int, end: int, company: int, confidence: float, how: str) -> Mention:
        start = self.tokens[position].start
        printed = self.question[start:end]
        reason = f'filed by {plain_name(self.names.companies[company])}, asked for as "{printed}" ({how})'
        return Mention(company, start, round(confidence, 4), reason, printed)

    def _stands_as_name(self, position: int, last: int, alias: Alias) -> bool:
        span = self.tokens[position : last + 1]
        words = [token for token in span if not token.filler]
        joined = len(words) > alias.words and not any(token.ampersand for token in span)
        if joined and len(alias.key) < _SHORTEST_JOINED:
            return False  # 'for d' is not Ford
        end = self.tokens[last]
        if not alias.key.endswith((end.key, end.stem)) and (
            alias.common or alias.capitals or not (end.capital or self.caseless)
        ):
            return False  # an everyday word in the plural
        if alias.capitals:
            return self._is_symbol(position, last, alias)
        if alias.kind != "full name" and self._goes_on_as_another(last):
            return False
        capital = all(token.capital for token in words)
        if alias.common:
            return self._common_name(position, last, alias, capital)
        if alias.kind == "last word" and not (capital or end.possessive):
            return False  # 'wholesale' is no one's name by itself
        return capital or not alias.initial or self.caseless

    def _is_symbol(self, position: int, last: int, alias: Alias) -> bool:
        """Whether a word is printed as a symbol or initials: in capitals, as ``JnJ``, beside an exchange."""
        token = self.tokens[position]
        before = self.tokens[position - 1].key if position else ""
        if _EXCHANGE.search(self.question[max(0, token.start - 24) : token.start]):
            return True
        if position != last or len(alias.key) < 2:
            return False
        if alias.key in ACRONYMS and not (token.possessive or before in _DOING):
            return False  # 'GM' may be the gross margin, but 'Did GM pay' and "GM's" are the company
        printed = token.text[:-2] if token.bare == alias.key else token.text
        letters = [c for c in printed if c.isalpha()]
        capitals = all(c.isupper() for c in letters)
        if not self.caseless:
            mixed = len(printed) > 2 and printed[0].isupper() and printed[-1].isupper()
            return bool(letters) and (capitals or mixed)
        if capitals and any(c.islower() for c in self.question):
            return True  # 'HD inventory turns': in a question without other capitals these say most
        led = token.possessive or token.opens or before in NAMING or not letters[0].islower()
        return len(alias.key) >= 3 and alias.key not in self.names.common and led

    def _common_name(self, position: int, last: int, alias: Alias, capital: bool) -> bool:
        """Whether everyday words stand as a name: by capitals, or by the words around them."""
        first, end = self.tokens[position], self.tokens[last]
        before = self.tokens[position - 1] if position else None
        after = self.tokens[last + 1] if last + 1 < len(self.tokens) else None
        ends = after is None or after.opens or not after.joined
        followed = ends or end.possessive or after is None or after.key in FOLLOWING or is_period(after)
        several, leading = last > position, NAMING | _BESIDE_ANOTHER if last > position else NAMING
        in_context = end.possessive or (before is not None and before.key in leading and followed)
        if alias.kind == "first word" and not (capital and in_context):
            return False  # a part of a name, and an everyday word
        if several and not capital and alias.kind in ("name", "full name"):
            # 'home depot debt', 'work for home depot abroad': several words of a name that open a question,
            # or stand in one with capitals; but 'consumption of general electric power'.
            led = before is not None and before.key in leading
            apart = before is None or before.key != "of" or (after is not None and after.key in METRICS)
            return first.opens or in_context or not self.caseless or (led and apart)
        opens = first.opens and capital  # which a question without other capitals may do too
        if (self.caseless and not opens) or (self.titled and position == last):
            return in_context
        if not capital:
            return False
        if first.opens:
            # A comma, as in 'Apple, three months to June', or a measure, as in 'Gap sales', follows no noun.
            comma = after is not None and "," in self.question[end.end : after.start]
            beside = (
                after is not None and not after.opens and (comma or after.key in METRICS | _BESIDE_ANOTHER)
            )
            named = several or end.possessive or (alias.kind == "name" and beside)
            return named or (followed and (after is None or after.key not in NOT_FOLLOWING))
        if before is None:
            return True
        # 'H&R Block' is another company than Block, and a 'Price Target' none.
        name_before = before.joined and not (before.possessive or is_period(before) or before.key in ACRONYMS)
        glued = "&" in before.text and first.joined
        return not glued and not (name_before and _within_run(before, first))

    def _goes_on_as_another(self, last: int) -> bool:
        """Whether capital words and a legal form follow: 'Apple Hospitality REIT, Inc.' is not Apple."""
        if self.tokens[last].possessive:
            return False
        for capitals, token in enumerate(self.tokens[last + 1 : last + 5]):
            if token.joined and token.capital and token.key in LEGAL:
                return capitals > 0
            ends = token.possessive or is_period(token) or token.key in ACRONYMS
            if ends or not token.joined or not token.capital:
                return False
        return False

    def _candidates(self) -> Iterator[tuple[int, int]]:
        """Runs of up to three words that may be a name: first and last token."""
        for position, token in enumerate(self.tokens):
            before = self.tokens[position - 1] if position else None
            led = token.possessive or (before is not None and before.key in NAMING)
            inner = token.capital and not token.opens
            if token.filler or not (inner or (led and (token.capital or self.caseless))):
                continue
            if before is not None and _within_run(before, token):
                continue  # within a run that has been given
            for last in range(position, min(position + 3, len(self.tokens))):
                after = self.tokens[last]
                goes_on = after.joined and (after.capital or self.caseless or after.filler)
                if last > position and not goes_on:
                    break
                if not after.filler:
                    yield position, last
                if after.possessive:
                    break

    def misspelt(self) -> Iterator[Mention]:
        """Companies whose alias is spelled nearly as words of the question are."""
        from rapidfuzz import fuzz, process

        for position, last in self._candidates():
            written = [token.stem for token in self.tokens[position : last + 1] if not token.filler]
            key = "".join(written)
            everyday = ACRONYMS.intersection(written) or self.names.common.issuperset(written)
            if len(key) < _SHORTEST_MISSPELT or everyday:
                continue
            spelt = self.names.spelt.get(key[0], ())
            # pyrefly: ignore[no-matching-overload]: the stub of ratio has overloads, that of a scorer none
            near = process.extractOne(key, spelt, scorer=fuzz.ratio, score_cutoff=_SAME_SPELLING)
            owners = self.names.by_alias[near[0]] if near else ()
            if near and len(owners) <= _MOST_OWNERS:
                how = f"spelling {near[1]:.0f} % alike"
                for company, _ in owners:
                    yield self._mention(position, self.tokens[last].end, company, 0.75 * near[1] / 100, how)


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
_OPENERS = _ASKING | word_set("calc get give me pull show tell the us what what's whats was is were are for")
"""Words before the name of a company that opens a search."""
_BESIDE_ANOTHER = frozenset(("or", "versus", "vs", "against", "minus", "less", "plus"))
"""Words between two companies, as in 'Apple or Zoltek: who …'."""
_ARTICLES = ("the", "a", "an")


def unknown_name(question: str, names: Names) -> str | None:
    """Return a capitalised name that a question without any known company asks about, or None.

    It stands as a possessive (``Zephyrion's``), after 'for', 'did' and the like, or before a legal form.
    Words of finance, places and months are no names; questions without capitals or full of them name nobody.

    Args:
        question: text in plain characters (see :func:`~finrag_pipeline.resolver.tokens.plain`).
        names: companies and aliases of the index.
    """
    reading = _Reading(question, names)
    tokens = reading.tokens
    for position, token in enumerate(tokens if not (reading.caseless or reading.titled) else ()):
        before = tokens[position - 1] if position else None
        if not token.capital or token.stem in _NO_NAME:
            continue
        if before is not None and (before.key in _ARTICLES or _within_run(before, token)):
            continue
        run = _run(tokens, position)
        led = before is not None and before.key in _LEADING
        legal = len(run) > 1 and run[-1].key in LEGAL
        if (led or legal or run[-1].possessive) and _may_be_company(run, legal, names):
            return question[run[0].start : run[-1].stem_end]
    return None


def possible_name(question: str, names: Names) -> str | None:
    """The first capitalised name that may be a company's: no everyday word, or a possessive.

    Wider than `unknown_name`: also the name of a place or a product, or the word before a metric that opens a
    search such as 'Zephyrion revenue 2022'.
    """
    reading = _Reading(question, names)
    tokens = reading.tokens
    if reading.caseless:
        opens_metric = len(tokens) > 1 and tokens[1].key in METRICS and tokens[0].key not in _ASKING
        tokens = tokens[:1] if opens_metric else []
    for place, token in enumerate([] if reading.titled else tokens):
        if not token.capital or token.stem in _NO_NAME | METRICS or _is_time(token):
            continue
        owner = token.possessive and place > 0 and tokens[place - 1].key not in _ARTICLES
        if owner or not _everyday(token, names):
            return question[token.start : token.stem_end]
    return None


def is_period(token: Token) -> bool:
    """Whether a word is a year, quarter or number: ``FY2022``, ``Q2``."""
    return PERIOD_WORD.fullmatch(token.text) is not None


def _within_run(before: Token, token: Token) -> bool:
    """Whether the word goes on with capital words before it, which have been looked at."""
    return before.capital and token.joined and not before.opens and before.key not in FRONT


def _run(tokens: list[Token], position: int) -> list[Token]:
    """The capital words from ``position`` on, up to a possessive."""
    run = [tokens[position]]
    for other in tokens[position + 1 : position + _LONGEST_RUN]:
        goes_on = other.joined and (other.capital or other.text in ("of", "and"))
        if run[-1].possessive or not goes_on or is_period(other):
            break
        run.append(other)
    while len(run) > 1 and run[-1].filler:
        run.pop()
    return run


def _may_be_company(run: list[Token], legal: bool, names: Names) -> bool:
    parts = [token for token in run if token.key not in LEGAL]
    if legal:
        return bool(parts)
    if len(parts) > 1 and not any(token.stem in METRICS | ACRONYMS for token in parts):
        # Several capital words of everyday language, such as 'General Widgets'.
        return not all(_is_time(token) for token in parts)
    return any(not _everyday(token, names) for token in parts)


def _everyday(token: Token, names: Names) -> bool:
    known = token.stem in names.common or token.stem in ACRONYMS or token.filler
    return known or _is_time(token) or (token.text.isupper() and len(token.stem) <= 2)


def _is_time(token: Token) -> bool:
    month = token.stem[:3] in MONTHS and any(name.startswith(token.stem) for name in _MONTH_NAMES)
    return month or PERIOD_WORD.match(token.text) is not None
