"""Answers as they are judged: sentences with what they cite, the sources that were given, their language.

Read from rows of ``schemas.ANSWERS``, whose citations were checked when they were made. Metrics that need no
judge are scored here (`AUTOMATIC_METRICS`).

Languages are told apart by py3langid (Lui & Baldwin, 2012, "langid.py"), a naive Bayes classifier over byte
n-grams that ships its model. On the 2,420 published answers of the due-diligence study it agrees with their
labels (langdetect, checked by people) every time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pyarrow as pa

from finrag_pipeline.answering.final_answer import declines
from finrag_pipeline.answering.grounding import CALCULATION
from finrag_pipeline.chunking.registry import CHUNKINGS
from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.metrics import RIGOROUS, Metric
from finrag_pipeline.evaluation.summary import UNKNOWN, grouped_means
from finrag_pipeline.filings.sentences import sentences
from finrag_pipeline.schemas import ANSWER_SENTENCES, AUTOMATIC_SCORES, conform
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import lake_views

LANGUAGES = ("en", "fr", "de", "es", "it", "nl", "pt")
"""Languages that are told apart, as ISO 639-1 codes."""

SHORTEST = 3
"""Words below which no language is said: figures and names belong to none."""


def language_of(text: str) -> str | None:
    """ISO 639-1 code of the language of a text without markers; None for too few words to tell."""
    words = [word for word in text.split() if sum(letter.isalpha() for letter in word) > 1]
    if len(words) < SHORTEST:
        return None
    code, _ = _identifier().classify(" ".join(words))
    return str(code)


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(list(LANGUAGES))
    return identifier


ITEMS_VERSION = "1"
"""Changes with how answers are split, or with what a sentence is held against."""

_FRENCH_REFUSAL = re.compile(
    r"\b(?:je suis désolée?|désolée?|je ne (?:peux|suis|trouve|dispose)|"
    r"(?:ne|n['’])\s*(?:\w+\s+){0,3}(?:contien\w*|mentionn\w*|fourni\w*|précis\w*|permet\w*|"
    r"dispos\w*|figur\w*|indiqu\w*)\s+(?:\w+\s+){0,2}?(?:pas|aucune?|rien)\b|"
    r"aucune? (?:information|donnée|document|source|mention)|"
    r"(?:informations?|données) (?:\w+\s+){0,2}(?:insuffisantes?|manquantes?|non disponibles?))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CitingSentence:
    """A sentence of an answer without markers, and identifiers it cites, whether they exist or not."""

    text: str
    cited: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to be judged.

    Attributes:
        answer_id: unique among the answers judged together.
        question_id: its question; answers to one question are correlated.
        text: the answer without markers.
        sources: text of every retrieved source by identifier, best first.
        abstains: it plainly says that there is no answer.
        theme: for slices, as ``difficulty``; for example the type of question.
        language: ISO 639-1 code of the question.
        system: what answered, and on which retrieval.
        space: search space of the retrieval.
        repeat: which of several answers to the same request, from 0.
    """

    answer_id: str
    question_id: str
    question: str
    text: str
    sentences: tuple[CitingSentence, ...]
    sources: Mapping[str, str] = field(default_factory=dict)
    abstains: bool = False
    theme: str = "all"
    difficulty: str = "all"
    language: str = "en"
    system: str = ""
    space: str = "corpus"
    repeat: int = 0

    def key(self) -> dict[str, Any]:
        """Columns that say whose answer it is, in every table of judged answers."""
        names = ("answer_id", "system", "space", "question_id", "repeat", "theme")
        return {name: getattr(self, name) for name in names}

    def sources_of(self, sentence: int) -> dict[str, str]:
        """What a sentence is held against: the sources that it cites and that were retrieved.

        A sentence that cites nothing continues the one it follows: it is held against all that the answer
        cites, or, where the answer cites nothing, against all that was retrieved.
        """
        own = self.sentences[sentence].cited
        names = own or tuple(dict.fromkeys(name for one in self.sentences for name in one.cited))
        return {name: self.sources[name] for name in names or self.sources if name in self.sources}


