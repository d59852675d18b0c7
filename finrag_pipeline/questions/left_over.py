"""Words that a calculation would leave out of its question: any of them may change the answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from finrag_pipeline.questions.token_runs import basis_parts, once, says_nothing
from finrag_pipeline.questions.tokens import Group, QuestionToken

_PUNCTUATION = frozenset({"COMMA", "LPAR", "RPAR", "AND", "TO", "FROM", "BY", "BETWEEN"})
_DASHES = frozenset("-\u2013\u2014\u2212")
_SEVERAL_YEARS = frozenset({"AVERAGE", "AVERAGE_OF", "CAGR", "SUM", "CHANGE", "GROWTH"})
_OF_PERIODS = frozenset({"quarter", "quarters", "quarterly", "interim", "half", "month", "months", "trend"})
"""Words that a period takes with it where it is understood."""
_OF_BALANCES = frozenset({"year-end", "yearend", "closing", "opening", "beginning", "ending", "average"})
"""Words that choose between balances, on which conventions of a formula differ."""
_ASKS = frozenset({"what", "how", "which", "who", "whose", "whether", "where"})
_PERSONS = frozenset({"i", "me", "my", "we", "us", "our", "you", "your"})


def left_over(
    tokens: Sequence[QuestionToken], read: Sequence[QuestionToken], group: Group, also: Collection[str] = ()
) -> tuple[str, ...]:
    """Words of a question that the formula read from it does not use, as written, in order.

    What tells only what a figure rests on ('using revenue as shown there') is no part of what is asked where
    the formula stands outside it, but for words that choose between balances.

    Args:
        tokens: of the sentence that asks, without the company's name.
        read: those that the formula was read from.
        group: periods of the question.
        also: names of further quantities that are answered beside it.
    """
    used = {id(token) for token in read}
    kinds = {token.kind for token in read}
    values = {str(token.value) for token in read if token.kind == "METRIC"} | set(also)
    tokens = tokens[_frame(tokens) :]
    basis = {id(token) for part in basis_parts(tokens) if not used & {id(t) for t in part} for token in part}
    left = []
    first = tokens[0].text if tokens else ""
    for token in once([t for t in tokens if t.kind != "WORD" or _may_tell(t.text, t.text == first)]):
        word = token.text.lower()
        match token.kind:
            case _ if id(token) in used or token.kind in _PUNCTUATION:
                unused = False
            case _ if id(token) in basis:
                unused = word in _OF_BALANCES
            case "PERIODS":
                named = token.value.periods if isinstance(token.value, Group) else ()
                back = any(isinstance(period, int) and period for period in named)
                unused = back and not kinds & _SEVERAL_YEARS
            case "SPAN":
                each = kinds <= {"METRIC"} and group.span == token.value and len(group.periods) < 2
                unused = not (kinds & _SEVERAL_YEARS or each or token.value == len(group.each()))
            case "MINUS":
                unused = token.text not in _DASHES
            case "METRIC":
                unused = str(token.value) not in values
            case _:
                unused = word not in _OF_BALANCES
        if unused:
            left.append(token.text)
    return tuple(dict.fromkeys(left))


def _frame(tokens: Sequence[QuestionToken]) -> int:
    """Length of a frame such as 'My colleague wants to know how …', which asks for no quantity."""
    for place, token in enumerate(tokens):
        if token.kind not in ("WORD", "TO", "COMMA"):
            return 0
        if token.text.lower() in _ASKS:
            before = {word.text.lower().partition("'")[0] for word in tokens[:place]}
            return place if before & _PERSONS else 0
    return 0


def chooses_balances(text: str) -> bool:
    """Whether a text says which balances a formula takes: 'year-end receivables'."""
    return not _OF_BALANCES.isdisjoint(text.lower().split())


def _may_tell(text: str, first: bool) -> bool:
    word = text.lower()
    name = text[:1].isupper() and not first  # 'Firefly' is no adverb, nor is 'parent-only'
    adverb = word.endswith("ly") and "-" not in word and not name
    return word in _OF_PERIODS or word in _OF_BALANCES or not (says_nothing(word) or adverb)
