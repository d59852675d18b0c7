"""EDGAR: which filings companies have made, and each of them as one file with its exhibits.

A filing is kept in EDGAR's own format of a submission: a header, then its documents one after the other.
What was fetched lies under ``edgar/`` in the lake until the filing is whole: a client that is stopped goes on
where it was, and asks for nothing twice.
"""

from __future__ import annotations

import datetime as dt
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import httpx
from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    StringConstraints,
)
from pydantic.alias_generators import to_camel
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, stop_before_delay
from tenacity.wait import wait_random_exponential

from finrag_pipeline.errors import EdgarError, FilingError, FinragError, UsageError
from finrag_pipeline.filings.forms import canonical_form, find_form
from finrag_pipeline.filings.html import parse
from finrag_pipeline.filings.originals import find_source, name_in_lake
from finrag_pipeline.filings.submission import EXHIBITS
from finrag_pipeline.settings import EdgarSettings
from finrag_pipeline.storage.lake import Lake

T = TypeVar("T")

_ATTEMPTS = 6
_TIMEOUT = httpx.Timeout(60.0, connect=15.0)
_SKEW = dt.timedelta(days=1)
"""EDGAR prints New York's time as UTC; what is further ahead of this machine's clock is odd."""
_END = re.compile(rb"</(?:html|document|sec-document)\s*>\s*(?:</text>\s*</document>\s*)?$", re.IGNORECASE)
_TITLE = re.compile(rb"<title>\s*SEC\.gov \|\s*([^<]*)", re.IGNORECASE)
_UNDECLARED = b"Undeclared Automated Tool"
_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
_DECLARE = 'Declare who asks, as the SEC wants it: FINRAG_EDGAR__USER_AGENT="Your Name you@example.com".'

_Accession = Annotated[str, StringConstraints(pattern=r"^\d{10}-\d{2}-\d{6}$")]
_Document = Annotated[str, StringConstraints(pattern=rf"^(?:{_NAME}(?:/{_NAME})*)?$")]


class _Sent(BaseModel):
    """A part of a list as EDGAR sends it."""

    model_config = ConfigDict(alias_generator=to_camel)


class _Columns(_Sent):
    accession_number: list[_Accession]
    form: list[str]
    filing_date: list[dt.date]
    acceptance_date_time: list[AwareDatetime]
    report_date: list[dt.date | Literal[""]]
    primary_document: list[_Document]


class _Older(_Sent):
    name: _Document
    filing_to: dt.date


class _Filings(_Sent):
    recent: _Columns
    files: list[_Older] = []


class _Submissions(_Sent):
    name: str
    tickers: list[str] = []
    filings: _Filings


class _Ticker(BaseModel):
    cik_str: int = Field(ge=0)
    ticker: str


_Tickers = RootModel[dict[str, _Ticker]]


@dataclass(frozen=True)
class Listing:
    """A filing as EDGAR lists it.

    Attributes:
        ticker: trading symbol, or ``CIK`` and the number of a company without one.
        report_date: last day of the period, or day of the event; empty where none is given.
        document: name of the main document; empty for old filings, which are one text.
    """

    ticker: str
    company: str
    cik: int
    accession: str
    form: str
    filed: dt.date
    accepted: dt.datetime
    report_date: dt.date | Literal[""]
    document: str

    @property
    def filing(self) -> str:
        """Identifier of the filing in the lake: what people look for, then what makes it unique."""
        form = re.sub(r"[^A-Z0-9-]", "", self.form)
        return f"{self.ticker}_{self.report_date or self.filed}_{form}_{self.accession}"


@dataclass
class Fetched:
    """What `fetch_new` found.

    Attributes:
        listed: filings of the companies, forms and days asked for.
        files: the new ones, each as one file.
        failures: what went wrong, by filing or company.
        warnings: what is odd.
        refused: why EDGAR was not asked any further; what is missing comes with the next call.
    """

    listed: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    refused: EdgarError | None = None


