"""Understand the columns of a file: strings become numbers, booleans, dates, categories or text.

The rules, tried in this order on the values that are not missing:

1. what the user declared (`kind`, `categories`) is taken;
2. only numbers → numeric; more than 90 % numbers but not all → an error that asks for a declaration;
3. exactly two values that are true/false, t/f or yes/no in any case → boolean;
4. only ISO dates (`2024-05-17`, `2024-05-17 08:30:00Z`, …) → date, in UTC where no offset is given;
5. few distinct values (at most 20, or 5 % of the rows), or repeated and short ones (distinct at most half of
   the rows, 30 characters on average) → categorical, with labels exactly as they stand;
6. else text.

In files without types (CSV, TSV) the values `MISSING` mean "missing", unless declared as a category. Strings
of typed files (Parquet, ARFF) never become numbers. The target's strings are always categories. A column
without any value is numeric. Categories are sorted, as numbers if all of them are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assay.data.parse import ISO_DATE, is_boolean_pair, parse_dates, parse_numbers, sort_labels, which_numbers
from assay.data.raw import RawColumn, RawTable, TypedColumn
from assay.data.table import MISSING_DATE, Array, Table, missing_mask
from assay.data.task import Column, ColumnKind, Role
from assay.errors import ConfigError, DataError
from assay.plugins import suggest

__all__ = ["MISSING", "infer_table", "labels_of"]

MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "None", "?"})
_KINDS = ("numeric", "categorical", "boolean", "date", "text")
_MOSTLY_NUMBERS = 0.9


def infer_table(raw: RawTable, declared: Mapping[str, Mapping[str, Any]], target: str) -> Table:
    """Return the table of a raw one; `declared` may name `kind`, `role` and `categories` per column."""
    names = [column.name for column in raw.columns]
    for name in declared:
        if name not in names:
            raise ConfigError(f"Unknown column '{name}' declared for {raw.source}. {suggest(name, names)}")
    columns, arrays = [], {}
    for part in raw.columns:
        said = declared.get(part.name, {})
        column, values = _understand(part, said, raw.source, is_target=part.name == target)
        if column.kind == "numeric":
            _refuse_infinite(column, values, raw.source)
        role: Role = "target" if part.name == target else said.get("role", "feature")
        whole = column.kind == "numeric" and bool(np.all(np.mod(values, 1) == 0))
        columns.append(replace(column, role=role, integer=whole))
        arrays[part.name] = values
    return Table(tuple(columns), arrays)


def _understand(
    part: RawColumn, said: Mapping[str, Any], source: str, is_target: bool
) -> tuple[Column, Array]:
    kind, categories = said.get("kind"), said.get("categories")
    place = f"column '{part.name}' of {source}"
    if kind is not None and kind not in _KINDS:
        raise ConfigError(f"Unknown kind '{kind}' for {place}. {suggest(str(kind), _KINDS)}")
    if isinstance(part, TypedColumn):
        if categories is None and (kind is None or kind == part.column.kind):
            return part.column, part.values
        labels, codes = labels_of(part)
        missing: frozenset[str] = frozenset()
    else:
        labels, codes = part.encode()
        missing = MISSING if part.may_be_number else frozenset()
    if categories is not None:
        if kind not in (None, "categorical"):
            raise ConfigError(
                f"Categories are given for {place}, whose kind is {kind}. Say 'kind: categorical'."
            )
        return _declared_categories(
            part.name, labels, codes, [str(item) for item in categories], missing, place
        )
    labels, codes = _without_missing(labels, codes, missing)
    numbers_allowed = isinstance(part, TypedColumn) or part.may_be_number
    kind = kind or _infer_kind(labels, codes, place, numbers_allowed, is_target)
    return _encode(part.name, kind, labels, codes, place)


def _without_missing(labels: list[str], codes: Array, missing: frozenset[str]) -> tuple[list[str], Array]:
    keep = [label for label in labels if label not in missing]
    if len(keep) == len(labels):
        return labels, codes
    new = {label: code for code, label in enumerate(keep)}
    return keep, np.array([*(new.get(label, -1) for label in labels), -1], dtype=np.int32)[codes]


def _infer_kind(labels: list[str], codes: Array, place: str, numbers: bool, is_target: bool) -> ColumnKind:
    n_values = int(np.count_nonzero(codes >= 0))
    if not n_values:
        return "numeric"
    if numbers:
        is_number = which_numbers(labels)
        if is_number.all():
            return "numeric"
        row_is_number = np.append(is_number, False)[codes]
        if np.count_nonzero(row_is_number) > _MOSTLY_NUMBERS * n_values:
            row = int(np.flatnonzero((codes >= 0) & ~row_is_number)[0])
            raise DataError(
                f"{_capital(place)} holds numbers, but row {row + 1} has '{_cut(labels[codes[row]])}'. "
                "Mend the "
                "value, leave it empty if it is missing, or declare the column with 'kind: categorical'."
            )
    if is_target:
        return "categorical"
    if is_boolean_pair(labels):
        return "boolean"
    if all(ISO_DATE.match(label) for label in labels) and parse_dates(labels) is not None:
        return "date"
    return "categorical" if _is_categorical(labels, codes, n_values) else "text"


def _is_categorical(labels: Sequence[str], codes: Array, n_values: int) -> bool:
    if len(labels) <= max(20, 0.05 * n_values):
        return True
    lengths = np.array([len(label) for label in labels])
    mean_length = float(lengths[codes[codes >= 0]].mean())
    return len(labels) <= 0.5 * n_values and mean_length <= 30


def _encode(name: str, kind: ColumnKind, labels: list[str], codes: Array, place: str) -> tuple[Column, Array]:
    if kind == "categorical":
        ordered = sort_labels(labels)
        new = {label: code for code, label in enumerate(ordered)}
        lookup = np.array([*(new[label] for label in labels), -1], dtype=np.int32)
        return Column(name, kind, categories=tuple(ordered)), lookup[codes]
    if kind == "numeric":
        return Column(name, kind), np.append(_numbers(labels, codes, place), np.nan)[codes]
    if kind == "boolean":
        if labels and not is_boolean_pair(labels, one_is_enough=True):
            raise DataError(
                f"{_capital(place)} is declared boolean, but its values are {_some(labels)}. "
                "Use true and false, or declare it with 'kind: categorical'."
            )
        truth = [label.lower() in {"true", "t", "yes", "1"} for label in labels]
        return Column(name, kind), np.array([*truth, -1], dtype=np.int8)[codes]
    if kind == "date":
        dates = parse_dates(labels)
        if dates is None:
            raise DataError(
                f"{_capital(place)} is declared as date, but not all of its values are ISO dates from 1678 "
                "to "
                f"2261: {_some(labels)}. Write them as YYYY-MM-DD, or declare it with 'kind: text'."
            )
        return Column(name, kind), np.append(dates, MISSING_DATE)[codes]
    return Column(name, "text"), np.array([*labels, None], dtype=object)[codes]


def _numbers(labels: list[str], codes: Array, place: str) -> Array:
    numbers, problem, bad = parse_numbers(labels)
    if problem:
        row = int(np.flatnonzero(codes == bad)[0])
        remedy = "'kind: categorical' if it is a label, 'role: ignore' if it is an identifier"
        raise DataError(
            f"{_capital(place)}, row {row + 1}: '{_cut(labels[bad])}' {problem}. Mend the value, or declare "
            f"the column with {remedy}."
        )
    return numbers


def _declared_categories(
    name: str, labels: list[str], codes: Array, categories: list[str], missing: frozenset[str], place: str
) -> tuple[Column, Array]:
    if len(set(categories)) != len(categories):
        raise ConfigError(f"The categories declared for {place} hold a label twice. Name each once.")
    known = {label: code for code, label in enumerate(categories)}
    for code, label in enumerate(labels):
        if label not in known and label not in missing:
            row = int(np.flatnonzero(codes == code)[0])
            raise DataError(
                f"{_capital(place)}, row {row + 1}: '{_cut(label)}' is not among the declared categories "
                f"({_some(categories)}). Add it to 'categories', or mend the value."
            )
    lookup = np.array([*(known.get(label, -1) for label in labels), -1], dtype=np.int32)
    return Column(name, "categorical", categories=tuple(categories)), lookup[codes]


def labels_of(part: TypedColumn) -> tuple[list[str], Array]:
    """Return the values of a typed column as labels, for a user who wants another kind than the file's."""
    column, values = part.column, part.values
    if column.kind == "categorical":
        return list(column.categories), values
    if column.kind == "boolean":
        return ["False", "True"], values.astype(np.int32)
    present = ~missing_mask(column, values)
    distinct, inverse = np.unique(values[present], return_inverse=True)
    if column.kind == "numeric":
        labels = [str(int(value)) if value == int(value) else repr(float(value)) for value in distinct]
    elif column.kind == "date":
        labels = [str(np.datetime64(int(value), "ns")) for value in distinct]
    else:
        labels = [str(value) for value in distinct]
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[present] = inverse
    return labels, codes


def _refuse_infinite(column: Column, values: Array, source: str) -> None:
    rows = np.flatnonzero(np.isinf(values))
    if len(rows):
        raise DataError(
            f"Column '{column.name}' of {source}, row {rows[0] + 1}: the value is infinite "
            f"({len(rows)} such rows). Replace it by a number, or leave it empty."
        )


def _cut(label: str) -> str:
    return label if len(label) <= 40 else label[:37] + "..."


def _some(labels: Sequence[str]) -> str:
    shown = ", ".join(f"'{_cut(label)}'" for label in labels[:5])
    return shown + (", …" if len(labels) > 5 else "")


def _capital(place: str) -> str:
    return place[0].upper() + place[1:]
