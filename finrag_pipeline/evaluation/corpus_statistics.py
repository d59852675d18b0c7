"""Figures that describe a benchmark: documents, pages, chunks and questions, by form of the filing.

They are those of Table 3 of Kobeissi & Langlais' paper on page scoring, with the form added as a dimension.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.evaluation.questions import normalise_form
from finrag_pipeline.evaluation.summary import UNKNOWN
from finrag_pipeline.schemas import conform
from finrag_pipeline.storage.warehouse import query_tables

STATISTICS_VERSION = "1"
"""Changes whenever a statistic may."""

STATISTICS = {
    "documents": "Filings",
    "pages": "Pages",
    "pages_per_document": "Pages per filing",
    "chunks": "Chunks",
    "chunks_per_page": "Chunks per page",
    "characters_per_page": "Characters per page",
    "tokens_per_chunk": "Tokens per chunk",
    "questions": "Questions",
    "question_tokens": "Tokens per question",
    "answer_tokens": "Tokens per answer",
    "evidence_tokens": "Tokens per evidence passage",
    "gold_pages_per_question": "Gold pages per question",
}
"""Statistics with their names for people, in the order of the table."""

TOTALS = frozenset({"documents", "pages", "chunks", "questions"})
"""Statistics that are counts; the others are means with a population standard deviation."""


_FORMS = pa.schema({"filing": pa.string(), "form": pa.string()})
_COUNTED = pa.schema({"statistic": pa.string(), "form": pa.string(), "value": pa.int64()})
_SUMMARY = """
    WITH page AS (FROM pages JOIN forms USING (filing)),
    chunk AS (FROM chunks JOIN forms USING (filing) WHERE kind = 'text'),
    observed AS (
        SELECT 'documents' AS statistic, form, 1 AS value FROM forms
        UNION ALL SELECT 'pages', form, 1 FROM page
        UNION ALL SELECT 'pages_per_document', form, count(page) FROM forms LEFT JOIN pages USING (filing)
            GROUP BY filing, form
        UNION ALL SELECT 'chunks', form, 1 FROM chunk
        UNION ALL SELECT 'chunks_per_page', page.form, count(chunk.filing) FROM page
            LEFT JOIN chunk ON (page.filing, page.page) = (chunk.filing, chunk.page)
            GROUP BY page.filing, page.page, page.form
        UNION ALL SELECT 'characters_per_page', form, characters FROM page
        UNION ALL SELECT 'tokens_per_chunk', form, tokens FROM chunk
        UNION ALL FROM counted
    )
    SELECT doc_type, statistic, CASE WHEN statistic IN $totals THEN sum(value) ELSE avg(value) END AS mean,
        CASE WHEN statistic NOT IN $totals THEN stddev_pop(value) END AS std, count(*) AS n
    FROM (SELECT unnest([form, 'all']) AS doc_type, statistic, value FROM observed)
    GROUP BY doc_type, statistic ORDER BY doc_type = 'all', doc_type, list_position($statistics, statistic)
"""


def corpus_statistics(
    filings: pa.Table,
    pages: pa.Table,
    chunks: pa.Table,
    questions: pa.Table,
    count_tokens: Callable[[list[str]], list[int]],
) -> pa.Table:
    """Describe the corpus and its measured questions, per form and as a whole.

    The form of a filing is the declared one, else that of its cover page; a question counts under the form of
    its gold filing. Chunks per page counts pages without a chunk as 0. Evidence is counted per passage. Only
    readable filings and chunks of kind ``text`` enter, as in the paper.

    Args:
        filings: columns ``filing``, ``status``, ``form`` and ``declared_form``.
        pages: columns ``filing``, ``page`` and ``characters``.
        chunks: columns ``filing``, ``page``, ``kind`` and ``tokens``.
        questions: table as ``schemas.BENCHMARK_QUESTIONS``.
        count_tokens: lengths of texts in tokens of the encoder's tokenizer.

    Returns:
        Table as ``schemas.CORPUS_STATISTICS``: the forms in alphabetical order, then ``all``; statistics in
        the order of :data:`STATISTICS`, those without observations left out.
    """
    readable = filings.filter(pc.equal(filings["status"], "ok"))
    form_of = {
        row["filing"]: normalise_form(form := row["declared_form"] or row["form"]) or form or UNKNOWN
        for row in readable.select(["filing", "form", "declared_form"]).to_pylist()
    }
    asked = [
        (form_of.get(row["filing"], row["doc_type"] or UNKNOWN), row)
        for row in questions.filter(pc.equal(questions["status"], "measured")).to_pylist()
    ]
    counted = [("questions", form, 1) for form, _ in asked]
    counted += [("gold_pages_per_question", form, len(row["gold_pages"])) for form, row in asked]
    texts = {
        "question_tokens": [(form, row["question"]) for form, row in asked],
        "answer_tokens": [(form, row["answer"]) for form, row in asked],
        "evidence_tokens": [(form, one["text"]) for form, row in asked for one in row["evidence"]],
    }
    for name, found in texts.items():
        lengths = count_tokens([text for _, text in found]) if found else []
        counted += [(name, form, length) for (form, _), length in zip(found, lengths, strict=True)]
    tables = {
        "forms": pa.table({"filing": list(form_of), "form": list(form_of.values())}, _FORMS),
        "pages": pages,
        "chunks": chunks,
        "counted": pa.table(list(zip(*counted, strict=True)) or [()] * 3, schema=_COUNTED),
    }
    order = {"statistics": list(STATISTICS), "totals": list(TOTALS)}
    return conform(query_tables(_SUMMARY, order, **tables), "corpus_statistics")
