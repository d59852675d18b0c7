"""Page ranker: which pages of the candidate filings a question needs, and why."""

PROFILES_VERSION = "3"
"""Changes whenever the profiles of pages may change."""

SENTENCES_VERSION = "1"
"""Changes whenever the sentences of pages may change."""

RANKER_VERSION = "12"
"""Changes whenever features or training may change."""
