"""finrag_pipeline: financial filings to a searchable, measured index. Import concrete submodules directly."""

__version__ = "0.1.0"
