"""Read CSV and TSV files into columns of strings; every row must have as many fields as the header."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from assay.data.csv_options import CsvOptions, csv_argument
from assay.data.dialect import Dialect, find_dialect, has_header
from assay.data.raw import RawTable, StringColumn
from assay.data.read_text import find_encoding, read_lines
from assay.errors import DataError

__all__ = ["read_delimited"]

_ROWS_PER_CHUNK = 50_000
_SAMPLE_LINES = 1000  # from which delimiter and header are found
_LONGEST_FIELD = 2**31 - 1
_SAVED_TWICE = re.compile(r"Unnamed: [0-9]+\Z")  # what pandas calls the index when it reads its own file


def read_delimited(
    path: Path, source: str, delimiter: str = "", options: CsvOptions | None = None
) -> RawTable:
    """Read a file; what `options` leave open is found from its first thousand lines.

    Fields are quoted with `"`, which is doubled inside. `delimiter` is the usual one of the format, if there is one.
    Empty lines are skipped, except in a table of one column, where they are missing values. A first column without a
    name that tells rows apart is an index, and is left out, as are columns without names and values, and rows without
    values. Without a header, columns are called c1, c2, …
    """
    csv.field_size_limit(_LONGEST_FIELD)
    options = options or CsvOptions()
    encoding, notes = find_encoding(path, source, options.encoding)
    with closing(read_lines(path, source, encoding)) as lines:
        return _read(lines, source, delimiter, options, notes)


def _read(
    lines: Iterator[str], source: str, delimiter: str, options: CsvOptions, notes: list[str]
) -> RawTable:
    sample = list(itertools.islice(lines, _SAMPLE_LINES))
    if not any(line.strip() for line in sample):
        raise DataError(f"{source} is empty. Give a table with a header and rows.")
    dialect = find_dialect(sample, options.delimiter or delimiter, len(sample) < _SAMPLE_LINES)
    if dialect.delimiter != (delimiter or ","):
        notes.append(f"{dialect.delimiter_name}s between values")
    rows = _rows(itertools.chain(sample[dialect.n_skipped :], lines), dialect, source)
    has_row_names = _begins_quoted(sample[dialect.n_skipped :])
    names, rows, is_named = _find_names(rows, has_row_names, source, options)
    if not is_named:
        notes.append(f"no header, so the columns are called c1 to c{len(names)}")
    chunks, n_rows, n_empty = _chunks(_checked(rows, names, is_named, source), len(names))
    if n_empty:
        notes.append(f"{n_empty} empty row{'s' * (n_empty > 1)} left out")
    kept = _without_index(list(zip(names, chunks, strict=True)), n_rows, source, options, notes)
    columns = tuple(StringColumn(name, tuple(parts), True) for name, parts in kept)
    return RawTable(source, columns, n_rows, options, tuple(notes), delimiter=dialect.delimiter)


def _begins_quoted(lines: list[str]) -> bool:
    """Return whether the first row below the header begins with a quote, as those with R's row names do."""
    rows = [line for line in lines if line.strip()]
    return len(rows) > 1 and rows[1].startswith('"')


