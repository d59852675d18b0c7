"""Answers as they are judged: sentences with what they cite, and the sources that were given.

Read from rows of ``schemas.ANSWERS``, whose citations were checked when they were made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from finrag_pipeline.answering.final_answer import declines
from finrag_pipeline.errors import LakeError
from finrag_pipeline.filings.sentences import sentences
from finrag_pipeline.schemas import ANSWER_SENTENCES
from finrag_pipeline.storage.fingerprints import fingerprint

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
    """A sentence of an answer.

    Attributes:
        text: the sentence without markers.
        cited: identifiers it cites, in their order, whether they exist or not.
    """

    text: str
    cited: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to be judged.

    Attributes:
        answer_id: unique among the answers judged together.
        question_id: its question; answers to one question are correlated.
        question: the question.
        text: the answer without markers.
        sentences: its sentences, in order.
        sources: text of every retrieved source by identifier, best first.
        abstains: it plainly says that there is no answer.
        theme: for slices, for example the type of question.
        difficulty: for slices.
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
        row: the row.
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
    """The answers by sentence, the grain of veracity and of functional citations.

    Returns:
        Table as ``schemas.ANSWER_SENTENCES``.
    """
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


def unique_answers(answers: Sequence[Answer]) -> Sequence[Answer]:
    """``answers``, when no identifier comes twice.

    Raises:
        LakeError: one does.
    """
    seen: set[str] = set()
    for answer in answers:
        if answer.answer_id in seen:
            raise LakeError(f"Answer '{answer.answer_id}' is there twice.", "Leave one of them out.")
        seen.add(answer.answer_id)
    return answers
