"""What commands print: tables for people, JSON for machines."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from assay.errors import ConfigError
from assay.files import visible, visible_json

if TYPE_CHECKING:
    from rich.console import Console

    from assay.store.store import Store

__all__ = [
    "STORE",
    "check_target",
    "console",
    "number",
    "open_store",
    "outward",
    "print_json",
    "print_table",
    "say",
    "seconds",
    "short",
    "space",
    "visible",
]

STORE = Path("results")
NAME_WIDTH = 30


def say(text: str = "", file: TextIO | None = None, end: str = "\n", flush: bool = False) -> None:
    """Print a line; what a terminal would obey is shown instead: frameworks, tasks and other stores have names too."""
    print(visible(text), file=file or sys.stdout, end=end, flush=flush)


def console() -> Console:
    """Return a console on standard output, wide enough for files and pipes, that shows control characters."""
    from rich.console import Console

    class Visible(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            super().print(*(visible(item) if isinstance(item, str) else item for item in objects), **options)

    width = None if sys.stdout.isatty() else 160
    return Visible(width=width, highlight=False, soft_wrap=False)


def print_json(value: object) -> None:
    """Print JSON that any language can read, and that no terminal obeys."""
    print(visible_json(json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False, default=str)))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table; columns whose name starts with `>` are aligned to the right."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(
        title=escape(visible(title)) or None,
        title_justify="left",
        header_style="bold",
        box=None,
        pad_edge=False,
    )
    longest = max((len(str(row[0])) for row in rows), default=0)
    for position, name in enumerate(columns):
        right = name.startswith(">")
        shown = escape(visible(name.removeprefix(">")))
        whole = position == 0 and longest <= NAME_WIDTH  # a wide table breaks its heads before its names
        table.add_column(shown, justify="right" if right else "left", overflow="fold", no_wrap=whole)
    for row in rows:
        table.add_row(*(escape("–" if cell is None else visible(str(cell))) for cell in row))
    console().print(table)


def number(value: float | None, digits: int = 4) -> str:
    """Return a score as a person wants to read it."""
    return "–" if value is None else f"{value:.{digits}g}"


def outward(value: float, down: bool, digits: int = 4) -> str:
    """Return a bound with few digits that promises no more than it does: rounded down, or up."""
    from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

    # Twelve digits first: 0.8500000000000001 is 0.85.
    rounded = Context(prec=digits, rounding=ROUND_FLOOR if down else ROUND_CEILING).plus(
        Decimal(f"{value:.12g}")
    )
    return number(float(rounded) + 0.0, digits)  # -0.0 is shown as -0


def short(text: str, most: int = 80) -> str:
    """Return the first line of a text, with a sign where something is left out."""
    first, _, rest = text.partition("\n")
    return first if len(first) <= most and not rest else f"{first[: most - 1]}…"


def seconds(value: float | None) -> str:
    """Return a duration with its unit."""
    if value is None or value != value:
        return "–"
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 120:
        return f"{value:.1f} s"
    return f"{value / 60:.1f} min" if value < 7200 else f"{value / 3600:.1f} h"


def space(size: int) -> str:
    """Return an amount of disk space with its unit; units are binary, as everywhere: 1 GB is 1024 MB."""
    for unit, factor in (("TB", 2**40), ("GB", 2**30), ("MB", 2**20)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size / 2**10:.0f} kB"


def check_target(path: Path) -> None:
    """Refuse a file that cannot be written before any work is done for it."""
    path = path.resolve()  # of a link, what it points at
    folder = path.parent
    if os.path.isdir(path):
        where = "it is a folder"
    elif os.path.exists(path) and not os.path.isfile(path):
        where = "it is a device"
    elif not os.path.isdir(folder):
        where = f"there is no folder {path.parent}"
    elif not os.access(path if os.path.exists(path) else folder, os.W_OK) or not _takes_files(folder):
        where = f"{path if os.path.exists(path) else path.parent} does not allow it"
    else:
        return
    raise ConfigError(f"{path} cannot be written: {where}. Name a file in a folder that exists.")


def _takes_files(folder: Path) -> bool:
    """Whether a file can be made there: root may write everywhere, but not in /proc or on a read-only disk."""
    from tempfile import TemporaryFile

    try:
        with TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def open_store(path: Path) -> Store:
    """Open a store that must exist."""
    from assay.store.store import Store

    return Store(path, create=False)