def abstains(text: str) -> bool:
    """Whether a text plainly says that the answer cannot be had, in English or French."""
    return declines(text) or bool(_FRENCH_REFUSAL.search(" ".join(text.split())))


def plainly_abstains(sentences_: Sequence[CitingSentence]) -> bool:
    """Whether an answer is a plain abstention: half of its sentences or more say that it cannot be had.

    One that gives what it found and says what is missing is none.
    """
    declined = sum(abstains(one.text) for one in sentences_)
    return bool(sentences_) and 2 * declined >= len(sentences_)


def answer_from_row(row: Mapping[str, Any], texts: Mapping[str, str], **more: str) -> Answer:
    """The answer of a row of ``schemas.ANSWERS``.

    Its identifier ends with a hash of its words and citations: a verdict or a label of an answer that was
    written anew since never counts for the new one.

    Args:
        texts: text of chunks and pages by identifier; those not among them are left out.
        more: ``theme``, ``difficulty`` and ``language`` of the question.

    Raises:
        LakeError: the citations of the row cannot be read.
    """
    names = ("question_id", "system", "retrieval", "space", "repeat")
    key = "/".join(str("-" if row[name] is None else row[name]) for name in names)
    try:
        cited = json.loads(row["citations"]) if row["citations"] else []
        found = tuple(CitingSentence(one["text"], (*one["sources"], *one["unknown"])) for one in cited)
    except (ValueError, TypeError, KeyError) as error:
        raise LakeError(
            f"The citations of answer {key} cannot be read.", "Generate the answers again."
        ) from error
    if not found:
        found = tuple(CitingSentence(one, ()) for one in sentences(row["answer"]))
    return Answer(
        answer_id=f"{key}/{fingerprint(row['question'], row['answer'], row['citations'])[:8]}",
        question_id=row["question_id"],
        question=row["question"],
        text=row["answer"],
        sentences=found,
        sources={name: texts[name] for name in row["retrieved"] or () if name in texts},
        abstains=bool(row["abstained"]),
        system=f"{row['system']} on {row['retrieval']}" if row["retrieval"] else row["system"],
        space=row["space"] or "corpus",
        repeat=row["repeat"],
        **more,
    )


def sentence_rows(answers: Iterable[Answer]) -> pa.Table:
    """The answers by sentence, as ``schemas.ANSWER_SENTENCES``: the grain of veracity and citations."""
    rows = [
        {
            **answer.key(),
            "difficulty": answer.difficulty,
            "sentence": place,
            "text": sentence.text,
            "cited": list(sentence.cited),
            "not_retrieved": [name for name in sentence.cited if name not in answer.sources],
            "held_against": list(answer.sources_of(place)),
        }
        for answer in answers
        for place, sentence in enumerate(answer.sentences)
    ]
    return pa.Table.from_pylist(rows, schema=ANSWER_SENTENCES)


def read_answers(lake: Lake, rows: pa.Table, questions: pa.Table) -> list[Answer]:
    """Answers to questions of a benchmark, ready to be judged; those to other questions are left out.

    The theme is the type of the question, the difficulty the first kind of reasoning that the benchmark
    names.

    Raises:
        LakeError: the citations of a row cannot be read.
    """
    asked = {row["question_id"]: question_slices(row) for row in questions.to_pylist()}
    found = [row for row in rows.to_pylist() if row["question_id"] in asked]
    texts = source_texts(lake, (name for row in found for name in row["retrieved"] or ()))
    return [answer_from_row(row, texts, **asked[row["question_id"]]) for row in found]


def without_text(rows: pa.Table, answers: Sequence[Answer]) -> list[str]:
    """Sources that were given to an answer and that the lake holds no text of, distinct.

    A calculation that the answer was held to is no text of a filing.
    """
    known = {CALCULATION}.union(*(answer.sources for answer in answers))
    given = {name for names in rows["retrieved"].to_pylist() for name in names or ()}
    return sorted(given - known)


