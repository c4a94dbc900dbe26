"""Read CSV and TSV files into columns of strings; every row must have as many fields as the header."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.data.raw import RawTable, StringColumn
from assay.data.read_text import read_lines
from assay.errors import DataError

__all__ = ["DELIMITERS", "read_delimited"]

DELIMITERS = (",", ";", "\t")
_ROWS_PER_CHUNK = 50_000
_LONGEST_FIELD = 2**31 - 1


def read_delimited(path: Path, source: str, delimiter: str = "") -> RawTable:
    """Read a file whose first line is the header.

    Fields are quoted with `"`, which is doubled inside. Without a delimiter the header decides among
    comma, semicolon and tab: the one that stands in it most often outside quotes; a comma if none does.
    Empty lines are skipped, except in a table of one column, where they are missing values.
    """
    csv.field_size_limit(_LONGEST_FIELD)
    lines = read_lines(path, source)
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise DataError(f"{source} is empty. Give a table with a header and rows.")
    delimiter = delimiter or _detect(first)
    reader = csv.reader(itertools.chain([first], lines), delimiter=delimiter, strict=True)
    rows = _checked_rows(reader, source)
    header = next(rows)
    for number, name in enumerate(header, start=1):
        if not name.strip():
            raise DataError(f"{source}, line 1: column {number} has no name. Give every column a name.")
    chunks, n_rows = _chunks(rows, len(header))
    columns = tuple(
        StringColumn(name, tuple(parts), True) for name, parts in zip(header, chunks, strict=True)
    )
    return RawTable(source, columns, n_rows)


def _detect(header: str) -> str:
    outside = "".join(part for number, part in enumerate(header.split('"')) if number % 2 == 0)
    counts = {delimiter: outside.count(delimiter) for delimiter in DELIMITERS}
    return max(DELIMITERS, key=lambda delimiter: counts[delimiter])


def _checked_rows(reader: Any, source: str) -> Iterator[list[str]]:
    """Yield header and rows; an error names the line on which the row begins."""
    begins, width = 1, 0
    try:
        for row in reader:
            if not row and width != 1:
                begins = reader.line_num + 1
                continue
            row = row or [""]
            width = width or len(row)
            if len(row) != width:
                raise DataError(
                    f"{source}, line {begins}: {len(row)} fields where the header has {width}. "
                    "Quote fields that hold the delimiter, or mend the row."
                )
            yield row
            begins = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{source}, line {begins}: broken quotes ({error}). Close every quoted field, and double "
            "the quotes inside it."
        ) from error


def _chunks(rows: Iterator[list[str]], width: int) -> tuple[list[list[Any]], int]:
    import pyarrow as pa

    chunks: list[list[Any]] = [[] for _ in range(width)]
    n_rows = 0
    while batch := list(itertools.islice(rows, _ROWS_PER_CHUNK)):
        n_rows += len(batch)
        for parts, values in zip(chunks, zip(*batch, strict=True), strict=True):
            parts.append(pa.array(values, type=pa.large_string()))
    return chunks, n_rows
