from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from finrag_pipeline.engine import Engine, WorkerCrashError, WorkerTimeoutError
from finrag_pipeline.filings import TEXT_ONLY
from finrag_pipeline.filings.describe import describe_filing, describe_in_worker
from finrag_pipeline.filings.intake import accept
from finrag_pipeline.filings.originals import FilingSource, original_path
from finrag_pipeline.schemas import conform
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.filings.tagged import COVER, FOCUS, document


def _describe(lake: Lake, path: Path, information: dict | None = None) -> dict:
    source = accept(lake, path, information)
    table = conform(describe_filing(Path(original_path(lake, source)), source), "filings")
    (row,) = table.to_pylist()
    return row


def test_a_sound_filing(lake: Lake, tmp_path: Path) -> None:
    path = small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021)
    information = {"company": "Alder", "doc_type": "10k", "doc_period": 2021, "gics_sector": "Industrials"}
    row = _describe(lake, path, information)
    assert (row["status"], row["reason"], row["remedy"]) == ("ok", None, None)
    assert (row["company"], row["form"], row["fiscal_year"]) == ("Alder Corp", "10-K", 2021)
    assert row["period_end"] == dt.date(2021, 12, 31)
    assert (row["declared_company"], row["declared_form"], row["declared_year"]) == ("Alder", "10-K", 2021)
    assert (row["pages"], row["source"], row["sector"]) == (3, "pdf", "Industrials")
    assert (row["conflicts"], row["warnings"]) == ([], [])
    assert row["bytes"] == path.stat().st_size


def test_a_mislabelled_file_is_told_and_kept(lake: Lake, tmp_path: Path) -> None:
    row = _describe(lake, small_filings.annual_report(tmp_path / "BIRCH_2019_10Q.pdf", "Alder Corp", 2021))
    assert row["status"] == "ok"
    text = " / ".join(row["conflicts"])
    for claim in ("10-K", "10-Q", "Alder Corp", "BIRCH", "2021", "2019"):
        assert claim in text


def test_page_text(lake: Lake, tmp_path: Path) -> None:
    pages = small_filings.texts("Alder Corp", 2021)
    rows = [{"doc": "ALDER", "page": n, "text": text} for n, text in enumerate(pages)]
    path = small_filings.write_lines(tmp_path / "ALDER_2021_10K.jsonl", rows)
    row = _describe(lake, path)
    assert (row["status"], row["source"], row["pages"]) == ("ok", "page_text", 3)
    assert row["warnings"] == [TEXT_ONLY]
    assert (row["company"], row["form"], row["fiscal_year"]) == ("Alder Corp", "10-K", 2021)


def test_a_file_that_cannot_be_read_becomes_a_row_that_names_it_as_it_came(
    lake: Lake, tmp_path: Path
) -> None:
    row = _describe(lake, small_filings.encrypted(tmp_path / "Q3 'final' report.pdf"))
    assert row["status"] == "failed"
    assert row["reason"] == "Q3 'final' report.pdf is encrypted and asks for a password."
    assert row["remedy"]
    assert (row["pages"], row["company"], row["form"]) == (0, None, None)
    assert row["file_name"] == "Q3 'final' report.pdf"


def test_a_repaired_file_is_told(lake: Lake, tmp_path: Path) -> None:
    path = small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021)
    path.write_bytes(path.read_bytes().replace(b"startxref\n", b"startxref\n9"))
    row = _describe(lake, path)
    assert row["status"] == "ok"
    assert row["warnings"] == ["the file is damaged and was repaired while reading"]


def test_a_truncated_file_tells_what_is_lost(lake: Lake, tmp_path: Path) -> None:
    row = _describe(lake, small_filings.truncated(tmp_path / "ALDER_2021_10K.pdf", 0.5))
    assert (row["status"], row["company"]) == ("ok", "Cut Short Corp")
    assert row["warnings"] == ["the file is truncated: 6 of 12 pages are lost"]


def test_a_scan_has_no_identity_but_can_be_opened(lake: Lake, tmp_path: Path) -> None:
    row = _describe(lake, small_filings.scanned(tmp_path / "ALDER_2021_10K.pdf"))
    assert (row["status"], row["pages"], row["company"], row["form"]) == ("ok", 2, None, None)
    assert (row["declared_form"], row["declared_year"]) == ("10-K", 2021)


