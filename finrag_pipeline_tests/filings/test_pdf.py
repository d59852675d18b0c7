"""Bad input, on real files: each is refused with a message that names file, reason and remedy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pymupdf
import pytest

from finrag_pipeline.errors import FilingError
from finrag_pipeline.filings.pdf import PdfInfo, inspect_pdf, read_pages, read_texts, render_page
from finrag_pipeline.schemas import FILING_PAGES, conform
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.filings import raw_pdf
from finrag_pipeline_tests.filings.raw_pdf import CATALOG, FONT, IMAGE, one_page, page_tree, stream

TEXTS = ["Cover page of the report", "Net sales were $1,577.0 million", "Notes to the statements"]


def _sound(path: Path, **save: object) -> Path:
    return small_filings.write_pdf(path, TEXTS, **save)


def _truncated_in_its_last_object(path: Path) -> Path:
    whole = _sound(path).read_bytes()
    path.write_bytes(whole[: whole.rindex(b" obj") + 10])
    return path


def _bytes(contents: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(contents)


def _objects(*objects: bytes) -> Callable[[Path], object]:
    return lambda path: raw_pdf.raw_pdf(path, *objects)


GARBAGE = bytes(range(256)) * 64
PAGE = b"<</Type/Page/Parent 2 0 R>>"
UNREADABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (small_filings.zero_bytes, "is empty (0 bytes)"),
    "cut in its first page": (small_filings.truncated, "is truncated: its end is missing"),
    "cut in its last object": (_truncated_in_its_last_object, "is truncated: its end is missing"),
    "garbage": (_bytes(GARBAGE), "is not a PDF"),
    "text": (_bytes(b"Net sales were 5.\n" * 50), "is not a PDF"),
    "other format": (small_filings.not_a_pdf, "is not a PDF"),
    "garbage with a header": (_bytes(b"%PDF-1.7\n" + GARBAGE + b"\n%%EOF\n"), "is corrupt"),
    "header alone": (_bytes(b"%PDF-1.7\n"), "is corrupt"),
    "encrypted": (small_filings.encrypted, "is encrypted and asks for a password"),
    "no pages": (_objects(CATALOG, page_tree(0)), "has no pages"),
    "no page tree": (_objects(b"<</Type/Catalog>>"), "has no pages"),
    "absurd count": (
        _objects(CATALOG, page_tree(1, count=2_000_000_000), PAGE),
        "its pages cannot be counted",
    ),
    "negative count": (_objects(CATALOG, page_tree(1, count=-5), PAGE), "its pages cannot be counted"),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_files_that_cannot_be_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "Ünï 'quoted' report.pdf"
    make, reason = UNREADABLE[kind]
    make(path)
    for use in (
        lambda: inspect_pdf(path),
        lambda: read_texts(path, 0, 1),
        lambda: read_pages(path, "filing", 0, 1),
        lambda: render_page(path, 0),
    ):
        with pytest.raises(FilingError) as caught:
            use()
        assert caught.value.reason.startswith("Ünï 'quoted' report.pdf ")
        assert reason in caught.value.reason
        assert caught.value.reason.endswith(".")
        assert not caught.value.reason.endswith("..")
        assert str(tmp_path) not in caught.value.reason
        assert caught.value.remedy.endswith(".")


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FilingError, match=r"no\.pdf cannot be opened: No such file or directory"):
        inspect_pdf(tmp_path / "no.pdf")
    (tmp_path / "folder.pdf").mkdir()
    with pytest.raises(FilingError, match=r"folder\.pdf cannot be opened: Is a directory"):
        inspect_pdf(tmp_path / "folder.pdf")


def test_a_truncated_file_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = small_filings.truncated(tmp_path / "half.pdf", 0.5)
    assert inspect_pdf(path) == PdfInfo(12, repaired=True, truncated=True)
    texts = [text.strip() for text in read_texts(path, 0, 99)]
    rows = read_pages(path, "half", 0, 99).to_pylist()
    assert [row["page"] for row in rows] == list(range(12))
    assert [" ".join(row["text"].split()) for row in rows] == [" ".join(text.split()) for text in texts]
    assert all(texts[:6]) and not any(texts[6:])
    assert not any(row["words"] or row["needs_ocr"] for row in rows[6:])


@pytest.mark.parametrize(
    ("change", "repaired"),
    [
        (lambda whole: whole, False),
        (lambda whole: b"HTTP/1.1 200 OK\r\n\r\n" + whole, False),
        (lambda whole: whole + b"\n<html><!-- appended by a server --></html>" * 200, True),
        (lambda whole: whole.replace(b"startxref\n", b"startxref\n9"), True),
    ],
    ids=["sound", "junk before", "junk after", "wrong cross-reference"],
)
def test_files_that_can_be_read_all_the_same(
    tmp_path: Path, change: Callable[[bytes], bytes], repaired: bool
) -> None:
    path = _sound(tmp_path / "report.pdf")
    path.write_bytes(change(path.read_bytes()))
    assert inspect_pdf(path) == PdfInfo(3, repaired)
    assert [text.strip() for text in read_texts(path, 0, 9)] == TEXTS


@pytest.mark.parametrize(
    "method", [pymupdf.PDF_ENCRYPT_RC4_40, pymupdf.PDF_ENCRYPT_RC4_128, pymupdf.PDF_ENCRYPT_AES_256]
)
def test_an_encrypted_file_without_a_user_password_works(tmp_path: Path, method: int) -> None:
    path = _sound(tmp_path / "report.pdf", encryption=method, owner_pw="owner", user_pw="", permissions=0)
    assert inspect_pdf(path).pages == 3
    assert read_pages(path, "f", 0, 3)["text"].to_pylist()[1].strip() == TEXTS[1]


def test_a_broken_page_is_named(tmp_path: Path) -> None:
    """A page tree that is a loop: it counts one page, which cannot be reached."""
    path = raw_pdf.raw_pdf(tmp_path / "loop.pdf", CATALOG, page_tree(1, first=2))
    for use in (read_texts, lambda *args: read_pages(path, "f", 0, 1)):
        with pytest.raises(FilingError, match=r"loop\.pdf: page 1 cannot be read"):
            use(path, 0, 1)
    with pytest.raises(FilingError, match=r"loop\.pdf: page 1 cannot be read"):
        render_page(path, 0)


class TestPages:
    def test_rows_fit_the_schema(self, tmp_path: Path) -> None:
        table = read_pages(_sound(tmp_path / "report.pdf"), "ACME", 0, 3)
        assert table.schema.equals(FILING_PAGES)
        assert conform(table, "filing_pages").num_rows == 3
        table.validate(full=True)
        rows = table.to_pylist()
        assert [row["page"] for row in rows] == [0, 1, 2]
        assert {row["filing"] for row in rows} == {"ACME"}
        assert [row["text"].strip() for row in rows] == TEXTS
        assert [row["characters"] for row in rows] == [len(row["text"]) for row in rows]
        assert [row["word_count"] for row in rows] == [len(text.split()) for text in TEXTS]
        assert (rows[0]["width"], rows[0]["height"], rows[0]["rotation"]) == (612.0, 792.0, 0)
        assert not any(row["needs_ocr"] for row in rows)

    def test_words_equal_the_library_s(self, tmp_path: Path) -> None:
        path = small_filings.annual_report(tmp_path / "report.pdf", "Ålder & Søn", 2021, pages=4)
        rows = read_pages(path, "f", 0, 9).to_pylist()
        with pymupdf.open(path) as document:
            for row, page in zip(rows, document, strict=True):
                expected = page.get_text("words")
                assert [word["text"] for word in row["words"]] == [word[4] for word in expected]
                for word, (*box, _, block, line, number) in zip(row["words"], expected, strict=True):
                    assert [word[name] for name in ("x0", "y0", "x1", "y1")] == pytest.approx(box, abs=1e-3)
                    assert (word["block"], word["line"], word["word"]) == (block, line, number)

    @pytest.mark.parametrize(
        ("start", "stop", "expected"), [(0, 1, [0]), (1, 3, [1, 2]), (2, 99, [2]), (5, 9, [])]
    )
    def test_a_range(self, tmp_path: Path, start: int, stop: int, expected: list[int]) -> None:
        path = _sound(tmp_path / "report.pdf")
        table = read_pages(path, "f", start, stop)
        assert table["page"].to_pylist() == expected
        assert [text.strip() for text in read_texts(path, start, stop)] == [TEXTS[n] for n in expected]
        assert table.schema.equals(FILING_PAGES)

    @pytest.mark.parametrize("rotation", [0, 90, 180, 270])
    def test_boxes_are_those_of_the_page_as_shown(self, tmp_path: Path, rotation: int) -> None:
        """A page that is drawn and turned so that it reads upright has upright words in reading order."""
        with pymupdf.open() as document:
            size = (500, 300) if rotation % 180 else (300, 500)
            page = document.new_page(width=size[0], height=size[1])
            for line, text in enumerate(("first upright line", "second line")):
                # Where (40, 50 + 20 line) of the page as shown lies on the unturned page.
                page.set_rotation(rotation)
                point = pymupdf.Point(40, 50 + 20 * line) * page.derotation_matrix
                page.insert_text(point, text, rotate=rotation)
            document.save(tmp_path / "turned.pdf")
        (row,) = read_pages(tmp_path / "turned.pdf", "f", 0, 1).to_pylist()
        assert (row["rotation"], row["width"], row["height"]) == (rotation, 300.0, 500.0)
        boxes = {word["text"]: word for word in row["words"]}
        assert list(boxes) == ["first", "upright", "line", "second"] or rotation
        for word in row["words"]:
            assert 0 <= word["x0"] < word["x1"] <= row["width"]
            assert 0 <= word["y0"] < word["y1"] <= row["height"]
            assert word["x1"] - word["x0"] > word["y1"] - word["y0"], "the word is wider than high"
        assert boxes["first"]["x0"] == pytest.approx(40, abs=1)
        assert boxes["first"]["x1"] < boxes["upright"]["x0"]
        assert boxes["first"]["y1"] <= boxes["second"]["y0"] + 6

    def test_page_labels(self, tmp_path: Path) -> None:
        path = tmp_path / "labels.pdf"
        with pymupdf.open(_sound(path)) as document:
            document.set_page_labels(
                [{"startpage": 0, "style": "r"}, {"startpage": 2, "prefix": "F-", "style": "D"}]
            )
            document.saveIncr()
        assert read_pages(path, "f", 0, 3)["label"].to_pylist() == ["i", "ii", "F-1"]
        assert read_pages(_sound(tmp_path / "plain.pdf"), "f", 0, 1)["label"].to_pylist() == [None]


class TestOcr:
    def _row(self, path: Path, page: int = 0) -> dict:
        return read_pages(path, "f", page, page + 1).to_pylist()[0]

    def test_a_scan(self, tmp_path: Path) -> None:
        row = self._row(small_filings.scanned(tmp_path / "scan.pdf"))
        assert (row["needs_ocr"], row["word_count"], row["image_count"], row["words"]) == (True, 0, 1, [])

    def test_a_scan_as_an_inline_image(self, tmp_path: Path) -> None:
        content = b"q 600 0 0 800 0 0 cm BI /W 2 /H 2 /CS /G /BPC 8 ID \x00\xff\x80\x10 EI Q"
        row = self._row(one_page(tmp_path / "scan.pdf", content))
        assert (row["needs_ocr"], row["image_count"]) == (True, 1)

    def test_a_blank_page_whose_resources_offer_an_image(self, tmp_path: Path) -> None:
        path = raw_pdf.raw_pdf(
            tmp_path / "shared.pdf",
            CATALOG,
            page_tree(2, entries=b"/Resources<</XObject<</I 7 0 R>>>>"),
            b"<</Type/Page/Parent 2 0 R/Contents 5 0 R>>",
            b"<</Type/Page/Parent 2 0 R/Contents 6 0 R>>",
            stream(b"q 600 0 0 800 0 0 cm /I Do Q"),
            stream(b"q Q"),
            IMAGE,
        )
        shown, blank = self._row(path, 0), self._row(path, 1)
        assert (shown["needs_ocr"], shown["image_count"]) == (True, 1)
        assert (blank["needs_ocr"], blank["image_count"]) == (False, 0)

    def test_text_drawn_as_outlines(self, tmp_path: Path) -> None:
        def letters(count: int) -> bytes:
            return b"".join(b"%d 700 m %d 705 l %d 700 l f " % (x, x + 3, x + 6) for x in range(count))

        assert self._row(one_page(tmp_path / "outlines.pdf", letters(300)))["needs_ocr"]
        assert not self._row(one_page(tmp_path / "ornament.pdf", letters(8)))["needs_ocr"]

    def test_a_picture_beside_text_needs_none(self, tmp_path: Path) -> None:
        content = b"q 90 0 0 90 0 0 cm /I Do Q BT /F 12 Tf 72 700 Td (Letter to shareholders) Tj ET"
        resources = b"/XObject<</I 5 0 R>>/Font<</F 6 0 R>>"
        row = self._row(one_page(tmp_path / "cover.pdf", content, resources, IMAGE, FONT))
        assert (row["needs_ocr"], row["image_count"], row["word_count"]) == (False, 1, 3)

    def test_a_font_without_a_usable_map_to_unicode(self, tmp_path: Path) -> None:
        text = b"Net sales were 1577 million in the year and rose by 3 percent over the last"
        path = raw_pdf.with_code_map(
            tmp_path / "garbled.pdf", text, b"1 beginbfrange <20> <7E> <E000> endbfrange"
        )
        row = self._row(path)
        assert row["needs_ocr"]
        assert row["text"].strip()[0] >= "\ue000"

    def test_half_a_surrogate_pair_becomes_a_sign_that_can_be_stored(self, tmp_path: Path) -> None:
        path = raw_pdf.with_code_map(tmp_path / "odd.pdf", b"ABC ABC", b"1 beginbfchar <41> <D800> endbfchar")
        row = self._row(path)
        assert row["text"].split() == ["\ufffdBC", "\ufffdBC"]
        assert [word["text"] for word in row["words"]] == ["\ufffdBC", "\ufffdBC"]


def test_rendering(tmp_path: Path) -> None:
    path = _sound(tmp_path / "report.pdf")
    png = render_page(path, 2, dpi=36)
    assert png.startswith(b"\x89PNG")
    assert (int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")) == (306, 396)
    for page in (3, -1):
        with pytest.raises(FilingError, match=rf"report\.pdf has no page {page + 1}"):
            render_page(path, page)


def test_importing_the_reader_does_not_load_the_library() -> None:
    code = "import sys, finrag_pipeline.filings.pdf; sys.exit('pymupdf' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
