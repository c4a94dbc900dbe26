"""Reads the two tables of a job's folder, in the format its `job.json` names.

Runs in foreign environments beside the contract, as `assay_tables`: standard library and numpy only (pandas and
pyarrow on demand, for Parquet), Python 3.8's language.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NamedTuple, Optional, Protocol, Sequence

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


class Asking(Protocol):
    """What is read here of a job of the contract."""

    folder: Path
    format: str
    columns: List[Dict[str, Any]]
    classes: List[str]

    @property
    def is_classification(self) -> bool:
        """Whether the target is a class."""


class FoldTable(NamedTuple):
    """One array per column, as `Rows` of the contract has them, and the target of training rows."""

    arrays: List[np.ndarray]
    n_rows: int
    y: Optional[np.ndarray]


def read_table(job: Asking, part: str) -> FoldTable:
    """Read `train`, or `test`, which has no target, of a job of the contract."""
    if job.format == "csv":
        table = _read_csv(job, part)
    elif job.format == "parquet":
        table = _read_parquet(job, part)
    else:
        table = _read_npz(job, part)
    if table.y is None:
        return table
    return table._replace(y=np.asarray(table.y, dtype=np.int64 if job.is_classification else np.float64))


def _read_npz(job: Asking, part: str) -> FoldTable:
    with np.load(str(job.folder / (part + ".npz")), allow_pickle=False) as file:
        arrays = [
            _text(file, i) if column["kind"] == "text" else file["c%d" % i]
            for i, column in enumerate(job.columns)
        ]
        return FoldTable(arrays, int(file["n_rows"]), file["y"] if part == "train" else None)


def _text(file: Mapping[str, np.ndarray], i: int) -> np.ndarray:
    data, ends, missing = file["c%d" % i].tobytes(), file["c%d_ends" % i], file["c%d_missing" % i]
    out = np.empty(len(ends), dtype=object)
    start = 0
    for row, end in enumerate(ends):
        out[row] = None if missing[row] else data[start:end].decode("utf-8")
        start = int(end)
    return out


def _read_csv(job: Asking, part: str) -> FoldTable:
    usual = csv.field_size_limit(sys.maxsize)  # a text may be longer than the module's 128 KB
    try:
        with open(str(job.folder / (part + ".csv")), newline="", encoding="utf-8") as file:
            cells = list(csv.reader(file))[1:]
    finally:
        csv.field_size_limit(usual)
    by_column = list(zip(*cells)) if cells else [()] * (len(job.columns) + (part == "train"))
    arrays = [_parse(by_column[i], column) for i, column in enumerate(job.columns)]
    return FoldTable(arrays, len(cells), _target(by_column[-1], job) if part == "train" else None)


def _target(cells: Sequence[Any], job: Asking) -> np.ndarray:
    if job.is_classification:
        place = {name: i for i, name in enumerate(job.classes)}
        return np.array([place[label] for label in cells], dtype=np.int64)
    return np.array([float(value) for value in cells])


def _read_parquet(job: Asking, part: str) -> FoldTable:
    """Read by position: types come from `job.json`. Needs pandas and pyarrow in the framework's environment."""
    import pandas as pd

    frame = pd.read_parquet(str(job.folder / (part + ".parquet")))
    arrays = [_from_series(frame.iloc[:, i], column, pd) for i, column in enumerate(job.columns)]
    return FoldTable(arrays, len(frame), _target(list(frame.iloc[:, -1]), job) if part == "train" else None)


def _from_series(series: pd.Series, column: Mapping[str, Any], pd: ModuleType) -> np.ndarray:
    kind = column["kind"]
    if kind == "numeric":
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    if kind == "categorical":
        known = pd.Index(column["categories"], dtype=object)
        codes: np.ndarray = known.get_indexer(series.astype(object))
        return codes.astype(np.int32)
    if kind == "date":
        return series.to_numpy(dtype="datetime64[ns]").astype(np.int64)
    missing = series.isna().to_numpy()
    if kind == "boolean":
        return np.where(missing, -1, series.astype(object) == True).astype(np.int8)  # noqa: E712
    out = np.empty(len(series), dtype=object)
    out[:] = [None if gone else value for gone, value in zip(missing, series)]
    return out


def _parse(cells: Sequence[str], column: Mapping[str, Any]) -> np.ndarray:
    kind = column["kind"]
    if kind == "numeric":
        return np.array([float(cell) if cell else np.nan for cell in cells])
    if kind == "boolean":
        return np.array([{"": -1, "false": 0, "true": 1}[cell] for cell in cells], dtype=np.int8)
    if kind == "date":
        stamps = np.array([cell or "NaT" for cell in cells], dtype="datetime64[ns]")
        return stamps.astype(np.int64)
    if kind == "categorical":
        place = {name: i for i, name in enumerate(column["categories"])}
        return np.array([place[cell] if cell else -1 for cell in cells], dtype=np.int32)
    out = np.empty(len(cells), dtype=object)
    out[:] = [cell or None for cell in cells]
    return out
