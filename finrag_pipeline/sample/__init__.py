"""The sample corpus: fictitious filings written as real PDFs, with questions. Knows no Dagster."""

SAMPLE_NAME = "sample"
"""Name of the benchmark that it makes."""
