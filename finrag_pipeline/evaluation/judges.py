"""Judges of answers: what one is, the one that is a language model, its prompts, and how replies are read.

The words of the prompts stand in ``prompts.toml``, in English and French; parts and definitions of the labels
follow Martinon et al., Figure 6 (veracity) and Figure 7 (relevance). ``correctness`` compares with a gold
answer, for calibration on published labels. Sources and answers stand between fences: nothing in them is
obeyed.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal, Protocol

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from finrag_pipeline.errors import ModelError
from finrag_pipeline.evaluation.judged_answers import Answer, unique_answers
from finrag_pipeline.language_models.fencing import fenced
from finrag_pipeline.language_models.parallel import complete_all
from finrag_pipeline.language_models.protocol import LanguageModel, Message, Request, sayable
from finrag_pipeline.schemas import VERDICTS
from finrag_pipeline.storage.fingerprints import fingerprint

Criterion = Literal["relevance", "veracity", "correctness"]
CRITERIA: tuple[Criterion, ...] = ("relevance", "veracity", "correctness")

REFUSAL = 2
"""Label of ``correctness`` for an answer that declines; 1 is correct and 0 incorrect."""

_FENCE = re.compile(r"\A```(?:json)?\s*\n(?P<body>.*)\n```\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says of one answer or one of its sentences.

    Attributes:
        label: 1 good, 0 not, :data:`REFUSAL` for a declined answer under ``correctness``; None if missing.
        reasoning: why.
        attempts: replies that were asked for.
        problem: why there is no label.
        failed: the request failed, so that it is worth asking again.
    """

    label: int | None
    reasoning: str | None = None
    attempts: int = 1
    problem: str | None = None
    failed: bool = False


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Binary(_Strict):
    """One verdict of the reply: reasoning first, so that the label follows from it."""

    number: Annotated[int, Field(ge=1, description="Number of the sentence, from 1; 1 for a whole answer.")]
    reasoning: Annotated[str, Field(min_length=1, description="Step-by-step reasoning.")]
    label: Annotated[int, Field(ge=0, le=1, description="0 or 1 as defined above.")]


class _Ternary(_Strict):
    """One verdict of ``correctness``."""

    number: Annotated[int, Field(ge=1, description="Always 1.")]
    reasoning: Annotated[str, Field(min_length=1, description="Step-by-step reasoning.")]
    label: Annotated[int, Field(ge=0, le=2, description="0, 1 or 2 as defined above.")]


class _BinaryReply(_Strict):
    verdicts: list[_Binary]


class _TernaryReply(_Strict):
    verdicts: list[_Ternary]


def reply_schema(criterion: Criterion) -> str:
    """JSON schema of the reply, as it stands in the prompt."""
    return json.dumps(_model(criterion).model_json_schema(), ensure_ascii=False)


def read_reply(reply: str, criterion: Criterion, count: int) -> list[Verdict] | str:
    """Verdicts of a reply in the order of the sentences, or what is wrong with it.

    Nothing but the JSON may stand in the reply, a code fence around all of it apart. Every number from 1 to
    ``count`` must come once.

    Args:
        reply: what the model wrote.
        criterion: decides which labels there are.
        count: sentences that were asked about, 1 for a whole answer.
    """
    text = reply.strip()
    if fence := _FENCE.match(text):
        text = fence["body"].strip()
    try:
        found = _model(criterion).model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return f"{place}: {first['msg']}" if place else str(first["msg"])
    given: list[_Binary | _Ternary] = [*found.verdicts]
    numbers = [one.number for one in given]
    if sorted(numbers) != list(range(1, count + 1)):
        return f"verdicts: numbers {numbers} instead of 1 to {count}, each once"
    ordered = sorted(given, key=lambda one: one.number)
    return [Verdict(one.label, one.reasoning) for one in ordered]


def _model(criterion: Criterion) -> type[_BinaryReply] | type[_TernaryReply]:
    return _TernaryReply if criterion == "correctness" else _BinaryReply


LANGUAGES = ("en", "fr")
"""Languages that there are prompts in; an answer in another one is judged in English."""

_LAYOUT_VERSION = "1"


def prompts_fingerprint() -> str:
    """Hash of every word of the prompts and of how they are put together."""
    return fingerprint(_LAYOUT_VERSION, _all_words())


