"""Judging answers: automatic metrics, judges, human labels, and what all of them say together."""
