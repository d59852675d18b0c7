"""The part of a text that a list of results shows."""

from __future__ import annotations

import re

from finrag_pipeline.retrieval.finance_tokens import finance_tokens

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
