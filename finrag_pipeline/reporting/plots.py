"""Plots of retrieval: where evidence is lost, and page recall over the number of passages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.reporting.estimates import (
    Estimate,
    MetricIndex,
    metric_label,
    space_label,
    system_title,
)
from finrag_pipeline.reporting.plot_style import (
    DARK,
    DASHES,
    LIGHT,
    MARKERS,
    Format,
    Theme,
    empty_figure,
    label_ends,
    new_figure,
    render,
    single_axes,
    style_axes,
    title_axes,
)
from finrag_pipeline.retrieval.spaces import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVELS = (("doc_rec", "Filing"), ("page_rec", "Pages"), ("max_rouge_l", "Passage"))
_PANELS_PER_ROW = 3


def gap_plot(metrics: pa.Table, fmt: Format = "svg", dark: bool = False) -> bytes:
    """One panel per system: evidence found at filing, page and passage level, in every search space.

    The shaded areas are what is lost: to other filings (between the whole corpus and the oracle filing) and
    to other pages of the right filing (between the oracle filing and the oracle pages).

    Args:
        metrics: table as ``schemas.SYSTEM_METRICS``; may be empty.
        fmt: svg or png.
        dark: colours for a dark background.

    Returns:
        The file's bytes; the same table gives the same bytes.

    Raises:
        UsageError: the format is neither svg nor png.
    """
    index = MetricIndex(metrics)
    theme = DARK if dark else LIGHT
    systems = [s for s in index.systems if any(_gap_estimates(index, s, space) for space in index.spaces)]
    if not systems:
        return render(empty_figure(theme), fmt)
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
    legend = figure.legend(
        [handles[label] for label in labels],
        labels,
        loc="outside upper left",
        ncols=5 if columns > 2 else 2,
        frameon=False,
        fontsize=9,
        handlelength=2.2,
        columnspacing=1.4,
    )
    for text in legend.get_texts():
        text.set_color(theme.ink)
    return render(figure, fmt)


def recall_curve(metrics: pa.Table, fmt: Format = "svg", dark: bool = False) -> bytes:
    """PageRec@k over k for every system in the whole corpus, with its interval as a band.

    Args:
        metrics: table as ``schemas.SYSTEM_METRICS``; may be empty.
        fmt: svg or png.
        dark: colours for a dark background.

    Returns:
        The file's bytes; the same table gives the same bytes.

    Raises:
        UsageError: the format is neither svg nor png.
    """
    index = MetricIndex(metrics)
    theme = DARK if dark else LIGHT
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
        return render(empty_figure(theme), fmt)
    figure, axes = single_axes(theme, (9.0, 4.6 + 0.16 * max(len(curves) - 10, 0)))
    ends = []
    for position, (system, points) in enumerate(curves.items()):
        colour = theme.systems[position % len(theme.systems)]
        ks = [k for k, _ in points]
        axes.plot(
            ks,
            [estimate.mean for _, estimate in points],
            color=colour,
            marker=MARKERS[position % len(MARKERS)],
            linestyle=DASHES[position // len(theme.systems) % len(DASHES)],
            markersize=5.5,
            linewidth=2,
        )
        known = [(k, e.low, e.high) for k, e in points if e.low is not None and e.high is not None]
        if known:
            alpha = 0.13 if len(curves) <= 5 else 0.05
            at, lows, highs = zip(*known, strict=True)
            axes.fill_between(at, lows, highs, color=colour, alpha=alpha, linewidth=0)
        ends.append((points[-1][1].mean, system_title(system), colour))
    axes.set_xscale("log")
    axes.set_xticks(cutoffs, [str(k) for k in cutoffs])
    axes.set_xticks([], minor=True)
    axes.set_xlim(cutoffs[0] * 0.92, cutoffs[-1] * 1.06)
    axes.set_xlabel("k, chunks looked at", color=theme.muted)
    axes.set_ylabel("PageRec@k, whole corpus", color=theme.muted)
    highest = max(e.mean if e.high is None else e.high for points in curves.values() for _, e in points)
    top = min(1.02, max(0.1, highest * 1.08))
    axes.set_ylim(0, top)
    label_ends(axes, ends, top)
    return render(figure, fmt)


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
