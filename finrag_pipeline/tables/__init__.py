"""Tables of a page: detectors behind one protocol, grids, and the values of their cells. Knows no Dagster."""

TABLES_VERSION = "23"
"""Changes whenever the normalised tables may change for the same detector."""
