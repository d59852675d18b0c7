"""Counting and locating tokens with the tokenizer of the encoder in use, and its windows.

An encoder reads fewer tokens than a chunk holds, so a chunk is encoded in pieces. ``max`` pooling keeps every
window and scores a chunk by its best one; ``mean`` pooling keeps the normalised mean of a chunk's windows.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from finrag_pipeline.embedding.model_files import tokenizer_file
from finrag_pipeline.errors import ModelError
from finrag_pipeline.settings import EncoderSettings

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class TokenCounter:
    """Counts tokens and finds their positions; special tokens are left out.

    Uses the ``tokenizers`` library alone: no torch is loaded.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        # The file may ask for truncation and padding, which would falsify counts.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def count(self, text: str) -> int:
        """Number of tokens of ``text``."""
        return len(self._tokenizer.encode(text, add_special_tokens=False))

    def count_all(self, texts: list[str]) -> list[int]:
        """Number of tokens of each text, counted on all cores."""
        return [len(e) for e in self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Character span of each token in ``text``."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).offsets)


@lru_cache(maxsize=4)
def token_counter(settings: EncoderSettings) -> TokenCounter:
    """The counter for an encoder.

    Raises:
        ModelError: the model or its tokenizer is not to be had.
    """
    from tokenizers import Tokenizer

    path = tokenizer_file(settings)
    try:
        return TokenCounter(Tokenizer.from_file(str(path)))
    except Exception as error:  # the library raises nothing narrower
        raise ModelError(f"{path} is damaged ({error}).", "Download the model again.") from error


WINDOWS_VERSION = "2"


def split_windows(text: str, limit: int, tokens: TokenCounter) -> list[str]:
    """Split ``text`` into the fewest windows of at most ``limit`` tokens, of nearly equal length.

    Windows end between words, so that each is tokenised as it was inside the whole text; equal lengths
    avoid a last window of a few stray words, which would match anything: where even lengths leave such a
    rest, there is one window more. They do not overlap. White space is folded to single spaces: encoders
    do not see it, and equal passages then share one cached vector.
    """
    text = " ".join(text.split())
    spans = tokens.spans(text)
    total = len(spans)
    if total <= limit:
        return [text]
    # A token starts a word when white space stands before it; some tokenizers count that to the token.
    starts = [i for i in range(1, total) if spans[i][0] > spans[i - 1][1] or text[spans[i][0]].isspace()]
    fewest = math.ceil(total / limit)
    for count in range(fewest, 2 * fewest + 1):
        cuts = _cuts(starts, total, math.ceil(total / count), limit)
        if len(cuts) < count:
            break
    edges = [0, *(spans[i][0] for i in cuts), len(text)]
    windows = [text[a:b].strip() for a, b in pairwise(edges)]
    if set(cuts) <= set(starts):
        return windows
    # The parts of a word that was cut inside may have more tokens than they had together.
    parts = zip(windows, tokens.count_all(windows), strict=True)
    return [part for w, n in parts for part in (split_windows(w, limit, tokens) if n > limit else [w])]


def _cuts(starts: list[int], total: int, size: int, limit: int) -> list[int]:
    """Tokens at which the second and later windows begin, about ``size`` and at most ``limit`` apart."""
    cuts: list[int] = []
    begin = 0
    while total - begin > limit:
        wanted = begin + size
        reachable = starts[bisect_right(starts, begin) : bisect_right(starts, begin + limit)]
        # The word start nearest to the wanted length; a single endless word is cut inside.
        begin = min(reachable, key=lambda i: abs(i - wanted)) if reachable else wanted
        cuts.append(begin)
    return cuts


def pool_windows(vectors: np.ndarray, counts: Sequence[int]) -> np.ndarray:
    """Normalised mean of each text's windows: (windows, dimensions) to (texts, dimensions).

    ``counts`` are the windows of each text, one at least.
    """
    means = [part.mean(axis=0) for part in np.split(vectors, np.cumsum(counts)[:-1])]
    return np.stack([mean / (float(np.linalg.norm(mean)) or 1.0) for mean in means])
