"""What is made of a filing: identity, pages, tables and facts, chunks, profiles, sentences, vectors.

And the lexical index over all of them.
"""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.chunking.fixed import PARENTS, chunk_pages
from finrag_pipeline.chunking.fixed import parent_child_chunks as make_parent_child_chunks
from finrag_pipeline.chunking.registry import CONTEXTUAL, FIXED, PARENT_CHILD, Chunking
from finrag_pipeline.errors import FilingError, LakeError
from finrag_pipeline.filings.intake import collect_from_inbox
from finrag_pipeline.filings.originals import drop_older_originals, get_source, name_in_lake, read_original
from finrag_pipeline.filings.pages import extract_pages, left_out
from finrag_pipeline.orchestration.lineage import source_facts
from finrag_pipeline.orchestration.steps import Part, Step, check, picture, table_asset
from finrag_pipeline.retrieval.chunk_index import index_chunks, open_chunk_index, searchable_filings, to_index
from finrag_pipeline.schemas import XBRL_FACTS
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.statements.identities import IdentityResult


@table_asset(
    blocking_checks={"readable": "The file can be opened and read."},
    checks={"identity_agrees": "Cover page, file name and declared identity agree."},
    optional=True,
)
def filings(part: Part) -> Step:
    """Identity of a filing, read from its cover page and checked against its name and declared identity.

    Takes the file out of the inbox when it waits there. A file that cannot be read becomes a row that
    says why, and stops the rest of its own run only. Where the lake holds pages of the filing, they and
    their row stay.
    """
    store, key = part.store, part.key
    collect_from_inbox(store, key, part.values.max_filing_bytes, part.run.engine)
    if (first := name_in_lake(store, key)) != key:
        return part.skipped(f"It is the same file as filing '{first}', which goes by both names.")
    source = get_source(store, key)

    def make() -> pa.Table:
        from finrag_pipeline.filings.describe import describe_in_worker

        with read_original(store, source) as path:
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
    description = f"{reason} {remedy}" if failed else None
    conflicts = "; ".join(row["conflicts"]) or None
    step.checks = [
        check("readable", not failed, description=description, reason=reason, remedy=remedy),
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
    checks={
        "text_layer": "No page needs optical character recognition.",
        "within_bounds": "No page and no filing has more words than are kept.",
    },
)
def filing_pages(part: Part) -> Step:
    """Text, words with boxes, and counts of every page, read in worker processes."""
    store = part.store
    source = get_source(store, part.key)

    def make() -> pa.Table:
        try:
            with read_original(store, source) as path:
                return extract_pages(path, part.key, source.source, part.run.engine)
        except FilingError as error:
            # People know the file by the name it came with, not by the one the lake keeps it under.
            reason = error.reason.replace(source.original, source.file_name)
            raise FilingError(reason, error.remedy) from error

    step = part.made(make, *source_facts("filing_pages", source))
    drop_older_originals(store, source)
    counts = part.read(columns=["needs_ocr", "word_count", "characters"])
    scanned = [n + 1 for n, needs_ocr in enumerate(counts["needs_ocr"].to_pylist()) if needs_ocr]
    description = f"pages without usable text: {scanned[:20]}" if scanned else None
    if cut := left_out(counts["word_count"].to_pylist()):
        part.warn(step, cut)
    step.checks = [
        check("has_pages", counts.num_rows > 0, pages=counts.num_rows),
        check("text_layer", not scanned, warn=True, description=description, pages=len(scanned)),
        check("within_bounds", not cut, warn=True, description=cut),
    ]
    step.metadata = {
        "pages": counts.num_rows,
        "words": sum(counts["word_count"].to_pylist()),
        "characters": sum(counts["characters"].to_pylist()),
        "pages_per_second": round(counts.num_rows / step.seconds, 1) if step.seconds else 0.0,
    }
    return step


PRIMARY = ("income_statement", "financial_position", "cash_flows")
PERIODIC = ("10-K", "10-Q")
PICTURE_DPI = 70  # every materialisation keeps one in the event log


