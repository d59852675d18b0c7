"""Reporting: tables, plots and the static report. Knows no Dagster."""

REPORT_VERSION = "6"
"""Changes whenever its pages may look different."""

EXPLORER_VERSION = "5"
"""Changes whenever the pages of the explorer may look different."""

PICTURES_VERSION = "2"
"""Changes whenever a picture of the same page of a filing may look different."""
