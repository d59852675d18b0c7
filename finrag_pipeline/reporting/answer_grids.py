"""Answers: every answering system beside recorded answers of other models, whole and by type of question."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa

from finrag_pipeline.evaluation.answer_metrics import SHOWN
from finrag_pipeline.evaluation.unanswerable import KINDS, false_answers
from finrag_pipeline.reporting.estimates import (
    SLICE_NAMES,
    Estimate,
    MetricIndex,
    slice_value_label,
    space_label,
)
from finrag_pipeline.reporting.grid import (
    Cell,
    Grid,
    make_grid,
    make_row,
    most_questions,
    number,
    prose,
    text,
)

RECORDED = "recorded "
"""How names of recorded answers of other models begin."""

NOTHING = "Nothing (closed book)"
_SLICED = SHOWN[:5]
_EXAMPLE = 160  # characters of a false answer
_SIZES = (number("n"), number("n", "strict"))
EMPTY = "No answers were scored; 'finrag answers' answers and scores every question of the benchmark."


def answers_grid(index: MetricIndex, closed_book: Collection[str] = ()) -> Grid:
    """Answering system × what it was given: metrics with intervals; this pipeline first, best first.

    Args:
        index: means as ``answer_metrics`` has them.
        closed_book: recorded systems that were given nothing.
    """
    rows = []
    for system, space in _ranked(index, closed_book):
        estimates = [index.find(system, space, metric.name, 0) for metric in SHOWN]
        cells = (_system_cell(system), _given(system, space, closed_book), *estimates, *_sizes(estimates))
        rows.append(make_row(*cells, group=_whose(system), data=_data(system, space, closed_book)))
    columns = (text("System"), text("Given"), *(number(metric.term) for metric in SHOWN), *_SIZES)
    return make_grid("answers", "Answers of every system", columns, rows, EMPTY)


def answer_slices_grid(
    index: MetricIndex, closed_book: Collection[str] = (), slice: str = "question_type"
) -> Grid:
    """The same by type of question as the benchmark has it, or by ``kind`` as it is read."""
    rows = []
    for value in index.values(slice):
        for system, space in _ranked(index, closed_book, slice, value):
            found = [index.find(system, space, metric.name, 0, slice, value) for metric in _SLICED]
            name, given = _system_cell(system), _given(system, space, closed_book)
            cells = (slice_value_label(slice, value), name, given, *found, *_sizes(found))
            data = ((slice, value), *_data(system, space, closed_book))
            rows.append(make_row(*cells, group=f"{value}/{_whose(system)}", data=data))
    columns = (
        text(SLICE_NAMES[slice]),
        text("System"),
        text("Given"),
        *(number(metric.term) for metric in _SLICED),
        *_SIZES,
    )
    return make_grid(f"answers-{slice}", f"Answers by {SLICE_NAMES[slice].lower()}", columns, rows, EMPTY)


def false_answers_grid(table: pa.Table | None, confidence: float = 0.95) -> Grid:
    """Share of answers to questions without one, by kind, with an example of each.

    Args:
        table: as ``schemas.FALSE_ANSWERS``; None for none.
        confidence: coverage of the intervals.
    """
    asked = table.to_pylist() if table is not None else []
    rows = []
    for kind, found in (false_answers(table, confidence) if table is not None else {}).items():
        own = [row for row in asked if kind in ("all", row["kind"])]
        wrong = [row for row in own if not row["abstained"]]
        example = Cell(wrong[0]["question"], wrong[0]["answer"][:_EXAMPLE]) if wrong and kind != "all" else ""
        share = Estimate(found.estimate, found.low, found.high, len(own), 0)
        rows.append((KINDS.get(kind, "All"), share, len(wrong), len(own), example))
    columns = (
        text("Without an answer because it asks for"),
        number("Answered", "share"),
        number("Answered"),
        number("Asked"),
        prose("Example", "what was answered"),
    )
    empty = "No questions without an answer were asked; 'finrag run' asks them with the metrics."
    return make_grid("false-answers", "Answers to questions that have none", columns, rows, empty)


def _sizes(estimates: Sequence[Estimate | None]) -> tuple[int, int]:
    """Questions, and those of the strict match, which is the second metric."""
    strict = estimates[1]
    return most_questions(estimates), strict.n if strict else 0


def given_options(index: MetricIndex, closed_book: Collection[str]) -> list[tuple[str, str]]:
    """What systems were given, as choices of a filter."""
    found = {_given(*pair, closed_book) for pair in _pairs(index)}
    order = [*map(space_label, index.spaces), NOTHING]
    return [(label, label) for label in order if label in found]


def _pairs(index: MetricIndex, slice: str = "all", value: str = "all") -> list[tuple[str, str]]:
    return [
        (system, space)
        for system in index.systems
        for space in index.spaces
        if any(index.find(system, space, metric.name, 0, slice, value) for metric in SHOWN)
    ]


def _ranked(
    index: MetricIndex, closed_book: Collection[str], slice: str = "all", value: str = "all"
) -> list[tuple[str, str]]:
    """Systems and spaces: this pipeline's first, then by numeric match."""

    def key(pair: tuple[str, str]) -> tuple[bool, float]:
        match = index.find(*pair, "numeric_match", 0, slice, value)
        return (pair[0].startswith(RECORDED), -(match.mean if match else -1.0))

    return sorted(_pairs(index, slice, value), key=key)


def _whose(system: str) -> str:
    return "recorded" if system.startswith(RECORDED) else "ours"


def _given(system: str, space: str, closed_book: Collection[str]) -> str:
    return NOTHING if system in closed_book else space_label(space)


def _data(system: str, space: str, closed_book: Collection[str]) -> tuple[tuple[str, str], ...]:
    return (("whose", _whose(system)), ("given", _given(system, space, closed_book)))


def _system_cell(system: str) -> Cell:
    if system.startswith(RECORDED):
        return Cell(system.removeprefix(RECORDED), "recorded answers of another model")
    name, on, retrieval = system.partition(" on ")
    return Cell(name.replace("_", " ").capitalize(), f"on the passages of {retrieval}" if on else "")
