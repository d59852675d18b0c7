"""Which filings a question asks about: company, fiscal periods and form, read by rule."""

RESOLVER_VERSION = "4"
"""Changes whenever a question may be read differently."""
