"""Figures that the authors of the oracle evaluation published on FinanceBench. None of them is ours.

Three sources by the same first author give three columns, and they disagree: the thesis corrects the
baselines of the two papers. Reports print all three beside a run and compare with the thesis.

A published row is tied to a system of our registry and a search space. The papers' rows "Oracle document" and
"Oracle page" restrict the *dense* system, so they are ``dense`` in the spaces ``filing`` and ``pages``.
"""

from __future__ import annotations

from dataclasses import dataclass

from finrag_pipeline.retrieval.spaces import Space


@dataclass(frozen=True)
class Publication:
    """Where published figures come from.

    Attributes:
        key: identifier, as in :attr:`PublishedFigure.paper`.
        label: short label for the head of a column.
        title: authors and title.
        table: the table the figures stand in.
    """

    key: str
    label: str
    title: str
    table: str


@dataclass(frozen=True)
class PublishedFigure:
    """One published mean over :data:`QUESTIONS` questions; the papers give no intervals.

    Attributes:
        paper: key of :data:`PUBLICATIONS`.
        system: system of our registry that the row stands for.
        space: search space: corpus, filing or pages.
        row: name of the row in the publication.
        metric: metric, named as in ``schemas.SYSTEM_METRICS``.
        k: cut-off in chunks.
        value: the figure, in [0, 1].
        note: what differs from our system of that name.
    """

    paper: str
    system: str
    space: str
    row: str
    metric: str
    k: int
    value: float
    note: str


@dataclass(frozen=True)
class PublishedStatistic:
    """One published figure about the corpus.

    Attributes:
        paper: key of :data:`PUBLICATIONS`.
        statistic: name as in ``schemas.CORPUS_STATISTICS``.
        mean: the mean, or the count of a total.
        std: standard deviation; None for totals.
    """

    paper: str
    statistic: str
    mean: float
    std: float | None


PUBLICATIONS: dict[str, Publication] = {
    publication.key: publication
    for publication in (
        Publication(
            "french",
            "K&L, French",
            "Kobeissi & Langlais, Évaluer la récupération dans les systèmes RAG pour la question-réponse "
            "financière sur longs documents",
            "Table 4",
        ),
        Publication(
            "english",
            "K&L, English",
            "Kobeissi & Langlais, Measuring and Closing the Retrieval Gap in Financial Question Answering",
            "Table 1",
        ),
        Publication(
            "thesis", "Kobeissi 2026", "Kobeissi, thesis (2026), with corrected baselines", "main results"
        ),
    )
}

COMPARED_WITH = "thesis"
"""The publication that differences are taken to: the latest, with corrected baselines."""

QUESTIONS = 150
DOCUMENTS = 84
"""What the published means are over: FinanceBench's open questions and the filings they ask about."""

CUTOFF = 5
METRICS = ("doc_rec", "page_rec", "max_bleu", "max_rouge_l")

_BM25 = (
    "Their BM25 ranks chunks counted in BGE-M3's tokens, so chunks of the same nominal length end elsewhere."
)
_DENSE = (
    "Their dense rows use the encoder BAAI/bge-m3, whose window of 8,192 tokens takes in a whole chunk, and "
    "chunks counted in its tokens."
)
_HYBRID = "Their hybrid fuses BM25 with BGE-M3."
_WEIGHTS = f"{_HYBRID} Kobeissi 2026 gives three weightings, of which the equal one stands here."
_SPLADE = "Same model; chunks counted in BGE-M3's tokens."
_PARENTS = (
    f"{_DENSE} Their code has parents of 2048 and children of 512 tokens, the thesis' text 1024 and 256."
)
_PASSAGES = f"{_DENSE} Multi-HyDE averages four passages there, three recorded ones here."
_RERANK = "Their candidates come from BAAI/bge-m3; the reranker is BAAI/bge-reranker-v2-m3."
_SCORER = "Their page scorer starts from BAAI/bge-m3 and stops early on the fold that it is measured on."
_ORACLE = "Their rows 'Oracle document' and 'Oracle page' restrict the dense system with BAAI/bge-m3."

