"""Plots are valid, say something, and depend on nothing but their table."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest

from finrag_pipeline.errors import UsageError
from finrag_pipeline.evaluation.simulations import (
    sensitivity_to_agreement,
)
from finrag_pipeline.reporting.plots import (
    DARK,
    LIGHT,
    alpha_plot,
    gap_plot,
    in_dark,
    recall_curve,
    sensitivity_plot,
    training_plot,
)
from finrag_pipeline.schemas import SYSTEM_METRICS
from finrag_pipeline_tests.reporting.builders import HOSTILE, metric_row, metrics_table, random_metrics

PLOTS = (gap_plot, recall_curve)
Plot = Callable[..., bytes]


def groups(svg: bytes, prefix: str) -> list[str]:
    """Identifiers of groups of an SVG that matplotlib names after what they hold."""
    root = ElementTree.fromstring(svg)
    names = [element.get("id", "") for element in root.iter()]
    return [name for name in names if re.fullmatch(rf"{prefix}_\d+", name)]


@pytest.fixture(scope="module")
def metrics() -> pa.Table:
    return random_metrics(companies=0)


@pytest.mark.parametrize("plot", PLOTS)
def test_svg_is_well_formed_themed_and_reproducible(plot: Plot, metrics: pa.Table) -> None:
    light = plot(metrics)
    dark = in_dark(light)
    assert ElementTree.fromstring(light).tag.endswith("svg")
    assert LIGHT.surface.encode() in light and DARK.surface.encode() in dark
    assert DARK.surface.encode() not in light
    assert plot(metrics) == light


def test_every_colour_has_one_for_dark_backgrounds(metrics: pa.Table) -> None:
    pairs = set(zip(*(re.findall("#[0-9a-f]{6}", repr(theme)) for theme in (LIGHT, DARK)), strict=True))
    assert len(pairs) == len(dict(pairs)), "no colour stands for two"
    for svg in (
        gap_plot(metrics),
        recall_curve(metrics),
        alpha_plot(MEANS, CHOSEN),
        sensitivity_plot(SENSITIVITY),
    ):
        drawn = set(re.findall(r"#[0-9a-f]{6}\b", in_dark(svg).decode()))
        assert DARK.surface in drawn
        assert drawn <= {dark for _, dark in pairs}


@pytest.mark.parametrize("plot", PLOTS)
def test_png_shows_every_colour_of_its_curves(plot: Plot, metrics: pa.Table) -> None:
    from PIL import Image

    image = np.asarray(Image.open(io.BytesIO(plot(metrics, fmt="png"))).convert("RGB"))
    assert min(image.shape[:2]) > 300
    colours = LIGHT.spaces if plot is gap_plot else LIGHT.systems[:3]
    for colour in colours:
        rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
        assert (np.abs(image.astype(int) - rgb).sum(axis=2) < 12).sum() > 100, colour


def test_the_gap_plot_has_a_panel_per_system(metrics: pa.Table) -> None:
    assert len(groups(gap_plot(metrics), "axes")) == 3
    assert len(groups(gap_plot(random_metrics(("dense",), companies=0)), "axes")) == 1
    seven = random_metrics(tuple(f"system {i}" for i in range(7)), companies=0)
    assert len(groups(gap_plot(seven), "axes")) == 7


def test_bands_are_drawn_only_where_intervals_are_known(metrics: pa.Table) -> None:
    assert len(groups(recall_curve(metrics), "FillBetweenPolyCollection")) == 3
    rows = [metric_row("dense", "corpus", "page_rec", k, 0.1 * k, low=None, high=None) for k in (1, 3, 5)]
    bare = recall_curve(metrics_table(rows))
    assert not groups(bare, "FillBetweenPolyCollection")
    assert groups(bare, "line2d")


@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.parametrize("fmt", ["svg", "png"])
def test_an_empty_table_makes_a_plot_that_says_so(plot: Plot, fmt: str) -> None:
    empty = plot(SYSTEM_METRICS.empty_table(), fmt=fmt)
    assert empty.startswith(b"\x89PNG" if fmt == "png" else b"<?xml")
    assert len(empty) > 1000


@pytest.mark.parametrize("plot", PLOTS)
def test_a_single_figure_is_enough(plot: Plot) -> None:
    table = metrics_table([metric_row("dense", "corpus", "page_rec", 5, 0.0, low=None, high=None, n=1)])
    assert len(groups(plot(table), "axes")) == 1


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("plot", PLOTS)
def test_hostile_and_long_names_are_drawn_not_interpreted(plot: Plot) -> None:
    names = (HOSTILE, "$\\frac{", "名前 " * 60, "\x00\x07 control -- --> ")
    rows = [
        metric_row(name, "corpus", metric, 5, 0.5) for name in names for metric in ("doc_rec", "page_rec")
    ]
    svg = plot(metrics_table(rows))
    assert b"<script" not in svg
    assert ElementTree.fromstring(svg) is not None


def test_names_of_equal_curves_do_not_overlap() -> None:
    rows = [metric_row(f"system {i}", "corpus", "page_rec", k, 1.0) for i in range(12) for k in (1, 5)]
    svg = recall_curve(metrics_table(rows))
    root = ElementTree.fromstring(svg)
    width = float(root.get("viewBox", "").split()[2])
    heights = []
    for group in root.iter():
        if re.fullmatch(r"text_\d+", group.get("id", "")):
            moved = re.search(r"translate\(([\d.]+) ([\d.]+)\)", ElementTree.tostring(group).decode())
            if moved and float(moved[1]) > width * 0.7:
                heights.append(float(moved[2]))
    assert len(heights) == 12 + 1, "twelve names and the last tick of the axis"
    assert np.diff(sorted(heights)).min() > 9
    assert min(heights) > 0


def test_unknown_formats_are_refused(metrics: pa.Table) -> None:
    with pytest.raises(UsageError, match="Choose svg or png"):
        gap_plot(metrics, fmt="gif")


def test_pyplot_stays_out_and_import_is_light() -> None:
    code = (
        "import sys; from finrag_pipeline.reporting import plots, report\n"
        "assert 'matplotlib' not in sys.modules\n"
        "from finrag_pipeline.schemas import SYSTEM_METRICS\n"
        "plots.gap_plot(SYSTEM_METRICS.empty_table())\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


MEANS = {
    "corpus": {0.0: 0.1, 0.5: 0.13, 0.8: 0.23, 1.0: 0.21},
    "filing": {0.0: 0.2, 0.5: 0.3, 0.8: 0.44, 1.0: 0.52},
    "pages": {0.0: 1.0, 0.5: 1.0, 0.8: 1.0, 1.0: 1.0},
}
CHOSEN = {"corpus": [0.8, 0.8, 0.5], "filing": [1.0], "pages": [0.5]}


def test_every_space_has_its_curve() -> None:
    plot = alpha_plot(MEANS, CHOSEN, fmt="svg")
    assert plot.startswith(b"<?xml") and plot == alpha_plot(MEANS, CHOSEN, fmt="svg"), (
        "the same bytes every time"
    )
    assert plot != alpha_plot(MEANS, {}, fmt="svg"), "chosen weights are marked"
    assert plot != alpha_plot({**MEANS, "filing": {0.0: 0.0, 1.0: 0.0}}, CHOSEN, fmt="svg")
    assert alpha_plot(MEANS, CHOSEN, fmt="png").startswith(b"\x89PNG")


def test_nothing_was_measured() -> None:
    assert alpha_plot({}, {}, fmt="png") and alpha_plot({"corpus": {}}, {}, fmt="png")


def test_another_format_is_refused() -> None:
    with pytest.raises(UsageError, match="gif"):
        alpha_plot(MEANS, CHOSEN, fmt="gif")


def epochs(*recalls: float | None, best: int = 1) -> list[dict[str, Any]]:
    return [
        {"epoch": n, "loss": 2.0 / n if n else None, "page_rec": recall, "chosen": n == best}
        for n, recall in enumerate(recalls)
    ]


def test_every_training_has_its_curves() -> None:
    curves = {"fold_0": epochs(0.1, 0.3, 0.2), "fold_1": epochs(0.2, 0.2, best=0)}
    plot = training_plot(curves)
    assert plot.startswith(b"<?xml") and plot == training_plot(curves), "the same bytes every time"
    assert plot != training_plot({**curves, "fold_0": epochs(0.1, 0.3, 0.2, best=2)}), (
        "the kept one is ringed"
    )
    assert training_plot(curves, fmt="png").startswith(b"\x89PNG")


def test_trainings_without_validation_show_their_loss() -> None:
    without = training_plot({"pre-training": epochs(None, None)})
    assert without.startswith(b"<?xml") and without != training_plot({})


def test_another_format_of_trainings_is_refused() -> None:
    with pytest.raises(UsageError, match="gif"):
        training_plot({"fold_0": epochs(0.1)}, fmt="gif")


SENSITIVITY = sensitivity_to_agreement([0.8, 0.94], draws=50).to_pylist()


def test_the_same_figures_give_the_same_bytes_and_others_do_not() -> None:
    first, *others = SENSITIVITY
    drawn = sensitivity_plot(SENSITIVITY)
    assert drawn.startswith(b"<?xml") and drawn == sensitivity_plot(SENSITIVITY)
    assert drawn != sensitivity_plot([{**first, "half_width": first["half_width"] / 2}, *others])
    assert sensitivity_plot(SENSITIVITY, fmt="png").startswith(b"\x89PNG")
    assert sensitivity_plot([], fmt="png").startswith(b"\x89PNG")
    with pytest.raises(UsageError, match="gif"):
        sensitivity_plot(SENSITIVITY, fmt="gif")
