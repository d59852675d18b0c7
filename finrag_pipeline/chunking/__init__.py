"""Chunking: pages to the pieces of text that retrievers rank. Knows no Dagster."""

CONTEXTUAL_VERSION = "1"
"""Changes whenever context-aware chunks may change for the same pages and tables."""
