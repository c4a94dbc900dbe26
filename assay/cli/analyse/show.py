"""How a record is printed: tables, remarks and notes for people, JSON, CSV or LaTeX for others; and its figures."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.output import check_target, print_json, print_table, say
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.analysis.record import AnalysisRecord
    from assay.drawing import Drawing

__all__ = ["FORMATS", "draw_record", "print_record", "print_tables", "say_notes", "write_drawing"]

FORMATS = ("table", "csv", "latex")


def print_record(record: AnalysisRecord, as_json: bool, form: str = "table") -> None:
    """Print a record as JSON, or in one of the formats."""
    if form not in FORMATS:
        raise ConfigError(f"--format {form}: choose table, csv or latex.")
    if as_json:
        values = record.to_json()
        if isinstance(values, list):  # a list has no place for notes
            say_notes(record.notes, record.NOTE_WORD, aside=True)
        print_json(values)
    elif form == "table":
        print_tables(record)
        for line in record.remarks():
            say(line)
        say_notes(record.notes, record.NOTE_WORD)
    else:
        say_notes(record.notes, record.NOTE_WORD, aside=True)
        say(record.to_frame().to_csv(index=False) if form == "csv" else record.to_latex(), end="")


def print_tables(record: AnalysisRecord) -> None:
    """Print the tables of a record."""
    from assay.analysis.record import TERMINAL

    for table in record.tables(TERMINAL):
        print_table(table.title, table.heads, table.lines)


def say_notes(notes: Sequence[str], word: str = "note", aside: bool = False) -> None:
    """Print notes; `aside`: on standard error, where the output has no place for them."""
    for note in notes:
        say(f"{word}: {note}", file=sys.stderr if aside else sys.stdout)


def draw_record(record: AnalysisRecord, paths: Mapping[str, Path | None]) -> None:
    """Write the figures of a record, each to the file that its flag names, if it was given."""
    chosen = {flag: path for flag, path in paths.items() if path is not None}
    drawings = {drawing.flag: drawing for drawing in record.drawings()} if chosen else {}
    for flag, path in chosen.items():
        if flag not in drawings:
            raise ConfigError(f"--{flag}: there is no such figure with these options. Leave it out.")
        write_drawing(drawings[flag], path)


def write_drawing(drawing: Drawing, path: Path | None) -> None:
    """Write a figure to a file, if one was named."""
    if path is not None:
        check_target(path)
        drawing.write(path)
