"""The first level lost per system, as stacked bars of all questions."""

from __future__ import annotations

import pyarrow as pa

from finrag_pipeline.evaluation.retrieval_gap import LEVELS
from finrag_pipeline.reporting.gap_levels import LEVEL_NAMES, GapIndex, pair_title
from finrag_pipeline.reporting.plot_style import (
    DARK,
    LIGHT,
    Format,
    empty_figure,
    render,
    shortened,
    single_axes,
)

# Okabe & Ito (2008); from the widest level to the narrowest, what is kept in a neutral tone. Hatches tell
# neighbours apart without colour.
_LIGHT_COLOURS = ("#d55e00", "#e69f00", "#f0e442", "#cc79a7", "#dfe6ea")
_DARK_COLOURS = ("#ff8a4f", "#f0a830", "#e6cf4a", "#e79bc4", "#333d45")
_HATCHES = ("///", "\\\\\\", "...", "xxx", "")
_LEAST_LABELLED = 0.045


def gap_levels_plot(
    counts: pa.Table, fmt: Format = "svg", dark: bool = False, space: str = "corpus"
) -> bytes:
    """One bar per system: the shares of the questions lost first at each level.

    Args:
        counts: table as ``schemas.GAP_COUNTS``; may be empty.
        fmt: svg or png.
        dark: colours for a dark background.
        space: search space.

    Returns:
        The file's bytes; the same table gives the same bytes.

    Raises:
        UsageError: the format is neither svg nor png.
    """
    theme, colours = (DARK, _DARK_COLOURS) if dark else (LIGHT, _LIGHT_COLOURS)
    index = GapIndex(counts, space)
    systems = index.systems()
    if not systems:
        return render(empty_figure(theme), fmt)
    figure, axes = single_axes(theme, (9.0, 1.3 + 0.34 * len(systems)))
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color=theme.grid, linewidth=0.8)
    # Answers stand a little apart from the retrievals.
    heights = [place + 0.5 * (system[1] is not None) for place, system in enumerate(systems)]
    left = [0.0] * len(systems)
    for level, colour, hatch in zip(LEVELS, colours, _HATCHES, strict=True):
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
    legend = figure.legend(loc="outside upper left", ncols=5, frameon=False, fontsize=9, handlelength=1.6)
    for text in legend.get_texts():
        text.set_color(theme.ink)
    return render(figure, fmt)