@table_asset(checks={"values_have_a_scale": "Every value names its scale."})
def page_tables(part: Part) -> Step:
    """Cells of every table: headers, period, value in full units, and the words that set its scale."""
    store = part.store

    def make() -> pa.Table:
        from finrag_pipeline.tables.extract import extract_tables

        source = get_source(store, part.key)
        with read_original(store, source) as path:
            pages = part.read("filing_pages")
            return extract_tables(part.filing, pages, part.values.tables, path, part.run.engine)

    step = part.made(make)
    read = part.read(columns=["page", "table", "kind", "value", "scale", "reason"])
    page, table, kind, value, scale, reason = (read[name].to_pylist() for name in read.column_names)
    unscaled = sum(v is not None and s is None for v, s in zip(value, scale, strict=True))
    tables = set(zip(page, table, strict=True))
    step.checks = [check("values_have_a_scale", not unscaled, warn=True, unscaled=unscaled)]
    step.metadata = {
        "tables": len(tables),
        "pages_with_tables": len(set(page)),
        "numbers": kind.count("number"),
        "unreadable_cells": sum(v is None and bool(why) for v, why in zip(value, reason, strict=True)),
    }
    return step


@table_asset(checks={"read_as_tagged": "Cells of tables have the values and periods that the filer tagged."})
def xbrl_facts(part: Part) -> Step:
    """Numbers that the filer tagged (inline XBRL): concept, period, dimensions, and the cell they stand in.

    What was read of the cells is compared with the tags; statements then take the tags.
    """
    from finrag_pipeline.statements.tags import agreement, differences
    from finrag_pipeline.statements.tags import xbrl_facts as facts_of_tags

    store = part.store
    source = get_source(store, part.key)

    def make() -> pa.Table:
        from finrag_pipeline.filings.xbrl import read_tag_rows

        if source.source != "html":
            return XBRL_FACTS.empty_table()
        with read_original(store, source) as path:
            tags = read_tag_rows(path, part.run.engine)
        return facts_of_tags(part.filing, tags, part.read("page_tables"))

    step = part.made(make)
    tags = part.read()
    described = "; ".join(differences(tags)) or None
    step.checks = [check("read_as_tagged", not described, warn=True, description=described)]
    for found in agreement(tags).values():
        step.metadata = {**found._asdict(), "read_as_tagged": str(found)}
    return step


@table_asset(
    checks={
        "primary_statements_found": "Income statement, financial position and cash flows "
        "of a 10-K or 10-Q are found.",
        "balance_sheet_balances": "Assets equal liabilities and equity, for every balance sheet date.",
        "identities_hold": "Cash flows add up, and cash and net income agree between statements.",
        "subtotals_add_up": "The rows under a heading add up to their total.",
    },
)
def statement_facts(part: Part) -> Step:
    """Values of the statements by concept and period, each with the page and cell it stands in."""

    def make() -> pa.Table:
        from finrag_pipeline.statements.facts import statement_facts as facts_of_statements

        texts = part.read("filing_pages", ["page", "text"]).sort_by("page")["text"].to_pylist()
        tables, tags = part.read("page_tables"), part.read("xbrl_facts")
        return facts_of_statements(part.key, tables, texts, part.filing["form"], tags=tags)

    step = part.made(make)
    facts = part.read()
    step.checks, step.metadata = _checks(facts, part.filing)
    if not step.cache_hit and (drawn := _balance_sheet(part.store, part.key, facts)):
        step.metadata["balance_sheet"] = drawn
    return step


def _balance_sheet(store: Lake, key: str, facts: pa.Table) -> dg.MetadataValue | None:
    """The page of the primary balance sheet with what was read from it, for people to look at."""
    from finrag_pipeline.reporting.page_pictures import page_picture
    from finrag_pipeline.statements.facts import find_facts

    found = find_facts(facts, statement="financial_position").to_pylist()
    if not found:
        return None
    page = found[0]["page"]
    cells = store.read("page_tables", {"filing": key})
    png = page_picture(
        store,
        key,
        page,
        cells.filter(pc.equal(cells["page"], page)).to_pylist(),
        [fact for fact in found if fact["page"] == page],
        PICTURE_DPI,
    )
    return picture(png, f"page {page + 1}: tables blue, headers violet, facts green") if png else None


