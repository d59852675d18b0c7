"""Searching the filings of a lake, which systems can, and which filings they can search.

A filing is incomplete while it is ingested, and after a killed run until the rerun. It stops no search: the
others are searched, and a warning names it.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from finrag_pipeline.answering.systems import ANSWER_SYSTEMS
from finrag_pipeline.chunking.registry import CHUNKINGS, get_chunking
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.errors import LakeError, ModelError, Problem, UsageError
from finrag_pipeline.language_models.load import language_model_problem
from finrag_pipeline.rankers.registry import trained_models
from finrag_pipeline.retrieval.chunk_index import searchable_filings
from finrag_pipeline.retrieval.component import Hit, Inputs, Learned
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.page_stage import PageOrder
from finrag_pipeline.retrieval.question_text import check_question, snippet
from finrag_pipeline.retrieval.spaces import Scope
from finrag_pipeline.retrieval.systems import ALIASES, ALL_SYSTEMS, DEFAULT_SYSTEM, get_system
from finrag_pipeline.services.filings import FINISH, require_filing
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.resolver.resolver import Resolver
    from finrag_pipeline.retrieval.system import RetrievalSystem

_PAGES = "filing_pages"
_INDEXED = {chunking.index: chunking for chunking in CHUNKINGS.values()}
_SHOWN = 3


@dataclass(frozen=True)
class Completeness:
    """Which filings a system can search.

    Attributes:
        complete: filings of which the lake holds all that it reads, sorted.
        missing: what has yet to be made of the others, by filing.
        remedy: how it is made.
    """

    complete: tuple[str, ...]
    missing: dict[str, str]
    remedy: str

    @property
    def warnings(self) -> list[str]:
        """What is not searched and why, for people."""
        if not self.missing:
            return []
        names = ", ".join(sorted(self.missing)[:_SHOWN]) + (" …" if len(self.missing) > _SHOWN else "")
        are = "1 filing is" if len(self.missing) == 1 else f"{len(self.missing)} filings are"
        told = f"{are} not searched, {self.steps} is not made yet: {names}."
        return [f"{told} {self.remedy}"]

    @property
    def steps(self) -> str:
        """What is missing, for people."""
        return ", ".join(sorted(set(self.missing.values())))


def _complete_filings(system: RetrievalSystem, corpus: Corpus) -> Completeness:
    """The filings that ``system`` can search, of those whose pages are in the lake of ``corpus``.

    For searching only: what is measured has a corpus of its own, in which an incomplete filing is an error.
    """
    lake = corpus.lake
    known = _filings_of(lake, _PAGES)
    missing: dict[str, str] = {}
    for asset in system.reads():
        indexed = _INDEXED.get(asset)
        if indexed and system.encoder is not None:
            continue  # no asset makes the vectors of another encoder: the corpus does
        have = corpus.index(indexed).filings() if indexed else _filings_of(lake, asset)
        if asset != get_chunking(system.chunking).table:
            have -= _outdated(lake, asset, indexed.table if indexed else _PAGES)
        missing |= dict.fromkeys(known - have - missing.keys(), asset)
    lacks = set(missing.values()) & set(system.made_on_demand())
    remedy = f"Make it: finrag index {system.name}." if lacks else FINISH
    found = Completeness(tuple(sorted(known - missing.keys())), missing, remedy)
    if known and not found.complete:
        raise LakeError(f"No filing can be searched with '{system.name}': {found.steps} is not made.", remedy)
    return found


def _filings_of(lake: Lake, table: str) -> set[str]:
    return {keys["filing"] for keys in lake.partitions(table)}


def _outdated(lake: Lake, asset: str, source: str) -> set[str]:
    """Filings of which ``asset`` failed, or has yet to follow a new version of its ``source``."""
    before = {entry["partition"]: entry for entry in lake.ledger_entries(source)}

    def follows(made: dict[str, Any], first: dict[str, Any]) -> bool:
        return made["outcome"] != "failed" and (
            first["outcome"] != "materialised" or made["at"] >= first["at"]
        )

    return {
        made["partition"]
        for made in lake.ledger_entries(asset)
        if made["partition"] in before and not follows(made, before[made["partition"]])
    }


DETECTORS_FROM = {
    "words": "this pipeline, alignment of words",
    "pymupdf": "Mixpeek technical guide, baseline of ruling lines",
    "tatr": "Mixpeek technical guide, section 3, Table Transformer",
}
"""Detectors of tables, and where they come from."""


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
        return dict(vars(self))


@dataclass(frozen=True)
class Found:
    """A ranking, best first, and the corpus that holds its texts.

    Attributes:
        question: as it was searched for.
        warnings: which filings were not searched, or that the company has no filing.
    """

    question: str
    system: RetrievalSystem
    corpus: Corpus
    hits: list[Hit]
    warnings: list[str]


class Corpora:
    """What systems search in the filings of a lake; encoders, look-ups and models are loaded once.

    Args:
        index_missing: make vectors on first use that no asset makes, such as those of documents. Those of a
            system's own encoder are made in any case.
        encoder: that of the settings, where it is loaded already.
    """

    def __init__(
        self, lake: Lake, settings: Settings, index_missing: bool = False, encoder: Encoder | None = None
    ) -> None:
        self._lake, self._settings, self._index_missing = lake, settings, index_missing
        self._encoders = {encoder.settings.name: encoder} if encoder else {}
        self._shared: dict[Hashable, Any] = {}
        self._corpora: dict[Hashable, Corpus] = {}
        self._known: dict[str, Completeness] = {}
        self._readable: dict[frozenset[str], Sequence[str]] = {}

    def known(self, system: RetrievalSystem) -> Completeness:
        """Which filings ``system`` can search, as they were when it was first asked for.

        Raises:
            LakeError: there are filings, but none is complete.
            ModelError: the system reads vectors, and their encoder cannot be had.
        """
        if system.name not in self._known:
            self._known[system.name] = _complete_filings(system, self.over((), system))
        return self._known[system.name]

    def with_parts(self, system: RetrievalSystem) -> Corpus:
        """The filings whose tables ``system`` can read, vectors not looked at; all where there is none.

        What the system then says of its problems is not about filings that are incomplete.
        """
        tables = frozenset(system.reads()).difference(_INDEXED)
        if tables not in self._readable:
            whole = set.intersection(*(_filings_of(self._lake, table) for table in tables))
            self._readable[tables] = sorted(whole) or searchable_filings(self._lake)
        return self.over(self._readable[tables], system)

    def over(self, filings: Sequence[str], system: RetrievalSystem) -> Corpus:
        """The chunks of ``filings`` that ``system`` ranks, loaded when they are first searched."""
        settings = system.settings(self._settings)
        name, chunking = settings.encoder.name, get_chunking(system.chunking)
        encoder = self._encoders.setdefault(name, Encoder(settings.encoder, self._lake))
        key = (tuple(filings), chunking.name, system.kinds, name)
        if key not in self._corpora:
            make = self._index_missing or system.encoder is not None
            self._corpora[key] = Corpus(
                self._lake, filings, settings, encoder, chunking, system.kinds, self._shared, make
            )
        return self._corpora[key]


class Searcher:
    """Searches every filing that is complete in the lake; indexes and weights are loaded once.

    Args:
        settings: settings of the lake.
        learned: what systems have learned; the production models of the lake when None.
        encoder: that of the settings, where it is loaded already.
    """

    def __init__(
        self, settings: Settings, learned: Learned | None = None, encoder: Encoder | None = None
    ) -> None:
        self._settings = settings
        self._lake = Lake(settings.lake).required()
        if not searchable_filings(self._lake):
            raise LakeError("The lake holds nothing to search.", "Run 'finrag run', or 'finrag ingest FILE'.")
        self._learned = learned or trained_models(self._lake, settings, None)
        self._corpora = Corpora(self._lake, settings, encoder=encoder)

    @property
    def resolver(self) -> Resolver:
        """Reads company, period and form out of a question."""
        return self._corpora.over(searchable_filings(self._lake), get_system(DEFAULT_SYSTEM)).resolver

    def search(self, question: str, system: str | None, k: int, filings: Sequence[str] = ()) -> SearchAnswer:
        """The best ``k`` chunks for a question.

        Args:
            question: the question.
            system: name of the retrieval system; `DEFAULT_SYSTEM` when None.
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
        """The hits of `search`, with the corpus that holds their texts; raises what it raises."""
        question = check_question(question, "search")
        if k < 1:
            raise UsageError(f"k is {k}.", "Ask for at least one result.")
        chosen = get_system(system or DEFAULT_SYSTEM)
        if not self._learned.models.keys() >= set(chosen.models):
            problem = chosen.problem(Inputs(self._corpora.with_parts(chosen), self._learned))
            raise ModelError(str(problem), "Train it first, or choose another system: finrag systems.")
        known = self._corpora.known(chosen)
        corpus = self._corpora.over(known.complete, chosen)
        filings = [one if one in corpus.filings else require_filing(self._lake, one) for one in filings]
        for filing in filings:
            if filing not in corpus.filings:
                if filing in known.missing:
                    step = known.missing[filing]
                    raise LakeError(f"'{filing}' is not complete: its {step} is not made yet.", FINISH)
                raise UsageError(f"'{filing}' holds no searchable text.", "See why: finrag filings --failed.")
        hits = chosen.search(
            question,
            Inputs(corpus, self._learned),
            Scope(tuple(filings) or None),
            # The order of its pages does not depend on how many are shown; that of fused rankings does.
            depth=k if isinstance(chosen.pages, PageOrder) else max(k, self._settings.retrieval.depth),
        )
        learned = (self._learned.models[name] for name in chosen.models)
        lost = (getattr(model, "fallback", None) for model in learned)
        warnings = [*filter(None, lost), *known.warnings]
        stranger = None if filings else corpus.resolver.stranger(question)
        if stranger and known.missing:  # the company may be that of a filing that is not complete
            stranger = self.resolver.stranger(question)
        texts = (corpus.text(hit.chunk_id).lower() for hit in hits[:k])
        if stranger and not any(stranger.lower() in text for text in texts):
            warnings.append(f"No filing in the lake is of '{stranger}', and no page found names it.")
        return Found(question, chosen, corpus, hits[:k], warnings)


