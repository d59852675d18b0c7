"""Answers with proof: calculated from facts, quoted from pages, or written by a model held to both."""
