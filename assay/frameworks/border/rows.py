"""The typed rows that adapters see, as arrays and as a DataFrame.

Runs in foreign environments: standard library and numpy (pandas on demand, from the framework's own environment),
Python 3.8's language.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

MISSING_DATE = np.iinfo(np.int64).min


class Rows:
    """Feature rows with their types.

    `arrays` has one numpy array per column: numeric float64 (NaN is missing), categorical int32 codes into
    `columns[i]["categories"]` (-1 is missing), boolean int8 (-1 is missing), date int64 nanoseconds since
    1970 UTC (`MISSING_DATE` is missing), text object (None is missing). `X` is the same as a DataFrame.
    """

    def __init__(
        self, columns: Sequence[Mapping[str, Any]], arrays: Sequence[np.ndarray], n_rows: int
    ) -> None:
        self.columns = list(columns)
        self.arrays = list(arrays)
        self.n_rows = n_rows
        self._frame: Optional[pd.DataFrame] = None

    def __len__(self) -> int:
        return self.n_rows

    @property
    def X(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame with category, boolean, datetime, int64, float64 and object columns."""
        if self._frame is None:
            self._frame = _frame(self)
        return self._frame

    def take(self, rows: np.ndarray) -> "Rows":
        """Return the rows with these numbers, in this order; a number may come more than once."""
        return Rows(self.columns, [array[rows] for array in self.arrays], len(rows))


def _frame(rows: Rows) -> pd.DataFrame:
    import pandas as pd

    data = {i: _series(array, column, pd) for i, (array, column) in enumerate(zip(rows.arrays, rows.columns))}
    frame = pd.DataFrame(data, index=pd.RangeIndex(rows.n_rows), copy=False)
    frame.columns = pd.Index([column["name"] for column in rows.columns], dtype=object)
    return frame


def _series(array: np.ndarray, column: Mapping[str, Any], pd: ModuleType) -> object:
    kind = column["kind"]
    if kind == "numeric":
        return array.astype(np.int64) if column.get("integer") else array
    if kind == "categorical":
        return pd.Categorical.from_codes(array, categories=pd.Index(column["categories"], dtype=object))
    if kind == "boolean":
        if (array < 0).any():
            return pd.array([None if value < 0 else bool(value) for value in array], dtype="boolean")
        return array.astype(bool)
    if kind == "date":
        return array.view("datetime64[ns]")
    return pd.Series(array, dtype=object)
