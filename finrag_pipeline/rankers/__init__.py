"""Everything learned that ranks pages: one recipe, one loop, one card, one registry. Knows no Dagster.

`page_ranker/` is gradient-boosted trees over features of pages; `page_scorer` and `reranker` are fine-tuned
transformers, a bi-encoder and a cross-encoder. Each is trained without the questions of a fold (`recipe`),
kept with a card that says what it has seen (`card`), and found through the `registry`.
"""

SCORER_VERSION = "1"
"""Raised when the same pairs and settings would give another page scorer, or a page scorer other scores."""

RERANKER_TRAINING_VERSION = "1"
"""Raised when the same pairs and settings would give another reranker, or a reranker other scores."""
