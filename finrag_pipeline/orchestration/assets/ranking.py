"""Page ranking: profiles of pages, and the rankers of pages learned from a benchmark's questions."""

from collections.abc import Iterator
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.orchestration.assets.benchmark import OWNERS
from finrag_pipeline.orchestration.assets.indexing import chunk_index, contextual_index
from finrag_pipeline.orchestration.assets.ingestion import filing_pages
from finrag_pipeline.orchestration.assets.learned import learned_asset
from finrag_pipeline.orchestration.assets.tables import filing_row, part_fingerprint, statement_facts
from finrag_pipeline.orchestration.automation import on_changed_data
from finrag_pipeline.orchestration.corpora import benchmark_filings
from finrag_pipeline.orchestration.fingerprints import profiles_fingerprint, sentences_fingerprint
from finrag_pipeline.orchestration.partitions import PRODUCTION, filings_partitions, fold_number
from finrag_pipeline.orchestration.pools import VECTORS
from finrag_pipeline.orchestration.resources.settings import (
    LakeResource,
    SettingsResource,
    get_encoder,
    get_resolver,
)
from finrag_pipeline.orchestration.steps import (
    Step,
    check,
    column_schema,
    each_partition,
    part_step,
    result,
    result_or_skipped,
    skipped_step,
)
from finrag_pipeline.rankers.page_ranker import PROFILES_VERSION, RANKER_VERSION, SENTENCES_VERSION


@dg.asset(
    deps=[statement_facts],
    partitions_def=filings_partitions,
    automation_condition=on_changed_data(),
    group_name="chunking",
    kinds={"python", "parquet"},
    owners=OWNERS,
    code_version=PROFILES_VERSION,
    metadata=column_schema("page_profiles"),
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


@dg.asset(
    deps=[filing_pages],
    partitions_def=filings_partitions,
    automation_condition=on_changed_data(),
    group_name="indexing",
    kinds={"python", "parquet"},
    owners=OWNERS,
    code_version=SENTENCES_VERSION,
    pool=VECTORS,
    metadata=column_schema("page_sentences"),
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


@learned_asset(
    "page_ranker", RANKER_VERSION, "lightgbm", page_profiles, page_sentences, chunk_index, contextual_index
)
def page_ranker(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """The ranker of pages for a fold, trained on those of the others; ``production`` learns from all.

    Where no question is left to learn from, nothing is materialised.
    """
    from finrag_pipeline.rankers.page_ranker.library import PageLibrary
    from finrag_pipeline.rankers.page_ranker.training import (
        check_no_leak,
        is_kept,
        keep_model,
        page_examples,
        train_page_ranker,
        training_fingerprint,
    )

    store, values = lake.open(), settings.get()
    names = benchmark_filings(store)
    encoder = get_encoder(values, store)
    library = PageLibrary(store, values, encoder)
    questions = store.read("benchmark_questions")
    questions = questions.filter(pc.equal(questions["status"], "measured"))
    fold_of = dict(
        zip(*(store.read("folds")[name].to_pylist() for name in ("question_id", "fold")), strict=True)
    )
    rows = questions.to_pylist()
    known: list[Any] = []

    def examples() -> list[Any]:
        if not known:  # shared by the folds of this run
            resolver = get_resolver(values, store, names)
            known.extend(page_examples(rows, encoder.embed_short, library, resolver, names))
        return known

    def work(key: str) -> Step:
        left_out = None if key == PRODUCTION else fold_number(key)
        chosen = [n for n, row in enumerate(rows) if fold_of[row["question_id"]] != left_out]
        tested = [row for row in rows if fold_of[row["question_id"]] == left_out]
        learned = [rows[n] for n in chosen]
        wanted = training_fingerprint(learned, library, names, values.seed)
        partition = {"fold": key}
        known_part = store.info("page_ranker", partition)
        if known_part and not (learned and is_kept(store, known_part.fingerprint)):
            store.remove("page_ranker", partition)  # its model is gone, damaged or of other questions
        if not learned:
            problem = "There is no question outside the fold to learn from."
            return skipped_step(store, "page_ranker", key, problem, context.run.run_id)

        def make() -> pa.Table:
            ids = [row["question_id"] for row in learned]
            check_no_leak(ids, [row["filing"] for row in learned], tested, f"The page ranker of {key}")
            found = examples()
            model = train_page_ranker(learned, [found[n] for n in chosen], values.seed, wanted)
            keep_model(model, store, wanted)
            share = model.importance()
            return pa.table({"feature": list(share), "gain": list(share.values())})

        step = part_step(store, "page_ranker", key, partition, wanted, make, context.run.run_id)
        step.checks = [check("no_leak", True, trained_on=len(learned), tested=len(tested))]
        step.metadata = {"questions": len(learned)}
        return step

    yield from result_or_skipped(each_partition(context, store, work), ["no_leak"])
