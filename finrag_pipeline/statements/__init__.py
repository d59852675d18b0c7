"""Which page is which statement, line items as concepts, facts and their identities. Knows no Dagster."""
