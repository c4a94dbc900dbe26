"""What several figures share: sizes by the number of lines, square matrices, stacked bars, labels that keep apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from assay.drawing.style import COLOURS, HIGHLIGHT
from assay.typing import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "LINE_IN",
    "label_rows",
    "legend_beside",
    "line_style",
    "note_beside",
    "paint_square",
    "rows_size",
    "spread_labels",
    "square_size",
    "stacked_bars",
]

LINE_IN = 0.22  # height of a line of text in inches, at the style's font size
LABEL_GAP = 0.055  # of the axis: the height of a label's line in a figure of 4.2 inches


class LineStyle(TypedDict):
    """What `plot` is to be told of a line."""

    color: str
    linestyle: str


def rows_size(count: int) -> tuple[float, float]:
    """Return width and height of a figure with one line per item."""
    return 7.0, 1.0 + 1.4 * LINE_IN * max(count, 2)


def square_size(count: int) -> tuple[float, float]:
    """Return width and height of a square matrix of so many items, with their names beside and above."""
    return 3.0 + 0.36 * count, 1.8 + 0.26 * count


def label_rows(axes: Axes, labels: Sequence[str]) -> None:
    """Name the lines of a figure, the first on top."""
    axes.set(yticks=range(len(labels)), yticklabels=labels)
    axes.invert_yaxis()


def legend_beside(axes: Axes) -> None:
    """Put the legend to the right of the axes, where it hides nothing."""
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=8)


def line_style(position: int) -> LineStyle:
    """Return colour and dashes of the n-th line: a second round of colours is dashed, a third dotted."""
    style = ("-", "--", ":")[position // len(COLOURS) % 3]
    return {"color": COLOURS[position % len(COLOURS)], "linestyle": style}


def note_beside(axes: Axes, text: str, at: tuple[float, float], shift: float = 4.0) -> None:
    """Write a remark a few points to the right of a place."""
    axes.annotate(
        text, at, xytext=(shift, 0), textcoords="offset points", ha="left", va="center", fontsize=8,
        color=HIGHLIGHT,
    )  # fmt: skip


def stacked_bars(axes: Axes, parts: Sequence[tuple[str, str, Sequence[float]]]) -> None:
    """Draw one bar per line, made of (label, colour, widths) parts; parts that are empty everywhere are left out."""
    import numpy as np

    start = np.zeros(len(parts[0][2]) if parts else 0)
    for label, colour, widths in parts:
        width = np.asarray(widths, dtype=float)
        if width.any():
            axes.barh(range(len(width)), width, left=start, color=colour, label=label, height=0.7)
        start += width


def paint_square(figure: Figure, names: Sequence[str], shares: Floats, title: str) -> None:
    """Draw a matrix of shares from 0 to 1 as coloured cells with per cents in them; the diagonal stays empty."""
    import numpy as np

    axes = figure.add_subplot()
    shown = np.where(np.eye(len(names), dtype=bool), np.nan, shares)
    axes.imshow(shown, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for i, row in enumerate(shown):
        for j, value in enumerate(row):
            if np.isfinite(value):
                colour = "white" if value < 0.5 else "black"
                cell = axes.text(
                    j, i, f"{100 * value:.0f}", ha="center", va="center", color=colour, fontsize=7
                )
                cell.set_in_layout(False)  # it lies inside the axes: to measure hundreds of them takes long
    axes.set(xticks=range(len(names)), yticks=range(len(names)), yticklabels=names)
    axes.set_xticklabels(names, rotation=45, ha="left", rotation_mode="anchor")
    axes.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(f"{title}, in per cent")


def spread_labels(values: Sequence[float], low: float, high: float) -> list[float]:
    """Return places for labels of descending values, none closer than a line of text, within the axis."""
    step = min(LABEL_GAP * (high - low), (high - low) / max(len(values), 1))
    places: list[float] = []
    for value in values:
        places.append(value if not places else min(value, places[-1] - step))
    if not places or places[-1] >= low:
        return places
    for at in range(len(places) - 1, -1, -1):  # those that were pushed out below push the others up
        floor = low if at == len(places) - 1 else places[at + 1] + step
        places[at] = max(places[at], floor)
    return places
