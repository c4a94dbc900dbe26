"""A table as it stood in the file: strings still to be understood, and values that the file itself typed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from assay.data.csv_options import CsvOptions
from assay.data.parse import sort_labels
from assay.data.table import Array
from assay.data.task import Column
from assay.errors import DataError

__all__ = ["RawColumn", "RawTable", "StringColumn", "TypedColumn", "stack", "with_sorted_labels"]


@dataclass(frozen=True, eq=False)
class StringColumn:
    """A column of strings, kept compactly as pyarrow string arrays; null is missing.

    `may_be_number` says that the format has nothing but strings (CSV), so that "12" may mean twelve, and
    "NA" that nothing is known.
    """

    name: str
    chunks: tuple[Any, ...]
    may_be_number: bool

    def encode(self) -> tuple[list[str], Array]:
        """Return the distinct strings as they appear, and per row the code of its string (-1 null)."""
        import pyarrow as pa

        encoded = (
            pa.chunked_array(list(self.chunks), type=pa.large_string()).combine_chunks().dictionary_encode()
        )
        if isinstance(encoded, pa.ChunkedArray):
            encoded = (
                encoded.chunk(0)
                if encoded.num_chunks
                else pa.array([], pa.large_string()).dictionary_encode()
            )
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
        return encoded.dictionary.to_pylist(), codes


@dataclass(frozen=True, eq=False)
class TypedColumn:
    """A column whose kind the file declares, already in the canonical encoding."""

    column: Column
    values: Array

    @property
    def name(self) -> str:
        """Return the column's name."""
        return self.column.name


RawColumn = StringColumn | TypedColumn


@dataclass(frozen=True, eq=False)
class RawTable:
    """The columns of one or several files, and what to call them in a message.

    `csv` holds what the user said about the file; `notes` say how it was read where that is not the usual way, and
    `delimiter` is that of a delimited file. `sorted_before` names the columns whose labels were sorted in version 1
    of the table digest.
    """

    source: str
    columns: tuple[RawColumn, ...]
    n_rows: int
    csv: CsvOptions = field(default_factory=CsvOptions)
    notes: tuple[str, ...] = ()
    sorted_before: frozenset[str] = frozenset()
    delimiter: str = ""

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for column in self.columns:
            if column.name in seen:
                raise DataError(
                    f"Column '{column.name}' stands twice in {self.source}. Rename one of the two."
                )
            seen.add(column.name)
        if not self.columns:
            raise DataError(
                f"{self.source} has no columns. Give a table with a header and at least one column."
            )
        if self.n_rows == 0:
            raise DataError(f"{self.source} has a header but no rows. Add rows below the header.")


def stack(tables: Sequence[RawTable]) -> RawTable:
    """Return the rows of several tables below each other, with the columns of the first.

    Columns may stand in another order; one that is missing, too many or of another kind is an error.
    """
    first = tables[0]
    names = [column.name for column in first.columns]
    for table in tables[1:]:
        others = {column.name for column in table.columns}
        for name in names:
            if name not in others:
                raise DataError(
                    f"{table.source} lacks the column '{name}' of {first.source}. "
                    "Train and test files need the same columns, the target included."
                )
        for name in sorted(others - set(names)):
            raise DataError(
                f"{table.source} has a column '{name}' that {first.source} lacks. Drop or add it."
            )
    parts = [{column.name: column for column in table.columns} for table in tables]
    columns = tuple(_stack_column([part[name] for part in parts], tables) for name in names)
    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    sorted_before = frozenset(name for table in tables for name in table.sorted_before)
    n_rows = sum(table.n_rows for table in tables)
    return RawTable(first.source, columns, n_rows, first.csv, notes, sorted_before, first.delimiter)


def with_sorted_labels(part: TypedColumn) -> TypedColumn:
    """Return a categorical column with its labels sorted, as numbers if all of them are."""
    labels = part.column.categories
    ordered = sort_labels(labels)
    position = {label: code for code, label in enumerate(ordered)}
    new = np.array([*(position[label] for label in labels), -1], dtype=np.int32)
    return TypedColumn(replace(part.column, categories=tuple(ordered)), new[part.values])


def _stack_column(parts: list[RawColumn], tables: Sequence[RawTable]) -> RawColumn:
    first = parts[0]
    for part, table in zip(parts[1:], tables[1:], strict=True):
        same = isinstance(part, StringColumn) == isinstance(first, StringColumn)
        if not same or (isinstance(part, TypedColumn) and part.column.kind != first.column.kind):  # type: ignore[union-attr]
            raise DataError(
                f"Column '{first.name}' has another type in {table.source} than in {tables[0].source}. "
                "Write both files with the same types."
            )
    strings = [part for part in parts if isinstance(part, StringColumn)]
    if strings:
        chunks = tuple(chunk for part in strings for chunk in part.chunks)
        return StringColumn(first.name, chunks, strings[0].may_be_number)
    return _stack_typed([part for part in parts if isinstance(part, TypedColumn)])


def _stack_typed(parts: list[TypedColumn]) -> TypedColumn:
    first = parts[0].column
    labels: dict[str, int] = {}
    values = []
    for part in parts:
        if first.kind == "categorical":
            codes = [labels.setdefault(label, len(labels)) for label in part.column.categories]
            values.append(np.array([*codes, -1], dtype=np.int32)[part.values])
        else:
            values.append(part.values)
    whole = all(part.column.integer for part in parts)
    return TypedColumn(
        Column(first.name, first.kind, first.role, tuple(labels), whole), np.concatenate(values)
    )
