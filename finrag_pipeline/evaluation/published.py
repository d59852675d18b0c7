"""Figures that the authors of the oracle evaluation published on FinanceBench. None of them is ours.

Three sources by the same first author give three columns, and they disagree: the thesis corrects the
baselines of the two papers. Reports print all three beside a run and compare with the thesis.

A published row is tied to a system of our registry and a search space. The papers' rows "Oracle document" and
"Oracle page" restrict the *dense* system, so they are ``dense`` in the spaces ``filing`` and ``pages``.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Publication:
    """Where published figures come from.

    Attributes:
        key: identifier, as in :attr:`PublishedFigure.paper`.
        label: short label for the head of a column.
        title: authors and title.
        table: the table the figures stand in.
    """

    key: str
    label: str
    title: str
    table: str


@dataclass(frozen=True)
class PublishedFigure:
    """One published mean over :data:`QUESTIONS` questions; the papers give no intervals.

    Attributes:
        paper: key of :data:`PUBLICATIONS`.
        system: system of our registry that the row stands for.
        space: search space: corpus, filing or pages.
        row: name of the row in the publication.
        metric: metric, named as in ``schemas.SYSTEM_METRICS``.
        k: cut-off in chunks.
        value: the figure, in [0, 1].
        note: what differs from our system of that name.
    """

    paper: str
    system: str
    space: str
    row: str
    metric: str
    k: int
    value: float
    note: str


@dataclass(frozen=True)
class PublishedStatistic:
    """One published figure about the corpus.

    Attributes:
        paper: key of :data:`PUBLICATIONS`.
        statistic: name as in ``schemas.CORPUS_STATISTICS``.
        mean: the mean, or the count of a total.
        std: standard deviation; None for totals.
    """

    paper: str
    statistic: str
    mean: float
    std: float | None = None


_READ = tomllib.loads(files("finrag_pipeline.evaluation").joinpath("published.toml").read_text("utf-8"))

PUBLICATIONS = {one["key"]: Publication(**one) for one in _READ["publications"]}

COMPARED_WITH = "thesis"
"""The publication that differences are taken to: the latest, with corrected baselines."""

QUESTIONS = 150
DOCUMENTS = 84
"""What the published means are over: FinanceBench's open questions and the filings they ask about."""

CUTOFF = 5
METRICS = ("doc_rec", "page_rec", "max_bleu", "max_rouge_l")

PUBLISHED = tuple(
    PublishedFigure(paper, system, space, row, metric, CUTOFF, value, _READ["notes"][note])
    for paper, system, space, row, *values, note in _READ["figures"]["rows"]
    for metric, value in zip(METRICS, values, strict=True)
)
"""Every published figure that a system of the registry can be compared with."""

PUBLISHED_STATISTICS = tuple(PublishedStatistic(*row) for row in _READ["statistics"]["rows"])
"""Table 3 of the French paper, and the evidence length that the thesis adds; tokens are BGE-M3's."""

_BY_KEY = {(f.paper, f.system, f.space, f.metric, f.k): f for f in PUBLISHED}


def published_figure(paper: str, system: str, space: str, metric: str, k: int) -> PublishedFigure | None:
    """The figure that ``paper`` gives for a system in a space, or None where it has none."""
    return _BY_KEY.get((paper, system, space, metric, k))


def is_comparable(questions: int, documents: int) -> bool:
    """Whether means over so many questions and gold filings are over what the papers measured."""
    return (questions, documents) == (QUESTIONS, DOCUMENTS)
