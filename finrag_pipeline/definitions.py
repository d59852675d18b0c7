"""Entry point of the Dagster code location."""

from finrag_pipeline.orchestration.build import build_definitions

defs = build_definitions()
