"""Plots of the report: retrieval, the levels lost, what was learned or tuned, judges and intervals.

Each takes its data, and by keyword ``fmt`` and ``dark``, and gives the bytes of a file: `plot`. Matplotlib is
used through its objects only: no pyplot, no window, no state shared between calls. Colours are those of Okabe
& Ito (2008), which readers with colour-vision deficiencies tell apart, lightened for dark backgrounds;
markers and dashes differ as well.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from finrag_pipeline.errors import UsageError
from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.evaluation.retrieval_gap import LEVELS as LOST_LEVELS
from finrag_pipeline.reporting.grid import Estimate, MetricIndex, metric_label, space_label, system_title
from finrag_pipeline.reporting.tables import LEVEL_NAMES, GapIndex, pair_title
from finrag_pipeline.retrieval.spaces import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Format = Literal["svg", "png"]

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.8)), (0, (5, 1.5, 1.5, 1.5)))
_DOTS_PER_INCH = 160


@dataclass(frozen=True)
class Theme:
    """Colours of a plot.

    Attributes:
        surface: background.
        ink: text.
        muted: axes and secondary text.
        grid: grid lines.
        spaces: colour of each search space, from the widest to the narrowest.
        systems: colours of systems, in turn.
    """

    surface: str
    ink: str
    muted: str
    grid: str
    spaces: tuple[str, ...]
    systems: tuple[str, ...]


LIGHT = Theme(
    "#ffffff",
    "#1b2127",
    "#5b6670",
    "#e3e7ea",
    ("#0072b2", "#c77700", "#00795a"),
    ("#0072b2", "#d55e00", "#00795a", "#a64d79", "#8a6d00", "#3b8ec2", "#1b2127"),
)
DARK = Theme(
    "#161b20",
    "#e8ecef",
    "#9aa6b0",
    "#2b333a",
    ("#56b4e9", "#f0a830", "#35c59b"),
    ("#56b4e9", "#ff8a4f", "#35c59b", "#e79bc4", "#e6cf4a", "#9fd4f5", "#e8ecef"),
)


def label_ends(axes: Axes, ends: Sequence[tuple[float, str, str]], top: float) -> None:
    """Name each curve at its right end, moved apart where names would overlap."""
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
            f"{shortened(title, 34)}  {value:.2f}",
            xy=(1.0, value),
            xycoords=("axes fraction", "data"),
            xytext=(1.015, y),
            textcoords=("axes fraction", "data"),
            va="center",
            fontsize=9.5,
            color=colour,
            parse_math=False,
            annotation_clip=False,
        )


def new_figure(theme: Theme, size: tuple[float, float]) -> Figure:
    """A figure of ``size`` inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, facecolor=theme.surface, layout="constrained", dpi=_DOTS_PER_INCH)


def single_axes(
    theme: Theme, size: tuple[float, float], grid: Literal["x", "y"] = "y"
) -> tuple[Figure, Axes]:
    """A figure of ``size`` inches with one pair of quiet axes."""
    figure = new_figure(theme, size)
    axes = figure.subplots()
    style_axes(axes, theme, grid)
    return figure, axes


