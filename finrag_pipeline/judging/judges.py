"""What a judge is, the one that is a language model, and the table of what judges said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from finrag_pipeline.errors import ModelError
from finrag_pipeline.judging.items import Answer, unique_answers
from finrag_pipeline.judging.prompts import (
    correctness_messages,
    prompts_fingerprint,
    relevance_messages,
    retry_messages,
    veracity_messages,
)
from finrag_pipeline.judging.verdicts import Criterion, Verdict, read_reply
from finrag_pipeline.language_models.parallel import Request, complete_all
from finrag_pipeline.language_models.protocol import LanguageModel, Message
from finrag_pipeline.schemas import VERDICTS
from finrag_pipeline.storage.fingerprints import fingerprint

JUDGES_VERSION = "1"
"""Changes with how a judge is asked or read."""

ATTEMPTS = 3
"""Replies that are asked for before a verdict counts as missing."""

_TOKENS_PER_VERDICT = 400


class Judge(Protocol):
    """Gives labels; may leave a verdict missing, and never guesses one.

    Attributes:
        name: for people.
        fingerprint: of everything that decides a verdict besides the answer.
    """

    @property
    def name(self) -> str:
        """Name for people."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of everything that decides a verdict besides the answer."""
        ...

    def relevance(self, answers: Sequence[Answer]) -> list[Verdict]:
        """One verdict for each answer: 1 when it answers the question and brings in nothing off topic."""
        ...

    def veracity(self, answers: Sequence[Answer]) -> list[list[Verdict]]:
        """One verdict for each sentence of each answer: 1 when all of it follows from its sources."""
        ...

    def correctness(self, answers: Sequence[Answer], references: Sequence[str]) -> list[Verdict]:
        """One verdict for each answer: 1 as the gold answer, 0 not, 2 declined."""
        ...


