"""What is searched on: a file, a DataFrame or two arrays become columns, a target, and groups where there are any."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
import pandas as pd

from assay.api import load_suite, load_tasks
from assay.data.table import MISSING_DATE
from assay.errors import ConfigError, DataError
from assay.metrics import get_metric
from assay.plugins import suggest
from assay.settings import Settings
from assay.suites.suite import Suite
from assay.vocabulary import TaskType

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from assay.data.task import Column
    from assay.frameworks.pipeline.estimator import Columns
    from assay.typing import Array, Floats, Frame, Ints, Series

__all__ = ["SearchData", "SearchInput", "open_data"]

# A path, a DataFrame with the name of its target, or (X, y).
SearchInput: TypeAlias = "str | Path | Frame | Array | tuple[Columns, Array | Series]"

FEWEST_IN_ORDER = 10  # rows; fewer may be in order by chance


@dataclass(frozen=True, eq=False)
class SearchData:
    """N rows to learn from.

    Attributes:
        name: of the file, for messages.
        x: (N) rows: a DataFrame, or a matrix if one was given.
        y: (N) classes (text, whole numbers or booleans) or values (float64).
        classes: in sorted order; empty for values. The second of two is the positive one.
        groups: (N) codes of rows that belong together, or None.
        notes: what was left out.
    """

    name: str
    x: Columns
    y: Array
    classes: tuple[np.generic, ...]
    groups: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_value(self) -> bool:
        """Whether the target is a number."""
        return not self.classes

    @property
    def task_type(self) -> TaskType:
        """The type of task that it would be."""
        return "regression" if self.is_value else "binary" if len(self.classes) == 2 else "multiclass"

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.y)

    @property
    def n_scores(self) -> int:
        """How many numbers a prediction has: one for each of several classes, else one."""
        return len(self.classes) if len(self.classes) > 2 else 1

    def rows(self, rows: Ints) -> Columns:
        """Return the columns of some rows, which may repeat."""
        return self.x.iloc[rows] if isinstance(self.x, pd.DataFrame) else self.x[rows]

    def take(self, rows: Ints, groups: NDArray[np.int64] | None = None) -> SearchData:
        """Return some rows, which may repeat, with all classes; `groups` replace those there are."""
        kept = self.groups[rows] if groups is None and self.groups is not None else groups
        return SearchData(self.name, self.rows(rows), self.y[rows], self.classes, kept)

    def digest(self) -> str:
        """Return the sha256 of columns, target and groups."""
        total = hashlib.sha256(b"assay-search-1\n")
        frame = pd.DataFrame(self.x)
        for position, name in enumerate(frame.columns):
            column = frame.iloc[:, position]
            total.update(f"{name} {column.dtype}\n".encode())
            total.update(_bytes(column))
        total.update(_bytes(pd.Series(self.y)))
        total.update(b"" if self.groups is None else np.ascontiguousarray(self.groups, dtype="<i8").tobytes())
        return total.hexdigest()


def _bytes(column: Series) -> bytes:
    if column.dtype.kind in "fiub":
        return bytes(np.ascontiguousarray(column.to_numpy(dtype="<f8", na_value=np.nan)).tobytes())
    return "\0".join(
        "\1" if gone else str(one) for one, gone in zip(column, column.isna(), strict=True)
    ).encode()


def open_data(
    data: SearchInput,
    target: ArrayLike | None,
    groups: ArrayLike | None,
    metric: str,
    settings: Settings | None = None,
    csv: Mapping[str, object] | None = None,
) -> SearchData:
    """Return what is to be searched on.

    Args:
        data: a path (or `bundled/iris`, `openml/t/31`), a DataFrame, or (X, y).
        target: the name of the target's column; for a matrix, y itself.
        groups: the name of a column, or (N) names of groups.
        metric: says whether the target is classes or values. If it is empty, numbers of more than two kinds are values.
        settings: for files.
        csv: how a CSV file is written, as in `assay.load_suite`.
    """
    notes: tuple[str, ...] = ()
    x: Columns
    if isinstance(data, str | Path):
        name = str(data)
        kept = groups if isinstance(groups, str) else ""
        suite = load_suite(data, _target_name(data, target), settings, csv)
        x, y, is_number, notes = _from_suite(
            suite, bool(target), kept, settings or Settings.from_environment()
        )
        notes = (*notes, *_note_on_order(x))
    else:
        name = "the data"
        x, y = _from_memory(data, target)
        is_number = y.dtype.kind in "fiu"
    if not len(y):
        raise DataError(f"{name} has no rows.")
    x, group_values = _split_groups(x, groups, name)
    _check_target(y, name)
    kinds = len(np.unique(y))
    is_value = get_metric(metric).needs == "values" if metric else is_number and kinds > 2
    if is_value and not is_number:
        raise ConfigError(f"{metric} is of numbers, but the target of {name} has others, as '{y[0]}'.")
    if is_number and not is_value and kinds > max(2, len(y) / 2):
        raise ConfigError(
            f"{metric} is of classes, but the target of {name} is numbers, {kinds} different ones. Take rmse or r2."
        )
    if not x.shape[1]:
        raise DataError(f"{name} has no columns to learn from.")
    if is_value:
        return SearchData(name, x, y.astype(float), (), group_values, notes)
    labels = _natural(y)
    classes = tuple(np.unique(labels))
    if len(classes) < 2:
        raise DataError(f"The target of {name} has the same value in all rows. Name another column.")
    return SearchData(name, x, labels, classes, group_values, notes)


def _target_name(source: str | Path, target: ArrayLike | None) -> str | None:
    if target is not None and not isinstance(target, str):
        raise ConfigError(f"The target of {source} is the name of a column, not {type(target).__name__}.")
    return target


def _from_suite(
    suite: Suite, has_target: bool, groups: str, settings: Settings
) -> tuple[Frame, Array, bool, tuple[str, ...]]:
    """Return columns, target, whether that is a number, and notes; text columns stay out, but not that of groups."""
    from assay.data.resolve import load

    tasks = load_tasks(suite, settings)
    if len(tasks) > 1:
        names = ", ".join(task.name for task in tasks[:5])
        raise ConfigError(
            f"{suite.name} has {len(tasks)} tasks ({names} …): a search is on one. Name a data file."
        )
    task = tasks[0]
    table = load(task, settings).table
    columns = {
        one.name: _column(one, table.arrays[one.name])
        for one in table.columns
        if one.role != "ignore" and (one.kind != "text" or one.name == groups)
    }
    text = [one.name for one in task.features if one.kind == "text" and one.name != groups]
    notes = (f"Left out, because they are text: {', '.join(text)}.",) if text else ()
    notes = (
        (*task.notes, *notes)
        if has_target
        else (*task.notes, f"The target is '{task.target}': none was named.", *notes)
    )
    y = columns.pop(task.target)
    is_number = table.column(task.target).kind == "numeric"
    values = np.asarray(y) if is_number else _labels(np.asarray(y, dtype=object))
    return pd.DataFrame(columns), values, is_number, notes


def _labels(y: Array) -> Array:
    """Return classes as text; true and false as booleans, as pandas has them: the model's answers are compared."""
    texts = np.array([str(label) for label in y])
    lowered = np.char.lower(texts)
    return lowered == "true" if {*lowered.tolist()} == {"true", "false"} else texts


