"""The judge that needs no model: it looks for numbers and words in sources and gold answers.

What it can see: numbers, years and periods that stand in no cited source; sentences whose words are largely
those of no source; citations of what was not retrieved; an answer that repeats the gold number or words; one
that declines; quotes that name too little of what is asked about, or hold no amount, time, name or cause
where one is asked for. What it cannot see: whether a number belongs to the line, company or period that the
sentence gives it; negation and direction ("rose", "fell"); a figure that was calculated rightly but is
printed nowhere (it calls it unsupported); paraphrase; and anything off topic in other answers than quotes, so
that their relevance says little more than that an answer was given and shares words with the question.
Calibrate before use, as any judge.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from finrag_pipeline.answering.final_answer import final_answer
from finrag_pipeline.answering.quantities import quantities
from finrag_pipeline.answering.support import Sources
from finrag_pipeline.evaluation.judged_answers import Answer, abstains, plainly_abstains
from finrag_pipeline.evaluation.judges import REFUSAL, Criterion, Judge, LanguageModelJudge, Verdict
from finrag_pipeline.evaluation.numeric_match import strict_match
from finrag_pipeline.language_models.load import language_model_problem, load_language_model
from finrag_pipeline.settings import JudgeSettings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

BASELINE_VERSION = "2"
"""Changes whenever a verdict may change."""

LEAST_WORDS = 0.5
"""Share of a sentence's own words that must stand in its sources."""

LEAST_ASKED = 0.3
"""Share of the question's words that a relevant answer repeats, unless it is little more than a figure."""

LEAST_SUBJECT = 0.5
"""Share of the words that name what is asked about, neither company nor year, that quotes must hold."""

LEAST_GOLD = 0.5
"""Share of the gold answer's words that a correct answer in words repeats."""

_WORD = re.compile(r"[^\W\d_]{3,}")
_QUOTE = re.compile(r"“([^”]+)”")
_ASKED_FOR = (
    ("time", r"\bwhen\b|\bwhat (?:date|day|year)\b|\bquand\b", r"\b(?:19|20)\d\d\b"),
    ("name", r"\bwho(?:m|se)?\b", r"\b(?-i:[A-Z])\w+ (?:(?-i:[A-Z])\. )?(?-i:[A-Z])\w+"),
    (
        "cause",
        r"\bwhy\b|\bwhat (?:drove|caused|led to|explains?)\b|\bpourquoi\b",
        r"\b(?:because|due|driven|reflect\w*|result\w*|attribut\w*|caus\w*|offset|owing|primarily|mainly"
        r"|led by|impact\w*|contribut\w*|thanks|raison|grâce|dû)\b",
    ),
)
"""Kinds of thing that a question may ask for: its name, how it is asked for, and how it reads."""
_AMOUNT = re.compile(
    r"\bhow (?:much|many|large|big|high|long|old)\b|\b(?:amount|number|percentage) of\b|\bcombien\b",
    re.IGNORECASE,
)
_NO_SUBJECT = """
    amount number total value percentage year years fiscal quarter annual report reported company much many
    give state answer name list tell describe explain discuss drove caused led when why who whom whose change
    changed according based shown using during end ended please million millions billion billions dollars usd
"""
_COMMON_WORDS = """
    the and for that this with from are was were has have had its not which what how does did than been being
    will would can could may their there they them these those into about over under between also such more
    les des une est sont dans par pour sur avec que qui quel quelle quels quelles aux ont cette ces son ses
    leur leurs pas plus comme mais elle ils elles nous vous ete etre avoir fait ainsi egalement
"""
_COMMON = frozenset(_COMMON_WORDS.split())


class BaselineJudge:
    """Deterministic, in English and French; see the module for what it can and cannot see."""

    name = "baseline"

    @property
    def fingerprint(self) -> str:
        """Of its rules."""
        return fingerprint("baseline", BASELINE_VERSION)

    def verdicts(
        self, criterion: Criterion, answers: Sequence[Answer], golds: Sequence[str] = ()
    ) -> list[list[Verdict]]:
        """See `Judge.verdicts`; under ``veracity`` missing where a sentence has no sources."""
        if criterion == "veracity":
            return [[_veracity(one, place) for place in range(len(one.sentences))] for one in answers]
        if criterion == "relevance":
            return [[_relevance(one)] for one in answers]
        return [[_correctness(one, gold)] for one, gold in zip(answers, golds, strict=True)]


def _relevance(answer: Answer) -> Verdict:
    if answer.abstains or plainly_abstains(answer.sentences):
        return Verdict(0, "It declines to answer.")
    quotes = " ".join(_QUOTE.findall(answer.text))
    if quotes and (missing := _missing(answer, quotes)):
        return Verdict(0, missing)
    asked, said = _words(answer.question), _words(answer.text)
    if len(said) <= 3 and quantities(answer.text):
        return Verdict(1, "It is a figure and little else.")
    share = len(asked & said) / len(asked) if asked else 1.0
    return Verdict(int(share >= LEAST_ASKED), f"It repeats {share:.0%} of the question's words.")


