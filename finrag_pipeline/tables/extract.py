"""All tables of a filing, from its pages to the rows of ``page_tables``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from finrag_pipeline.settings import TableSettings
from finrag_pipeline.tables.detectors import detector_for
from finrag_pipeline.tables.normalise import filing_context, normalise_tables
from finrag_pipeline.tables.words_of_pages import filing_words


def extract_tables(
    filing: Mapping[str, Any], pages: pa.Table, settings: TableSettings, path: Path | None = None
) -> pa.Table:
    """Cells of all tables of a filing, with their values.

    Args:
        filing: its row of ``filings``.
        pages: its rows of ``filing_pages``.
        settings: which detector.
        path: the PDF, for detectors that look at pictures.

    Returns:
        Rows of ``page_tables``.

    Raises:
        FinragError: the detector cannot run.
    """
    words = filing_words(str(filing["filing"]), pages, path)
    detector = detector_for(words, settings)
    tables = [table for found in detector.detect(words) for table in found]
    context = filing_context(dict(filing), [page.text for page in words.pages])
    return normalise_tables(words.filing, tables, context)


def detector_versions() -> dict[str, str]:
    """Version of the code of every detector that needs no weights; part of the fingerprint of tables."""
    from finrag_pipeline.tables.page_text.detector import PageTextDetector
    from finrag_pipeline.tables.words.detector import WordsDetector

    return {detector.name: detector.version for detector in (WordsDetector, PageTextDetector)}
