"""Tables of judged answers: sentences, automatic metrics, verdicts, labels of people, estimates."""

from __future__ import annotations

import pyarrow as pa

from finrag_pipeline.schemas.columns import column as _column

_WHOSE = (
    _column("system", pa.string(), "What answered, and on which retrieval: 'prompt on dense'."),
    _column("space", pa.string(), "Search space of the retrieval; corpus where none is known."),
)
_ANSWER = (
    _column("answer_id", pa.string(), "Identifier of the answer, which changes with its content."),
    *_WHOSE,
    _column("question_id", pa.string(), "Question."),
    _column("repeat", pa.int32(), "Which of several answers to the same request, from 0."),
    _column("theme", pa.string(), "Type of the question."),
)
_DIFFICULTY = _column("difficulty", pa.string(), "Kind of reasoning that the question takes.")
_SENTENCE = _column("sentence", pa.int32(), "Sentence, from 0; null for the whole answer.", True)
_CRITERION = _column("criterion", pa.string(), "relevance, veracity or correctness.")
_JUDGE = _column("judge", pa.string(), "Name of the judge.")
_ITEM = _column("item_id", pa.string(), "What is labelled: an answer, or answer#n for its sentence n.")

_AGREEMENT = (
    _column("observed_low", pa.float64(), "Lower end, by bootstrap of questions.", True),
    _column("observed_high", pa.float64(), "Upper end.", True),
    _column("chance", pa.float64(), "Agreement expected by chance.", True),
    _column("kappa", pa.float64(), "Cohen's κ; null where chance leaves no room.", True),
    _column("kappa_low", pa.float64(), "Lower end, by bootstrap of questions.", True),
    _column("kappa_high", pa.float64(), "Upper end.", True),
)

ANSWER_SENTENCES = pa.schema(
    [
        *_ANSWER,
        _DIFFICULTY,
        _column("sentence", pa.int32(), "Sentence, from 0."),
        _column("text", pa.string(), "The sentence without markers."),
        _column("cited", pa.list_(pa.string()), "Sources it cites, in order."),
        _column("not_retrieved", pa.list_(pa.string()), "Those of them that were not retrieved."),
        _column("held_against", pa.list_(pa.string()), "Sources that a judge holds it against."),
    ]
)
"""One row per sentence of an answer."""

AUTOMATIC_SCORES = pa.schema(
    [
        *_ANSWER,
        _DIFFICULTY,
        _SENTENCE,
        _column("metric", pa.string(), "correct_language, response or functional_citation."),
        _column("value", pa.int32(), "0 or 1."),
    ]
)
"""One row per answer or sentence and metric."""

ANSWER_RATES = pa.schema(
    [
        *_WHOSE,
        _column("metric", pa.string(), "Automatic metric."),
        _column("theme", pa.string(), "Type of the question; all for every type."),
        _column("difficulty", pa.string(), "Kind of reasoning; all for every kind."),
        _column("rate", pa.float64(), "Share of the answers or sentences, in [0, 1]."),
        _column("low", pa.float64(), "Lower end of the interval over questions."),
        _column("high", pa.float64(), "Upper end."),
        _column("n", pa.int32(), "Answers or sentences."),
        _column("questions", pa.int32(), "Distinct questions."),
        _column("effective_n", pa.float64(), "Independent answers or sentences that they are worth."),
    ]
)
"""Rates with intervals over questions; ``all`` stands for every theme or difficulty."""

VERDICTS = pa.schema(
    [
        _JUDGE,
        _CRITERION,
        _column("language", pa.string(), "Language of the question, ISO 639-1."),
        *_ANSWER,
        _SENTENCE,
        _column("label", pa.int32(), "1 good, 0 not, 2 declined (correctness); null: no verdict.", True),
        _column("reasoning", pa.string(), "Why, in the words of the judge.", True),
        _column("attempts", pa.int32(), "Replies that were asked for."),
        _column("problem", pa.string(), "Why there is no verdict.", True),
        _column("failed", pa.bool_(), "The request failed: it is asked again with the next run."),
    ]
)
"""One row per judge, criterion and answer, or sentence of it. ``label`` is null where there is no verdict;
``problem`` says why. A missing verdict is never a score."""

