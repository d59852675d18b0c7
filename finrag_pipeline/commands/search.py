"""``finrag search`` and ``finrag systems``: ask the index; list what can be asked."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from finrag_pipeline.chunking.registry import get_chunking
from finrag_pipeline.commands.run import require_filing
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.errors import LakeError, ModelError, UsageError
from finrag_pipeline.rankers.registry import trained_models
from finrag_pipeline.resolver.resolver import Resolver
from finrag_pipeline.retrieval.chunk_index import FINISH, Completeness, complete_filings, searchable_filings
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.hits import Hit
from finrag_pipeline.retrieval.needs import Needs
from finrag_pipeline.retrieval.question_text import check_question
from finrag_pipeline.retrieval.runner import rank
from finrag_pipeline.retrieval.snippet import snippet
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import (
    ALIASES,
    ALL_SYSTEMS,
    DEFAULT_SYSTEM,
    RetrievalSystem,
    get_system,
)
from finrag_pipeline.retrieval.toolbox import Toolbox
from finrag_pipeline.retrieval.trained import Trained
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake


@dataclass(frozen=True)
class SearchAnswer:
    """Answer of a search; `as_json` is the documented contract."""

    question: str
    system: str
    results: list[dict[str, Any]]
    seconds: float
    warnings: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """``{question, system, results: [{rank, filing, page, page_label, …}], seconds, warnings}``."""
        return {
            "question": self.question,
            "system": self.system,
            "results": self.results,
            "seconds": self.seconds,
            "warnings": self.warnings,
        }


@dataclass(frozen=True)
class Found:
    """A ranking, and where its texts are.

    Attributes:
        question: as it was searched for.
        system: the system that ranked.
        corpus: holds the texts of the hits.
        hits: best first.
        warnings: which filings were not searched.
    """

    question: str
    system: RetrievalSystem
    corpus: Corpus
    hits: list[Hit]
    warnings: list[str]


class Searcher:
    """Searches every filing that is complete in the lake; indexes and weights are loaded once.

    Args:
        settings: settings of the lake.
        trained: what systems have learned; the production models of the lake when None.
    """

    def __init__(self, settings: Settings, trained: Trained | None = None) -> None:
        self._settings = settings
        self._lake = Lake(settings.lake)
        names = searchable_filings(self._lake)
        if not names:
            raise LakeError("The lake holds nothing to search.", "Run 'finrag run', or 'finrag ingest FILE'.")
        self._trained = trained or trained_models(self._lake, settings, None)
        self._tools = {names: Toolbox(self._lake, names, settings)}
        self._resolving = self._tools[names]
        self._encoders: dict[str, Encoder] = {}
        self._known: dict[str, Completeness] = {}
        self._corpora: dict[tuple[str, tuple[str, ...] | None, str, tuple[str, ...]], Corpus] = {}

    def default_system(self) -> str:
        """Finrag where a page ranker was trained, else the dense search."""
        return "finrag" if self._trained.page_ranker is not None else DEFAULT_SYSTEM

    @property
    def resolver(self) -> Resolver:
        """Reads company, period and form out of a question."""
        return self._resolving.resolver

    def _corpus_of(self, system: RetrievalSystem) -> Corpus:
        settings = system.settings(self._settings)
        name = settings.encoder.name
        encoder = self._encoders.setdefault(name, Encoder(settings.encoder, self._lake))
        if system.name not in self._known:
            self._known[system.name] = complete_filings(self._lake, system, settings, encoder)
        names = self._known[system.name].complete
        key = (system.chunking, system.kinds, name, names)
        if key not in self._corpora:
            # Filings are resolved among those that are searched.
            tools = self._tools.setdefault(names, Toolbox(self._lake, names, self._settings))
            self._corpora[key] = Corpus(
                self._lake, names, settings, encoder, get_chunking(system.chunking), system.kinds, tools
            )
        return self._corpora[key]

    def search(self, question: str, system: str | None, k: int, filings: Sequence[str] = ()) -> SearchAnswer:
        """The best ``k`` chunks for a question.

        Args:
            question: the question.
            system: name of the retrieval system; `default_system` when None.
            k: how many chunks, at least 1.
            filings: restrict the search to these; all when empty.

        Raises:
            UsageError: empty or endless question, unknown system or filing, or k below 1.
            LakeError: no filing is complete, or one that was asked for is not.
            ModelError: a model that the system needs cannot be had, or was not trained.
        """
        start = time.perf_counter()
        found = self.find(question, system, k, filings)
        results = [
            {
                "rank": place,
                "filing": hit.filing,
                "page": hit.page,
                "page_label": str(hit.page + 1),
                "chunk_id": hit.chunk_id,
                "score": round(float(hit.score), 6),
                "snippet": snippet(hit.passage or found.corpus.text(hit.chunk_id), found.question),
                "why": hit.why,
            }
            for place, hit in enumerate(found.hits, start=1)
        ]
        seconds = round(time.perf_counter() - start, 4)
        return SearchAnswer(found.question, found.system.name, results, seconds, found.warnings)

    def find(self, question: str, system: str | None, k: int, filings: Sequence[str] = ()) -> Found:
        """The hits behind `search`, with the corpus that holds their texts.

        Raises:
            UsageError, LakeError, ModelError: as `search` does.
        """
        question = check_question(question, "search")
        if k < 1:
            raise UsageError(f"k is {k}.", "Ask for at least one result.")
        chosen = get_system(system or self.default_system())
        if problem := self._trained.problem(chosen):
            raise ModelError(problem, "Train it first, or choose another system: finrag systems.")
        corpus = self._corpus_of(chosen)
        known = self._known[chosen.name]
        for filing in filings:
            if filing not in corpus.filings:
                require_filing(self._lake, filing)
                if filing in known.missing:
                    step = known.missing[filing]
                    raise LakeError(f"'{filing}' is not complete: its {step} is not made yet.", FINISH)
                raise UsageError(f"'{filing}' holds no searchable text.", "See why: finrag filings --failed.")
        hits = rank(
            chosen,
            question,
            corpus,
            tuple(filings) or None,
            # The order of its pages does not depend on how many are shown; that of fused rankings does.
            depth=k if chosen.shows_pages() else max(k, self._settings.retrieval.depth),
            trained=self._trained,
        )
        return Found(question, chosen, corpus, hits[:k], known.warnings)


def list_systems(settings: Settings) -> list[dict[str, str]]:
    """Every system in every space, and the papers' oracles: ``{name, source, space, status, why}``.

    A system is ``not run`` when something that it needs is missing here; ``why`` then says what.
    """
    lake = Lake(settings.lake)
    needs = Needs(lake, settings, _questions_to_ask(lake))
    trained = trained_models(lake, settings, None)
    problems = {
        name: trained.problem(system) or needs.problem(system) for name, system in ALL_SYSTEMS.items()
    }

    def row(name: str, source: str, space: Space, system: str, told: str) -> dict[str, str]:
        problem = problems[system]
        told = problem or "; ".join(part for part in (told, needs.note(ALL_SYSTEMS[system])) if part)
        status = "not run" if problem else "runnable"
        return {"name": name, "source": source, "space": space.value, "status": status, "why": told}

    oracle = "oracle: searches only what the gold labels allow"
    rows = [
        row(name, str(system.source), space, name, oracle if space.is_oracle else "")
        for name, system in ALL_SYSTEMS.items()
        for space in Space
    ]
    rows += [
        row(alias.name, str(alias.source), alias.space, alias.system, f"{oracle}; the runs of {alias.system}")
        for alias in ALIASES.values()
    ]
    return rows


def _questions_to_ask(lake: Lake) -> list[str]:
    """Questions of the active benchmark, where the lake holds one."""
    if lake.info("benchmark_questions") is None:
        return []
    questions = lake.read("benchmark_questions", columns=["question", "status"]).to_pylist()
    return [row["question"] for row in questions if row["status"] == "measured"]
