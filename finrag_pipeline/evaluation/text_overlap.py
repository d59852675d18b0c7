"""Overlap of a retrieved chunk with the gold evidence: sentence BLEU and ROUGE-L.

Both follow the page-scorer papers (Kobeissi & Langlais) as their code computes them: BLEU is
``sacrebleu.sentence_bleu(chunk, [evidence])`` with its defaults, divided by 100; ROUGE-L is the F-measure
of ``rouge_score`` with the Porter stemmer. The libraries are slow where the same texts meet again and again,
so what depends on one text alone is computed once per text; the values are the libraries' own to 1e-12.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from finrag_pipeline.storage.optional_imports import UNUSED, without

if TYPE_CHECKING:
    from sacrebleu.metrics import BLEU


class TextOverlap:
    """Scores pairs of evidence and chunk; remembers tokens of every text it has seen.

    Args of both methods: the gold evidence (reference) and the chunk (candidate). Values lie in [0, 1]; an
    empty text scores 0. Pairs that share their evidence should follow each other.
    """

    def __init__(self) -> None:
        self._vocabulary: dict[str, int] = {}
        self._rouge_tokens: dict[str, list[int]] = {}
        self._bleu_tokens: dict[str, str] = {}
        self._bleu_reference: tuple[str, BLEU] | None = None

    def bleu(self, evidence: str, chunk: str) -> float:
        """Sentence BLEU of ``chunk`` against ``evidence``, divided by 100."""
        from sacrebleu.metrics import BLEU

        if self._bleu_reference is None or self._bleu_reference[0] != evidence:
            # Given with the metric, the n-grams of the reference are counted once.
            metric = BLEU(
                tokenize="none", effective_order=True, references=[[self._tokenise_for_bleu(evidence)]]
            )
            self._bleu_reference = (evidence, metric)
        score = self._bleu_reference[1].corpus_score([self._tokenise_for_bleu(chunk)], None).score
        return min(1.0, score / 100.0)  # exp(log(100)) exceeds 100 in the last bit

    def rouge_l(self, evidence: str, chunk: str) -> float:
        """ROUGE-L F-measure of ``chunk`` against ``evidence`` with the Porter stemmer."""
        from rapidfuzz.distance import LCSseq
        from rouge_score.scoring import fmeasure

        reference, candidate = self._tokenise_for_rouge(evidence), self._tokenise_for_rouge(chunk)
        if not reference or not candidate:
            return 0.0
        common = LCSseq.similarity(reference, candidate)
        return float(fmeasure(common / len(candidate), common / len(reference)))

    def _tokenise_for_bleu(self, text: str) -> str:
        tokens = self._bleu_tokens.get(text)
        if tokens is None:
            from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
            from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

            tokens = self._bleu_tokens[text] = Tokenizer13a()(text.rstrip())
            # Both keep up to 65,536 texts for the life of the process; ours lives as long as this scorer.
            Tokenizer13a.__call__.cache_clear()
            TokenizerRegexp.__call__.cache_clear()
        return tokens

    def _tokenise_for_rouge(self, text: str) -> list[int]:
        tokens = self._rouge_tokens.get(text)
        if tokens is None:
            from rouge_score.tokenize import tokenize

            number = self._vocabulary
            words = tokenize(text, _memoising_stemmer())
            tokens = self._rouge_tokens[text] = [number.setdefault(word, len(number)) for word in words]
        return tokens


class _MemoisingStemmer:
    """NLTK's Porter stemmer, asked once per distinct word."""

    def __init__(self) -> None:
        with without(*UNUSED, "scipy"):
            from nltk.stem.porter import PorterStemmer

        self.stem = lru_cache(maxsize=1 << 17)(PorterStemmer().stem)


@lru_cache(maxsize=1)
def _memoising_stemmer() -> _MemoisingStemmer:
    return _MemoisingStemmer()


_known: dict[bytes, tuple[float, float]] = {}
"""Scores by the hash of a pair: systems and folds of a sweep show the same chunks for the same questions."""
_MOST_KNOWN = 1 << 18


def overlap_scores(pairs: Sequence[tuple[str, str]]) -> list[tuple[float, float]]:
    """Score many pairs; a plain function of its arguments, so that a process pool can map it over batches.

    Args:
        pairs: ``(evidence, chunk)`` in any order; a pair is scored once in a process.

    Returns:
        ``(BLEU, ROUGE-L)`` of each pair, in the order of ``pairs``; values in [0, 1].
    """
    keys = {pair: _key(*pair) for pair in pairs}
    if len(_known) > _MOST_KNOWN:
        _known.clear()
    scorer = TextOverlap()
    for pair in sorted((pair for pair, key in keys.items() if key not in _known), key=lambda pair: pair[0]):
        _known[keys[pair]] = (scorer.bleu(*pair), scorer.rouge_l(*pair))
    return [_known[keys[pair]] for pair in pairs]


def _key(evidence: str, chunk: str) -> bytes:
    parts = (evidence.encode(errors="surrogatepass"), chunk.encode(errors="surrogatepass"))
    return blake2b(b"%d:" % len(parts[0]) + b"".join(parts), digest_size=16).digest()