def _veracity(answer: Answer, place: int) -> Verdict:
    sentence = answer.sentences[place]
    unknown = [name for name in sentence.cited if name not in answer.sources]
    if unknown:
        return Verdict(0, f"It cites what was not retrieved: {', '.join(unknown)}.")
    if abstains(sentence.text):
        return Verdict(1, "It says what cannot be had.")
    texts = tuple(answer.sources_of(place).values())
    if not texts:
        return Verdict(None, problem="there is no source to hold it against")
    numbers, words = _read_sources(answer.question, texts)
    if missing := numbers.unsupported(sentence.text):
        return Verdict(0, f"In no cited source: {', '.join(missing)}.")
    own = _words(sentence.text) - _words(answer.question)
    if not own:
        return Verdict(1, "It says nothing beyond the question's words and the sources' numbers.")
    share = len(own & words) / len(own)
    return Verdict(int(share >= LEAST_WORDS), f"{share:.0%} of its own words stand in the sources.")


def _correctness(answer: Answer, gold: str) -> Verdict:
    final = final_answer(answer.text)
    if final.declined or answer.abstains or not answer.text.strip():
        return Verdict(REFUSAL, "It declines to answer.")
    match = strict_match(gold, final, answer.question, wide=True)
    if match is not None:
        return Verdict(int(match), f"Final answer '{final.text[:80]}', gold '{gold}'.")
    stance = _stance(gold)
    if stance is not None and _stance(answer.text) not in (None, stance):
        return Verdict(0, "One says yes, the other no.")
    numbers = {abs(one.printed) for one in quantities(gold) if not one.year}
    if numbers:
        found = numbers & {abs(one.printed) for one in quantities(answer.text)}
        return Verdict(int(len(found) >= len(numbers) / 2), f"{len(found)} of {len(numbers)} gold numbers.")
    if stance is not None and _stance(answer.text) == stance:
        return Verdict(1, "Both say the same of yes and no.")
    words = _words(gold)
    share = len(words & _words(answer.text)) / len(words) if words else 0.0
    return Verdict(int(share >= LEAST_GOLD), f"{share:.0%} of the gold answer's words.")


def _missing(answer: Answer, quotes: str) -> str | None:
    """What quotes lack of the question: its subject, or the kind of thing it asks for."""
    if _AMOUNT.search(answer.question) and all(one.year for one in quantities(quotes)):
        return "An amount is asked for, and the quotes hold none."
    for name, asks, holds in _ASKED_FOR:
        if re.search(asks, answer.question, re.IGNORECASE) and not re.search(holds, quotes, re.IGNORECASE):
            return f"A {name} is asked for, and the quotes hold none."
    names = " ".join(answer.sources).casefold()  # of filings, which name their company
    asked = _words(answer.question) - _words(_NO_SUBJECT)
    subject = {word for word in asked if word not in names}
    share = len(subject & _words(quotes)) / len(subject) if subject else 1.0
    return None if share >= LEAST_SUBJECT else f"The quotes name {share:.0%} of what is asked about."


@lru_cache(maxsize=256)
def _read_sources(question: str, texts: tuple[str, ...]) -> tuple[Sources, frozenset[str]]:
    """Numbers and words of sources; those of one question are asked for again and again."""
    return Sources(question, texts), frozenset[str]().union(*map(_words, texts))


def _words(text: str) -> set[str]:
    """Distinct words without accents, case and plural, common ones left out."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return {word.rstrip("s")[:8] for word in _WORD.findall(plain) if word not in _COMMON}


def _stance(text: str) -> str | None:
    match = re.match(r"\W*(yes|no|oui|non)\b", text.casefold())
    return {"oui": "yes", "non": "no"}.get(match[1], match[1]) if match else None


def load_judges(settings: JudgeSettings, lake: Lake) -> tuple[list[Judge], dict[str, str]]:
    """Judges that can be asked, and why others cannot, by name.

    Cheap: a model is loaded, or asked, with the first verdict that is not in the lake. Replies are kept there
    by request, so that nothing is judged twice.

    Args:
        settings: which language models.
        lake: keeps their replies.
    """
    judges: list[Judge] = [BaselineJudge()]
    problems: dict[str, str] = {}
    for key, one in settings.models.items():
        problem = language_model_problem(one)
        model = None if problem else load_language_model(one, lake)
        if model is None:
            problems[key] = (problem or "It has no model.").replace(
                "FINRAG_LANGUAGE_MODEL__", f"FINRAG_JUDGE__MODELS__{key.upper()}__"
            )
            continue
        name = f"{key}: {model.name}"
        judges.append(
            LanguageModelJudge(model, one.max_concurrency, settings.attempts, settings.language, name)
        )
    return judges, problems
