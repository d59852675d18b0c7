"""The Arrow schema of every table in the lake, with a description (shape, unit) per column.

Tables are checked against these on write; the same descriptions appear in the Dagster UI and in
``docs/where-is-my-data.md``.
"""

from __future__ import annotations

import pyarrow as pa

from finrag_pipeline.errors import LakeError
from finrag_pipeline.schemas.answers import ANSWER_SCORES, ANSWERS
from finrag_pipeline.schemas.columns import column as _column
from finrag_pipeline.schemas.columns import struct as _struct
from finrag_pipeline.schemas.comparisons import INTERVAL_COVERAGE, JUDGE_SENSITIVITY, SYSTEM_COMPARISONS
from finrag_pipeline.schemas.judging import (
    ANSWER_RATES,
    ANSWER_SENTENCES,
    AUTOMATIC_SCORES,
    HUMAN_LABELS,
    JUDGE_AGREEMENT,
    JUDGE_CALIBRATION,
    JUDGED_ESTIMATES,
    LABEL_SAMPLE,
    VERDICTS,
)
from finrag_pipeline.schemas.pages import PAGE_PROFILES, PAGE_RANKER, PAGE_SCORER, PAGE_SENTENCES, RERANKER
from finrag_pipeline.schemas.retrieval_gap import GAP_COUNTS, RETRIEVAL_GAP

PER_FILING = (
    "filings",
    "filing_pages",
    "filing_chunks",
    "page_tables",
    "statement_facts",
    "page_profiles",
    "page_sentences",
)
"""What is made of every filing, in the order in which it is made."""

WORD = _struct(
    **dict.fromkeys(("x0", "y0", "x1", "y1"), pa.float32()),
    text=pa.string(),
    **dict.fromkeys(("block", "line", "word"), pa.int32()),
)

EVIDENCE = _struct(filing=pa.string(), page=pa.int32(), text=pa.string())

FILINGS = pa.schema(
    [
        _column("filing", pa.string(), "Identifier of the filing; the partition key."),
        _column("status", pa.string(), "ok, or failed: the file could not be read."),
        _column("reason", pa.string(), "Why the filing failed.", True),
        _column("remedy", pa.string(), "What to do about a failed filing.", True),
        _column("file_name", pa.string(), "Name of the file as it arrived."),
        _column("source", pa.string(), "pdf, or page_text: pages of text extracted elsewhere."),
        _column("bytes", pa.int64(), "Size of the original in bytes."),
        _column("sha256", pa.string(), "SHA-256 of the original."),
        _column("pages", pa.int32(), "Number of pages."),
        _column("company", pa.string(), "Registrant as its cover page prints it.", True),
        _column("form", pa.string(), "10-K, 10-Q, 8-K or EARNINGS, read from the cover page.", True),
        _column("fiscal_year", pa.int32(), "Fiscal year the filing reports on.", True),
        _column("fiscal_quarter", pa.int32(), "Fiscal quarter, 1 to 4, for quarterly reports.", True),
        _column("period_end", pa.date32(), "Last day of the period, or date of the event of an 8-K.", True),
        _column("ticker", pa.string(), "Trading symbol on the cover page.", True),
        _column("declared_company", pa.string(), "Company in the document-information file.", True),
        _column("declared_form", pa.string(), "Form in the document-information file or file name.", True),
        _column(
            "declared_year", pa.int32(), "Fiscal year in the document-information file or file name.", True
        ),
        _column("declared_quarter", pa.int32(), "Fiscal quarter in the file name.", True),
        _column("sector", pa.string(), "GICS sector in the document-information file.", True),
        _column(
            "conflicts", pa.list_(pa.string()), "Disagreements between cover page and declared identity."
        ),
        _column("warnings", pa.list_(pa.string()), "What else is odd: repaired file, text only."),
    ]
)

FILING_PAGES = pa.schema(
    [
        _column("filing", pa.string(), "Identifier of the filing."),
        _column("page", pa.int32(), "Zero-based index of the page in the PDF."),
        _column("label", pa.string(), "Page label that the PDF itself defines (a viewer shows it).", True),
        _column("text", pa.string(), "Text of the page in reading order of the file."),
        _column("characters", pa.int32(), "Length of the text in characters."),
        _column("word_count", pa.int32(), "Number of words."),
        _column("image_count", pa.int32(), "Images placed on the page; counted where text is scarce.", True),
        _column("rotation", pa.int32(), "Rotation of the page in degrees clockwise.", True),
        _column("width", pa.float32(), "Width in PDF points (1/72 inch), after rotation.", True),
        _column("height", pa.float32(), "Height in PDF points, after rotation.", True),
        _column("needs_ocr", pa.bool_(), "The page shows content but carries no usable text."),
        _column(
            "words",
            pa.list_(WORD),
            "Words with boxes in points on the page as shown, origin top left; null for page text.",
            True,
        ),
    ]
)

