"""Dagster assets, one thin module per stage.

Concept: https://docs.dagster.io/guides/build/assets
"""
