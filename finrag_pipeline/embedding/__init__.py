"""Embedding: encoders, their backends, windows over long chunks, the vector cache. Knows no Dagster."""
