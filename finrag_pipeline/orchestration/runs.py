"""What ``finrag run``, ``ingest`` and ``index`` do: materialise through Dagster what is not fresh."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from finrag_pipeline.answering.systems import ANSWER_SYSTEMS, get_answer_system
from finrag_pipeline.chunking.registry import CHUNKINGS
from finrag_pipeline.errors import (
    BenchmarkError,
    FilingError,
    FinragError,
    LakeError,
    UsageError,
    did_you_mean,
)
from finrag_pipeline.evaluation.benchmark import benchmark_filings, register_benchmark
from finrag_pipeline.evaluation.questions import find_document_information, read_document_information
from finrag_pipeline.filings.intake import accept
from finrag_pipeline.filings.names import filing_id
from finrag_pipeline.filings.originals import (
    FilingSource,
    SourceFolder,
    find_source,
    name_in_lake,
    read_source_folder,
)
from finrag_pipeline.orchestration.ahead import Item, SecondProcess, make_ahead, second_process
from finrag_pipeline.orchestration.instance import Materialiser, open_materialiser
from finrag_pipeline.orchestration.lineage import stale_filings, stale_on_demand
from finrag_pipeline.orchestration.partitions import (
    FILINGS,
    sweep_range,
    trained_partitions,
    trained_range,
)
from finrag_pipeline.orchestration.resources import get_encoder, get_engine
from finrag_pipeline.orchestration.sweeps import (
    answers_to_other_questions,
    drop,
    problems_of,
    stale_results,
    state_of_results,
)
from finrag_pipeline.retrieval.chunk_index import searchable_filings
from finrag_pipeline.retrieval.page_stage import PagesInOrder
from finrag_pipeline.retrieval.systems import ABLATIONS, SYSTEMS, get_system
from finrag_pipeline.sample import SAMPLE_NAME
from finrag_pipeline.schemas import PER_FILING
from finrag_pipeline.schemas.catalogue import CATALOGUE, INDEX_FILING, INDEX_ON_DEMAND, made_by
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake

Progress = Callable[[str, str, int, int], None]
"""Called with stage, item, items done and items in all."""

ANSWERED = "calculator"
"""The answering system whose answers belong to every run that measures its retrieval."""

_MANY_QUESTIONS, _MANY_FILINGS = 30, 6
"""What takes longer than a second process to start."""
_BESIDE = 4
"""The second process sweeps a quarter of the systems that learn nothing, besides what it answers."""
_HANDED_ON = 2
"""Filings that the second process has before it: as one is made, the next need not be waited for."""
_HELD_TWICE = 40
"""Filings of which both processes may hold pages, rows and chunks at once, some 20 MB of each; of more, the
second one makes what needs them, step by step, and this one commits."""


@dataclass
class RunReport:
    """What a run did; ``not_run`` has the reason by system."""

    source: str
    filings: int
    indexed: list[str] = field(default_factory=list)
    fresh: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    not_run: dict[str, str] = field(default_factory=dict)
    measured: bool = False
    report: str | None = None


def run(
    settings: Settings,
    source: Path | None,
    names: Sequence[str] | None,
    limit: int | None,
    systems: Sequence[str] | None,
    progress: Progress,
    ablations: bool = False,
) -> RunReport:
    """Bring filings into the lake, index them, and measure systems when the source has questions.

    Args:
        settings: settings of the run.
        source: folder of a benchmark or corpus; that of the profile when None.
        names: only these filings.
        limit: only the first filings.
        systems: only these systems; all when None.
        progress: called with how far it has come.
        ablations: also the variants of the systems that show what a choice adds.

    Raises:
        FinragError: nothing could be done at all; failures of single filings are in the report.
    """
    lake = Lake(settings.lake)
    chosen = [get_system(name, registered=True).name for name in systems] if systems else list(SYSTEMS)
    if ablations:
        chosen += [name for name in ABLATIONS if name not in chosen]
    with second_process(settings) as second:
        if second and source is None and not (names or limit or lake.partitions("filings")):
            second.start()  # all of a benchmark is to be indexed
        folder = read_source_folder(source or profile_source(settings, lake)).select(names, limit)
        outcome = RunReport(folder.name, len(folder.files))
        accepted = _accept_all(lake, folder, settings, outcome, progress)
        if folder.questions is not None:
            register_benchmark(lake, folder.name, list(folder.files), folder.questions, folder.documents)
        with open_materialiser(settings) as materialiser:
            work = _Work(settings, lake, materialiser, outcome, progress, second)
            materialiser.sound(lambda: work.index_filings(accepted))
            if folder.questions is None:
                work.run("publish", "warehouse", assets=["warehouse"])
            else:
                try:
                    materialiser.sound(lambda: work.measure(chosen))
                except FinragError as error:
                    if not outcome.failures:
                        raise
                    failed = "; ".join(f"{name}: {text}" for name, text in outcome.failures.items())
                    raise FinragError(f"{error.reason} Before that: {failed}", error.remedy) from error
            outcome.warnings += materialiser.healed
    return outcome


def ingest(settings: Settings, files: Sequence[Path], progress: Progress) -> RunReport:
    """Bring single files into the lake and make them searchable; benchmarks keep their corpus."""
    lake = Lake(settings.lake)
    outcome = RunReport("files", len(files))
    accepted = _accept_files(settings, lake, files, outcome, progress)
    _make_searchable(settings, lake, accepted, outcome, progress)
    return outcome


def ingest_from_edgar(settings: Settings, progress: Progress) -> RunReport:
    """Bring the filings of ``settings.edgar`` that EDGAR has into the lake and make them searchable.

    Raises:
        UsageError: no company is named, or no user agent is declared.
        EdgarError: EDGAR refuses, and there is nothing to do without it.
    """
    from finrag_pipeline.filings.edgar import fetch_new

    lake = Lake(settings.lake)
    found = fetch_new(lake, settings.edgar, settings.max_filing_bytes, partial(progress, "fetch"))
    if found.refused and not found.files:
        raise found.refused
    outcome = RunReport("EDGAR", len(found.listed), failures=found.failures, warnings=found.warnings)
    if found.refused:
        outcome.failures["EDGAR"] = str(found.refused)
    _accept_files(settings, lake, found.files, outcome, progress)
    # What an earlier run has fetched but not finished is finished too.
    kept = [source for filing in found.listed if (source := find_source(lake, name_in_lake(lake, filing)))]
    _make_searchable(settings, lake, kept, outcome, progress)
    return outcome


def _accept_files(
    settings: Settings, lake: Lake, files: Sequence[Path], outcome: RunReport, progress: Progress
) -> list[FilingSource]:
    accepted: dict[str, FilingSource] = {}
    for number, path in enumerate(files):
        progress("accept", path.name, number, len(files))
        if (filing := filing_id(path.name)) in accepted:
            # The second of two files of one name would silently take the place of the first.
            outcome.failures[str(path)] = f"Another file given is filing '{filing}' already. Rename one."
            continue
        try:
            accepted[filing] = accept(lake, path, max_bytes=settings.max_filing_bytes)
        except FilingError as error:
            outcome.failures[path.name] = str(error)
    return _distinct(accepted, outcome)


def _distinct(accepted: Mapping[str, FilingSource], outcome: RunReport) -> list[FilingSource]:
    """Sources of files by the identifiers of their names; those that go by another name are told."""
    outcome.warnings += [
        f"{name} is the same file as {source.file_name}: filing '{source.filing}' goes by both names."
        for name, source in accepted.items()
        if source.filing != name
    ]
    return list({source.filing: source for source in accepted.values()}.values())


def _make_searchable(
    settings: Settings, lake: Lake, sources: Sequence[FilingSource], outcome: RunReport, progress: Progress
) -> None:
    if sources:
        with open_materialiser(settings) as materialiser, second_process(settings) as second:
            work = _Work(settings, lake, materialiser, outcome, progress, second)
            materialiser.sound(lambda: work.index_filings(sources))
            work.run("publish", "warehouse", assets=["warehouse"])
            outcome.warnings += materialiser.healed


def index(settings: Settings, systems: Sequence[str], progress: Progress) -> RunReport:
    """Make what systems read of every filing of the lake and 'finrag ingest' does not make.

    Raises:
        UsageError: an unknown system.
        LakeError: the lake holds no filing.
    """
    lake = Lake(settings.lake).required()
    chosen = [get_system(name).name for name in systems]
    filings = searchable_filings(lake)
    if not filings:
        raise LakeError("The lake holds nothing to index.", "Run 'finrag run', or 'finrag ingest FILE'.")
    outcome = RunReport("lake", len(filings))
    with open_materialiser(settings) as materialiser, second_process(settings) as second:
        work = _Work(settings, lake, materialiser, outcome, progress, second)
        stale = materialiser.sound(lambda: work.index_on_demand(chosen, filings))
        outcome.warnings += materialiser.healed
    outcome.indexed = [filing for filing in stale if filing not in outcome.failures]
    outcome.fresh = [filing for filing in filings if filing not in stale]
    return outcome


def backfill(settings: Settings, asset: str, parts: Sequence[str] | None, progress: Progress) -> RunReport:
    """Make an asset: all of its parts that are not fresh, or only some filings, folds or systems.

    Raises:
        UsageError: there is no such asset or part.
    """
    lake = Lake(settings.lake).required()
    if asset not in CATALOGUE:
        raise UsageError(
            f"There is no asset '{asset}'.", f"{did_you_mean(asset, CATALOGUE)}finrag sql lists them."
        )
    entry = CATALOGUE[asset]
    known = {
        "filing": [keys["filing"] for keys in lake.partitions("filings")],
        "model": trained_partitions.get_partition_keys(),
        "run": list(SYSTEMS),
        "answer": list(ANSWER_SYSTEMS),
    }.get(entry.by, [""])
    asked = list(parts or ["all"])
    chosen = known if asked == ["all"] else asked
    if unknown := [part for part in chosen if part not in known]:
        raise UsageError(f"{asset} has no part '{unknown[0]}'.", f"Choose from: {', '.join(known[:20])}.")
    outcome = RunReport(asset, len(chosen))
    with open_materialiser(settings) as materialiser:
        for number, part in enumerate(chosen):
            progress("backfill", part, number, len(chosen))
            of_system = entry.by in ("run", "answer")
            options: dict[str, Any] = (
                {"tags": sweep_range(part)} if of_system else {"partition": part or None}
            )
            if error := materialiser.run(entry.job, assets=[asset], **options):
                outcome.failures[part or asset] = error
        outcome.warnings += materialiser.healed
    made = [part for part in chosen if (part or asset) not in outcome.failures]
    hits = {one["partition"] for one in lake.ledger_entries(asset) if one["outcome"] == "cache_hit"}
    outcome.fresh = [part for part in made if part in hits]
    outcome.indexed = [part or asset for part in made if part not in hits]
    return outcome


def profile_source(settings: Settings, lake: Lake) -> Path:
    """Source of the profile: the generated sample filings, or the downloaded benchmark.

    Raises:
        BenchmarkError: the benchmark was not downloaded.
    """
    if settings.profile == "sample":
        from finrag_pipeline.sample.generate import write_sample

        return write_sample(lake.local_path("sources", SAMPLE_NAME))
    folder = lake.local_path("sources", "financebench")
    if not folder.is_dir():
        raise BenchmarkError(
            "FinanceBench is not in the lake.", "Run 'finrag fetch financebench', or pass --source."
        )
    return folder


def _accept_all(
    lake: Lake, folder: SourceFolder, settings: Settings, outcome: RunReport, progress: Progress
) -> list[FilingSource]:
    documents: dict[str, Any] = {}
    if folder.documents is not None:
        documents, outcome.warnings = read_document_information(folder.documents)
    accepted = {}
    for number, (filing, path) in enumerate(folder.files.items()):
        progress("accept", filing, number, len(folder.files))
        declared = None
        if (one := find_document_information(documents, filing)) is not None:
            named = {"company": one.company, "doc_type": one.form}
            declared = {**named, "doc_period": one.year, "gics_sector": one.sector}
        try:
            # A benchmark's questions ask of its filings by name: each is one of its own.
            alias = folder.questions is None
            accepted[filing] = accept(lake, path, declared, settings.max_filing_bytes, alias=alias)
        except FilingError as error:
            outcome.failures[filing] = str(error)
    progress("accept", "", len(folder.files), len(folder.files))
    return _distinct(accepted, outcome)


@dataclass
class _Work:
    """The jobs of a run of the command line, in their order; what was done goes to ``outcome``."""

    settings: Settings
    lake: Lake
    materialiser: Materialiser
    outcome: RunReport
    progress: Progress
    second: SecondProcess | None
    apart: bool = False
    """Whether all that holds many filings in memory is left to the second process."""

    def run(self, job: str, item: str, **options: Any) -> None:
        """Run a job that must succeed."""
        self.progress(job, item, 0, 1)
        self.materialiser.run_or_raise(job, **options)
        self.progress(job, item, 1, 1)

    def _run_each(self, job: str, filings: Mapping[str, Sequence[str] | None]) -> dict[str, str]:
        """Run a job for each filing, for some of its assets or all of them; what went wrong, by filing."""
        ahead: list[Item] = [(filing, {}, assets) for filing, assets in filings.items()]
        self.outcome.warnings += make_ahead(
            self.settings, job, ahead, lambda done: self.progress("ahead", job, done, len(ahead))
        )
        errors, encoder = {}, get_encoder(self.settings, self.lake)
        waiting, beside = deque(filings.items()), deque[tuple[str, Sequence[str] | None, Future[bytes]]]()
        second = self.second if len(filings) >= _MANY_FILINGS else None
        for number in range(len(filings)):
            while second and len(beside) < _HANDED_ON and len(waiting) > 1:
                filing, assets = waiting.popleft()
                beside.append((filing, assets, second.make(job, (filing, {}, assets))))
            if second and beside and (not waiting or beside[0][2].done()):
                filing, assets, made = beside.popleft()
                self.progress(job, filing, number, len(filings))
                second.outcome(made)
            else:
                filing, assets = waiting.popleft()
                self.progress(job, filing, number, len(filings))
            encoder.listener = partial(self.progress, "embed", filing)
            if error := self.materialiser.run(job, partition=filing, assets=assets):
                errors[filing] = error
        encoder.listener = None
        self.progress(job, "", len(filings), len(filings))
        return errors

    def index_filings(self, sources: Sequence[FilingSource]) -> None:
        """Run the per-filing job for every filing that is not fresh."""
        keys = [source.filing for source in sources]
        self.materialiser.add_partitions(FILINGS, keys)
        stale = stale_filings(self.lake, self.settings, sources, self.materialiser.instance)
        errors = self._run_each(INDEX_FILING, dict.fromkeys(stale))
        self.outcome.fresh = [key for key in keys if key not in stale]
        self.outcome.indexed += [key for key in stale if key not in errors]
        self.outcome.failures |= {key: _reason(self.lake, key) or error for key, error in errors.items()}

    def index_on_demand(self, systems: Sequence[str], filings: Sequence[str]) -> list[str]:
        """Make what only some systems read: vectors of chunks, other chunks; the filings that lacked it."""
        wanted = {asset for name in systems for asset in get_system(name).made_on_demand()}
        stale: dict[str, list[str]] = {}
        for chunking in CHUNKINGS.values():
            if assets := [asset for asset in chunking.made_on_demand if asset in wanted]:
                vectors = chunking.index in assets
                for filing in stale_on_demand(self.lake, self.settings, chunking, filings, vectors):
                    stale.setdefault(filing, []).extend(assets)
        self.outcome.failures |= self._run_each(INDEX_ON_DEMAND, stale)
        return list(stale)

    def measure(self, systems: Sequence[str]) -> None:
        """Questions, sweep, answers, metrics, warehouse and report of the benchmark, unless all is fresh.

        The answers are the calculator's, which asks no language model; those of others are made on request.
        """
        lake, settings, outcome, corpora = self.lake, self.settings, self.outcome, self.materialiser.corpora
        outcome.measured = True
        outcome.report = lake.uri("report", "index.html")
        marker = lake.path("benchmarks", "measured.json")
        known = lake.read_json(marker)
        if not outcome.indexed and isinstance(known, dict):
            with suppress(LakeError):  # a model is damaged: it is trained again
                if known.get("state") == state_of_results(lake, settings, systems):
                    outcome.not_run = known["not_run"]
                    return
        corpus = benchmark_filings(lake)
        self.index_on_demand(systems, corpus)
        get_engine(settings).close()  # what has read pages is not needed any more
        self.apart = len(corpus) > _HELD_TWICE
        self._run_held("prepare_benchmark", "prepare")
        retrieval = get_answer_system(ANSWERED).retrieval
        learned = [name for name in systems if isinstance(get_system(name).pages, PagesInOrder)]
        here, missing = self._runnable([name for name in systems if name not in learned])
        outcome.not_run, there = missing, list[str]()
        questions, second = lake.info("benchmark_questions"), self.second
        beside = deque[Future[bytes]]()
        asked = questions.rows if questions and retrieval in learned else 0
        if second and asked >= _MANY_QUESTIONS and not self.apart:
            kept = len(here) - len(here) // _BESIDE
            here, there = here[:kept], here[kept:]
            jobs = [
                ("train_page_ranker", trained_range()),
                ("sweep", sweep_range(retrieval)),
                ("answer", sweep_range(ANSWERED)),
                *(("sweep", sweep_range(name)) for name in there),
            ]
            beside.extend(second.make(job, (None, tags, None)) for job, tags in jobs)
        self._sweep(here)
        if learned:
            self._await("train_page_ranker", beside)
            self._run_held("train_page_ranker", "page_ranker", tags=trained_range())
            self._await("sweep", beside)
            learned, problems = self._runnable(learned)
            missing |= problems
            self._sweep(learned)
        left: Sequence[str] = made_by("publish_answers")
        if retrieval in systems and retrieval not in missing:
            # Meanwhile the second process answers the questions of the benchmark.
            self._run_held("publish_answers", "false_answers", assets=["false_answers"])
            left = [name for name in left if name != "false_answers"]
            self._await("answer", beside)
            self._run_held("answer", ANSWERED, tags=sweep_range(ANSWERED))
        for name in there:
            self._await("sweep", beside)
            self._sweep([name])
        drop(lake, stale_results(lake, settings, corpora) + answers_to_other_questions(lake))
        if lake.partitions("answer_scores"):
            self.run("publish_answers", "answers", assets=left)
        self.run("publish", "publish")
        lake.write_json(marker, {"state": state_of_results(lake, settings, systems), "not_run": missing})

    def _run_held(self, job: str, item: str, **options: Any) -> None:
        """Run a job that holds many filings in memory."""
        self._make_apart(job, [options.get("tags") or {}], options.get("assets"))
        self.run(job, item, **options)

    def _make_apart(
        self, job: str, parts: Sequence[Mapping[str, str]], assets: Sequence[str] | None = None
    ) -> None:
        """Have parts of a job made by the second process, which then gives back what it held."""
        if self.second and self.apart and parts:
            begun = [self.second.make(job, (None, tags, assets)) for tags in parts]
            for number, made in enumerate(begun):
                self.progress(job, "ahead", number, len(parts))
                self.second.outcome(made)
            self.second.close()

    def _await(self, job: str, beside: deque[Future[bytes]]) -> None:
        """Wait for what the second process makes of a job, if it does."""
        if self.second and beside:
            self.progress(job, "ahead", 0, 1)
            self.second.outcome(beside.popleft())

    def _runnable(self, systems: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """Systems that can be run, and why the others cannot."""
        missing = problems_of(self.lake, self.settings, systems, self.materialiser.corpora)
        return [system for system in systems if system not in missing], missing

    def _sweep(self, systems: Sequence[str]) -> None:
        """Run systems over the questions."""
        ranges = [sweep_range(system) for system in systems]
        self.outcome.warnings += make_ahead(self.settings, "sweep", [(None, tags, None) for tags in ranges])
        self._make_apart("sweep", ranges)
        for number, (system, tags) in enumerate(zip(systems, ranges, strict=True)):
            self.progress("sweep", system, number, len(systems))
            self.materialiser.run_or_raise("sweep", tags=tags)
        self.progress("sweep", "", len(systems), len(systems))


def _reason(lake: Lake, filing: str) -> str | None:
    entries = (lake.ledger_entry(asset, filing) for asset in PER_FILING)
    failed = next((entry for entry in entries if entry and entry["outcome"] == "failed"), None)
    return " ".join(filter(None, (failed["error"], failed["remedy"]))) if failed else None
