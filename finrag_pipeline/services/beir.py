"""Retrieval systems over corpora of documents with judgements, such as FinanceRAG's sets.

The documents of a corpus become the pages of one filing in a lake of their own below the lake, so that every
system that ranks chunks runs over them as it is; a document is ranked where its best chunk stands.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from finrag_pipeline.chunking.fixed import CHUNKING_VERSION, chunk_pages
from finrag_pipeline.chunking.registry import FIXED
from finrag_pipeline.chunking.restructure import RESTRUCTURE_VERSION, RESTRUCTURED
from finrag_pipeline.embedding.model_files import tokenizer_fingerprint
from finrag_pipeline.embedding.tokens import token_counter
from finrag_pipeline.errors import FinragError
from finrag_pipeline.evaluation.beir import (
    METRICS,
    JudgedCorpus,
    document_clusters,
    ndcg,
    read_beir_folder,
    score_documents,
)
from finrag_pipeline.evaluation.intervals import cluster_means
from finrag_pipeline.filings.names import filing_id
from finrag_pipeline.retrieval.component import Inputs, no_more
from finrag_pipeline.retrieval.fusion import WeightedSum, fuse_scores
from finrag_pipeline.retrieval.spaces import Scope, Space
from finrag_pipeline.retrieval.system import RetrievalSystem, run_system
from finrag_pipeline.services.evaluate import chosen_systems
from finrag_pipeline.services.search import Corpora
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

FOLDER = "corpora"
"""Lake of such corpora, below the lake."""

ALPHAS = tuple(round(step / 40, 3) for step in range(41))
"""Weights of the dense score that are tried: 0, 0.025, … 1, as in the paper's code."""

FOLDS = 5
TIMED = 10
"""Queries whose searches are timed."""


@dataclass(frozen=True)
class Ranked:
    """How a system ranks the documents of a corpus.

    Attributes:
        scores: shape (queries, metrics) as `evaluation.beir.score_documents`; None where it was not run.
        milliseconds: per query, from its text to its ranking.
        problem: why it was not run.
    """

    scores: np.ndarray | None
    milliseconds: float | None = None
    problem: str | None = None


def corpora_settings(settings: Settings) -> Settings:
    """``settings`` with the lake that such corpora are kept in."""
    return settings.model_copy(update={"lake": f"{settings.lake.rstrip('/')}/{FOLDER}"})


class Documents:
    """The documents of a corpus, ready to be searched; chunks and vectors are made once for a text.

    Args:
        settings: of the lake above.
        corpus: documents, queries and judgements.
        form: how documents are written before they are indexed; one of `RESTRUCTURED`.
    """

    def __init__(self, settings: Settings, corpus: JudgedCorpus, form: str = "") -> None:
        self.settings = corpora_settings(settings)
        self.corpus = corpus
        lake = Lake(self.settings.lake)
        self._names = sorted(corpus.documents)
        self._corpora = Corpora(lake, self.settings, index_missing=True)
        texts = [RESTRUCTURED[form](corpus.documents[name]) for name in self._names]
        encoder, chunks = self.settings.encoder, self.settings.chunks
        made_from = fingerprint(
            "documents",
            [CHUNKING_VERSION, RESTRUCTURE_VERSION],
            [chunks.model_dump(mode="json"), tokenizer_fingerprint(encoder)],
            texts,
        )
        self.filing = f"{filing_id(corpus.name)}-{made_from[:12]}"
        if lake.info(FIXED.table, {"filing": self.filing}) is None:
            pages = pa.table(
                {
                    "filing": [self.filing] * len(texts),
                    "page": pa.array(range(len(texts)), pa.int32()),
                    "text": texts,
                    "needs_ocr": [False] * len(texts),
                }
            )
            table = chunk_pages(pages, chunks, token_counter(encoder))
            lake.write(FIXED.table, table, made_from, {"filing": self.filing})

    def inputs(self, system: RetrievalSystem) -> Inputs:
        """What ``system`` searches."""
        corpus = self._corpora.over([self.filing], system)
        return Inputs(corpus, questions=frozenset(self.corpus.queries.values()))

    def problem(self, system: RetrievalSystem, inputs: Inputs) -> str | None:
        """Why ``system`` cannot be run on documents here; None when it can."""
        if system.filter or system.pages or system.chunking != FIXED.name:
            return "It needs filings with pages and companies; these are documents."
        found = (component.problem(inputs) for component in system.components())
        return next(filter(None, found), None)

    def ranked(self, system: RetrievalSystem) -> Ranked:
        """Run a system on every query and score it."""
        inputs = self.inputs(system)
        if problem := self.problem(system, inputs):
            return Ranked(None, problem=problem)
        questions = [
            {"question_id": query, "question": text, "filing": self.filing, "gold_pages": []}
            for query, text in self.corpus.queries.items()
        ]
        try:
            runs = run_system(system, inputs, questions, [Space.CORPUS])
            # Vectors and scores of known texts are kept; a number that no query had makes these queries new.
            timed = [f"{row['question']} {time.time_ns()}" for row in questions[:TIMED]]
            start = time.perf_counter()
            for text in timed:
                system.search(text, inputs)
            milliseconds = 1000 * (time.perf_counter() - start) / len(timed)
        except FinragError as error:
            return Ranked(None, problem=str(error))
        rankings: dict[str, dict[str, None]] = {}
        for query, page in zip(runs["question_id"].to_pylist(), runs["page"].to_pylist(), strict=True):
            rankings.setdefault(query, {})[self._names[page]] = None
        found = {query: list(documents) for query, documents in rankings.items()}
        return Ranked(score_documents(found, self.corpus), milliseconds)

    def by_alpha(self, system: RetrievalSystem) -> np.ndarray:
        """NDCG@10 of every query at every weight of a hybrid's dense score, shape (queries, `ALPHAS`).

        Both rankings, which ``system`` fuses by their scores, are made once per query.
        """
        fusion, inputs = system.first, self.inputs(system)
        assert isinstance(fusion, WeightedSum)
        queries = system.queries(list(self.corpus.queries.values()), inputs)
        depth = self.settings.retrieval.depth
        rows = []
        for query, text in self.corpus.queries.items():
            rankings = fusion.rankings(queries[text], inputs, Scope(), depth, no_more)
            dense, lexical = fusion.dense_and_lexical(rankings)
            names = {hit.chunk_id: self._names[hit.page] for hit in (*dense, *lexical)}
            gains = self.corpus.gains[query]
            rows.append(
                [
                    ndcg(list(dict.fromkeys(names[n] for n, _ in fuse_scores(dense, lexical, alpha))), gains)
                    for alpha in ALPHAS
                ]
            )
        return np.array(rows)


