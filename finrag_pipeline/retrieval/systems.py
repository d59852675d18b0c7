"""The registry of retrieval systems: every row of the sweep, as data.

A system is a named composition of steps, with the paper, table and row it stands for. Adding a row means
adding an entry here, never a script.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from finrag_pipeline.errors import UsageError
from finrag_pipeline.retrieval.ablations import chunking_variants, one_part_changed
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.system import RetrievalSystem, Source, Stage

__all__ = [
    "ABLATIONS",
    "ALIASES",
    "ALL_SYSTEMS",
    "DEFAULT_SYSTEM",
    "SYSTEMS",
    "SYSTEMS_VERSION",
    "Alias",
    "RetrievalSystem",
    "Source",
    "Stage",
    "get_system",
    "variant",
]

SYSTEMS_VERSION = "4"

RERANKER = "BAAI/bge-reranker-v2-m3"
"""The cross-encoder of the papers."""

_PAPER = "Kobeissi & Langlais, oracle-based evaluation of financial retrieval"
_KIM = "Kim et al., optimizing retrieval strategies for financial question answering"
_GUIDE = "Mixpeek technical guide"

_DENSE: tuple[Stage, ...] = ("dense",)
_BOTH: tuple[Stage, ...] = ("bm25", "dense")


def _paper(row: str) -> Source:
    return Source(_PAPER, "Table 4", row)


SYSTEMS: dict[str, RetrievalSystem] = {
    system.name: system
    for system in (
        RetrievalSystem("bm25", "BM25 (Okapi)", _paper("BM25"), ("bm25",)),
        RetrievalSystem("splade", "SPLADE", _paper("SPLADE"), ("splade",)),
        RetrievalSystem("dense", "Dense", _paper("Dense"), _DENSE),
        RetrievalSystem("hybrid_rrf", "Hybrid, reciprocal rank fusion", _paper("Hybrid RRF"), _BOTH, "rrf"),
        RetrievalSystem(
            "hybrid_alpha",
            "Hybrid, weighted scores",
            Source(_KIM, "hybrid retrieval", "S = α·dense + (1 − α)·sparse"),
            _BOTH,
            "alpha",
        ),
        # The papers' text gives parents of 1024 tokens, their code 2048; the code made their figures.
        RetrievalSystem(
            "parent_child",
            "Parent and child",
            _paper("Parent-Child"),
            _DENSE,
            chunking="parent_child",
            kinds=("parent",),
            collapse="parent",
        ),
        RetrievalSystem(
            "query_expansion", "Query expansion", _paper("Expansion de requête"), _DENSE, query="expansion"
        ),
        RetrievalSystem("hyde", "HyDE", _paper("HyDE"), _DENSE, query="hyde"),
        RetrievalSystem("multi_hyde", "Multi-HyDE", _paper("Multi-HyDE"), _DENSE, query="multi_hyde"),
        RetrievalSystem(
            "dense_rerank", "Dense, reranked", _paper("BGE-M3 + ReRanker"), _DENSE, rerank=RERANKER
        ),
        RetrievalSystem(
            "multi_hyde_rerank",
            "Multi-HyDE, reranked",
            _paper("BGE-M3 + Multi-HyDE + ReRanker"),
            _DENSE,
            query="multi_hyde",
            rerank=RERANKER,
        ),
        RetrievalSystem(
            "page_scorer",
            "Learned page scorer",
            _paper("Scoreur de pages appris"),
            _DENSE,
            page_stage="page_scorer",
        ),
        RetrievalSystem(
            "filtered_dense",
            "Dense in the filings asked about",
            Source(_GUIDE, "section 7", "company and fiscal year as hard filters"),
            _DENSE,
            filter="company_year",
        ),
        RetrievalSystem(
            "statement_aware",
            "Hybrid on the statements asked about",
            Source(_GUIDE, "section 6", "intelligent statement detection"),
            _BOTH,
            "rrf",
            filter="statements",
        ),
        RetrievalSystem(
            "document_selection",
            "Dense, selected by a language model",
            Source(_KIM, "post-retrieval", "document selection among the first ten"),
            _DENSE,
            select="language_model",
        ),
        RetrievalSystem(
            "finrag",
            "finrag: resolver and page ranker",
            Source("finrag_pipeline", "this project", "pages in the order of the page ranker"),
            _DENSE,
            page_stage="page_ranker",
        ),
        RetrievalSystem(
            "finrag_rerank",
            "finrag, its first pages reranked",
            Source(
                "finrag_pipeline", "this project", "first pages ordered anew by a cross-encoder trained here"
            ),
            _DENSE,
            page_stage="page_reranker",
        ),
    )
}

DEFAULT_SYSTEM = "dense"


@dataclass(frozen=True)
class Alias:
    """A row of the papers that is a system of the registry in one search space; it has no runs of its own."""

    name: str
    source: Source
    system: str
    space: Space


ALIASES: dict[str, Alias] = {
    alias.name: alias
    for alias in (
        Alias("oracle_filing", _paper("Oracle document"), "dense", Space.FILING),
        Alias("oracle_page", _paper("Oracle page"), "dense", Space.PAGES),
    )
}
"""The papers' oracles restrict the dense system."""


def _named_variants() -> list[RetrievalSystem]:
    """Variants that the papers, or files of their authors, have beside a row."""
    scorer, hyde = SYSTEMS["page_scorer"], SYSTEMS["multi_hyde"]
    fewer = [
        replace(
            scorer,
            name=f"page_scorer_p{pages}",
            title=f"{scorer.title}, {pages} pages",
            source=Source(_PAPER, "Table 9", f"P = {pages}"),
            pages=pages,
            variant_of="page_scorer",
        )
        for pages in (5, 10)
    ]
    fused = replace(
        hyde,
        name="multi_hyde_fused",
        title="Multi-HyDE, rankings fused",
        source=Source(_PAPER, "published code", "rankings of question and passages fused by RRF"),
        query="multi_hyde_fused",
        variant_of="multi_hyde",
    )
    return [*fewer, fused]


ABLATIONS: dict[str, RetrievalSystem] = {
    system.name: system
    for system in (
        *(
            variant
            for base in ("bm25", "dense", "hybrid_rrf")
            for variant in chunking_variants(SYSTEMS[base])
        ),
        *_named_variants(),
    )
}
"""Variants that show what a choice adds; run on request, reported apart from the systems."""

ALL_SYSTEMS: dict[str, RetrievalSystem] = {**SYSTEMS, **ABLATIONS}


def get_system(name: str) -> RetrievalSystem:
    """The system called ``name``; an alias gives the system it stands for.

    Raises:
        UsageError: there is none.
    """
    if name not in ALL_SYSTEMS:
        raise UsageError(
            f"There is no retrieval system '{name}'.", f"Choose one of: {', '.join(ALL_SYSTEMS)}."
        )
    return ALL_SYSTEMS[name]


variant = one_part_changed
