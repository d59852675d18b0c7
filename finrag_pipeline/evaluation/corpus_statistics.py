"""Figures that describe a benchmark: documents, pages, chunks and questions, by form of the filing.

They are those of Table 3 of Kobeissi & Langlais' paper on page scoring, with the form added as a dimension.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.evaluation.questions import normalise_form
from finrag_pipeline.evaluation.summary import UNKNOWN
from finrag_pipeline.schemas import CORPUS_STATISTICS, conform

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
        filings: columns ``filing``, ``status``, ``form`` and ``declared_form`` of ``schemas.FILINGS``.
        pages: columns ``filing``, ``page`` and ``characters`` of ``schemas.FILING_PAGES``.
        chunks: columns ``filing``, ``page``, ``kind`` and ``tokens`` of ``schemas.FILING_CHUNKS``.
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
    named = pa.array(form_of, pa.string())
    places = pages.filter(pc.is_in(pages["filing"], named)).to_pylist()
    texts = chunks.filter(pc.and_(pc.equal(chunks["kind"], "text"), pc.is_in(chunks["filing"], named)))
    pieces = texts.to_pylist()
    chunks_on = Counter((one["filing"], one["page"]) for one in pieces)
    pages_of = Counter(one["filing"] for one in places)
    asked = [
        (form_of.get(row["filing"], row["doc_type"] or UNKNOWN), row)
        for row in questions.filter(pc.equal(questions["status"], "measured")).to_pylist()
    ]

    def tokens(passages: Sequence[tuple[str, str]]) -> list[tuple[str, float]]:
        counts = count_tokens([text for _, text in passages]) if passages else []
        return [(form, count) for (form, _), count in zip(passages, counts, strict=True)]

    observed: dict[str, list[tuple[str, float]]] = {
        "documents": [(form, 1) for form in form_of.values()],
        "pages": [(form_of[one["filing"]], 1) for one in places],
        "pages_per_document": [(form, pages_of[filing]) for filing, form in form_of.items()],
        "chunks": [(form_of[one["filing"]], 1) for one in pieces],
        "chunks_per_page": [
            (form_of[one["filing"]], chunks_on[one["filing"], one["page"]]) for one in places
        ],
        "characters_per_page": [(form_of[one["filing"]], one["characters"]) for one in places],
        "tokens_per_chunk": [(form_of[one["filing"]], one["tokens"]) for one in pieces],
        "questions": [(form, 1) for form, _ in asked],
        "question_tokens": tokens([(form, row["question"]) for form, row in asked]),
        "answer_tokens": tokens([(form, row["answer"]) for form, row in asked]),
        "evidence_tokens": tokens([(form, one["text"]) for form, row in asked for one in row["evidence"]]),
        "gold_pages_per_question": [(form, len(row["gold_pages"])) for form, row in asked],
    }
    forms = sorted({form for found in observed.values() for form, _ in found} - {"all"})
    records = []
    for form in [*forms, "all"]:
        for statistic in STATISTICS:
            values = np.array([value for of, value in observed[statistic] if form in (of, "all")], np.float64)
            if len(values):
                total = statistic in TOTALS
                mean, std = (values.sum(), None) if total else (values.mean(), values.std())
                records.append(
                    {"doc_type": form, "statistic": statistic, "mean": mean, "std": std, "n": len(values)}
                )
    return conform(pa.Table.from_pylist(records, schema=CORPUS_STATISTICS), "corpus_statistics")
