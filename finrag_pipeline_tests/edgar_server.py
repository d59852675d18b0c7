"""EDGAR on loopback: lists, indexes and documents of two companies of the sample, and the ways in which it fails."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from finrag_pipeline.settings import EdgarSettings
from finrag_pipeline_tests.language_models.server import Reply

UNDECLARED = (
    b"<html><head><title>SEC.gov | Your Request Originates from an Undeclared Automated Tool</title></head>"
    b"<body><h1>Your Request Originates from an Undeclared Automated Tool</h1></body></html>"
)
MODIFIED = "Fri, 03 Nov 2023 20:00:00 GMT"
BREAK = '<hr style="page-break-after:always"/>'


@dataclass(frozen=True)
class Company:
    ticker: str
    name: str
    cik: int


TORVEXLEY = Company("TVXL", "TORVEXLEY INDUSTRIES, INC.", 1900001)
PELLAMOOR = Company("PLMR", "PELLAMOOR STORES CORPORATION", 1900002)


@dataclass(frozen=True)
class Filed:
    """A filing; ``about`` is a word that stands in no other."""

    company: Company
    number: int
    form: str
    filed: dt.date
    report: dt.date
    about: str
    exhibits: tuple[tuple[str, str], ...] = ()
    accepted: str | None = None

    @property
    def accession(self) -> str:
        return f"{self.company.cik:010}-{self.filed:%y}-{self.number:06}"

    @property
    def document(self) -> str:
        return f"{self.company.ticker.lower()}-{self.report:%Y%m%d}_{self.number}.htm"

    @property
    def filing(self) -> str:
        return f"{self.company.ticker}_{self.report}_{self.form.replace('/', '')}_{self.accession}"

    @property
    def folder(self) -> str:
        return f"/Archives/edgar/data/{self.company.cik}/{self.accession.replace('-', '')}/"

    def pages(self) -> dict[str, bytes]:
        """Index and documents, by path."""
        documents = [(self.form, self.document, self._main()), *self._exhibits()]
        rows = "".join(
            f'<tr><td>{n}</td><td>{kind}</td><td><a href="/ix?doc={self.folder}{name}">{name}</a> &nbsp;'
            f"<span>iXBRL</span></td><td>{kind}</td><td>{len(body)}</td></tr>"
            for n, (kind, name, body) in enumerate(documents, start=1)
        )
        index = (
            '<html><body><table class="tableFile"><tr><th>Seq</th><th>Description</th><th>Document</th>'
            f"<th>Type</th><th>Size</th></tr>{rows}"
            '<tr><td>9</td><td>GRAPHIC</td><td><a href="logo.jpg">logo.jpg</a></td><td>GRAPHIC</td><td>7</td></tr>'
            "</table></body></html>"
        )
        found = {self.folder + name: body for _, name, body in documents}
        return {f"{self.folder}{self.accession}-index.html": index.encode(), **found}

    def _exhibits(self) -> Iterator[tuple[str, str, bytes]]:
        for kind, body in self.exhibits:
            name = f"{kind.lower().replace('.', '').replace('-', '')}_{self.number}.htm"
            whole = f"<html><body>{body}</body></html>"
            # EDGAR serves what is not tagged with the marks of the submission around it.
            marks = f"<DOCUMENT>\n<TYPE>{kind}\n<SEQUENCE>2\n<FILENAME>{name}\n<TEXT>\n{whole}\n</TEXT>\n</DOCUMENT>\n"
            yield kind, name, marks.encode()

    def _main(self) -> bytes:
        span = {"10-K": "fiscal year", "10-Q": "quarterly period"}.get(self.form.removesuffix("/A"))
        phrase = f"For the {span} ended" if span else "Date of Report (Date of earliest event reported):"
        cover = (
            "<p>UNITED STATES</p><p>SECURITIES AND EXCHANGE COMMISSION</p><p>Washington, D.C. 20549</p>"
            f"<p>FORM {self.form}</p><p>{phrase} {self.report:%B %d, %Y}</p><p>Commission file number 001-99871</p>"
            f"<p>{self.company.name}</p><p>(Exact name of registrant as specified in its charter)</p>"
            f"<p>Trading Symbol(s)</p><p>{self.company.ticker}</p>"
        )
        body = f"<p>The {self.about} plant was the main matter of this report.</p>"
        return f"<html><body>{cover}{BREAK}{body}</body></html>".encode()


def table(title: str, note: str, heads: Sequence[str], *rows: Sequence[str]) -> str:
    """A table as filers write it: a title, a note on units, heads of columns, a label and values in each row."""
    cells = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in (("", *heads), *rows)
    )
    return f"<p><b>{title}</b></p><p>{note}</p><table>{cells}</table>"


def release(company: Company, about: str) -> str:
    """An earnings release: statements in millions, a reconciliation, and guidance in words."""
    head = (
        f"<p>Exhibit 99.1</p><p><b>{company.name} Reports Third Quarter 2023 Results</b></p>"
        f"<p>DUNMERE HEIGHTS, Ohio, November 2, 2023 — {company.name} (NYSE: {company.ticker}) today reported "
        f"results for the third quarter ended September 30, 2023. The {about} line grew. For the full year 2023 "
        "the company expects net sales of $3,650 million to $3,710 million.</p>"
    )
    months = ("Three Months Ended September 30, 2023", "Three Months Ended September 30, 2022")
    note = "(in millions, except per share data)"
    statements = [
        table("CONSOLIDATED STATEMENTS OF INCOME", note, months, ("Net sales", "$ 923", "$ 882"),
              ("Cost of sales", "552", "533"), ("Gross profit", "371", "349"), ("Net income", "$ 88", "$ 80"),
              ("Diluted earnings per share", "$ 1.10", "$ 0.98")),
        table("CONSOLIDATED BALANCE SHEETS", note, ("September 30, 2023", "December 31, 2022"),
              ("Cash and cash equivalents", "$ 301", "$ 288"), ("Total assets", "$ 4,105", "$ 4,012"),
              ("Total liabilities and shareholders' equity", "$ 4,105", "$ 4,012")),
        table("RECONCILIATION OF NET INCOME TO ADJUSTED EBITDA (Non-GAAP)", "(in millions)", months,
              ("Net income", "$ 88", "$ 80"), ("Adjusted EBITDA", "$ 171", "$ 160")),
        table("FULL YEAR 2023 OUTLOOK", "(in millions)", ("Low", "High"), ("Net sales", "$ 3,650", "$ 3,710"),
              ("Capital expenditures", "160", "170")),
    ]  # fmt: skip
    return head + BREAK + BREAK.join(statements)


def _ten() -> Iterator[Filed]:
    day = dt.date
    t, p = TORVEXLEY, PELLAMOOR
    yield Filed(t, 1, "10-K", day(2023, 2, 16), day(2022, 12, 31), "Ashgrove")
    yield Filed(t, 2, "10-K/A", day(2023, 2, 17), day(2022, 12, 31), "Birchmere")
    yield Filed(t, 3, "10-Q", day(2023, 5, 4), day(2023, 3, 31), "Corriedale")
    yield Filed(t, 4, "8-K", day(2023, 5, 4), day(2023, 5, 4), "Dunlark")
    yield Filed(t, 5, "10-Q", day(2023, 8, 3), day(2023, 6, 30), "Elmhurst")
    yield Filed(t, 6, "10-Q", day(2023, 11, 2), day(2023, 9, 30), "Fernhollow")
    quarter = (("EX-99.1", release(t, "Garnet")),)
    yield Filed(t, 7, "8-K", day(2023, 11, 2), day(2023, 11, 2), "Hazelton", quarter)
    report = (
        "<p>Annual report to shareholders</p><p>30</p>"
        + BREAK
        + table(
            "CONSOLIDATED STATEMENTS OF EARNINGS",
            "(Dollars in thousands)",
            ("Year Ended January 28, 2023", "Year Ended January 29, 2022"),
            ("Net sales", "$ 3,412,118", "$ 3,200,004"),
            ("Cost of sales", "2,610,300", "2,455,110"),
            ("Net earnings", "$ 141,201", "$ 120,900"),
            ("Diluted earnings per share", "$ 2.31", "$ 1.98"),
        )
    )
    report += "<p>31</p>"
    yield Filed(p, 8, "10-K", day(2023, 3, 20), day(2023, 1, 28), "Ironbark", (("EX-13", report),))
    yield Filed(p, 9, "10-Q", day(2023, 6, 1), day(2023, 4, 29), "Juniper")
    yield Filed(p, 10, "8-K", day(2023, 6, 2), day(2023, 6, 1), "Knapweed")


TEN = tuple(_ten())


@dataclass
class Sec:
    """The server: what it holds, what it was asked, and how it fails.

    Attributes:
        faults: per path the answers that come before the right one.
        asked: path, status and time of every request.
    """

    url: str = ""
    pages: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, list[Reply]] = field(default_factory=dict)
    asked: list[tuple[str, int, float]] = field(default_factory=list)
    date: str | None = None

    def settings(self, **changes: Any) -> EdgarSettings:
        """Settings that ask this server as fast as the SEC allows."""
        chosen = {"watch": "TVXL,PLMR", "user_agent": "Ada Example ada@example.com", "since": "2023"}
        urls = {"www_url": self.url, "data_url": self.url, "requests_per_second": 10}
        return EdgarSettings.model_validate({**chosen, **urls, **changes})

    def file(self, *filings: Filed) -> None:
        """Make ``filings`` all that companies have filed."""
        tickers = {}
        for n, company in enumerate(dict.fromkeys(one.company for one in filings)):
            tickers[str(n)] = {"cik_str": company.cik, "ticker": company.ticker, "title": company.name}
            own = sorted((one for one in filings if one.company == company), key=lambda one: one.filed)
            recent, older = list(reversed(own[1:])), own[:1]
            name = f"CIK{company.cik:010}-submissions-001.json"
            more = {
                "name": name,
                "filingCount": 1,
                "filingFrom": "2004-01-01",
                "filingTo": str(older[0].filed),
            }
            listed = {
                "cik": str(company.cik),
                "name": company.name,
                "tickers": [company.ticker],
                "filings": {"recent": _columns(recent), "files": [more]},
            }
            self.pages[f"/submissions/CIK{company.cik:010}.json"] = json.dumps(listed).encode()
            self.pages[f"/submissions/{name}"] = json.dumps(_columns(older)).encode()
        self.pages["/files/company_tickers.json"] = json.dumps(tickers).encode()
        for one in filings:
            self.pages |= one.pages()

    def documents(self) -> list[str]:
        """Paths of the documents that were sent whole."""
        return [path for path, status, _ in self.asked if path.startswith("/Archives") and status == 200]


def _columns(filings: Sequence[Filed]) -> dict[str, list[Any]]:
    form4 = {"accessionNumber": "0001790565-22-000015", "form": "4", "filingDate": "2023-11-03"}
    other = {
        **form4,
        "acceptanceDateTime": "2023-11-03T16:42:36.000Z",
        "reportDate": "",
        "items": "",
        "size": 1,
    }
    rows = [{**other, "primaryDocument": "xslF345X03/edgardoc.xml"}]
    for one in filings:
        accepted = one.accepted or f"{one.filed}T16:05:00.000Z"
        row = {"accessionNumber": one.accession, "form": one.form, "filingDate": str(one.filed), "size": 1}
        row |= {"reportDate": str(one.report), "acceptanceDateTime": accepted, "items": ""}
        rows.append({**row, "primaryDocument": one.document})
    return {name: [row[name] for row in rows] for name in rows[0]}


@contextmanager
def sec(*filings: Filed) -> Iterator[Sec]:
    """A server of ``filings``; of all ten when none are given."""
    served = Sec()
    served.file(*(filings or TEN))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16  # one packet, for which no acknowledgement is waited

        def do_GET(self) -> None:
            fault = (served.faults.get(self.path) or [None]).pop(0)
            body = served.pages.get(self.path)
            tag = f'"{hashlib.sha1(body or b"").hexdigest()[:12]}"'
            if "@" not in self.headers.get("User-Agent", ""):
                reply = Reply(403, UNDECLARED, "text/html")
            elif fault:
                reply = fault
            elif body is None:
                reply = Reply(404, b"<html></html>", "text/html")
            elif self.headers.get("If-None-Match") == tag:
                reply = Reply(304)
            else:
                reply = Reply(body=body, headers=(("ETag", tag), ("Last-Modified", MODIFIED)))
            served.asked.append((self.path, reply.status, time.monotonic()))
            self.send_response_only(reply.status)
            self.send_header("Date", served.date or self.date_time_string())
            length = len(reply.body) if reply.announced is None else reply.announced
            if reply.status != 304:
                self.send_header("Content-Length", str(length))
            for name, value in reply.headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)
            self.close_connection = reply.announced is not None

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