PAGE_TABLES = pa.schema(
    [
        _column("filing", pa.string(), "Identifier of the filing."),
        _column("page", pa.int32(), "Zero-based index of the page."),
        _column("table", pa.int32(), "Ordinal of the table on its page, from 0, top to bottom."),
        _column("detector", pa.string(), "Detector that found the table."),
        _column("caption", pa.string(), "Title of the table.", True),
        _column("continues", pa.bool_(), "The table goes on from the page before."),
        _column("row", pa.int32(), "Row of the cell, from 0; the first of a spanning cell."),
        _column("column", pa.int32(), "Column of the cell, from 0; the first of a spanning cell."),
        _column("row_span", pa.int32(), "Rows the cell spans."),
        _column("column_span", pa.int32(), "Columns the cell spans."),
        _column("x0", pa.float32(), "Left edge in points on the page as shown; null for page text.", True),
        _column("y0", pa.float32(), "Upper edge in points from the top of the page.", True),
        _column("x1", pa.float32(), "Right edge in points.", True),
        _column("y1", pa.float32(), "Lower edge in points.", True),
        _column("text", pa.string(), "The cell as printed."),
        _column("header", pa.bool_(), "The cell is part of the column headers."),
        _column("level", pa.int32(), "Indentation of the row, from 0."),
        _column("row_label", pa.string(), "Label of the row.", True),
        _column("row_path", pa.list_(pa.string()), "Headings above the row, outermost first; its label."),
        _column("column_path", pa.list_(pa.string()), "Column headers above the cell, outermost first."),
        _column("kind", pa.string(), "label, header, number, missing or text."),
        _column("printed", pa.float64(), "The number as printed, with its sign; null if none.", True),
        _column("value", pa.float64(), "The number in full units; 0.12 for 12 %; null if unreadable.", True),
        _column("scale", pa.float64(), "value / printed: 1, 1000, 1000000, 0.01 for per cent, …", True),
        _column("scale_source", pa.string(), "The words that set the scale, or why there is none.", True),
        _column("unit", pa.string(), "currency, currency/share, shares, percent, ratio or count.", True),
        _column("currency", pa.string(), "ISO 4217 code.", True),
        _column("period_start", pa.date32(), "First day of the period, if it is a duration.", True),
        _column("period_end", pa.date32(), "Last day of the period, or the instant.", True),
        _column("period_kind", pa.string(), "instant or duration.", True),
        _column("fiscal_year", pa.int32(), "Fiscal year of the period.", True),
        _column("fiscal_quarter", pa.int32(), "Fiscal quarter, for a period of three months.", True),
        _column("reason", pa.string(), "Why a cell with content has no value.", True),
    ]
)

STATEMENT_FACTS = pa.schema(
    [
        _column("fact_id", pa.string(), "Stable identifier: filing, page, table, row and column."),
        _column("filing", pa.string(), "Identifier of the filing."),
        _column(
            "statement",
            pa.string(),
            "income_statement, comprehensive_income, financial_position, cash_flows or equity.",
        ),
        _column("scope", pa.string(), "primary; parent_only, condensed, summary, note, mdna, other_entity."),
        _column(
            "concept", pa.string(), "Line item as us-gaap names it; null where the lexicon has none.", True
        ),
        _column("label", pa.string(), "Label as printed."),
        _column("path", pa.list_(pa.string()), "Headings above the line, outermost first, then its label."),
        _column("qualifier", pa.string(), "Column header that is no period, for instance a segment.", True),
        _column("period_start", pa.date32(), "First day, if the period is a duration.", True),
        _column("period_end", pa.date32(), "Last day of the period, or the instant.", True),
        _column("period_kind", pa.string(), "instant or duration.", True),
        _column("fiscal_year", pa.int32(), "Fiscal year of the period.", True),
        _column("fiscal_quarter", pa.int32(), "Fiscal quarter, for a period of three months.", True),
        _column("value", pa.float64(), "Value in full units, with the sign as printed."),
        _column("unit", pa.string(), "currency, currency/share, shares, percent, ratio or count."),
        _column("currency", pa.string(), "ISO 4217 code.", True),
        _column("printed", pa.string(), "The cell as printed."),
        _column("scale", pa.float64(), "Full units per printed unit."),
        _column("scale_source", pa.string(), "The words that set the scale.", True),
        _column("page", pa.int32(), "Zero-based page."),
        _column("table", pa.int32(), "Ordinal of the table on its page."),
        _column("row", pa.int32(), "Row in the table."),
        _column("column", pa.int32(), "Column in the table."),
        _column("x0", pa.float32(), "Left edge of the cell in points; null for page text.", True),
        _column("y0", pa.float32(), "Upper edge in points from the top of the page.", True),
        _column("x1", pa.float32(), "Right edge in points.", True),
        _column("y1", pa.float32(), "Lower edge in points.", True),
    ]
)