def _checks(facts: pa.Table, filing: Mapping[str, Any]) -> tuple[list[dg.AssetCheckResult], dict[str, Any]]:
    from finrag_pipeline.statements.identities import check_identities, check_subtotals

    pairs = set(zip(facts["statement"].to_pylist(), facts["scope"].to_pylist(), strict=True))
    missing = [name for name in PRIMARY if (name, "primary") not in pairs]
    due = filing["form"] in PERIODIC
    # An identity that lacks a part is neither met nor broken.
    outcomes = [one for one in check_identities(facts) if one.passed is not None]
    description = f"not found: {', '.join(missing)}" if missing and due else None
    checks = [
        check("primary_statements_found", not (missing and due), warn=True, description=description),
        _add_up("balance_sheet_balances", [one for one in outcomes if one.name == "balance"]),
        _add_up("identities_hold", outcomes),
        _add_up("subtotals_add_up", [one for one in check_subtotals(facts) if one.passed is not None]),
    ]
    concepts = [concept for concept in facts["concept"].to_pylist() if concept]
    return checks, {
        "facts": facts.num_rows,
        "facts_with_concept": len(concepts),
        "concepts": len(set(concepts)),
        "identities_pass_rate": _rate(outcomes),
    }


def _add_up(name: str, outcomes: "list[IdentityResult]") -> dg.AssetCheckResult:
    wrong = [one for one in outcomes if not one.passed]
    lines = [
        # Some identities name several values, and then the note says which.
        f"{one.name} ({one.period}): {one.note}"
        if one.left is None or one.right is None
        else f"{one.name} ({one.period}): {one.left:,.2f} is not {one.right:,.2f}"
        for one in wrong[:10]
    ]
    figures = {"pass_rate": _rate(outcomes), "checked": len(outcomes)}
    return check(name, not wrong, warn=True, description="; ".join(lines) or None, **figures)


def _rate(outcomes: "list[IdentityResult]") -> float:
    return round(sum(bool(one.passed) for one in outcomes) / len(outcomes), 4) if outcomes else 1.0


@table_asset()
def page_profiles(part: Part) -> Step:
    """What can be said of each page before a question is asked: section, headings, statements, concepts."""

    def make() -> pa.Table:
        from finrag_pipeline.rankers.page_ranker.profiles import page_profiles as profiles_of

        pages = part.read("filing_pages", ["page", "text", "word_count"])
        tables = part.read("page_tables", ["page", "table", "caption", "kind", "text"])
        return profiles_of(part.filing, pages, tables, part.read("statement_facts"))

    step = part.made(make)
    step.metadata = {"pages": step.rows}
    return step


@table_asset()
def page_sentences(part: Part) -> Step:
    """Sentences of each page with their vectors: the page ranker compares them with a question."""

    def make() -> pa.Table:
        from finrag_pipeline.rankers.page_ranker.page_sentences import page_sentences as sentences_of

        rows = part.read("filing_pages", ["filing", "page", "text", "needs_ocr"])
        return sentences_of(rows, part.run.encoder.embedder.embed)

    step = part.made(make)
    step.metadata = {"sentences": step.rows}
    return step


CHECKS = {"within_token_limit": "No chunk exceeds the limit.", "not_empty": "At least one chunk."}
_PAGES = ("filing", "page", "text", "needs_ocr")


def _measured(part: Part, step: Step, limit: int) -> Step:
    """``step`` with the results of those checks, and the counts to show."""
    chunks = part.read(columns=["kind", "tokens"])
    lengths = chunks["tokens"].to_pylist()
    longest = max(lengths, default=0)
    step.checks = [
        check("within_token_limit", longest <= limit, longest=longest, limit=limit),
        check("not_empty", bool(lengths), chunks=len(lengths)),
    ]
    kinds = Counter(chunks["kind"].to_pylist())
    step.metadata = {"chunks": len(lengths), "longest_chunk_tokens": longest, **kinds}
    return step


