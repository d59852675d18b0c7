"""Ingestion: from an original in the lake to its identity and its pages."""

import pyarrow as pa

from finrag_pipeline.errors import FilingError
from finrag_pipeline.filings.intake import (
    collect_from_inbox,
    drop_older_originals,
    get_source,
    original_path,
)
from finrag_pipeline.filings.pages import extract_pages
from finrag_pipeline.orchestration.fingerprints import source_facts
from finrag_pipeline.orchestration.steps import Part, Step, check, table_asset


@table_asset(
    blocking_checks={"readable": "The file can be opened and read."},
    checks={"identity_agrees": "Cover page, file name and declared identity agree."},
)
def filings(part: Part) -> Step:
    """Identity of a filing, read from its cover page and checked against its name and declared identity.

    Takes the file out of the inbox when it waits there. A file that cannot be read becomes a row that
    says why, and stops the rest of its own run only. Where the lake holds pages of the filing, they and
    their row stay.
    """
    store, key = part.store, part.key
    collect_from_inbox(store, key, part.values.max_filing_bytes, part.run.engine)
    source = get_source(store, key)

    def make() -> pa.Table:
        from finrag_pipeline.filings.describe import describe_in_worker

        with store.local_copy(original_path(store, source)) as path:
            described = describe_in_worker(path, source, part.run.engine)
        (row,) = described.to_pylist()
        if row["status"] == "failed" and store.info("filing_pages", part.partition):
            raise FilingError(row["reason"], row["remedy"])
        return described

    step = part.made(make, *source_facts("filings", source))
    row = part.filing
    failed = row["status"] == "failed"
    reason, remedy = row["reason"] or "", row["remedy"] or ""
    if failed:
        step.failure = FilingError(reason, remedy)
        part.failed(step.failure)
    told = f"{reason} {remedy}" if failed else None
    conflicts = "; ".join(row["conflicts"]) or None
    step.checks = [
        check("readable", not failed, description=told, reason=reason, remedy=remedy),
        check("identity_agrees", not row["conflicts"], warn=True, description=conflicts),
    ]
    step.metadata = {
        "pages": row["pages"],
        "company": row["company"] or "unknown",
        "form": row["form"] or "unknown",
        "period_end": str(row["period_end"] or "unknown"),
        "warnings": "; ".join(row["warnings"]) or "none",
    }
    return step


@table_asset(
    blocking_checks={"has_pages": "At least one page."},
    checks={"text_layer": "No page needs optical character recognition."},
)
def filing_pages(part: Part) -> Step:
    """Text, words with boxes, and counts of every page, read in worker processes."""
    store = part.store
    source = get_source(store, part.key)

    def make() -> pa.Table:
        try:
            with store.local_copy(original_path(store, source)) as path:
                return extract_pages(path, part.key, source.source, part.run.engine)
        except FilingError as error:
            # People know the file by the name it came with, not by the one the lake keeps it under.
            reason = error.reason.replace(source.original, source.file_name)
            raise FilingError(reason, error.remedy) from error

    step = part.made(make, *source_facts("filing_pages", source))
    drop_older_originals(store, source)
    counts = part.read(columns=["needs_ocr", "word_count", "characters"])
    scanned = [n + 1 for n, needs_ocr in enumerate(counts["needs_ocr"].to_pylist()) if needs_ocr]
    told = f"pages without usable text: {scanned[:20]}" if scanned else None
    step.checks = [
        check("has_pages", counts.num_rows > 0, pages=counts.num_rows),
        check("text_layer", not scanned, warn=True, description=told, pages=len(scanned)),
    ]
    step.metadata = {
        "pages": counts.num_rows,
        "words": sum(counts["word_count"].to_pylist()),
        "characters": sum(counts["characters"].to_pylist()),
        "pages_per_second": round(counts.num_rows / step.seconds, 1) if step.seconds else 0.0,
    }
    return step
