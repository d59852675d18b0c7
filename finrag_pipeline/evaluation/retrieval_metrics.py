"""Per-question scores of ranked chunks: document, page and chunk level; every cut-off counts chunks.

The first five are those of Kobeissi & Langlais ("oracle evaluation"), the others standard measures, with
every chunk of the index on a gold page relevant (gain 1). The evidence texts of a question are joined with a
newline.

A ranking that is empty or missing scores 0 in all of them, and so does ``ndcg`` and ``recall`` where no chunk
of the index stands on a gold page (a scanned page without text): such questions are failures, not gaps.

BLEU and ROUGE-L follow the page-scorer papers as their code computes them: BLEU is
``sacrebleu.sentence_bleu(chunk, [evidence])`` with its defaults, divided by 100; ROUGE-L is the F-measure
of ``rouge_score`` with the Porter stemmer. The libraries are slow where the same texts meet again and again,
so what depends on one text alone is computed once per text; the values are the libraries' own to 1e-12.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from math import log2
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.metrics import ORACLE, Metric
from finrag_pipeline.schemas import RETRIEVAL_SCORES, conform
from finrag_pipeline.storage.optional_imports import UNUSED, without

if TYPE_CHECKING:
    from sacrebleu.metrics import BLEU


METRICS_VERSION = "1"
"""Changes whenever the value of any metric may change."""


class RankedChunk(NamedTuple):
    """A chunk of a ranking; pages count from zero."""

    chunk_id: str
    filing: str
    page: int


@dataclass(frozen=True)
class GoldStandard:
    """Gold filing of a question, its zero-based gold pages, and all chunks of the index on them."""

    filing: str
    pages: frozenset[int]
    chunks: frozenset[str]


def _on_gold_page(chunk: RankedChunk, gold: GoldStandard) -> bool:
    return chunk.filing == gold.filing and chunk.page in gold.pages


@dataclass(frozen=True)
class Ranked:
    """A ranking beside what it should hold, as metrics look at it.

    Attributes:
        ranking: chunks, best first, no chunk twice.
        gold: what should be retrieved.
        overlap: ``(BLEU, ROUGE-L)`` with the gold evidence by chunk identifier, for at least the first
            `OVERLAP_DEPTH` chunks.
    """

    ranking: Sequence[RankedChunk]
    gold: GoldStandard
    overlap: Mapping[str, tuple[float, float]]

    @cached_property
    def inside(self) -> list[bool]:
        """Whether each chunk stands in the gold filing."""
        return [chunk.filing == self.gold.filing for chunk in self.ranking]

    @cached_property
    def relevant(self) -> list[bool]:
        """Whether each chunk stands on a gold page."""
        return [_on_gold_page(chunk, self.gold) for chunk in self.ranking]

    def page_recall(self, k: int) -> float:
        """Share of the gold pages that the first k chunks stand on."""
        hits = zip(self.ranking[:k], self.relevant, strict=False)
        return len({chunk.page for chunk, hit in hits if hit}) / len(self.gold.pages)

    def best_overlap(self, k: int, measure: int) -> float:
        """Greatest BLEU (0) or ROUGE-L (1) of the first k chunks."""
        return max((self.overlap[chunk.chunk_id][measure] for chunk in self.ranking[:k]), default=0.0)

    def discounted_gain(self, k: int) -> float:
        """NDCG of the first k chunks."""
        ideal = discounted_gain([True] * min(len(self.gold.chunks), k))
        return discounted_gain(self.relevant[:k]) / ideal if ideal else 0.0


_PAGES, _OVERLAP = (1, 3, 5, 10, 20), (1, 3, 5, 10)
OVERLAP_DEPTH = max(_OVERLAP)
"""Chunks of a ranking whose overlap with the evidence is looked at."""

RETRIEVAL_METRICS = (
    Metric(
        "doc_rec", "DocRec", "1 if one of the first k chunks stands in the gold filing, else 0.",
        lambda one, k: float(any(one.inside[:k])), ORACLE, True, _PAGES,
    ),
    Metric(
        "page_rec", "PageRec",
        "Share of the gold pages on which one of the first k chunks stands. Pages of other filings do not "
        "count.",
        Ranked.page_recall, ORACLE, True, _PAGES,
    ),
    Metric(
        "hit", "Hit", "1 if one of the first k chunks stands on a gold page, else 0.",
        lambda one, k: float(any(one.relevant[:k])), ORACLE, True, _PAGES,
    ),
    Metric(
        "max_bleu", "Max BLEU",
        "Greatest sentence BLEU, divided by 100, of one of the first k chunks against the gold evidence, "
        "whose passages are joined by line breaks (sacrebleu, its default smoothing).",
        lambda one, k: one.best_overlap(k, 0), ORACLE, True, _OVERLAP,
    ),
    Metric(
        "max_rouge_l", "Max ROUGE-L",
        "Greatest ROUGE-L F-measure, with the Porter stemmer, of one of the first k chunks against "
        "the joined gold evidence. Even the gold pages stay below 1: a chunk is longer than its evidence.",
        lambda one, k: one.best_overlap(k, 1), ORACLE, True, _OVERLAP,
    ),
    Metric(
        "ndcg", "NDCG",
        "Discounted gain of the first ten chunks over that of an ideal ranking; every chunk on a gold page "
        "has gain 1, the discount is log2(rank + 1).",
        Ranked.discounted_gain, "Järvelin & Kekäläinen, 2002", True, (10,),
    ),
    Metric(
        "mrr", "MRR",
        "Reciprocal rank of the first chunk on a gold page in the whole ranking; 0 without one.",
        lambda one, _: 1.0 / (one.relevant.index(True) + 1) if any(one.relevant) else 0.0, "", True,
    ),
    Metric(
        "recall", "Recall", "Share of all chunks on gold pages that are among the first k.",
        lambda one, k: sum(one.relevant[:k]) / len(one.gold.chunks) if one.gold.chunks else 0.0,
        cutoffs=(5, 10, 20),
    ),
)  # fmt: skip
"""Every metric of rankings, scored on a `Ranked` and a cut-off in chunks, in the order of reports."""

SERIES = tuple((metric.name, k) for metric in RETRIEVAL_METRICS for k in metric.cutoffs)
"""Every (metric, cut-off) that a question is scored on."""


def score_question(
    ranking: Sequence[RankedChunk], gold: GoldStandard, overlap: Mapping[str, tuple[float, float]]
) -> list[tuple[str, int, float]]:
    """``(metric, k, value)`` of one ranking in the order of :data:`SERIES`, of what a `Ranked` is made of."""
    one = Ranked(ranking, gold, overlap)
    return [(metric.name, k, metric.score(one, k)) for metric in RETRIEVAL_METRICS for k in metric.cutoffs]


def discounted_gain(gains: Iterable[float]) -> float:
    """Gains of documents, best first, each over log2(rank + 1), added up (Järvelin & Kekäläinen, 2002)."""
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def find_gold_chunks(questions: pa.Table, chunks: pa.Table) -> dict[str, frozenset[str]]:
    """Identifiers of all chunks on the gold pages of every measured question.

    Args:
        questions: table as ``schemas.BENCHMARK_QUESTIONS``.
        chunks: columns ``chunk_id``, ``filing`` and ``page`` of ``schemas.FILING_CHUNKS``, of all indexed
            chunks.
    """
    on_page: dict[tuple[str, int], list[str]] = defaultdict(list)
    names = ("chunk_id", "filing", "page")
    for chunk_id, *place in zip(*(chunks[name].to_pylist() for name in names), strict=True):
        on_page[tuple(place)].append(chunk_id)
    return {
        q["question_id"]: frozenset(c for page in q["gold_pages"] for c in on_page[q["filing"], page])
        for q in questions.filter(pc.equal(questions["status"], "measured")).to_pylist()
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


@lru_cache(maxsize=1)
def _memoising_stemmer() -> SimpleNamespace:
    """NLTK's Porter stemmer, asked once per distinct word."""
    with without(*UNUSED, "scipy"):
        from nltk.stem.porter import PorterStemmer

    return SimpleNamespace(stem=lru_cache(maxsize=1 << 17)(PorterStemmer().stem))


