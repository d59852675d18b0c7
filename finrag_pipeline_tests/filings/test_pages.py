from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.engine import Engine, WorkerCrashError, WorkerTimeoutError
from finrag_pipeline.errors import FilingError
from finrag_pipeline.filings import pages
from finrag_pipeline.filings.pages import (
    MOST_PAGES,
    MOST_PAGES_PER_TASK,
    extract_pages,
    first_texts,
    page_ranges,
    read_page_text,
)
from finrag_pipeline.schemas import FILING_PAGES, conform
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.filings import raw_pdf


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine(workers=2, timeout=120.0)
    yield engine
    engine.close()


def _many_pages(path: Path, count: int) -> Path:
    """A PDF whose pages say their number."""
    font = 3 + 2 * count
    pages = [
        b"<</Type/Page/Parent 2 0 R/Contents %d 0 R/Resources<</Font<</F %d 0 R>>>>>>" % (3 + count + n, font)
        for n in range(count)
    ]
    contents = [raw_pdf.stream(b"BT /F 12 Tf 72 700 Td (This is page %d) Tj ET" % n) for n in range(count)]
    return raw_pdf.raw_pdf(path, raw_pdf.CATALOG, raw_pdf.page_tree(count), *pages, *contents, raw_pdf.FONT)


class TestPdf:
    @pytest.mark.parametrize("count", [1, 2 * MOST_PAGES_PER_TASK + 7])
    def test_one_page_and_more_than_the_workers_read_at_a_time(
        self, tmp_path: Path, engine: Engine, count: int
    ) -> None:
        table = extract_pages(_many_pages(tmp_path / "long.pdf", count), "LONG", "pdf", engine)
        assert table.schema.equals(FILING_PAGES)
        assert table["page"].to_pylist() == list(range(count))
        assert table["text"].to_pylist() == [f"This is page {n}\n" for n in range(count)]

    @pytest.mark.parametrize("pages", [1, 3])
    def test_a_scan_is_refused(self, tmp_path: Path, engine: Engine, pages: int) -> None:
        path = small_filings.scanned(tmp_path / "scan.pdf", pages)
        with pytest.raises(FilingError, match=rf"scan\.pdf has no text layer: all {pages} pages") as caught:
            extract_pages(path, "f", "pdf", engine)
        assert "ocrmypdf" in caught.value.remedy

    def test_some_pages_without_text_are_kept_and_marked(self, tmp_path: Path, engine: Engine) -> None:
        import pymupdf

        path = small_filings.annual_report(tmp_path / "mixed.pdf", "Alder Corp", 2021, pages=2)
        with (
            pymupdf.open(path) as document,
            pymupdf.open(small_filings.scanned(tmp_path / "scan.pdf", 1)) as scan,
        ):
            document.insert_pdf(scan)
            document.new_page()
            document.saveIncr()
        table = extract_pages(path, "f", "pdf", engine)
        assert table["needs_ocr"].to_pylist() == [False, False, True, False]
        assert [n > 0 for n in table["word_count"].to_pylist()] == [True, True, False, False]

    def test_a_page_that_unfolds_beyond_all_memory_is_refused(self, tmp_path: Path) -> None:
        path = raw_pdf.nested_forms(tmp_path / "bomb.pdf", 6)
        engine = Engine(1, 60.0, 3 << 29)
        try:
            with pytest.raises(
                FilingError, match="page 1 needs more memory than a worker may have"
            ) as caught:
                extract_pages(path, "f", "pdf", engine)
        finally:
            engine.close()
        assert path.stat().st_size < 3000 and "FINRAG_WORKER_MEMORY" in caught.value.remedy

    def test_a_page_that_breaks_in_the_worker_keeps_its_message(self, tmp_path: Path, engine: Engine) -> None:
        tree = raw_pdf.page_tree(1, first=2)
        path = raw_pdf.raw_pdf(tmp_path / "loop.pdf", raw_pdf.CATALOG, tree)
        with pytest.raises(FilingError, match=r"loop\.pdf: page 1 cannot be read") as caught:
            extract_pages(path, "f", "pdf", engine)
        assert caught.value.remedy


class _FailingEngine:
    """An engine on which one task ends with ``error`` and the others run here."""

    workers = 2

    def __init__(self, error: Exception, at: int) -> None:
        self._error, self._at = error, at

    def map(self, function: Callable[..., Any], items: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        return (self._error if n == self._at else function(*item) for n, item in enumerate(items))


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (
            WorkerCrashError("the worker process died (exit code -11)"),
            "the worker process died (exit code -11)",
        ),
        (WorkerTimeoutError("gave up after 5 s"), "gave up after 5 s"),
        (MemoryError("no memory"), "MemoryError('no memory')"),
    ],
)
def test_a_failing_worker_fails_the_filing_with_a_message(tmp_path: Path, error: Exception, why: str) -> None:
    path = _many_pages(tmp_path / "long.pdf", 100)
    with pytest.raises(FilingError) as caught:
        extract_pages(path, "f", "pdf", _FailingEngine(error, at=1))
    assert caught.value.reason == f"long.pdf: reading pages 51 to 100 failed: {why}."
    assert "page text" in caught.value.remedy


