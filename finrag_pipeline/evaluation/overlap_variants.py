"""Overlap of retrieved chunks with several evidence texts: three definitions that are in circulation.

* ``concatenated``: best chunk against the evidence texts joined by a newline. That of Kobeissi & Langlais'
  tables and of ``max_bleu`` and ``max_rouge_l`` here.
* ``max_segment``: best pair of chunk and evidence text (``context_*`` in their scored files).
* ``mean_segment``: mean over the evidence texts of the best chunk for each (``coverage_*`` there).

With one evidence text all three are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

Variant = Literal["concatenated", "max_segment", "mean_segment"]
VARIANTS: tuple[Variant, ...] = ("concatenated", "max_segment", "mean_segment")


def evidence_overlap(
    overlap: Callable[[str, str], float], evidence: Sequence[str], chunks: Sequence[str], variant: Variant
) -> float:
    """Overlap of the first chunks of a ranking with the gold evidence.

    Args:
        overlap: of one evidence text and one chunk, such as `TextOverlap.bleu`.
        evidence: evidence texts, at least one.
        chunks: texts of the chunks within the cut-off; without any the overlap is 0.
        variant: how several evidence texts are taken together.
    """
    texts = ["\n".join(evidence)] if variant == "concatenated" else list(evidence)
    best = [max((overlap(text, chunk) for chunk in chunks), default=0.0) for text in texts]
    return sum(best) / len(best) if variant == "mean_segment" else max(best)
