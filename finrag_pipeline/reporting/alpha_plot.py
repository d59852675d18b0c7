"""The weight of the hybrid against page recall, one curve per search space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from finrag_pipeline.reporting.estimates import metric_label, space_label
from finrag_pipeline.reporting.plot_style import (
    DARK,
    LIGHT,
    MARKERS,
    Format,
    empty_figure,
    label_ends,
    render,
    single_axes,
)

CUTOFF = 5


def alpha_plot(
    means: Mapping[str, Mapping[float, float]],
    chosen: Mapping[str, Sequence[float]],
    fmt: Format = "svg",
    dark: bool = False,
) -> bytes:
    """PageRec@5 over the weight of the dense score, with the weights that the folds chose.

    Args:
        means: mean PageRec@5 by space and weight.
        chosen: weights that were chosen by space, one per fold.
        fmt: svg or png.
        dark: colours for a dark background.

    Returns:
        The file's bytes; the same figures give the same bytes.

    Raises:
        UsageError: the format is neither svg nor png.
    """
    theme = DARK if dark else LIGHT
    if not any(means.values()):
        return render(empty_figure(theme), fmt)
    figure, axes = single_axes(theme, (8.0, 4.4))
    ends = []
    for position, (space, values) in enumerate(means.items()):
        colour = theme.spaces[position % len(theme.spaces)]
        alphas, recalls = list(values), list(values.values())
        marker = MARKERS[position % len(MARKERS)]
        axes.plot(alphas, recalls, color=colour, marker=marker, markersize=4.5, linewidth=2)
        for alpha in sorted(set(chosen.get(space, ()))):
            if alpha in values:
                axes.plot(
                    [alpha],
                    [values[alpha]],
                    marker="o",
                    markersize=11,
                    color=colour,
                    fillstyle="none",
                    zorder=5,
                )
        ends.append((recalls[-1], space_label(space), colour))
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(0, 1.04)
    axes.set_xlabel("α, weight of the dense score (ringed: chosen without a fold)", color=theme.muted)
    axes.set_ylabel(metric_label("page_rec", CUTOFF), color=theme.muted)
    label_ends(axes, ends, 1.04)
    return render(figure, fmt)
