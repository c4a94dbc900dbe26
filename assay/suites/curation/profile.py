"""What each column of a data set is like: missing, distinct and most frequent values, and what these hint at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.data.table import Array, Table, missing_mask
from assay.data.task import Column
from assay.vocabulary import ColumnKind

__all__ = ["ColumnProfile", "profile_columns"]

NEARLY_ALL = 0.99  # of the rows have the same value: a column that tells next to nothing
ALMOST_ALL_DISTINCT = 0.95


@dataclass(frozen=True)
class ColumnProfile:
    """One column of a data set.

    Attributes:
        n_distinct: values that occur, missing ones apart.
        n_most_frequent: rows with the most frequent value; a gap counts as a value here.
        n_zero: rows with the number 0, or the first category.
        is_whole: all its numbers are whole.
    """

    name: str
    kind: ColumnKind
    n_rows: int
    n_missing: int
    n_distinct: int
    n_most_frequent: int
    n_zero: int
    is_whole: bool

    @property
    def is_symbolic(self) -> bool:
        """Whether it has categories."""
        return self.kind in ("categorical", "boolean")

    @property
    def is_constant(self) -> bool:
        """Whether it has one value at most."""
        return self.n_distinct <= 1

    @property
    def is_nearly_constant(self) -> bool:
        """Whether 99 % of the rows have the same value, or none."""
        return self.n_most_frequent >= NEARLY_ALL * self.n_rows

    @property
    def hints(self) -> tuple[str, ...]:
        """Return what a person should look at before the column is used."""
        if self.n_rows == 0:
            return ()
        found = []
        if self.is_constant:
            found.append("constant")
        elif self.is_nearly_constant:
            found.append("nearly constant")
        # Numbers with a fraction are distinct by nature.
        if (
            self.n_rows > 1
            and self.kind != "date"
            and (self.is_symbolic or self.kind == "text" or self.is_whole)
        ):
            if self.n_distinct == self.n_rows:
                found.append("a different value in every row: an identifier?")
            elif self.n_distinct >= ALMOST_ALL_DISTINCT * self.n_rows:
                found.append("a different value in nearly every row: an identifier?")
        if self.kind == "date":
            found.append("a date: may the rows be mixed in time?")
        return tuple(found)


def profile_columns(table: Table) -> list[ColumnProfile]:
    """Return the profile of every column, in their order."""
    return [_profile(column, table.arrays[column.name]) for column in table.columns]


def _profile(column: Column, values: Array) -> ColumnProfile:
    missing = missing_mask(column, values)
    present, n_missing = values[~missing], int(missing.sum())
    counts = _count(column, present)
    is_number = column.kind == "numeric"
    return ColumnProfile(
        name=column.name,
        kind=column.kind,
        n_rows=len(values),
        n_missing=n_missing,
        n_distinct=len(counts),
        n_most_frequent=max(n_missing, max(counts, default=0)),
        n_zero=int((present == 0).sum()) if column.kind != "text" else 0,
        is_whole=is_number and bool((present == np.trunc(present)).all()),
    )


def _count(column: Column, present: Array) -> Sequence[int]:
    """Return how often each value occurs."""
    if column.kind in ("categorical", "boolean"):
        counts = np.bincount(present)
        return [int(count) for count in counts[counts > 0]]
    _, counts = np.unique(present.astype(str) if column.kind == "text" else present, return_counts=True)
    return [int(count) for count in counts]
