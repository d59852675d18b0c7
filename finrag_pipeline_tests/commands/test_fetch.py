from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from finrag_pipeline.commands.upkeep import FILES, fetch_financebench
from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.filings.originals import read_source_folder
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests import small_filings

NAMES = ("ALDER_2021_10K", "BIRCH 2022 & Söhne", "CEDAR_2023_10K")


class _Handler(SimpleHTTPRequestHandler):
    asked: list[str] = []  # noqa: RUF012 - one list for all requests of a test

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if "CUT" in self.path:
            self.send_response(200)
            self.send_header("Content-Length", "5000")
            self.end_headers()
            self.wfile.write(b"%PDF-1.7 and then the connection breaks")
            return
        super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A benchmark as its repository publishes it; one filing is missing."""
    folder = tmp_path / "published"
    rows = [small_filings.question(n, name, 1) for n, name in enumerate([*NAMES, NAMES[0], "GONE_2020_10K"])]
    small_filings.write_lines(folder / "data" / FILES[0], rows)
    information = [{"doc_name": name, "company": "Alder", "doc_type": "10k"} for name in NAMES]
    small_filings.write_lines(folder / "data" / FILES[1], information)
    for name in NAMES:
        small_filings.annual_report(folder / "pdfs" / f"{name}.pdf", "Alder Corp", 2021)
    return folder


@pytest.fixture
def base(published: Path) -> Iterator[str]:
    """Address of the published benchmark on this machine."""
    _Handler.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(published)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def _quiet(*_: object) -> None:
    pass


def test_everything_that_the_questions_use_is_fetched(lake: Lake, base: str, published: Path) -> None:
    told: list[tuple[str, int, int]] = []
    folder, failures = fetch_financebench(lake, lambda *progress: told.append(progress), base)
    assert list(failures) == ["GONE_2020_10K"]
    assert "404" in failures["GONE_2020_10K"]
    assert told[-1] == ("", 4, 4)
    source = read_source_folder(folder)
    assert source.questions is not None
    assert source.questions.read_bytes() == (published / "data" / FILES[0]).read_bytes()
    assert source.documents is not None
    contents = {path.read_bytes() for path in source.files.values()}
    assert contents == {(published / "pdfs" / f"{name}.pdf").read_bytes() for name in NAMES}
    assert [path for path in folder.rglob("*") if path.name.endswith(".tmp")] == []


def test_what_is_there_is_not_fetched_again(lake: Lake, base: str, published: Path) -> None:
    fetch_financebench(lake, _quiet, base)
    _Handler.asked.clear()
    small_filings.annual_report(published / "pdfs" / "GONE_2020_10K.pdf", "Gone Corp", 2020)
    _, failures = fetch_financebench(lake, _quiet, base)
    assert failures == {}
    assert _Handler.asked == ["/pdfs/GONE_2020_10K.pdf"]


def test_a_connection_that_breaks_leaves_no_half_file(lake: Lake, base: str, published: Path) -> None:
    rows = [small_filings.question(1, "CUT_2020_10K", 1), small_filings.question(2, NAMES[0], 1)]
    small_filings.write_lines(published / "data" / FILES[0], rows)
    folder, failures = fetch_financebench(lake, _quiet, base)
    assert list(failures) == ["CUT_2020_10K"]
    assert "the connection broke after 39 of 5,000 bytes" in failures["CUT_2020_10K"]
    assert [path.name for path in (folder / "pdfs").iterdir()] == [f"{NAMES[0]}.pdf"]


def test_names_cannot_leave_the_folder(lake: Lake, base: str, published: Path) -> None:
    rows = [small_filings.question(1, "../../escaped", 1)]
    small_filings.write_lines(published / "data" / FILES[0], rows)
    small_filings.annual_report(published / "escaped.pdf", "Alder Corp", 2021)
    fetch_financebench(lake, _quiet, base)
    assert [path for path in Path(lake.root).rglob("*escaped*") if path.parent.name != "pdfs"] == []


def test_lines_that_cannot_be_read_do_not_stop_the_rest(lake: Lake, base: str, published: Path) -> None:
    good = json.dumps(small_filings.question(1, NAMES[0], 1) | {"note": "one\u2028two"}, ensure_ascii=False)
    lines = ['{"doc_name": ', '{"question": "no document"}', '{"doc_name": 7}', "[]", good]
    small_filings.write_lines(published / "data" / FILES[0], lines)
    folder, failures = fetch_financebench(lake, _quiet, base)
    assert failures == {}
    assert [path.name for path in (folder / "pdfs").iterdir()] == [f"{NAMES[0]}.pdf"]


@pytest.mark.parametrize("missing", FILES)
def test_without_its_question_files_nothing_is_fetched(
    lake: Lake, base: str, published: Path, missing: str
) -> None:
    (published / "data" / missing).unlink()
    with pytest.raises(BenchmarkError, match=f"{missing} cannot be downloaded: HTTP Error 404") as caught:
        fetch_financebench(lake, _quiet, base)
    assert "--source" in caught.value.remedy
    assert not lake.fs.exists(lake.path("sources", "financebench", missing))


@pytest.mark.parametrize("contents", ["", "<html>Log in to this network</html>"])
def test_a_question_file_that_is_none(lake: Lake, base: str, published: Path, contents: str) -> None:
    (published / "data" / FILES[0]).write_text(contents)
    with pytest.raises(BenchmarkError, match="names no filing") as caught:
        fetch_financebench(lake, _quiet, base)
    assert "Delete it" in caught.value.remedy


def test_no_connection(lake: Lake) -> None:
    with pytest.raises(BenchmarkError, match="cannot be downloaded") as caught:
        fetch_financebench(lake, _quiet, "http://127.0.0.1:9")
    assert "Check the connection" in caught.value.remedy
