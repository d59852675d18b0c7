"""Storage: the Parquet lake, fingerprints, the DuckDB warehouse, the LanceDB vectors. Knows no Dagster."""
