"""Runs of tokens that may be a formula: without empty brackets, words that say nothing, and loose ends."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from finrag_pipeline.questions.expression import FiscalPeriod
from finrag_pipeline.questions.tokens import OPERATORS, Group, QuestionToken
from finrag_pipeline.questions.words import FILLERS, NO_MODIFIERS, QUESTION_WORDS


def tidy(tokens: list[QuestionToken], measures: Container[str] = ()) -> list[QuestionToken]:
    """Tokens without empty brackets, brackets around periods alone, and names repeated in brackets."""
    while True:
        for place in range(len(tokens)):
            if tokens[place].kind != "LPAR":
                continue
            close = next(
                (at for at in range(place + 1, len(tokens)) if tokens[at].kind in ("LPAR", "RPAR")), None
            )
            if close is None or tokens[close].kind == "LPAR":
                continue
            inside = [token for token in tokens[place + 1 : close] if token.kind != "WORD"]
            kinds = {token.kind for token in inside}
            after_quantity = place > 0 and tokens[place - 1].kind in ("METRIC", "RPAR", "WORD", "PERIODS")
            if place and tokens[place - 1].kind == "METRIC" and kinds & set(OPERATORS) and "METRIC" in kinds:
                # 'free cash flow (A less B) / C': the brackets say what the name means.
                tokens = [*tokens[: place - 1], *tokens[place:]]
                break
            if [token.value in measures for token in inside] == [True]:
                # 'days to collect receivables (DSO)': the measure is what is asked for.
                others = {token.value for token in tokens if token.kind == "METRIC"} - {inside[0].value}
                if others and not any(other in measures for other in others):
                    before = without(tokens[:place], ("METRIC",))
                    tokens = [*before, *inside, *tokens[close + 1 :]]
                    break
            plain_name = kinds <= {"METRIC", "PERIODS", "COMMA", "AND", "SPAN"} and not kinds & set(OPERATORS)
            if not inside or (after_quantity and plain_name and "METRIC" in kinds):
                tokens = [*tokens[:place], *tokens[close + 1 :]]
                break
            if kinds == {"PERIODS"}:
                tokens = [*tokens[:place], *inside, *tokens[close + 1 :]]
                break
        else:
            return tokens


def with_modifiers(tokens: list[QuestionToken], text: str) -> list[QuestionToken]:
    """Tokens in which a quantity with unknown words right before it is a name: 'streaming content assets'.

    What stands there may be a part of the quantity, such as a segment or a product, so that the whole would
    be a wrong answer; as a name it must be a printed line.

    Args:
        tokens: of what is asked.
        text: that they were made of.
    """
    kept: list[QuestionToken] = []
    for token in tokens:
        words: list[QuestionToken] = []
        end = token.start
        while token.kind == "METRIC" and kept and _modifies(kept[-1], text, end):
            words.insert(0, kept.pop())
            end = words[0].start
        if words:
            name = text[end : token.start + len(token.text)]
            kept.append(QuestionToken("NAME", name, None, end))
        else:
            kept.append(token)
    return _with_complements(kept, text)


_JOINS = ("of", "from", "to", "by", "on")


def _with_complements(tokens: list[QuestionToken], text: str) -> list[QuestionToken]:
    """Tokens in which a quantity with an unknown 'of …', 'from …' and the like behind it is a name."""
    kept: list[QuestionToken] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        end = place + 1
        joins = end < len(tokens) and tokens[end].text.lower() in _JOINS
        if token.kind == "METRIC" and joins and tokens[end].kind in ("WORD", "FROM", "TO", "BY"):
            last = end + 1
            while last < len(tokens) and tokens[last].kind == "WORD" and _unknown(tokens[last].text.lower()):
                last += 1
            if last > end + 1:
                stop = tokens[last - 1].start + len(tokens[last - 1].text)
                kept.append(QuestionToken("NAME", text[token.start : stop], None, token.start))
                place = last
                continue
        if token.kind == "METRIC" and end < len(tokens) and _heads(token, tokens[end], text):
            stop = tokens[end].start + len(tokens[end].text)
            kept.append(QuestionToken("NAME", text[token.start : stop], None, token.start))
            place += 2
            continue
        kept.append(token)
        place += 1
    return kept


def _heads(quantity: QuestionToken, token: QuestionToken, text: str) -> bool:
    """Whether a word right behind a quantity is the noun that the quantity only describes: 'equity plans'."""
    beside = not text[quantity.start + len(quantity.text) : token.start].strip()
    word = token.text.lower()
    return (
        token.kind == "WORD"
        and beside
        and word.islower()
        and _unknown(word)
        and not word.endswith(("ed", "ing"))
    )


def _modifies(token: QuestionToken, text: str, end: int) -> bool:
    beside = not text[token.start + len(token.text) : end].strip()
    return token.kind == "WORD" and beside and _unknown(token.text.lower())


def _unknown(word: str) -> bool:
    return word == "financial" or not (
        says_nothing(word) or word.endswith("ly") or any(letter.isdigit() for letter in word)
    )


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
    """Tokens with 'increased or decreased' as one word, and without 'ratio of' behind a quantity."""
    kept: list[QuestionToken] = []
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
            if kept and kept[-1].kind == "NAME":
                kept[-1] = QuestionToken("NAME", f"{kept[-1].text} {token.text}", None, kept[-1].start)
            else:
                kept.append(QuestionToken("NAME", token.text, None, token.start))
    if not lenient:
        return kept
    operand = ("METRIC", "RPAR", "PERIODS", "NUMBER")
    return [
        token
        for place, token in enumerate(kept)
        if token.kind != "NAME"
        or not (
            (place and kept[place - 1].kind in operand)
            or (place + 1 < len(kept) and kept[place + 1].kind in ("METRIC", "LPAR", "AVERAGE", "PERIODS"))
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