def _note_on_order(x: Frame) -> tuple[str, ...]:
    """Return a note on columns that number the rows: they are learned from, and mean nothing on new rows."""
    numbers = [name for name in x.columns if x[name].dtype.kind in "fiu" and len(x) >= FEWEST_IN_ORDER]
    ordered = [str(name) for name in numbers if _numbers_rows(x[name].to_numpy(dtype=float))]
    if not ordered:
        return ()
    return (
        f"The values of {', '.join(ordered)} go up (or down) from row to row without exception: if that is a number of "
        "the row or an identifier, leave it out, or what is found means nothing for new rows.",
    )


def _numbers_rows(values: Floats) -> bool:
    steps = np.diff(values)
    return bool((steps > 0).all() or (steps < 0).all())


def _column(column: Column, array: Array) -> ArrayLike:
    """Return a column of a table of ours as pandas has it."""
    if column.kind == "categorical":
        return pd.Categorical.from_codes(array, pd.Index(column.categories, dtype=object))
    if column.kind == "boolean":
        values = pd.arrays.BooleanArray(array > 0, array < 0)
        return values if (array < 0).any() else values.to_numpy(dtype=bool)
    if column.kind == "date":
        return pd.to_datetime(pd.Series(np.where(array == MISSING_DATE, 0, array))).mask(
            array == MISSING_DATE
        )
    return array


