"""Pages before a question is asked: their profiles, and their sentences with vectors."""

import dagster as dg
import pyarrow as pa

from finrag_pipeline.orchestration.assets.ingestion import filing_pages
from finrag_pipeline.orchestration.assets.tables import filing_row, part_fingerprint, statement_facts
from finrag_pipeline.orchestration.automation import on_changed_data
from finrag_pipeline.orchestration.fingerprints import profiles_fingerprint, sentences_fingerprint
from finrag_pipeline.orchestration.partitions import filings_partitions
from finrag_pipeline.orchestration.pools import VECTORS
from finrag_pipeline.orchestration.resources.settings import (
    LakeResource,
    SettingsResource,
    get_encoder,
)
from finrag_pipeline.orchestration.steps import (
    Step,
    each_partition,
    part_step,
    result,
    table_asset,
)
from finrag_pipeline.rankers.page_ranker import PROFILES_VERSION, SENTENCES_VERSION


@table_asset(
    statement_facts,
    group="chunking",
    version=PROFILES_VERSION,
    partitions=filings_partitions,
    automation=on_changed_data(),
)
def page_profiles(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """What can be said of each page before a question is asked: section, headings, statements, concepts."""
    store = lake.open()

    def work(key: str) -> Step:
        partition = {"filing": key}
        row = filing_row(store, key)
        parts = {
            name: part_fingerprint(store, name, key)
            for name in ("filing_pages", "page_tables", "statement_facts")
        }

        def make() -> pa.Table:
            from finrag_pipeline.rankers.page_ranker.profiles import page_profiles as profiles_of

            pages = store.read("filing_pages", partition, ["page", "text", "word_count"])
            tables = store.read("page_tables", partition, ["page", "table", "caption", "kind", "text"])
            return profiles_of(row, pages, tables, store.read("statement_facts", partition))

        wanted = profiles_fingerprint(parts, row)
        step = part_step(store, "page_profiles", key, partition, wanted, make, context.run.run_id)
        step.metadata = {"pages": step.rows}
        return step

    return result(each_partition(context, store, work))


@table_asset(
    filing_pages,
    group="indexing",
    version=SENTENCES_VERSION,
    partitions=filings_partitions,
    automation=on_changed_data(),
    pool=VECTORS,
)
def page_sentences(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """Sentences of each page with their vectors: the page ranker compares them with a question."""
    store = lake.open()
    encoder = get_encoder(settings.get(), store)

    def work(key: str) -> Step:
        partition = {"filing": key}
        pages = part_fingerprint(store, "filing_pages", key)

        def make() -> pa.Table:
            from finrag_pipeline.rankers.page_ranker.page_sentences import page_sentences as sentences_of

            rows = store.read("filing_pages", partition, ["filing", "page", "text", "needs_ocr"])
            return sentences_of(rows, encoder.embedder.embed)

        wanted = sentences_fingerprint(pages, encoder)
        step = part_step(store, "page_sentences", key, partition, wanted, make, context.run.run_id)
        step.metadata = {"sentences": step.rows}
        return step

    return result(each_partition(context, store, work))
