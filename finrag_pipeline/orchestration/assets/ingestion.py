"""Ingestion: from an original in the lake to its identity and its pages."""

import dagster as dg
import pyarrow as pa

from finrag_pipeline.filings.describe import describe_filing
from finrag_pipeline.filings.intake import collect_from_inbox, get_source, original_path
from finrag_pipeline.filings.pages import extract_pages
from finrag_pipeline.orchestration.automation import on_changed_data
from finrag_pipeline.orchestration.fingerprints import filings_fingerprint, pages_fingerprint
from finrag_pipeline.orchestration.partitions import filings_partitions
from finrag_pipeline.orchestration.resources.settings import EngineResource, LakeResource, SettingsResource
from finrag_pipeline.orchestration.steps import Step, check, column_schema, each_partition, part_step, result

OWNERS = ["team:data-engineering"]
# One run per filing: a filing that fails then fails alone, and each keeps a data version of its own.
ONE_FILING_PER_RUN = dg.BackfillPolicy.multi_run(max_partitions_per_run=1)


@dg.asset(
    partitions_def=filings_partitions,
    backfill_policy=ONE_FILING_PER_RUN,
    group_name="ingestion",
    kinds={"python", "parquet"},
    owners=OWNERS,
    code_version="1",
    metadata=column_schema("filings"),
    check_specs=[
        dg.AssetCheckSpec(
            "readable", asset="filings", blocking=True, description="The file can be opened and read."
        ),
        dg.AssetCheckSpec(
            "identity_agrees",
            asset="filings",
            description="Cover page, file name and declared identity agree.",
        ),
    ],
)
def filings(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """Identity of a filing, read from its cover page and checked against its name and declared identity.

    Takes the file out of the inbox when it waits there. A file that cannot be read becomes a row that
    says why, and stops the rest of its own run only.
    """
    store, values = lake.open(), settings.get()

    def work(key: str) -> Step:
        collect_from_inbox(store, key, values.max_filing_bytes)
        source = get_source(store, key)

        def make() -> pa.Table:
            with store.local_copy(original_path(store, source)) as path:
                return describe_filing(path, source)

        step = part_step(
            store, "filings", key, {"filing": key}, filings_fingerprint(source), make, context.run_id
        )
        row = store.read("filings", {"filing": key}).to_pylist()[0]
        failed = row["status"] == "failed"
        if failed:
            reason, remedy = row["reason"], row["remedy"]
            store.record("filings", key, "failed", error=reason, remedy=remedy, run_id=context.run_id)
            context.log.error(f"{key}: {reason} {remedy}")
        step.checks = [
            check("readable", not failed, reason=row["reason"] or "", remedy=row["remedy"] or ""),
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

    return result(each_partition(context, work))


@dg.asset(
    deps=[filings],
    partitions_def=filings_partitions,
    backfill_policy=ONE_FILING_PER_RUN,
    automation_condition=on_changed_data(),
    group_name="ingestion",
    kinds={"python", "parquet"},
    owners=OWNERS,
    code_version="1",
    metadata=column_schema("filing_pages"),
    check_specs=[
        dg.AssetCheckSpec("has_pages", asset="filing_pages", blocking=True, description="At least one page."),
        dg.AssetCheckSpec(
            "text_layer", asset="filing_pages", description="No page needs optical character recognition."
        ),
    ],
)
def filing_pages(
    context: dg.AssetExecutionContext, lake: LakeResource, engine: EngineResource
) -> dg.MaterializeResult:
    """Text, words with boxes, and counts of every page, read in worker processes."""
    store, workers = lake.open(), engine.open()

    def work(key: str) -> Step:
        source = get_source(store, key)

        def make() -> pa.Table:
            with store.local_copy(original_path(store, source)) as path:
                return extract_pages(path, key, source.source, workers)

        partition = {"filing": key}
        step = part_step(
            store, "filing_pages", key, partition, pages_fingerprint(source), make, context.run_id
        )
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

    return result(each_partition(context, work))
