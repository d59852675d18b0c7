"""What a retrieval system is: a named composition of steps, as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from finrag_pipeline.settings import Settings

Stage = Literal["bm25", "splade", "dense"]

FILTER_PERIODS = 2
"""Fiscal years of a question that the filter by statements looks at, in the order of the question."""


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
    """A composition of retrieval steps: query, filter, pages, first stages, fusion, collapse, rerank, select.

    Attributes:
        name: identifier; the partition key of its runs.
        title: name for people.
        source: paper, table and row.
        first_stages: retrievers whose rankings are taken.
        fusion: how several rankings become one: ``rrf``, or ``alpha``, the weighted sum of scores; None with
            a single first stage.
        chunking: which chunks it ranks.
        kinds: kinds of chunks it ranks; all of the chunking when None.
        collapse: ``page`` keeps the best chunk of each page, so that k chunks are k pages; ``parent``
            searches children and returns their parents, each scored by its best child.
        query: what is searched for in place of the question: ``expansion`` spells out its short forms;
            ``hyde`` takes the vector of one hypothetical passage, ``multi_hyde`` the mean over several,
            ``multi_hyde_fused`` the fusion of the rankings of the question and of each passage.
        filter: what narrows the search before it: ``company_year`` to the filings that the question names,
            ``statements`` also to the pages of the statements that its metric stands in. It is intersected
            with the search space; where nothing is left, the search space stands.
        rerank: name of the cross-encoder that orders the first ``rerank_depth`` chunks anew.
        rerank_depth: candidates of the reranker (N in the papers).
        select: ``language_model`` lets a language model keep or drop each of the first ``select_depth``
            chunks.
        select_depth: chunks that are judged.
        page_stage: ``page_scorer`` ranks pages and searches inside the first ``pages`` of them;
            ``page_ranker`` ranks pages and shows each by its best chunk, in the order of the pages;
            ``page_reranker`` does so after a trained cross-encoder has ordered the first pages anew.
        pages: pages that are searched (P in the papers).
        encoder: name of the encoder; that of the settings when None.
        variant_of: system that this one is a variant of; decides nothing.
    """

    name: str
    title: str
    source: Source
    first_stages: tuple[Stage, ...]
    fusion: Literal["rrf", "alpha"] | None = None
    chunking: str = "fixed"
    kinds: tuple[str, ...] | None = None
    collapse: Literal["page", "parent"] | None = None
    query: Literal["expansion", "hyde", "multi_hyde", "multi_hyde_fused"] | None = None
    filter: Literal["company_year", "statements"] | None = None
    rerank: str | None = None
    rerank_depth: int = 20
    select: Literal["language_model"] | None = None
    select_depth: int = 10
    page_stage: Literal["page_scorer", "page_ranker", "page_reranker"] | None = None
    pages: int = 20
    encoder: str | None = None
    variant_of: str | None = None

    def needs_encoder(self) -> bool:
        """Whether the system embeds the question, or a passage in its place."""
        return "dense" in self.first_stages

    def shows_pages(self) -> bool:
        """Whether the system ranks pages, each shown by its best chunk."""
        return self.page_stage in ("page_ranker", "page_reranker")

    def needs_passages(self) -> bool:
        """Whether the system searches for hypothetical passages."""
        return self.query in ("hyde", "multi_hyde", "multi_hyde_fused")

    def settings(self, settings: Settings) -> Settings:
        """``settings`` with the encoder of this system."""
        if self.encoder is None or self.encoder == settings.encoder.name:
            return settings
        # A revision belongs to the name it was given with.
        encoder = settings.encoder.model_copy(update={"name": self.encoder, "revision": None})
        return settings.model_copy(update={"encoder": encoder})

    def parameters(self, settings: Settings) -> dict[str, Any]:
        """Everything that decides its rankings besides corpus and models; enters the fingerprint.

        Steps that a system does not take leave no trace, so that a new kind of step makes no old run stale.
        """
        plain = {f.name: f.default for f in fields(self)}
        told = {"title", "source", "variant_of"}
        parameters: dict[str, Any] = {
            name: value
            for name, value in asdict(self).items()
            if name not in told and (name in ("name", "first_stages") or value != plain[name])
        }
        for step, detail in (("rerank", "rerank_depth"), ("select", "select_depth"), ("page_stage", "pages")):
            if getattr(self, step) is not None:
                parameters[detail] = getattr(self, detail)
        parameters["depth"] = settings.retrieval.depth
        if self.fusion == "rrf" or self.query == "multi_hyde_fused":
            parameters["rrf_k"] = settings.retrieval.rrf_k
        if self.filter == "statements":
            parameters["filter_periods"] = FILTER_PERIODS
        return parameters
