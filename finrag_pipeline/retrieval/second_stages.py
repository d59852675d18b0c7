"""Second stages: what orders or thins out the first candidates of a ranking."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.hits import Hit
from finrag_pipeline.retrieval.system import RetrievalSystem


def reranked(system: RetrievalSystem, question: str, corpus: Corpus, hits: list[Hit]) -> list[Hit]:
    """``hits`` with the first N in the order of the cross-encoder, which reads question and chunk together.

    The others follow in their order, each a step of one below the lowest score, so that the ranking stays
    one.
    """
    head, tail = hits[: system.rerank_depth], hits[system.rerank_depth :]
    if not head or system.rerank is None:
        return hits
    scores = corpus.tools.reranker(system.rerank).score(question, [corpus.text(hit.chunk_id) for hit in head])
    order = np.argsort(-np.asarray(scores), kind="stable").tolist()
    ranked = [
        replace(head[n], score=float(scores[n]), why=f"cross-encoder {scores[n]:.2f}, before rank {n + 1}")
        for n in order
    ]
    return [*ranked, *_below(tail, ranked[-1].score)]


def selected(system: RetrievalSystem, question: str, corpus: Corpus, hits: list[Hit]) -> list[Hit]:
    """Those of the first N ``hits`` that a language model keeps, in their order; nothing after them.

    What is dropped is gone, as in Kim et al.: the ranking may be shorter than was asked for. Where the
    model's reply cannot be read, or would drop all, all N stay.
    """
    head = hits[: system.select_depth]
    if not head or system.select is None:
        return hits
    from finrag_pipeline.retrieval.document_selection import select_documents

    texts = [corpus.text(hit.chunk_id) for hit in head]
    selection = select_documents(corpus.tools.language_model, question, texts, system.select_depth)
    told = "not selected: the reply was of no use" if selection.reason else "selected"
    return [replace(head[place], why=f"{head[place].why}, {told}") for place in selection.kept]


def _below(hits: list[Hit], score: float) -> list[Hit]:
    return [replace(hit, score=score - place) for place, hit in enumerate(hits, start=1)]
