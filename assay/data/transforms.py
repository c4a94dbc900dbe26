"""Transformations of a data set, each recorded: what was done with which parameters, to which columns and rows.

A transformation takes a table and the name of its target, and returns a new table and the record.
`tabular_benchmark` is the preparation of seed 003 ("Why do tree-based models still outperform deep learning"), section
3.2, in the order of the authors' code, which matters: values are counted before any row is removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from assay.data.table import DTYPES, Array, Table, missing_mask
from assay.data.task import Column

__all__ = [
    "Step",
    "Transform",
    "above_median",
    "balance_two_classes",
    "binary_as_categories",
    "drop_categories",
    "drop_columns",
    "drop_few_values",
    "drop_incomplete_rows",
    "drop_many_categories",
    "drop_mostly_missing",
    "identifiers_as_categories",
    "log_target",
    "tabular_benchmark",
    "transform",
]

NOMINAL = ("categorical", "boolean")
# In lower case only: the authors' code misses `Store_ID`.
ID_NAME = re.compile(r"[_.-](id|index)$")


@dataclass(frozen=True)
class Step:
    """What one transformation did.

    Attributes:
        name: of the function.
        parameters: as it was called.
        changed: columns whose values or kind are others now.
        removed: columns that are gone.
        n_rows_removed: rows that are gone.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    n_rows_removed: int = 0


Transform = Callable[[Table, str], tuple[Table, Step]]


def transform(table: Table, target: str, steps: Iterable[Transform]) -> tuple[Table, tuple[Step, ...]]:
    """Apply transformations one after the other."""
    done: list[Step] = []
    for apply in steps:
        table, step = apply(table, target)
        done.append(step)
    return table, tuple(done)


def tabular_benchmark(
    task_type: str,
    *,
    keeps_categories: bool,
    remove: Sequence[str] = (),
    logarithm: bool = False,
    median: bool = False,
) -> tuple[Transform, ...]:
    """Return the preparation of the tabular benchmark.

    Args:
        task_type: of several classes the two largest are kept, of equal size.
        keeps_categories: False for the benchmark on numeric features.
        remove: columns that the authors removed by hand.
        logarithm: take that of the target, which the authors decided by hand for each data set.
        median: make a classification of a regression, as the authors did for `california`.
    """
    is_value = task_type == "regression" and not median
    return (
        *((above_median,) if median else ()),
        partial(drop_columns, names=tuple(remove)),
        binary_as_categories,
        identifiers_as_categories,
        drop_few_values,
        *(() if keeps_categories else (drop_categories,)),
        drop_many_categories,
        drop_mostly_missing,
        drop_incomplete_rows,
        *(() if is_value else (balance_two_classes,)),
        *((log_target,) if is_value and logarithm else ()),
    )


def _features(table: Table, target: str) -> list[Column]:
    return [column for column in table.columns if column.role == "feature" and column.name != target]


def _n_distinct(column: Column, values: Array) -> int:
    present = values[~missing_mask(column, values)]
    return len(set(present)) if column.kind == "text" else len(np.unique(present))


def _without(table: Table, names: Iterable[str]) -> Table:
    gone = set(names)
    return table.select(column.name for column in table.columns if column.name not in gone)


def drop_columns(table: Table, target: str, *, names: Sequence[str]) -> tuple[Table, Step]:
    """Remove the columns of these names that there are."""
    removed = tuple(column.name for column in _features(table, target) if column.name in names)
    return _without(table, removed), Step("drop_columns", {"names": list(names)}, removed=removed)


def binary_as_categories(table: Table, target: str) -> tuple[Table, Step]:
    """Make categories of numbers with exactly two values, and of text."""
    chosen = [
        column
        for column in _features(table, target)
        if column.kind == "text"
        or (column.kind == "numeric" and _n_distinct(column, table.arrays[column.name]) == 2)
    ]
    return _with_categories(table, chosen, Step("binary_as_categories"))


def identifiers_as_categories(table: Table, target: str) -> tuple[Table, Step]:
    """Make categories of numbers in columns that are called like identifiers."""
    chosen = [
        column
        for column in _features(table, target)
        if column.kind == "numeric" and ID_NAME.search(column.name)
    ]
    return _with_categories(table, chosen, Step("identifiers_as_categories"))


def _with_categories(table: Table, chosen: Sequence[Column], step: Step) -> tuple[Table, Step]:
    made = {column.name: _categories(column, table.arrays[column.name]) for column in chosen}
    columns = tuple(made[column.name][0] if column.name in made else column for column in table.columns)
    arrays = {**table.arrays, **{name: values for name, (_, values) in made.items()}}
    return Table(columns, arrays), replace(step, changed=tuple(made))


