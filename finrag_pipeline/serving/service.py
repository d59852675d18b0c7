"""The service of the routes: one searcher, loaded once, renewed when the lake changes.

Searches run one after another in a thread of their own, because a searcher is not made for several threads:
what it loads on first use has no lock, and the fast tokenizers of transformers refuse a call while another
one sets their truncation or padding ("Already borrowed"). The event loop stays free, so that /health answers
while a search runs. See docs/serving.md.
"""

from __future__ import annotations

import asyncio
import glob
import logging
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from finrag_pipeline.answering.modes import AnswerMode
from finrag_pipeline.errors import FinragError, UsageError
from finrag_pipeline.filings.originals import aliases, get_source
from finrag_pipeline.retrieval.chunk_index import searchable_filings
from finrag_pipeline.retrieval.systems import get_system
from finrag_pipeline.schemas.catalogue import FOLDERS, ancestors
from finrag_pipeline.services.ask import Asker
from finrag_pipeline.services.filings import (
    LISTED,
    facts_json,
    list_filings,
    require_filing,
)
from finrag_pipeline.services.pages import page_image
from finrag_pipeline.services.search import Searcher, list_systems
from finrag_pipeline.serving.problems import BusyError, NotFoundError, NotReadyError
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.answering.fact_series import Each

SEARCHED_TABLES = tuple(name for name in FOLDERS if name in ancestors(["retrieval_runs"]))
"""Tables whose parts decide what a search finds."""

_TIMES = ("mtime", "LastModified", "last_modified", "ETag", "etag", "created")
"""Keys under which file systems keep what changes with a file, best first."""


def lake_state(lake: Lake) -> str:
    """A hash of names, sizes and times of what a search reads; another one when something was written.

    Parts are written under another name and renamed, and only when their contents change. So listings
    suffice, and nothing is opened: for 1,000 parts it takes some tens of milliseconds on a local lake.
    """
    found = []
    for table in SEARCHED_TABLES:
        base = lake.path("parquet", table)
        for path, info in lake.fs.find(base, detail=True).items() if lake.fs.exists(base) else ():
            if path.endswith(".parquet"):
                time = next((info[key] for key in _TIMES if info.get(key)), "")
                found.append(f"{path}|{info.get('size')}|{time}")
    # Names of the manifests of all LanceDB tables: one per version.
    found += lake.fs.glob(f"{glob.escape(lake.path('lance'))}/*/_versions/*")
    return fingerprint(sorted(found))


_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_P = ParamSpec("_P")

_WARM_UP = "revenue"
"""Searched for once after loading: indexes and models are loaded by the first search."""
_LOADING = NotReadyError("The models are being loaded.", "Ask again in a few seconds.")
_PICTURES_KEPT = 128
"""Pictures, of at most `MOST_DOTS` dots, that are kept in memory."""
_STOPPING = ("The service is being stopped.", "Start it again: finrag serve.")
_SHARE_OF_TIME = 0.05
"""Most of the time that may go into looking at the lake."""


@dataclass(frozen=True)
class Limits:
    """How much the service takes on."""

    seconds: float = 30.0  # from a request to its answer
    loading: float = 120.0  # that an assistant waits, which would not ask again
    waiting: int = 32  # requests that wait or run; more are refused at once
    body_bytes: int = 512 * 1024
    body_seconds: float = 10.0  # in which a body must arrive
    look_every: float = 3.0  # seconds between two looks at the lake, at least
    retry_every: float = 30.0  # seconds between two tries to load what could not be loaded


@dataclass(frozen=True)
class Loaded:
    """A searcher, the state of the lake when loading began, and what it searches.

    ``filings`` are rows of `list_filings` by name; ``system`` answers when none is named; ``warnings`` say
    which filings are not searched yet. The ``asker`` is made by the first question, in the thread of the
    searches.
    """

    searcher: Searcher
    state: str
    filings: Mapping[str, dict[str, Any]]
    system: str
    at: datetime
    warnings: list[str]
    asker: list[Asker] = field(default_factory=list)


