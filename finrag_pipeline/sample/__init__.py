"""The sample corpus: fictitious filings written as real PDFs, with questions. Knows no Dagster."""