def relevance_messages(question: str, answer: str, language: str) -> list[Message]:
    """Asks for one label of a whole answer."""
    return _conversation("relevance", language, [("question", question), ("answer", answer)], 1)


def correctness_messages(question: str, reference: str, answer: str, language: str) -> list[Message]:
    """Asks whether an answer agrees with the gold answer."""
    parts = [("question", question), ("reference", reference), ("answer", answer)]
    return _conversation("correctness", language, parts, 1)


def veracity_messages(
    sources: Sequence[str], paragraph: str, judged: Sequence[str], language: str
) -> list[Message]:
    """Asks for one label of each sentence.

    Args:
        sources: texts that the sentences are held against.
        paragraph: the answer they stand in.
        judged: the sentences.
        language: ``en`` or ``fr``.
    """
    numbered = "\n".join(f"{place}. {' '.join(one.split())}" for place, one in enumerate(judged, start=1))
    parts = [("paragraph", paragraph), ("sentences", numbered)]
    return _conversation("veracity", language, parts, len(judged), sources)


def retry_messages(before: Sequence[Message], reply: str, problem: str, language: str) -> list[Message]:
    """The conversation after a reply that was not valid."""
    again = _words(language)["again"].format(problem=problem)
    return [*before, Message("assistant", sayable(reply)), Message("user", again)]


@cache
def _all_words() -> dict[str, Any]:
    return tomllib.loads(files("finrag_pipeline.evaluation").joinpath("prompts.toml").read_text("utf-8"))


def _words(language: str) -> dict[str, Any]:
    words: dict[str, Any] = _all_words()[language if language in LANGUAGES else "en"]
    return words


def _conversation(
    criterion: Criterion,
    language: str,
    parts: Sequence[tuple[str, str]],
    count: int,
    sources: Sequence[str] | None = None,
) -> list[Message]:
    words = _words(language)
    heading, own = words["headings"], words[criterion]
    steps = "\n".join(f"{place}. {step}" for place, step in enumerate(own["steps"], start=1))
    labels = "\n".join(f"- {label}: {meaning}" for label, meaning in enumerate(own["labels"]))
    verdicts = [{"number": place, **verdict} for place, verdict in enumerate(own["verdicts"], start=1)]
    example = json.dumps({"verdicts": verdicts}, ensure_ascii=False)
    form = words["form"].format(schema=reply_schema(criterion), count=count)

    # All that others wrote is fenced in one go, under one mark, which no text can hold.
    shown, mark = fenced([*(sources or ()), *(text for _, text in parts)])
    end = f'</document mark="{mark}">'
    blocks = [block.removesuffix(end) + end for block in shown.split(f"{end}\n\n")]
    cut = len(blocks) - len(parts)
    data = [f"{heading['sources']}:\n" + "\n\n".join(blocks[:cut])] if sources is not None else []
    data += [f"{heading[name]}:\n{block}" for (name, _), block in zip(parts, blocks[cut:], strict=True)]
    system = (
        f"{heading['role']}: {own['role']}\n\n"
        f"{heading['data']}: {own['data']}\n\n"
        f"{heading['steps']}:\n{steps}\n\n"
        f"{heading['labels']}:\n{labels}\n\n"
        f"{heading['form']}: {form}\n\n"
        f"{heading['example']}:\n{own['given']}\nJSON: {example}\n\n"
        f"{words['notice'].format(mark=mark)}"
    )
    user = f"{heading['here']}.\n\n" + "\n\n".join(data) + "\n\nJSON:"
    return [Message("system", system), Message("user", user)]


def guidelines(criterion: Criterion, language: str) -> list[str]:
    """The judge's instructions for people: role, steps and labels, one line each."""
    words = _words(language)
    heading, own = words["headings"], words[criterion]
    steps = [f"{place}. {step}" for place, step in enumerate(own["steps"], start=1)]
    labels = [f"{label}: {meaning}" for label, meaning in enumerate(own["labels"])]
    example = [
        *own["given"].splitlines(),
        *(f"{one['label']}: {one['reasoning']}" for one in own["verdicts"]),
    ]
    return [
        own["role"],
        "",
        heading["steps"],
        *steps,
        "",
        heading["labels"],
        *labels,
        "",
        heading["example"],
        *example,
    ]


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
