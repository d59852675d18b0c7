"""What systems share besides the indexes: resolver, statement pages, rerankers, passages, a language model.

Everything is loaded on first use and once. Imports of models stand inside the methods, so that a search
without them loads none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from finrag_pipeline.errors import ModelError
from finrag_pipeline.retrieval.statement_pages import StatementPages, read_statement_pages
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.language_models.protocol import LanguageModel
    from finrag_pipeline.reranking.protocol import Reranker
    from finrag_pipeline.resolver.resolver import Resolver
    from finrag_pipeline.retrieval.hyde import PassageSource


class Toolbox:
    """Look-ups over ``filings`` and models of ``settings``.

    Args:
        lake: where tables and caches are.
        filings: filings of the corpus.
        settings: which models.
    """

    def __init__(self, lake: Lake, filings: Sequence[str], settings: Settings) -> None:
        self.lake = lake
        self.filings = tuple(filings)
        self.settings = settings
        self._rerankers: dict[str, Reranker] = {}

    @cached_property
    def filing_rows(self) -> list[dict[str, Any]]:
        """Rows of ``filings``, as far as the lake has them."""
        return self.lake.read_all("filings", only={"filing": self.filings}).to_pylist()

    @cached_property
    def resolver(self) -> Resolver:
        """Reads company, period and form out of a question."""
        from finrag_pipeline.resolver.resolver import Resolver

        return Resolver(self.filing_rows, self._covers())

    def _covers(self) -> dict[str, str]:
        """Text of the first page of each filing."""
        covers: dict[str, str] = {}
        known = {keys["filing"] for keys in self.lake.partitions("filing_pages")}
        for filing in known & set(self.filings):
            pages = self.lake.read("filing_pages", {"filing": filing}, ["page", "text"])
            first = pages.slice(0, 1).to_pylist()
            if first and first[0]["page"] == 0:
                covers[filing] = first[0]["text"]
        return covers

    @cached_property
    def statement_pages(self) -> StatementPages:
        """Which pages hold the primary statements of which fiscal years."""
        return read_statement_pages(self.lake, self.filings)

    def reranker(self, name: str) -> Reranker:
        """The cross-encoder called ``name``: a hub name or a folder."""
        if name not in self._rerankers:
            from finrag_pipeline.reranking.cross_encoder import load_reranker

            self._rerankers[name] = load_reranker(name, self.settings.reranker, self.lake)
        return self._rerankers[name]

    @cached_property
    def passages(self) -> PassageSource:
        """Hypothetical passages for questions.

        Raises:
            ModelError: there are neither recorded ones nor a language model.
        """
        from finrag_pipeline.retrieval.hyde import load_passages

        how = self.settings.language_model
        model = None if how.kind == "none" else self.language_model
        source = load_passages(self.settings.hyde, model, how.max_concurrency)
        if source is None:
            raise ModelError(
                "There are neither recorded passages nor a language model.",
                "Set FINRAG_HYDE__RECORDED to a file, or FINRAG_LANGUAGE_MODEL__KIND.",
            )
        return source

    @cached_property
    def language_model(self) -> LanguageModel:
        """The language model of the settings.

        Raises:
            ModelError: none is set up.
        """
        from finrag_pipeline.language_models.load import load_language_model

        model = load_language_model(self.settings.language_model, self.lake)
        if model is None:
            raise ModelError("No language model is set up.", "Set FINRAG_LANGUAGE_MODEL__KIND.")
        return model
