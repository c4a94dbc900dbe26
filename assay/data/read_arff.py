"""Read ARFF files, dense and sparse, strictly: what the header declares is what the rows must hold."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from assay.data.arff_header import Attribute, read_header, unquote, unquoted_fields
from assay.data.parse import NUMBER, parse_dates
from assay.data.raw import RawColumn, RawTable, StringColumn, TypedColumn
from assay.data.read_text import find_encoding, read_lines
from assay.data.table import MISSING_DATE, Array
from assay.data.task import Column
from assay.errors import DataError

__all__ = ["read_arff"]

_CELLS_PER_CHUNK = 2_000_000
_NEEDS_CARE = re.compile(r"""['"\\{}]""")
_SPARSE = re.compile(r"""\s*([0-9]+)\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,\s]+)\s*(?:,|\Z)""")
_JAVA_DATE = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "SSS": "%f"}
_JAVA_PART = re.compile(r"'([^']*)'|([A-Za-z])\2*|[^A-Za-z']+")
Row = Sequence[str | None]


def read_arff(path: Path, source: str) -> RawTable:
    """Read a file: nominal attributes are categorical in their declared order, an unquoted `?` is missing.

    In sparse rows what is not written is 0, or the first label of a nominal attribute. Comments stand on
    lines of their own and begin with %. Relational attributes and instance weights are refused.
    """
    encoding, notes = find_encoding(path, source, can_be_requested=False)
    with closing(read_lines(path, source, encoding)) as lines:
        return _read(enumerate(lines, start=1), source, tuple(notes))


def _read(numbered: Iterator[tuple[int, str]], source: str, notes: tuple[str, ...]) -> RawTable:
    attributes = read_header(numbered, source)
    rows = _rows(numbered, attributes, source)
    parts: list[list[Any]] = [[] for _ in attributes]
    n_rows = 0
    size = max(100, _CELLS_PER_CHUNK // len(attributes))
    while chunk := list(itertools.islice(rows, size)):
        n_rows += len(chunk)
        numbers = [number for number, _ in chunk]
        for attribute, part, values in zip(
            attributes, parts, zip(*(row for _, row in chunk), strict=True), strict=True
        ):
            part.append(_CONVERT[attribute.kind](attribute, values, numbers, source))
    columns = tuple(_column(attribute, part) for attribute, part in zip(attributes, parts, strict=True))
    return RawTable(source, columns, n_rows, notes=notes)


def _rows(
    numbered: Iterator[tuple[int, str]], attributes: list[Attribute], source: str
) -> Iterator[tuple[int, Row]]:
    width = len(attributes)
    absent = [attribute.labels[0] if attribute.labels else "0" for attribute in attributes]
    for number, line in numbered:
        text = line.strip()
        if not text or text[0] == "%":
            continue
        row: Row
        if not _NEEDS_CARE.search(text):
            row = [None if field == "?" else field for field in map(str.strip, text.split(","))]
        elif text[0] == "{":
            row = _sparse_row(text, absent, f"{source}, line {number}")
        else:
            row = unquoted_fields(text, f"{source}, line {number}")
        if len(row) != width:
            raise DataError(
                f"{source}, line {number}: {len(row)} values where the header declares {width} attributes. "
                "Quote values that hold a comma, or fix the row."
            )
        yield number, row


def _sparse_row(text: str, absent: list[str], place: str) -> Row:
    if not text.endswith("}"):
        raise DataError(f"{place}: a sparse row does not end. Close it with '}}'.")
    row: list[str | None] = list(absent)
    inner, position, last = text[1:-1].strip(), 0, -1
    while position < len(inner):
        match = _SPARSE.match(inner, position)
        if match is None:
            raise DataError(
                f"{place}: '{inner[position : position + 30]}' is not 'INDEX VALUE'. Fix the sparse row."
            )
        index = int(match[1])
        if index >= len(row) or index <= last:
            raise DataError(
                f"{place}: index {index} is not between {last + 1} and {len(row) - 1}. Sparse indices "
                "begin at 0 and rise."
            )
        row[index] = None if match[2] == "?" else unquote(match[2], place)
        position, last = match.end(), index
    return row


def _numeric(attribute: Attribute, values: Row, numbers: list[int], source: str) -> Array:
    try:
        if any("_" in value for value in values if value):
            raise ValueError
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    except ValueError:
        for value, number in zip(values, numbers, strict=True):
            if value is not None and not NUMBER.match(value) and value.lower() != "nan":
                raise DataError(
                    f"{source}, line {number}: '{value[:30]}' in numeric attribute '{attribute.name}' is "
                    "no number. "
                    "Fix the value, write ? if it is missing, or declare the attribute as nominal."
                ) from None
        raise


def _nominal(attribute: Attribute, values: Row, numbers: list[int], source: str) -> Array:
    codes: dict[str | None, int] = {label: code for code, label in enumerate(attribute.labels)}
    codes[None] = -1
    result = np.array([codes.get(value, -2) for value in values], dtype=np.int32)
    bad = np.flatnonzero(result == -2)
    if len(bad):
        raise DataError(
            f"{source}, line {numbers[bad[0]]}: '{str(values[bad[0]])[:30]}' is not a declared label of "
            "attribute "
            f"'{attribute.name}'. Add it to the labels in the header, or fix the value."
        )
    return result


def _string(attribute: Attribute, values: Row, numbers: list[int], source: str) -> Any:
    import pyarrow as pa

    return pa.array(values, type=pa.large_string())


def _date(attribute: Attribute, values: Row, numbers: list[int], source: str) -> Array:
    result = np.full(len(values), MISSING_DATE, dtype=np.int64)
    parse = _date_parser(attribute.date_format)
    for position, value in enumerate(values):
        if value is None:
            continue
        moment = parse(value)
        if moment is None:
            expected = attribute.date_format or "yyyy-MM-dd'T'HH:mm:ss"
            raise DataError(
                f"{source}, line {numbers[position]}: '{value[:30]}' in attribute '{attribute.name}' is "
                "not a date "
                f"like {expected} from 1678 to 2261. Fix the value, or write ? if it is missing."
            )
        result[position] = moment
    return result


def _date_parser(java: str) -> Callable[[str], int | None]:
    pattern = ""
    for match in _JAVA_PART.finditer(java):
        pattern += match[1] if match[1] is not None else _JAVA_DATE.get(match[0], match[0])

    def parse(text: str) -> int | None:
        iso = parse_dates([text])
        if iso is not None:
            return int(iso[0])
        try:
            moment = datetime.strptime(text, pattern).replace(tzinfo=UTC)
        except ValueError:
            return None
        iso = parse_dates([moment.strftime("%Y-%m-%dT%H:%M:%S.%f")])
        return None if iso is None else int(iso[0])

    return parse


_CONVERT: dict[str, Callable[[Attribute, Row, list[int], str], Any]] = {
    "numeric": _numeric,
    "nominal": _nominal,
    "string": _string,
    "date": _date,
}


def _column(attribute: Attribute, parts: list[Any]) -> RawColumn:
    if attribute.kind == "string":
        return StringColumn(attribute.name, tuple(parts), may_be_number=False)
    values = np.concatenate(parts) if parts else np.empty(0)
    if attribute.kind == "nominal":
        return TypedColumn(Column(attribute.name, "categorical", categories=attribute.labels), values)
    return TypedColumn(Column(attribute.name, attribute.kind), values)
