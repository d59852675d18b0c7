"""Plots of what a judge is worth, and of how often intervals hold the truth."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from finrag_pipeline.reporting.plot_style import (
    DARK,
    LIGHT,
    MARKERS,
    Format,
    empty_figure,
    render,
    single_axes,
)

INTERVALS = {
    "wald": "Wald",
    "wilson": "Wilson",
    "clustered": "Over questions or documents",
    "ppi_normal": "PPI++, normal",
    "ppi": "PPI, small samples",
    "bootstrap": "Bootstrap",
}
"""Titles of the intervals, in the order of the plot."""


def sensitivity_plot(rows: Sequence[Mapping[str, Any]], fmt: Format = "svg", dark: bool = False) -> bytes:
    """Half width of the PPI++ interval over the agreement of people and judge (Martinon et al., 10.5).

    Args:
        rows: as ``schemas.JUDGE_SENSITIVITY``.
        fmt: svg or png.
        dark: colours for a dark background.

    Returns:
        The file's bytes; the same figures give the same bytes.

    Raises:
        UsageError: the format is neither svg nor png.
    """
    theme = DARK if dark else LIGHT
    if not rows:
        return render(empty_figure(theme), fmt)
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
    axes.set_xlabel("Agreement of people and judge, %", color=theme.muted)
    axes.set_ylabel("Half width of the interval, points", color=theme.muted)
    axes.legend(frameon=False, labelcolor=theme.ink, fontsize=9, loc="lower left")
    return render(figure, fmt)


def coverage_plot(
    rows: Sequence[Mapping[str, Any]], confidence: float = 0.95, fmt: Format = "svg", dark: bool = False
) -> bytes:
    """Coverage of every interval in every simulated study, beside the coverage aimed at.

    Args:
        rows: as ``schemas.INTERVAL_COVERAGE``.
        confidence: coverage aimed at.
        fmt: svg or png.
        dark: colours for a dark background.

    Returns:
        The file's bytes; the same figures give the same bytes.

    Raises:
        UsageError: the format is neither svg nor png.
    """
    theme = DARK if dark else LIGHT
    if not rows:
        return render(empty_figure(theme), fmt)
    studies = list(dict.fromkeys(row["study"] for row in rows))
    place = {study: len(studies) - number for number, study in enumerate(studies)}
    figure, axes = single_axes(theme, (8.0, 1.9 + 0.52 * len(studies)))
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color=theme.grid, linewidth=0.8)
    axes.axvline(100 * confidence, color=theme.muted, linewidth=1.2, linestyle=(0, (5, 2)))
    for number, (name, title) in enumerate(INTERVALS.items()):
        mine = [row for row in rows if row["interval"] == name]
        axes.scatter(
            [100 * row["coverage"] for row in mine],
            # Side by side: points of intervals that cover alike would hide one another.
            [place[row["study"]] + 0.12 * (2.5 - number) for row in mine],
            color=theme.systems[number % len(theme.systems)],
            marker=MARKERS[number % len(MARKERS)],
            s=34,
            label=title,
            zorder=3,
        )
    titles = {study: textwrap.wrap(study.replace(" %", "\u00a0%"), 34) for study in studies}
    axes.set_yticks(list(place.values()), ["\n".join(titles[study]) for study in place])
    axes.set_ylim(0.4, len(studies) + 0.6)
    axes.set_xlabel(
        f"Intervals that hold the truth, % (dashed: {100 * confidence:g} % aimed at)", color=theme.muted
    )
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="outside upper center",
        ncols=3,
        frameon=False,
        labelcolor=theme.ink,
        fontsize=9,
    )
    return render(figure, fmt)