def list_systems(settings: Settings) -> list[dict[str, str]]:
    """Every row of the papers and of this project: ``{name, kind, status, why, command, source}``.

    The kind is ``retrieval``, ``answers`` or ``tables``; the status ``measured`` (on the benchmark of the
    lake), ``runs here``, or ``needs``, with what it needs and the one command that provides it.
    """
    from finrag_pipeline.tables.extract import detector_problem

    lake = Lake(settings.lake)
    rows = lake.read_all("benchmark_questions", ["question", "status"]).to_pylist()
    asked = frozenset(row["question"] for row in rows if row["status"] == "measured")
    learned, corpora = trained_models(lake, settings, None), Corpora(lake, settings)
    inputs = {
        name: Inputs(corpora.with_parts(system), learned, asked) for name, system in ALL_SYSTEMS.items()
    }
    problems = {name: system.problem(inputs[name]) for name, system in ALL_SYSTEMS.items()}
    measured = _measured_on(lake, "system_metrics")
    found: list[dict[str, str]] = []

    def add(
        kind: str, name: str, source: object, problem: Problem | None, known: str, run: str, note: str = ""
    ) -> None:
        # What is made on demand is made by the run that measures.
        needs = problem is not None and not problem.command.startswith("finrag index")
        found.append(
            {
                "name": name,
                "kind": kind,
                "status": "measured" if known else "needs" if needs else "runs here",
                "why": "; ".join(part for part in (known, problem or note) if part),
                "command": problem.command if problem and needs else "" if known else run,
                "source": str(source),
            }
        )

    named = [(name, name, one.source, one.note(inputs[name])) for name, one in ALL_SYSTEMS.items()]
    named += [
        (one.name, one.system, one.source, f"{one.system} where the gold labels allow")
        for one in ALIASES.values()
    ]
    for name, system, source, note in named:
        run = f"finrag run --systems {system}"
        add("retrieval", name, source, problems[system], measured.get(system, ""), run, note)
    answered, no_model = _measured_on(lake, "answer_metrics"), language_model_problem(settings.language_model)
    for name, one in ANSWER_SYSTEMS.items():
        problem = (no_model if one.needs_model else None) or problems[one.retrieval]
        add("answers", name, one.source, problem, answered.get(name, ""), f"finrag answers --systems {name}")
    for name, whence in DETECTORS_FROM.items():
        run = f"finrag tables --detector {name} --pdfs FOLDER"
        add("tables", name, whence, detector_problem(name, settings.tables), "", run)
    return found


def _measured_on(lake: Lake, table: str) -> dict[str, str]:
    """On how many questions of the benchmark each system was measured, for people."""
    counts: dict[str, int] = {}
    for found in lake.read_all(table, ["system", "slice", "n"]).to_pylist():
        if found["slice"] == "all":
            name = found["system"].split(" on ")[0]  # of answers with the retrieval that they stand on
            counts[name] = max(found["n"], counts.get(name, 0))
    most = max(counts.values(), default=0)
    return {
        name: f"on {count} questions" if count == most else f"on {count} of {most} questions"
        for name, count in counts.items()
    }