def style_axes(axes: Axes, theme: Theme, grid: Literal["x", "y"] = "y") -> None:
    """Quiet axes: a grid of lines at the ticks of one axis, and no frame but the lower one."""
    axes.set_facecolor(theme.surface)
    axes.grid(axis=grid, color=theme.grid, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(theme.muted)
    axes.tick_params(colors=theme.muted, labelcolor=theme.muted, labelsize=9, length=0, pad=5)


def title_axes(axes: Axes, title: str, theme: Theme) -> None:
    """A title above the left end, on several lines where it is long."""
    lines = textwrap.wrap(shortened(title, 60), 30) or [" "]
    axes.set_title(
        "\n".join(lines), color=theme.ink, fontsize=11, fontweight="bold", loc="left", pad=8, parse_math=False
    )


def label_axes(axes: Axes, theme: Theme, x: str, y: str) -> None:
    """What is measured along both axes."""
    axes.set_xlabel(x, color=theme.muted)
    axes.set_ylabel(y, color=theme.muted)


def legend(of: Axes | Figure, theme: Theme, loc: str, **more: Any) -> None:
    """A legend without a frame."""
    look_of: dict[str, Any] = {"loc": loc, "frameon": False, "fontsize": 9, "labelcolor": theme.ink}
    of.legend(**look_of, **more)


def shortened(text: str, width: int) -> str:
    """Text of at most ``width`` characters that can stand in SVG."""
    # SVG is XML, which has no control characters.
    text = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def look(colours: Sequence[str], position: int) -> dict[str, Any]:
    """Colour and marker of the curve at a position."""
    return {"color": colours[position % len(colours)], "marker": MARKERS[position % len(MARKERS)]}


def ring(axes: Axes, x: float, y: float, colour: str) -> None:
    """A ring around a point that was chosen."""
    axes.plot([x], [y], marker="o", markersize=11, color=colour, fillstyle="none", zorder=5)


def plot(draw: Callable[..., Figure | None]) -> Callable[..., bytes]:
    """Makes a function that draws a figure one that gives the bytes of a file.

    It takes the arguments of ``draw`` without its first one, the theme, and by keyword ``fmt`` (svg or png)
    and ``dark`` (colours for a dark background). The same figures give the same bytes. Where ``draw`` gives
    None, the file says that nothing has been measured. Another format raises UsageError.
    """

    @wraps(draw)
    def drawn(*data: Any, fmt: Format = "svg", dark: bool = False, **more: Any) -> bytes:
        theme = DARK if dark else LIGHT
        return _render(draw(theme, *data, **more) or _empty_figure(theme), fmt)

    return drawn


def _empty_figure(theme: Theme) -> Figure:
    figure = new_figure(theme, (6.0, 1.2))
    figure.text(
        0.5, 0.5, "No system has been measured yet", ha="center", va="center", color=theme.muted, fontsize=11
    )
    return figure


def _render(figure: Figure, fmt: Format) -> bytes:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    if fmt not in ("svg", "png"):
        raise UsageError(f"There is no plot format '{fmt}'.", "Choose svg or png.")
    canvas = FigureCanvasAgg(figure)
    # Without a date and with a fixed salt for identifiers, the same figures give the same bytes.
    metadata = {"Date": None} if fmt == "svg" else {"Software": None}
    stream = io.BytesIO()
    with rc_context({"svg.hashsalt": "finrag_pipeline", "svg.fonttype": "path"}):
        canvas.print_figure(
            stream,
            format=fmt,
            facecolor=figure.get_facecolor(),
            bbox_inches="tight",
            pad_inches=0.12,
            metadata=metadata,
        )
    return stream.getvalue()


LEVELS = (("doc_rec", "Filing"), ("page_rec", "Pages"), ("max_rouge_l", "Passage"))
_PANELS_PER_ROW = 3


@plot
def gap_plot(theme: Theme, metrics: pa.Table) -> Figure | None:
    """One panel per system: evidence found at filing, page and passage level, in every search space.

    The shaded areas are what is lost: to other filings (between the whole corpus and the oracle filing) and
    to other pages of the right filing (between the oracle filing and the oracle pages).

    Args:
        theme: its colours.
        metrics: table as ``schemas.SYSTEM_METRICS``; may be empty.
    """
    index = MetricIndex(metrics)
    systems = [s for s in index.systems if any(_gap_estimates(index, s, space) for space in index.spaces)]
    if not systems:
        return None
    columns = min(len(systems), _PANELS_PER_ROW)
    rows = -(-len(systems) // columns)
    figure = new_figure(theme, (max(3.5 * columns, 5.2), 3.5 * rows + 0.45))
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, system in zip(panels, systems, strict=False):
        _gap_panel(axes, theme, index, system)
    for axes in panels[len(systems) :]:
        axes.set_visible(False)
    for axes in panels[max(len(systems) - columns, 0) : len(systems)]:
        axes.tick_params(labelbottom=True)  # no panel stands beneath that would name the levels
    handles: dict[str, Any] = {}
    for axes in panels[: len(systems)]:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    # Spaces from the widest to the narrowest, then what is lost between them.
    labels = [label for label in map(space_label, index.spaces) if label in handles]
    labels += [label for label in handles if label not in labels]
    shown = {"handles": [handles[label] for label in labels], "labels": labels}
    ncols = 5 if columns > 2 else 2
    legend(figure, theme, "outside upper left", ncols=ncols, handlelength=2.2, columnspacing=1.4, **shown)
    return figure


@plot
def recall_curve(theme: Theme, metrics: pa.Table) -> Figure | None:
    """PageRec@k over k for every system in the whole corpus, with its interval as a band.

    Args:
        theme: its colours.
        metrics: table as ``schemas.SYSTEM_METRICS``; may be empty.
    """
    index = MetricIndex(metrics)
    cutoffs = index.cutoffs("page_rec")
    curves = {
        system: [
            (k, estimate)
            for k in cutoffs
            if (estimate := index.find(system, Space.CORPUS, "page_rec", k)) is not None
        ]
        for system in index.systems
    }
    curves = {system: points for system, points in curves.items() if points}
    if not curves:
        return None
    figure, axes = single_axes(theme, (9.0, 4.6 + 0.16 * max(len(curves) - 10, 0)))
    ends = []
    for position, (system, points) in enumerate(curves.items()):
        style = look(theme.systems, position)
        axes.plot(
            [k for k, _ in points],
            [estimate.mean for _, estimate in points],
            linestyle=DASHES[position // len(theme.systems) % len(DASHES)],
            markersize=5.5,
            linewidth=2,
            **style,
        )
        known = [(k, e.low, e.high) for k, e in points if e.low is not None and e.high is not None]
        if known:
            alpha = 0.13 if len(curves) <= 5 else 0.05
            at, lows, highs = zip(*known, strict=True)
            axes.fill_between(at, lows, highs, color=style["color"], alpha=alpha, linewidth=0)
        ends.append((points[-1][1].mean, system_title(system), style["color"]))
    axes.set_xscale("log")
    axes.set_xticks(cutoffs, [str(k) for k in cutoffs])
    axes.set_xticks([], minor=True)
    axes.set_xlim(cutoffs[0] * 0.92, cutoffs[-1] * 1.06)
    label_axes(axes, theme, "k, chunks looked at", "PageRec@k, whole corpus")
    highest = max(e.mean if e.high is None else e.high for points in curves.values() for _, e in points)
    top = min(1.02, max(0.1, highest * 1.08))
    axes.set_ylim(0, top)
    label_ends(axes, ends, top)
    return figure


def _gap_estimates(index: MetricIndex, system: str, space: str) -> list[tuple[int, Estimate]]:
    """(position of the level, estimate) of the levels that were measured."""
    found = [(x, index.find(system, space, metric, CUTOFF)) for x, (metric, _) in enumerate(LEVELS)]
    return [(x, estimate) for x, estimate in found if estimate is not None]


def _gap_panel(axes: Axes, theme: Theme, index: MetricIndex, system: str) -> None:
    from matplotlib.patheffects import withStroke

    style_axes(axes, theme)
    title_axes(axes, system_title(system), theme)
    # The narrowest space is drawn first, so that the whole corpus lies on top.
    order = list(enumerate(index.spaces))[::-1]
    lines: dict[str, dict[int, float]] = {}
    for position, space in order:
        points = _gap_estimates(index, system, space)
        if not points:
            continue
        colour = theme.spaces[position % len(theme.spaces)]
        xs = [x + 0.05 * (position - 1) for x, _ in points]  # side by side, so that intervals stay visible
        lines[space] = {x: estimate.mean for x, estimate in points}
        for x, (_, estimate) in zip(xs, points, strict=True):
            if estimate.low is not None and estimate.high is not None:
                axes.vlines(x, estimate.low, estimate.high, color=colour, linewidth=2.4, alpha=0.45, zorder=3)
        axes.plot(
            xs,
            [estimate.mean for _, estimate in points],
            color=colour,
            marker=MARKERS[position % len(MARKERS)],
            linestyle=DASHES[position % len(DASHES)],
            linewidth=2,
            markersize=6,
            label=space_label(space),
            zorder=4,
        )
        if space == Space.CORPUS:
            for x, (_, estimate) in zip(xs, points, strict=True):
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
                    color=colour,
                    fontweight="bold",
                    path_effects=[withStroke(linewidth=2.5, foreground=theme.surface)],
                    zorder=5,
                )
    losses = (
        (Space.CORPUS, Space.FILING, theme.spaces[1], "Lost to other filings"),
        (Space.FILING, Space.PAGES, theme.spaces[2], "Lost to other pages of the filing"),
    )
    for lower, upper, colour, label in losses:
        shared = sorted(lines.get(lower, {}).keys() & lines.get(upper, {}).keys())
        if len(shared) > 1:
            bottom = [lines[lower][x] for x in shared]
            top = [max(lines[upper][x], lines[lower][x]) for x in shared]
            axes.fill_between(
                shared, bottom, top, color=colour, alpha=0.14, linewidth=0, label=label, zorder=1
            )
    axes.set_xlim(-0.35, len(LEVELS) - 0.65)
    axes.set_ylim(0, 1.06)
    axes.set_xticks(
        range(len(LEVELS)), [f"{name}\n{metric_label(metric, CUTOFF)}" for metric, name in LEVELS]
    )
    axes.tick_params(axis="x", labelsize=8.5)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1.0])


