"""Citations: every sentence of an answer with the sources it rests on; one without support is marked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice

from finrag_pipeline.answering.final_answer import declines
from finrag_pipeline.answering.quantities import quantities
from finrag_pipeline.answering.support import Sources
from finrag_pipeline.filings.sentences import sentences
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.resolver.lexicon import any_case

NO_SOURCE = "[no source]"
"""What marks a sentence without support."""

_ONE = r"(?:(?:document|doc|source|fact)\.?\s*)?[Ff]?\d{1,3}"
_MARKER = any_case(rf"\s*[\[【]\s*({_ONE}(?:\s*(?:,|;|and|&)\s*{_ONE})*)\s*[\]】]")
_BEHIND_THE_STOP = any_case(rf"([.!?])((?:\s*[\[【]\s*{_ONE}(?:\s*(?:,|;|and|&)\s*{_ONE})*\s*[\]】])+)")
_LEAST_CITED_OVERLAP = 0.25
_LEAST_FOUND_OVERLAP = 0.6


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence of an answer.

    Attributes:
        sources: identifiers of retrieved sources it rests on, at least one when ``supported``.
        unknown: markers that name nothing that was retrieved.
        supported: its numbers stand in its sources and its words are theirs.
    """

    text: str
    sources: tuple[str, ...]
    unknown: tuple[str, ...]
    supported: bool


def cite(answer: str, sources: Mapping[str, tuple[str, str]], question: str) -> tuple[CitedSentence, ...]:
    """Sentences of an answer with their checked citations.

    A sentence that cites nothing is given the source that holds all of its numbers and most of its words,
    if there is one. One that declines to answer needs no source.

    Args:
        answer: with markers such as [2] or [F1].
        sources: marker (``2``, ``F1``) → identifier and text of what was shown under it.
        question: its words and numbers may be repeated without a source.
    """
    found = []
    for sentence in sentences(_BEHIND_THE_STOP.sub(r"\2\1", answer)):
        text = _MARKER.sub("", sentence).strip()
        if not re.search(r"\w", text):
            continue
        named = [
            marker.upper()
            for group in _MARKER.findall(sentence)
            for marker in re.findall(r"[Ff]?\d{1,3}", group)
        ]
        known = [marker for marker in dict.fromkeys(named) if marker in sources]
        unknown = tuple(dict.fromkeys(marker for marker in named if marker not in sources))
        supported = bool(known) and _rests_on(
            text, [sources[m][1] for m in known], question, _LEAST_CITED_OVERLAP
        )
        if not named and (terms(text) or quantities(text)):
            # The first source that holds the sentence by itself.
            holding = (
                marker
                for marker, (_, shown) in sources.items()
                if _rests_on(text, [shown], question, _LEAST_FOUND_OVERLAP)
            )
            known = list(islice(holding, 1))
            supported = bool(known)
        identifiers = tuple(dict.fromkeys(sources[marker][0] for marker in known))
        found.append(CitedSentence(text, identifiers, unknown, supported or declines(text)))
    return tuple(found)


def marked(cited: Sequence[CitedSentence]) -> str:
    """The answer as it is shown: sentences without support carry :data:`NO_SOURCE`."""
    return " ".join(one.text if one.supported else f"{one.text} {NO_SOURCE}" for one in cited)


def as_json(cited: Sequence[CitedSentence]) -> str:
    """As stored in ``schemas.ANSWERS``."""
    return json.dumps([asdict(one) for one in cited], ensure_ascii=False)


def all_sources(cited: Sequence[CitedSentence]) -> tuple[str, ...]:
    """Identifiers that are cited anywhere, in their order."""
    return tuple(dict.fromkeys(source for one in cited for source in one.sources))


def _rests_on(text: str, shown: Sequence[str], question: str, least: float) -> bool:
    if Sources(question, shown).unsupported(text):
        return False
    words = {word for word in terms(text) if word.isalpha()}
    known = {word for part in shown for word in terms(part)}
    own = words - set(terms(question))
    if not own:
        # It only repeats the words of the question: it rests on its numbers, if it has any.
        return bool(quantities(text)) or bool(words & known)
    return len(own & known) / len(own) >= least
