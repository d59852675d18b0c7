"""Concurrency pools, one slot each by the instance's default limit.

Concept: https://docs.dagster.io/guides/operate/managing-concurrency
"""

WAREHOUSE = "duckdb_write"
VECTORS = "lance_write"
