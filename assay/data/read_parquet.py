"""Read Parquet files by their own types; nothing is guessed but whether strings are categories or text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from assay.data.parse import sort_labels
from assay.data.raw import RawColumn, RawTable, StringColumn, TypedColumn, with_sorted_labels
from assay.data.table import MISSING_DATE, Array
from assay.data.task import Column
from assay.errors import DataError

__all__ = ["read_parquet"]

_LARGEST_EXACT = 2**53


def read_parquet(path: Path, source: str) -> RawTable:
    """Read a file: dictionaries are categorical in their declared order, null is missing, times without zone are UTC.

    Parquet keeps no order of labels that are numbers or booleans; they are sorted. The index columns that pandas
    writes are left out: a row's number is not a feature.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # One thread, no memory map: the file may be replaced while it is read.
        table = pq.read_table(path, use_threads=False, memory_map=False, partitioning=None)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0][:200]
        raise DataError(f"{source} is not a readable Parquet file: {reason}. Write it again.") from error
    index, categorical = _pandas_says(table.schema.metadata or {})
    columns = tuple(
        _column(name, column, name in categorical, source)
        for name, column in zip(table.column_names, table.columns, strict=True)
        if name not in index
    )
    sorted_before = frozenset(
        column.name for column in columns if isinstance(column, TypedColumn) and not _is_sorted(column.column)
    )
    return RawTable(source, columns, table.num_rows, sorted_before=sorted_before)


def _is_sorted(column: Column) -> bool:
    return list(column.categories) == sort_labels(column.categories)


def _pandas_says(metadata: dict[bytes, bytes]) -> tuple[set[str], set[str]]:
    """Return the index columns and the categorical ones; Parquet itself forgets categories of numbers."""
    try:
        described = json.loads(metadata[b"pandas"])
        index = {name for name in described["index_columns"] if isinstance(name, str)}
        categorical = {item["name"] for item in described["columns"] if item["pandas_type"] == "categorical"}
    except (KeyError, ValueError, TypeError):
        return set(), set()
    return {name for name in index if name.startswith("__index_level_")}, categorical


def _column(name: str, column: Any, is_categorical: bool, source: str) -> RawColumn:
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        return _dictionary(name, column, source)
    if is_categorical:
        return with_sorted_labels(_dictionary(name, column.dictionary_encode(), source))
    if types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view":
        chunks = column.cast(pa.large_string()).chunks
        return StringColumn(name, tuple(chunks), may_be_number=False)
    if types.is_boolean(kind):
        return TypedColumn(Column(name, "boolean"), _filled(column.cast(pa.int8()), -1).astype(np.int8))
    if types.is_null(kind):
        return TypedColumn(Column(name, "numeric"), np.full(len(column), np.nan))
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return TypedColumn(Column(name, "numeric"), _numbers(name, column, source))
    if types.is_timestamp(kind) or types.is_date(kind):
        return TypedColumn(Column(name, "date"), _dates(name, column, source))
    raise DataError(
        f"Column '{name}' of {source} has the Parquet type {kind}, which is not supported. "
        "Write it as number, string, boolean, dictionary or timestamp, or drop it."
    )


def _filled(column: Any, missing: float) -> Array:
    """Return a column as numpy array, with null replaced."""
    array: Array = column.fill_null(missing).to_numpy()
    return array


def _numbers(name: str, column: Any, source: str) -> Array:
    import pyarrow as pa
    from pyarrow import types

    if types.is_integer(column.type):
        whole = _filled(column, 0)
        largest = np.uint64(_LARGEST_EXACT) if whole.dtype == np.uint64 else np.int64(_LARGEST_EXACT)
        too_large = whole > largest
        if whole.dtype != np.uint64:
            too_large |= whole.astype(np.int64) < -_LARGEST_EXACT
        rows = np.flatnonzero(too_large)
        if len(rows):
            raise DataError(
                f"Column '{name}' of {source}, row {rows[0] + 1}: {whole[rows[0]]} is a whole number "
                "beyond 2^53, "
                "which cannot be kept exactly. Write it as a string, or drop the column if it is an "
                "identifier."
            )
        numbers = whole.astype(np.float64)
    elif types.is_decimal(column.type):
        return np.array(
            [np.nan if item is None else float(item) for item in column.to_pylist()], dtype=np.float64
        )
    else:
        numbers = _filled(column.cast(pa.float64()), np.nan).astype(np.float64)
    missing = column.is_null().to_numpy().astype(bool)
    return np.where(missing, np.nan, numbers)


def _dates(name: str, column: Any, source: str) -> Array:
    import pyarrow as pa
    from pyarrow import types

    zone = column.type.tz if types.is_timestamp(column.type) else None
    try:
        stamps = column.cast(pa.timestamp("ns", tz=zone)).cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise DataError(
            f"Column '{name}' of {source} holds a time outside 1678–2261. Fix it, or write the column as "
            "a number."
        ) from error
    return _filled(stamps, MISSING_DATE).astype(np.int64)


def _dictionary(name: str, column: Any, source: str) -> TypedColumn:
    """Decode a dictionary column; the labels of the first row group come first, in the order they have there."""
    import pyarrow as pa

    codes: list[Array] = []
    code_of: dict[str, int] = {}
    for chunk in column.chunks:
        labels = [_label(item, name, source) for item in chunk.dictionary.to_pylist()]
        lookup = [-1 if label is None else code_of.setdefault(label, len(code_of)) for label in labels]
        indices = chunk.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        codes.append(np.array([*lookup, -1], dtype=np.int32)[indices])
    values = np.concatenate(codes) if codes else np.empty(0, dtype=np.int32)
    return TypedColumn(Column(name, "categorical", categories=tuple(code_of)), values)


def _label(item: object, name: str, source: str) -> str | None:
    if item is None or isinstance(item, str):
        return item
    if isinstance(item, (bool, int)):
        return str(item)
    if isinstance(item, float):
        return str(int(item)) if item.is_integer() else repr(item)
    raise DataError(
        f"Column '{name}' of {source} is a dictionary of {type(item).__name__} values. Write the labels as "
        "strings."
    )
