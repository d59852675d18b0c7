"""Answers by a language model: asked, read, checked, cited; the calculator steps in where checks fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from finrag_pipeline.answering.citations import (
    CitedSentence,
    all_sources,
    cite,
    marked,
)
from finrag_pipeline.answering.derivation import Derivation
from finrag_pipeline.answering.final_answer import FinalAnswer, final_answer
from finrag_pipeline.answering.grounding import Facts, facts_of, objections
from finrag_pipeline.answering.passages import Passage, select_passages
from finrag_pipeline.answering.prompts import PROMPTS_VERSION, Mode, messages
from finrag_pipeline.answering.sanity import sanity_warnings
from finrag_pipeline.answering.tools import FinancialTools
from finrag_pipeline.errors import ModelError
from finrag_pipeline.language_models.parallel import complete_all
from finrag_pipeline.language_models.protocol import Completion, LanguageModel, Request
from finrag_pipeline.questions.abstention import CANNOT_BE_DETERMINED
from finrag_pipeline.settings import AnswerSettings
from finrag_pipeline.storage.fingerprints import fingerprint

GENERATION_VERSION = "2"
"""Changes with the checks."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what was found for it.

    Attributes:
        question: the question.
        passages: retrieved passages, best first; selected and ordered by the settings.
        derivation: the calculator's, for ``grounded``.
        tools: makes the functions that ``grounded`` offers, given the number of the first fact.
    """

    question: str
    passages: tuple[Passage, ...]
    derivation: Derivation | None = None
    tools: Callable[[int], FinancialTools] | None = None


@dataclass(frozen=True, slots=True)
class Generated:
    """An answer by a language model.

    Attributes:
        question: the question.
        mode: the prompt.
        repeat: which of several answers to the same request, from 0.
        answer: as shown: sentences without support are marked; the calculator's sentence after a fallback;
            empty when there is none.
        final: what it comes down to.
        sentences: its sentences with their sources.
        retrieved: identifiers of what was shown, in the order shown.
        abstained: it says that the answer cannot be had.
        why: why it abstains; None else.
        fallback: why the model's own words were not let through; None when they were.
        warnings: what is odd, never a reason to reject.
        completion: the model's answer; None when it was not asked or failed.
        error: why there is no answer, with what to do; None when there is one.
    """

    question: str
    mode: Mode
    repeat: int
    answer: str
    final: FinalAnswer
    sentences: tuple[CitedSentence, ...]
    retrieved: tuple[str, ...]
    abstained: bool
    why: str | None
    fallback: str | None
    warnings: tuple[str, ...]
    completion: Completion | None
    error: str | None

    @property
    def citations(self) -> tuple[str, ...]:
        """Identifiers of the sources that are cited anywhere."""
        return all_sources(self.sentences)


def generation_fingerprint(model: LanguageModel, mode: Mode, settings: AnswerSettings) -> str:
    """Hash of everything that decides an answer besides the question and what was found for it."""
    budgets = settings.model_dump(exclude={"recorded"})
    return fingerprint("answers", PROMPTS_VERSION, GENERATION_VERSION, model.fingerprint, mode, budgets)


def generate(
    model: LanguageModel,
    mode: Mode,
    asked: Sequence[Asked],
    settings: AnswerSettings,
    workers: int = 1,
) -> list[Generated]:
    """Answers to questions, ``settings.repeats`` of each, question by question.

    A question for which the model fails has an error in place of an answer; the others go on. Without
    passages and without facts the model is not asked: it would answer from memory.

    Args:
        model: asked; keeps nothing that is no whole answer.
        mode: which prompt.
        asked: questions with what was found for them.
        settings: budgets, temperature, seeds.
        workers: requests at a time.
    """
    prepared = [(one, _shown(one, settings), facts_of(one.derivation)) for one in asked]
    requests: list[Request] = []
    boxes: list[FinancialTools | None] = []
    for one, shown, facts in prepared:
        if not (shown or facts.sources):
            continue
        offers = one.tools if mode == "grounded" and settings.tools else None
        conversation = tuple(messages(mode, one.question, shown, facts.text, offers is not None))
        tokens = settings.reasoning_tokens if mode == "cot" else settings.max_tokens
        for repeat in range(settings.repeats):
            boxes.append(offers(len(facts.sources) + 1) if offers else None)
            seed = settings.seed + repeat
            requests.append(Request(conversation, settings.temperature, tokens, seed, boxes[-1]))
    replies = iter(zip(complete_all(model, requests, workers), boxes, strict=True))
    found = []
    for one, shown, facts in prepared:
        for repeat in range(settings.repeats):
            if not (shown or facts.sources):
                found.append(_nothing_found(one, mode, repeat))
                continue
            reply, box = next(replies)
            facts = box.beside(facts) if box is not None else facts
            if isinstance(reply, ModelError):
                found.append(_failed(one, mode, repeat, shown, facts, reply))
            else:
                found.append(_read(one, mode, repeat, shown, facts, reply))
    return found


def _shown(asked: Asked, settings: AnswerSettings) -> list[Passage]:
    return select_passages(asked.passages, settings.passages, settings.context_characters, settings.order)


def _read(
    asked: Asked, mode: Mode, repeat: int, shown: list[Passage], facts: Facts, reply: Completion
) -> Generated:
    grounded = mode == "grounded"
    sources = {
        str(number): (passage.source, f"{passage.place} {passage.text}")
        for number, passage in enumerate(shown, start=2 if grounded else 1)
    }
    if grounded:
        sources |= facts.sources
    cited = cite(reply.text, sources, asked.question)
    fallback = None
    text = marked(cited) or reply.text.strip()
    final = final_answer(reply.text)
    if grounded:
        plain = " ".join(one.text for one in cited)
        if problems := objections(plain, facts, shown, asked.question):
            fallback = " ".join(problems)
            text, final, cited = _fallback(asked)
    warnings = _warnings(asked.question, final, cited, reply)
    return Generated(
        question=asked.question,
        mode=mode,
        repeat=repeat,
        answer=text,
        final=final,
        sentences=cited,
        retrieved=_identifiers(shown, facts if grounded else None),
        abstained=final.declined,
        why=text if final.declined else None,
        fallback=fallback,
        warnings=warnings,
        completion=reply,
        error=None,
    )


def _fallback(asked: Asked) -> tuple[str, FinalAnswer, tuple[CitedSentence, ...]]:
    """The calculator's sentence, which cites its inputs; an abstention where it has none."""
    derivation = asked.derivation
    if derivation is None or derivation.abstained:
        why = derivation.why if derivation is not None else None
        text = f"{CANNOT_BE_DETERMINED}{f': {why}' if why else '.'}"
        if derivation is not None and derivation.answer.startswith(CANNOT_BE_DETERMINED):
            text = derivation.answer
        return text, final_answer(text), (CitedSentence(text, (), (), True),)
    sources = {source: None for source, _ in facts_of(derivation).sources.values()}
    cited = (CitedSentence(derivation.answer, tuple(sources), (), True),)
    return derivation.answer, final_answer(derivation.answer), cited


