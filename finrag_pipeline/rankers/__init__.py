"""Everything learned that ranks pages: one recipe, one loop, one card, one registry. Knows no Dagster."""