# Okabe & Ito (2008); from the widest level to the narrowest, what is kept in a neutral tone. Hatches tell
# neighbours apart without colour.
_LIGHT_COLOURS = ("#d55e00", "#e69f00", "#f0e442", "#cc79a7", "#dfe6ea")
_DARK_COLOURS = ("#ff8a4f", "#f0a830", "#e6cf4a", "#e79bc4", "#333d45")
_HATCHES = ("///", "\\\\\\", "...", "xxx", "")
_LEAST_LABELLED = 0.045


@plot
def gap_levels_plot(theme: Theme, counts: pa.Table, space: str = "corpus") -> Figure | None:
    """One bar per system: the shares of the questions lost first at each level.

    Args:
        theme: its colours.
        counts: table as ``schemas.GAP_COUNTS``; may be empty.
        space: search space.
    """
    colours = _LIGHT_COLOURS if theme is LIGHT else _DARK_COLOURS
    index = GapIndex(counts, space)
    systems = index.systems()
    if not systems:
        return None
    figure, axes = single_axes(theme, (9.0, 1.3 + 0.34 * len(systems)), grid="x")
    # Answers stand a little apart from the retrievals.
    heights = [place + 0.5 * (system[1] is not None) for place, system in enumerate(systems)]
    left = [0.0] * len(systems)
    for level, colour, hatch in zip(LOST_LEVELS, colours, _HATCHES, strict=True):
        found = [index.share(system, "level", level) for system in systems]
        widths = [share.mean if share else 0.0 for share in found]
        axes.barh(
            heights,
            widths,
            0.74,
            left,
            color=colour,
            hatch=hatch,
            edgecolor=theme.surface,
            linewidth=0.8,
            label=LEVEL_NAMES[level],
        )
        for y, start, width in zip(heights, left, widths, strict=True):
            if width >= _LEAST_LABELLED:
                axes.text(
                    start + width / 2,
                    y,
                    f"{width:.0%}",
                    ha="center",
                    va="center",
                    fontsize=8.5,
                    color=theme.ink if level == "none" else "#14181c",
                    bbox={"boxstyle": "round,pad=0.15", "facecolor": colour, "edgecolor": "none"},
                )
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.set_yticks(heights, [shortened(pair_title(system), 44) for system in systems])
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
        label.set_color(theme.ink)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1.0], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlabel("Share of the questions", color=theme.muted)
    legend(figure, theme, "outside upper left", ncols=5, handlelength=1.6)
    return figure


