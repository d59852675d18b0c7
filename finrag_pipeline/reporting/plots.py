"""Plots of the report: retrieval, the levels lost, what was learned or tuned, judges and intervals.

Each takes its data, and by keyword ``fmt``, and gives the bytes of a file: `plot`. Matplotlib is used through
its objects only: no pyplot, no window. Colours are those of Okabe & Ito (2008), which readers with
colour-vision deficiencies tell apart, lightened for dark backgrounds (`in_dark`); markers and dashes differ
as well.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from finrag_pipeline.errors import UsageError
from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.reporting.grid import Estimate, MetricIndex, metric_label, space_label, system_title
from finrag_pipeline.reporting.tables import LEVEL_NAMES, gap_shares, pair_title
from finrag_pipeline.retrieval.spaces import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Format = Literal["svg", "png"]

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHED = (0, (5, 2))
DASHES = ("-", _DASHED, (0, (1.5, 1.8)), (0, (5, 1.5, 1.5, 1.5)))
_QUARTERS = (0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Theme:
    """Colours of a plot."""

    surface: str  # background
    ink: str  # text
    muted: str  # axes and secondary text
    grid: str  # grid lines
    spaces: tuple[str, ...]  # colour of each search space, from the widest to the narrowest
    systems: tuple[str, ...]  # colours of systems, in turn
    levels: tuple[str, ...]  # colour of each level lost, from the widest to what is kept, in a neutral tone


_TITLE = {"size": 11, "weight": "bold", "location": "left", "pad": 8, "y": 1.0}
_TICKS = {"labelsize": 9, "major.size": 0, "major.pad": 5}
LIGHT = Theme(
    "#ffffff",
    "#1b2127",
    "#5b6670",
    "#e3e7ea",
    ("#0072b2", "#c77700", "#00795a"),
    ("#0072b2", "#d55e00", "#00795a", "#a64d79", "#8a6d00", "#3b8ec2", "#1b2127"),
    ("#d55e00", "#e69f00", "#f0e442", "#cc79a7", "#dfe6ea"),
)
DARK = Theme(
    "#161b20",
    "#e8ecef",
    "#9aa6b0",
    "#2b333a",
    ("#56b4e9", "#f0a830", "#35c59b"),
    ("#56b4e9", "#ff8a4f", "#35c59b", "#e79bc4", "#e6cf4a", "#9fd4f5", "#e8ecef"),
    ("#ff8a4f", "#f0a830", "#e6cf4a", "#e79bc4", "#333d45"),
)
_COLOUR = rb"#[0-9a-f]{6}\b"
_IN_DARK = dict(zip(*(re.findall(_COLOUR, repr(theme).encode()) for theme in (LIGHT, DARK)), strict=True))


def in_dark(svg: bytes) -> bytes:
    """The SVG of a plot in colours for a dark background."""
    return re.sub(_COLOUR, lambda found: _IN_DARK.get(found[0], found[0]), svg)


def _style() -> dict[str, Any]:
    """Parameters of matplotlib: quiet axes without a frame but the lower one, and legends without."""
    return {
        "svg.hashsalt": "finrag_pipeline",  # a fixed salt for identifiers: the same bytes every time
        "svg.fonttype": "path",
        "text.parse_math": False,
        "figure.facecolor": LIGHT.surface,
        "figure.dpi": 160,
        "axes.facecolor": LIGHT.surface,
        "axes.edgecolor": LIGHT.muted,
        "axes.labelcolor": LIGHT.muted,
        "axes.axisbelow": True,
        **{f"axes.spines.{side}": False for side in ("top", "right", "left")},
        **{f"axes.title{name}": value for name, value in _TITLE.items()},
        "axes.titlecolor": LIGHT.ink,
        "grid.color": LIGHT.grid,
        **{f"{axis}tick.{name}": value for axis in "xy" for name, value in _TICKS.items()},
        **{f"{axis}tick.{name}": LIGHT.muted for axis in "xy" for name in ("color", "labelcolor")},
        "legend.frameon": False,
        "legend.fontsize": 9,
        "legend.labelcolor": LIGHT.ink,
    }


def plot(draw: Callable[..., Figure | None]) -> Callable[..., bytes]:
    """Makes a function that draws a figure one that gives the bytes of a file.

    It takes the arguments of ``draw``, and by keyword ``fmt`` (svg or png). The same figures give the same
    bytes. Where ``draw`` gives None, the file says that nothing has been measured. Another format raises
    UsageError.
    """

    @wraps(draw)
    def drawn(*data: Any, fmt: Format = "svg") -> bytes:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        if fmt not in ("svg", "png"):
            raise UsageError(f"There is no plot format '{fmt}'.", "Choose svg or png.")
        stream = io.BytesIO()
        style: Any = _style()  # matplotlib spells out every name in its own type
        with rc_context(style):
            figure = draw(*data) or _empty_figure()
            canvas = FigureCanvasAgg(figure)
            # Laid out here: while it prints, matplotlib would draw the figure twice for it.
            if engine := figure.get_layout_engine():
                engine.execute(figure)
                figure.set_layout_engine(None)
            canvas.print_figure(
                stream,
                format=fmt,
                facecolor=figure.get_facecolor(),
                bbox_inches=figure.get_tightbbox().padded(0.12),
                metadata={"Date": None} if fmt == "svg" else {"Software": None},
            )
        return stream.getvalue()

    return drawn


def _new_figure(size: tuple[float, float]) -> Figure:
    """A figure of ``size`` inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def _empty_figure() -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 1.2))  # without axes there is nothing to lay out
    text = "No system has been measured yet"
    figure.text(0.5, 0.5, text, ha="center", va="center", color=LIGHT.muted, fontsize=11)
    return figure


