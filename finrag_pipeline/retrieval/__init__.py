"""Retrieval: retrievers, fusion, search spaces, the registry of systems, the runner. Knows no Dagster."""