@given(st.integers(1, 20_000), st.integers(1, 64))
def test_page_ranges_share_all_pages(pages: int, workers: int) -> None:
    ranges = page_ranges(pages, workers)
    assert [n for start, stop in ranges for n in range(start, stop)] == list(range(pages))
    sizes = [stop - start for start, stop in ranges]
    assert min(sizes) > 0
    assert max(sizes) <= MOST_PAGES_PER_TASK


def _lines(path: Path, *rows: object) -> Path:
    path.write_text(
        "\n".join(r if isinstance(r, str) else json.dumps(r, ensure_ascii=False) for r in rows), "utf-8"
    )
    return path


def _row(page: object, text: object = "Net sales", doc: object = "ACME") -> dict:
    return {"doc": doc, "page": page, "text": text}


class TestPageText:
    def test_rows(self, tmp_path: Path) -> None:
        path = _lines(tmp_path / "ACME.jsonl", _row(2, "third  page\n"), "", _row(0, "Größe 株"), "  ")
        table = conform(read_page_text(path, "ACME_2023"), "filing_pages")
        assert table["page"].to_pylist() == [0, 1, 2]
        assert table["text"].to_pylist() == ["Größe 株", "", "third  page\n"]
        assert table["characters"].to_pylist() == [7, 0, 12]
        assert table["word_count"].to_pylist() == [2, 0, 2]
        assert set(table["filing"].to_pylist()) == {"ACME_2023"}
        for name in ("label", "words", "width", "height", "rotation", "image_count"):
            assert table[name].null_count == 3

    def test_signs_that_end_lines_elsewhere_stay_inside_a_text(self, tmp_path: Path) -> None:
        text = "one\u2028two\u2029three\x85four"
        path = _lines(tmp_path / "a.jsonl", _row(0, text), _row(1, "next"))
        assert read_page_text(path, "a")["text"].to_pylist() == [text, "next"]

    @pytest.mark.parametrize(
        "encode", [lambda s: ("\ufeff" + s).encode(), lambda s: s.replace("\n", "\r\n").encode()]
    )
    def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(
        self, tmp_path: Path, encode: Callable[[str], bytes]
    ) -> None:
        path = tmp_path / "a.jsonl"
        path.write_bytes(encode(f"{json.dumps(_row(0, 'x'))}\n{json.dumps(_row(1, 'y'))}\n"))
        assert read_page_text(path, "a")["text"].to_pylist() == ["x", "y"]

    @pytest.mark.parametrize(
        ("bad", "reason"),
        [
            ('{"doc": "ACME", "page": 1, "te', "line 2 is not JSON"),
            pytest.param("[" * 100_000, "line 2 is not JSON", id="nested too deeply"),
            ("[1, 2]", "line 2 is not a JSON object"),
            ("null", "line 2 is not a JSON object"),
            ({"doc": "ACME", "text": "x"}, "line 2 lacks the field 'page'"),
            ({"doc": "ACME", "page": 1}, "line 2 lacks the field 'text'"),
            ({"page": 1, "text": "x"}, "line 2 lacks the field 'doc'"),
            (_row(None), "line 2 lacks the field 'page'"),
            (_row("1"), "line 2 has '1' for a page"),
            (_row(1.0), "line 2 has 1.0 for a page"),
            (_row(True), "line 2 has True for a page"),
            (_row(-1), "line 2 has -1 for a page"),
            (_row(MOST_PAGES + 1), "line 2 names page 100001, which is past any filing"),
            (_row(1, 5), "line 2 has a text that is not a string"),
            (_row(1, doc=7), "line 2 does not name its document"),
            (_row(1, doc=" "), "line 2 does not name its document"),
            (_row(0), "line 2 repeats page 0"),
            ('{"doc": "ACME", "page": 1, "text": "half \\ud83d"}', "line 2 holds half of a surrogate pair"),
        ],
    )
    def test_a_bad_line_refuses_the_file(self, tmp_path: Path, bad: object, reason: str) -> None:
        path = _lines(tmp_path / "ACME it's.jsonl", _row(0), bad, _row(5))
        for use in (lambda: read_page_text(path, "f"), lambda: first_texts(path, "page_text", 1)):
            with pytest.raises(FilingError) as caught:
                use()
            assert caught.value.reason.startswith(f"ACME it's.jsonl, {reason}")
            assert "one JSON object per line" in caught.value.remedy

    def test_two_documents_in_one_file(self, tmp_path: Path) -> None:
        path = _lines(tmp_path / "two.jsonl", _row(0, doc="ACME"), _row(1, doc="BOLT"))
        with pytest.raises(
            FilingError, match=r"two\.jsonl holds pages of several filings: \['ACME', 'BOLT'\]"
        ):
            read_page_text(path, "f")

    @pytest.mark.parametrize(
        ("contents", "reason"),
        [
            (b"", "a.jsonl holds no pages"),
            (b"\n \n\n", "a.jsonl holds no pages"),
            (b"\xef\xbb\xbf", "a.jsonl holds no pages"),
            ('{"doc": "Größe"}'.encode("latin-1"), "a.jsonl is not UTF-8 text (byte 11)"),
            ('{"doc": "A", "page": 0, "text": "x"}'.encode("utf-16"), "a.jsonl is not UTF-8 text (byte 0)"),
        ],
    )
    def test_files_without_pages(self, tmp_path: Path, contents: bytes, reason: str) -> None:
        path = tmp_path / "a.jsonl"
        path.write_bytes(contents)
        with pytest.raises(FilingError) as caught:
            read_page_text(path, "a")
        assert caught.value.reason.startswith(reason)
        assert caught.value.remedy

    @pytest.mark.parametrize("text", ["", " \n ", "(cid:12)(cid:44)(cid:7)" * 10])
    def test_no_usable_text_is_refused_without_talk_of_scans(
        self, tmp_path: Path, engine: Engine, text: str
    ) -> None:
        path = _lines(tmp_path / "a.jsonl", _row(0, text), _row(1, text))
        with pytest.raises(FilingError, match=r"a\.jsonl holds no usable text: all 2 pages") as caught:
            extract_pages(path, "a", "page_text", engine)
        assert "ocrmypdf" not in caught.value.remedy

    def test_garbled_pages_are_marked(self, tmp_path: Path, engine: Engine) -> None:
        path = _lines(tmp_path / "a.jsonl", _row(0, "Net sales rose."), _row(1, "\ufffd" * 60))
        assert extract_pages(path, "a", "page_text", engine)["needs_ocr"].to_pylist() == [False, True]