def fetch_new(
    lake: Lake,
    settings: EdgarSettings,
    max_bytes: int,
    progress: Callable[[str, int, int], None] = lambda *_: None,
    seconds: float | None = None,
) -> Fetched:
    """Fetch the filings of ``settings.watch`` that are neither in the lake nor in its inbox, oldest first.

    Args:
        lake: what is known already.
        settings: companies, forms, first day, and how to ask.
        max_bytes: longest document.
        progress: called with the filing that is next, how many are done and how many there are.
        seconds: after so long nothing more is begun, and no pause that a server asks for is waited out.

    Raises:
        UsageError: no company is named, or no user agent is declared that the SEC takes.
        EdgarError: another process is fetching for this lake.
    """
    if not settings.watch:
        raise UsageError("No company is named.", "Name a ticker, or set FINRAG_EDGAR__WATCH=AAPL,MSFT.")
    found = Fetched()
    began = time.monotonic()
    with _only_one(lake), closing(Edgar(lake, settings, max_bytes, seconds)) as edgar:
        try:
            listings: list[Listing] = []
            for company in settings.watch:
                try:
                    listings += edgar.listed(company)
                except (FilingError, UsageError) as error:
                    found.failures[company] = str(error)
            listings.sort(key=lambda one: (one.filed, one.accession))
            found.listed = [one.filing for one in listings]
            new = []
            for one in listings:
                if _is_known(lake, one.filing):
                    _file(lake, one).unlink(missing_ok=True)  # the lake has a copy
                else:
                    new.append(one)
            for number, listing in enumerate(new):
                if seconds is not None and time.monotonic() - began > seconds:
                    break
                progress(listing.filing, number, len(new))
                if listing.accepted - _SKEW > dt.datetime.now(dt.UTC):
                    found.warnings.append(
                        f"{listing.filing} was accepted on {listing.accepted:%Y-%m-%d %H:%M}, which is "
                        "yet to come by the clock of this machine: set it."
                    )
                try:
                    found.files.append(edgar.fetch(listing))
                except FilingError as error:
                    lake.record("filings", listing.filing, "failed", error=error.reason, remedy=error.remedy)
                    found.failures[listing.filing] = str(error)
            progress("", len(new), len(new))
        except EdgarError as error:
            found.refused = error
    return found


@contextmanager
def _only_one(lake: Lake) -> Iterator[None]:
    """Keep other processes from asking at the same time: the rate of requests counts for all of them."""
    from filelock import FileLock, Timeout

    folder = lake.local_path("edgar")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / ".lock", timeout=0):
            yield
    except Timeout:
        raise EdgarError(
            "Another process is fetching filings for this lake.", "Wait until it has finished."
        ) from None


def _file(lake: Lake, listing: Listing) -> Path:
    return lake.local_path("edgar", f"{listing.filing}.txt")


def _is_known(lake: Lake, filing: str) -> bool:
    waiting = lake.local_path("inbox", f"{filing}.txt")
    return find_source(lake, name_in_lake(lake, filing)) is not None or waiting.exists()


class _AgainError(Exception):
    """A request that may succeed later: the error that it ends in, and seconds that the server asks for."""

    def __init__(self, error: FinragError, wait: float | None = None) -> None:
        super().__init__(str(error))
        self.error, self.wait = error, wait


def _pause(state: RetryCallState) -> float:
    asked = state.outcome.exception() if state.outcome else None
    if isinstance(asked, _AgainError) and asked.wait is not None:
        return asked.wait
    return wait_random_exponential(multiplier=0.5, max=30)(state)


