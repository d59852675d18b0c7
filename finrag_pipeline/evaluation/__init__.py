"""Evaluation: benchmark questions, per-question scores, intervals, slices, TREC export. Knows no Dagster."""

from finrag_pipeline.answering import FINAL_VERSION

ANSWER_METRICS_VERSION = f"2.{FINAL_VERSION}"
"""Changes whenever the value of any metric of answers may change."""
