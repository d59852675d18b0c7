"""Curves of trainings: loss of each epoch, and page recall on the inner validation questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from finrag_pipeline.reporting.plot_style import (
    DARK,
    LIGHT,
    MARKERS,
    Format,
    empty_figure,
    label_ends,
    new_figure,
    render,
    style_axes,
)


def training_plot(
    curves: Mapping[str, Sequence[Mapping[str, Any]]], fmt: Format = "svg", dark: bool = False
) -> bytes:
    """Loss and validation PageRec@5 over the epochs, one colour per training.

    Args:
        curves: epochs in order, by the name of the training; each has ``epoch``, ``loss`` (None for epoch 0),
            ``page_rec`` (None without validation questions) and ``chosen``, which is ringed.
        fmt: svg or png.
        dark: colours for a dark background.

    Returns:
        The file's bytes; the same figures give the same bytes.

    Raises:
        UsageError: the format is neither svg nor png.
    """
    theme = DARK if dark else LIGHT
    if not any(curves.values()):
        return render(empty_figure(theme), fmt)
    figure = new_figure(theme, (8.0, 6.4))
    losses, recalls = figure.subplots(2, 1, sharex=True)
    ends = []
    for position, (name, epochs) in enumerate(curves.items()):
        colour = theme.systems[position % len(theme.systems)]
        style = {"color": colour, "marker": MARKERS[position % len(MARKERS)], "markersize": 4.5}
        for axes, value in ((losses, "loss"), (recalls, "page_rec")):
            known = [(row["epoch"], row[value]) for row in epochs if row[value] is not None]
            axes.plot([epoch for epoch, _ in known], [y for _, y in known], linewidth=2, **style)
        for row in epochs:
            if row["page_rec"] is not None:
                last = row["page_rec"]
                if row["chosen"]:
                    ring = {"marker": "o", "markersize": 11, "fillstyle": "none", "color": colour}
                    recalls.plot([row["epoch"]], [last], zorder=5, **ring)
        if any(row["page_rec"] is not None for row in epochs):
            ends.append((last, name, colour))
    for axes, label in ((losses, "Loss"), (recalls, "PageRec@5, validation")):
        style_axes(axes, theme)
        axes.set_ylabel(label, color=theme.muted)
    losses.set_ylim(bottom=0)
    recalls.set_ylim(-0.02, 1.04)
    recalls.set_xlabel("Epoch (ringed: kept)", color=theme.muted)
    if ends:
        label_ends(recalls, ends, 1.04)
    return render(figure, fmt)
