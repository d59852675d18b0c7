"""All tables of a filing, from its pages to the rows of ``page_tables``, by one of the detectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from finrag_pipeline.engine import Engine
from finrag_pipeline.errors import FilingError, Problem, UsageError
from finrag_pipeline.schemas import PAGE_TABLES
from finrag_pipeline.settings import TableSettings
from finrag_pipeline.storage.model_folders import model_here, model_problem
from finrag_pipeline.storage.torch_models import read_config
from finrag_pipeline.tables.context import filing_context
from finrag_pipeline.tables.html_tables import html_tables
from finrag_pipeline.tables.model import TableDetector
from finrag_pipeline.tables.normalise import normalise_tables
from finrag_pipeline.tables.ruled import RuledDetector
from finrag_pipeline.tables.tatr import TatrDetector
from finrag_pipeline.tables.words.detector import WordsDetector
from finrag_pipeline.tables.words_of_pages import page_words

DETECTORS: dict[str, Callable[[TableSettings], TableDetector]] = {
    "words": lambda _: WordsDetector(),
    "pymupdf": lambda _: RuledDetector(),
    "tatr": TatrDetector,
}
"""How each detector is made."""


def get_detector(name: str, settings: TableSettings) -> TableDetector:
    """The detector called ``name``.

    Raises:
        UsageError: there is no such detector.
        FinragError: it lacks something, such as the weights of its models.
    """
    if name not in DETECTORS:
        raise UsageError(f"There is no table detector '{name}'.", f"Choose one of {', '.join(DETECTORS)}.")
    return DETECTORS[name](settings)


def detector_problem(name: str, settings: TableSettings) -> Problem | None:
    """Why a detector cannot run here; None when it can. Loads and fetches nothing."""
    if name != "tatr":
        return None
    for stage in ("detection", "structure"):
        model, revision = getattr(settings, f"{stage}_model"), getattr(settings, f"{stage}_revision")
        variable = f"FINRAG_TABLES__{stage.upper()}_MODEL"
        if problem := model_problem(model, revision, variable):
            return problem
        folder = model_here(model, revision, variable)
        own = folder is not None and read_config(folder).get("use_timm_backbone") is False
        lost = [package for package in ("timm", "torchvision") if find_spec(package) is None]
        if lost and not own:
            return Problem(f"{lost[0]} is not installed.", "pip install 'finrag_pipeline[tatr]'")
    return None


def extract_tables(
    filing: Mapping[str, Any],
    pages: pa.Table,
    settings: TableSettings,
    path: Path,
    engine: Engine,
) -> pa.Table:
    """Cells of all tables of a filing, with their values; none of a filing that came as page text.

    Made from its rows of ``filings`` and ``filing_pages``; ``path`` is its original. HTML says itself where
    its tables are, and is read by ``engine``; of plain text, which has no picture, the words tell.

    Returns:
        Rows of ``page_tables``.

    Raises:
        FinragError: the detector cannot run.
    """
    name, source = str(filing["filing"]), filing["source"]
    if source == "page_text":
        # Without boxes nothing tells which number stands beside which label.
        return PAGE_TABLES.empty_table()
    words = page_words(pages)
    if source == "html":
        (tables,) = engine.reader.map(html_tables, [(path,)])
        if isinstance(tables, Exception):
            raise FilingError(
                f"The tables of {name} cannot be read: {tables}.", "Ingest it as a PDF."
            ) from tables
    else:
        detector = get_detector(settings.detector if source == "pdf" else WordsDetector.name, settings)
        tables = [table for found in detector.detect(words, path) for table in found]
    return normalise_tables(name, tables, filing_context(dict(filing), [page.text for page in words]))
