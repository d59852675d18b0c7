"""First levels lost and failure modes of every system, as tables for people, with examples to look at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from finrag_pipeline.evaluation.failure_modes import LABELS
from finrag_pipeline.evaluation.retrieval_gap import LEVELS
from finrag_pipeline.reporting.estimates import Estimate, system_title
from finrag_pipeline.reporting.grid import (
    Cell,
    Grid,
    Value,
    grid_markdown,
    make_grid,
    make_row,
    number,
    prose,
    text,
    text_cell,
)
from finrag_pipeline.reporting.report_data import ReportData
from finrag_pipeline.retrieval.systems import ABLATIONS
from finrag_pipeline.schemas import GAP_COUNTS

LEVEL_NAMES = {
    "filing": "Filing not found",
    "page": "Page not found",
    "chunk": "Passage not found",
    "generation": "Wrong or no answer",
    "none": "Nothing lost",
}
LABEL_NAMES = {
    "wrong_company": "Wrong company",
    "wrong_year": "Wrong year",
    "lexical_gap": "Lexical gap",
    "unannotated_page": "Un-annotated page",
    "multi_statement_gap": "Multi-statement gap",
    "scale_error": "Scale error",
    "invented_number": "Invented number",
}
_EXAMPLES = 3
_EMPTY = "No system has been measured yet."


class GapIndex:
    """The rows of ``schemas.GAP_COUNTS`` of one search space by their key.

    Args:
        counts: table as ``schemas.GAP_COUNTS``; may be empty.
        space: search space.
    """

    def __init__(self, counts: pa.Table, space: str = "corpus") -> None:
        self._rows = {
            (row["retrieval"], row["answering"], row["kind"], row["value"]): row
            for row in counts.to_pylist()
            if row["space"] == space
        }

    def share(self, system: tuple[str, str | None], kind: str, value: str) -> Estimate | None:
        """Share of the questions with its interval; None where it cannot occur or was not counted."""
        row = self._rows.get((*system, kind, value))
        return row and Estimate(row["share"], row["low"], row["high"], row["n"], 0)

    def count(self, system: tuple[str, str | None], kind: str, value: str) -> int:
        """Number of questions; 0 where it was not counted."""
        row = self._rows.get((*system, kind, value))
        return row["count"] if row else 0

    def systems(self) -> list[tuple[str, str | None]]:
        """(retrieval, answering) pairs without ablations: retrievals, then what answers over them.

        Each kind in the order of the share of questions of which nothing is lost, the greatest first.
        """

        def order(system: tuple[str, str | None]) -> tuple[bool, float, str, str]:
            kept = self.share(system, "level", "none")
            return system[1] is not None, -kept.mean if kept else 0.0, system[0], system[1] or ""

        found = dict.fromkeys((key[0], key[1]) for key in self._rows)
        return sorted((one for one in found if one[0] not in ABLATIONS), key=order)


def pair_title(system: tuple[str, str | None]) -> str:
    """``BM25``, or ``calculator on finrag``."""
    return f"{system[1]} on {system[0]}" if system[1] else system_title(system[0])


def levels_grid(counts: pa.Table, space: str = "corpus") -> Grid:
    """First level lost at five chunks: systems × levels."""
    names = [(level, LEVEL_NAMES[level]) for level in LEVELS]
    return _grid("gap-levels", "First level lost, share of the questions", counts, space, "level", names)


def labels_grid(counts: pa.Table, space: str = "corpus") -> Grid:
    """Failure modes: systems × labels; a question can have several."""
    names = [(label, LABEL_NAMES[label]) for label in LABELS]
    return _grid("failure-modes", "Failure modes, share of the questions", counts, space, "label", names)


def gap_markdown(counts: pa.Table, space: str = "corpus") -> str:
    """Both tables as Markdown."""
    return "\n".join(grid_markdown(grid(counts, space)) for grid in (levels_grid, labels_grid))


def _grid(
    name: str, caption: str, counts: pa.Table, space: str, kind: str, values: Sequence[tuple[str, str]]
) -> Grid:
    index = GapIndex(counts, space)
    rows = []
    for system in index.systems():
        cells: list[Value] = [text_cell(pair_title(system))]
        for value, _ in values:
            share, count = index.share(system, kind, value), index.count(system, kind, value)
            small = f"{share.interval}, {count} of {share.n}" if share else ""
            cells.append(share and Cell(f"{share.mean:.3f}", small, f"{share} {count}", share.mean))
        group = "answers" if system[1] else "retrieval"
        rows.append(make_row(*cells, group=group, system="-".join(filter(None, system))))
    return make_grid(name, caption, (text("System"), *(number(label) for _, label in values)), rows, _EMPTY)


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


def examples_grid(gap: pa.Table | None, questions: pa.Table, question_links: Mapping[str, str]) -> Grid:
    """A few questions for every failure mode, of different systems where there are some.

    Args:
        gap: as ``schemas.RETRIEVAL_GAP``; None for none.
        questions: as ``schemas.BENCHMARK_QUESTIONS``.
        question_links: path of the page of a question, by identifier.
    """
    texts = dict(zip(questions["question_id"].to_pylist(), questions["question"].to_pylist(), strict=True))
    by_label: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in gap.to_pylist() if gap is not None else ():
        # The sentence of a row is about its first label.
        if one["space"] == "corpus" and one["labels"] and one["retrieval"] not in ABLATIONS:
            by_label[one["labels"][0]].append(one)
    rows = []
    for label, title in LABEL_NAMES.items():
        asked: set[str] = set()
        told: set[tuple[str, str | None]] = set()
        # First of systems that were not shown yet, then any question that was not.
        for fresh in (True, False):
            for one in by_label[label]:
                name, system = one["question_id"], (one["retrieval"], one["answering"])
                if len(asked) == _EXAMPLES or name in asked or (fresh and system in told):
                    continue
                asked.add(name)
                told.add(system)
                question = Cell(texts.get(name, name), name, link=question_links.get(name, ""))
                rows.append(make_row(title, question, pair_title(system), one["why"], group=label))
    columns = (text("Failure mode"), prose("Example"), text("System"), prose("Why"))
    empty = "No failure modes were looked for yet; 'finrag run' does it with the metrics."
    return make_grid("gap-examples", "Examples of every failure mode", columns, rows, empty)
