"""The client of EDGAR against a server on loopback that fails in all the ways EDGAR does."""

from __future__ import annotations

import datetime as dt
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from finrag_pipeline.errors import EdgarError, FilingError, UsageError
from finrag_pipeline.filings import edgar
from finrag_pipeline.filings.edgar import Fetched, fetch_new
from finrag_pipeline.settings import EdgarSettings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.edgar_server import PELLAMOOR, TEN, UNDECLARED, Filed, Sec, sec
from finrag_pipeline_tests.language_models.server import Reply

ONE = TEN[6]
MAIN = ONE.folder + ONE.document


@dataclass
class Clock:
    """Time that passes only while somebody sleeps."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock by which requests keep their distance."""
    clock = Clock()
    monkeypatch.setattr(edgar, "time", clock)
    return clock


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


@pytest.fixture
def server() -> Iterator[Sec]:
    """A server of one filing with a release."""
    with sec(ONE) as found:
        yield found


def fetch(lake: Lake, server: Sec, seconds: float | None = None, **changes: object) -> Fetched:
    changes = {"watch": "TVXL", **changes} if len(server.pages) < 10 else changes
    return fetch_new(lake, server.settings(**changes), 1 << 20, seconds=seconds)


def test_filings_of_all_lists_come_with_their_exhibits_and_nothing_twice(lake: Lake, clock: Clock) -> None:
    with sec() as server:
        found = fetch(lake, server)
        assert [path.stem for path in found.files] == [
            one.filing for one in sorted(TEN, key=lambda one: (one.filed, one.accession))
        ]
        assert not found.failures and not found.warnings and found.refused is None
        assert set(Counter(server.documents()).values()) == {1}
        assert not any(path.endswith((".jpg", ".xml")) for path in server.documents())
        assert clock.now >= 0.1 * (len(server.asked) - 1), "ten requests a second"

        asked = len(server.asked)
        again = fetch(lake, server)
        assert again.files == found.files, "they have not been taken away"
        assert [status for _, status, _ in server.asked[asked:]] == [304] * 5

    text = next(path for path in found.files if path.stem == ONE.filing).read_text()
    assert re.findall("<TYPE>(.*)", text) == ["8-K", "EX-99.1"]
    assert text.startswith("<SEC-DOCUMENT>") and text.endswith("</SEC-DOCUMENT>\n")
    assert "Hazelton" in text and "Garnet" in text and text.count("</DOCUMENT>") == 2
    assert "COMPANY CONFORMED NAME:\t\tTORVEXLEY INDUSTRIES, INC." in text


def test_only_the_forms_and_days_asked_for(lake: Lake) -> None:
    with sec() as server:
        edgar_settings = server.settings(forms="10-k", since="2023-02-17", watch=f"{TEN[0].company.cik}")
        found = fetch_new(lake, edgar_settings, 1 << 20)
        assert [path.stem for path in found.files] == [TEN[1].filing], "an amendment belongs to its form"
        without = fetch_new(lake, server.settings(since=None, watch="PLMR"), 1 << 20)
        assert len(without.listed) == 3, "a year before the latest, whatever the clock says"


def test_an_amendment_of_the_next_day_is_a_filing_of_its_own(lake: Lake) -> None:
    with sec(TEN[0], TEN[2]) as server:
        first = fetch(lake, server)
        assert len(first.files) == 2
        for path in first.files:
            (lake.local_path("inbox")).mkdir(exist_ok=True)
            path.rename(lake.local_path("inbox", path.name))
        server.file(TEN[0], TEN[1], TEN[2])
        second = fetch(lake, server)
        assert [path.stem for path in second.files] == [TEN[1].filing]
        assert set(Counter(server.documents()).values()) == {1}


def test_a_killed_client_goes_on_where_it_was(lake: Lake, server: Sec) -> None:
    exhibit = next(path for path in server.pages if "ex991" in path)
    server.faults[exhibit] = [Reply(403, b"no")]
    broken_off = fetch(lake, server)
    assert broken_off.refused and not broken_off.files
    assert len(fetch(lake, server).files) == 1
    assert Counter(server.documents()) == {path: 1 for path in server.pages if path.startswith("/Archives")}
    assert [path.name for path in lake.local_path("edgar").iterdir() if path.is_dir()] == ["lists"]


@pytest.mark.parametrize("agent", ["", "curl/8", "ada@example.com", "Ada Example"])
def test_who_asks_must_be_said(lake: Lake, server: Sec, agent: str) -> None:
    with pytest.raises(UsageError, match=r"FINRAG_EDGAR__USER_AGENT"):
        fetch(lake, server, user_agent=agent)
    assert not server.asked


@pytest.mark.parametrize("status", [200, 403])
def test_the_page_for_undeclared_tools_is_no_filing(lake: Lake, server: Sec, status: int) -> None:
    server.faults[MAIN] = [Reply(status, UNDECLARED, "text/html")]
    found = fetch(lake, server)
    assert not found.files
    assert found.refused is not None and "undeclared" in found.refused.reason
    assert "FINRAG_EDGAR__USER_AGENT" in found.refused.remedy


def test_a_refusal_stops_all_requests(lake: Lake) -> None:
    with sec() as server:
        server.faults["/files/company_tickers.json"] = [Reply(403, b"Forbidden", "text/plain")]
        found = fetch(lake, server)
        assert found.refused is not None and "403" in found.refused.reason
        assert len(server.asked) == 1


