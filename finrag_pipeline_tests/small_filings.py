"""Tiny filings and benchmarks for tests: real PDFs of a few lines, and every way a file can be bad."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pymupdf

WIDTH, HEIGHT = 612, 792


def texts(company: str, year: int, pages: int = 3) -> list[str]:
    """Texts of the pages of a made-up annual report; no two pages of any two reports are the same."""
    cover = (
        "UNITED STATES\nSECURITIES AND EXCHANGE COMMISSION\nWashington, D.C. 20549\n\nFORM 10-K\n\n"
        f"ANNUAL REPORT PURSUANT TO SECTION 13 OR 15(d)\nFor the fiscal year ended December 31, {year}\n\n"
        f"{company}\n(Exact name of registrant as specified in its charter)\n"
    )
    rest = [
        f"{company} annual report {year}, part {n}.\nThe revenue of division {n} was ${100 * n + year % 100} million "
        f"in {year}.\nIts capital expenditure on warehouses of kind {n} came to ${7 * n + year % 10} million."
        for n in range(1, pages)
    ]
    return [cover, *rest]


def write_pdf(path: Path, pages: Sequence[str], **save: Any) -> Path:
    """A PDF with one page per text; ``save`` goes to PyMuPDF (encryption, passwords)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with pymupdf.open() as document:
        for text in pages:
            page = document.new_page(width=WIDTH, height=HEIGHT)
            box = pymupdf.Rect(50, 50, WIDTH - 50, HEIGHT - 50)
            left = page.insert_textbox(box, text, fontsize=11 if len(text) < 2500 else 4)
            assert left >= 0, "the text does not fit on the page"
        document.save(path, **save)
    return path


def annual_report(path: Path, company: str, year: int, pages: int = 3) -> Path:
    """`texts` as a PDF."""
    return write_pdf(path, texts(company, year, pages))


def zero_bytes(path: Path) -> Path:
    path.write_bytes(b"")
    return path


def not_a_pdf(path: Path) -> Path:
    path.write_bytes(b"PK\x03\x04 this is a spreadsheet that somebody renamed")
    return path


def truncated(path: Path, share: float = 0.05) -> Path:
    """The head of a sound file, as a broken download leaves it: with no page whole, or half of 12 pages at 0.5."""
    whole = annual_report(path, "Cut Short Corp", 2021, pages=12).read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    return path


def encrypted(path: Path) -> Path:
    return write_pdf(
        path,
        texts("Locked Corp", 2020),
        encryption=pymupdf.PDF_ENCRYPT_AES_256,
        owner_pw="owner",
        user_pw="user",
    )


def scanned(path: Path, pages: int = 2) -> Path:
    """Pages that are pictures: a document without any text layer."""
    with pymupdf.open() as picture_source, pymupdf.open() as document:
        sheet = picture_source.new_page(width=WIDTH, height=HEIGHT)
        sheet.insert_text((72, 72), "A picture of text is not text.")
        picture = sheet.get_pixmap(dpi=40).tobytes("png")
        for _ in range(pages):
            page = document.new_page(width=WIDTH, height=HEIGHT)
            page.insert_image(page.rect, stream=picture)
        document.save(path)
    return path


def question(
    number: int, filing: str, page: int, company: str = "Alder Corp", **changes: Any
) -> dict[str, Any]:
    """One question in FinanceBench's fields, with its evidence on ``page`` (zero-based) of ``filing``."""
    record = {
        "financebench_id": f"small_{number:03d}",
        "question": f"What was the revenue of division {page} that {filing} reports?",
        "answer": f"${100 * page} million",
        "justification": "Stated in the text.",
        "question_type": "metrics-generated" if number % 2 else "domain-relevant",
        "question_reasoning": "Information extraction",
        "company": company,
        "doc_name": filing,
        "evidence": [
            {
                "doc_name": filing,
                "evidence_page_num": page,
                "evidence_text": f"The revenue of division {page} was ${100 * page} million",
            }
        ],
    }
    return {**record, **changes}


def write_lines(path: Path, records: Sequence[dict[str, Any] | str]) -> Path:
    """A JSON Lines file; a record that is a string is written as it stands."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        record if isinstance(record, str) else json.dumps(record, ensure_ascii=False) for record in records
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


COMPANIES = {
    "ALDER_2021_10K": ("Alder Corp", 2021),
    "BIRCH_2022_10K": ("Birch Corp", 2022),
    "CEDAR_2023_10K": ("Cedar Corp", 2023),
}


def small_benchmark(folder: Path, pages: int = 3) -> Path:
    """Three sound filings and six questions on them."""
    for name, (company, year) in COMPANIES.items():
        annual_report(folder / "pdfs" / f"{name}.pdf", company, year, pages)
    rows = [
        question(2 * number + page, name, page, company)
        for number, (name, (company, _)) in enumerate(COMPANIES.items())
        for page in (1, 2)
    ]
    write_lines(folder / "questions.jsonl", rows)
    return folder
