"""Estimates and tables for people, as data: the HTML report and Markdown render the same grid."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.evaluation.retrieval_metrics import RETRIEVAL_METRICS
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import ABLATIONS, ALL_SYSTEMS
from finrag_pipeline.schemas import conform

_TERMS = {one.name: one.term for one in RETRIEVAL_METRICS}
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
RECORDED = "recorded "
"""How names of recorded answers of other models begin."""
SOURCE_NAMES = {"pdf": "PDF", "page_text": "Text only"}
HEADLINE = tuple(
    (one.name, CUTOFF if len(one.cutoffs) > 1 else one.cutoffs[0]) for one in RETRIEVAL_METRICS if one.shown
)
"""Metrics of the headline table with their cut-off."""


@dataclass(frozen=True)
class Estimate:
    """A mean with what is known of its uncertainty."""

    mean: float  # over the questions, in [0, 1]
    low: float | None  # lower end of its interval; None with fewer than two gold filings
    high: float | None  # upper end, likewise
    n: int  # questions
    documents: int  # distinct gold filings

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
    """The rows of ``schemas.SYSTEM_METRICS`` by their key; a table that does not fit it raises LakeError.

    With ``slice``, those of one slice, which takes a fraction of the time.
    """

    def __init__(self, metrics: pa.Table, slice: str | None = None) -> None:
        self._estimates: dict[tuple[str, str, str, str, str, int], Estimate] = {}
        metrics = conform(metrics, "system_metrics")
        for row in (metrics.filter(pc.field("slice") == slice) if slice else metrics).to_pylist():
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
        names = in_order((key[0] for key in self._estimates), ALL_SYSTEMS)
        return [name for name in names if name not in ABLATIONS]

    @property
    def ablations(self) -> list[str]:
        """Measured variants of systems, in the order of the registry."""
        measured = {key[0] for key in self._estimates}
        return [name for name in ABLATIONS if name in measured]

    @property
    def spaces(self) -> list[str]:
        """Search spaces from the widest to the narrowest, then others as they first appear."""
        return in_order((key[1] for key in self._estimates), SPACE_NAMES)

    def values(self, slice: str) -> list[str]:
        """Values of a slice; document sources in the order PDF, text only, others as the table has them."""
        return in_order((key[3] for key in self._estimates if key[2] == slice), SOURCE_NAMES)

    def cutoffs(self, metric: str) -> list[int]:
        """Cut-offs at which a metric was measured, ascending."""
        return sorted({key[5] for key in self._estimates if key[4] == metric})

    def size(self) -> tuple[int, int]:
        """Questions and gold filings that the whole-benchmark means are over; (0, 0) when there are none."""
        sizes = {(e.n, e.documents) for key, e in self._estimates.items() if key[2] == "all"}
        return max(sizes, default=(0, 0))

    def ranked(self, space: str, slice: str = "all", value: str = "all") -> list[str]:
        """Systems measured in a space, best PageRec@5 first, ties in the order of :attr:`systems`."""
        found = {key[0] for key in self._estimates if key[1:4] == (space, slice, value)}

        def page_recall(system: str) -> float:
            estimate = self.find(system, space, "page_rec", CUTOFF, slice, value)
            return -1.0 if estimate is None else estimate.mean

        return sorted((s for s in self.systems if s in found), key=page_recall, reverse=True)


def metric_label(metric: str, k: int) -> str:
    """``PageRec@5``; ``MRR`` for metrics over the whole ranking."""
    name = _TERMS.get(metric, metric)
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


def in_order(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Each name once, those that are known in their order before others."""
    found = list(dict.fromkeys(names))
    first = [name for name in known if name in found]
    return first + [name for name in found if name not in first]


_MARKDOWN_SPECIAL = re.compile(r"[\\`*_\[\]<>|~$]|&(?=#?\w+;)")


@dataclass(frozen=True)
class Note:
    """A remark in a cell."""

    kind: Literal["failure", "conflict", "warning"]
    text: str
    remedy: str = ""


@dataclass(frozen=True)
class Cell:
    """One cell."""

    text: str = ""
    small: str = ""  # what stands muted beneath it, such as an interval
    markdown: str | None = None  # Markdown to show instead of both, with its special characters escaped
    sort: float | str | None = None  # key for sorting in a browser; the text when None
    estimate: Estimate | None = None  # draws the interval as a bar
    notes: tuple[Note, ...] = ()  # remarks, one line each
    link: str = ""  # path that the text leads to, from the page the grid stands on


Of = str | Callable[[Mapping[str, Any]], Any]
"""What is shown of a record: the value of that name, or what a function makes of it."""


@dataclass(frozen=True)
class Column:
    """Head of a column, with what stands muted beneath it and what a record shows in it."""

    label: str
    small: str = ""
    of: Of | None = None
    kind: Literal["text", "tag", "number", "prose"] = "text"


# Text wraps where it must, a tag is short and does not, numbers align right, and prose wants room.
text = partial(Column, kind="text")
tag = partial(Column, kind="tag")
number = partial(Column, kind="number")
prose = partial(Column, kind="prose")


