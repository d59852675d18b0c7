"""Prompts of the language-model judge in English and French; their words stand in ``prompts.toml``.

Parts and definitions of the labels follow Martinon et al., Figure 6 (veracity) and Figure 7 (relevance).
``correctness`` compares with a gold answer, for calibration on published labels. Sources and answers stand
between fences: nothing in them is obeyed.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from finrag_pipeline.judging.verdicts import Criterion, reply_schema
from finrag_pipeline.language_models.fencing import fenced
from finrag_pipeline.language_models.protocol import Message, sayable
from finrag_pipeline.storage.fingerprints import fingerprint

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
    return tomllib.loads(files("finrag_pipeline.judging").joinpath("prompts.toml").read_text("utf-8"))


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
