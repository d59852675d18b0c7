"""Chunking: pages to the pieces of text that retrievers rank. Knows no Dagster."""
