"""What can be a question at all, and which part of a text is shown for it."""

from __future__ import annotations

import re
from typing import Literal

from finrag_pipeline.errors import UsageError
from finrag_pipeline.questions.spoken_numbers import in_digits
from finrag_pipeline.questions.words import FILLERS, QUESTION_WORDS
from finrag_pipeline.retrieval.bm25 import finance_tokens

MAX_QUESTION_CHARACTERS = 20_000


def check_question(question: str, command: Literal["ask", "search"]) -> str:
    """The question without white space around it, years in digits; the remedy names the command.

    Raises:
        UsageError: it is empty, no text, or longer than `MAX_QUESTION_CHARACTERS`.
    """
    question = question.strip()
    if not question:
        raise UsageError(
            "The question is empty.", f'Ask something: finrag {command} "capital expenditure 2022".'
        )
    try:
        question.encode()
    except UnicodeEncodeError:
        raise UsageError("The question is not valid text.", "Type it in UTF-8.") from None
    if len(question) > MAX_QUESTION_CHARACTERS:
        raise UsageError(
            f"The question has {len(question):,} characters.", f"Shorten it to {MAX_QUESTION_CHARACTERS:,}."
        )
    return in_digits(question)


SNIPPET_CHARACTERS = 320
_SAY_NOTHING = FILLERS | QUESTION_WORDS


def snippet(text: str, question: str, length: int = SNIPPET_CHARACTERS) -> str:
    """The part of ``text`` that holds most words of the question, these in its middle, on one line."""
    flat = re.sub(r"\s+", " ", text).strip()
    if len(flat) <= length:
        return flat
    said = (token for token in finance_tokens(question) if len(token) > 1 and token not in _SAY_NOTHING)
    wanted = "|".join(map(re.escape, said))
    places = list(re.finditer(rf"\b(?:{wanted})", flat, re.IGNORECASE)) if wanted else []
    best, most = 0, 0
    for place in places:
        near = [one for one in places if place.start() <= one.start() and one.end() <= place.start() + length]
        if (held := len({one[0].lower() for one in near})) > most:
            most, best = held, max(0, (place.start() + near[-1].end() - length) // 2)
    best = min(best, len(flat) - length)
    if best:
        best = flat.find(" ", best) + 1
    part = flat[best : best + length]
    if best + length < len(flat):
        part = f"{part.rsplit(' ', 1)[0]} …"
    return f"… {part}" if best else part