def test_a_cover_page_behind_a_long_illustrated_report_is_found(lake: Lake, tmp_path: Path) -> None:
    path = small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021)
    with pymupdf.open() as document:
        for number in range(70):
            document.new_page().insert_text((72, 72), f"A letter to our friends, part {number}.")
        with pymupdf.open(path) as report:
            document.insert_pdf(report)
        (tmp_path / "long").mkdir()
        document.save(tmp_path / "long" / path.name)
    row = _describe(lake, tmp_path / "long" / path.name)
    assert row["pages"] == 73
    assert (row["form"], row["fiscal_year"]) == ("10-K", 2021)


def test_declared_values_of_an_unknown_kind_do_no_harm(lake: Lake, tmp_path: Path) -> None:
    source = FilingSource("a", "a.pdf", "pdf", 0, "0" * 64, "a.pdf", {"company": None, "doc_period": "soon"})
    row = describe_filing(small_filings.zero_bytes(tmp_path / "a.pdf"), source).to_pylist()[0]
    assert (row["status"], row["declared_year"]) == ("failed", None)


class TestInWorker:
    def test_the_same_row(self, lake: Lake, tmp_path: Path) -> None:
        engine = Engine(workers=1, timeout=60.0)
        try:
            for path in (
                small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021),
                small_filings.zero_bytes(tmp_path / "EMPTY_2020_10K.pdf"),
            ):
                source = accept(lake, path)
                original = Path(original_path(lake, source))
                assert describe_in_worker(original, source, engine).equals(describe_filing(original, source))
        finally:
            engine.close()

    @pytest.mark.parametrize(
        "error",
        [
            WorkerCrashError("the worker process died (exit code -11)"),
            WorkerTimeoutError("gave up after 300 s"),
            ValueError("odd"),
        ],
    )
    def test_a_reader_that_dies_or_hangs_becomes_a_row_that_says_so(
        self, lake: Lake, tmp_path: Path, error: Exception
    ) -> None:
        class Failing:
            workers = 1

            def map(self, function: Callable[..., Any], items: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
                return iter([error] * len(items))

        source = accept(
            lake, small_filings.annual_report(tmp_path / "ALDER 2021 10K.pdf", "Alder Corp", 2021)
        )
        table = describe_in_worker(Path(original_path(lake, source)), source, Failing())
        (row,) = conform(table, "filings").to_pylist()
        assert (row["status"], row["reason"]) == (
            "failed",
            f"ALDER 2021 10K.pdf: reading its cover failed: {error}.",
        )
        assert "page text" in row["remedy"]
        assert (row["declared_form"], row["declared_year"]) == ("10-K", 2021)


def test_a_tagged_cover_says_who_filed_what_where_the_print_is_misleading(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "ACME_2024Q2_10Q.htm"
    logo = "<p>Lampshade Wordmark.gif</p><p>For the quarterly period ended September 30, 2019</p>"
    path.write_bytes(document(logo + COVER, FOCUS))
    row = _describe(lake, path)
    assert (row["company"], row["ticker"], row["form"]) == ("Acme Lamps, Inc.", "ACML", "10-Q")
    assert (row["fiscal_year"], row["fiscal_quarter"]) == (2024, 2)
    assert (row["period_end"], row["source"]) == (dt.date(2024, 6, 30), "html")


def test_the_period_of_a_tagged_8k_is_that_of_its_release(lake: Lake, tmp_path: Path) -> None:
    release = (
        b"<html><body><p>Acme Lamps Reports Third Quarter 2024 Results</p>"
        b"<p>Net sales for the three months ended September 30, 2024 were $ 120 million.</p></body></html>"
    )
    parts = [("8-K", b"<XBRL>\n" + document(COVER.replace("10-Q", "8-K"))), ("EX-99.1", release)]
    path = tmp_path / "ACME_8K.txt"
    path.write_bytes(
        b"<SEC-DOCUMENT>\n"
        + b"".join(b"<DOCUMENT>\n<TYPE>%b\n<TEXT>\n%b\n</TEXT>\n" % (k.encode(), d) for k, d in parts)
    )
    row = _describe(lake, path)
    assert (row["company"], row["ticker"], row["form"]) == ("Acme Lamps, Inc.", "ACML", "8-K")
    assert (row["fiscal_quarter"], row["period_end"]) == (3, dt.date(2024, 9, 30))
