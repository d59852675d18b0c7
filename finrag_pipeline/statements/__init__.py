"""Which page is which statement, line items as concepts, facts and their identities. Knows no Dagster."""

FACTS_VERSION = "3"
"""Changes whenever the facts may change for the same tables."""