@plot
def alpha_plot(
    theme: Theme, means: Mapping[str, Mapping[float, float]], chosen: Mapping[str, Sequence[float]]
) -> Figure | None:
    """PageRec@5 over the weight of the dense score, with the weights that the folds chose.

    Args:
        theme: its colours.
        means: mean PageRec@5 by space and weight.
        chosen: weights that were chosen by space, one per fold.
    """
    if not any(means.values()):
        return None
    figure, axes = single_axes(theme, (8.0, 4.4))
    ends = []
    for position, (space, values) in enumerate(means.items()):
        style = look(theme.spaces, position)
        alphas, recalls = list(values), list(values.values())
        axes.plot(alphas, recalls, markersize=4.5, linewidth=2, **style)
        for alpha in sorted(set(chosen.get(space, ()))):
            if alpha in values:
                ring(axes, alpha, values[alpha], style["color"])
        ends.append((recalls[-1], space_label(space), style["color"]))
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(0, 1.04)
    label_axes(
        axes,
        theme,
        "α, weight of the dense score (ringed: chosen without a fold)",
        metric_label("page_rec", CUTOFF),
    )
    label_ends(axes, ends, 1.04)
    return figure


@plot
def training_plot(theme: Theme, curves: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure | None:
    """Loss and validation PageRec@5 over the epochs, one colour per training.

    Args:
        theme: its colours.
        curves: epochs in order, by the name of the training; each has ``epoch``, ``loss`` (None for epoch 0),
            ``page_rec`` (None without validation questions) and ``chosen``, which is ringed.
    """
    if not any(curves.values()):
        return None
    figure = new_figure(theme, (8.0, 6.4))
    losses, recalls = figure.subplots(2, 1, sharex=True)
    ends = []
    for position, (name, epochs) in enumerate(curves.items()):
        style = look(theme.systems, position)
        for axes, name_of in ((losses, "loss"), (recalls, "page_rec")):
            known = [(row["epoch"], row[name_of]) for row in epochs if row[name_of] is not None]
            axes.plot(
                [epoch for epoch, _ in known], [y for _, y in known], markersize=4.5, linewidth=2, **style
            )
        for row in epochs:
            if row["page_rec"] is not None:
                last = row["page_rec"]
                if row["chosen"]:
                    ring(recalls, row["epoch"], last, style["color"])
        if any(row["page_rec"] is not None for row in epochs):
            ends.append((last, name, style["color"]))
    for axes, label in ((losses, "Loss"), (recalls, "PageRec@5, validation")):
        style_axes(axes, theme)
        axes.set_ylabel(label, color=theme.muted)
    losses.set_ylim(bottom=0)
    recalls.set_ylim(-0.02, 1.04)
    recalls.set_xlabel("Epoch (ringed: kept)", color=theme.muted)
    if ends:
        label_ends(recalls, ends, 1.04)
    return figure


INTERVALS = {
    "wald": "Wald",
    "wilson": "Wilson",
    "clustered": "Over questions or documents",
    "ppi_normal": "PPI++, normal",
    "ppi": "PPI, small samples",
    "bootstrap": "Bootstrap",
}
"""Titles of the intervals, in the order of the plot."""


@plot
def sensitivity_plot(theme: Theme, rows: Sequence[Mapping[str, Any]]) -> Figure | None:
    """Half width of the PPI++ interval over the agreement of people and judge (Martinon et al., 10.5).

    Args:
        theme: its colours.
        rows: as ``schemas.JUDGE_SENSITIVITY``.
    """
    if not rows:
        return None
    figure, axes = single_axes(theme, (8.0, 4.4))
    first, second = theme.systems[0], theme.systems[1]
    agreements = [100 * row["agreement"] for row in rows]
    axes.fill_between(
        agreements,
        [100 * row["half_width_low"] for row in rows],
        [100 * row["half_width_high"] for row in rows],
        color=first,
        alpha=0.18,
        linewidth=0,
    )
    axes.plot(
        agreements,
        [100 * row["half_width"] for row in rows],
        color=first,
        marker=MARKERS[0],
        markersize=4,
        linewidth=2,
        label="simulated: mean and 95 % of the studies",
    )
    axes.plot(
        agreements,
        [100 * row["expected_half_width"] for row in rows],
        color=second,
        linestyle=(0, (5, 2)),
        linewidth=1.5,
        label="closed form",
    )
    axes.set_ylim(bottom=0)
    label_axes(axes, theme, "Agreement of people and judge, %", "Half width of the interval, points")
    legend(axes, theme, "lower left")
    return figure


@plot
def reliability_plot(theme: Theme, metrics: pa.Table) -> Figure | None:
    """Share of right answers over the confidence they state, beside a line where both are the same.

    Args:
        theme: its colours.
        metrics: table as ``schemas.SYSTEM_METRICS``, of answers; those of the whole corpus are drawn.
    """
    index = MetricIndex(metrics)
    curves: dict[str, list[tuple[float, Estimate]]] = {
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
    figure, axes = single_axes(theme, (6.4, 4.6))
    axes.plot([0, 1], [0, 1], color=theme.muted, linewidth=1.2, linestyle=(0, (5, 2)), label="as stated")
    for position, (system, points) in enumerate(drawn):
        style = look(theme.systems, position)
        for stated, right in points:
            if right.low is not None and right.high is not None:
                axes.vlines(stated, right.low, right.high, color=style["color"], linewidth=2.4, alpha=0.4)
            axes.annotate(
                f"n = {right.n}",
                (stated, right.mean),
                xytext=(7, -3),
                textcoords="offset points",
                fontsize=8.5,
                color=theme.muted,
            )
        xs, ys = zip(*((stated, right.mean) for stated, right in points), strict=True)
        axes.plot(xs, ys, linewidth=2, markersize=6, label=system, **style)
    axes.set_xlim(0, 1.04)
    axes.set_ylim(-0.02, 1.04)
    label_axes(axes, theme, "Confidence stated, mean of ten points", "Share that is right")
    legend(axes, theme, "upper left")
    return figure


@plot
def coverage_plot(theme: Theme, rows: Sequence[Mapping[str, Any]], confidence: float = 0.95) -> Figure | None:
    """Coverage of every interval in every simulated study, beside the coverage aimed at.

    Args:
        theme: its colours.
        rows: as ``schemas.INTERVAL_COVERAGE``.
        confidence: coverage aimed at.
    """
    if not rows:
        return None
    studies = list(dict.fromkeys(row["study"] for row in rows))
    place = {study: len(studies) - number for number, study in enumerate(studies)}
    figure, axes = single_axes(theme, (8.0, 1.9 + 0.52 * len(studies)), grid="x")
    axes.axvline(100 * confidence, color=theme.muted, linewidth=1.2, linestyle=(0, (5, 2)))
    for number, (name, title) in enumerate(INTERVALS.items()):
        mine = [row for row in rows if row["interval"] == name]
        axes.scatter(
            [100 * row["coverage"] for row in mine],
            # Side by side: points of intervals that cover alike would hide one another.
            [place[row["study"]] + 0.12 * (2.5 - number) for row in mine],
            s=34,
            label=title,
            zorder=3,
            **look(theme.systems, number),
        )
    titles = {study: textwrap.wrap(study.replace(" %", "\u00a0%"), 34) for study in studies}
    axes.set_yticks(list(place.values()), ["\n".join(titles[study]) for study in place])
    axes.set_ylim(0.4, len(studies) + 0.6)
    axes.set_xlabel(
        f"Intervals that hold the truth, % (dashed: {100 * confidence:g} % aimed at)", color=theme.muted
    )
    legend(figure, theme, "outside upper center", ncols=3)
    return figure
