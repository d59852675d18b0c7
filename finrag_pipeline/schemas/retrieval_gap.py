"""Tables of where the evidence of a question is lost."""

from __future__ import annotations

import pyarrow as pa

from finrag_pipeline.schemas.columns import column as _column

RETRIEVAL_GAP = pa.schema(
    [
        _column("question_id", pa.string(), "Question."),
        _column("retrieval", pa.string(), "Retrieval system."),
        _column(
            "answering", pa.string(), "Answering system over it; null for the retrieval by itself.", True
        ),
        _column("space", pa.string(), "Search space."),
        _column(
            "level",
            pa.string(),
            "First level lost: filing, page, chunk or generation; none where all is well.",
        ),
        _column("labels", pa.list_(pa.string()), "Failure modes, the one with the example first."),
        _column("why", pa.string(), "The finding in one sentence; pages counted from 1."),
        _column("filing", pa.string(), "Filing of the page to look at.", True),
        _column(
            "page", pa.int32(), "Zero-based page to look at: the example of the first label, else gold.", True
        ),
    ]
)

GAP_COUNTS = pa.schema(
    [
        _column("retrieval", pa.string(), "Retrieval system."),
        _column(
            "answering", pa.string(), "Answering system over it; null for the retrieval by itself.", True
        ),
        _column("space", pa.string(), "Search space."),
        _column("kind", pa.string(), "level or label."),
        _column("value", pa.string(), "The level or the label."),
        _column("count", pa.int32(), "Questions that have it."),
        _column("share", pa.float64(), "Their share of all questions, in [0, 1]."),
        _column("low", pa.float64(), "Lower end of the interval over filings; null with one filing.", True),
        _column("high", pa.float64(), "Upper end of the interval over filings; null with one filing.", True),
        _column("n", pa.int32(), "Questions."),
    ]
)