def _rows(lines: Iterator[str], dialect: Dialect, source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield rows with the line on which they begin; an empty line is a row without fields."""
    reader = csv.reader(lines, delimiter=dialect.delimiter, strict=True, skipinitialspace=dialect.skips_space)
    begins = 1 + dialect.n_skipped
    try:
        for row in reader:
            yield begins, row
            begins = reader.line_num + 1 + dialect.n_skipped
    except csv.Error as error:
        raise DataError(
            f"{source}, line {begins}: broken quotes ({error}). Close every quoted field, and double "
            "the quotes inside it."
        ) from error


def _find_names(
    rows: Iterator[tuple[int, list[str]]], has_row_names: bool, source: str, options: CsvOptions
) -> tuple[list[str], Iterator[tuple[int, list[str]]], bool]:
    """Return the columns' names, the rows below the header (all rows if there is none), and whether there is one."""
    head = list(itertools.islice(rows, _SAMPLE_LINES))
    filled = [row for _, row in head if row]
    first, widths = filled[0], {len(row) for row in filled[1:]}
    at_the_end = all(not row[-1] for row in filled[1:])
    if widths == {len(first) + 1} and (at_the_end or has_row_names):
        # Some programs end their rows, but not the header, with a delimiter; R writes quoted row names without a name
        # for their column. Anything else may be an unquoted decimal comma.
        first = [*first, ""] if at_the_end else ["", *first]
        start = next(number for number, (_, row) in enumerate(head) if row)
        head[start] = (head[start][0], first)
        filled[0] = first
    even = [row for row in filled if len(row) == len(first)]
    is_named = has_header(even, source, options)
    names = list(first) if is_named else [f"c{number}" for number in range(1, len(first) + 1)]
    if is_named:
        head = list(itertools.dropwhile(lambda item: not item[1], head))[1:]
    return names, itertools.chain(head, rows), is_named


def _checked(
    rows: Iterator[tuple[int, list[str]]], names: list[str], is_named: bool, source: str
) -> Iterator[list[str]]:
    width = len(names)
    where = "the header" if is_named else "the first row"
    for line, row in rows:
        if not row:
            if width != 1:
                continue
            row = [""]
        if len(row) != width:
            raise DataError(
                f"{source}, line {line}: {len(row)} fields where {where} has {width}. "
                "Quote fields that hold the delimiter, or fix the row."
            )
        yield row


def _chunks(rows: Iterator[list[str]], width: int) -> tuple[list[list[Any]], int, int]:
    """Return the columns in chunks, the number of rows, and how many rows without any value were left out."""
    import pyarrow as pa

    chunks: list[list[Any]] = [[] for _ in range(width)]
    n_rows = n_empty = 0
    while batch := list(itertools.islice(rows, _ROWS_PER_CHUNK)):
        kept = [row for row in batch if width == 1 or any(row)]
        n_empty += len(batch) - len(kept)
        n_rows += len(kept)
        for parts, values in zip(chunks, zip(*kept, strict=True), strict=False):
            parts.append(pa.array(values, type=pa.large_string()))
    return chunks, n_rows, n_empty


def _without_index(
    columns: list[tuple[str, list[Any]]], n_rows: int, source: str, options: CsvOptions, notes: list[str]
) -> list[tuple[str, list[Any]]]:
    """Leave out the index, and columns with neither name nor values; other columns without a name are an error."""
    kept, n_empty = [], 0
    for number, (name, chunks) in enumerate(columns, start=1):
        is_nameless = not name.strip()
        if is_nameless and not _has_values(chunks):
            n_empty += 1
        elif _is_index(name, number, chunks, n_rows, options):
            notes.append(f"the index column left out ({repr(name) if name.strip() else 'it has no name'})")
        elif is_nameless and not (number == 1 and options.index == "keep"):
            raise DataError(
                f"{source}, line 1: column {number} has no name. Give every column a name; for an index of rows, "
                f"use {csv_argument('index', 'drop')} or {csv_argument('index', 'keep')} (in a suite file "
                "`csv: {index: drop}`).",
                ["csv"],
            )
        else:
            kept.append(("index" if is_nameless else name, chunks))
    if n_empty:
        notes.append(f"{n_empty} empty column{'s' * (n_empty > 1)} left out")
    return kept


def _is_index(name: str, number: int, chunks: list[Any], n_rows: int, options: CsvOptions) -> bool:
    """Return whether a column numbers the rows: a first one without a name, or one that pandas once named."""
    may_be = (not name.strip() and number == 1) or _SAVED_TWICE.match(name)
    if not may_be or options.index is not None:
        return bool(may_be) and options.index == "drop"
    return n_rows > 1 and _count_distinct(chunks) == n_rows


def _count_distinct(chunks: list[Any]) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc

    return int(pc.count_distinct(pa.chunked_array(chunks, type=pa.large_string())).as_py())


def _has_values(chunks: list[Any]) -> bool:
    import pyarrow.compute as pc

    return any(pc.any(pc.not_equal(chunk, "")).as_py() for chunk in chunks)
