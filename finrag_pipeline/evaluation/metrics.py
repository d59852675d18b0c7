"""What a metric is; each is declared once, where it is scored, and all else that names it comes from that."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

ORACLE = "Kobeissi & Langlais, oracle evaluation"
RIGOROUS = "Martinon et al., rigorous evaluation of RAG systems"


@dataclass(frozen=True)
class Metric:
    """A metric with values in [0, 1].

    Attributes:
        name: in the tables of the lake.
        term: for people, without a cut-off.
        text: what it means.
        score: its function; what it is given, and how often it gives a value, is said where it is declared.
        source: where the definition comes from.
        shown: it has a column in tables of systems.
        cutoffs: numbers of chunks it is measured at; 0 for the whole ranking, or where there is none.
        lower_is_better: less of it is better.
    """

    name: str
    term: str
    text: str
    score: Callable[..., Any]
    source: str = ""
    shown: bool = False
    cutoffs: tuple[int, ...] = (0,)
    lower_is_better: bool = False

    @property
    def label(self) -> str:
        """The term with its cut-off, or with k where it has several."""
        at = "k" if len(self.cutoffs) > 1 else self.cutoffs[0]
        return f"{self.term}@{at}" if at else self.term


def definitions(metrics: Iterable[Metric]) -> dict[str, tuple[str, str, str]]:
    """Label, meaning and source of metrics, by name."""
    told = {True: " Lower is better.", False: ""}
    return {one.name: (one.label, f"{one.text}{told[one.lower_is_better]}", one.source) for one in metrics}