def _single_axes(size: tuple[float, float], grid: Literal["x", "y"] = "y") -> tuple[Figure, Axes]:
    """A figure with one pair of axes and lines at the ticks of one of them."""
    figure = _new_figure(size)
    axes = figure.subplots()
    axes.grid(axis=grid)
    return figure, axes


def _label_ends(axes: Axes, ends: Iterable[tuple[float, str, str]], top: float) -> None:
    """Name each curve (value, title, colour) at its right end, moved apart where names would overlap."""
    ordered = sorted(ends)
    gap = min(top * 0.052, top / len(ordered))
    heights: list[float] = []
    for value, _, _ in ordered:
        heights.append(max(value, heights[-1] + gap) if heights else value)
    ceiling = top
    for position in range(len(heights) - 1, -1, -1):
        heights[position] = min(heights[position], ceiling)
        ceiling = heights[position] - gap
    for (value, title, colour), y in zip(ordered, heights, strict=True):
        axes.annotate(
            f"{_shortened(title, 34)}  {value:.2f}",
            xy=(1.0, value),
            xycoords=("axes fraction", "data"),
            xytext=(1.015, y),
            textcoords=("axes fraction", "data"),
            va="center",
            fontsize=9.5,
            color=colour,
            annotation_clip=False,
        )


def _shortened(text: str, width: int) -> str:
    """Text of at most ``width`` characters that can stand in SVG."""
    # SVG is XML, which has no control characters.
    text = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def _look(colours: Sequence[str], position: int) -> dict[str, Any]:
    """Colour and marker of the curve at a position."""
    return {"color": colours[position % len(colours)], "marker": MARKERS[position % len(MARKERS)]}


def _curve(axes: Axes, points: Iterable[tuple[float, float]], linewidth: float = 2, **more: Any) -> None:
    xs, ys = zip(*points, strict=True)
    axes.plot(xs, ys, linewidth=linewidth, **more)


def _intervals(draw: Callable[..., object], points: Iterable[tuple[float, Estimate]], **more: Any) -> None:
    """Draw intervals, as far as they are known, by a method of the axes."""
    known = [(x, e.low, e.high) for x, e in points if e.low is not None and e.high is not None]
    if known:
        draw(*zip(*known, strict=True), **more)


def _ring(axes: Axes, x: float, y: float, colour: str) -> None:
    """A ring around a point that was chosen."""
    axes.plot([x], [y], marker="o", markersize=11, color=colour, fillstyle="none", zorder=5)


LEVELS = (("doc_rec", "Filing"), ("page_rec", "Pages"), ("max_rouge_l", "Passage"))
_PANELS_PER_ROW = 3


