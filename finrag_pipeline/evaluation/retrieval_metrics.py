r"""Per-question scores of ranked chunks: document, page and chunk level; every cut-off counts chunks.

Definitions (Kobeissi & Langlais, "oracle evaluation"; G = gold filing, P = its gold pages, top-k = the first
k chunks):

* ``doc_rec@k``: 1 if a top-k chunk stands in G, else 0.
* ``page_rec@k``: \|P ∩ pages of the top-k chunks that stand in G\| / \|P\|.
* ``hit@k``: 1 if a top-k chunk stands on a gold page, else 0.
* ``max_bleu@k``, ``max_rouge_l@k``: greatest overlap of a top-k chunk with the gold evidence texts, joined
  with a newline.

Standard measures, with every chunk of the index on a gold page relevant (gain 1):

* ``ndcg@10``: Järvelin & Kekäläinen (2002), discount log2(rank + 1), ideal ranking over all relevant chunks.
* ``mrr``: reciprocal rank of the first relevant chunk of the whole ranking, k = 0.
* ``recall@k``: relevant chunks among the top-k / all relevant chunks.

A ranking that is empty or missing scores 0 in all of them, and so does ``ndcg`` and ``recall`` where no chunk
of the index stands on a gold page (a scanned page without text): such questions are failures, not gaps.

BLEU and ROUGE-L follow the page-scorer papers as their code computes them: BLEU is
``sacrebleu.sentence_bleu(chunk, [evidence])`` with its defaults, divided by 100; ROUGE-L is the F-measure
of ``rouge_score`` with the Porter stemmer. The libraries are slow where the same texts meet again and again,
so what depends on one text alone is computed once per text; the values are the libraries' own to 1e-12.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from math import log2
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError
from finrag_pipeline.schemas import RETRIEVAL_SCORES, conform
from finrag_pipeline.storage.optional_imports import UNUSED, without

if TYPE_CHECKING:
    from sacrebleu.metrics import BLEU


METRICS_VERSION = "1"
"""Changes whenever the value of any metric may change."""

PAGE_CUTOFFS = (1, 3, 5, 10, 20)
OVERLAP_CUTOFFS = (1, 3, 5, 10)
RECALL_CUTOFFS = (5, 10, 20)
NDCG_CUTOFF = 10

SERIES: tuple[tuple[str, int], ...] = (
    *((metric, k) for metric in ("doc_rec", "page_rec", "hit") for k in PAGE_CUTOFFS),
    *((metric, k) for metric in ("max_bleu", "max_rouge_l") for k in OVERLAP_CUTOFFS),
    ("ndcg", NDCG_CUTOFF),
    ("mrr", 0),
    *(("recall", k) for k in RECALL_CUTOFFS),
)
"""Every (metric, cut-off) that a question is scored on, in the order of reports."""


class RankedChunk(NamedTuple):
    """A chunk of a ranking: its identifier, its filing, and its zero-based page."""

    chunk_id: str
    filing: str
    page: int


@dataclass(frozen=True)
class GoldStandard:
    """What a question should retrieve.

    Attributes:
        filing: gold filing.
        pages: zero-based gold pages, at least one.
        chunks: all chunks of the index that stand on them.
    """

    filing: str
    pages: frozenset[int]
    chunks: frozenset[str]


def score_question(
    ranking: Sequence[RankedChunk], gold: GoldStandard, overlap: Mapping[str, tuple[float, float]]
) -> list[tuple[str, int, float]]:
    """Score one ranking on every metric.

    Args:
        ranking: chunks, best first, no chunk twice.
        gold: what should be retrieved.
        overlap: ``(BLEU, ROUGE-L)`` with the gold evidence by chunk identifier, for at least the first
            ``max(OVERLAP_CUTOFFS)`` chunks.

    Returns:
        ``(metric, k, value)`` in the order of :data:`SERIES`; values in [0, 1].
    """
    in_filing = [chunk.filing == gold.filing for chunk in ranking]
    relevant = [inside and chunk.page in gold.pages for inside, chunk in zip(in_filing, ranking, strict=True)]
    first_relevant = relevant.index(True) + 1 if True in relevant else 0
    values: dict[tuple[str, int], float] = {}
    for k in PAGE_CUTOFFS:
        found = {chunk.page for chunk, hit in zip(ranking[:k], relevant, strict=False) if hit}
        values["doc_rec", k] = float(any(in_filing[:k]))
        values["page_rec", k] = len(found) / len(gold.pages)
        values["hit", k] = float(bool(found))
    best = [(0.0, 0.0)]
    best += [overlap[chunk.chunk_id] for chunk in ranking[: max(OVERLAP_CUTOFFS)]]
    best = list(accumulate(best, lambda a, b: (max(a[0], b[0]), max(a[1], b[1]))))
    for k in OVERLAP_CUTOFFS:
        values["max_bleu", k], values["max_rouge_l", k] = best[min(k, len(best) - 1)]
    ideal = _discounted_gain([True] * min(len(gold.chunks), NDCG_CUTOFF))
    values["ndcg", NDCG_CUTOFF] = _discounted_gain(relevant[:NDCG_CUTOFF]) / ideal if ideal else 0.0
    values["mrr", 0] = 1.0 / first_relevant if first_relevant else 0.0
    for k in RECALL_CUTOFFS:
        values["recall", k] = sum(relevant[:k]) / len(gold.chunks) if gold.chunks else 0.0
    return [(metric, k, values[metric, k]) for metric, k in SERIES]


def _discounted_gain(relevant: Sequence[bool]) -> float:
    return sum(1.0 / log2(rank + 1) for rank, hit in enumerate(relevant, start=1) if hit)


def find_gold_chunks(questions: pa.Table, chunks: pa.Table) -> dict[str, frozenset[str]]:
    """Identifiers of all chunks on the gold pages of every measured question.

    Args:
        questions: table as ``schemas.BENCHMARK_QUESTIONS``.
        chunks: columns ``chunk_id``, ``filing`` and ``page`` of ``schemas.FILING_CHUNKS``, of all indexed
            chunks.
    """
    measured = questions.filter(pc.equal(questions["status"], "measured"))
    gold = measured.select(["question_id", "filing", "gold_pages"]).to_pylist()
    wanted: dict[tuple[str, int], list[str]] = {
        (q["filing"], page): [] for q in gold for page in q["gold_pages"]
    }
    candidates = chunks.filter(pc.is_in(chunks["filing"], pc.unique(measured["filing"])))
    for chunk_id, filing, page in zip(
        *(candidates[name].to_pylist() for name in ("chunk_id", "filing", "page")), strict=True
    ):
        if (filing, page) in wanted:
            wanted[filing, page].append(chunk_id)
    return {
        q["question_id"]: frozenset(c for page in q["gold_pages"] for c in wanted[q["filing"], page])
        for q in gold
    }


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


def score_runs(
    runs: pa.Table,
    questions: pa.Table,
    chunk_texts: Mapping[str, str],
    gold_chunks: Mapping[str, frozenset[str]],
    *,
    expected: Collection[tuple[str, str]] = (),
    overlap: Callable[[Sequence[tuple[str, str]]], list[tuple[float, float]]] = overlap_scores,
) -> pa.Table:
    """Score every question of every (system, space).

    A measured question of ``questions`` without rows in a run scores zeros there; rows of other questions are
    ignored. So pass the questions that the run was asked: of a run of one fold, those of the fold.

    Args:
        runs: table as ``schemas.RETRIEVAL_RUNS``, rows in any order.
        questions: table as ``schemas.BENCHMARK_QUESTIONS``; only measured questions are scored.
        chunk_texts: text by chunk identifier, at least of the chunks within ``max(OVERLAP_CUTOFFS)``.
        gold_chunks: chunks on the gold pages by question (:func:`find_gold_chunks`).
        expected: (system, space) pairs to score even if ``runs`` holds no row of theirs.
        overlap: scores (evidence, chunk) pairs; another one may spread them over processes. Every distinct
            pair is scored once for all systems and spaces.

    Returns:
        Table as ``schemas.RETRIEVAL_SCORES``.

    Raises:
        LakeError: the run names a chunk twice for one question, a chunk without text, or a chunk on a gold
            page that is not among ``gold_chunks``: run and chunks are not of the same index.
    """
    measured = questions.filter(pc.equal(questions["status"], "measured")).to_pylist()
    golds = {
        q["question_id"]: GoldStandard(
            q["filing"], frozenset(q["gold_pages"]), gold_chunks.get(q["question_id"], frozenset())
        )
        for q in measured
    }
    evidence = {q["question_id"]: "\n".join(item["text"] for item in q["evidence"]) for q in measured}
    rankings = _rankings(runs, golds)
    for pair in expected:
        rankings.setdefault(pair, {})

    pairs: dict[tuple[str, str], tuple[float, float]] = {}
    for ranked in rankings.values():
        for question_id, ranking in ranked.items():
            for chunk in ranking[: max(OVERLAP_CUTOFFS)]:
                pairs[evidence[question_id], _text(chunk_texts, chunk.chunk_id)] = (0.0, 0.0)
    pairs = dict(zip(pairs, overlap(list(pairs)), strict=True))

    columns: dict[str, list] = {name: [] for name in RETRIEVAL_SCORES.names}
    for (system, space), ranked in rankings.items():
        for question_id, gold in golds.items():
            ranking = ranked.get(question_id, [])
            overlaps = {
                chunk.chunk_id: pairs[evidence[question_id], chunk_texts[chunk.chunk_id]]
                for chunk in ranking[: max(OVERLAP_CUTOFFS)]
            }
            for metric, k, value in score_question(ranking, gold, overlaps):
                for name, cell in zip(columns, (system, space, question_id, metric, k, value), strict=True):
                    columns[name].append(cell)
    return conform(pa.table(columns, schema=RETRIEVAL_SCORES), "retrieval_scores")


def _rankings(
    runs: pa.Table, golds: Mapping[str, GoldStandard]
) -> dict[tuple[str, str], dict[str, list[RankedChunk]]]:
    """Rankings of the measured questions by (system, space) and question, checked and best first."""
    ordered = runs.sort_by([("system", "ascending"), ("space", "ascending"), ("rank", "ascending")])
    rankings: dict[tuple[str, str], dict[str, list[RankedChunk]]] = {}
    names = ("system", "space", "question_id", "chunk_id", "filing", "page")
    for system, space, question_id, *chunk in zip(*(ordered[n].to_pylist() for n in names), strict=True):
        ranked = rankings.setdefault((system, space), {})
        if question_id in golds:
            ranked.setdefault(question_id, []).append(RankedChunk(*chunk))
    for (system, space), ranked in rankings.items():
        for question_id, ranking in ranked.items():
            _check(ranking, golds[question_id], f"{system}/{space}, question '{question_id}'")
    return rankings


def _check(ranking: list[RankedChunk], gold: GoldStandard, where: str) -> None:
    identifiers = [chunk.chunk_id for chunk in ranking]
    if len(set(identifiers)) != len(identifiers):
        raise LakeError(f"The run {where} holds a chunk twice.", "Materialise retrieval_runs again.")
    for chunk in ranking:
        on_gold_page = chunk.filing == gold.filing and chunk.page in gold.pages
        if on_gold_page != (chunk.chunk_id in gold.chunks):
            raise LakeError(
                f"The run {where} and the chunks disagree on the page of chunk '{chunk.chunk_id}'.",
                "They come from different chunkings: materialise filing_chunks and retrieval_runs again.",
            )


def _text(chunk_texts: Mapping[str, str], chunk_id: str) -> str:
    try:
        return chunk_texts[chunk_id]
    except KeyError:
        raise LakeError(
            f"Chunk '{chunk_id}' of a retrieval run has no text in the lake.",
            "Materialise filing_chunks and retrieval_runs again.",
        ) from None
