"""Pieces of text with their context, none longer than a limit of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from finrag_pipeline.embedding.tokens import TokenCounter

_CONTEXT_SHARE = 2
"""Context takes at most one part in so many of a piece; the rest is content."""


@dataclass(frozen=True)
class Piece:
    """A chunk before it has a number.

    Attributes:
        page: zero-based.
        kind: text, table_row or table.
        text: context and content.
    """

    page: int
    kind: str
    text: str


def join_context(*parts: str) -> str:
    """The parts that say something, none twice in a row, joined by bars."""
    kept: list[str] = []
    for part in parts:
        part = " ".join(part.split())
        if part and (not kept or part.lower() != kept[-1].lower()):
            kept.append(part)
    return " | ".join(kept)


def fit(context: str, parts: Sequence[str], separator: str, limit: int, tokens: TokenCounter) -> list[str]:
    """Texts of at most ``limit`` tokens: as many ``parts`` each as go in, after the context.

    Args:
        context: stands first in every text; cut where it would take more than half of it.
        parts: content, in order; one that is too long alone is cut between words.
        separator: between context and parts. Counted with each part.
        limit: tokens.
        tokens: counter of the encoder in use.
    """
    whole = separator.join([context, *parts] if context else parts)
    if tokens.count(whole) <= limit:
        return [whole]
    context = cut(context, limit // _CONTEXT_SHARE, tokens)[0] if context else ""
    room = limit - (tokens.count(context + separator) if context else 0)
    pieces = [piece for part in parts for piece in cut(part, room, tokens)]
    lengths = tokens.count_all([piece + separator for piece in pieces])
    texts: list[str] = []
    held: list[str] = []
    used = 0
    for piece, length in zip(pieces, lengths, strict=True):
        if held and used + length > room:
            texts.append(separator.join([context, *held] if context else held))
            held, used = [], 0
        held.append(piece)
        used += length
    if held:
        texts.append(separator.join([context, *held] if context else held))
    return texts


def cut(text: str, limit: int, tokens: TokenCounter) -> list[str]:
    """Parts of ``text`` of at most ``limit`` tokens, cut between words where there are any."""
    spans = tokens.spans(text)
    if len(spans) <= limit:
        return [text]
    end = spans[limit - 1][1]
    space = text.rfind(" ", 0, end + 1)
    end = space if space > end // 2 else end
    head, tail = text[:end].strip(), text[end:].strip()
    if not head or not tail:
        return [text]
    # A word cut inside may have more tokens in two parts than in one.
    heads = [head] if tokens.count(head) <= limit else cut(head, max(1, limit - 1), tokens)
    return [*heads, *cut(tail, limit, tokens)]
