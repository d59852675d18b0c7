"""Tables of answers and their scores."""

from __future__ import annotations

import pyarrow as pa

from finrag_pipeline.schemas.columns import column as _column

ANSWERS = pa.schema(
    [
        _column("question_id", pa.string(), "Question."),
        _column("question", pa.string(), "The question as it was asked."),
        _column(
            "system", pa.string(), "What answered: calculator, extractive, prompt, cot, grounded, recorded."
        ),
        _column("retrieval", pa.string(), "System whose chunks or pages it was given; empty for none.", True),
        _column("space", pa.string(), "Search space of the retrieval: corpus, filing or pages.", True),
        _column("fold", pa.int32(), "Fold of the question, from 0; null outside the folds.", True),
        _column("repeat", pa.int32(), "Which of several answers to the same request, from 0."),
        _column("answer", pa.string(), "The answer as written; empty where there is none."),
        _column("final_answer", pa.string(), "The part of it that carries the answer.", True),
        _column("value", pa.float64(), "Value of the answer in full units; 0.12 for 12 %.", True),
        _column("unit", pa.string(), "Unit of the value: currency, percent, ratio, days, …", True),
        _column("formula", pa.string(), "Formula in terms of concepts.", True),
        _column("derivation", pa.string(), "JSON: steps and inputs with filing, page, cell and scale.", True),
        _column("citations", pa.string(), "JSON: every sentence with the sources it cites.", True),
        _column("retrieved", pa.list_(pa.string()), "Sources that were given, best first: chunks or pages."),
        _column("abstained", pa.bool_(), "It says that the answer cannot be had."),
        _column("why", pa.string(), "Why it abstained or fell back, and what was looked for.", True),
        _column("fallback", pa.string(), "Why a language model's own words were not let through.", True),
        _column(
            "warnings", pa.list_(pa.string()), "What is odd about the answer; never a reason to reject it."
        ),
        _column("model", pa.string(), "Language model; null where none was asked.", True),
        _column("prompt_tokens", pa.int64(), "Tokens it read, where stated.", True),
        _column("completion_tokens", pa.int64(), "Tokens it wrote, where stated.", True),
        _column("seconds", pa.float64(), "Seconds the answer took; null for recorded ones.", True),
        _column("error", pa.string(), "Why there is no answer at all.", True),
        _column("human_label", pa.string(), "Verdict of people: correct, incorrect or refusal.", True),
    ]
)

ANSWER_SCORES = pa.schema(
    [
        _column("question_id", pa.string(), "Question."),
        _column("system", pa.string(), "What answered."),
        _column("retrieval", pa.string(), "System whose chunks or pages it was given.", True),
        _column("space", pa.string(), "Search space of the retrieval.", True),
        _column("repeat", pa.int32(), "Which of several answers to the same request, from 0."),
        _column("metric", pa.string(), "Name of the metric."),
        _column("value", pa.float64(), "Value in [0, 1]."),
    ]
)
