"""Reporting: tables, plots and the static report. Knows no Dagster."""
