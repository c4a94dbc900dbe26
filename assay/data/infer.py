"""Understand the columns of a file: strings become numbers, booleans, dates, categories or text.

The rules, tried in this order on the values that are not missing:

1. what the user declared (`kind`, `categories`) is taken;
2. only numbers → numeric; more than 90 % numbers but not all → an error that asks for a declaration;
3. exactly two values that are true/false, t/f or yes/no in any case → boolean;
4. only dates → date, in UTC where no offset is given; more than 90 % dates but not all → an error;
5. few distinct values (at most 20, or 5 % of the rows), or repeated and short ones (distinct at most half of
   the rows, 30 characters on average) → categorical, with labels exactly as they stand;
6. else text.

How numbers and dates may be written is in `numbers` and `dates`; which decimal mark and which order of dates a file
uses, and which values mean "missing" in files without types (CSV, TSV), is in `style`. Strings of typed files
(Parquet, ARFF) never become numbers. The target's strings are always categories. A column without any value is
numeric. Categories without a declared order are sorted, as numbers if all of them are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.data.dates import is_date_like, read_dates
from assay.data.numbers import is_number_like, read_number_labels
from assay.data.parse import NUMBER, is_boolean_pair, parse_numbers, sort_labels
from assay.data.raw import RawColumn, RawTable, TypedColumn
from assay.data.style import (
    MISSING,
    MISSING_IN_LABELS,
    MISSING_IN_NUMBERS,
    FileStyle,
    LabelStudy,
    study_labels,
)
from assay.data.table import MISSING_DATE, Array, Table, missing_mask
from assay.data.task import Column
from assay.data.written import Written
from assay.errors import ConfigError, DataError
from assay.plugins import suggest
from assay.vocabulary import ColumnKind, ColumnRole

__all__ = ["infer_table", "labels_of"]

_KINDS = ("numeric", "categorical", "boolean", "date", "text")
_MOSTLY = 0.9


@dataclass(frozen=True, eq=False)
class _Labels:
    """A column as distinct labels, the code of each row's label (-1 is missing), and what is known of it.

    Attributes:
        has_types: whether the file has types of its own, so that strings are meant as strings.
        kind: as declared, or None.
        dropped: labels that mean "missing" here, though they are none of the usual markers.
    """

    name: str
    place: str
    labels: list[str]
    codes: Array
    has_types: bool
    kind: ColumnKind | None
    is_target: bool
    study: LabelStudy
    dropped: tuple[str, ...] = ()

    @property
    def n_values(self) -> int:
        return int(np.count_nonzero(self.codes >= 0))

    def without(self, missing: Collection[str]) -> _Labels:
        """Return the column with more labels read as missing; spaces around a marker do not count."""
        gone = [label for label in self.labels if label.strip() in missing]
        if not gone:
            return self
        keep = [label for label in self.labels if label.strip() not in missing]
        new = {label: code for code, label in enumerate(keep)}
        codes = np.array([*(new.get(label, -1) for label in self.labels), -1], dtype=np.int32)[self.codes]
        unusual = [label.strip() for label in gone if label.strip() not in MISSING]
        return replace(self, labels=keep, codes=codes, dropped=(*self.dropped, *unusual))


def infer_table(raw: RawTable, declared: Mapping[str, Mapping[str, Any]], target: str) -> Table:
    """Return the table of a raw one; `declared` may name `kind`, `role` and `categories` per column."""
    names = [column.name for column in raw.columns]
    for name in declared:
        if name not in names:
            raise ConfigError(f"Unknown column '{name}' declared for {raw.source}. {suggest(name, names)}")
    parts = [_prepare(part, declared.get(part.name, {}), raw, part.name == target) for part in raw.columns]
    style = FileStyle.from_columns(
        (part.study for part in parts if isinstance(part, _Labels)), raw.csv, raw.delimiter
    )
    columns, arrays, written = [], {}, Written()
    for part in parts:
        name = part.name if isinstance(part, _Labels) else part[0].name
        role: ColumnRole = "target" if name == target else declared.get(name, {}).get("role", "feature")
        column, values = _values(part, style, written, role)
        if column.kind == "numeric" and role != "ignore":
            _refuse_infinite(column, values, raw.source)
        whole = column.kind == "numeric" and bool(np.all(np.mod(values, 1) == 0))
        columns.append(replace(column, role=role, integer=whole))
        arrays[column.name] = values
    return Table(tuple(columns), arrays, (*raw.notes, *written.notes()))


def _values(
    part: tuple[Column, Array] | _Labels, style: FileStyle, written: Written, role: ColumnRole
) -> tuple[Column, Array]:
    if not isinstance(part, _Labels):
        return part
    try:
        return _encode(part, style, written)
    except DataError:
        if role != "ignore":
            raise
        return _encode(replace(part, kind="text"), style, written)  # nobody learns from it


def _prepare(
    part: RawColumn, declared: Mapping[str, Any], raw: RawTable, is_target: bool
) -> tuple[Column, Array] | _Labels:
    """Return a column that is known already, or its labels with what they could be."""
    kind, categories = declared.get("kind"), declared.get("categories")
    place = f"Column '{part.name}' of {raw.source}"
    if kind is not None and kind not in _KINDS:
        raise ConfigError(
            f"Unknown kind '{kind}' for column '{part.name}' of {raw.source}. {suggest(str(kind), _KINDS)}"
        )
    if isinstance(part, TypedColumn):
        if categories is None and (kind is None or kind == part.column.kind):
            return part.column, part.values
        labels, codes = labels_of(part)
        has_types = True
    else:
        labels, codes = part.encode()
        has_types = not part.may_be_number
    usual = MISSING if raw.csv.missing is None else frozenset({"", *raw.csv.missing})
    missing = frozenset() if has_types else usual
    if categories is not None:
        if kind not in (None, "categorical"):
            raise ConfigError(
                f"{place} has declared categories, but its kind is {kind}. Say 'kind: categorical'."
            )
        return _declared_categories(
            part.name, labels, codes, [str(item) for item in categories], missing, place
        )
    prepared = _Labels(part.name, place, labels, codes, has_types, kind, is_target, LabelStudy()).without(
        missing
    )
    if kind in ("categorical", "text", "boolean"):
        return prepared
    study = study_labels(prepared.labels)
    if has_types and kind is None:
        # Strings that a typed file holds as strings are never numbers, and dates only where there is no doubt.
        is_certain = study.dates is not None and len(study.dates.orders) == 1
        return replace(prepared, study=LabelStudy(dates=study.dates if is_certain else None))
    prepared = replace(prepared, study=study)
    return prepared if raw.csv.missing is not None else _without_unusual(prepared)


def _without_unusual(part: _Labels) -> _Labels:
    """Drop markers that mean "missing" only among certain values, such as a dash among numbers."""
    if part.has_types:
        return part
    mostly = part.study.numbers or part.study.dates or _share(part, is_number_like) > _MOSTLY
    if mostly:
        return part.without(MISSING_IN_NUMBERS)
    if part.is_target:
        return part
    return part.without(MISSING_IN_LABELS - ({"-"} if "+" in part.labels else set()))


def _share(part: _Labels, is_such: Callable[[str], object]) -> float:
    """Return the share of the values that are such, apart from markers of missing values among numbers."""
    counts = np.bincount(part.codes[part.codes >= 0], minlength=len(part.labels))
    values = [
        (label, count)
        for label, count in zip(part.labels, counts, strict=True)
        if label.strip() not in MISSING_IN_NUMBERS
    ]
    total = sum(count for _, count in values)
    return sum(count for label, count in values if is_such(label)) / total if total else 0.0


def _infer_kind(part: _Labels) -> ColumnKind:
    if not part.n_values or part.study.numbers:
        return "numeric"
    if not part.has_types:
        _refuse_a_few(part, lambda label: bool(NUMBER.match(label)) or is_number_like(label), "numbers")
        if all(NUMBER.match(label) or is_number_like(label) for label in part.labels):
            return "numeric"  # some are infinite, which is refused later
    if part.is_target:
        return "categorical"
    if is_boolean_pair(part.labels):
        return "boolean"
    if part.study.dates:
        return "date"
    if not part.has_types:
        _refuse_a_few(part, lambda label: is_date_like(label) and _is_a_day(label), "dates")
    return "categorical" if _is_categorical(part) else "text"


def _is_a_day(label: str) -> bool:
    return any(read_dates([label], order) is not None for order in ("dmy", "mdy", "ymd"))


def _refuse_a_few(part: _Labels, is_such: Callable[[str], object], what: str) -> None:
    """Refuse a column in which nearly all values are such but a few are not: hardly anybody means that."""
    such = np.array([is_such(label) for label in part.labels], dtype=bool)
    row_is_such = np.append(such, False)[part.codes]
    if such.all() or np.count_nonzero(row_is_such) <= _MOSTLY * part.n_values:
        return
    row = int(np.flatnonzero((part.codes >= 0) & ~row_is_such)[0])
    raise DataError(
        f"{part.place} holds {what}, but row {row + 1} has '{_cut(part.labels[part.codes[row]])}'. Fix the "
        "value, leave it empty if it is missing, or declare the column with 'kind: categorical'."
    )


def _is_categorical(part: _Labels) -> bool:
    if len(part.labels) <= max(20, 0.05 * part.n_values):
        return True
    lengths = np.array([len(label) for label in part.labels])
    mean_length = float(lengths[part.codes[part.codes >= 0]].mean())
    return len(part.labels) <= 0.5 * part.n_values and mean_length <= 30


def _encode(part: _Labels, style: FileStyle, written: Written) -> tuple[Column, Array]:
    kind = part.kind or _infer_kind(part)
    written.missing += [(part.name, label) for label in part.dropped]
    if kind == "categorical":
        ordered = sort_labels(part.labels)
        new = {label: code for code, label in enumerate(ordered)}
        lookup = np.array([*(new[label] for label in part.labels), -1], dtype=np.int32)
        return Column(part.name, kind, categories=tuple(ordered)), lookup[part.codes]
    if kind == "numeric":
        return Column(part.name, kind), np.append(_numbers(part, style, written), np.nan)[part.codes]
    if kind == "boolean":
        return Column(part.name, kind), np.array([*_booleans(part), -1], dtype=np.int8)[part.codes]
    if kind == "date":
        return Column(part.name, kind), np.append(_dates(part, style, written), MISSING_DATE)[part.codes]
    return Column(part.name, "text"), np.array([*part.labels, None], dtype=object)[part.codes]


def _booleans(part: _Labels) -> list[bool]:
    if part.labels and not is_boolean_pair(part.labels, one_is_enough=True):
        raise DataError(
            f"{part.place} is declared boolean, but its values are {_some(part.labels)}. "
            "Use true and false, or declare it with 'kind: categorical'."
        )
    return [label.lower() in {"true", "t", "yes", "1"} for label in part.labels]


def _numbers(part: _Labels, style: FileStyle, written: Written) -> Array:
    study = part.study.numbers
    decimal = style.decimal_for(study, part.place) if study else style.options.decimal or "point"
    if study and study.mixes_units:
        units = " and ".join(study.units) if len(study.units) > 1 else f"{study.units[0]} and none"
        raise DataError(
            f"{part.place} has values in different units: {units}. Write all of them in one unit, or declare the "
            "column with 'kind: categorical'."
        )
    labels: Sequence[str | None] = part.labels
    if decimal == "comma" or study is None or study.is_styled:
        labels = read_number_labels(part.labels, decimal)
        labels = [
            text or (label if NUMBER.match(label) and decimal == "point" else None)
            for text, label in zip(labels, part.labels, strict=True)
        ]
        if None in labels:
            problem = f"is not a number with a decimal {decimal}" if study else "is not a number"
            _refuse_number(part, labels.index(None), problem)
    if study:
        written.add_numbers(part.name, part.labels, decimal, study)
    numbers, problem, bad = parse_numbers([text for text in labels if text is not None])
    if problem:
        _refuse_number(part, bad, problem)
    return numbers


def _refuse_number(part: _Labels, code: int, problem: str) -> None:
    row = int(np.flatnonzero(part.codes == code)[0])
    remedy = "'kind: categorical' if it is a label, 'role: ignore' if it is an identifier"
    raise DataError(
        f"{part.place}, row {row + 1}: '{_cut(part.labels[code])}' {problem}. Fix the value, or declare "
        f"the column with {remedy}."
    )


def _dates(part: _Labels, style: FileStyle, written: Written) -> Array:
    study = part.study.dates
    if study is None:
        raise DataError(
            f"{part.place} is declared as date, but not all of its values are dates of one form from 1678 to "
            f"2261: {_some(part.labels)}. Write them as YYYY-MM-DD, or declare it with 'kind: text'."
        )
    order = style.order_for(study, part.place)
    written.dates += [(part.name, order)] if study.example and study.orders != ("ymd",) else []
    dates = read_dates(part.labels, order)
    if dates is None:
        raise DataError(
            f"{part.place}: '{study.example}' and others are not all dates in the order {order}. Choose another "
            "order with the csv option 'dates', or declare the column with 'kind: text'."
        )
    return dates


def _declared_categories(
    name: str, labels: list[str], codes: Array, categories: list[str], missing: frozenset[str], place: str
) -> tuple[Column, Array]:
    if len(set(categories)) != len(categories):
        raise ConfigError(f"{place}: a label stands twice among the declared categories. Name each once.")
    code_of = {label: code for code, label in enumerate(categories)}
    for code, label in enumerate(labels):
        if label not in code_of and label not in missing:
            row = int(np.flatnonzero(codes == code)[0])
            raise DataError(
                f"{place}, row {row + 1}: '{_cut(label)}' is not among the declared categories "
                f"({_some(categories)}). Add it to 'categories', or fix the value."
            )
    lookup = np.array([*(code_of.get(label, -1) for label in labels), -1], dtype=np.int32)
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