# Publication, system, space, row, (DocRec@5, PageRec@5, Max BLEU@5, Max ROUGE-L@5), what differs.
_ROWS: tuple[tuple[str, str, Space, str, tuple[float, float, float, float], str], ...] = (
    ("french", "bm25", Space.CORPUS, "BM25", (0.32, 0.07, 0.04, 0.12), _BM25),
    ("english", "bm25", Space.CORPUS, "BM25", (0.32, 0.07, 0.04, 0.12), _BM25),
    ("thesis", "bm25", Space.CORPUS, "BM25", (0.55, 0.11, 0.07, 0.15), _BM25),
    ("french", "dense", Space.CORPUS, "Dense (BGE-M3)", (0.88, 0.34, 0.26, 0.35), _DENSE),
    ("english", "dense", Space.CORPUS, "Dense (BGE-M3)", (0.88, 0.34, 0.26, 0.35), _DENSE),
    ("thesis", "dense", Space.CORPUS, "Dense (BGE-M3)", (0.94, 0.35, 0.25, 0.35), _DENSE),
    ("french", "hybrid_rrf", Space.CORPUS, "Hybrid fusion", (0.61, 0.23, 0.13, 0.27), _HYBRID),
    ("english", "hybrid_rrf", Space.CORPUS, "Hybrid", (0.61, 0.23, 0.13, 0.27), _HYBRID),
    ("thesis", "hybrid_rrf", Space.CORPUS, "Hybrid, weights 50/50", (0.87, 0.27, 0.19, 0.28), _WEIGHTS),
    ("french", "splade", Space.CORPUS, "SPLADE", (0.50, 0.16, 0.18, 0.29), _SPLADE),
    ("english", "splade", Space.CORPUS, "SPLADE", (0.81, 0.31, 0.24, 0.36), _SPLADE),
    ("thesis", "splade", Space.CORPUS, "SPLADE", (0.81, 0.31, 0.24, 0.36), _SPLADE),
    ("french", "parent_child", Space.CORPUS, "Parent–Child", (0.31, 0.13, 0.12, 0.22), _PARENTS),
    ("english", "parent_child", Space.CORPUS, "Parent–Child", (0.91, 0.32, 0.23, 0.34), _PARENTS),
    ("thesis", "parent_child", Space.CORPUS, "Parent–Child", (0.91, 0.32, 0.23, 0.34), _PARENTS),
    ("french", "query_expansion", Space.CORPUS, "Query expansion", (0.68, 0.27, 0.08, 0.24), _DENSE),
    ("thesis", "query_expansion", Space.CORPUS, "Query expansion", (0.93, 0.38, 0.26, 0.37), _DENSE),
    ("french", "hyde", Space.CORPUS, "HyDE", (0.86, 0.40, 0.25, 0.37), _PASSAGES),
    ("thesis", "hyde", Space.CORPUS, "HyDE", (0.91, 0.40, 0.26, 0.37), _PASSAGES),
    ("french", "multi_hyde", Space.CORPUS, "Multi-HyDE", (0.85, 0.42, 0.27, 0.39), _PASSAGES),
    ("english", "multi_hyde", Space.CORPUS, "Multi-HyDE", (0.85, 0.42, 0.27, 0.39), _PASSAGES),
    ("thesis", "multi_hyde", Space.CORPUS, "Multi-HyDE", (0.89, 0.44, 0.27, 0.39), _PASSAGES),
    ("french", "dense_rerank", Space.CORPUS, "Dense + reranker", (0.87, 0.41, 0.19, 0.34), _RERANK),
    ("english", "dense_rerank", Space.CORPUS, "Dense + reranker", (0.87, 0.41, 0.19, 0.34), _RERANK),
    ("thesis", "dense_rerank", Space.CORPUS, "Dense + reranker", (0.95, 0.44, 0.29, 0.40), _RERANK),
    ("french", "multi_hyde_rerank", Space.CORPUS, "Multi-HyDE + reranker", (0.93, 0.46, 0.28, 0.40), _RERANK),
    (
        "english",
        "multi_hyde_rerank",
        Space.CORPUS,
        "Multi-HyDE + reranker",
        (0.93, 0.46, 0.28, 0.40),
        _RERANK,
    ),
    ("thesis", "multi_hyde_rerank", Space.CORPUS, "Multi-HyDE + reranker", (0.93, 0.48, 0.32, 0.43), _RERANK),
    ("french", "page_scorer", Space.CORPUS, "Learned page scorer", (0.95, 0.55, 0.33, 0.46), _SCORER),
    ("english", "page_scorer", Space.CORPUS, "Learned page scorer", (0.95, 0.55, 0.33, 0.46), _SCORER),
    ("thesis", "page_scorer", Space.CORPUS, "Learned page scorer", (0.95, 0.55, 0.33, 0.46), _SCORER),
    ("french", "dense", Space.FILING, "Oracle document", (1.00, 0.60, 0.25, 0.42), _ORACLE),
    ("english", "dense", Space.FILING, "Oracle-Doc", (1.00, 0.60, 0.25, 0.42), _ORACLE),
    ("thesis", "dense", Space.FILING, "Oracle-Doc", (1.00, 0.60, 0.25, 0.42), _ORACLE),
    ("french", "dense", Space.PAGES, "Oracle page", (1.00, 1.00, 0.40, 0.59), _ORACLE),
    ("english", "dense", Space.PAGES, "Oracle-Page", (1.00, 1.00, 0.40, 0.59), _ORACLE),
    ("thesis", "dense", Space.PAGES, "Oracle-Page", (1.00, 1.00, 0.40, 0.59), _ORACLE),
)

PUBLISHED: tuple[PublishedFigure, ...] = tuple(
    PublishedFigure(paper, system, space.value, row, metric, CUTOFF, value, note)
    for paper, system, space, row, values, note in _ROWS
    for metric, value in zip(METRICS, values, strict=True)
)
"""Every published figure that a system of the registry can be compared with."""

PUBLISHED_STATISTICS: tuple[PublishedStatistic, ...] = (
    PublishedStatistic("french", "documents", 84, None),
    PublishedStatistic("french", "pages", 12_013, None),
    PublishedStatistic("french", "pages_per_document", 143.0, 98.7),
    PublishedStatistic("french", "chunks", 15_171, None),
    PublishedStatistic("french", "questions", 150, None),
    PublishedStatistic("french", "question_tokens", 40.0, 24.0),
    PublishedStatistic("french", "answer_tokens", 19.5, 24.1),
    PublishedStatistic("thesis", "evidence_tokens", 428.0, 378.0),
)
"""Table 3 of the French paper, and the evidence length that the thesis adds; tokens are BGE-M3's."""

_BY_KEY = {(f.paper, f.system, f.space, f.metric, f.k): f for f in PUBLISHED}


def published_figure(paper: str, system: str, space: str, metric: str, k: int) -> PublishedFigure | None:
    """The figure that ``paper`` gives for a system in a space, or None where it has none."""
    return _BY_KEY.get((paper, system, space, metric, k))


def is_comparable(questions: int, documents: int) -> bool:
    """Whether means over so many questions and gold filings are over what the papers measured."""
    return (questions, documents) == (QUESTIONS, DOCUMENTS)