def test_first_texts(tmp_path: Path) -> None:
    pdf = _many_pages(tmp_path / "a.pdf", 5)
    assert first_texts(pdf, "pdf", 2) == ["This is page 0\n", "This is page 1\n"]
    text = _lines(tmp_path / "a.jsonl", _row(0, "x"), _row(1, "y"), _row(2, "z"))
    assert first_texts(text, "page_text", 2) == ["x", "y"]


def test_html_is_read_in_a_worker_with_the_numbers_it_prints(tmp_path: Path, engine: Engine) -> None:
    path = tmp_path / "a.htm"
    brk = '<hr style="page-break-after:always">'
    path.write_text(f"<p>Cover</p>{brk}<p>Sales</p><p>Page 2</p>{brk}<img><p>Page 3</p>{brk}<img>")
    pages = extract_pages(path, "a", "html", engine)
    assert pages["label"].to_pylist() == [None, "2", "3", None]
    assert pages["needs_ocr"].to_pylist() == [False, False, False, True]
    assert first_texts(path, "html", 2) == ["Cover", "Sales\nPage 2"]
    path.write_text("<div>" * 9999 + "x")
    with pytest.raises(FilingError, match=r"^a\.htm is nested too deeply"):
        extract_pages(path, "a", "html", engine)


class TestBounds:
    @pytest.mark.parametrize(
        ("of_page", "of_filing", "kept", "told"),
        [
            (20, 100, [3, 20, 3], "Pages 2 have more than 20 words; the rest is left out."),
            (200, 10, [3, 7, 0], "It has more than 10 words; those beyond are left out."),
            (200, 300, [3, 40, 3], None),
        ],
    )
    def test_words_beyond_all_measure_are_left_out(
        self,
        tmp_path: Path,
        engine: Engine,
        monkeypatch: pytest.MonkeyPatch,
        of_page: int,
        of_filing: int,
        kept: list[int],
        told: str | None,
    ) -> None:
        monkeypatch.setattr(pages, "MOST_WORDS", of_page)
        monkeypatch.setattr(pages, "MOST_WORDS_OF_FILING", of_filing)
        texts = ["one two three", " ".join(f"word{n}" for n in range(40)), "the last page"]
        path = small_filings.write_pdf(tmp_path / "long.pdf", texts)
        table = extract_pages(path, "f", "pdf", engine)
        assert table["word_count"].to_pylist() == kept
        assert [len(words) for words in table["words"].to_pylist()] == kept
        assert [len(text.split()) for text in table["text"].to_pylist()] == kept
        assert pages.left_out(kept) == told
        assert table.schema.equals(FILING_PAGES)