FILING_CHUNKS = pa.schema(
    [
        _column("chunk_id", pa.string(), "Stable identifier: filing, page and ordinal."),
        _column("filing", pa.string(), "Identifier of the filing."),
        _column("page", pa.int32(), "Zero-based page the chunk stands on."),
        _column("ordinal", pa.int32(), "Position of the chunk within its page."),
        _column("kind", pa.string(), "text, table_row or table."),
        _column("text", pa.string(), "Text of the chunk."),
        _column("tokens", pa.int32(), "Length in tokens of the encoder's tokenizer."),
    ]
)

EMBEDDINGS = pa.schema(
    [
        _column("text_hash", pa.string(), "BLAKE2b-128 of the window's text."),
        _column("vector", pa.list_(pa.float32()), "Unit-length embedding; shape (dimensions,)."),
    ]
)

BENCHMARK_QUESTIONS = pa.schema(
    [
        _column("question_id", pa.string(), "Identifier in the benchmark."),
        _column("question", pa.string(), "The question."),
        _column("answer", pa.string(), "Gold answer."),
        _column("justification", pa.string(), "Gold justification.", True),
        _column("question_type", pa.string(), "Kind of question, as the benchmark names it."),
        _column("reasoning", pa.string(), "Kind of reasoning, as the benchmark names it.", True),
        _column("company", pa.string(), "Company asked about, as the benchmark names it."),
        _column("filing", pa.string(), "Gold filing."),
        _column("doc_type", pa.string(), "Form of the gold filing: 10-K, 10-Q, 8-K, EARNINGS.", True),
        _column("gold_pages", pa.list_(pa.int32()), "Distinct zero-based gold pages, ascending."),
        _column("evidence", pa.list_(EVIDENCE), "Gold evidence passages."),
        _column("status", pa.string(), "measured, or excluded: not counted in any metric."),
        _column("problem", pa.string(), "Why a question is excluded.", True),
    ]
)

FOLDS = pa.schema(
    [
        _column("question_id", pa.string(), "Identifier in the benchmark."),
        _column("filing", pa.string(), "Gold filing; all its questions share a fold."),
        _column("fold", pa.int32(), "Fold in which the question is tested, from 0."),
    ]
)

RETRIEVAL_RUNS = pa.schema(
    [
        _column("system", pa.string(), "Retrieval system."),
        _column("space", pa.string(), "Search space: corpus, filing (oracle) or pages (oracle)."),
        _column("question_id", pa.string(), "Question."),
        _column("rank", pa.int32(), "Rank from 1."),
        _column("chunk_id", pa.string(), "Chunk at this rank."),
        _column("filing", pa.string(), "Filing of the chunk."),
        _column("page", pa.int32(), "Zero-based page of the chunk."),
        _column("score", pa.float64(), "Score of the system; higher is better."),
    ]
)

RETRIEVAL_SCORES = pa.schema(
    [
        _column("system", pa.string(), "Retrieval system."),
        _column("space", pa.string(), "Search space."),
        _column("question_id", pa.string(), "Question."),
        _column("metric", pa.string(), "Name of the metric, without its cut-off."),
        _column("k", pa.int32(), "Cut-off in chunks; 0 for metrics over the whole ranking."),
        _column("value", pa.float64(), "Value in [0, 1]."),
    ]
)

SYSTEM_METRICS = pa.schema(
    [
        _column("system", pa.string(), "Retrieval system."),
        _column("space", pa.string(), "Search space."),
        _column("slice", pa.string(), "all, question_type, doc_type, company or source."),
        _column("slice_value", pa.string(), "Value of the slice; 'all' for the slice all."),
        _column("metric", pa.string(), "Name of the metric."),
        _column("k", pa.int32(), "Cut-off in chunks; 0 for metrics over the whole ranking."),
        _column("mean", pa.float64(), "Mean over the questions of the slice."),
        _column("low", pa.float64(), "Lower end of the interval; null with fewer than two documents.", True),
        _column("high", pa.float64(), "Upper end of the interval; null with fewer than two documents.", True),
        _column("n", pa.int32(), "Questions in the slice."),
        _column("documents", pa.int32(), "Distinct gold documents in the slice (the clusters resampled)."),
    ]
)

