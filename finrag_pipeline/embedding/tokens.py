"""Counting and locating tokens with the tokenizer of the encoder in use."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

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
