"""The registry of retrieval systems: every row of the sweep, as data.

A system is a named composition of first stages and a fusion, with the paper, table and row it stands
for. Adding a row means adding an entry here, never a script.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from finrag_pipeline.errors import UsageError
from finrag_pipeline.settings import Settings

SYSTEMS_VERSION = "3"


@dataclass(frozen=True)
class Source:
    """Where a system comes from."""

    paper: str
    table: str
    row: str

    def __str__(self) -> str:
        return f"{self.paper}, {self.table}, row '{self.row}'"


@dataclass(frozen=True)
class RetrievalSystem:
    """A composition of retrieval steps.

    Attributes:
        name: identifier; the partition key of its runs.
        title: name for people.
        source: paper, table and row.
        first_stages: retrievers whose rankings are taken.
        fusion: how several rankings become one; None with a single first stage.
        chunking: which chunks it ranks.
        kinds: kinds of chunks it ranks; all of the chunking when None.
        collapse: ``page`` keeps the best chunk of each page, so that k chunks are k pages.
    """

    name: str
    title: str
    source: Source
    first_stages: tuple[Literal["bm25", "dense"], ...]
    fusion: Literal["rrf"] | None = None
    chunking: str = "fixed"
    kinds: tuple[str, ...] | None = None
    collapse: Literal["page"] | None = None

    def needs_encoder(self) -> bool:
        """Whether the system embeds the question."""
        return "dense" in self.first_stages

    def parameters(self, settings: Settings) -> dict[str, Any]:
        """Everything that decides its rankings besides corpus and models; enters the fingerprint."""
        parameters: dict[str, Any] = {**asdict(self), "depth": settings.retrieval.depth}
        if self.fusion == "rrf":
            parameters["rrf_k"] = settings.retrieval.rrf_k
        return parameters


_PAPER = "Kobeissi & Langlais, oracle-based evaluation of financial retrieval"

SYSTEMS: dict[str, RetrievalSystem] = {
    system.name: system
    for system in (
        RetrievalSystem("bm25", "BM25 (Okapi)", Source(_PAPER, "Table 4", "BM25"), ("bm25",)),
        RetrievalSystem("dense", "Dense", Source(_PAPER, "Table 4", "Dense"), ("dense",)),
        RetrievalSystem(
            "hybrid_rrf",
            "Hybrid, reciprocal rank fusion",
            Source(_PAPER, "Table 4", "Hybrid RRF"),
            ("bm25", "dense"),
            "rrf",
        ),
    )
}

DEFAULT_SYSTEM = "dense"


def _chunking_ablations() -> Iterator[RetrievalSystem]:
    """Every system on the context-aware chunks, and what each kind of chunk adds.

    A page of figures has dozens of row chunks, which crowd other pages out of the first k. So each comparison
    is also made with the best chunk of a page standing for it.
    """
    guide = "Mixpeek technical guide"
    kinds: dict[str, tuple[str, ...] | None] = {
        "": None,
        "_text": ("text",),
        "_text_rows": ("text", "table_row"),
        "_text_tables": ("text", "table"),
        "_rows": ("table_row",),
    }
    for base in SYSTEMS.values():
        by_page = Source(_PAPER, base.source.table, f"{base.source.row}, one chunk per page")
        title = f"{base.title}, one chunk per page"
        yield replace(base, name=f"{base.name}_pages", title=title, source=by_page, collapse="page")
        for suffix, kept in kinds.items():
            if kept and base.fusion:
                continue  # what a kind adds is seen on the rankings that are fused
            row = Source(guide, "section 4", "context-aware chunks" + suffix.replace("_", " "))
            name = f"{base.name}_contextual{suffix}"
            what = ", ".join(kind.replace("_", " ") for kind in kept) if kept else "all context-aware chunks"
            system = replace(
                base, name=name, title=f"{base.title}: {what}", source=row, chunking="contextual", kinds=kept
            )
            if kept is None:
                yield system
            yield replace(
                system, name=f"{name}_pages", title=f"{system.title}, one chunk per page", collapse="page"
            )


ABLATIONS: dict[str, RetrievalSystem] = {system.name: system for system in _chunking_ablations()}
"""Variants that show what a choice adds; run on request, reported apart from the systems."""

ALL_SYSTEMS: dict[str, RetrievalSystem] = {**SYSTEMS, **ABLATIONS}


def get_system(name: str) -> RetrievalSystem:
    """The system called ``name``.

    Raises:
        UsageError: there is none.
    """
    if name not in ALL_SYSTEMS:
        raise UsageError(
            f"There is no retrieval system '{name}'.", f"Choose one of: {', '.join(ALL_SYSTEMS)}."
        )
    return ALL_SYSTEMS[name]