def _from_memory(data: SearchInput, target: ArrayLike | None) -> tuple[Columns, Array]:
    if isinstance(data, tuple) and len(data) == 2 and target is None:
        data, target = data
    if isinstance(data, pd.DataFrame) and data.columns.has_duplicates:
        raise DataError(f"Two columns are called '{data.columns[data.columns.duplicated()][0]}'. Rename one.")
    if isinstance(data, pd.DataFrame) and target is not None and np.ndim(target) == 0:
        if target not in data:
            names = [str(name) for name in data.columns]
            raise ConfigError(f"There is no column '{target}' in the data. {suggest(str(target), names)}")
        data, target = _pop(data, target)
    if target is None or np.ndim(target) == 0:
        raise ConfigError(
            "The target is not known: give a path or a DataFrame with the name of the target's column, or (X, y)."
        )
    x = data.reset_index(drop=True) if isinstance(data, pd.DataFrame) else np.asarray(data)
    if x.ndim != 2:
        raise DataError(f"The columns have the shape {x.shape}: they need rows and columns.")
    y = target if isinstance(target, pd.Series) else pd.Series(np.asarray(target).reshape(-1))
    if len(x) != len(y):
        raise DataError(f"There are {len(x)} rows and {len(y)} values of the target.")
    if y.isna().any():
        raise DataError(f"{int(y.isna().sum())} rows have no target. Leave them out.")
    plain = y.to_numpy() if y.dtype.kind in "fiub" else np.array([str(one) for one in y])
    return x, plain


def _pop(frame: Frame, name: ArrayLike) -> tuple[Frame, Series]:
    """Return a table without one of its columns, and that column."""
    column = cast("str", name)  # whatever pandas takes as a name
    return frame.drop(columns=[column]), frame[column]


def _split_groups(
    x: Columns, groups: ArrayLike | None, name: str
) -> tuple[Columns, NDArray[np.int64] | None]:
    if groups is None or (isinstance(groups, str) and not groups):
        return x, None
    if np.ndim(groups) == 0:
        known = list(x.columns) if isinstance(x, pd.DataFrame) else []
        if not isinstance(x, pd.DataFrame) or groups not in known:
            remedy = suggest(str(groups), [str(column) for column in known])
            raise ConfigError(f"There is no column '{groups}' in {name}. {remedy}")
        x, groups = _pop(x, groups)
    given = pd.Series(np.asarray(groups).reshape(-1))
    if len(given) != len(x):
        raise DataError(f"There are {len(x)} rows and {len(given)} groups.")
    if given.isna().any():
        raise DataError(
            f"{int(given.isna().sum())} rows have no group. Give each one of its own, or leave them out."
        )
    return x, pd.factorize(given.astype(str))[0]


def _check_target(y: Array, name: str) -> None:
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise DataError(f"{int((~np.isfinite(y)).sum())} rows of {name} have a target that is not finite.")


def _natural(y: Array) -> Array:
    """Return classes as whole numbers where all are, so that 9 comes before 10; else as they are."""
    if y.dtype.kind == "f":
        fractions = y[y != np.floor(y)]
        if len(fractions):
            raise DataError(
                f"A class is called {fractions[0]:g}, which learners take for a value. Give classes names, as 'low', "
                "or take a metric of numbers, as rmse."
            )
        return y.astype(np.int64)
    if y.dtype.kind != "U":
        return y
    try:
        whole = y.astype(np.int64)
    except ValueError:
        return y
    return whole if (whole.astype(str) == y).all() else y
