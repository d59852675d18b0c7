from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import pyarrow as pa
import pytest

from finrag_pipeline.errors import UsageError
from finrag_pipeline.evaluation.failure_modes import LABELS
from finrag_pipeline.evaluation.retrieval_gap import LEVELS
from finrag_pipeline.reporting.plots import gap_levels_plot
from finrag_pipeline.reporting.tables import (
    LABEL_NAMES,
    LEVEL_NAMES,
    GapIndex,
    gap_markdown,
    labels_grid,
    levels_grid,
)
from finrag_pipeline.schemas import GAP_COUNTS


def count(retrieval: str, answering: str | None, value: str, number: int, **more: Any) -> dict[str, Any]:
    share = number / 10
    ends = {"low": max(0.0, share - 0.2), "high": min(1.0, share + 0.2)}
    row = {"retrieval": retrieval, "answering": answering, "space": "corpus", "kind": "level", "value": value}
    return {**row, "count": number, "share": share, **ends, "n": 10, **more}


ROWS = [
    count("dense", None, "filing", 3),
    count("dense", None, "page", 5),
    count("dense", None, "chunk", 0),
    count("dense", None, "none", 2),
    count("dense", None, "wrong_year", 4, kind="label"),
    count("finrag", None, "filing", 1),
    count("finrag", None, "page", 1, low=None, high=None),
    count("finrag", None, "none", 8),
    count("bm25_contextual_pages", None, "none", 10),
    count("finrag", "prompt", "generation", 6),
    count("finrag", "prompt", "none", 4),
    count("finrag", "prompt", "scale_error", 1, kind="label"),
    count("finrag", None, "none", 9, space="filing"),
]
COUNTS = pa.Table.from_pylist(ROWS, schema=GAP_COUNTS)
NOTHING = GAP_COUNTS.empty_table()


def cells(grid: Any) -> dict[str, list[tuple[str, str]]]:
    return {row.cells[0].text: [(cell.text, cell.small) for cell in row.cells[1:]] for row in grid.rows}


def test_every_level_and_label_has_a_name_for_people():
    assert tuple(LEVEL_NAMES) == LEVELS
    assert tuple(LABEL_NAMES) == LABELS


def test_systems_come_best_first_then_answers_and_no_ablations():
    assert GapIndex(COUNTS).systems() == [("finrag", None), ("dense", None), ("finrag", "prompt")]
    assert GapIndex(COUNTS, "filing").systems() == [("finrag", None)]


def test_shares_stand_with_their_intervals_and_counts():
    found = cells(levels_grid(COUNTS))
    assert list(found) == ["finrag: resolver and page ranker", "Dense", "prompt on finrag"]
    assert found["Dense"][1] == ("0.500", "0.300–0.700, 5 of 10")
    assert found["Dense"][3] == ("–", ""), "a retrieval by itself answers nothing"
    assert found["finrag: resolver and page ranker"][1] == ("0.100", "n = 10, 1 of 10")
    labels = cells(labels_grid(COUNTS))
    assert labels["Dense"][LABELS.index("wrong_year")] == ("0.400", "0.200–0.600, 4 of 10")
    assert labels["prompt on finrag"][LABELS.index("scale_error")][0] == "0.100"


def test_markdown():
    text = gap_markdown(COUNTS)
    assert "| Dense | 0.300 [0.100, 0.500] 3 |" in text
    assert "Wrong year" in text and "bm25_contextual_pages" not in text
    assert gap_markdown(NOTHING).count("No system has been measured yet.") == 2


def test_a_name_that_looks_like_markup_shows_as_itself():
    row = count("<b>|x", None, "none", 1)
    text = gap_markdown(pa.Table.from_pylist([row], schema=GAP_COUNTS))
    assert "\\<b\\>\\|x" in text
    svg = gap_levels_plot(pa.Table.from_pylist([row], schema=GAP_COUNTS))
    ElementTree.fromstring(svg)


class TestPlot:
    def test_the_same_counts_give_the_same_bytes_in_every_form(self):
        assert gap_levels_plot(COUNTS) == gap_levels_plot(COUNTS)
        assert gap_levels_plot(COUNTS) != gap_levels_plot(COUNTS, dark=True)
        assert gap_levels_plot(COUNTS, fmt="png").startswith(b"\x89PNG")
        assert gap_levels_plot(COUNTS) != gap_levels_plot(COUNTS, space="filing")
        ElementTree.fromstring(gap_levels_plot(COUNTS))

    def test_nothing_was_measured(self):
        assert b"<svg" in gap_levels_plot(NOTHING)

    def test_another_format_is_refused(self):
        with pytest.raises(UsageError, match="gif"):
            gap_levels_plot(COUNTS, fmt="gif")
