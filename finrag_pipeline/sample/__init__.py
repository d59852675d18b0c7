"""The sample corpus: fictitious filings written as real PDFs, with questions. Knows no Dagster."""

SAMPLE_NAME = "sample"
"""Name of the benchmark that it makes."""

EXAMPLES = (
    "What was Torvexley's capital expenditure in FY2023, in USD millions?",
    "What is Pellamoor's inventory turnover ratio for FY2023?",
    "What was the effective tax rate of Torvexley in FY2023?",
)
"""Questions that its filings answer, to try first."""
