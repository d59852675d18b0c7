"""Short answers without a language model: sentences quoted from pages, and comparisons of derived figures.

A sentence is scored by its likeness to the question (encoder), by the weight of the question's words that it
holds (inverse document frequency among the sentences at hand), by the rank of its passage, and by what the
kind of question looks for, such as a cause. Nothing is written that no filing says, but for the verdict of a
comparison, whose figures stand beside it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from finrag_pipeline.answering.citations import CitedSentence
from finrag_pipeline.answering.comparisons import compare
from finrag_pipeline.answering.derivation import Derivation
from finrag_pipeline.answering.passages import Passage
from finrag_pipeline.answering.quantities import years_in
from finrag_pipeline.filings.sentences import sentences
from finrag_pipeline.questions.abstention import CANNOT_BE_DETERMINED
from finrag_pipeline.rankers.page_ranker.terms import STOP_WORDS, terms
from finrag_pipeline.resolver.lexicon import any_case

Kind = Literal["yes_no", "cause", "comparison", "list", "fact"]
Embed = Callable[[Sequence[str]], np.ndarray]
"""Unit vectors of texts, shape (texts, dimensions)."""

QUOTES: dict[Kind, int] = {"yes_no": 1, "cause": 2, "comparison": 1, "list": 3, "fact": 1}
"""Sentences quoted for each kind of question."""

_MEANING, _WORDS, _RANK, _CUE, _WRONG_YEAR = 0.5, 0.4, 0.1, 0.15, 0.15
_LEAST_WORDS: dict[Kind, float] = {"yes_no": 0.75, "cause": 0.6, "comparison": 0.8, "list": 0.6, "fact": 0.6}
"""Share of a question's words, by weight, that a sentence must hold to be an answer."""
_SHORTEST, _LONGEST = 5, 70
_LEAST_FUNCTION_WORDS = 0.15
_MOST_FIGURES = 0.34
_MOST_EMBEDDED = 24
"""Sentences that are compared by meaning, those that hold most of the question's words."""

_AUXILIARY = r"(?:is|are|was|were|does|do|did|has|have|had|will|would|can|could|should|may|might)(?:n['’]t)?"
_YES_NO = any_case(rf"(?:^|[,;:]\s*){_AUXILIARY}\s")
_WH = any_case(r"(?:^|[,;:]\s*)(?:what|which|who|whom|whose|when|where|why|how)\b")
_CAUSE = any_case(
    r"\bwhat (?:drove|caused|led to|explains?|contributed)\b|\bwhy\b"
    r"|\b(?:drivers?|reasons?|causes?) (?:of|for|behind)\b"
)
_SEVERAL = any_case(r"[.?!;]\s|\bif\b")
_SUPERLATIVE = re.compile(
    r"\b(?:largest|biggest|highest|greatest|most|smallest|lowest|least|fewest|best|worst)\b(?!\s+[A-Z])"
)
_LIST = any_case(r"\b(?:what|which|who) (?:\w+ ){0,4}?(?:are|were|have|do|did)\b|\blist\b|\bname the\b")
_INSTRUCTION = any_case(
    r"^(?:if\b.*\b(?:state|explain|say)|(?:please )?(?:answer|give|round|respond|provide|assume|use)\b)"
)
_CONDITION = any_case(r"[;,.]?\s*\bif\b[^.?;]*\b(?:state|explain|say)\b[^.?]*[.?]?\s*$")
_AMOUNT = any_case(
    r"\bhow (?:much|many|large|big|high|long|old)\b|\b(?:amount|quantity|number|value) of\b|\bby what\b"
    r"|\bin (?:units? of |us |u\.s\. )?(?:usd|dollars|percents?|thousands|millions?|billions?)\b"
    r"|\bround(?:ed)?\b"
)
_CAUSAL = any_case(
    r"\b(?:due to|driven by|primarily|mainly|because|attributable to|resulting from|as a result"
    r"|reflect(?:s|ed|ing)|offset by|led by|owing to|caused by|principally|impacted by|drivers?)\b"
)


_MOVES = any_case(r"\b(?:increased?|decreased?|rose|fell|grew|declined?|dropped|improved)\b")
_TYPES = (
    (_CAUSE, _CAUSAL),
    (any_case(r"\bwho(?:m|se)?\b"), re.compile(r"\b[A-Z][a-z]+\s(?:[A-Z]\.\s)?[A-Z][a-z]+")),
    (any_case(r"\b(?:when|what (?:date|day|year))\b"), re.compile(r"\b(?:19|20)\d\d\b")),
)
"""What asks for a kind of thing, and what a sentence that holds one must contain."""

