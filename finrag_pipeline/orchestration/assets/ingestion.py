"""Ingestion: from an original in the lake to its identity and its pages."""

from collections.abc import Iterator

import dagster as dg
import pyarrow as pa

from finrag_pipeline.errors import FilingError, FinragError
from finrag_pipeline.filings.intake import (
    collect_from_inbox,
    drop_older_originals,
    get_source,
    original_path,
)
from finrag_pipeline.filings.pages import extract_pages
from finrag_pipeline.orchestration.automation import on_changed_data
from finrag_pipeline.orchestration.fingerprints import filings_fingerprint, pages_fingerprint
from finrag_pipeline.orchestration.partitions import filings_partitions
from finrag_pipeline.orchestration.resources.settings import EngineResource, LakeResource, SettingsResource
from finrag_pipeline.orchestration.steps import (
    DATA_ENGINEERING,
    Step,
    check,
    each_partition,
    failure,
    part_step,
    result,
    table_asset,
)


@table_asset(
    group="ingestion",
    partitions=filings_partitions,
    owner=DATA_ENGINEERING,
    blocking_checks={"readable": "The file can be opened and read."},
    checks={"identity_agrees": "Cover page, file name and declared identity agree."},
)
def filings(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource, engine: EngineResource
) -> Iterator[dg.MaterializeResult]:
    """Identity of a filing, read from its cover page and checked against its name and declared identity.

    Takes the file out of the inbox when it waits there. A file that cannot be read becomes a row that
    says why, and stops the rest of its own run only. Where the lake holds pages of the filing, they and
    their row stay.
    """
    store, values = lake.open(), settings.get()
    unreadable: dict[str, FinragError] = {}

    def work(key: str) -> Step:
        collect_from_inbox(store, key, values.max_filing_bytes, engine.open())
        source = get_source(store, key)

        def make() -> pa.Table:
            from finrag_pipeline.filings.describe import describe_in_worker

            with store.local_copy(original_path(store, source)) as path:
                described = describe_in_worker(path, source, engine.open())
            (row,) = described.to_pylist()
            if row["status"] == "failed" and store.info("filing_pages", {"filing": key}):
                raise FilingError(row["reason"], row["remedy"])
            return described

        step = part_step(
            store, "filings", key, {"filing": key}, filings_fingerprint(source), make, context.run.run_id
        )
        row = store.read("filings", {"filing": key}).to_pylist()[0]
        failed = row["status"] == "failed"
        reason, remedy = row["reason"] or "", row["remedy"] or ""
        if failed:
            unreadable[key] = FilingError(reason, remedy)
            store.record("filings", key, "failed", error=reason, remedy=remedy, run_id=context.run.run_id)
        step.checks = [
            check(
                "readable",
                not failed,
                description=f"{reason} {remedy}" if failed else None,
                reason=reason,
                remedy=remedy,
            ),
            check(
                "identity_agrees",
                not row["conflicts"],
                warn=True,
                description="; ".join(row["conflicts"]) or None,
            ),
        ]
        step.metadata = {
            "pages": row["pages"],
            "company": row["company"] or "unknown",
            "form": row["form"] or "unknown",
            "period_end": str(row["period_end"] or "unknown"),
            "warnings": "; ".join(row["warnings"]) or "none",
        }
        return step

    yield result(each_partition(context, store, work))
    if unreadable:
        # After the row and its checks: people who look at the run read the reason, not the name of a check.
        raise failure(unreadable)


@table_asset(
    filings,
    group="ingestion",
    partitions=filings_partitions,
    owner=DATA_ENGINEERING,
    automation=on_changed_data(),
    blocking_checks={"has_pages": "At least one page."},
    checks={"text_layer": "No page needs optical character recognition."},
)
def filing_pages(
    context: dg.AssetExecutionContext, lake: LakeResource, engine: EngineResource
) -> dg.MaterializeResult:
    """Text, words with boxes, and counts of every page, read in worker processes."""
    store, workers = lake.open(), engine.open()

    def work(key: str) -> Step:
        source = get_source(store, key)

        def make() -> pa.Table:
            try:
                with store.local_copy(original_path(store, source)) as path:
                    return extract_pages(path, key, source.source, workers)
            except FilingError as error:
                # People know the file by the name it came with, not by the one the lake keeps it under.
                reason = error.reason.replace(source.original, source.file_name)
                raise FilingError(reason, error.remedy) from error

        partition = {"filing": key}
        step = part_step(
            store, "filing_pages", key, partition, pages_fingerprint(source), make, context.run.run_id
        )
        drop_older_originals(store, source)
        counts = store.read("filing_pages", partition, ["needs_ocr", "word_count", "characters"])
        scanned = [n + 1 for n, needs_ocr in enumerate(counts["needs_ocr"].to_pylist()) if needs_ocr]
        step.checks = [
            check("has_pages", counts.num_rows > 0, pages=counts.num_rows),
            check(
                "text_layer",
                not scanned,
                warn=True,
                description=f"pages without usable text: {scanned[:20]}" if scanned else None,
                pages=len(scanned),
            ),
        ]
        step.metadata = {
            "pages": counts.num_rows,
            "words": sum(counts["word_count"].to_pylist()),
            "characters": sum(counts["characters"].to_pylist()),
            "pages_per_second": round(counts.num_rows / step.seconds, 1) if step.seconds else 0.0,
        }
        return step

    return result(each_partition(context, store, work))
