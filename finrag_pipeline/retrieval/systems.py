"""The registry of retrieval systems: every row of the sweep, as data.

A system is a named composition of first stages and a fusion, with the paper, table and row it stands
for. Adding a row means adding an entry here, never a script.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from finrag_pipeline.errors import UsageError
from finrag_pipeline.settings import Settings

SYSTEMS_VERSION = "2"


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
    """

    name: str
    title: str
    source: Source
    first_stages: tuple[Literal["bm25", "dense"], ...]
    fusion: Literal["rrf"] | None = None

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


def get_system(name: str) -> RetrievalSystem:
    """The system called ``name``.

    Raises:
        UsageError: there is none.
    """
    if name not in SYSTEMS:
        raise UsageError(f"There is no retrieval system '{name}'.", f"Choose one of: {', '.join(SYSTEMS)}.")
    return SYSTEMS[name]