def source_texts(lake: Lake, names: Iterable[str]) -> dict[str, str]:
    """Texts of chunks and pages by their identifiers, as far as the lake holds them."""
    tables = [f"SELECT chunk_id AS name, text FROM {one.table}" for one in CHUNKINGS.values()]  # noqa: S608
    tables.append("SELECT filing || '#page=' || page AS name, text FROM filing_pages")
    sql = f"SELECT name, text FROM ({' UNION ALL '.join(tables)}) WHERE name IN (SELECT unnest($names))"  # noqa: S608
    with lake_views(lake) as query:
        found = query(sql, {"names": sorted(set(names))})
    return dict(zip(found["name"].to_pylist(), found["text"].to_pylist(), strict=True))


def question_slices(question: Mapping[str, Any]) -> dict[str, str]:
    """Theme, difficulty and language of a row of ``benchmark_questions``."""
    first = re.split(r"\s+or\b", question["reasoning"] or "", maxsplit=1, flags=re.IGNORECASE)[0].strip()
    return {
        "theme": question["question_type"] or UNKNOWN,
        "difficulty": first.lower() or UNKNOWN,
        "language": language_of(question["question"]) or "en",
    }


AUTOMATIC_VERSION = "1"
"""Changes whenever a value may change."""


def _language(answer: Answer) -> Iterator[tuple[None, int]]:
    spoken = language_of(answer.text)
    if spoken is not None:
        yield None, int(spoken == answer.language)


def _response(answer: Answer) -> Iterator[tuple[None, int]]:
    yield None, int(any(one.cited for one in answer.sentences) and not answer.abstains)


def _citations(answer: Answer) -> Iterator[tuple[int, int]]:
    for place, sentence in enumerate(answer.sentences):
        if sentence.cited:
            yield place, int(all(name in answer.sources for name in sentence.cited))


AUTOMATIC_METRICS = (
    Metric(
        "correct_language", "Right language",
        "The answer is in the language of the question, by a detector; missing below three words.",
        _language, RIGOROUS, True,
    ),
    Metric(
        "response", "Response",
        "The answer cites a source and is no plain abstention: fewer than half of its sentences say that it "
        "cannot be had.",
        _response, RIGOROUS, True,
    ),
    Metric(
        "functional_citation", "Functional citations",
        "Of a sentence that cites: every source it cites was retrieved.",
        _citations, RIGOROUS, True,
    ),
)  # fmt: skip
"""Metrics that need no judge, scored on an `Answer`: number of a sentence, or None, and the value."""


def automatic_scores(answers: Iterable[Answer]) -> pa.Table:
    """Every metric of every answer and sentence, as ``schemas.AUTOMATIC_SCORES``."""
    rows = [
        answer.key()
        | {"difficulty": answer.difficulty, "sentence": sentence, "metric": metric.name, "value": value}
        for answer in answers
        for metric in AUTOMATIC_METRICS
        for sentence, value in metric.score(answer)
    ]
    return pa.Table.from_pylist(rows, schema=AUTOMATIC_SCORES)


def rates(scores: pa.Table, confidence: float = 0.95) -> pa.Table:
    """Rates of ``schemas.AUTOMATIC_SCORES`` by system, metric, theme and difficulty, and over all (Figure 3).

    Intervals resist answers to one question agreeing. As ``schemas.ANSWER_RATES``, by system and space, in
    the order of `AUTOMATIC_METRICS`, then of themes and difficulties.
    """
    rows = """
        SELECT system, space, metric, theme, difficulty, question_id AS cluster, value,
            (system, space, list_position($metrics, metric), theme <> 'all', theme, difficulty <> 'all',
                difficulty) AS place
        FROM (
            SELECT * REPLACE (unnest(list_distinct(['all', theme])) AS theme) FROM (
                SELECT * REPLACE (unnest(list_distinct(['all', difficulty])) AS difficulty) FROM scores
            )
        )
    """
    keys = ("system", "space", "metric", "theme", "difficulty")
    order = {"metrics": [metric.name for metric in AUTOMATIC_METRICS]}
    found = grouped_means(rows, keys, confidence, order, fewest=1, scores=scores)
    return conform(found.rename_columns({"mean": "rate", "clusters": "questions"}), "answer_rates")
