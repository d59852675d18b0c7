"""One browser for all tests of the report: two drivers of Playwright cannot live in one process."""

from __future__ import annotations

from finrag_pipeline_tests.reporting.browser import browser, page, visit

__all__ = ["browser", "page", "visit"]
