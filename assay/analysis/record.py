"""What every analysis returns: a frozen record that can be shown as JSON, a frame, tables, sentences and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from math import isfinite
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast, overload

from assay.analysis.wording import duration, plain_seconds
from assay.errors import ConfigError
from assay.typing import Floats, Ints, Json, JsonObject

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from _typeshed import DataclassInstance
    from matplotlib.figure import Figure

    from assay.drawing import Drawing

__all__ = [
    "LATEX", "PAGE", "TERMINAL", "AnalysisRecord", "Medium", "Raw", "TextTable", "as_json", "latex_text", "square_json",
]  # fmt: skip

Item = TypeVar("Item")


@dataclass(frozen=True)
class Medium:
    """Where a table is shown, and how durations are written there."""

    name: str
    seconds: Callable[[float | None], str]


TERMINAL = Medium("terminal", duration)
PAGE = Medium("page", plain_seconds)  # a column sorts by its text, so all durations have one unit
LATEX = Medium("latex", plain_seconds)


@dataclass(frozen=True)
class TextTable:
    """Heads and lines of text; heads that begin with `>` are of numbers, which are aligned to the right."""

    heads: Sequence[str]
    lines: Sequence[Sequence[object]]
    title: str = ""


class AnalysisRecord:
    """The base of every record that an analysis returns: a frozen dataclass with a field `notes`.

    A subclass says what it holds with `rows` and `summary`; it overrides what should look different.
    """

    NOTE_WORD: ClassVar[str] = "note"  # what a note begins with in a terminal
    notes: tuple[str, ...]

    def rows(self) -> list[JsonObject]:
        """Return the main result as one mapping per line of a table, with raw values."""
        return []

    def summary(self) -> str:
        """Return what was found, in one or two sentences."""
        return ""

    def caveat(self) -> str:
        """Return how far the result can be trusted, and how to read it."""
        return ""

    def remarks(self) -> tuple[str, ...]:
        """Return the lines below the tables in a terminal."""
        return tuple(text for text in (self.summary(), self.caveat()) if text)

    def tables(self, medium: Medium) -> tuple[TextTable, ...]:
        """Return the tables to show; by default one of all rows."""
        rows = self.rows()
        if not rows:
            return ()
        numeric = {name for name in rows[0] if all(_is_number(row[name]) for row in rows)}
        heads = [f">{name}" if name in numeric else name for name in rows[0]]
        return (TextTable(heads, [[_cell(value) for value in row.values()] for row in rows]),)

    def drawings(self) -> tuple[Drawing, ...]:
        """Return the figures that can be drawn."""
        return ()

    def methods(self) -> tuple[tuple[str, str], ...]:
        """Return (what, how) lines for the methods appendix, from the parameters that were used."""
        return ()

    def page_notes(self) -> tuple[str, ...]:
        """Return the notes below the section of a report."""
        return self.notes

    def nothing_to_show(self) -> str:
        """Return why a report has nothing to show here, or an empty text."""
        return ""

    def to_json(self) -> Json:
        """Return plain JSON values: by default all fields; what is not a finite number is null."""
        return as_json(self)

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a table of pandas."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def to_latex(self) -> str:
        """Return the first table as a tabular for LaTeX with booktabs."""
        table = next(iter(self.tables(LATEX)), TextTable((), ()))
        lines = [r"\begin{tabular}{" + "".join("r" if _is_right(head) else "l" for head in table.heads) + "}"]
        lines += [
            r"\toprule",
            _latex_line([latex_text(head.removeprefix(">")) for head in table.heads]),
            r"\midrule",
        ]
        lines += [_latex_line([_latex_cell(cell) for cell in line]) for line in table.lines]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"

    def plot(self, path: Path | str | None = None) -> Figure | None:
        """Draw the first figure: return it for a notebook, or write it to `path` (SVG, PDF or PNG)."""
        drawing = next(iter(self.drawings()), None)
        if drawing is None:
            raise ConfigError(
                f"There is no figure of {type(self).__name__}. Use to_frame() to draw your own."
            )
        if path is None:
            return drawing.show()
        drawing.write(path)
        return None


class Raw(str):
    """A cell that is LaTeX already."""


@overload
def as_json(value: DataclassInstance | Mapping[str, object]) -> JsonObject: ...
@overload
def as_json(value: list[Item] | tuple[Item, ...]) -> list[Json]: ...
@overload
def as_json(value: object) -> Json: ...
def as_json(value: object) -> Json:
    """Return plain JSON values; what is not a finite number is null."""
    import numpy as np

    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        plain: object = value.tolist()
        return as_json(plain)
    if isinstance(value, float):
        return value if isfinite(value) else None
    return cast("Json", value)  # a text, a whole number, a truth value or None: records hold nothing else


def square_json(names: Sequence[str], values: Floats | Ints) -> dict[str, dict[str, object]]:
    """Return a square matrix by names, without its diagonal."""
    return {a: {b: values[i][j] for j, b in enumerate(names) if j != i} for i, a in enumerate(names)}


def latex_text(text: str) -> str:
    """Return a text with everything escaped that LaTeX would obey."""
    words = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
    return "".join(words.get(sign, f"\\{sign}" if sign in "_&%#${}" else sign) for sign in text)


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_cell(cell: object) -> str:
    if isinstance(cell, Raw):
        return str(cell)
    return "--" if cell is None else latex_text(str(cell))


def _is_right(head: str) -> bool:
    return head.startswith(">")


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _cell(value: object) -> object:
    return f"{value:.4g}" if isinstance(value, float) else value