# Words of a question that name no subject.
_NO_ITEM = frozenset(
    terms("""
    how much many what amount quantity number value total year end fiscal annual quarterly report reported
    using based as shown statement company give state answer tell explain describe list name please discuss
    change increase decrease grow growth decline rise fall drop improve
    january february march april june july august september october november december
    """)
)
_NEAR_WORDS = 6  # before a verb, near enough to be its subject
_SURELY_A_NUMBER = 0.9
"""Probability that a number is asked for which is enough."""


@dataclass(frozen=True, slots=True)
class ExtractiveAnswer:
    """An answer out of quoted sentences and derived figures.

    Attributes:
        answer: for people: verdict and figures where there are, then the quotes with filing and page.
        verdict: 'Yes', 'No', or the name of what is largest; None without a comparison.
        quotes: the passages quoted, best first, each cut down to its sentence.
        why: why it abstains, as nothing in the passages speaks of what is asked; None where it does not.
    """

    question: str
    kind: Kind
    answer: str
    sentences: tuple[CitedSentence, ...]
    verdict: str | None = None
    quotes: tuple[Passage, ...] = ()
    why: str | None = None

    @property
    def abstained(self) -> bool:
        """Whether nothing is answered."""
        return self.why is not None


def kind_of(question: str) -> Kind:
    """What kind of answer a question asks for."""
    # Sentences are told apart, which takes a while to load, only where there may be several.
    asked = core_question(question) if _SEVERAL.search(question.strip()) else question
    if _CAUSE.search(asked):
        return "cause"
    wh, yes_no = _WH.search(asked), _YES_NO.search(asked)
    if yes_no and not (wh and wh.start() <= yes_no.start()):
        return "yes_no"
    if _SUPERLATIVE.search(asked):
        return "comparison"
    return "list" if _LIST.search(asked) else "fact"


def core_question(question: str) -> str:
    """The question without instructions about its answer ('If …, state that and explain why')."""
    kept = [part for part in sentences(_CONDITION.sub("", question)) if not _INSTRUCTION.match(part)]
    return " ".join(kept) or question


def answer_from_text(
    question: str,
    passages: Sequence[Passage],
    embed: Embed | None = None,
    derivation: Derivation | None = None,
    names: Collection[str] = (),
    why: str | None = None,
) -> ExtractiveAnswer:
    """Answer a question by quoting a sentence that names the subject asked and holds the kind of thing asked.

    ``derivation`` has the figure behind a yes or a no, ``why`` says why nothing was computed, and is told
    where nothing is quoted either; the others are those of `best_sentences`.
    """
    kind = kind_of(question)
    # A question for a rate of growth is answered by its number, not by 'it grew'.
    compares = derivation is not None and kind in ("yes_no", "comparison")
    compared = compare(core_question(question), derivation) if derivation and compares else None
    quotes = best_sentences(question, passages, embed, QUOTES[kind], names)
    if compared is None and not quotes:
        unsaid = "no sentence of the pages found names what is asked and answers it"
        why = f"{why}; {unsaid}" if why else unsaid
        looked = ", ".join(dict.fromkeys(passage.place for passage in passages[:3]))
        return _abstained(question, kind, why, f".{f' The closest pages: {looked}.' if looked else ''}")
    cited = [CitedSentence(compared.text, compared.sources, (), True)] if compared else []
    cited += [CitedSentence(quote.text, (quote.source,), (), True) for quote in quotes]
    parts = [compared.text] if compared else []
    parts += [f"“{quote.text}” ({quote.place})" for quote in quotes]
    verdict = compared.verdict if compared else None
    return ExtractiveAnswer(question, kind, " ".join(parts), tuple(cited), verdict, tuple(quotes))


def no_verdict(derivation: Derivation) -> ExtractiveAnswer:
    """The abstention where a yes or a no is asked for and a figure says neither; it names the figure."""
    why = "the figure that the question could be read as gives neither a yes nor a no"
    return _abstained(derivation.question, "yes_no", why, f". {derivation.formula}: {derivation.answer}")


def _abstained(question: str, kind: Kind, why: str, more: str) -> ExtractiveAnswer:
    text = f"{CANNOT_BE_DETERMINED}: {why}{more}"
    return ExtractiveAnswer(question, kind, text, (CitedSentence(text, (), (), True),), why=why)


