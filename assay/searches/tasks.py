"""The rows of a search as a task with the search's own folds, so that ordinary jobs can learn from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from assay.data.memory import MemoryTask, keep_task
from assay.data.splits import Splits
from assay.data.table import MISSING_DATE, Table
from assay.data.task import Column, Task
from assay.errors import DataError
from assay.searches.folds import Fold
from assay.searches.inputs import SearchData
from assay.settings import Settings

if TYPE_CHECKING:
    from assay.typing import Array, Series

__all__ = ["label_kind", "task_of"]

TARGET = "target"


def task_of(data: SearchData, folds: Sequence[Fold], metric: str, settings: Settings) -> Task:
    """Return the task: the columns by their types, the target, and these folds."""
    frame = pd.DataFrame(data.x)
    names = _names(list(frame.columns))
    parts = [_column(name, frame.iloc[:, at]) for at, name in enumerate(names)]
    parts.append(_target(data, names))
    is_file = Path(data.name).exists()
    return keep_task(
        MemoryTask(
            name=Path(data.name).stem or data.name,
            table=Table(
                tuple(column for column, _ in parts), {column.name: values for column, values in parts}
            ),
            splits=_splits(folds),
            type=data.task_type,
            classes=tuple(str(label) for label in data.classes),
            metrics=(metric,),
            path=str(Path(data.name).resolve()) if is_file else "",
        ),
        settings,
    )


def label_kind(data: SearchData) -> str:
    """Return what classes are to learners: `int`, `bool` or `text`; a job knows them by name only."""
    return {"b": "bool", "i": "int", "u": "int"}.get(data.y.dtype.kind, "text")


def _splits(folds: Sequence[Fold]) -> Splits:
    return Splits(
        tuple(
            (repeat, fold, train.astype(np.int64), test.astype(np.int64))
            for repeat, fold, train, test in folds
        )
    )


def _names(given: Sequence[Hashable]) -> list[str]:
    names = [str(name) for name in given]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise DataError(f"Two columns are called '{twice}'. Rename one.")
    return names


def _target(data: SearchData, taken: Sequence[str]) -> tuple[Column, Array]:
    name = TARGET
    while name in taken:
        name += "_"
    if data.is_value:
        return Column(name, "numeric", "target"), np.asarray(data.y, dtype=np.float64)
    codes = np.searchsorted(np.array(data.classes), data.y).astype(np.int32)
    return Column(name, "categorical", "target", tuple(str(label) for label in data.classes)), codes


def _nanoseconds(name: str, dates: Series) -> Array:
    try:
        return pd.to_datetime(dates, utc=True).astype("datetime64[ns, UTC]").astype("int64").to_numpy()
    except pd.errors.OutOfBoundsDatetime:
        raise DataError(
            f"The column '{name}' has dates before 1678 or after 2261, which cannot be kept. Leave it out."
        ) from None


def _column(name: str, values: Series) -> tuple[Column, Array]:
    """Return a column in the table's encoding; what pandas has as objects stays text, known by its text."""
    missing = values.isna().to_numpy(dtype=bool)
    if pd.api.types.is_bool_dtype(values):
        truths = values.fillna(False).to_numpy(dtype=np.int8)
        return Column(name, "boolean"), np.where(missing, -1, truths).astype(np.int8)
    if pd.api.types.is_numeric_dtype(values):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return Column(name, "numeric", integer=values.dtype.kind in "iu" and not missing.any()), numbers
    if pd.api.types.is_datetime64_any_dtype(values):
        return Column(name, "date"), np.where(missing, MISSING_DATE, _nanoseconds(name, values)).astype(
            np.int64
        )
    if isinstance(values.dtype, pd.CategoricalDtype):
        labels = tuple(str(label) for label in values.cat.categories)
        if len(set(labels)) == len(labels):
            return Column(name, "categorical", categories=labels), values.cat.codes.to_numpy(dtype=np.int32)
    texts = np.empty(len(values), dtype=object)
    texts[:] = [None if gone else str(one) for one, gone in zip(values, missing, strict=True)]
    return Column(name, "text"), texts