@pytest.mark.parametrize("asked", ["1", "Wed, 21 Oct 2015 07:28:01 GMT"])
def test_a_server_that_is_busy_is_waited_for(lake: Lake, server: Sec, asked: str) -> None:
    """A date counts from the server's clock, which may be years from this one."""
    server.date = "Wed, 21 Oct 2015 07:28:00 GMT"
    server.faults[MAIN] = [Reply(429, b"slow down", headers=(("Retry-After", asked),))]
    assert len(fetch(lake, server).files) == 1
    first, second = (at for path, _, at in server.asked if path == MAIN)
    assert second - first >= 1.0


def test_a_server_that_wants_to_be_left_alone_is(lake: Lake, server: Sec) -> None:
    server.faults[MAIN] = [Reply(429, b"slow down", headers=(("Retry-After", "600"),))]
    found = fetch(lake, server)
    assert found.refused is not None and "600 seconds" in found.refused.remedy


@pytest.mark.parametrize(
    "fault",
    [
        Reply(500, b"oops"),
        Reply(body=b"<html><body>cut short", announced=4000),
        Reply(body=b"<html><body>cut short by the header</body></html>", announced=30),
        Reply(body=b"<html><body>cut short by the disk"),
        Reply(body=b"no gzip", headers=(("Content-Encoding", "gzip"),)),
    ],
    ids=["500", "truncated", "wrong length", "no end", "not gzip"],
)
@pytest.mark.parametrize("list_or_document", ["/submissions/CIK0001900001.json", MAIN])
def test_a_broken_answer_is_asked_for_again(
    lake: Lake, server: Sec, fault: Reply, list_or_document: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edgar, "_pause", lambda _: 0.0)
    server.faults[list_or_document] = [fault, fault]
    found = fetch(lake, server)
    assert len(found.files) == 1 and "cut short" not in found.files[0].read_text()
    assert [path for path, _, _ in server.asked].count(list_or_document) == 3


def test_a_filing_that_stays_broken_does_not_stop_the_others(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edgar, "_pause", lambda _: 0.0)
    with sec() as server:
        server.faults[MAIN] = [Reply(body=b"<html>cut")] * 6
        found = fetch(lake, server)
        assert len(found.files) == 9
        assert "did not come whole" in found.failures[ONE.filing]
        entry = lake.ledger_entry("filings", ONE.filing)
        assert entry and entry["outcome"] == "failed" and entry["remedy"]
        assert [path.stem for path in fetch(lake, server).files if path not in found.files] == [ONE.filing]


def test_a_filing_accepted_after_now_is_taken_with_a_warning(lake: Lake) -> None:
    ahead = dt.datetime.now(dt.UTC) + dt.timedelta(days=400)
    with sec(replace(ONE, accepted=f"{ahead:%Y-%m-%dT%H:%M:%S}.000Z")) as server:
        found = fetch(lake, server)
    assert len(found.files) == 1
    assert "clock" in found.warnings[0]


def test_no_name_leads_out_of_the_lake(lake: Lake, server: Sec) -> None:
    path = "/submissions/CIK0001900001-submissions-001.json"
    for old, new in ((ONE.document, "../../../../etc/passwd.htm"), (ONE.accession, "../../../../../../x")):
        server.pages[path] = server.pages[path].replace(old.encode(), new.encode())
        found = fetch(lake, server, patience=0.01)
        assert not found.files and "did not come whole" in found.failures["TVXL"]
    with pytest.raises(FilingError, match="names a document"):
        edgar.exhibits(
            b"<table><tr><td>2</td><td>x</td><td>../../x.htm</td><td>EX-99.1</td><td>7</td></tr></table>"
        )


def test_a_document_that_is_too_large_is_refused(lake: Lake, server: Sec) -> None:
    found = fetch_new(lake, server.settings(watch="TVXL"), 300)
    assert "TVXL" in found.failures and "FINRAG_MAX_FILING_BYTES" in found.failures["TVXL"]


def test_unknown_companies_are_named_and_the_others_fetched(lake: Lake, server: Sec) -> None:
    found = fetch(lake, server, watch="NOPE, TVXL")
    assert len(found.files) == 1 and "'NOPE'" in found.failures["NOPE"]


def test_old_filings_are_one_text(lake: Lake) -> None:
    old = Filed(PELLAMOOR, 11, "10-K405", dt.date(2000, 3, 20), dt.date(2000, 1, 29), "Larkspur")
    with sec(old) as server:
        name = "/submissions/CIK0001900002-submissions-001.json"
        server.pages[name] = server.pages[name].replace(old.document.encode(), b"")
        whole = b"<SEC-DOCUMENT>\n<DOCUMENT>\n<TYPE>10-K405\n<TEXT>\nLarkspur\n</TEXT>\n</DOCUMENT>\n</SEC-DOCUMENT>\n"
        server.pages[f"{old.folder}{old.accession}.txt"] = whole
        found = fetch(lake, server, watch="PLMR", since="1999")
    assert [path.read_bytes() for path in found.files] == [whole]


def test_time_that_is_up_leaves_the_rest_for_later(lake: Lake) -> None:
    with sec() as server:
        first = fetch(lake, server, seconds=1.0)
        assert 0 < len(first.files) < 10 and len(first.listed) == 10
        assert len(fetch(lake, server).files) == 10
        assert set(Counter(server.documents()).values()) == {1}


def test_one_process_asks_at_a_time(lake: Lake, server: Sec) -> None:
    server.faults[MAIN] = [Reply(429, b"", headers=(("Retry-After", "1"),))]
    other = threading.Thread(target=fetch, args=(lake, server))
    other.start()
    while not server.asked:
        time.sleep(0.01)
    with pytest.raises(EdgarError, match="Another process"):
        fetch(lake, server)
    other.join()


def test_the_limit_of_the_sec_cannot_be_passed() -> None:
    with pytest.raises(ValidationError):
        EdgarSettings(requests_per_second=11)