def best_sentences(
    question: str, passages: Sequence[Passage], embed: Embed | None, count: int, names: Collection[str] = ()
) -> list[Passage]:
    """The sentences that answer a question, those that fit it best first; none where none names its subject.

    A sentence answers where it holds most of the question's words, by weight, and the kind of thing that is
    asked for: a cause, a person, a time; none answers a question for an amount. The same sentence counts
    once, ``count`` at most.
    ``names`` are words of the names of companies, in lower case, which every sentence is about.
    """
    asked = core_question(question)
    kind, years = kind_of(question), years_in(asked)
    holds = next((holds for asks, holds in _TYPES if asks.search(asked)), None)
    found = _candidates(passages)
    texts = [text for text, _, _ in found]
    subject = _item(_CAUSE.sub(" ", asked), {*(passage.filing for passage in passages), *names})
    filings = {*(passage.filing for _, passage, _ in found), *names}
    if not found or asks_for_amount(question):  # whose rows, of sentences too, say it or nothing does
        return []
    words = _word_scores(_item(_CAUSE.sub(" ", asked), filings), texts)
    meaning = _likeness(asked, texts, words, embed)
    quotes = []
    for place, (text, passage, rank) in enumerate(found):
        if words[place] < _LEAST_WORDS[kind]:
            continue
        if holds is not None and not holds.search(text):
            moved = _MOVES.search(text) if holds is _CAUSAL else None
            near = text[: moved.start()].split()[-_NEAR_WORDS:] if moved else []
            if moved is None or place + 1 == len(found) or not subject.keys() <= set(terms(" ".join(near))):
                continue
            # 'Sales rose 5 %. New stores added 3 points of it.': the cause stands behind what moved.
            text = f"{text} {texts[place + 1]}"
            if text not in " ".join(passage.text.split()):
                continue
        score = _WORDS * words[place] + _MEANING * float(meaning[place]) + _RANK / (1 + rank)
        if kind == "cause" and _CAUSAL.search(text):
            score += _CUE
        named = years_in(text)
        if years and named and not years & named:
            if kind == "fact":
                continue  # of another year
            score -= _WRONG_YEAR
        quotes.append((score, replace(passage, text=text)))
    return [quote for _, quote in sorted(quotes, key=lambda scored: -scored[0])][:count]


def _candidates(passages: Sequence[Passage]) -> list[tuple[str, Passage, int]]:
    """Sentences of prose with their passage and its rank from 0; rows of tables and headings are left out."""
    found: dict[str, tuple[str, Passage, int]] = {}
    for rank, passage in enumerate(passages):
        for text in sentences(passage.text):
            if text not in found and _is_prose(text):
                found[text] = (text, passage, rank)
    return list(found.values())


def asks_for_amount(question: str) -> bool:
    """Whether a question wants a number: 'how much', 'answer in USD millions', money, a fact of a period."""
    from finrag_pipeline.questions.plan import Operation, read_plan  # only quotes need it

    kind = kind_of(question)
    other = any(asks.search(question) for asks, _ in _TYPES)
    plan = None if other else read_plan(question)
    if plan is not None and plan.yes_no and plan.operation is not Operation.VALUE:
        return True  # 'were there more members than a year before'
    if plan is not None and not plan.yes_no:
        surely = kind == "fact" and plan.number_chance >= _SURELY_A_NUMBER
        if surely or plan.unit is not None:
            return True
    return kind in ("fact", "list") and bool(
        _AMOUNT.search(question) or (kind == "fact" and not other and years_in(question))
    )


def _item(asked: str, names: Collection[str]) -> dict[str, None]:
    """Words that name what is asked for, in order: neither the company nor the period."""
    lower = [name.lower() for name in names]
    return {
        word: None
        for word in terms(asked)
        if word.isalpha() and word not in _NO_ITEM and not any(word in name for name in lower)
    }


def _is_prose(text: str) -> bool:
    """Whether a piece reads like a sentence: not a row of figures, a heading, a signature."""
    words = text.split()
    if not _SHORTEST <= len(words) <= _LONGEST:
        return False
    figures = sum(any(character.isdigit() for character in word) for word in words)
    function_words = sum(word.lower().strip(".,;:()") in STOP_WORDS for word in words)
    return figures <= _MOST_FIGURES * len(words) and function_words >= _LEAST_FUNCTION_WORDS * len(words)


def _word_scores(item: Collection[str], texts: Sequence[str]) -> list[float]:
    """Weight of the words asked for that each sentence holds, of all of them; in [0, 1].

    A word that stands nowhere weighs most: it is what the pages do not speak of.
    """
    held = [set(terms(text)) for text in texts]
    frequency = Counter(word for words in held for word in words)
    weights = {word: math.log((len(texts) + 1) / (frequency[word] + 0.5)) for word in item}
    total = sum(weights.values())
    if total <= 0:
        return [0.0] * len(texts)
    return [sum(weight for word, weight in weights.items() if word in words) / total for words in held]


def _likeness(asked: str, texts: Sequence[str], words: Sequence[float], embed: Embed | None) -> np.ndarray:
    """Cosine of each sentence with the question, shape (texts,); 0 for those that are not compared."""
    found = np.zeros(len(texts))
    if embed is not None:
        # A stable order: of equal words those of better passages.
        chosen = np.argsort(-np.asarray(words), kind="stable")[:_MOST_EMBEDDED]
        vectors = embed([asked, *(texts[place] for place in chosen)])
        found[chosen] = vectors[1:] @ vectors[0]
    return found
