"""Dagster asset checks over the whole corpus.

Concept: https://docs.dagster.io/guides/test/asset-checks
"""