def _warnings(
    question: str, final: FinalAnswer, cited: Sequence[CitedSentence], reply: Completion
) -> tuple[str, ...]:
    found = []
    if reply.finish_reason == "length":
        found.append("The model's answer was cut at its longest length.")
    if unknown := [marker for one in cited for marker in one.unknown]:
        found.append(f"It cites what was not retrieved: {', '.join(dict.fromkeys(unknown))}.")
    if final.quantity is not None:
        found += sanity_warnings(question, final.quantity.value, final.quantity.unit)
    return tuple(found)


def _nothing_found(asked: Asked, mode: Mode, repeat: int) -> Generated:
    why = "nothing was retrieved"
    text = f"{CANNOT_BE_DETERMINED}: {why}."
    cited = (CitedSentence(text, (), (), True),)
    final = final_answer(text)
    return Generated(asked.question, mode, repeat, text, final, cited, (), True, why, None, (), None, None)


def _failed(
    asked: Asked, mode: Mode, repeat: int, shown: list[Passage], facts: Facts, error: ModelError
) -> Generated:
    """Without a model the grounded mode still has the calculator's sentence; the others have no answer."""
    said = str(error)
    if mode == "grounded":
        text, final, cited = _fallback(asked)
        retrieved = _identifiers(shown, facts)
        why = text if final.declined else None
        return Generated(
            asked.question,
            mode,
            repeat,
            text,
            final,
            cited,
            retrieved,
            final.declined,
            why,
            said,
            (),
            None,
            said,
        )
    nothing = FinalAnswer("", "nothing", None, (), False)
    return Generated(
        asked.question,
        mode,
        repeat,
        "",
        nothing,
        (),
        _identifiers(shown, None),
        False,
        None,
        None,
        (),
        None,
        said,
    )


def _identifiers(shown: Sequence[Passage], facts: Facts | None) -> tuple[str, ...]:
    told = [source for source, _ in facts.sources.values()] if facts else []
    return tuple(dict.fromkeys([*(passage.source for passage in shown), *told]))