_known: dict[bytes, tuple[float, float]] = {}
"""Scores by the hash of a pair: systems and folds of a sweep show the same chunks for the same questions."""
_MOST_KNOWN = 1 << 18


def overlap_scores(pairs: Sequence[tuple[str, str]]) -> list[tuple[float, float]]:
    """BLEU and ROUGE-L, in [0, 1], of pairs of evidence and chunk, each scored once in a process.

    A plain function of its arguments, so that a process pool can map it over batches.
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


def rankings(runs: pa.Table) -> dict[tuple[str, str], dict[str, list[RankedChunk]]]:
    """Chunks by (system, space) and question, best first, of rows of ``retrieval_runs`` in any order."""
    ordered = runs.sort_by([("system", "ascending"), ("space", "ascending"), ("rank", "ascending")])
    found: dict[tuple[str, str], dict[str, list[RankedChunk]]] = {}
    names = ("system", "space", "question_id", "chunk_id", "filing", "page")
    for system, space, question_id, *chunk in zip(*(ordered[n].to_pylist() for n in names), strict=True):
        of_question = found.setdefault((system, space), {})
        of_question.setdefault(question_id, []).append(RankedChunk(*chunk))
    return found


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
        chunk_texts: text by chunk identifier, at least of the chunks within `OVERLAP_DEPTH`.
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
    ranked = {key: {name: found.get(name, []) for name in golds} for key, found in rankings(runs).items()}
    for pair in expected:
        ranked.setdefault(pair, {name: [] for name in golds})

    pairs: dict[tuple[str, str], tuple[float, float]] = {}
    for (system, space), of_question in ranked.items():
        for name, ranking in of_question.items():
            _check(ranking, golds[name], f"{system}/{space}, question '{name}'")
            for chunk in ranking[:OVERLAP_DEPTH]:
                if chunk.chunk_id not in chunk_texts:
                    raise LakeError(
                        f"Chunk '{chunk.chunk_id}' of a retrieval run has no text in the lake.",
                        "Materialise filing_chunks and retrieval_runs again.",
                    )
                pairs[evidence[name], chunk_texts[chunk.chunk_id]] = (0.0, 0.0)
    pairs = dict(zip(pairs, overlap(list(pairs)), strict=True))

    rows = []
    for (system, space), of_question in ranked.items():
        for name, ranking in of_question.items():
            overlaps = {
                chunk.chunk_id: pairs[evidence[name], chunk_texts[chunk.chunk_id]]
                for chunk in ranking[:OVERLAP_DEPTH]
            }
            rows += [(system, space, name, *one) for one in score_question(ranking, golds[name], overlaps)]
    return scores_table(rows)


def scores_table(rows: Iterable[tuple[str, str, str, str, int, float]]) -> pa.Table:
    """Rows of system, space, question, metric, cut-off and value as ``schemas.RETRIEVAL_SCORES``."""
    columns = list(zip(*rows, strict=True)) or [()] * len(RETRIEVAL_SCORES)
    return conform(pa.table(columns, schema=RETRIEVAL_SCORES), "retrieval_scores")


def _check(ranking: list[RankedChunk], gold: GoldStandard, where: str) -> None:
    identifiers = [chunk.chunk_id for chunk in ranking]
    if len(set(identifiers)) != len(identifiers):
        raise LakeError(f"The run {where} holds a chunk twice.", "Materialise retrieval_runs again.")
    for chunk in ranking:
        if _on_gold_page(chunk, gold) != (chunk.chunk_id in gold.chunks):
            raise LakeError(
                f"The run {where} and the chunks disagree on the page of chunk '{chunk.chunk_id}'.",
                "They come from different chunkings: materialise filing_chunks and retrieval_runs again.",
            )
