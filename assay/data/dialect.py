"""How a delimited file is laid out, found from its first lines: delimiter, space after it, header."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

from assay.data.csv_options import DELIMITERS, CsvOptions, csv_argument
from assay.data.dates import is_date_like
from assay.data.numbers import is_number_like
from assay.data.parse import parse_plain
from assay.data.style import MISSING, MISSING_IN_NUMBERS
from assay.errors import DataError

__all__ = ["Dialect", "find_dialect", "has_header"]

_NAMES = {character: name for name, character in DELIMITERS.items()}
_SAID_BY_SPREADSHEET = re.compile(r"sep=(.)\s*\Z", re.IGNORECASE)
_WHOLE = re.compile(r"[0-9]+\Z")
_YEAR = re.compile(r"(?:19[0-9]{2}|20[0-9]{2}|2100)\Z")


@dataclass(frozen=True)
class Dialect:
    """How the lines of a file are cut into fields; `n_skipped` lines come before the first row."""

    delimiter: str
    skips_space: bool = False
    n_skipped: int = 0

    @property
    def delimiter_name(self) -> str:
        """Return the delimiter in a word."""
        return _NAMES.get(self.delimiter, repr(self.delimiter))


def find_dialect(lines: Sequence[str], delimiter: str, is_whole: bool) -> Dialect:
    """Return the dialect of a file by its first lines; `is_whole` says that these are all there are.

    The delimiter is the one that cuts all rows into the same number of fields, two or more. Where several do, it is
    the one that leaves the most numbers; where none does, the one that stands most often in the first line.
    """
    n_skipped = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    first = lines[n_skipped] if n_skipped < len(lines) else ""
    named = _SAID_BY_SPREADSHEET.match(first)
    if named and n_skipped + 1 < len(lines):
        delimiter, n_skipped = delimiter or named[1], n_skipped + 1
        first = lines[n_skipped]
    rows = list(lines[n_skipped:])
    delimiter = delimiter or _find_delimiter(first, rows, is_whole)
    return Dialect(delimiter, _skips_space(_cut(rows, delimiter, is_whole)), n_skipped)


def _find_delimiter(first: str, lines: list[str], is_whole: bool) -> str:
    tables = {character: _cut(lines, character, is_whole) for character in DELIMITERS.values()}
    even = [
        character
        for character, rows in tables.items()
        if rows and len(rows[0]) > 1 and len({len(row) for row in rows}) == 1
    ]
    if len(even) == 1:
        return even[0]
    if even:
        # The first wins a draw: a comma.
        return max(even, key=lambda character: _share_of_numbers(tables[character]))
    outside = "".join(part for number, part in enumerate(first.split('"')) if number % 2 == 0)
    return max(DELIMITERS.values(), key=outside.count)


def _cut(lines: list[str], delimiter: str, is_whole: bool) -> list[list[str]]:
    """Return the rows of the first lines that are not empty; no rows if quotes are broken."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    try:
        rows.extend(row for row in reader if row)
    except csv.Error:
        if is_whole or reader.line_num < len(lines):
            return []
        # Only the last row, which the sample cuts in two, is open.
    return rows


def _share_of_numbers(rows: list[list[str]]) -> float:
    cells = [cell for row in rows[1:] or rows for cell in row]
    return sum(is_number_like(cell) or cell.strip() in MISSING for cell in cells) / len(cells)


def _skips_space(rows: list[list[str]]) -> bool:
    """Return whether a space follows every delimiter, so that it is not part of the values."""
    cells = [cell for row in rows[1:] for cell in row[1:]]
    return bool(cells) and all(cell.startswith(" ") for cell in cells)


def has_header(rows: Sequence[Sequence[str]], source: str, options: CsvOptions) -> bool:
    """Return whether the first row names the columns, by comparing it with the rows below it.

    A column of numbers (or dates) whose first cell is not one has a name there. A column of numbers whose first cell
    is one too, or a column of repeated labels whose first cell is one of them, speaks against it.

    Raises:
        DataError: if the first row can be read either way, such as a row of years above numbers.
    """
    if options.header is not None:
        return options.header
    first, below = rows[0], rows[1:]
    if not below:
        return True
    votes = [_vote(cell, [row[place] for row in below]) for place, cell in enumerate(first)]
    if "name" in votes or "value" not in votes:
        return True
    cells = [cell.strip() for cell in first]
    if _is_count(cells):  # what pandas writes for columns that have no names
        return True
    if not any(map(is_number_like, cells)):
        n_values, n_new = votes.count("value"), votes.count("new label")
        if n_values != n_new:  # a name may well be one of the labels below another name
            return n_new > n_values
    elif len(set(cells)) < len(cells) or any(
        is_number_like(cell) and not _WHOLE.match(cell) for cell in cells
    ):
        return False  # names are neither equal nor fractions
    elif "new label" not in votes and not all(_YEAR.match(cell) for cell in cells if _WHOLE.match(cell)):
        return False
    shown = ", ".join(cells[:5])
    raise DataError(
        f"{source}: the first row ({shown}{', …' if len(cells) > 5 else ''}) may hold the names of the columns, or "
        f"values. Say which: {csv_argument('header', 'yes')} or {csv_argument('header', 'no')} (in a suite file "
        "`csv: {header: true}`).",
        ["csv"],
    )


def _vote(cell: str, below: Sequence[str]) -> str:
    """Return what a cell of the first row is by the values below it: "name", "value", "new label" or nothing."""
    cell, values = cell.strip(), [value.strip() for value in below]
    values = [value for value in values if value not in MISSING and value not in MISSING_IN_NUMBERS]
    if not values or cell in MISSING:
        return ""
    if parse_plain(values) is not None or all(map(is_number_like, values)):
        return "value" if is_number_like(cell) else "name"
    if all(map(is_date_like, values)):
        return "value" if is_date_like(cell) else "name"
    if len(set(values)) > len(values) / 2:
        return ""
    return "value" if cell in values else "new label"


def _is_count(cells: Sequence[str]) -> bool:
    numbers = [cell for cell in cells if cell]
    return len(numbers) > 1 and any(numbers == [str(n) for n in range(s, s + len(numbers))] for s in (0, 1))
