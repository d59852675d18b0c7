"""Training of a cross-encoder reranker, on the pairs and hard negatives of the page scorer."""

RERANKER_TRAINING_VERSION = "1"
"""Raised when the same pairs and settings would give another model, or a model other scores."""
