"""Evaluation: benchmark questions, per-question scores, intervals, slices, TREC export. Knows no Dagster."""
