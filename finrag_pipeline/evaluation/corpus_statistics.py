"""Figures that describe a benchmark: documents, pages, chunks and questions, by form of the filing.

They are those of Table 3 of Kobeissi & Langlais' paper on page scoring, with the form added as a dimension.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.evaluation.documents import normalise_form
from finrag_pipeline.evaluation.summary import UNKNOWN
from finrag_pipeline.schemas import CORPUS_STATISTICS, conform

STATISTICS = (
    "documents",
    "pages",
    "pages_per_document",
    "chunks",
    "chunks_per_page",
    "characters_per_page",
    "tokens_per_chunk",
    "questions",
    "question_tokens",
    "answer_tokens",
    "evidence_tokens",
    "gold_pages_per_question",
)
"""Names of the statistics, in the order of the table."""

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
    observations: dict[tuple[str, str], list[float]] = defaultdict(list)

    def add(form: str, statistic: str, value: float) -> None:
        observations[form, statistic].append(value)
        observations["all", statistic].append(value)

    texts = chunks.filter(pc.equal(chunks["kind"], "text"))
    chunks_on = Counter(zip(texts["filing"].to_pylist(), texts["page"].to_pylist(), strict=True))
    pages_of: Counter[str] = Counter()
    for filing, page, characters in zip(
        *(pages[name].to_pylist() for name in ("filing", "page", "characters")), strict=True
    ):
        if filing in form_of:
            pages_of[filing] += 1
            add(form_of[filing], "pages", 1)
            add(form_of[filing], "characters_per_page", characters)
            add(form_of[filing], "chunks_per_page", chunks_on[filing, page])
    for filing, form in form_of.items():
        add(form, "documents", 1)
        add(form, "pages_per_document", pages_of[filing])
    for filing, tokens in zip(texts["filing"].to_pylist(), texts["tokens"].to_pylist(), strict=True):
        if filing in form_of:
            add(form_of[filing], "chunks", 1)
            add(form_of[filing], "tokens_per_chunk", tokens)

    rows = questions.filter(pc.equal(questions["status"], "measured")).to_pylist()
    forms = [form_of.get(row["filing"], row["doc_type"] or UNKNOWN) for row in rows]
    for form, row in zip(forms, rows, strict=True):
        add(form, "questions", 1)
        add(form, "gold_pages_per_question", len(row["gold_pages"]))
    passages = {
        "question_tokens": [(form, row["question"]) for form, row in zip(forms, rows, strict=True)],
        "answer_tokens": [(form, row["answer"]) for form, row in zip(forms, rows, strict=True)],
        "evidence_tokens": [
            (form, item["text"]) for form, row in zip(forms, rows, strict=True) for item in row["evidence"]
        ],
    }
    for statistic, labelled in passages.items():
        counts = count_tokens([text for _, text in labelled]) if labelled else []
        for (form, _), count in zip(labelled, counts, strict=True):
            add(form, statistic, count)

    return _table(observations)


def _table(observations: dict[tuple[str, str], list[float]]) -> pa.Table:
    records = []
    forms = sorted({form for form, _ in observations} - {"all"})
    for form in [*forms, "all"]:
        for statistic in STATISTICS:
            values = np.asarray(observations.get((form, statistic), ()), dtype=np.float64)
            if not len(values):
                continue
            total = statistic in TOTALS
            records.append(
                {
                    "doc_type": form,
                    "statistic": statistic,
                    "mean": float(values.sum() if total else values.mean()),
                    "std": None if total else float(values.std()),
                    "n": len(values),
                }
            )
    return conform(pa.Table.from_pylist(records, schema=CORPUS_STATISTICS), "corpus_statistics")
