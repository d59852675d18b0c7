"""Variants of a system in which one choice differs: its chunking, encoder or reranker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from finrag_pipeline.chunking.registry import get_chunking
from finrag_pipeline.retrieval.fusion import Fusion
from finrag_pipeline.retrieval.second_stages import BestChild, BestOfPage, CrossEncoder
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
        row = Source(
            "Mixpeek technical guide", "section 4", "context-aware chunks" + suffix.replace("_", " ")
        )
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


def one_part_changed(
    base: RetrievalSystem,
    *,
    chunking: str | None = None,
    encoder: str | None = None,
    reranker: str | None = None,
) -> RetrievalSystem:
    """``base`` with another chunking, encoder or reranker, under a name that says so.

    Args:
        base: a system.
        chunking: name of a chunking.
        encoder: name or folder of an encoder.
        reranker: name or folder of a cross-encoder; also for systems that have none.

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
        changes["rerank"] = CrossEncoder(reranker)
    told = ", ".join(
        f"{what} {given}"
        for what, given in (("chunks", chunking), ("encoder", encoder), ("reranker", reranker))
        if given is not None
    )
    suffix = "+".join(
        given.rstrip("/").rsplit("/", 1)[-1] for given in (chunking, encoder, reranker) if given is not None
    )
    return replace(
        base,
        name=f"{base.name}+{suffix}" if suffix else base.name,
        title=f"{base.title} ({told})" if told else base.title,
        variant_of=base.name,
        **changes,
    )
