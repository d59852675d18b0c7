"""The detectors by name. A detector's module is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable

from finrag_pipeline.errors import UsageError
from finrag_pipeline.settings import TableSettings
from finrag_pipeline.tables.model import TableDetector


def _words(settings: TableSettings) -> TableDetector:
    from finrag_pipeline.tables.words.detector import WordsDetector

    return WordsDetector()


def _pymupdf(settings: TableSettings) -> TableDetector:
    from finrag_pipeline.tables.ruled import RuledDetector

    return RuledDetector()


def _tatr(settings: TableSettings) -> TableDetector:
    from finrag_pipeline.tables.tatr.detector import TatrDetector

    return TatrDetector(settings)


DETECTORS: dict[str, Callable[[TableSettings], TableDetector]] = {
    "words": _words,
    "pymupdf": _pymupdf,
    "tatr": _tatr,
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
