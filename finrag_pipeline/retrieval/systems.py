"""The registry of retrieval systems: every row of the sweep as data; variants in which one choice differs.

A system is a named chain of components (`system.RetrievalSystem`), with the paper, table and row it stands
for. Adding a row means adding an entry here, and a component in a module of its own where there is none yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from finrag_pipeline.chunking.registry import CHUNKINGS, get_chunking
from finrag_pipeline.errors import UsageError
from finrag_pipeline.retrieval.filters import (
    AllStatements,
    NamedCompanies,
    NamedFilings,
    NamedStatements,
    NamedYears,
)
from finrag_pipeline.retrieval.first_stages import Bm25, Bm25OnPages, Dense, Splade
from finrag_pipeline.retrieval.fusion import Fusion, ReciprocalRanks, WeightedSum
from finrag_pipeline.retrieval.page_stage import InsidePages, PagesBySentence, PagesInOrder
from finrag_pipeline.retrieval.queries import Expanded, Keywords, Passages, Rewritten
from finrag_pipeline.retrieval.second_stages import (
    BestChild,
    BestOfPage,
    CrossEncoder,
    LanguageModelSelection,
)
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.system import RetrievalSystem, Source


def chunking_variants(base: RetrievalSystem) -> Iterator[RetrievalSystem]:
    """``base`` with one chunk per page, on the context-aware chunks, and with what each kind of chunk adds.

    A page of figures has dozens of row chunks, which crowd other pages out of the first k. So each comparison
    is also made with the best chunk of a page standing for it.
    """
    kinds: dict[str, tuple[str, ...] | None] = {
        "": None,
        "_text": ("text",),
        "_text_rows": ("text", "table_row"),
        "_text_tables": ("text", "table"),
        "_rows": ("table_row",),
    }
    base = replace(base, variant_of=base.name)
    by_page = Source(base.source.paper, base.source.table, f"{base.source.row}, one chunk per page")
    title = f"{base.title}, one chunk per page"
    yield replace(base, name=f"{base.name}_pages", title=title, source=by_page, collapse=BestOfPage())
    for suffix, kept in kinds.items():
        if kept and isinstance(base.first, Fusion):
            continue  # what a kind adds is seen on the rankings that are fused
        row = _guide("section 4", "context-aware chunks" + suffix.replace("_", " "))
        name = f"{base.name}_contextual{suffix}"
        what = ", ".join(kind.replace("_", " ") for kind in kept) if kept else "all context-aware chunks"
        system = replace(
            base, name=name, title=f"{base.title}: {what}", source=row, chunking="contextual", kinds=kept
        )
        if kept is None:
            yield system
        yield replace(
            system, name=f"{name}_pages", title=f"{system.title}, one chunk per page", collapse=BestOfPage()
        )


def variant(
    base: RetrievalSystem,
    *,
    chunking: str | None = None,
    encoder: str | None = None,
    reranker: str | None = None,
) -> RetrievalSystem:
    """``base`` with another chunking, encoder or reranker, under a name that says so.

    Models are given by name or folder; a system without a reranker gets one.

    Raises:
        UsageError: there is no such chunking.
    """
    changes: dict[str, Any] = {}
    if chunking is not None:
        parents = "parent" in get_chunking(chunking).kinds
        changes |= {"chunking": chunking, "kinds": ("parent",) if parents else None}
        if parents or isinstance(base.collapse, BestChild):
            changes["collapse"] = BestChild() if parents else None
    if encoder is not None:
        changes["encoder"] = encoder
    if reranker is not None:
        own = base.rerank
        changes["rerank"] = (
            replace(own, model=reranker) if isinstance(own, CrossEncoder) else CrossEncoder(reranker)
        )
    parts = {"chunks": chunking, "encoder": encoder, "reranker": reranker}
    given = {what: value for what, value in parts.items() if value is not None}
    changed = ", ".join(f"{what} {value}" for what, value in given.items())
    suffix = "+".join(value.rstrip("/").rsplit("/", 1)[-1] for value in given.values())
    return replace(
        base,
        name=f"{base.name}+{suffix}" if suffix else base.name,
        title=f"{base.title} ({changed})" if changed else base.title,
        variant_of=base.name,
        **changes,
    )


_BOTH = (Bm25(), Dense())
_kim = partial(Source, "Kim et al., optimizing retrieval strategies for financial question answering")
_guide = partial(Source, "Mixpeek technical guide")
_own = partial(Source, "finrag_pipeline", "this project")


def _paper(row: str, table: str = "Table 4") -> Source:
    return Source("Kobeissi & Langlais, oracle-based evaluation of financial retrieval", table, row)


SYSTEMS: dict[str, RetrievalSystem] = {
    system.name: system
    for system in (
        RetrievalSystem("bm25", "BM25 (Okapi)", _paper("BM25"), Bm25()),
        RetrievalSystem("splade", "SPLADE", _paper("SPLADE"), Splade()),
        RetrievalSystem("dense", "Dense", _paper("Dense"), Dense()),
        RetrievalSystem(
            "hybrid_rrf", "Hybrid, reciprocal rank fusion", _paper("Hybrid RRF"), ReciprocalRanks(_BOTH)
        ),
        RetrievalSystem(
            "hybrid_alpha",
            "Hybrid, weighted scores",
            _kim("hybrid retrieval", "S = α·dense + (1 − α)·sparse"),
            WeightedSum(_BOTH),
        ),
        # The papers' text gives parents of 1024 tokens, their code 2048; the code made their figures.
        RetrievalSystem(
            "parent_child",
            "Parent and child",
            _paper("Parent-Child"),
            Dense(),
            chunking="parent_child",
            kinds=("parent",),
            collapse=BestChild(),
        ),
        RetrievalSystem(
            "query_expansion", "Query expansion", _paper("Expansion de requête"), Dense(), query=Expanded()
        ),
        RetrievalSystem("hyde", "HyDE", _paper("HyDE"), Dense(), query=Passages(single=True)),
        RetrievalSystem("multi_hyde", "Multi-HyDE", _paper("Multi-HyDE"), Dense(), query=Passages()),
        RetrievalSystem(
            "dense_rerank", "Dense, reranked", _paper("BGE-M3 + ReRanker"), Dense(), rerank=CrossEncoder()
        ),
        RetrievalSystem(
            "multi_hyde_rerank",
            "Multi-HyDE, reranked",
            _paper("BGE-M3 + Multi-HyDE + ReRanker"),
            Dense(),
            query=Passages(),
            rerank=CrossEncoder(),
        ),
        RetrievalSystem(
            "page_scorer",
            "Learned page scorer",
            _paper("Scoreur de pages appris"),
            Dense(),
            pages=InsidePages("page_scorer"),
        ),
        RetrievalSystem(
            "filtered_dense",
            "Dense in the filings asked about",
            _guide("section 7", "company and fiscal year as hard filters"),
            Dense(),
            filter=NamedFilings(),
        ),
        RetrievalSystem(
            "filtered_sentences",
            "Sentences in the filings asked about",
            _own("pages by their best sentence"),
            Bm25OnPages(),
            filter=NamedFilings(),
            pages=PagesBySentence(),
        ),
        RetrievalSystem(
            "statement_aware",
            "Hybrid on the statements asked about",
            _guide("section 6", "intelligent statement detection"),
            ReciprocalRanks(_BOTH),
            filter=NamedStatements(),
        ),
        RetrievalSystem(
            "document_selection",
            "Dense, selected by a language model",
            _kim("post-retrieval", "document selection among the first ten"),
            Dense(),
            select=LanguageModelSelection(),
        ),
        RetrievalSystem(
            "finrag",
            "finrag: resolver and page ranker",
            _own("pages in the order of the page ranker"),
            Bm25OnPages(),
            pages=PagesInOrder("page_ranker"),
        ),
        RetrievalSystem(
            "finrag_rerank",
            "finrag, its first pages reranked",
            _own("first pages reordered by a cross-encoder trained here"),
            Bm25OnPages(),
            pages=PagesInOrder("page_reranker", ("page_ranker", "reranker")),
        ),
    )
}

DEFAULT_SYSTEM = "finrag"
"""What searches where no system is named."""


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


def _of(base: str, name: str, told: str, source: Source, **changes: Any) -> RetrievalSystem:
    """A variant that the papers, or files of their authors, have beside a row."""
    title = f"{SYSTEMS[base].title}{told}"
    return replace(SYSTEMS[base], name=name, title=title, source=source, variant_of=base, **changes)


_EXPANSION = _kim("pre-retrieval", "query expansion by a language model")
_KEYWORDS = _kim("pre-retrieval", "keyword extraction")
_BY_COMPANY = ("section 12.4", "company as a hard filter")
_BY_YEAR = ("section 12.4", "fiscal year as a hard filter")
_SEMANTIC, _BROAD = ("section 12.2", "semantic only"), ("section 12.2", "broad")

_NAMED_VARIANTS = (
    *(
        _of(
            "page_scorer",
            f"page_scorer_p{pages}",
            f", {pages} pages",
            _paper(f"P = {pages}", "Table 9"),
            pages=InsidePages("page_scorer", pages=pages),
        )
        for pages in (5, 10)
    ),
    _of(
        "multi_hyde",
        "multi_hyde_fused",
        ", rankings fused",
        _paper("rankings of question and passages fused by RRF", "published code"),
        query=Passages(fused=True),
    ),
    *(
        _of(
            "dense_rerank",
            f"dense_rerank_{depth}",
            f" to a depth of {depth}",
            _kim("post-retrieval", f"reranking, {depth} candidates"),
            rerank=CrossEncoder(depth=depth),
        )
        for depth in (5, 10, 50)
    ),
    *(
        _of("dense", f"dense_{name}", f", {told}", source, query=query)
        for name, told, source, query in (
            ("keywords", "keywords of the question", _KEYWORDS, Keywords()),
            ("llm_keywords", "keywords by a language model", _KEYWORDS, Rewritten("keywords")),
            ("llm_expansion", "expanded by a language model", _EXPANSION, Rewritten()),
        )
    ),
    *(
        _of(base, name, f", {told}", _guide(section, row), filter=narrowed)
        for base, name, told, section, row, narrowed in (
            ("filtered_dense", "filtered_company", "by company alone", *_BY_COMPANY, NamedCompanies()),
            ("filtered_dense", "filtered_year", "by year alone", *_BY_YEAR, NamedYears()),
            ("statement_aware", "statement_none", "whatever the page", *_SEMANTIC, NamedFilings()),
            ("statement_aware", "statement_all", "all statements", *_BROAD, AllStatements()),
        )
    ),
)

ABLATIONS: dict[str, RetrievalSystem] = {
    system.name: system
    for system in (
        *(
            variant
            for base in ("bm25", "dense", "hybrid_rrf")
            for variant in chunking_variants(SYSTEMS[base])
        ),
        *_NAMED_VARIANTS,
    )
}
"""Variants that show what a choice adds; run on request, reported apart from the systems."""

ALL_SYSTEMS: dict[str, RetrievalSystem] = {**SYSTEMS, **ABLATIONS}


def get_system(name: str, registered: bool = False) -> RetrievalSystem:
    """The system called ``name``; ``dense+contextual`` is ``dense`` on another chunking.

    Only those of the registry have runs of their own (``registered``).

    Raises:
        UsageError: there is none.
    """
    base, _, chunking = name.partition("+")
    if not registered and base in ALL_SYSTEMS and chunking in CHUNKINGS:
        return variant(ALL_SYSTEMS[base], chunking=chunking)
    if name not in ALL_SYSTEMS:
        raise UsageError(
            f"There is no retrieval system '{name}'.", f"Choose one of: {', '.join(ALL_SYSTEMS)}."
        )
    return ALL_SYSTEMS[name]
