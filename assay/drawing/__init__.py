"""Figure style and primitives. matplotlib is imported late, and nothing here computes statistics."""

from assay.drawing.figure import Drawing, can_draw
from assay.drawing.primitives import (
    LINE_IN,
    label_rows,
    legend_beside,
    line_style,
    note_beside,
    paint_square,
    rows_size,
    spread_labels,
    square_size,
    stacked_bars,
)
from assay.drawing.style import COLOURS, GREY, HIGHLIGHT, plain_ticks

__all__ = [
    "COLOURS",
    "GREY",
    "HIGHLIGHT",
    "LINE_IN",
    "Drawing",
    "can_draw",
    "label_rows",
    "legend_beside",
    "line_style",
    "note_beside",
    "paint_square",
    "plain_ticks",
    "rows_size",
    "spread_labels",
    "square_size",
    "stacked_bars",
]
