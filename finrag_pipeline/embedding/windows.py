"""Windows: an encoder reads fewer tokens than a chunk holds, so a chunk is encoded in pieces.

``max`` pooling keeps every window and scores a chunk by its best one; ``mean`` pooling keeps the
normalised mean of a chunk's windows.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from finrag_pipeline.embedding.tokens import TokenCounter

WINDOWS_VERSION = "1"


def split_windows(text: str, limit: int, tokens: TokenCounter) -> list[str]:
    """Split ``text`` into the fewest windows of at most ``limit`` tokens, of nearly equal length.

    Windows end between words, so that each is tokenised as it was inside the whole text; equal lengths
    avoid a last window of a few stray words, which would match anything. They do not overlap. White space
    is folded to single spaces: encoders do not see it, and equal passages then share one cached vector.
    """
    spans = tokens.spans(text)
    if len(spans) <= limit:
        return [" ".join(text.split())]
    # A token starts a word when something untokenised (white space) stands before it.
    word_starts = [0] + [i for i in range(1, len(spans)) if spans[i][0] > spans[i - 1][1]]
    size = math.ceil(len(spans) / math.ceil(len(spans) / limit))
    cuts, begin = [0], 0
    while len(spans) - begin > limit:
        wanted = begin + size
        candidates = [i for i in word_starts if begin < i <= min(begin + limit, len(spans))]
        # The word start nearest to the wanted length; a single endless word is cut inside.
        begin = min(candidates, key=lambda i: abs(i - wanted)) if candidates else wanted
        cuts.append(begin)
    edges = [*(spans[i][0] for i in cuts), len(text)]
    return [" ".join(text[a:b].split()) for a, b in pairwise(edges)]


def mean_pool(vectors: np.ndarray) -> np.ndarray:
    """Normalised mean of a chunk's windows: (windows, dimensions) to (dimensions,)."""
    mean = vectors.mean(axis=0)
    norm = float(np.linalg.norm(mean))
    return mean / norm if norm else mean
