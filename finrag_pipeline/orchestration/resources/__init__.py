"""Dagster resources: the lake, the engine, the encoder.

Concept: https://docs.dagster.io/guides/build/external-resources
"""
