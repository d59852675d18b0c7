"""What can be a question at all, and which part of a text is shown for it."""

from __future__ import annotations

import re
from typing import Literal

from finrag_pipeline.errors import UsageError
from finrag_pipeline.retrieval.bm25 import finance_tokens

MAX_QUESTION_CHARACTERS = 20_000


def check_question(question: str, command: Literal["ask", "search"]) -> str:
    """The question without white space around it; the remedy names the command.

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
    return question


SNIPPET_CHARACTERS = 320


def snippet(text: str, question: str, length: int = SNIPPET_CHARACTERS) -> str:
    """The part of ``text`` that holds most words of the question, on one line."""
    flat = re.sub(r"\s+", " ", text).strip()
    if len(flat) <= length:
        return flat
    wanted = {token for token in finance_tokens(question) if len(token) > 3}
    lowered = flat.lower()
    starts = range(0, len(flat) - length // 2, length // 4)
    best = max(
        starts, key=lambda start: (sum(word in lowered[start : start + length] for word in wanted), -start)
    )
    if best:
        best = flat.find(" ", best) + 1
    part = flat[best : best + length]
    if best + length < len(flat):
        part = f"{part.rsplit(' ', 1)[0]} …"
    return f"… {part}" if best else part