@dataclass(frozen=True)
class Row:
    """One row."""

    cells: tuple[Cell, ...]  # as many as there are columns; the first names the row
    group: str = ""  # rows of another group than the one above are set off by a line
    system: str = ""  # system that the row is about, for filtering in a browser
    data: tuple[tuple[str, str], ...] = ()  # further names and values to filter by


@dataclass(frozen=True)
class Grid:
    """A table."""

    name: str  # identifier, unique in a report
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...] = ()
    empty: str = "Nothing to show."  # instead of a table without rows


Value = Cell | Estimate | str | int | float | None
"""What `make_row` makes a cell of."""


def make_row(
    *values: Value, group: str = "", system: str = "", data: tuple[tuple[str, str], ...] = ()
) -> Row:
    """A row of texts, counts, means with their intervals, and dashes for None; cells stay as they are."""
    return Row(tuple(map(_cell, values)), group, system, data)


def make_grid(
    name: str,
    caption: str,
    columns: Iterable[Column],
    records: Iterable[Row | Mapping[str, Any] | Sequence[Any]],
    empty: str = "Nothing to show.",
    *,
    group: Of = "",
    system: Of = "",
    data: Mapping[str, Of] | None = None,
) -> Grid:
    """A table of rows, of their values (`make_row`), or of records, of which each column says what it shows.

    ``group``, ``system`` and ``data`` say what a record has as those of its `Row`.
    """
    heads = tuple(columns)

    def row(one: Row | Mapping[str, Any] | Sequence[Any]) -> Row:
        if isinstance(one, Row):
            return one
        if not isinstance(one, Mapping):
            return make_row(*one)
        return make_row(
            *(_shown(one, column.of) for column in heads),
            group=str(_shown(one, group)),
            system=str(_shown(one, system)),
            data=tuple((key, str(_shown(one, of))) for key, of in (data or {}).items()),
        )

    return Grid(name, caption, heads, tuple(map(row, records)), empty)


def _shown(record: Mapping[str, Any], of: Of | None) -> Any:
    if callable(of):
        return of(record)
    return record[of] if of else ""


def _cell(value: Value) -> Cell:
    if isinstance(value, Cell):
        return value
    if isinstance(value, str):
        return Cell(value)
    if isinstance(value, float):
        return decimal_cell(value)
    return Cell(f"{value:,}", sort=float(value)) if isinstance(value, int) else estimate_cell(value)


def estimate_cell(estimate: Estimate | None, bar: bool = False) -> Cell:
    """Cell of a mean with its interval (or its number of questions) beneath; a dash where there is none."""
    if estimate is None:
        return Cell("–", sort=-1.0)
    drawn = estimate if bar else None
    return Cell(f"{estimate.mean:.3f}", estimate.interval, str(estimate), estimate.mean, drawn)


def decimal_cell(value: float | None, digits: int = 3, missing: float = -1.0) -> Cell:
    """Cell of a figure without an interval of its own; a dash, sorted as ``missing``, where there is none."""
    return Cell("–", sort=missing) if value is None else Cell(f"{value:.{digits}f}", sort=value)


def difference_cell(value: float | None, small: str = "") -> Cell:
    """Cell of a difference with its sign; a dash where there is none."""
    return Cell("–", sort=0.0) if value is None else Cell(signed(value), small, sort=value)


def most_questions(estimates: Iterable[Estimate | None]) -> int:
    """The greatest number of questions among estimates; 0 without any."""
    return max((estimate.n for estimate in estimates if estimate), default=0)


def signed(value: float) -> str:
    """A difference with its sign, such as ``−0.117``."""
    return f"{value:+.3f}".replace("-", "−")


def system_cell(system: str) -> Cell:
    """Cell that names a system: by title and identifier, in Markdown by identifier alone."""
    title = system_title(system)
    plain = re.fullmatch(r"[\w.+-]+", system) is not None
    return Cell(title, system if title != system else "", f"`{system}`" if plain else escape_markdown(system))


def escape_markdown(text: str) -> str:
    """Text that shows as itself inside a Markdown table cell."""
    return _MARKDOWN_SPECIAL.sub(r"\\\g<0>", " ".join(text.split()))


def grid_markdown(grid: Grid) -> str:
    """The grid as a GitHub-flavoured Markdown table, numbers aligned right."""
    if not grid.rows:
        return f"_{grid.empty}_\n"
    head = [column.label + (f" ({column.small})" if column.small else "") for column in grid.columns]
    rule = ["---:" if column.kind == "number" else "---" for column in grid.columns]
    lines = [_line([escape_markdown(label) for label in head]), _line(rule)]
    lines += [_line([_cell_markdown(cell) for cell in row.cells]) for row in grid.rows]
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell_markdown(cell: Cell) -> str:
    return escape_markdown(f"{cell.text} {cell.small}") if cell.markdown is None else cell.markdown
