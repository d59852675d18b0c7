"""Pictures as Dagster metadata."""

import base64

import dagster as dg


def picture(png: bytes, alt: str) -> dg.MetadataValue:
    """A PNG picture as Markdown metadata, shown in the UI."""
    return dg.MetadataValue.md(f"![{alt}](data:image/png;base64,{base64.b64encode(png).decode()})")
