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
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Annotated, Any, Literal, Protocol

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from finrag_pipeline.errors import LakeError, ModelError
from finrag_pipeline.evaluation.judged_answers import Answer
from finrag_pipeline.language_models.fencing import fenced
from finrag_pipeline.language_models.protocol import LanguageModel, Message, Request, sayable
from finrag_pipeline.schemas import VERDICTS
from finrag_pipeline.storage.fingerprints import fingerprint

Criterion = Literal["relevance", "veracity", "correctness"]

REFUSAL = 2
"""Label of ``correctness`` for an answer that declines; 1 is correct and 0 incorrect."""

_FENCE = re.compile(r"\A```(?:json)?\s*\n(?P<body>.*)\n```\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says of one answer or one of its sentences.

    Attributes:
        label: 1 good, 0 not, :data:`REFUSAL` for a declined answer under ``correctness``; None if missing.
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


class _Ternary(_Binary):
    """One verdict of ``correctness``."""

    number: Annotated[int, Field(ge=1, description="Always 1.")]
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
    ``count``, the sentences that were asked about, must come once.
    """
    text = reply.strip()
    if fence := _FENCE.match(text):
        text = fence["body"].strip()
    try:
        found = _model(criterion).model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return f"{place}: {first['msg']}" if place else first["msg"]
    numbers = [one.number for one in found.verdicts]
    if sorted(numbers) != list(range(1, count + 1)):
        return f"verdicts: numbers {numbers} instead of 1 to {count}, each once"
    return [Verdict(one.label, one.reasoning) for one in sorted(found.verdicts, key=lambda one: one.number)]


def _model(criterion: Criterion) -> type[_BinaryReply] | type[_TernaryReply]:
    return _TernaryReply if criterion == "correctness" else _BinaryReply


_LAYOUT_VERSION = "1"

_WORDS: dict[str, Any] = tomllib.loads(
    files("finrag_pipeline.evaluation").joinpath("prompts.toml").read_text("utf-8")
)


def prompts_fingerprint() -> str:
    """Hash of every word of the prompts and of how they are put together."""
    return fingerprint(_LAYOUT_VERSION, _WORDS)


def _words(language: str) -> dict[str, Any]:
    """Words in a language; of one that there are no prompts in, those in English."""
    words: dict[str, Any] = _WORDS.get(language, _WORDS["en"])
    return words


def judge_messages(
    criterion: Criterion,
    language: str,
    parts: Mapping[str, str],
    sources: Sequence[str] | None = None,
    count: int = 1,
) -> list[Message]:
    """Asks for one label of a whole answer, or one of each sentence.

    Args:
        language: ``en`` or ``fr``; others are asked in English.
        parts: what is judged, by the name of its heading in ``prompts.toml``.
        sources: texts that sentences are held against.
        count: labels asked for.
    """
    words = _words(language)
    heading, own = words["headings"], words[criterion]
    steps, labels = _rules(own)
    verdicts = [{"number": place, **verdict} for place, verdict in enumerate(own["verdicts"], start=1)]
    example = json.dumps({"verdicts": verdicts}, ensure_ascii=False)
    form = words["form"].format(schema=reply_schema(criterion), count=count)

    # All that others wrote is fenced in one go, under one mark, which no text can hold.
    shown, mark = fenced([*(sources or ()), *parts.values()])
    end = f'</document mark="{mark}">'
    blocks = [block.removesuffix(end) + end for block in shown.split(f"{end}\n\n")]
    cut = len(blocks) - len(parts)
    data = [f"{heading['sources']}:\n" + "\n\n".join(blocks[:cut])] if sources is not None else []
    data += [f"{heading[name]}:\n{block}" for name, block in zip(parts, blocks[cut:], strict=True)]
    system = (
        f"{heading['role']}: {own['role']}\n\n"
        f"{heading['data']}: {own['data']}\n\n"
        f"{heading['steps']}:\n" + "\n".join(steps) + "\n\n"
        f"{heading['labels']}:\n" + "\n".join(f"- {label}" for label in labels) + "\n\n"
        f"{heading['form']}: {form}\n\n"
        f"{heading['example']}:\n{own['given']}\nJSON: {example}\n\n"
        f"{words['notice'].format(mark=mark)}"
    )
    user = f"{heading['here']}.\n\n" + "\n\n".join(data) + "\n\nJSON:"
    return [Message("system", system), Message("user", user)]


def retry_messages(before: Sequence[Message], reply: str, problem: str, language: str) -> list[Message]:
    """The conversation after a reply that was not valid."""
    again = _words(language)["again"].format(problem=problem)
    return [*before, Message("assistant", sayable(reply)), Message("user", again)]


def guidelines(criterion: Criterion, language: str) -> list[str]:
    """The judge's instructions for people: role, steps and labels, one line each."""
    words = _words(language)
    heading, own = words["headings"], words[criterion]
    steps, labels = _rules(own)
    example = [
        *own["given"].splitlines(),
        *(f"{one['label']}: {one['reasoning']}" for one in own["verdicts"]),
    ]
    found = [own["role"]]
    for name, lines in (("steps", steps), ("labels", labels), ("example", example)):
        found += ["", heading[name], *lines]
    return found


def _rules(words: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Numbered steps, and labels with their meaning."""
    steps = [f"{place}. {step}" for place, step in enumerate(words["steps"], start=1)]
    return steps, [f"{label}: {meaning}" for label, meaning in enumerate(words["labels"])]


JUDGES_VERSION = "1"
"""Changes with how a judge is asked or read."""

ATTEMPTS = 3
"""Replies that are asked for before a verdict counts as missing."""

_TOKENS_PER_VERDICT = 400


class Judge(Protocol):
    """Gives labels; may leave a verdict missing, and never guesses one."""

    @property
    def name(self) -> str:
        """Name for people."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of everything that decides a verdict besides the answer."""
        ...

    def verdicts(
        self, criterion: Criterion, answers: Sequence[Answer], golds: Sequence[str] = ()
    ) -> list[list[Verdict]]:
        """Verdicts on each answer: one on each of its sentences under ``veracity``, else one.

        Under ``relevance`` it is 1 where the answer takes up the question and brings in nothing off topic,
        under ``veracity`` where all of a sentence follows from its sources, under ``correctness`` where it
        says what the gold answer says, and 2 where it declines.
        """
        ...


@dataclass(frozen=True)
class LanguageModelJudge:
    """A language model that is asked at temperature 0 and must reply in JSON.

    A reply that is not valid is shown to the model with what is wrong, up to ``attempts`` replies; then the
    verdict is missing. So is that of a request that fails. Verdicts are kept by giving it a
    `CachedLanguageModel`: the request is the key.

    Attributes:
        workers: conversations at a time.
        attempts: replies at most in each.
        language: language of the prompts; that of the question by default.
        called: name for people; that of the model by default.
    """

    model: LanguageModel
    workers: int = 4
    attempts: int = ATTEMPTS
    language: str | None = None
    called: str = ""

    @property
    def name(self) -> str:
        """Its name, and the language of the prompts where it is fixed."""
        return f"{self.called or self.model.name}{f' ({self.language})' if self.language else ''}"

    @property
    def fingerprint(self) -> str:
        """Of model, prompts and number of attempts."""
        return fingerprint(
            self.model.fingerprint, JUDGES_VERSION, prompts_fingerprint(), self.attempts, self.language
        )

    def verdicts(
        self, criterion: Criterion, answers: Sequence[Answer], golds: Sequence[str] = ()
    ) -> list[list[Verdict]]:
        """See `Judge.verdicts`; sentences of an answer with the same sources are asked about at once."""
        asked: list[tuple[int, list[int], list[Message], str]] = []  # answer, sentences, prompt, language
        for number, answer in enumerate(answers):
            spoken = self.language or answer.language
            if criterion != "veracity":
                reference = {"reference": golds[number]} if criterion == "correctness" else {}
                parts = {"question": answer.question, **reference, "answer": answer.text}
                asked.append((number, [0], judge_messages(criterion, spoken, parts), spoken))
                continue
            groups: dict[tuple[str, ...], list[int]] = {}
            for sentence in range(len(answer.sentences)):
                groups.setdefault(tuple(answer.sources_of(sentence)), []).append(sentence)
            for names, members in groups.items():
                judged = (" ".join(answer.sentences[member].text.split()) for member in members)
                listed = "\n".join(f"{place}. {text}" for place, text in enumerate(judged, start=1))
                parts = {"paragraph": answer.text, "sentences": listed}
                texts = [answer.sources[name] for name in names]
                messages = judge_messages(criterion, spoken, parts, texts, len(members))
                asked.append((number, members, messages, spoken))
        found: list[dict[int, Verdict]] = [{} for _ in answers]
        with ThreadPoolExecutor(max(1, self.workers)) as pool:
            replies = pool.map(lambda one: self._ask(criterion, len(one[1]), *one[2:]), asked)
            for (number, members, *_), verdicts in zip(asked, replies, strict=True):
                found[number] |= zip(members, verdicts, strict=True)
        return [[of_sentence[place] for place in sorted(of_sentence)] for of_sentence in found]

    def _ask(self, criterion: Criterion, count: int, messages: list[Message], language: str) -> list[Verdict]:
        """Verdicts of a conversation, asked again while a reply is not valid."""
        talk, problem = messages, ""
        for attempt in range(1, self.attempts + 1):
            try:
                reply = self.model.complete(Request(tuple(talk), 0.0, 200 + _TOKENS_PER_VERDICT * count, 0))
            except ModelError as error:
                return [Verdict(None, None, attempt, error.reason, failed=True)] * count
            read = read_reply(reply.text, criterion, count)
            if not isinstance(read, str):
                return [Verdict(one.label, one.reasoning, attempt) for one in read]
            problem = read + (" (the reply was cut)" if reply.finish_reason == "length" else "")
            talk = retry_messages(messages, reply.text, read, language)
        return [Verdict(None, None, self.attempts, f"no valid reply in {self.attempts}: {problem}")] * count


def judge_answers(
    judge: Judge,
    answers: Sequence[Answer],
    criteria: Iterable[Criterion] = ("relevance", "veracity"),
    references: Mapping[str, str] | None = None,
) -> pa.Table:
    """Verdicts of one judge on all answers.

    As ``schemas.VERDICTS``. Answers without a reference, their gold answer, are left out of ``correctness``.

    Raises:
        LakeError: an answer comes twice.
    """
    for name, times in Counter(one.answer_id for one in answers).items():
        if times > 1:
            raise LakeError(f"Answer '{name}' is there twice.", "Leave one of them out.")
    golds, rows = references or {}, []
    for criterion in criteria:
        judged = [one for one in answers if criterion != "correctness" or one.answer_id in golds]
        found = judge.verdicts(criterion, judged, [golds.get(one.answer_id, "") for one in judged])
        for answer, verdicts in zip(judged, found, strict=True):
            about = {"judge": judge.name, "criterion": criterion, "language": answer.language, **answer.key()}
            for place, verdict in enumerate(verdicts):
                sentence = place if criterion == "veracity" else None
                rows.append({**about, "sentence": sentence, **asdict(verdict)})
    return pa.Table.from_pylist(rows, schema=VERDICTS)