class LanguageModelJudge:
    """A language model that is asked at temperature 0 and must reply in JSON.

    A reply that is not valid is shown to the model with what is wrong, up to ``attempts`` replies; then the
    verdict is missing. So is that of a request that fails. Verdicts are kept by giving it a
    `CachedLanguageModel`: the request is the key.

    Args:
        model: asked.
        workers: requests at a time.
        attempts: replies at most for each request.
        language: language of the prompts; that of the question by default.
        name: name for people; that of the model by default.
    """

    def __init__(
        self,
        model: LanguageModel,
        workers: int = 4,
        attempts: int = ATTEMPTS,
        language: str | None = None,
        name: str | None = None,
    ) -> None:
        self._model = model
        self._workers = workers
        self._attempts = attempts
        self._language = language
        self._name = name or model.name

    @property
    def name(self) -> str:
        """Its name, and the language of the prompts where it is fixed."""
        return f"{self._name} ({self._language})" if self._language else self._name

    @property
    def fingerprint(self) -> str:
        """Of model, prompts and number of attempts."""
        return fingerprint(
            self._model.fingerprint, JUDGES_VERSION, prompts_fingerprint(), self._attempts, self._language
        )

    def relevance(self, answers: Sequence[Answer]) -> list[Verdict]:
        """See `Judge.relevance`."""
        asked = [
            (relevance_messages(one.question, one.text, self._spoken(one)), 1, self._spoken(one))
            for one in answers
        ]
        return [verdicts[0] for verdicts in self._ask("relevance", asked)]

    def correctness(self, answers: Sequence[Answer], references: Sequence[str]) -> list[Verdict]:
        """See `Judge.correctness`."""
        asked = [
            (correctness_messages(one.question, gold, one.text, self._spoken(one)), 1, self._spoken(one))
            for one, gold in zip(answers, references, strict=True)
        ]
        return [verdicts[0] for verdicts in self._ask("correctness", asked)]

    def veracity(self, answers: Sequence[Answer]) -> list[list[Verdict]]:
        """See `Judge.veracity`; sentences of an answer with the same sources are asked about at once."""
        places: list[tuple[int, list[int]]] = []
        asked: list[tuple[list[Message], int, str]] = []
        for number, answer in enumerate(answers):
            groups: dict[tuple[str, ...], list[int]] = {}
            for sentence in range(len(answer.sentences)):
                groups.setdefault(tuple(answer.sources_of(sentence)), []).append(sentence)
            for names, members in groups.items():
                spoken = self._spoken(answer)
                texts = [answer.sources[name] for name in names]
                judged = [answer.sentences[member].text for member in members]
                asked.append((veracity_messages(texts, answer.text, judged, spoken), len(members), spoken))
                places.append((number, members))
        missing = Verdict(None, problem="was not asked")
        found = [[missing] * len(answer.sentences) for answer in answers]
        for (number, members), verdicts in zip(places, self._ask("veracity", asked), strict=True):
            for member, verdict in zip(members, verdicts, strict=True):
                found[number][member] = verdict
        return found

    def _spoken(self, answer: Answer) -> str:
        return self._language or answer.language

    def _ask(
        self, criterion: Criterion, asked: Sequence[tuple[list[Message], int, str]]
    ) -> list[list[Verdict]]:
        """Verdicts of each conversation, asked again while a reply is not valid."""
        talks = [messages for messages, _, _ in asked]
        found: dict[int, list[Verdict]] = {}
        problems: dict[int, str] = {}
        open_places = list(range(len(asked)))
        for attempt in range(1, self._attempts + 1):
            requests = [
                Request(tuple(talks[place]), 0.0, 200 + _TOKENS_PER_VERDICT * asked[place][1], 0)
                for place in open_places
            ]
            for place, reply in zip(
                open_places, complete_all(self._model, requests, self._workers), strict=True
            ):
                _, count, language = asked[place]
                if isinstance(reply, ModelError):
                    found[place] = [Verdict(None, None, attempt, reply.reason, failed=True)] * count
                    continue
                read = read_reply(reply.text, criterion, count)
                if isinstance(read, str):
                    cut = " (the reply was cut)" if reply.finish_reason == "length" else ""
                    problems[place] = read + cut
                    talks[place] = retry_messages(asked[place][0], reply.text, read, language)
                else:
                    found[place] = [Verdict(one.label, one.reasoning, attempt) for one in read]
            open_places = [place for place in open_places if place not in found]
            if not open_places:
                break
        for place in open_places:
            problem = f"no valid reply in {self._attempts}: {problems[place]}"
            found[place] = [Verdict(None, None, self._attempts, problem)] * asked[place][1]
        return [found[place] for place in range(len(asked))]


def judge_answers(
    judge: Judge,
    answers: Sequence[Answer],
    criteria: Iterable[Criterion] = ("relevance", "veracity"),
    references: Mapping[str, str] | None = None,
) -> pa.Table:
    """Verdicts of one judge on all answers.

    Args:
        judge: asked.
        answers: each once.
        criteria: what is judged.
        references: gold answer by answer, for ``correctness``.

    Returns:
        Table as ``schemas.VERDICTS``.

    Raises:
        LakeError: an answer comes twice.
    """
    answers = unique_answers(answers)
    rows: list[dict[str, object]] = []

    def add(criterion: Criterion, answer: Answer, sentence: int | None, verdict: Verdict) -> None:
        rows.append(
            {
                "judge": judge.name,
                "criterion": criterion,
                "language": answer.language,
                **answer.key(),
                "sentence": sentence,
                "label": verdict.label,
                "reasoning": verdict.reasoning,
                "attempts": verdict.attempts,
                "problem": verdict.problem,
                "failed": verdict.failed,
            }
        )

    for criterion in criteria:
        if criterion == "veracity":
            for answer, verdicts in zip(answers, judge.veracity(answers), strict=True):
                for sentence, verdict in enumerate(verdicts):
                    add(criterion, answer, sentence, verdict)
        elif criterion == "relevance":
            for answer, verdict in zip(answers, judge.relevance(answers), strict=True):
                add(criterion, answer, None, verdict)
        else:
            known = [one for one in answers if references and one.answer_id in references]
            golds = [references[one.answer_id] for one in known] if references else []
            for answer, verdict in zip(known, judge.correctness(known, golds), strict=True):
                add(criterion, answer, None, verdict)
    return pa.Table.from_pylist(rows, schema=VERDICTS)
