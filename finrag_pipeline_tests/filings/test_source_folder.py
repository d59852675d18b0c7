from __future__ import annotations

from pathlib import Path

import pytest

from finrag_pipeline.errors import BenchmarkError, UsageError
from finrag_pipeline.filings.originals import read_source_folder


def _write(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"contents of {name}")
    return folder


class TestBenchmark:
    def test_financebench_s_layout(self, tmp_path: Path) -> None:
        folder = _write(
            tmp_path / "bench",
            "pdfs/B_2022_10K.pdf",
            "pdfs/A_2021_10K.PDF",
            "pdfs/notes.txt",
            "page_text_missing10/C_2020_10K.jsonl",
            "page_text_missing10/A_2021_10K.jsonl",
            "page_text_missing10/D_2020_10K.pdf",
            "financebench_open_source.jsonl",
            "financebench_document_information.jsonl",
            "inventory.json",
        )
        source = read_source_folder(folder)
        assert source.name == "bench"
        assert {name: path.name for name, path in source.files.items()} == {
            "A_2021_10K": "A_2021_10K.PDF",
            "B_2022_10K": "B_2022_10K.pdf",
            "C_2020_10K": "C_2020_10K.jsonl",
        }
        assert source.questions == folder / "financebench_open_source.jsonl"
        assert source.documents == folder / "financebench_document_information.jsonl"

    @pytest.mark.parametrize(
        ("names", "what"),
        [
            (["a_open_source.jsonl", "questions.jsonl"], "questions"),
            (["a_document_information.jsonl", "b_document_information.jsonl"], "document information"),
        ],
    )
    def test_an_ambiguous_one_is_refused(self, tmp_path: Path, names: list[str], what: str) -> None:
        _write(tmp_path, "pdfs/a.pdf", *names)
        with pytest.raises(BenchmarkError, match=f"Several files of {what}") as caught:
            read_source_folder(tmp_path)
        assert all(name in caught.value.reason for name in names)


class TestCorpus:
    def test_a_folder_of_files(self, tmp_path: Path) -> None:
        _write(tmp_path, "b.pdf", "A.PDF", "c.jsonl", "x.docx", ".hidden.pdf", "sub/d.pdf")
        source = read_source_folder(tmp_path)
        assert {name: path.name for name, path in source.files.items()} == {
            "A": "A.PDF",
            "b": "b.pdf",
            "c": "c.jsonl",
        }
        assert (source.questions, source.documents) == (None, None)

    def test_questions_beside_the_filings_are_no_filing(self, tmp_path: Path) -> None:
        _write(tmp_path, "a.pdf", "questions.jsonl", "x_document_information.jsonl")
        source = read_source_folder(tmp_path)
        assert list(source.files) == ["a"]
        assert source.questions == tmp_path / "questions.jsonl"

    def test_a_pdf_goes_before_page_text_of_the_same_filing(self, tmp_path: Path) -> None:
        _write(tmp_path, "a.jsonl", "a.pdf", "page_text/a.jsonl")
        assert read_source_folder(tmp_path).files == {"a": tmp_path / "a.pdf"}

    def test_html_goes_before_a_pdf(self, tmp_path: Path) -> None:
        _write(tmp_path, "a.pdf", "a.htm", "b.html", "LICENSE.txt")
        files = read_source_folder(tmp_path).files
        assert files == {"a": tmp_path / "a.htm", "b": tmp_path / "b.html"}

    @pytest.mark.parametrize("names", [[], ["x.docx"], ["pdfs/x.docx"]])
    def test_nothing_in_it(self, tmp_path: Path, names: list[str]) -> None:
        with pytest.raises(BenchmarkError, match="holds no filings"):
            read_source_folder(_write(tmp_path, *names))

    def test_no_folder(self, tmp_path: Path) -> None:
        for path in (tmp_path / "missing", _write(tmp_path, "a.pdf") / "a.pdf"):
            with pytest.raises(BenchmarkError, match="is not a folder"):
                read_source_folder(path)


class TestCollisions:
    def test_two_files_of_one_identifier_are_both_listed(self, tmp_path: Path) -> None:
        source = read_source_folder(_write(tmp_path / "in", "a.PDF", "a.pdf", "b.pdf"))
        assert {name: path.name for name, path in source.files.items()} == {
            "a": "a.pdf",
            "a.PDF": "a.PDF",
            "b": "b.pdf",
        }

    def test_identical_files_of_one_identifier_are_one_filing(self, tmp_path: Path) -> None:
        _write(tmp_path, "a.pdf")
        (tmp_path / "a.PDF").write_bytes((tmp_path / "a.pdf").read_bytes())
        assert read_source_folder(tmp_path).files == {"a": tmp_path / "a.pdf"}

    def test_different_files_of_one_name_in_two_folders_are_refused(self, tmp_path: Path) -> None:
        _write(tmp_path, "pdfs/b.pdf", "page_text_1/a.jsonl", "page_text_2/a.jsonl")
        with pytest.raises(
            BenchmarkError, match=r"different files called a\.jsonl, in page_text_1/ and page_text_2/"
        ):
            read_source_folder(tmp_path)


class TestSelect:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return _write(tmp_path, "a.pdf", "b c.pdf", "株式会社.pdf")

    def test_by_name_by_file_name_and_by_number(self, folder: Path) -> None:
        source = read_source_folder(folder)
        assert list(source.select(["a"], None).files) == ["a"]
        assert list(source.select(["株式会社.pdf", "a.pdf", "a"], None).files) == ["a", "株式会社"]
        assert [path.name for path in source.select(["b c.pdf"], None).files.values()] == ["b c.pdf"]
        assert list(source.select(None, 2).files) == list(source.files)[:2]
        assert source.select(None, None) == source.select([], 99) == source

    def test_an_unknown_name(self, folder: Path) -> None:
        with pytest.raises(UsageError, match="holds no filing nope") as caught:
            read_source_folder(folder).select(["a", "nope"], None)
        assert "3 filings" in caught.value.remedy
