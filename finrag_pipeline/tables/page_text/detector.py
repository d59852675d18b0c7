"""The detector ``page_text``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from finrag_pipeline.tables.model import FilingWords, PageWords, Table
from finrag_pipeline.tables.page_text.lines import read_lines
from finrag_pipeline.tables.page_text.regions import find_regions
from finrag_pipeline.tables.page_text.solve import solve
from finrag_pipeline.tables.page_text.tables import build_table

_DIGIT = re.compile(r"\d")
_LEAST_DIGITS = 8


class PageTextDetector:
    """Tables put together from text: there are no boxes, so all boxes are zero."""

    name = "page_text"
    version = "1"

    def detect(self, filing: FilingWords, pages: Sequence[int] | None = None) -> Iterator[list[Table]]:
        """Tables of each page in the order of its text; one list per page. Raises nothing."""
        wanted = None if pages is None else set(pages)
        by_number = {page.page: page for page in filing.pages if wanted is None or page.page in wanted}
        for number in (page.page for page in filing.pages) if pages is None else pages:
            yield self._tables(by_number[number]) if number in by_number else []

    def _tables(self, page: PageWords) -> list[Table]:
        if len(_DIGIT.findall(page.text)) < _LEAST_DIGITS:
            return []
        tables = []
        for region in find_regions(read_lines(page.text), page.page):
            solved = solve(region)
            table = build_table(region, solved, page.page, self.name) if solved is not None else None
            if table is not None:
                tables.append(table)
        return tables
