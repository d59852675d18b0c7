"""What a system needs that may be missing here: weights, passages, a language model, chunks of its own.

A row whose needs are not met is not run. It is never run with something else in its place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from finrag_pipeline.chunking.registry import CONTEXTUAL, FIXED, get_chunking
from finrag_pipeline.embedding.model_files import model_folder
from finrag_pipeline.errors import FinragError, ModelError
from finrag_pipeline.retrieval.chunk_index import searchable_filings
from finrag_pipeline.retrieval.statement_pages import STATEMENT_PAGES_VERSION
from finrag_pipeline.retrieval.system import RetrievalSystem
from finrag_pipeline.retrieval.toolbox import Toolbox
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake


class Needs:
    """Looks up what systems need, each thing once: asking a model hub takes seconds.

    Args:
        lake: where chunks, facts and recorded answers are.
        settings: which models.
        questions: questions that will be asked, where they are known.
        filings: filings that will be searched, every one of them; those that can be when None.
    """

    def __init__(
        self,
        lake: Lake,
        settings: Settings,
        questions: Collection[str] = (),
        filings: Collection[str] | None = None,
    ) -> None:
        self._lake = lake
        self._settings = settings
        self._questions = set(questions)
        self._filings = searchable_filings(lake) if filings is None else filings
        self._all = filings is not None
        self._tools = Toolbox(lake, (), settings)
        self._known: dict[tuple[str, str], str | None] = {}

    def problem(self, system: RetrievalSystem) -> str | None:
        """Why ``system`` cannot run here, for people; None when it can. What must be trained is not asked."""
        settings = system.settings(self._settings)
        for thing in self._things(system):
            if thing not in self._known:
                self._known[thing] = self._look_up(*thing, settings)
            if problem := self._known[thing]:
                return problem
        return None

    def note(self, system: RetrievalSystem) -> str:
        """In what ``system`` differs here from what its name says; empty where it does not."""
        from finrag_pipeline.retrieval.hyde import RecordedPassages

        wanted = self._settings.hyde.passages
        if system.query not in ("multi_hyde", "multi_hyde_fused") or self.problem(system) is not None:
            return ""
        source = self._tools.passages
        if isinstance(source, RecordedPassages) and source.most < wanted:
            return f"{source.most} recorded passages in place of {wanted}"
        return ""

    def _things(self, system: RetrievalSystem) -> Iterable[tuple[str, str]]:
        """Kind and name of everything that ``system`` needs."""
        if system.needs_encoder():
            yield "encoder", system.encoder or self._settings.encoder.name
        if "splade" in system.first_stages:
            yield "splade", self._settings.splade.name
        if get_chunking(system.chunking).on_demand:
            yield "chunks", system.chunking
        if system.needs_passages():
            yield "passages", ""
        if system.filter == "statements":
            yield "facts", ""
        if system.shows_pages():
            yield "profiles", ""
        if system.rerank is not None:
            yield "reranker", system.rerank
        if system.select is not None:
            yield "language model", ""

    def _look_up(self, kind: str, name: str, settings: Settings) -> str | None:
        match kind:
            case "encoder":
                return _encoder_problem(settings)
            case "splade":
                from finrag_pipeline.retrieval.splade import splade_problem

                return splade_problem(settings.splade)
            case "chunks":
                chunked = set(searchable_filings(self._lake, get_chunking(name)))
                return self._missing_of(chunked, f"chunks of '{name}'")
            case "passages":
                return self._passages_problem()
            case "facts":
                found = self._lake.partitions("statement_facts")
                return None if found else "The lake holds no statement facts."
            case "profiles":
                made = self._filings_with("page_profiles") & self._filings_with("page_sentences")
                return self._missing_of(made, "page profiles")
            case "reranker":
                from finrag_pipeline.reranking.cross_encoder import weights_problem

                return weights_problem(name, settings.reranker)
            case _:
                from finrag_pipeline.language_models.load import language_model_problem

                return language_model_problem(settings.language_model)

    def _missing_of(self, made: set[str], what: str) -> str | None:
        missing = set(self._filings) - made
        if not missing or (not self._all and made):
            return None
        return f"{len(missing)} filings have no {what}: run 'finrag run'."

    def _filings_with(self, table: str) -> set[str]:
        return {keys["filing"] for keys in self._lake.partitions(table)}

    def _passages_problem(self) -> str | None:
        from finrag_pipeline.language_models.load import language_model_problem
        from finrag_pipeline.retrieval.hyde import RecordedPassages

        try:
            source = self._tools.passages
        except FinragError as error:
            return str(error)
        if isinstance(source, RecordedPassages):
            missing = sum(source.find(question) is None for question in self._questions)
            if missing:
                return f"{missing} of {len(self._questions)} questions have no recorded passages."
            return None
        return language_model_problem(self._settings.language_model)


def _encoder_problem(settings: Settings) -> str | None:
    try:
        model_folder(settings.encoder.name, settings.encoder.revision)
    except ModelError as error:
        return str(error)
    return None


def used_by(system: RetrievalSystem, lake: Lake, filings: Sequence[str], tools: Toolbox) -> dict[str, Any]:
    """Fingerprints of what decides the rankings of ``system`` besides chunks, their vectors and training.

    Args:
        system: what to run.
        lake: holds the tables that its filter reads.
        filings: filings of the corpus.
        tools: its models.

    Raises:
        ModelError: a model that the system needs cannot be had.
    """
    used: dict[str, Any] = {}
    tables: tuple[str, ...] = ()
    if system.query == "expansion":
        from finrag_pipeline.retrieval.query_expansion import EXPANSION_VERSION

        used["expansion"] = EXPANSION_VERSION
    if system.needs_passages():
        used["passages"] = [tools.passages.fingerprint, tools.settings.hyde.passages]
    if "splade" in system.first_stages:
        from finrag_pipeline.retrieval.splade import SpladeEncoder

        used["splade"] = SpladeEncoder(tools.settings.splade, lake).fingerprint
    if system.rerank is not None:
        used["reranker"] = tools.reranker(system.rerank).fingerprint
    if system.select is not None:
        from finrag_pipeline.retrieval.document_selection import SELECTION_VERSION

        used["selection"] = [tools.language_model.fingerprint, SELECTION_VERSION]
    if system.filter is not None or system.shows_pages():
        from finrag_pipeline.resolver import RESOLVER_VERSION

        used["resolver"] = RESOLVER_VERSION
        tables = ("filings", "filing_pages")
    if system.filter == "statements":
        used["statement_pages"] = STATEMENT_PAGES_VERSION
    if system.filter == "statements":
        tables = (*tables, "statement_facts")
    if system.shows_pages():
        # Its features are made of these; the profiles stand for tables and facts.
        tables = (*tables, "page_profiles", "page_sentences", FIXED.table, CONTEXTUAL.table)
    if system.page_stage == "page_scorer":
        tables = ("filing_pages",)
    for table in tables:
        parts = {filing: lake.info(table, {"filing": filing}) for filing in filings}
        used[table] = {filing: part.fingerprint if part else None for filing, part in parts.items()}
    return used
