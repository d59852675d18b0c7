"""Reranking: models that read question and text together, and their scores kept in the lake."""
