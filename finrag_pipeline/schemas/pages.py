"""Tables of what is known and learned about pages."""

from __future__ import annotations

import pyarrow as pa

from finrag_pipeline.schemas.columns import column as _column
from finrag_pipeline.schemas.columns import struct as _struct

PAGE_PROFILES = pa.schema(
    [
        _column("filing", pa.string(), "Identifier of the filing."),
        _column("page", pa.int32(), "Zero-based index of the page."),
        _column(
            "sections", pa.list_(pa.string()), "Sections of the report that stand on the page, in order."
        ),
        _column("note", pa.string(), "Heading of the note to the statements that is open; empty elsewhere."),
        _column("headings", pa.list_(pa.string()), "Lines that read like headings, in order."),
        _column("characters", pa.int32(), "Length of the text in characters."),
        _column("words", pa.int32(), "Number of words."),
        _column("numeric_words", pa.int32(), "Number of words with a digit."),
        _column("tables", pa.int32(), "Number of tables."),
        _column("cells", pa.int32(), "Number of cells that hold a number."),
        _column(
            "statements",
            pa.list_(_struct(statement=pa.string(), scope=pa.string(), facts=pa.int32())),
            "Statements of which facts stand on the page, with their number.",
        ),
        _column(
            "concepts",
            pa.list_(
                pa.struct(
                    [
                        pa.field("concept", pa.string(), nullable=False),
                        pa.field("fiscal_year", pa.int32()),
                        pa.field("scope", pa.string(), nullable=False),
                    ]
                )
            ),
            "Distinct concepts and fiscal years among the facts of the page.",
        ),
        _column("years", pa.list_(pa.int32()), "Years that the text names, ascending."),
        _column("body", pa.list_(pa.string()), "Stemmed terms of the text, in order."),
        _column("head", pa.list_(pa.string()), "Terms of its first lines, headings and note."),
        _column(
            "labels",
            pa.list_(pa.string()),
            "Captions, row labels and column headers as printed; lines like them where no table is known.",
        ),
    ]
)

PAGE_SENTENCES = pa.schema(
    [
        _column("filing", pa.string(), "Identifier of the filing."),
        _column("page", pa.int32(), "Zero-based index of the page."),
        _column("ordinal", pa.int32(), "Position of the sentence on its page."),
        _column("text", pa.string(), "The sentence; a part of it when it is long."),
        _column("vector", pa.list_(pa.float16()), "Unit-length embedding; shape (dimensions,)."),
    ]
)

PAGE_RANKER = pa.schema(
    [
        _column("feature", pa.string(), "Feature of a page for a question."),
        _column("gain", pa.float64(), "Its share of the gain of all splits, in [0, 1]."),
    ]
)

PAGE_SCORER = pa.schema(
    [
        _column("policy", pa.string(), "document or company: what the folds keep apart."),
        _column("model", pa.string(), "Folder of the trained model, below models/page_scorer."),
        _column("epoch", pa.int32(), "Epoch from 1; 0 is the model before its training."),
        _column("loss", pa.float64(), "Mean loss of the steps of the epoch; null for epoch 0.", True),
        _column("page_rec", pa.float64(), "PageRec@5 on the validation questions; null without any.", True),
        _column("mrr", pa.float64(), "Mean reciprocal rank of their first gold page, in (0, 1].", True),
        _column("chosen", pa.bool_(), "The epoch whose weights were kept."),
        _column("tested_page_rec", pa.float64(), "PageRec@5 on the tested fold, chosen epoch only.", True),
    ]
)

RERANKER = pa.schema(
    [
        _column("policy", pa.string(), "document or company: what the folds keep apart."),
        _column("model", pa.string(), "Folder of the trained model, below models/reranker."),
        _column("epoch", pa.int32(), "Epoch from 1; 0 is the model before its training."),
        _column("loss", pa.float64(), "Mean loss of the steps of the epoch; null for epoch 0.", True),
        _column(
            "page_rec", pa.float64(), "PageRec@5 among the candidates of the validation questions.", True
        ),
        _column("mrr", pa.float64(), "Mean reciprocal rank of their first gold page, in (0, 1].", True),
        _column("chosen", pa.bool_(), "The epoch whose weights were kept."),
        _column(
            "tested_page_rec",
            pa.float64(),
            "PageRec@5 among the candidates of the tested fold's filings, chosen epoch only.",
            True,
        ),
    ]
)
