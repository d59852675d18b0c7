"""Document selection: a language model keeps or drops each of the first documents of a ranking.

The last step of Kim et al., "Optimizing Retrieval Strategies for Financial Question Answering Documents
in Retrieval-Augmented Generation Systems" (2503.15191): the ten best documents are shown with the
question, and the model answers one letter for each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from finrag_pipeline.language_models.fencing import NOTICE, fenced
from finrag_pipeline.language_models.protocol import Completion, LanguageModel, Message

SELECTION_VERSION = "1"
"""Changes with the prompt or the reading of the reply."""

JUDGED = 10
"""Documents that are shown to the model."""

LONGEST = 4000
"""Characters of a document that are shown."""

_SYSTEM = (
    "You choose the documents from which a financial question can be answered. Judge each document by "
    "itself: T when it holds a figure, a statement or a fact that the answer needs, F when it does not. "
    "A document about another company or another period than the question asks for is F. When in doubt, T."
)
_TASK = (
    "Question: {question}\n\n"
    "There are {count} documents above. Reply with exactly {count} letters, T or F, one for each document "
    "in the order of their numbers, separated by spaces. Write nothing else."
)
_REPLY = re.compile(r"[TF](?:[\s,]*[TF])*")


@dataclass(frozen=True, slots=True)
class Selection:
    """What a model kept.

    Attributes:
        kept: places of the documents that stay, in their order.
        reason: why all of them stay although the model was to choose; None when it chose.
        completion: the model's answer; None when nothing was asked.
    """

    kept: tuple[int, ...]
    reason: str | None = None
    completion: Completion | None = None


def select_documents(
    model: LanguageModel, question: str, texts: Sequence[str], judged: int = JUDGED, longest: int = LONGEST
) -> Selection:
    """Which of the first ``judged`` documents a model keeps; those after them are not kept.

    Never nothing: where the reply is not one letter for each document, or all are F, the documents
    stay as they are.

    Args:
        model: judges; asked at temperature 0.
        question: what was searched for.
        texts: documents, best first.
        judged: how many are shown.
        longest: characters of each that are shown.

    Raises:
        ModelError: the model gives no answer at all.
    """
    shown = list(texts[:judged])
    everything = tuple(range(len(shown)))
    if not shown:
        return Selection(everything)
    completion = model.complete(
        selection_messages(question, shown, longest),
        temperature=0.0,
        max_tokens=4 * len(shown) + 8,
        seed=0,
    )
    verdicts = read_verdicts(completion.text, len(shown))
    if verdicts is None:
        reply = " ".join(completion.text.split())[:60]
        return Selection(everything, f"The reply is not {len(shown)} letters T or F: '{reply}'.", completion)
    kept = tuple(place for place, keep in enumerate(verdicts) if keep)
    if not kept:
        return Selection(everything, "The model would drop every document.", completion)
    return Selection(kept, None, completion)


def selection_messages(question: str, texts: Sequence[str], longest: int = LONGEST) -> list[Message]:
    """The prompt: documents between fences, then the question and the form of the reply."""
    documents, mark = fenced(texts, longest)
    task = _TASK.format(question=" ".join(question.split()), count=len(texts))
    return [
        Message("system", f"{_SYSTEM} {NOTICE.format(mark=mark)}"),
        Message("user", f"{documents}\n\n{task}"),
    ]


def read_verdicts(reply: str, count: int) -> list[bool] | None:
    """One verdict per document; None unless the reply is exactly ``count`` letters T or F.

    White space and commas may stand between the letters, and one full stop at the end.
    """
    reply = reply.strip().removesuffix(".")
    if not _REPLY.fullmatch(reply):
        return None
    letters = [letter for letter in reply if letter in "TF"]
    return [letter == "T" for letter in letters] if len(letters) == count else None