JUDGE_CALIBRATION = pa.schema(
    [
        _JUDGE,
        _CRITERION,
        _column("labels", pa.string(), "three: correct, incorrect, refusal; two: correct or not."),
        _column("group", pa.string(), "Answers compared: all, or those of one system."),
        _column("n", pa.int32(), "Answers with both labels."),
        _column("missing", pa.int32(), "Answers without a verdict."),
        _column("failed", pa.int32(), "Those of them whose request failed: they are asked again."),
        _column("observed", pa.float64(), "Share of equal labels."),
        *_AGREEMENT,
        _column("human_rate", pa.float64(), "Share of correct answers by people."),
        _column("judge_rate", pa.float64(), "Share of correct answers by the judge."),
    ]
)
"""One row per judge, criterion, set of labels and group of answers, ``all`` first."""

SAMPLE = pa.schema(
    [
        _ITEM,
        _column("theme", pa.string(), "Type of the question."),
        _column("stratum", pa.string(), "Theme and cluster."),
        _column("sampled", pa.bool_(), "It is on the sheet."),
        _column("weight", pa.float64(), "Items of the stratum per sampled one; null for others.", True),
    ]
)
"""Every item with its stratum (theme and cluster). ``weight`` is how many items a sampled one stands for."""

LABEL_SAMPLE = pa.schema([_CRITERION, *_WHOSE, *SAMPLE])
"""Samples of every system and criterion that people label."""

HUMAN_LABELS = pa.schema(
    [
        _ITEM,
        _column("label_1", pa.int32(), "First annotator: 0 or 1.", True),
        _column("label_2", pa.int32(), "Second annotator, who reviews the first.", True),
        _column("label_3", pa.int32(), "Third annotator, who decides.", True),
        _column("label", pa.int32(), "The final label; null while there is none.", True),
        _column("state", pa.string(), "agreed, decided, open, one or empty."),
        _column("sheet", pa.string(), "File that it was read from."),
    ]
)
"""One row per item. ``label`` is the final one, null while ``state`` is not ``agreed`` or ``decided``: it is
``empty``, ``one`` (the second annotator is missing) or ``open`` (two disagree and nobody has decided)."""

JUDGED_ESTIMATES = pa.schema(
    [
        *_WHOSE,
        _CRITERION,
        _JUDGE,
        _column("theme", pa.string(), "Type of the question; all for every type."),
        _column("method", pa.string(), "human, human_wald, judge, ppi or ppi_normal."),
        _column("estimate", pa.float64(), "Share of good answers or sentences, in [0, 1]."),
        _column("low", pa.float64(), "Lower end of the interval."),
        _column("high", pa.float64(), "Upper end."),
        _column("effective_n", pa.float64(), "Labels that would give the same uncertainty.", True),
        _column("lam", pa.float64(), "λ, weight of the judge; null without one.", True),
        _column("labels", pa.int32(), "Labels of people."),
        _column("verdicts", pa.int32(), "Verdicts of the judge."),
        _column("missing", pa.int32(), "Items without a verdict, which no estimate uses."),
        _column("questions", pa.int32(), "Distinct questions."),
    ]
)
"""One row per system, criterion, judge, theme (``all`` first) and method; rows of people alone repeat per
judge. Where nobody has labelled, the rows of the method ``judge`` stand alone."""

JUDGE_AGREEMENT = pa.schema(
    [
        *_WHOSE,
        _CRITERION,
        _JUDGE,
        _column("theme", pa.string(), "Type of the question; all for every type."),
        _column("n", pa.int32(), "Items with a final label and a verdict."),
        _column("observed", pa.float64(), "Share of equal labels.", True),
        *_AGREEMENT,
    ]
)
"""Agreement of each judge with people's final labels, intervals by bootstrap of questions."""