def nested_alpha(values: np.ndarray, clusters: Sequence[str]) -> np.ndarray:
    """Score of each query at the weight that is best for the queries of the other folds, shape (queries,).

    Args:
        values: scores by query and weight, shape (queries, weights).
        clusters: of each query; those of one cluster are in one fold.
    """
    place = {name: n % FOLDS for n, name in enumerate(sorted(set(clusters)))}
    folds = np.array([place[name] for name in clusters])
    found = np.empty(len(values))
    for fold in set(folds.tolist()):
        others = values[folds != fold] if (folds != fold).any() else values
        found[folds == fold] = values[folds == fold, int(others.mean(axis=0).argmax())]
    return found


def mean_rows(
    scores: Mapping[str, np.ndarray], corpus: JudgedCorpus, confidence: float
) -> list[dict[str, Any]]:
    """``{system, metric, mean, low, high, n}`` of scores by system, intervals over relevant documents.

    Scores have the shape (queries, metrics) each.
    """
    clusters, rows = document_clusters(corpus), []
    for system, values in scores.items():
        for metric, *cells in zip(METRICS, *cluster_means(values, clusters, confidence), strict=True):
            mean, low, high = (None if np.isnan(cell) else float(cell) for cell in cells)
            rows.append(
                {"system": system, "metric": metric, "mean": mean, "low": low, "high": high, "n": len(values)}
            )
    return rows


def evaluate_documents(
    settings: Settings, folder: Path, systems: Sequence[str], changes: Mapping[str, str]
) -> dict[str, Any]:
    """Run systems over a folder in BEIR's format: ``{queries, documents, left_out, not_run, metrics}``.

    Every system is also run with ``changes``: another ``encoder`` or ``reranker``.

    Raises:
        BenchmarkError: a file is missing or damaged, or no query can be measured.
        UsageError: an unknown system.
    """
    corpus = read_beir_folder(folder)
    documents = Documents(settings, corpus)
    found = {system.name: documents.ranked(system) for system in chosen_systems(systems, changes)}
    scores = {name: one.scores for name, one in found.items() if one.scores is not None}
    return {
        "queries": len(corpus.queries),
        "documents": len(corpus.documents),
        "left_out": corpus.left_out,
        "not_run": {name: one.problem for name, one in found.items() if one.problem is not None},
        "metrics": mean_rows(scores, corpus, settings.evaluation.confidence),
    }
