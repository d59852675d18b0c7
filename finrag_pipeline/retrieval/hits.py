"""One chunk of a ranking."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hit:
    """One chunk of a ranking.

    Attributes:
        chunk_id: the chunk.
        filing: its filing.
        page: its zero-based page.
        score: score of the system; higher is better.
        why: what put it there, for people.
        passage: the part of the chunk that matched best, when the retriever knows it.
    """

    chunk_id: str
    filing: str
    page: int
    score: float
    why: str
    passage: str | None = None
