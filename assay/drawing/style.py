"""One look for all figures: fonts, colours that colour-blind people can tell apart, and how a figure is written."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import ConfigError, NotInstalled

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.typing import RcKeyType

__all__ = ["COLOURS", "GREY", "HIGHLIGHT", "figure_of", "plain_ticks", "save", "svg"]

# Okabe and Ito's palette, black left for text, grey for the yellow that white swallows.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#5B5B5B")
HIGHLIGHT = COLOURS[5]  # what a figure wants the reader to see first
GREY = "#8a8a8a"
FORMATS = (".svg", ".pdf", ".png")
STYLE: dict[RcKeyType, str | float] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "svg.fonttype": "none",  # text stays text: it can be searched, and takes the reader's font
    "svg.hashsalt": "assay",  # the same figure, the same file
    "figure.dpi": 100,
    "savefig.dpi": 200,
}


@contextmanager
def figure_of(width: float, height: float) -> Iterator[Figure]:
    """Give a figure of so many inches in our style; it is closed afterwards."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise NotInstalled(
            "Figures are drawn with matplotlib. Run `pip install 'assay-bench[figures]'`."
        ) from None
    with matplotlib.rc_context(STYLE):
        yield Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: Path) -> None:
    """Write a figure as SVG, PDF or PNG, by the name of the file."""
    if path.suffix.lower() not in FORMATS:
        raise ConfigError(
            f"{path}: a figure is written as {', '.join(FORMATS)}. Choose one of these endings."
        )
    _lay_out(figure)
    no_date = {"Date": None} if path.suffix.lower() == ".svg" else {}
    figure.savefig(path, metadata=no_date or None)


def svg(figure: Figure) -> str:
    """Return a figure as an SVG element for a page."""
    _lay_out(figure)
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _lay_out(figure: Figure) -> None:
    """Give everything its place now: while a layout is pending, matplotlib draws a figure twice to save it."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)


def plain_ticks(axis: Axis) -> None:
    """Write plain numbers on a logarithmic axis, between powers of ten too where it spans few of them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