class Edgar:
    """Asks EDGAR, one request at a time and at most so many a second."""

    def __init__(
        self, lake: Lake, settings: EdgarSettings, max_bytes: int, patience: float | None = None
    ) -> None:
        """Nothing is asked yet; ``patience`` is how long one request may be tried, in seconds.

        Raises:
            UsageError: no user agent is declared, or none with a name and an address.
        """
        if not re.fullmatch(r"\S.*\s\S+@\S+\.\S+", settings.user_agent):
            said = f"'{settings.user_agent}' names nobody" if settings.user_agent else "Nobody is named"
            raise UsageError(f"{said} who asks EDGAR.", _DECLARE)
        self._lake, self._settings, self._max_bytes = lake.here, settings, max_bytes
        self._patience = settings.patience if patience is None else min(patience, settings.patience)
        self._next = 0.0
        self._client = httpx.Client(
            headers={"User-Agent": settings.user_agent, "Accept-Encoding": "gzip, deflate"}, timeout=_TIMEOUT
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def listed(self, company: str) -> list[Listing]:
        """Filings of a company, by its ticker or number (CIK), of the forms and from the day asked for.

        Raises:
            UsageError: EDGAR knows no such company.
            FilingError: the list is broken.
            EdgarError: EDGAR refuses, or cannot be reached.
        """
        cik = int(company) if company.isdecimal() else self._cik(company)
        base = f"{self._settings.data_url}/submissions/"
        found = self._list(base, f"CIK{cik:010}.json", _Submissions.model_validate_json)
        columns = [found.filings.recent]
        # A year before the latest filing, so that the clock of this machine does not matter.
        first = self._settings.since or max(columns[0].filing_date, default=dt.date.max) - dt.timedelta(365)
        for older in found.filings.files:
            if older.filing_to >= first:
                columns.append(self._list(base, older.name, _Columns.model_validate_json))
        ticker = next(iter(found.tickers), f"CIK{cik}") if company.isdecimal() else company.upper()
        ticker = re.sub(r"[^A-Z0-9-]", "-", ticker.upper())
        rows = {
            row[0]: Listing(ticker, found.name, cik, *row)
            for column in columns
            for row in zip(*(getattr(column, name) for name in _Columns.model_fields), strict=True)
        }
        wanted = {canonical_form(form) or form for form in self._settings.forms}
        return [one for one in rows.values() if one.filed >= first and _is_of(one.form, wanted)]

    def _cik(self, ticker: str) -> int:
        if found := self._numbers.get(ticker.upper().replace(".", "-")):
            return found
        raise UsageError(f"EDGAR lists no company under the ticker '{ticker}'.", "Give its number (CIK).")

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Numbers of companies by their tickers."""
        base = f"{self._settings.www_url}/files/"
        listed = self._list(base, "company_tickers.json", _Tickers.model_validate_json)
        return {one.ticker.upper(): one.cik_str for one in listed.root.values()}

    def fetch(self, listing: Listing) -> Path:
        """A filing with its exhibits as one file, for the inbox or the lake.

        Raises:
            FilingError: a document is missing, too large, or does not come whole.
            EdgarError: EDGAR refuses, or cannot be reached.
        """
        lake, accession = self._lake, listing.accession
        target = _file(lake, listing)
        if target.exists():
            return target
        base = f"{self._settings.www_url}/Archives/edgar/data/{listing.cik}/{accession.replace('-', '')}/"
        if not listing.document:
            whole = self._document(base, accession, f"{accession}.txt")
        else:
            index = self._document(base, accession, f"{accession}-index.html")
            parts = [(listing.form, listing.document, 0), *exhibits(index)]
            documents = [
                _as_part(number, kind, name, self._document(base, accession, name, size))
                for number, (kind, name, size) in enumerate(parts, start=1)
            ]
            whole = b"".join([_header(listing), *documents, b"</SEC-DOCUMENT>\n"])
        lake.write_bytes(str(target), whole)
        lake.fs.rm(lake.path("edgar", accession), recursive=True)
        return target

    # -- requests ------------------------------------------------------------------------------

    def _list(self, base: str, name: str, read: Callable[[bytes], T]) -> T:
        """A list that is sent only if it has changed since the copy that the lake keeps."""
        path, url = self._lake.path("edgar", "lists", name), base + name
        kept: Any = self._lake.read_json(path)
        known = isinstance(kept, dict) and kept.get("url") == url
        answer = self._ask(url, read, kept["validators"] if known else {})
        if answer is None:
            return read(kept["body"].encode())
        found, headers, body = answer
        validators = {
            name: headers[theirs]
            for name, theirs in (("If-None-Match", "etag"), ("If-Modified-Since", "last-modified"))
            if theirs in headers
        }
        self._lake.write_json(path, {"url": url, "validators": validators, "body": body.decode()})
        return found

    def _document(self, base: str, accession: str, name: str, size: int = 0) -> bytes:
        """A document of a filing, which is kept until the filing is whole."""
        path = self._lake.path("edgar", accession, name)
        body = self._lake.read_bytes(path)
        if body is None:
            answer = self._ask(base + name, lambda data: _whole(data, size), {})
            assert answer is not None  # nothing was said to be known
            body = answer[0]
            self._lake.write_bytes(path, body)
        return body

    def _ask(
        self, url: str, read: Callable[[bytes], T], validators: dict[str, str]
    ) -> tuple[T, httpx.Headers, bytes] | None:
        """What ``read`` makes of the body, headers and body; None where nothing has changed."""
        retrying = Retrying(
            retry=retry_if_exception_type(_AgainError),
            stop=stop_after_attempt(_ATTEMPTS) | stop_before_delay(self._patience),
            wait=_pause,
            reraise=True,
        )
        try:
            return retrying(self._once, url, read, validators)
        except _AgainError as again:
            raise again.error from again

    def _once(
        self, url: str, read: Callable[[bytes], T], validators: dict[str, str]
    ) -> tuple[T, httpx.Headers, bytes] | None:
        time.sleep(max(0.0, self._next - time.monotonic()))
        self._next = time.monotonic() + 1 / self._settings.requests_per_second
        body = bytearray()
        try:
            with self._client.stream("GET", url, headers=validators) as response:
                for block in response.iter_bytes():
                    body += block
                    if len(body) > self._max_bytes:
                        raise FilingError(
                            f"{url} has more than {self._max_bytes:,} bytes.",
                            "Raise FINRAG_MAX_FILING_BYTES.",
                        )
        except (httpx.RemoteProtocolError, httpx.DecodingError) as error:  # shorter than announced
            broken = FilingError(f"{url} did not come whole: {error}.", "Try again later.")
            raise _AgainError(broken) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            why = str(error) or type(error).__name__
            raise _AgainError(EdgarError(f"{url} cannot be reached: {why}.", "Check the network.")) from error
        if response.status_code == 304 and validators:
            return None
        _check(url, response, bytes(body))
        try:
            return read(bytes(body)), response.headers, bytes(body)
        except ValueError as error:
            why = str(error).splitlines()[0]
            broken = FilingError(f"{url} did not come whole: {why}.", "Try again later.")
            raise _AgainError(broken) from error


def _check(url: str, response: httpx.Response, body: bytes) -> None:
    """Pass an answer that holds what was asked for."""
    status = response.status_code
    page = _TITLE.search(body[:4096])
    said = page[1].decode("utf-8", "replace").strip() if page else f"status {status}"
    if page and _UNDECLARED in body:
        raise EdgarError(f"EDGAR takes this for an undeclared automated tool ({url}).", _DECLARE)
    if status == 429 or status >= 500 or (page and "Rate" in said):
        wait = _seconds(response)
        when = f" in {wait:.0f} seconds" if wait else " in ten minutes"
        busy = EdgarError(f"EDGAR is too busy for {url} ({said}).", f"Try again{when}; what came is kept.")
        raise _AgainError(busy, wait)
    if status == 403:
        raise EdgarError(f"EDGAR refuses {url} (403).", _DECLARE)
    if status == 404:
        raise FilingError(f"EDGAR has no {url} (404).", "Look the filing up on sec.gov.")
    if status != 200 or page:
        raise EdgarError(f"EDGAR answers {url} with '{said}'.", "Check FINRAG_EDGAR__WWW_URL and __DATA_URL.")


def _seconds(response: httpx.Response) -> float | None:
    """Seconds that Retry-After asks for; a date counts from the server's own, since clocks differ."""
    asked = response.headers.get("retry-after", "")
    try:
        if asked.strip().isdecimal():
            return float(asked)
        now = parsedate_to_datetime(response.headers["date"])
        return max(0.0, (parsedate_to_datetime(asked) - now).total_seconds())
    except (KeyError, ValueError, TypeError):
        return None


def _whole(body: bytes, size: int) -> bytes:
    """A document that ends as documents do, or is as long as the index of its filing says.

    Raises:
        ValueError: it does not.
    """
    if _END.search(body[-512:]) or (size and len(body) >= size):
        return body
    raise ValueError(f"{len(body):,} bytes without an end")


def _is_of(form: str, wanted: set[str]) -> bool:
    """Whether a form is one of those wanted, a variant or an amendment of it."""
    found = find_form(canonical_form(form))
    return form in wanted or (found is not None and found.name in wanted)


def exhibits(index: bytes) -> list[tuple[str, str, int]]:
    """Type, name and bytes of the exhibits that hold a release or an annual report, by the page of a filing.

    Raises:
        FilingError: a name would leave the folder of the filing.
    """
    rows: dict[tuple[int, int], dict[int, str]] = {}
    for number, table in enumerate(parse(index, "The index of a filing").tables):
        for cell in table.cells:
            rows.setdefault((number, cell.row), {})[cell.column] = cell.text
    found = []
    for cells in rows.values():
        # Sequence, description, document (with a mark where it is tagged), type, size.
        name, kind, size = cells.get(2, "").partition(" ")[0], cells.get(3, ""), cells.get(4, "")
        if not EXHIBITS.fullmatch(kind) or not name.lower().endswith((".htm", ".html", ".txt")):
            continue
        if not re.fullmatch(_NAME, name):
            raise FilingError(f"The index of a filing names a document '{name}'.", "Look it up on sec.gov.")
        found.append((kind, name, int(size) if size.isdecimal() else 0))
    return found


def _header(listing: Listing) -> bytes:
    fields: Sequence[tuple[str, object]] = (
        ("ACCESSION NUMBER", listing.accession),
        ("CONFORMED SUBMISSION TYPE", listing.form),
        ("CONFORMED PERIOD OF REPORT", f"{listing.report_date:%Y%m%d}" if listing.report_date else ""),
        ("FILED AS OF DATE", f"{listing.filed:%Y%m%d}"),
        ("COMPANY CONFORMED NAME", listing.company),
        ("CENTRAL INDEX KEY", f"{listing.cik:010}"),
    )
    lines = [f"{name}:\t\t{value}" for name, value in fields]
    head = f"<SEC-DOCUMENT>{listing.accession}.txt : {listing.filed:%Y%m%d}"
    stamp = f"<ACCEPTANCE-DATETIME>{listing.accepted:%Y%m%d%H%M%S}"
    return "\n".join([head, "<SEC-HEADER>", stamp, *lines, "</SEC-HEADER>", ""]).encode()


def _as_part(number: int, kind: str, name: str, body: bytes) -> bytes:
    """A document as a submission holds it; some are served so."""
    if body.lstrip()[:10].upper() == b"<DOCUMENT>":
        return body.strip() + b"\n"
    head = f"<DOCUMENT>\n<TYPE>{kind}\n<SEQUENCE>{number}\n<FILENAME>{name}\n<TEXT>\n"
    return head.encode() + body + b"\n</TEXT>\n</DOCUMENT>\n"
