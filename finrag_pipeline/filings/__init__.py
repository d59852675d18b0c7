"""Filings: intake of files, reading of pages, identity read from the cover page. Knows no Dagster."""

IDENTITY_VERSION = "1"
"""Changes whenever a cover page may be read differently."""
