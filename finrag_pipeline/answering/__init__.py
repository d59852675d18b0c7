"""Answers with proof: calculated from facts, quoted from pages, or written by a model held to both."""

FINAL_VERSION = "1"
"""Changes whenever the part of an answer that is scored may be another."""
