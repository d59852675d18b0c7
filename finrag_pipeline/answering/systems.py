"""The answering systems: how an answer is made, and on which retrieval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from finrag_pipeline.answering.modes import MODES, Mode
from finrag_pipeline.errors import UsageError

RUNS_VERSION = "16"
"""Changes with what a system is given, and with how answers are quoted or calculated."""

Method = Literal["calculator", "extractive"] | Mode

DEFAULT_RETRIEVAL = "finrag"

PUBLISHED_RETRIEVALS = (
    "bm25", "splade", "dense", "hybrid_rrf", "parent_child", "multi_hyde", "dense_rerank",
    "multi_hyde_rerank", "page_scorer",
)  # fmt: skip
"""Retrieval systems that the papers generated answers on (Kobeissi & Langlais, Table 6)."""


@dataclass(frozen=True, slots=True)
class AnswerSystem:
    """One way to answer.

    Attributes:
        retrieval: retrieval system whose chunks it is given.
    """

    name: str
    method: Method
    retrieval: str
    source: str

    @property
    def needs_model(self) -> bool:
        """Whether a language model is asked."""
        return self.method in MODES


_PAPER = "Kobeissi & Langlais, Table 6, prompt of annex B"
ANSWER_SYSTEMS: dict[str, AnswerSystem] = {
    system.name: system
    for system in (
        AnswerSystem("calculator", "calculator", DEFAULT_RETRIEVAL, "this pipeline: formulas over facts"),
        AnswerSystem("extractive", "extractive", DEFAULT_RETRIEVAL, "this pipeline: quoted sentences"),
        AnswerSystem("prompt", "prompt", DEFAULT_RETRIEVAL, _PAPER),
        AnswerSystem("cot", "cot", DEFAULT_RETRIEVAL, "five steps of reasoning, after the Mixpeek guide"),
        AnswerSystem("grounded", "grounded", DEFAULT_RETRIEVAL, "this pipeline: facts told and checked"),
        *(AnswerSystem(f"prompt_{name}", "prompt", name, _PAPER) for name in PUBLISHED_RETRIEVALS),
    )
}
"""All of them by name."""


def get_answer_system(name: str) -> AnswerSystem:
    """The system called ``name``.

    Raises:
        UsageError: there is none.
    """
    if name not in ANSWER_SYSTEMS:
        raise UsageError(
            f"There is no answering system '{name}'.", f"Choose of: {', '.join(ANSWER_SYSTEMS)}."
        )
    return ANSWER_SYSTEMS[name]
