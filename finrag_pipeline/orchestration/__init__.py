"""Orchestration: everything that knows Dagster, kept thin. The domain never imports from here."""
