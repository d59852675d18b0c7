"""What can be a question at all: for searching and for asking alike."""

from __future__ import annotations

from typing import Literal

from finrag_pipeline.errors import UsageError

MAX_QUESTION_CHARACTERS = 20_000


def check_question(question: str, command: Literal["ask", "search"]) -> str:
    """The question without white space around it.

    Args:
        question: as typed.
        command: named in the remedy.

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
