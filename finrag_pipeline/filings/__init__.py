"""Filings: intake of files, reading of pages, identity read from the cover page. Knows no Dagster."""

IDENTITY_VERSION = "8"
"""Changes whenever a cover page may be read differently."""

TEXT_ONLY = "text only: no tables"
"""Said of a filing that came as page text: without boxes nothing tells which number has which label."""
