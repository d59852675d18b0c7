"""Tables of a page: detectors behind one protocol, grids, and the values of their cells. Knows no Dagster."""