CORPUS_STATISTICS = pa.schema(
    [
        _column("doc_type", pa.string(), "Form, or 'all'."),
        _column("statistic", pa.string(), "Name of the statistic."),
        _column("mean", pa.float64(), "Mean, or the count itself for totals."),
        _column("std", pa.float64(), "Population standard deviation; null for totals.", True),
        _column("n", pa.int64(), "Number of observations."),
    ]
)

LEDGER = pa.schema(
    [
        _column("asset", pa.string(), "Asset."),
        _column("partition", pa.string(), "Partition key; empty for unpartitioned assets."),
        _column("outcome", pa.string(), "materialised, cache_hit, skipped or failed."),
        _column("fingerprint", pa.string(), "Fingerprint of inputs, code, configuration and model.", True),
        _column("rows", pa.int64(), "Rows written or found.", True),
        _column("seconds", pa.float64(), "Seconds the work took.", True),
        _column("error", pa.string(), "What went wrong.", True),
        _column("remedy", pa.string(), "What to do about it.", True),
        _column("run_id", pa.string(), "Dagster run.", True),
        _column("at", pa.timestamp("us", tz="UTC"), "When."),
    ]
)

TABLES: dict[str, pa.Schema] = {
    "filings": FILINGS,
    "filing_pages": FILING_PAGES,
    "page_tables": PAGE_TABLES,
    "statement_facts": STATEMENT_FACTS,
    "filing_chunks": FILING_CHUNKS,
    "contextual_chunks": FILING_CHUNKS,
    "page_profiles": PAGE_PROFILES,
    "page_sentences": PAGE_SENTENCES,
    "page_ranker": PAGE_RANKER,
    "page_scorer": PAGE_SCORER,
    "reranker": RERANKER,
    "embeddings": EMBEDDINGS,
    "benchmark_questions": BENCHMARK_QUESTIONS,
    "folds": FOLDS,
    "retrieval_runs": RETRIEVAL_RUNS,
    "retrieval_scores": RETRIEVAL_SCORES,
    "answers": ANSWERS,
    "answer_scores": ANSWER_SCORES,
    "answer_metrics": SYSTEM_METRICS,
    "answer_sentences": ANSWER_SENTENCES,
    "automatic_scores": AUTOMATIC_SCORES,
    "answer_rates": ANSWER_RATES,
    "verdicts": VERDICTS,
    "judge_calibration": JUDGE_CALIBRATION,
    "label_sample": LABEL_SAMPLE,
    "human_labels": HUMAN_LABELS,
    "judged_estimates": JUDGED_ESTIMATES,
    "judge_agreement": JUDGE_AGREEMENT,
    "system_comparisons": SYSTEM_COMPARISONS,
    "judge_sensitivity": JUDGE_SENSITIVITY,
    "interval_coverage": INTERVAL_COVERAGE,
    "system_metrics": SYSTEM_METRICS,
    "retrieval_gap": RETRIEVAL_GAP,
    "gap_counts": GAP_COUNTS,
    "corpus_statistics": CORPUS_STATISTICS,
    "ledger": LEDGER,
}


def column_docs(schema: pa.Schema) -> dict[str, str]:
    """Description of each column of ``schema``, in order."""
    return {field.name: (field.metadata or {}).get(b"doc", b"").decode() for field in schema}


def conform(table: pa.Table, name: str) -> pa.Table:
    """Return ``table`` with exactly the declared columns, order and types of the table ``name``.

    Raises:
        LakeError: a column is missing, unexpected, of another type, or null where that is not allowed.
    """
    schema = TABLES[name]
    missing = [c for c in schema.names if c not in table.column_names]
    unexpected = [c for c in table.column_names if c not in schema.names]
    repeated = sorted({c for c in table.column_names if table.column_names.count(c) > 1})
    if missing or unexpected or repeated:
        found = {"missing": missing, "unexpected": unexpected, "repeated": repeated}
        raise LakeError(
            f"Table '{name}' does not fit its schema: "
            + ", ".join(f"{what} {columns}" for what, columns in found.items() if columns)
            + ".",
            "Declare the columns in finrag_pipeline/schemas.",
        )
    for field in schema:
        kind = table.schema.field(field.name).type
        # A cast would turn 7 into '7' and '7' into 7 without a word.
        if not pa.types.is_null(kind) and _is_text(kind) != _is_text(field.type):
            raise LakeError(
                f"Column '{field.name}' of table '{name}' is {kind}, not {field.type}.",
                "Check the producing asset.",
            )
    try:
        table = table.select(schema.names).cast(schema)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise LakeError(
            f"Table '{name}' does not fit its schema: {error}.", "Check the producing asset."
        ) from error
    for field in schema:
        if not field.nullable and table[field.name].null_count:
            raise LakeError(
                f"Column '{field.name}' of table '{name}' holds nulls.", "Check the producing asset."
            )
    return table


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
