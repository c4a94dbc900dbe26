"""A figure that can be drawn: its size, and the function that paints it; as a file, as SVG, or in a notebook."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.drawing.style import figure_of, save, svg
from assay.errors import ConfigError, NotInstalled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Drawing", "can_draw"]


@dataclass(frozen=True)
class Drawing:
    """A figure before it is drawn.

    Attributes:
        width, height: in inches.
        paint: draws on the empty matplotlib figure that it is given.
        empty: why there is nothing to draw; empty where there is something.
        flag: the option of the command that names the file.
        on_page: whether the report shows it.
    """

    width: float
    height: float
    paint: Callable[[Figure], None]
    empty: str = ""
    flag: str = "figure"
    on_page: bool = True

    def to_svg(self) -> str:
        """Return the figure as an SVG element."""
        with figure_of(self.width, self.height) as figure:
            self.paint(figure)
            return svg(figure)

    def write(self, path: Path | str) -> None:
        """Write the figure as SVG, PDF or PNG, by the name of the file."""
        if self.empty:
            raise ConfigError(f"{self.empty}: there is nothing to draw.")
        with figure_of(self.width, self.height) as figure:
            self.paint(figure)
            save(figure, Path(path))

    def show(self) -> Figure:
        """Return the painted matplotlib figure, which a notebook displays."""
        if self.empty:
            raise ConfigError(f"{self.empty}: there is nothing to draw.")
        with figure_of(self.width, self.height) as figure:
            self.paint(figure)
            return figure


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    try:
        with figure_of(1, 1):
            return True
    except NotInstalled:
        return False
