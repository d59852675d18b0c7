"""All that a filing prints as rows, of tables and told in sentences, and what it says of its parts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import lru_cache

from finrag_pipeline.answering.part_descriptions import PartDescriptions
from finrag_pipeline.answering.part_sections import part_sections
from finrag_pipeline.answering.printed_acronyms import acronyms, spelled_out, speller
from finrag_pipeline.answering.sentence_rows import sentence_rows
from finrag_pipeline.statements.filed_facts import read_info
from finrag_pipeline.statements.filing_rows import FILINGS_KEPT, FilingRow, FilingRows
from finrag_pipeline.storage.lake import Lake


class PrintedRows(FilingRows):
    """Rows of tables, and what sentences tell, of the filings of a lake that have tables.

    They know the part of the company that their section is about, and have names in place of acronyms.
    """

    def __init__(self, lake: Lake) -> None:
        super().__init__(lake)
        self.parts = lru_cache(FILINGS_KEPT)(self._parts)

    def _parts(self, filing: str) -> PartDescriptions:
        """What a filing says of its parts."""
        pages = self._pages(filing)
        spell = speller(acronyms(text for _, text in pages))
        return PartDescriptions(self.of(filing), [(page, spell(text)) for page, text in pages])

    def _pages(self, filing: str) -> list[tuple[int, str]]:
        pages = self._lake.read("filing_pages", {"filing": filing}, ["page", "text"])
        return [(page, text or "") for page, text in zip(*pages.to_pydict().values(), strict=True)]

    def _read(self, filing: str) -> list[FilingRow]:
        texts = self._pages(filing)
        tables = self._tables(filing)
        cells: defaultdict[int, set[str]] = defaultdict(set)
        for page, text in zip(tables["page"].to_pylist(), tables["text"].to_pylist(), strict=True):
            cells[page].add(text.strip())
        info = read_info(self._lake.read("filings", {"filing": filing}).to_pylist()[0])
        rows = self._rows_of(filing, tables)
        sections = part_sections(rows, texts, cells)
        parts = (sections.get((row.page, row.table)) for row in rows)
        rows = [replace(row, section=part) if part else row for row, part in zip(rows, parts, strict=True)]
        return list(spelled_out([*rows, *sentence_rows(texts, info)], acronyms(text for _, text in texts)))
