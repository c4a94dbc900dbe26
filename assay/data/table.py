"""A table as Assay keeps it: one numpy array per column, in one canonical encoding per kind.

| kind        | array   | missing        | values                                   |
|-------------|---------|----------------|------------------------------------------|
| numeric     | float64 | NaN            | numbers                                  |
| categorical | int32   | -1             | codes into the column's `categories`     |
| boolean     | int8    | -1             | 0 and 1                                  |
| date        | int64   | smallest int64 | nanoseconds since 1970-01-01 UTC         |
| text        | object  | None           | str                                      |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.data.task import Column
from assay.errors import ConfigError, InternalError

__all__ = ["DTYPES", "MISSING_DATE", "Array", "Table", "missing_mask"]

Array = NDArray[Any]
MISSING_DATE = int(np.iinfo(np.int64).min)
DTYPES: Mapping[str, np.dtype] = {
    "numeric": np.dtype(np.float64),
    "categorical": np.dtype(np.int32),
    "boolean": np.dtype(np.int8),
    "date": np.dtype(np.int64),
    "text": np.dtype(object),
}


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length in the canonical encoding; never changed once made.

    `notes` say how the file was read where that is not the usual way (a decimal comma, for example).
    """

    columns: tuple[Column, ...]
    arrays: Mapping[str, Array]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names) or set(names) != set(self.arrays):
            raise InternalError(f"Columns {names} and arrays {list(self.arrays)} of a table do not match.")
        lengths = {len(self.arrays[name]) for name in names}
        if len(lengths) > 1:
            raise InternalError(f"The columns of a table have different lengths: {sorted(lengths)}.")
        for column in self.columns:
            if self.arrays[column.name].dtype != DTYPES[column.kind]:
                dtype = self.arrays[column.name].dtype
                raise InternalError(f"Column '{column.name}' is {column.kind} but its array is {dtype}.")

    @property
    def n_rows(self) -> int:
        """Return the number of rows (0 for a table without columns)."""
        return len(self.arrays[self.columns[0].name]) if self.columns else 0

    def column(self, name: str) -> Column:
        """Return the column of that name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise ConfigError(f"There is no column '{name}'. There are: {', '.join(self.arrays)}.")

    def take(self, rows: Array) -> Table:
        """Return the table of these rows, in this order."""
        return Table(self.columns, {name: array[rows] for name, array in self.arrays.items()})

    def select(self, names: Iterable[str]) -> Table:
        """Return the table of these columns, in this order."""
        columns = tuple(self.column(name) for name in names)
        return Table(columns, {column.name: self.arrays[column.name] for column in columns})


def missing_mask(column: Column, array: Array) -> NDArray[np.bool_]:
    """Return where the values of a column are missing."""
    if column.kind == "numeric":
        return np.isnan(array)
    if column.kind == "date":
        return np.equal(array, MISSING_DATE)
    if column.kind == "text":
        return np.fromiter((value is None for value in array), dtype=bool, count=len(array))
    return np.less(array, 0)
