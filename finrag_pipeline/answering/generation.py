"""Answers by a language model: asked, read, checked, cited; the calculator steps in where checks fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from finrag_pipeline.answering.citations import CitedSentence, all_sources, cite, marked
from finrag_pipeline.answering.derivation import Derivation
from finrag_pipeline.answering.final_answer import NO_ANSWER, FinalAnswer, final_answer
from finrag_pipeline.answering.grounding import Facts, facts_of, objections
from finrag_pipeline.answering.modes import Mode
from finrag_pipeline.answering.passages import Passage, select_passages
from finrag_pipeline.answering.prompts import PROMPTS_VERSION, messages
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
        passages: best first; selected and ordered by the settings.
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
        repeat: which of several answers to the same request, from 0.
        retrieved: identifiers of what was shown, in the order shown.
        answer: as shown: sentences without support are marked; the calculator's sentence after a fallback;
            empty when there is none.
        fallback: why the model's own words were not let through; None when they were.
        warnings: what is odd, never a reason to reject.
        completion: the model's answer; None when it was not asked or failed.
        error: why there is no answer, with what to do; None when there is one.
    """

    question: str
    mode: Mode
    repeat: int
    retrieved: tuple[str, ...] = ()
    answer: str = ""
    sentences: tuple[CitedSentence, ...] = ()
    why: str | None = None
    fallback: str | None = None
    warnings: tuple[str, ...] = ()
    completion: Completion | None = None
    error: str | None = None
    final: FinalAnswer = NO_ANSWER

    @property
    def abstained(self) -> bool:
        """Whether it says that the answer cannot be had."""
        return self.final.declined

    @property
    def citations(self) -> tuple[str, ...]:
        """Identifiers of the sources that are cited anywhere."""
        return all_sources(self.sentences)


def generation_fingerprint(model: LanguageModel, mode: Mode, settings: AnswerSettings) -> str:
    """Hash of everything that decides an answer besides the question and what was found for it."""
    budgets = settings.model_dump(exclude={"recorded"})
    return fingerprint("answers", PROMPTS_VERSION, GENERATION_VERSION, model.fingerprint, mode, budgets)


def generate(
    model: LanguageModel, mode: Mode, asked: Sequence[Asked], settings: AnswerSettings, workers: int = 1
) -> list[Generated]:
    """Answers to questions, ``settings.repeats`` of each, question by question, ``workers`` at a time.

    A question for which the model fails has an error in place of an answer; the others go on. Without
    passages and without facts the model is not asked: it would answer from memory.
    """
    budget = (settings.passages, settings.context_characters, settings.order)
    prepared = [(one, select_passages(one.passages, *budget), facts_of(one.derivation)) for one in asked]
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
                why = "nothing was retrieved"
                nothing = _told(Generated(one.question, mode, repeat), f"{CANNOT_BE_DETERMINED}: {why}.")
                found.append(replace(nothing, why=why))
                continue
            reply, box = next(replies)
            found.append(_read(one, mode, repeat, shown, box.beside(facts) if box else facts, reply))
    return found


def _read(
    asked: Asked, mode: Mode, repeat: int, shown: list[Passage], facts: Facts, reply: Completion | ModelError
) -> Generated:
    """The answer in a reply; without one the grounded mode still has the calculator's sentence."""
    grounded = mode == "grounded"
    sources = {
        str(number): (passage.source, f"{passage.place} {passage.text}")
        for number, passage in enumerate(shown, start=2 if grounded else 1)
    } | (facts.sources if grounded else {})
    retrieved = tuple(dict.fromkeys(source for source, _ in sources.values()))
    made = Generated(asked.question, mode, repeat, retrieved)
    if isinstance(reply, ModelError):
        made = replace(made, error=str(reply))
        return _fallen_back(made, asked.derivation, str(reply)) if grounded else made
    cited, final = cite(reply.text, sources, asked.question), final_answer(reply.text)
    text = marked(cited) or reply.text.strip()
    why = text if final.declined else None
    made = replace(made, answer=text, sentences=cited, final=final, why=why, completion=reply)
    plain = " ".join(one.text for one in cited)
    if grounded and (problems := objections(plain, facts, shown, asked.question)):
        made = _fallen_back(made, asked.derivation, " ".join(problems))
    return replace(made, warnings=_warnings(made, reply))


def _fallen_back(made: Generated, derivation: Derivation | None, reason: str) -> Generated:
    """The calculator's sentence, which cites its inputs; an abstention where it has none."""
    made = replace(made, fallback=reason)
    if derivation is not None and not derivation.abstained:
        sources = dict.fromkeys(source for source, _ in facts_of(derivation).sources.values())
        return _told(made, derivation.answer, tuple(sources))
    if derivation is not None and derivation.answer.startswith(CANNOT_BE_DETERMINED):
        return _told(made, derivation.answer)
    why = derivation.why if derivation is not None else None
    return _told(made, f"{CANNOT_BE_DETERMINED}{f': {why}' if why else '.'}")


def _told(made: Generated, text: str, sources: tuple[str, ...] = ()) -> Generated:
    """The answer in words that need no check."""
    final, cited = final_answer(text), CitedSentence(text, sources, (), True)
    why = text if final.declined else None
    return replace(made, answer=text, sentences=(cited,), final=final, why=why)


def _warnings(made: Generated, reply: Completion) -> tuple[str, ...]:
    found = []
    if reply.finish_reason == "length":
        found.append("The model's answer was cut at its longest length.")
    if unknown := [marker for one in made.sentences for marker in one.unknown]:
        found.append(f"It cites what was not retrieved: {', '.join(dict.fromkeys(unknown))}.")
    if (quantity := made.final.quantity) is not None:
        found += sanity_warnings(made.question, quantity.value, quantity.unit)
    return tuple(found)