class SearchService:
    """Answers requests; `start` and `stop` frame its life.

    ``tell`` is called with a sentence when it becomes ready, was renewed, or cannot be.
    """

    def __init__(
        self,
        settings: Settings,
        limits: Limits | None = None,
        load: Callable[[Settings], Searcher] = Searcher,
        tell: Callable[[str], object] = _log.info,
    ) -> None:
        self.limits = limits or Limits()
        self._settings = settings
        self.lake = Lake(settings.lake)
        self._load = load
        self._tell = tell
        self._loaded: Loaded | None = None
        self._problem: FinragError | None = _LOADING
        self._renewing = threading.Lock()
        self._tried_state: str | None = None
        self._tried_at = 0.0
        self._systems: tuple[str | None, list[dict[str, str]]] = (None, [])
        self._searches = ThreadPoolExecutor(1, "finrag-search")
        self._lists = ThreadPoolExecutor(1, "finrag-list")
        self._pages = ThreadPoolExecutor(1, "finrag-page")  # one: MuPDF is not made for threads
        self._pictures = lru_cache(_PICTURES_KEPT)(self._draw)
        self._slots = threading.BoundedSemaphore(self.limits.waiting)
        self._running: set[Future[Any]] = set()
        self._answers: Counter[tuple[str, int]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._stopping = threading.Event()
        self.at_rest = True
        """Whether none of its threads works; set by `stop`."""
        # A daemon: loading a large lake must not keep the process from ending.
        self._watcher = threading.Thread(target=self._watch, name="finrag-watch", daemon=True)

    # -- life ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to load; then look at the lake again and again."""
        self._watcher.start()

    def stop(self, grace: float = 5.0) -> None:
        """Take on nothing more; waits for what runs, ``grace`` seconds at most."""
        deadline = time.monotonic() + grace
        self._stopping.set()
        for pool in (self._searches, self._lists, self._pages):
            pool.shutdown(wait=False, cancel_futures=True)
        unfinished = wait(list(self._running), timeout=grace).not_done
        if self._watcher.ident is not None:
            self._watcher.join(max(0.0, deadline - time.monotonic()))
        self.at_rest = not unfinished and not self._watcher.is_alive()

    def _watch(self) -> None:
        seen: str | None = None
        pause = 0.0
        while not self._stopping.wait(pause):
            start = time.monotonic()
            state = self._look()
            pause = max(self.limits.look_every, (time.monotonic() - start) / _SHARE_OF_TIME)
            # A run writes for a while. What is served is renewed once a look finds what the last one found.
            if state is not None and (state == seen or self._loaded is None):
                self._renew_if_needed(state)
            seen = state

    def _look(self) -> str | None:
        """State of the lake; None when it cannot be read, as while files come and go."""
        try:
            return lake_state(self.lake)
        except OSError:
            return None
        except Exception:
            _log.exception("The lake cannot be looked at.")
            return None

    def refresh(self) -> bool:
        """Look at the lake now and load what has changed; True when what is searched was renewed."""
        state = self._look()
        return state is not None and self._renew_if_needed(state)

    def _renew_if_needed(self, state: str) -> bool:
        with self._renewing:
            if self._loaded is not None and self._loaded.state == state:
                return False
            waited = time.monotonic() - self._tried_at
            if state == self._tried_state and waited < self.limits.retry_every:
                return False
            self._tried_state, self._tried_at = state, time.monotonic()
            try:
                searcher = self._load(self._settings)
                first = searcher.search(_WARM_UP, None, 1)
                listed = {row["filing"]: row for row in list_filings(self.lake, failed=False)}
                unknown = dict.fromkeys(LISTED)
                filings = {
                    name: listed.get(name, unknown | {"filing": name})
                    for name in searchable_filings(self.lake)
                }
                now = datetime.now(UTC)
                loaded = Loaded(searcher, state, filings, first.system, now, first.warnings)
            except FinragError as error:
                self._cannot_load(error)
                return False
            except Exception:
                # As when a part is replaced while it is read. The next look tries again.
                _log.exception("The lake could not be loaded.")
                self._cannot_load(
                    NotReadyError(
                        "The models or the index could not be loaded.", "See what the service has logged."
                    )
                )
                return False
            self._loaded, self._problem = loaded, None
            messages = [f"Ready: {len(filings):,} filings, searched with {loaded.system}.", *loaded.warnings]
            self._tell(" ".join(messages))
            return True

    def _cannot_load(self, error: FinragError) -> None:
        if str(error) != str(self._problem):
            kept = "" if self._loaded is None else "The state before is searched still. "
            self._tell(f"{'Not ready' if self._loaded is None else 'Not renewed'}: {kept}{error}")
        self._problem = error

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._answers[route, status] += 1
        self._seconds[route] += seconds

    def metrics(self) -> str:
        """Counts and states in Prometheus' text format (version 0.0.4)."""
        loaded = self._loaded
        rows: list[tuple[str, str, Mapping[str, object], float]] = [
            ("requests_total", "counter", {"route": r, "status": s}, n) for (r, s), n in self._answers.items()
        ]
        rows += [("request_seconds_total", "counter", {"route": r}, n) for r, n in self._seconds.items()]
        rows += [
            ("requests_running", "gauge", {}, len(self._running)),
            ("ready", "gauge", {}, int(loaded is not None)),
            ("problem", "gauge", {}, int(self._problem is not None)),
            ("filings", "gauge", {}, len(loaded.filings) if loaded else 0),
        ]
        lines = []
        for name, kind, labels, value in rows:
            if f"# TYPE finrag_{name} {kind}" not in lines:
                lines.append(f"# TYPE finrag_{name} {kind}")
            told = ",".join(f'{label}="{of}"' for label, of in labels.items())
            lines.append(f"finrag_{name}{{{told}}} {value}" if told else f"finrag_{name} {value}")
        return "\n".join(lines) + "\n"

    # -- answers -------------------------------------------------------------------------------

    def loaded(self) -> Loaded:
        """What is searched.

        Raises:
            NotReadyError: nothing can be searched, and why.
        """
        if self._loaded is not None:
            return self._loaded
        error = self._problem
        assert error is not None
        raise NotReadyError(error.reason, error.remedy)

    async def until_loaded(self) -> Loaded:
        """The same, once loading that goes on is over; waits `Limits.loading` seconds at most."""
        deadline = time.monotonic() + self.limits.loading
        while self._loaded is None and self._problem is _LOADING and time.monotonic() < deadline:
            await asyncio.sleep(0.1)
        return self.loaded()

    def problem(self) -> str | None:
        """Why the newest state of the lake could not be loaded, if it could not."""
        return None if self._problem is None else str(self._problem)

    async def search(
        self, question: str, system: str | None, k: int, filings: Sequence[str]
    ) -> dict[str, Any]:
        """The answer of ``finrag search --json``.

        Raises:
            NotFoundError: there is no such system or filing.
            UsageError: the question cannot be searched for.
            BusyError: too many requests wait, or the search took too long.
            FinragError: something that the system needs is missing.
        """

        def work(loaded: Loaded) -> dict[str, Any]:
            return loaded.searcher.search(question, system, k, filings).as_json()

        return await self._search(system, filings, work)

    async def ask(
        self, question: str, mode: AnswerMode, filings: Sequence[str], system: str | None
    ) -> dict[str, Any]:
        """The answer of ``finrag ask --json``.

        Raises:
            NotFoundError, UsageError, BusyError, FinragError: as `search`.
        """

        def work(loaded: Loaded) -> dict[str, Any]:
            return self._asker(loaded).ask(question, mode, filings, system).as_json()

        return await self._search(system, filings, work)

    async def rows(self, question: str, filings: Sequence[str]) -> list[dict[str, Any]]:
        """Printed rows closest to a question, as ``evidence`` of `ask`; raises what `search` raises."""

        def work(loaded: Loaded) -> list[dict[str, Any]]:
            return [row.as_json() for row in self._asker(loaded).rows(question, filings)]

        return await self._search(None, filings, work)

    def _asker(self, loaded: Loaded) -> Asker:
        if not loaded.asker:
            loaded.asker.append(Asker(self._settings, loaded.searcher))
        return loaded.asker[0]

    async def _search(self, system: str | None, filings: Sequence[str], work: Callable[[Loaded], _T]) -> _T:
        """Check the names and run ``work`` with what is loaded, in the thread of the searches."""
        loaded = self.loaded()

        def guarded() -> _T:
            if system is not None:
                try:
                    get_system(system)
                except UsageError as error:
                    raise NotFoundError(error.reason, "List them: /systems.") from error
            for filing in filings:
                if filing not in loaded.filings and aliases(self.lake).get(filing) not in loaded.filings:
                    raise NotFoundError(f"No filing '{filing}' is searched here.", "List them: /filings.")
            try:
                return work(loaded)
            except FinragError:
                raise
            except Exception as error:
                if self._look() == loaded.state:
                    raise
                # Between two looks: what the searcher has in memory is no longer what the index holds.
                _log.warning("A search failed while the lake was changed: %r", error)
                raise BusyError("The lake is being changed.", "Ask again in a few seconds.") from error

        return await self._run(self._searches, guarded)

    async def systems(self) -> list[dict[str, str]]:
        """The rows of ``finrag systems --json``, kept while the lake stays as it is.

        Raises:
            BusyError: it took too long.
            FinragError: the lake is damaged.
        """

        def work() -> list[dict[str, str]]:
            state = self._look()
            if state is None or self._systems[0] != state:
                self._systems = (state, list_systems(self._settings))
            return self._systems[1]

        return await self._run(self._lists, work)

    async def filings(self, failed: bool) -> list[dict[str, Any]]:
        """The rows of ``finrag filings --json``.

        Raises:
            BusyError: it took too long.
            FinragError: the lake is damaged.
        """
        return await self._run(self._lists, lambda: list_filings(self.lake, failed))

    async def read(
        self, read: Callable[Concatenate[Lake, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """What ``read`` gives on the lake: what was read from pages, in a thread of their own.

        Raises:
            NotFoundError: there is no such filing, page or concept.
            BusyError: it took too long.
            FinragError: the lake is damaged.
        """
        try:
            return await self._run(self._pages, partial(read, self.lake, *args, **kwargs))
        except UsageError as error:
            raise NotFoundError(error.reason, error.remedy) from error

    async def facts(
        self,
        filing: str,
        concept: str | None = None,
        label: str | None = None,
        year: int | None = None,
        series: Each | None = None,
    ) -> list[dict[str, Any]]:
        """What ``finrag facts --json`` prints; as a ``series``, of a company.

        Raises:
            NotFoundError: there is no such filing or concept.
            UsageError: no concept was named for a series, or there is none of the company.
            BusyError, FinragError: as `read`.
        """
        work = partial(facts_json, filing=filing, concept=concept, series=series, label=label, year=year)
        if series is None:
            return await self.read(work)
        return await self._search(None, (), lambda loaded: work(self.lake, resolver=loaded.searcher.resolver))

    async def picture(self, filing: str, label: int, small: bool = False) -> tuple[bytes, str]:
        """A picture of a page, WebP, and what changes with it; the last ones are kept.

        Raises:
            NotFoundError: there is no such filing or page, or no picture of it.
            BusyError, FinragError: as `read`.
        """

        def work(lake: Lake) -> tuple[bytes, str]:
            version = get_source(lake, require_filing(lake, filing)).sha256
            return self._pictures(filing, label, small, version), f'"{version[:16]}-{label}-{small:d}"'

        return await self.read(work)

    def _draw(self, filing: str, label: int, small: bool, _version: str) -> bytes:
        return page_image(self.lake, filing, label, small)

    async def _run(self, pool: ThreadPoolExecutor, work: Callable[[], _T]) -> _T:
        """Run ``work`` in ``pool``, within the limits."""
        if self._stopping.is_set():
            raise NotReadyError(*_STOPPING)
        if not self._slots.acquire(blocking=False):
            raise BusyError(
                f"{self.limits.waiting} requests are waiting already.", "Ask again in a few seconds."
            )
        try:
            future = pool.submit(work)
        except RuntimeError:  # stopped meanwhile
            self._slots.release()
            raise NotReadyError(*_STOPPING) from None
        self._running.add(future)
        future.add_done_callback(self._done)
        try:
            # One that has not begun is withdrawn when its time is over; one that runs cannot be stopped.
            return await asyncio.wait_for(asyncio.wrap_future(future), self.limits.seconds)
        except TimeoutError:
            raise BusyError(
                f"No answer within {self.limits.seconds:g} seconds.",
                "Ask again later, or choose a faster system: /systems.",
            ) from None
        except asyncio.CancelledError:
            if future.cancelled() and self._stopping.is_set():
                raise NotReadyError(*_STOPPING) from None
            raise

    def _done(self, future: Future[Any]) -> None:
        self._running.discard(future)
        self._slots.release()
