"""What all plots share: colours, figures, axes, names of curves, and rendering as SVG or PNG.

Matplotlib is used through its objects only: no pyplot, no window, no state shared between calls. Colours are
those of Okabe & Ito (2008), which readers with colour-vision deficiencies tell apart, lightened for dark
backgrounds; markers and dashes differ as well.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal

from finrag_pipeline.errors import UsageError

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
