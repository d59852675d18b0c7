"""The written files: layout, PDFs, page numbers, determinism, repair."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pymupdf
import pytest
from rapidfuzz import fuzz

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.filings.describe import describe_filing
from finrag_pipeline.filings.originals import FilingSource
from finrag_pipeline.filings.xbrl import tag_rows
from finrag_pipeline.sample import generate
from finrag_pipeline.sample.generate import HTML, SAMPLE_VERSION, entries, write_sample
from finrag_pipeline.statements.tags import agreement, xbrl_facts
from finrag_pipeline.tables.context import TableContext
from finrag_pipeline.tables.html_tables import html_tables
from finrag_pipeline.tables.normalise import normalise_tables

ANNUAL = ("TORVEXLEY_2022_10K", "TORVEXLEY_2023_10K", "PELLAMOOR_2022_10K", "PELLAMOOR_2023_10K")
CALL = """
import pathlib, sys
from finrag_pipeline.sample.generate import write_sample
write_sample(pathlib.Path(sys.argv[1]))
"""


def contents(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def beside(target: Path) -> list[str]:
    """What stands beside a sample and itself, but for the lock that its writers hold."""
    return [p.name for p in target.parent.iterdir() if p.name != f".{target.name}.lock"]


def footer(page: pymupdf.Page) -> str:
    """What is printed below the text, that is, below the frame of the page."""
    words = [w[4] for w in page.get_text("words") if w[1] > page.rect.height - 50]
    return words[-1] if words else ""


def test_layout_and_size(sample: Path) -> None:
    files = contents(sample)
    assert set(files) == {
        "questions.jsonl",
        "document_information.jsonl",
        "VERSION",
        HTML,
        *(entry.path for entry in entries()),
    }
    assert files["VERSION"].decode().strip() == SAMPLE_VERSION
    assert sum(map(len, files.values())) < 1_000_000


def test_the_html_filing_is_read_as_it_is_tagged(sample: Path) -> None:
    path = sample / HTML
    row = describe_filing(path, FilingSource(path.stem, path.name, "html", 1, "", path.name)).to_pylist()[0]
    assert (row["company"], row["form"], row["fiscal_quarter"]) == ("TORVEXLEY INDUSTRIES, INC.", "10-Q", 1)
    tables = normalise_tables(path.stem, html_tables(path), TableContext())
    found = agreement(xbrl_facts(row, tag_rows(path), tables))[path.stem]
    assert found == (24, 24, 24, 24)


def test_pdfs_open_without_repair_and_are_short(sample: Path, page_texts: dict[str, list[str]]) -> None:
    for path in (sample / "pdfs").iterdir():
        with pymupdf.open(path) as pdf:
            assert not pdf.is_repaired
            assert not pdf.is_encrypted
            fonts = {font[3] for page in pdf for font in page.get_fonts()}
            assert fonts <= {
                f"{family}{style}"
                for family, styles in {
                    "Times": ("-Roman", "-Bold", "-Italic", "-BoldItalic"),
                    "Helvetica": ("", "-Bold", "-Oblique", "-BoldOblique"),
                }.items()
                for style in styles
            }
    assert sum(map(len, page_texts.values())) < 90
    for name in (*ANNUAL, "SUNDREVALE_2022_10K"):
        assert 10 <= len(page_texts[name]) <= 14
    assert all(text.strip() for texts in page_texts.values() for text in texts)


@pytest.mark.parametrize("name", ANNUAL)
def test_printed_page_numbers_differ_from_the_index(sample: Path, name: str) -> None:
    with pymupdf.open(sample / "pdfs" / f"{name}.pdf") as pdf:
        labels = [footer(page) for page in pdf]
    assert labels[:3] == ["", "i", "1"]
    assert all(label not in (str(i), str(i + 1)) for i, label in enumerate(labels))
    body = [label for label in labels if label.isdigit()]
    assert body == [str(i + 1) for i in range(len(body))]
    statements = [label for label in labels if label.startswith("F-")]
    assert statements == [f"F-{i + 1}" for i in range(len(statements))]
    assert len(body) + len(statements) == len(labels) - 2


def test_declared_page_labels_are_the_printed_ones(sample: Path) -> None:
    with pymupdf.open(sample / "pdfs" / "TORVEXLEY_2022_10K.pdf") as pdf:
        assert [page.get_label() for page in pdf] == [footer(page) or "Cover" for page in pdf]


@pytest.mark.parametrize("name", ANNUAL)
def test_table_of_contents_names_the_right_pages(sample: Path, name: str) -> None:
    with pymupdf.open(sample / "pdfs" / f"{name}.pdf") as pdf:
        by_label = {footer(page): page.get_text() for page in pdf}
    listed = re.findall(r"(Item \d+[AB]?\.)\n(.+)\n(\S+)\n", by_label["i"])
    assert len(listed) >= 9
    for item, title, label in listed:
        assert f"{item} {title}" in by_label[label].replace("\n", " ")


@pytest.mark.parametrize("name", [*ANNUAL, "SUNDREVALE_2022_10K"])
def test_a_statement_runs_over_two_pages(page_texts: dict[str, list[str]], name: str) -> None:
    title = "CONSOLIDATED STATEMENTS OF CASH FLOWS"
    first = next(i for i, text in enumerate(page_texts[name]) if f"{title}\n" in text)
    assert f"{title} (continued)\n" in page_texts[name][first + 1]


def test_consecutive_annual_reports_are_near_duplicates(page_texts: dict[str, list[str]]) -> None:
    earlier, later = ("\n".join(page_texts[f"TORVEXLEY_{year}_10K"]) for year in (2022, 2023))
    assert earlier != later
    assert fuzz.ratio(earlier, later) > 80
    other = "\n".join(page_texts["PELLAMOOR_2022_10K"])
    assert fuzz.ratio(earlier, other) < 60


def rows(page: pymupdf.Page) -> list[list[tuple]]:
    """Words of a page by line of print."""
    lines: dict[int, list[tuple]] = {}
    for word in page.get_text("words"):
        lines.setdefault(round(word[3]), []).append(word)
    return [sorted(words) for _, words in sorted(lines.items())]


def printed_rows(path: Path, title: str) -> dict[str, list[str]]:
    """Figures of the statement under ``title`` by label, read off the page by position."""
    found: dict[str, list[str]] = {}
    with pymupdf.open(path) as pdf:
        page = next(p for p in pdf if f"{title}\n" in p.get_text())
        for words in rows(page):
            texts = [w[4] for w in words if w[4] != "$"]
            figures = [t for t in texts if re.fullmatch(r"\(?[\d,.]+\)?|—", t)]
            if figures and texts[-len(figures) :] == figures:
                found.setdefault(" ".join(texts[: -len(figures)]), figures)
    return found


@pytest.mark.parametrize(
    ("company", "title"),
    [
        ("TORVEXLEY", "CONSOLIDATED STATEMENTS OF INCOME"),
        ("TORVEXLEY", "CONSOLIDATED STATEMENTS OF CASH FLOWS"),
        ("PELLAMOOR", "CONSOLIDATED STATEMENTS OF EARNINGS"),
    ],
)
def test_prior_year_columns_agree_with_the_prior_filing(sample: Path, company: str, title: str) -> None:
    earlier, later = (
        printed_rows(sample / "pdfs" / f"{company}_{year}_10K.pdf", title) for year in (2022, 2023)
    )
    shared = [label for label in earlier if label in later and len(earlier[label]) == 3]
    assert len(shared) >= 10
    for label in shared:
        assert earlier[label][:2] == later[label][1:], label


def test_figures_are_right_aligned_with_dollar_signs_apart(sample: Path) -> None:
    with pymupdf.open(sample / "pdfs" / "TORVEXLEY_2022_10K.pdf") as pdf:
        page = next(p for p in pdf if "CONSOLIDATED BALANCE SHEETS\n" in p.get_text())
        words = page.get_text("words")
    last = [w for w in words if w[0] > 510 and 110 < w[1] < 700]
    edges = [w[2] for w in last if re.fullmatch(r"[\d,]+", w[4])]
    assert len(edges) > 20
    assert max(edges) - min(edges) < 0.1
    assert sum(w[4] == "$" for w in words) >= 6
    # A closing parenthesis stands outside the column of digits.
    overhangs = [w[2] - edges[0] for w in last if w[4].endswith(")")]
    assert len(overhangs) >= 2
    assert overhangs == pytest.approx([3.1] * len(overhangs), abs=0.3)


def test_page_text_separates_labels_from_figures(page_texts: dict[str, list[str]]) -> None:
    page = next(t for t in page_texts["SUNDREVALE_2022_10K"] if "CONSOLIDATED BALANCE SHEETS\n" in t)
    lines = page.splitlines()
    labels = [
        lines.index(label) for label in ("Cash and cash equivalents", "Deferred revenue", "Total liabilities")
    ]
    first_figure = next(i for i, line in enumerate(lines) if re.fullmatch(r"[\d,]{5,}", line))
    assert max(labels) < first_figure


def test_page_text_rows(sample: Path) -> None:
    path = sample / "page_text" / "SUNDREVALE_2022_10K.jsonl"
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [record["page"] for record in records] == list(range(len(records)))
    assert all(set(record) == {"doc", "page", "text"} and record["doc"] == path.stem for record in records)
    assert not (sample / "pdfs" / "SUNDREVALE_2022_10K.pdf").exists()


def test_another_process_gives_the_same_bytes(sample: Path, tmp_path: Path) -> None:
    target = str(tmp_path / "corpus")
    environment = {**os.environ, "PYTHONHASHSEED": "4711"}
    subprocess.run([sys.executable, "-c", CALL, target], env=environment, check=True, timeout=120)
    assert contents(tmp_path / "corpus") == contents(sample)
    assert beside(tmp_path / "corpus") == ["corpus"]


def test_two_calls_at_once(sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Path] = []

    def copy(root: Path) -> None:
        written.append(root)
        time.sleep(0.05)
        shutil.copytree(sample, root)

    monkeypatch.setattr(generate, "_write", copy)
    target = tmp_path / "corpus"
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(write_sample, [target, target])) == [target, target]
    assert len(written) == 1
    assert contents(target) == contents(sample)
    assert beside(target) == ["corpus"]


def test_a_second_call_touches_nothing(sample: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in sample.rglob("*")}
    began = time.perf_counter()
    assert write_sample(sample) == sample
    assert time.perf_counter() - began < 1
    assert {p: p.stat().st_mtime_ns for p in sample.rglob("*")} == before


def test_damaged_outdated_and_interrupted_samples_are_replaced(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "corpus"
    # Only the repair is of interest here, so copying the sample stands for the three seconds of writing it.
    written: list[Path] = []

    def copy(root: Path) -> None:
        written.append(root)
        shutil.copytree(sample, root)

    monkeypatch.setattr(generate, "_write", copy)
    write_sample(target)
    (target / "pdfs" / "TORVEXLEY_2022_10K.pdf").unlink()
    write_sample(target)
    (target / "VERSION").write_text("0\n")
    (target / "pdfs" / "TORVEXLEY_1999_10K.pdf").write_bytes(b"of an older version")
    write_sample(target)
    (target / "VERSION").unlink()
    for leftover in (".corpus.partial/pdfs", ".corpus.old/pdfs"):  # of calls that were killed
        (tmp_path / leftover).mkdir(parents=True)
    write_sample(target)
    assert len(written) == 4
    assert contents(target) == contents(sample)
    assert beside(tmp_path / "corpus") == ["corpus"]


@pytest.mark.parametrize("stranger", ["notes.txt", "pdfs/REPORT_2020_10K.pdf"])
def test_a_folder_with_other_files_is_refused(tmp_path: Path, stranger: str) -> None:
    path = tmp_path / "folder" / stranger
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    with pytest.raises(BenchmarkError, match=path.name) as caught:
        write_sample(tmp_path / "folder")
    assert "empty folder" in caught.value.remedy
    assert path.read_text() == "mine"


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "corpus").write_text("mine")
    with pytest.raises(BenchmarkError, match="corpus"):
        write_sample(tmp_path / "corpus")
