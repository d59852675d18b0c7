"""The prompts: that of the papers, five steps of reasoning, and the one that is given facts.

Whatever comes from a filing stands between fences and is declared to be data
(:mod:`finrag_pipeline.language_models.fencing`), the facts of the calculator too: labels are printed in
filings.
"""

from __future__ import annotations

from collections.abc import Sequence

from finrag_pipeline.answering.modes import Mode
from finrag_pipeline.answering.passages import Passage
from finrag_pipeline.language_models.fencing import NOTICE, fenced
from finrag_pipeline.language_models.protocol import Message
from finrag_pipeline.questions.abstention import CANNOT_BE_DETERMINED

PROMPTS_VERSION = "1"
"""Changes with any word of a prompt."""

PAPER_SYSTEM = (
    "You are a financial analyst assistant. Your task is to provide accurate, concise, and well-supported "
    "answers to questions based on provided financial document segments."
)
"""Word for word the template of Kobeissi & Langlais, French version, annex B; the mark of the fences is
added."""

_PAPER_TASK = "Context:\n{documents}\n\nQuestion: {question}\nAnswer:"

_STEPS_SYSTEM = (
    "You are a financial analyst. You answer from the documents you are given and from nothing else, and you "
    "write down how you get there."
)
_STEPS_TASK = (
    "Documents:\n{documents}\n\nQuestion: {question}\n\n"
    "Work in these five steps, each under its own heading:\n"
    "Step 1: IDENTIFY. Which figures or statements does the answer need, of which company and period?\n"
    "Step 2: EXTRACT. Quote each as printed, with its scale and the number of its document, such as [2].\n"
    "Step 3: PERFORM. Write the formula, put the figures in, calculate.\n"
    "Step 4: VERIFY. Are company, period, unit, scale and sign those of the question? Is it plausible?\n"
    "Step 5: FORMAT. Give the result in the unit and with the rounding that the question asks for, as one "
    "last line of the form 'Final answer: …'.\n\n"
    "Use no figure that stands in no document. If a figure is missing, the last line is "
    f"'Final answer: {CANNOT_BE_DETERMINED}' and says what is missing."
)

_GROUNDED_SYSTEM = (
    "You are a financial analyst who writes the answer to a question from facts that have been looked up and "
    "calculated already. You calculate nothing yourself."
)
_GROUNDED_TASK = (
    "Documents:\n{documents}\n\nQuestion: {question}\n\n"
    "Document 1 holds the facts, each with an identifier such as F1; the others are passages of filings. "
    "Answer in one to three sentences. Put behind each sentence what it rests on, such as [F1] or [2]. Write "
    "no number that stands neither in the facts nor in the passages. If they do not hold the answer, write "
    f"'{CANNOT_BE_DETERMINED}' and what is missing."
)

_GROUNDED_TOOLS = (
    " Where the facts do not hold what is asked, you may call functions: how the question is read, the "
    "calculator, the printed rows. What they return are facts too, with identifiers of their own."
)


def messages(
    mode: Mode, question: str, passages: Sequence[Passage], facts: str | None = None, tools: bool = False
) -> list[Message]:
    """The conversation that asks a question; passages are numbered from 1, with ``facts`` from 2."""
    texts = [f"{passage.place}\n{passage.text}" for passage in passages]
    if mode == "grounded":
        texts.insert(0, facts or "No fact was found.")
    documents, mark = fenced(texts)
    system, task = {
        "prompt": (PAPER_SYSTEM, _PAPER_TASK),
        "cot": (_STEPS_SYSTEM, _STEPS_TASK),
        "grounded": (_GROUNDED_SYSTEM, _GROUNDED_TASK),
    }[mode]
    # Replaced one by one: braces in a filing are no fields, and a document never holds the question's place.
    head, tail = task.split("{documents}")
    asked = tail.replace("{question}", " ".join(question.split()), 1)
    asked += _GROUNDED_TOOLS if tools else ""
    return [
        Message("system", f"{system} {NOTICE.format(mark=mark)}"),
        Message("user", f"{head}{documents}{asked}"),
    ]
