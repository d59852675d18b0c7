"""The part of the overview on levels lost: counts with intervals, and examples to look at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from finrag_pipeline.reporting.gap_levels import LABEL_NAMES, labels_grid, levels_grid, pair_title
from finrag_pipeline.reporting.grid import Cell, Column, Grid, Row
from finrag_pipeline.reporting.plots import gap_levels_plot
from finrag_pipeline.reporting.report_data import Plot, ReportData
from finrag_pipeline.retrieval.systems import ABLATIONS
from finrag_pipeline.schemas import GAP_COUNTS

_EXAMPLES = 3


def gap_context(data: ReportData, question_links: Mapping[str, str]) -> dict[str, Any]:
    """Grids of the section.

    Args:
        data: what to show.
        question_links: path of the page of a question, by identifier; others are named without a link.
    """
    counts = data.table("gap_counts")
    found = counts if counts is not None else GAP_COUNTS.empty_table()
    return {
        "gap_levels": levels_grid(found),
        "gap_labels": labels_grid(found),
        "gap_examples": examples_grid(data.table("retrieval_gap"), data.questions, question_links),
    }


def gap_section_plots(data: ReportData) -> dict[str, Plot]:
    """The plot of the levels, when they were counted."""
    counts = data.table("gap_counts")
    return {} if counts is None else {"gap-levels": partial(gap_levels_plot, counts)}


def examples_grid(gap: pa.Table | None, questions: pa.Table, question_links: Mapping[str, str]) -> Grid:
    """A few questions for every failure mode, of different systems where there are some.

    Args:
        gap: as ``schemas.RETRIEVAL_GAP``; None for none.
        questions: as ``schemas.BENCHMARK_QUESTIONS``.
        question_links: path of the page of a question, by identifier.
    """
    texts = dict(zip(questions["question_id"].to_pylist(), questions["question"].to_pylist(), strict=True))
    by_label: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in gap.to_pylist() if gap is not None else ():
        # The sentence of a row is about its first label.
        if row["space"] == "corpus" and row["labels"] and row["retrieval"] not in ABLATIONS:
            by_label[row["labels"][0]].append(row)
    rows = []
    for label, title in LABEL_NAMES.items():
        asked: set[str] = set()
        told: set[tuple[str, str | None]] = set()
        # First of systems that were not shown yet, then any question that was not.
        for fresh in (True, False):
            for row in by_label[label]:
                system = (row["retrieval"], row["answering"])
                if len(asked) == _EXAMPLES or row["question_id"] in asked or (fresh and system in told):
                    continue
                asked.add(row["question_id"])
                told.add(system)
                link = question_links.get(row["question_id"], "")
                cells = (
                    Cell(title),
                    Cell(texts.get(row["question_id"], row["question_id"]), row["question_id"], link=link),
                    Cell(pair_title(system)),
                    Cell(row["why"]),
                )
                rows.append(Row(cells, label))
    columns = (
        Column("Failure mode"),
        Column("Example", "prose"),
        Column("System"),
        Column("Why", "prose"),
    )
    empty = "No failure modes were looked for yet; 'finrag run' does it with the metrics."
    return Grid("gap-examples", "Examples of every failure mode", columns, tuple(rows), empty)
