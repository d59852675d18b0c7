"""Names of companies that a question asks about and the index does not hold; best effort."""

from __future__ import annotations

from finrag_pipeline.resolver.companies import Names
from finrag_pipeline.resolver.lexicon import ACRONYMS, FRONT, LEGAL, METRICS, MONTHS, NAMING, word_set
from finrag_pipeline.resolver.mentions import PERIOD_WORD, style_of
from finrag_pipeline.resolver.tokens import Token, tokenise

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

    It stands as a possessive (``Zephyrion's``), behind 'for', 'did' and the like, or before a legal form.
    Words of finance, places and months are no names; questions without capitals or full of them name nobody.

    Args:
        question: text in plain characters (see :func:`~finrag_pipeline.resolver.tokens.plain`).
        names: companies and aliases of the index.
    """
    tokens = tokenise(question)
    style = style_of(tokens)
    if style.caseless or style.titled:
        return None
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else None
        if not token.capital or (token.bare or token.key) in _NO_NAME:
            continue
        if before is not None and (before.key in ("the", "a", "an") or _within_run(before, token)):
            continue
        run = _run(tokens, place)
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


def _run(tokens: list[Token], place: int) -> list[Token]:
    """The capital words from ``place`` on, up to a possessive."""
    run = [tokens[place]]
    for other in tokens[place + 1 : place + _LONGEST_RUN]:
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
