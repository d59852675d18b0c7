"""Filings of the generated sample with all that questions are derived from, without Dagster."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from finrag_pipeline.filings.describe import describe_filing
from finrag_pipeline.filings.intake import accept, original_path
from finrag_pipeline.filings.pages import read_page_text
from finrag_pipeline.filings.pdf import read_pages
from finrag_pipeline.page_ranker.profiles import page_profiles
from finrag_pipeline.sample.generate import entries
from finrag_pipeline.sample.readback import read_back
from finrag_pipeline.sample.typesetting import typeset
from finrag_pipeline.settings import TableSettings
from finrag_pipeline.statements.facts import statement_facts
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.tables.extract import extract_tables
from finrag_pipeline.tables.words_of_pages import filing_words
from finrag_pipeline_tests.small_filings import write_lines

Tables = dict[str, pa.Table]


@lru_cache(maxsize=4)
def sample_filing(name: str) -> Tables:
    """Tables of a filing of the sample, by their name in the lake."""
    entry = next(entry for entry in entries() if entry.name == name)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.pdf"
        document = typeset(entry.build())
        path.write_bytes(document.pdf)
        if entry.as_text:
            texts = read_back(path, name, document.places).pages
            rows = [{"doc": name, "page": page, "text": text} for page, text in enumerate(texts)]
            path = write_lines(Path(folder) / f"{name}.jsonl", rows)
        lake = Lake(Path(folder) / "lake")
        source = accept(lake, path)
        original = Path(original_path(lake, source))
        identity = describe_filing(original, source)
        (row,) = identity.to_pylist()
        pages = (
            read_page_text(original, name) if entry.as_text else read_pages(original, name, 0, row["pages"])
        )
        cells = extract_tables(row, pages, TableSettings(), None if entry.as_text else original)
        facts = statement_facts(name, cells, filing_words(name, pages), row["form"])
        profiles = page_profiles(row, pages, cells, facts)
    return {"filings": identity, "filing_pages": pages, "statement_facts": facts, "page_profiles": profiles}


def write_sample_filing(lake: Lake, name: str) -> None:
    """Bring a filing of the sample into a lake."""
    for table, rows in sample_filing(name).items():
        lake.write(table, rows, f"{table} {name}", {"filing": name})


def parts(name: str) -> tuple[dict[str, Any], list[str], list[dict[str, Any]], list[dict[str, Any]]]:
    """Identity, texts, profiles and facts of a filing of the sample, as questions are derived from them."""
    tables = sample_filing(name)
    return (
        tables["filings"].to_pylist()[0],
        tables["filing_pages"]["text"].to_pylist(),
        tables["page_profiles"].to_pylist(),
        tables["statement_facts"].to_pylist(),
    )
