"""Look-up of means with their intervals, and the names that people read for metrics, spaces and systems."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import ABLATIONS, ALL_SYSTEMS
from finrag_pipeline.schemas import conform

METRIC_NAMES = {
    "doc_rec": "DocRec",
    "page_rec": "PageRec",
    "hit": "Hit",
    "max_bleu": "Max BLEU",
    "max_rouge_l": "Max ROUGE-L",
    "ndcg": "NDCG",
    "mrr": "MRR",
    "recall": "Recall",
}
SPACE_NAMES = {
    Space.CORPUS.value: "Whole corpus",
    Space.FILING.value: "Oracle filing",
    Space.PAGES.value: "Oracle pages",
}
SLICE_NAMES = {
    "question_type": "Question type",
    "kind": "Kind of question",
    "doc_type": "Document type",
    "source": "Source",
    "company": "Company",
}
SOURCE_NAMES = {"pdf": "PDF", "page_text": "Text only"}
HEADLINE = (
    ("doc_rec", None),
    ("page_rec", None),
    ("hit", None),
    ("max_bleu", None),
    ("max_rouge_l", None),
    ("ndcg", 10),
    ("mrr", 0),
)
"""Metrics of the headline table with their cut-off; None is the cut-off of the table."""


@dataclass(frozen=True)
class Estimate:
    """A mean with what is known of its uncertainty.

    Attributes:
        mean: mean over the questions, in [0, 1].
        low: lower end of its interval; None with fewer than two gold filings.
        high: upper end, likewise.
        n: questions.
        documents: distinct gold filings.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    documents: int

    @property
    def interval(self) -> str:
        """``0.180–0.311``, or the number of questions where there is no interval."""
        if self.low is None or self.high is None:
            return f"n = {self.n}"
        return f"{self.low:.3f}–{self.high:.3f}"

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.mean:.3f} (n = {self.n})"
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


class MetricIndex:
    """The rows of ``schemas.SYSTEM_METRICS`` by their key.

    Args:
        metrics: table as ``schemas.SYSTEM_METRICS``; may be empty.

    Raises:
        LakeError: the table does not fit its schema.
    """

    def __init__(self, metrics: pa.Table) -> None:
        self._estimates: dict[tuple[str, str, str, str, str, int], Estimate] = {}
        for row in conform(metrics, "system_metrics").to_pylist():
            key = tuple(row[name] for name in ("system", "space", "slice", "slice_value", "metric", "k"))
            ends = (row["low"], row["high"])
            low, high = (None if end is None or math.isnan(end) else end for end in ends)
            self._estimates[key] = Estimate(row["mean"], low, high, row["n"], row["documents"])

    def __bool__(self) -> bool:
        return bool(self._estimates)

    def find(
        self, system: str, space: str, metric: str, k: int, slice: str = "all", value: str = "all"
    ) -> Estimate | None:
        """The estimate of a series on a slice of the questions, or None where it was not measured."""
        return self._estimates.get((system, space, slice, value, metric, k))

    @property
    def systems(self) -> list[str]:
        """Systems, in the order of the registry, then others as they first appear; no ablations."""
        names = _ordered((key[0] for key in self._estimates), ALL_SYSTEMS)
        return [name for name in names if name not in ABLATIONS]

    @property
    def ablations(self) -> list[str]:
        """Measured variants of systems, in the order of the registry."""
        measured = {key[0] for key in self._estimates}
        return [name for name in ABLATIONS if name in measured]

    @property
    def spaces(self) -> list[str]:
        """Search spaces from the widest to the narrowest, then others as they first appear."""
        return _ordered((key[1] for key in self._estimates), SPACE_NAMES)

    def values(self, slice: str) -> list[str]:
        """Values of a slice; document sources in the order PDF, text only, others as the table has them."""
        return _ordered((key[3] for key in self._estimates if key[2] == slice), SOURCE_NAMES)

    def cutoffs(self, metric: str) -> list[int]:
        """Cut-offs at which a metric was measured, ascending."""
        return sorted({key[5] for key in self._estimates if key[4] == metric})

    def size(self) -> tuple[int, int]:
        """Questions and gold filings that the whole-benchmark means are over; (0, 0) when there are none."""
        sizes = {(e.n, e.documents) for key, e in self._estimates.items() if key[2] == "all"}
        return max(sizes, default=(0, 0))

    def ranked(self, space: str, k: int, slice: str = "all", value: str = "all") -> list[str]:
        """Systems measured in a space, best PageRec@k first, ties in the order of :attr:`systems`."""
        found = {key[0] for key in self._estimates if key[1:4] == (space, slice, value)}

        def page_recall(system: str) -> float:
            estimate = self.find(system, space, "page_rec", k, slice, value)
            return -1.0 if estimate is None else estimate.mean

        return sorted((s for s in self.systems if s in found), key=page_recall, reverse=True)


def metric_label(metric: str, k: int) -> str:
    """``PageRec@5``; ``MRR`` for metrics over the whole ranking."""
    name = METRIC_NAMES.get(metric, metric)
    return f"{name}@{k}" if k else name


def space_label(space: str) -> str:
    """Search space as people read it."""
    return SPACE_NAMES.get(space, space)


def system_title(system: str) -> str:
    """Title of a system of the registry, else its name."""
    return ALL_SYSTEMS[system].title if system in ALL_SYSTEMS else system


def slice_value_label(slice: str, value: str) -> str:
    """Value of a slice as people read it."""
    return SOURCE_NAMES.get(value, value) if slice == "source" else value


def _ordered(names: Iterable[str], known: Iterable[str]) -> list[str]:
    found = list(dict.fromkeys(names))
    first = [name for name in known if name in found]
    return first + [name for name in found if name not in first]
