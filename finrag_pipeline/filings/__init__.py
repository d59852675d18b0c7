"""Filings: intake of files, reading of pages, identity read from the cover page. Knows no Dagster."""
