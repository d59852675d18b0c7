"""The detector ``words``: tables of born-digital pages from word boxes alone."""

from finrag_pipeline.tables.words.continuation import inherited_header
from finrag_pipeline.tables.words.detector import WordsDetector, detect_page

__all__ = ["WordsDetector", "detect_page", "inherited_header"]
