"""The digest of a table and of splits: sha256 over an encoding of our own, equal on every machine.

It knows names, kinds, categories and values; not roles, not the file's format, not the library that read it.
All NaN are one NaN and -0.0 is 0.0.

Version 2 covers the labels of a categorical column in their declared order. Version 1 had the same encoding, but the
labels of Parquet dictionaries were sorted before. So the two differ only where a Parquet file declares another order;
there a task knows its digest of version 1 as well, by which older stores know it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

import numpy as np

from assay.data.table import Array, Table
from assay.data.task import Column

__all__ = ["digest_json", "digest_splits", "digest_table"]


def digest_table(table: Table) -> str:
    """Return the sha256 of a table, as hex."""
    total = hashlib.sha256(f"assay-table-1 {table.n_rows} {len(table.columns)}\n".encode())
    for column in table.columns:
        total.update(_digest_column(column, table.arrays[column.name]))
    return total.hexdigest()


def digest_splits(folds: Iterable[tuple[int, int, Array, Array]]) -> str:
    """Return the sha256 of folds (repeat, fold, train rows, test rows), as hex; the order of rows counts."""
    total = hashlib.sha256(b"assay-splits-1\n")
    for repeat, fold, train, test in folds:
        total.update(f"{repeat} {fold} {len(train)} {len(test)}\n".encode())
        total.update(np.ascontiguousarray(train, dtype="<i8").tobytes())
        total.update(np.ascontiguousarray(test, dtype="<i8").tobytes())
    return total.hexdigest()


def digest_json(value: object) -> str:
    """Return the sha256 of a JSON value with sorted keys, as hex."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=list).encode()).hexdigest()


def _digest_column(column: Column, values: Array) -> bytes:
    part = hashlib.sha256(json.dumps([column.name, column.kind, list(column.categories)]).encode())
    part.update(b"\n")
    if column.kind == "text":
        for value in values:
            encoded = None if value is None else value.encode("utf-8", "surrogatepass")
            part.update(b"-" if encoded is None else b"%d:%s" % (len(encoded), encoded))
    elif column.kind == "numeric":
        clean = values + 0.0
        clean[np.isnan(clean)] = np.nan
        part.update(np.ascontiguousarray(clean, dtype="<f8").tobytes())
    else:
        little = values.dtype.newbyteorder("<")
        part.update(np.ascontiguousarray(values, dtype=little).tobytes())
    return part.digest()