@plot
def gap_plot(metrics: pa.Table) -> Figure | None:
    """One panel per system: evidence found at filing, page and passage level, in every search space.

    The shaded areas are what is lost: to other filings (between the whole corpus and the oracle filing) and
    to other pages of the right filing (between the oracle filing and the oracle pages).

    It is drawn from ``schemas.SYSTEM_METRICS``.
    """
    index = MetricIndex(metrics, slice="all")
    found = {system: _gap_estimates(index, system) for system in index.systems}
    systems = {system: spaces for system, spaces in found.items() if any(spaces.values())}
    if not systems:
        return None
    columns = min(len(systems), _PANELS_PER_ROW)
    rows = -(-len(systems) // columns)
    figure = _new_figure((max(3.5 * columns, 5.2), 3.5 * rows + 0.45))
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    first = panels[0]  # the others share its limits and ticks
    first.set(xlim=(-0.35, len(LEVELS) - 0.65), ylim=(0, 1.06), yticks=_QUARTERS)
    names = [f"{name}\n{metric_label(metric, CUTOFF)}" for metric, name in LEVELS]
    first.set_xticks(range(len(LEVELS)), names)
    handles: dict[str, Any] = {}
    for axes, (system, spaces) in zip(panels, systems.items(), strict=False):
        _gap_panel(axes, system, spaces)
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    for axes in panels[len(systems) :]:
        axes.set_visible(False)
    for axes in panels[max(len(systems) - columns, 0) : len(systems)]:
        axes.tick_params(labelbottom=True)  # no panel stands beneath that would name the levels
    # Spaces from the widest to the narrowest, then what is lost between them.
    order = [*map(space_label, index.spaces), *handles]
    labels = [label for label in dict.fromkeys(order) if label in handles]
    figure.legend(
        [handles[label] for label in labels],
        labels,
        loc="outside upper left",
        ncols=5 if columns > 2 else 2,
        handlelength=2.2,
        columnspacing=1.4,
    )
    return figure


def _gap_estimates(index: MetricIndex, system: str) -> dict[str, dict[int, Estimate]]:
    """By space and position of the level, of the levels that were measured."""
    return {
        space: {
            x: estimate
            for x, (metric, _) in enumerate(LEVELS)
            if (estimate := index.find(system, space, metric, CUTOFF))
        }
        for space in index.spaces
    }


def _gap_panel(axes: Axes, system: str, spaces: Mapping[str, Mapping[int, Estimate]]) -> None:
    from matplotlib.patheffects import withStroke

    axes.grid(axis="y")
    axes.set_title("\n".join(textwrap.wrap(_shortened(system_title(system), 60), 30) or [" "]))
    # The narrowest space is drawn first, so that the whole corpus lies on top.
    for position, (space, points) in list(enumerate(spaces.items()))[::-1]:
        if not points:
            continue
        style = _look(LIGHT.spaces, position)
        # Side by side, so that intervals stay visible.
        moved = [(x + 0.05 * (position - 1), estimate) for x, estimate in points.items()]
        _intervals(axes.vlines, moved, color=style["color"], alpha=0.45, linewidth=2.4, zorder=3)
        _curve(
            axes,
            [(x, estimate.mean) for x, estimate in moved],
            linestyle=DASHES[position % len(DASHES)],
            markersize=6,
            label=space_label(space),
            zorder=4,
            **style,
        )
        for x, estimate in moved if space == Space.CORPUS else ():
            low = estimate.mean if estimate.low is None else estimate.low
            below = low > 0.12
            axes.annotate(
                f"{estimate.mean:.2f}",
                (x, low if below else estimate.high or estimate.mean),
                xytext=(0, -4 if below else 4),
                textcoords="offset points",
                ha="center",
                va="top" if below else "bottom",
                fontsize=9,
                color=style["color"],
                fontweight="bold",
                path_effects=[withStroke(linewidth=2.5, foreground=LIGHT.surface)],
                zorder=5,
            )
    losses = (
        (Space.CORPUS, Space.FILING, LIGHT.spaces[1], "Lost to other filings"),
        (Space.FILING, Space.PAGES, LIGHT.spaces[2], "Lost to other pages of the filing"),
    )
    for lower, upper, colour, label in losses:
        narrow, wide = spaces.get(upper, {}), spaces.get(lower, {})
        shared = sorted(narrow.keys() & wide.keys())
        if len(shared) > 1:
            bottom = [wide[x].mean for x in shared]
            top = [max(narrow[x].mean, wide[x].mean) for x in shared]
            axes.fill_between(
                shared, bottom, top, color=colour, alpha=0.14, linewidth=0, label=label, zorder=1
            )
    axes.tick_params(axis="x", labelsize=8.5)


@plot
def recall_curve(metrics: pa.Table) -> Figure | None:
    """PageRec@k over k for every system in the whole corpus, with its interval as a band.

    It is drawn from ``schemas.SYSTEM_METRICS``.
    """
    index = MetricIndex(metrics, slice="all")
    cutoffs = index.cutoffs("page_rec")
    curves = {
        system: points
        for system in index.systems
        if (points := [(k, e) for k in cutoffs if (e := index.find(system, Space.CORPUS, "page_rec", k))])
    }
    if not curves:
        return None
    figure, axes = _single_axes((9.0, 4.6 + 0.16 * max(len(curves) - 10, 0)))
    ends = []
    for position, (system, points) in enumerate(curves.items()):
        style = _look(LIGHT.systems, position)
        dashes = DASHES[position // len(LIGHT.systems) % len(DASHES)]
        _curve(axes, [(k, e.mean) for k, e in points], linestyle=dashes, markersize=5.5, **style)
        alpha = 0.13 if len(curves) <= 5 else 0.05
        _intervals(axes.fill_between, points, color=style["color"], alpha=alpha, linewidth=0)
        ends.append((points[-1][1].mean, system_title(system), style["color"]))
    axes.set_xscale("log")
    axes.set_xticks(cutoffs, [str(k) for k in cutoffs])
    axes.set_xticks([], minor=True)
    axes.set_xlim(cutoffs[0] * 0.92, cutoffs[-1] * 1.06)
    axes.set(xlabel="k, chunks looked at", ylabel="PageRec@k, whole corpus")
    highest = max(e.mean if e.high is None else e.high for points in curves.values() for _, e in points)
    top = min(1.02, max(0.1, highest * 1.08))
    axes.set_ylim(0, top)
    _label_ends(axes, ends, top)
    return figure


# Hatches tell neighbours apart without colour.
_HATCHES = ("///", "\\\\\\", "...", "xxx", "")
_LEAST_LABELLED = 0.045


@plot
def gap_levels_plot(counts: pa.Table) -> Figure | None:
    """One bar per system: the shares of the questions over the whole corpus lost first at each level.

    It is drawn from ``schemas.GAP_COUNTS``.
    """
    shares = gap_shares(counts)
    if not shares:
        return None
    figure, axes = _single_axes((9.0, 1.3 + 0.34 * len(shares)), grid="x")
    # Answers stand a little apart from the retrievals.
    heights = [place + 0.5 * (answering is not None) for place, (_, answering) in enumerate(shares)]
    left = [0.0] * len(shares)
    for (level, name), colour, hatch in zip(LEVEL_NAMES.items(), LIGHT.levels, _HATCHES, strict=True):
        widths = [of.get(level, {}).get("share") or 0.0 for of in shares.values()]
        look: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": LIGHT.surface, "linewidth": 0.8}
        axes.barh(heights, widths, 0.74, left, label=name, **look)
        for y, start, width in zip(heights, left, widths, strict=True):
            if width >= _LEAST_LABELLED:
                axes.text(
                    start + width / 2,
                    y,
                    f"{width:.0%}",
                    ha="center",
                    va="center",
                    fontsize=8.5,
                    color=LIGHT.ink if level == "none" else "#14181c",
                    bbox={"boxstyle": "round,pad=0.15", "facecolor": colour, "edgecolor": "none"},
                )
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.set_yticks(heights, [_shortened(pair_title(system), 44) for system in shares])
    axes.tick_params(axis="y", labelcolor=LIGHT.ink)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xticks(_QUARTERS, [f"{100 * share:g} %" for share in _QUARTERS])
    axes.set_xlabel("Share of the questions")
    figure.legend(loc="outside upper left", ncols=5, handlelength=1.6)
    return figure


@plot
def alpha_plot(
    means: Mapping[str, Mapping[float, float]], chosen: Mapping[str, Sequence[float]]
) -> Figure | None:
    """PageRec@5 over the weight of the dense score, with the weights that the folds chose.

    Both are by search space; the weights chosen are one per fold.
    """
    if not any(means.values()):
        return None
    figure, axes = _single_axes((8.0, 4.4))
    ends = []
    for position, (space, values) in enumerate(means.items()):
        style = _look(LIGHT.spaces, position)
        _curve(axes, values.items(), markersize=4.5, **style)
        for alpha in sorted(set(chosen.get(space, ())) & values.keys()):
            _ring(axes, alpha, values[alpha], style["color"])
        ends.append((list(values.values())[-1], space_label(space), style["color"]))
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(0, 1.04)
    axes.set_xlabel("α, weight of the dense score (ringed: chosen without a fold)")
    axes.set_ylabel(metric_label("page_rec", CUTOFF))
    _label_ends(axes, ends, 1.04)
    return figure


@plot
def training_plot(curves: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure | None:
    """Loss and validation PageRec@5 over the epochs, one colour per training.

    Args:
        curves: epochs in order, by the name of the training; each has ``epoch``, ``loss`` (None for epoch 0),
            ``page_rec`` (None without validation questions) and ``chosen``, which is ringed.
    """
    if not any(curves.values()):
        return None
    figure = _new_figure((8.0, 6.4))
    losses, recalls = figure.subplots(2, 1, sharex=True)
    ends = []
    for position, (name, epochs) in enumerate(curves.items()):
        style = _look(LIGHT.systems, position)
        for axes, column in ((losses, "loss"), (recalls, "page_rec")):
            known = [(row["epoch"], row[column]) for row in epochs if row[column] is not None]
            axes.plot(*zip(*known, strict=True) if known else ([], []), markersize=4.5, linewidth=2, **style)
        for row in epochs:
            if row["chosen"] and row["page_rec"] is not None:
                _ring(recalls, row["epoch"], row["page_rec"], style["color"])
        if known:
            ends.append((known[-1][1], name, style["color"]))
    for axes, label in ((losses, "Loss"), (recalls, "PageRec@5, validation")):
        axes.grid(axis="y")
        axes.set_ylabel(label)
    losses.set_ylim(bottom=0)
    recalls.set_ylim(-0.02, 1.04)
    recalls.set_xlabel("Epoch (ringed: kept)")
    if ends:
        _label_ends(recalls, ends, 1.04)
    return figure


@plot
def sensitivity_plot(rows: Sequence[Mapping[str, Any]]) -> Figure | None:
    """Half width of the PPI++ interval over the agreement of people and judge (Martinon et al., 10.5).

    It is drawn from ``schemas.JUDGE_SENSITIVITY``.
    """
    if not rows:
        return None
    figure, axes = _single_axes((8.0, 4.4))
    first, second = LIGHT.systems[:2]
    names = ("agreement", "half_width", "half_width_low", "half_width_high", "expected_half_width")
    agreements, means, lows, highs, expected = ([100 * row[name] for row in rows] for name in names)
    axes.fill_between(agreements, lows, highs, color=first, alpha=0.18, linewidth=0)
    simulated = "simulated: mean and 95 % of the studies"
    axes.plot(agreements, means, color=first, marker="o", markersize=4, linewidth=2, label=simulated)
    axes.plot(agreements, expected, color=second, linestyle=_DASHED, linewidth=1.5, label="closed form")
    axes.set_ylim(bottom=0)
    axes.set(xlabel="Agreement of people and judge, %", ylabel="Half width of the interval, points")
    axes.legend(loc="lower left")
    return figure


@plot
def reliability_plot(metrics: pa.Table) -> Figure | None:
    """Share of right answers over the confidence they state, beside a line where both are the same.

    It is drawn from the metrics of answers over the whole corpus, ``schemas.SYSTEM_METRICS``.
    """
    index = MetricIndex(metrics, slice="all")
    curves = {
        system: [
            (told.mean, found)
            for low in index.cutoffs("confidence")
            if low
            and (told := index.find(system, Space.CORPUS, "confidence", low))
            and (found := index.find(system, Space.CORPUS, "confident_right", low))
        ]
        for system in index.systems
    }
    drawn = [(system, points) for system, points in curves.items() if points]
    if not drawn:
        return None
    figure, axes = _single_axes((6.4, 4.6))
    axes.plot([0, 1], [0, 1], color=LIGHT.muted, linewidth=1.2, linestyle=_DASHED, label="as stated")
    for position, (system, points) in enumerate(drawn):
        style = _look(LIGHT.systems, position)
        _intervals(axes.vlines, points, color=style["color"], alpha=0.4, linewidth=2.4)
        for stated, right in points:
            axes.annotate(
                f"n = {right.n}",
                (stated, right.mean),
                xytext=(7, -3),
                textcoords="offset points",
                fontsize=8.5,
                color=LIGHT.muted,
            )
        _curve(axes, [(stated, right.mean) for stated, right in points], markersize=6, label=system, **style)
    axes.set_xlim(0, 1.04)
    axes.set_ylim(-0.02, 1.04)
    axes.set(xlabel="Confidence stated, mean of ten points", ylabel="Share that is right")
    axes.legend(loc="upper left")
    return figure