def _categories(column: Column, values: Array) -> tuple[Column, Array]:
    """Return a column with its values as labels, in sorted order."""
    missing = missing_mask(column, values)
    labels, codes = np.unique(values[~missing].astype(str if column.kind == "text" else values.dtype),
                              return_inverse=True)  # fmt: skip
    out = np.full(len(values), -1, dtype=DTYPES["categorical"])
    out[~missing] = codes
    # Every digit: identifiers may differ in the last one only.
    names = tuple(str(label).removesuffix(".0") for label in labels)
    return replace(column, kind="categorical", categories=names, integer=False), out


def drop_few_values(table: Table, target: str, *, fewest: int = 10) -> tuple[Table, Step]:
    """Remove numeric columns with fewer distinct values."""
    removed = tuple(
        column.name
        for column in _features(table, target)
        if column.kind == "numeric" and _n_distinct(column, table.arrays[column.name]) < fewest
    )
    return _without(table, removed), Step("drop_few_values", {"fewest": fewest}, removed=removed)


def drop_categories(table: Table, target: str) -> tuple[Table, Step]:
    """Remove all columns with categories."""
    removed = tuple(column.name for column in _features(table, target) if column.kind in NOMINAL)
    return _without(table, removed), Step("drop_categories", removed=removed)


def drop_many_categories(table: Table, target: str, *, most: int = 20) -> tuple[Table, Step]:
    """Remove columns with more categories that occur."""
    removed = tuple(
        column.name
        for column in _features(table, target)
        if column.kind in NOMINAL and _n_distinct(column, table.arrays[column.name]) > most
    )
    return _without(table, removed), Step("drop_many_categories", {"most": most}, removed=removed)


def drop_mostly_missing(table: Table, target: str, *, most: float = 0.7) -> tuple[Table, Step]:
    """Remove columns of which a larger share is missing."""
    removed = tuple(
        column.name
        for column in _features(table, target)
        if missing_mask(column, table.arrays[column.name]).mean() > most
    )
    return _without(table, removed), Step("drop_mostly_missing", {"most": most}, removed=removed)


def drop_incomplete_rows(table: Table, target: str) -> tuple[Table, Step]:
    """Remove rows in which anything is missing."""
    is_whole = np.ones(table.n_rows, dtype=bool)
    for column in (*_features(table, target), table.column(target)):
        is_whole &= ~missing_mask(column, table.arrays[column.name])
    kept = np.flatnonzero(is_whole)
    return table.take(kept), Step("drop_incomplete_rows", n_rows_removed=table.n_rows - len(kept))


def balance_two_classes(table: Table, target: str, *, seed: int = 0) -> tuple[Table, Step]:
    """Keep the two largest classes, and of the larger one as many rows as the other has, drawn by chance."""
    values = table.arrays[target]
    classes, counts = np.unique(values, return_counts=True)
    largest = classes[np.argsort(-counts, kind="stable")[:2]]
    size = int(np.sort(counts)[::-1][:2].min())
    random = np.random.RandomState(seed)
    rows = [np.flatnonzero(values == one) for one in largest]
    kept = [own if len(own) == size else random.choice(own, size, replace=False) for own in rows]
    chosen = np.sort(np.concatenate(kept))
    step = Step("balance_two_classes", {"seed": seed}, n_rows_removed=table.n_rows - len(chosen))
    return table.take(chosen), step


def above_median(table: Table, target: str) -> tuple[Table, Step]:
    """Make two classes of a numeric target: above its median, or not."""
    y = table.arrays[target]
    column = replace(table.column(target), kind="categorical", categories=("low", "high"), integer=False)
    columns = tuple(column if one.name == target else one for one in table.columns)
    labels = np.where(np.isnan(y), -1, y > np.nanmedian(y)).astype(DTYPES["categorical"])
    return Table(columns, {**table.arrays, target: labels}), Step("above_median", changed=(target,))


def log_target(table: Table, target: str) -> tuple[Table, Step]:
    """Replace y by sign(y) · log(1 + |y|)."""
    y = table.arrays[target]
    column = replace(table.column(target), integer=False)
    columns = tuple(column if one.name == target else one for one in table.columns)
    arrays = {**table.arrays, target: np.sign(y) * np.log1p(np.abs(y))}
    return Table(columns, arrays), Step("log_target", changed=(target,))
