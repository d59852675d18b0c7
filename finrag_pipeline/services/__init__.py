"""A loaded lake: search, ask, evaluate, list, show.

The command line, the HTTP service and notebooks call these. Nothing here prints, parses arguments
or knows Dagster.
"""