@table_asset(blocking_checks=CHECKS)
def filing_chunks(part: Part) -> Step:
    """Chunks of 1024 tokens with 128 of overlap within a page, counted with the encoder's tokenizer."""
    settings, tokens = part.values.chunks, part.run.encoder.tokens
    step = part.made(lambda: chunk_pages(part.read("filing_pages", _PAGES), settings, tokens))
    return _measured(part, step, settings.tokens)


@table_asset(blocking_checks=CHECKS)
def contextual_chunks(part: Part) -> Step:
    """Prose under its headings, table rows with all their headers, whole tables: 512 tokens with context.

    Made for a sweep that needs them, not every night.
    """
    settings, tokens = part.values.contextual_chunks, part.run.encoder.tokens

    def make() -> pa.Table:
        from finrag_pipeline.chunking.contextual import contextual_chunks as make_contextual_chunks

        pages, tables = part.read("filing_pages", (*_PAGES, "words")), part.read("page_tables")
        return make_contextual_chunks(pages, tables, part.filing, settings, tokens)

    return _measured(part, part.made(make), settings.tokens)


@table_asset(blocking_checks=CHECKS)
def parent_child_chunks(part: Part) -> Step:
    """Parents of 2048 tokens and their children of 512; made for a sweep that needs them, not every night."""
    tokens = part.run.encoder.tokens
    step = part.made(lambda: make_parent_child_chunks(part.read("filing_pages", _PAGES), tokens))
    return _measured(part, step, PARENTS.tokens)


@table_asset(blocking_checks={"complete": "Every chunk has its vectors."})
def chunk_index(part: Part) -> Step:
    """Vectors of a filing's chunks in LanceDB, replaced in one version; embeddings come from the cache."""
    return _index(part, FIXED)


@table_asset(blocking_checks={"complete": "Every chunk has its vectors."})
def contextual_index(part: Part) -> Step:
    """Vectors of a filing's context-aware chunks in LanceDB, in a table of their own."""
    return _index(part, CONTEXTUAL)


@table_asset(blocking_checks={"complete": "Every child has its vectors."})
def parent_child_index(part: Part) -> Step:
    """Vectors of a filing's children in LanceDB; windows that other chunks share come from the cache."""
    return _index(part, PARENT_CHILD)


def _index(part: Part, chunking: Chunking) -> Step:
    encoder, key = part.run.encoder, part.key
    index = open_chunk_index(part.store, encoder, part.values, chunking)
    wanted = part.wanted()
    computed = 0

    def find() -> int | None:
        entry = part.store.ledger_entry(chunking.index, key)
        rows = index.count(key)
        return rows if entry and entry["fingerprint"] == wanted and entry["rows"] == rows and rows else None

    def make() -> int:
        nonlocal computed
        chunks = to_index(part.read(chunking.table), chunking)
        rows, computed = index_chunks(chunks, encoder, index, part.context.log.info)
        return rows

    step = part.made_or_found(find, make, wanted)
    found = index.count(key)
    step.checks = [check("complete", found == step.rows and found > 0, vectors=found, expected=step.rows)]
    step.metadata = {"vectors": found, "embedded": computed, "table": index.name}
    return step


@table_asset()
def bm25_index(part: Part) -> Step:
    """The BM25 index over every searchable filing, as `finrag search` uses it."""
    names = searchable_filings(part.store)
    if not names:
        raise LakeError("The lake holds no chunks.", "Ingest a filing first: finrag ingest FILE.")
    corpus = part.run.corpora.corpus(part.values, part.store, names)
    # Built and kept on first use, else read.
    step = part.made_or_found(lambda: None, lambda: corpus.bm25.documents, part.wanted())
    step.metadata = {"filings": len(names), "chunks": step.rows}
    return step
