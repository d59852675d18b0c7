"""One row of the table ``filings``: what a filing is, and whether it can be read at all."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from finrag_pipeline.engine import Engine
from finrag_pipeline.errors import FilingError
from finrag_pipeline.filings import TEXT_ONLY
from finrag_pipeline.filings.forms import CURRENT, form_family
from finrag_pipeline.filings.html import read_html
from finrag_pipeline.filings.identity import find_conflicts, merge_declared, read_identity
from finrag_pipeline.filings.names import (
    DeclaredIdentity,
    FilingIdentity,
    declared_from_document_information,
    declared_from_name,
)
from finrag_pipeline.filings.originals import FilingSource
from finrag_pipeline.filings.pages import first_texts
from finrag_pipeline.filings.pdf import inspect_pdf, truncated
from finrag_pipeline.filings.submission import day_filed, read_file
from finrag_pipeline.filings.xbrl import read_tags, tagged_identity
from finrag_pipeline.schemas import FILINGS

_FIRST_PAGES = 60


def describe_filing(path: Path, source: FilingSource) -> pa.Table:
    """Identity and readability of the original at ``path``: one row of ``filings``.

    A file that cannot be read becomes a row that says so.
    """
    listed = source.document_information
    declared, conflicts = merge_declared(
        declared_from_name(source.filing), declared_from_document_information(listed) if listed else None
    )
    pages, warnings, filed = 0, [], None
    try:
        if source.source == "pdf":
            info = inspect_pdf(path)
            pages, texts = info.pages, first_texts(path, source.source, _FIRST_PAGES)
            if info.truncated:
                lost = sum(not text.strip() for text in first_texts(path, source.source, pages))
                if lost == pages:
                    raise truncated(path.name)
                warnings.append(f"the file is truncated: {lost} of {pages} pages are lost")
            elif info.repaired:
                warnings.append("the file is damaged and was repaired while reading")
        else:
            texts = first_texts(path, source.source)
            pages = len(texts)
            if source.source == "page_text":
                warnings.append(TEXT_ONLY)
            else:
                filed = day_filed(read_file(path))
        identity = read_identity(texts[:_FIRST_PAGES])
        if pages > _FIRST_PAGES and (identity.form is None or identity.company is None):
            # An illustrated annual report may stand before the cover page.
            identity = read_identity(first_texts(path, source.source, pages))
        if source.source == "html" and (tagged := tagged_identity(read_tags(read_html(path)))):
            identity = _as_tagged(identity, tagged)
    except FilingError as error:
        # The original has a name of its own in the lake; people know the file by the name it came with.
        failure = FilingError(error.reason.replace(path.name, source.file_name), error.remedy)
        return _row(source, declared, failure, pages=pages, conflicts=conflicts, warnings=warnings)
    found = {
        **asdict(identity),
        "filed": filed,
        "conflicts": [*conflicts, *find_conflicts(identity, declared)],
    }
    return _row(source, declared, pages=pages, warnings=warnings, **found)


def _as_tagged(read: FilingIdentity, tagged: FilingIdentity) -> FilingIdentity:
    """What the cover is tagged with, else what was read; a release behind it has a period of its own."""
    said: dict[str, Any] = {name: value for name, value in asdict(tagged).items() if value is not None}
    if read.fiscal_quarter and form_family(tagged.form) == CURRENT:
        return replace(read, **{name: said[name] for name in ("company", "form", "ticker") if name in said})
    return replace(read, **{"fiscal_quarter": None, **said})


def describe_in_worker(path: Path, source: FilingSource, engine: Engine) -> pa.Table:
    """`describe_filing` in a worker process: a file that crashes or hangs the reader harms nobody else."""
    workers = engine.reader if source.source == "html" else engine
    (result,) = workers.map(describe_filing, [(path, source)])
    if not isinstance(result, Exception):
        return result
    failure = FilingError(
        f"{source.file_name}: reading its cover failed: {result}.",
        "Export the filing again, or ingest it as page text (JSONL).",
    )
    return _row(source, declared_from_name(source.filing), failure, pages=0, conflicts=[], warnings=[])


def _row(
    source: FilingSource, declared: DeclaredIdentity, failure: FilingError | None = None, **found: Any
) -> pa.Table:
    row = {
        "filing": source.filing,
        "status": "failed" if failure else "ok",
        "reason": failure.reason if failure else None,
        "remedy": failure.remedy if failure else None,
        **{name: getattr(source, name) for name in ("file_name", "source", "bytes", "sha256")},
        "declared_company": declared.company,
        "declared_form": declared.form,
        "declared_year": declared.fiscal_year,
        "declared_quarter": declared.fiscal_quarter,
        "sector": (source.document_information or {}).get("gics_sector"),
        **found,
    }
    return pa.Table.from_pylist([row], schema=FILINGS)
