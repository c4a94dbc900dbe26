"""Make a task of a loaded table: its target, type, classes, roles, splits and facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.data.digest import digest_table
from assay.data.facts import compute_facts
from assay.data.infer import infer_table
from assay.data.raw import TypedColumn, with_sorted_labels
from assay.data.source import Loaded
from assay.data.split_spec import SplitSpec, parse_split
from assay.data.splits import Splits, Strata
from assay.data.table import Array, Table, missing_mask
from assay.data.target import choose_classes, encode_target
from assay.data.task import Column, TaskRequest
from assay.errors import ConfigError, DataError
from assay.plugins import suggest
from assay.vocabulary import COLUMN_ROLES, TaskType

__all__ = ["Draft", "draft_task", "given_splits", "pick_target", "strata_of"]

TARGET_NAMES = ("target", "class", "label", "y")
_ROLES = tuple(role for role in COLUMN_ROLES if role != "target")


@dataclass(frozen=True, eq=False)
class Draft:
    """A task that lacks nothing but its folds."""

    table: Table
    target: str
    type: TaskType
    classes: tuple[str, ...]
    y: Array
    spec: SplitSpec
    data_digest: str
    data_digest_v1: str
    facts: Mapping[str, float]


def draft_task(request: TaskRequest, loaded: Loaded) -> Draft:
    """Understand a loaded table as the request wants it."""
    spec = parse_split(request.split, request.where)
    declared = _declarations(request, loaded, spec)
    target = pick_target(request, loaded, declared)
    table = infer_table(loaded.raw, declared, target)
    _check_columns(table, loaded.raw.source)
    column = table.column(target)
    _refuse_missing(column, table.arrays[target], loaded.raw.source)
    kind, classes = choose_classes(column, table.arrays[target], request, loaded)
    y = encode_target(column, table.arrays[target], classes)
    n = loaded.n_counted or table.n_rows
    counted = table.take(np.arange(n)) if n < table.n_rows else table
    facts = compute_facts(counted, y[:n] if classes else None, len(classes))
    earlier = _version_1(table, loaded.raw.sorted_before)
    return Draft(table, target, kind, classes, y, spec, digest_table(table), earlier, facts)


def _version_1(table: Table, sorted_before: frozenset[str]) -> str:
    """Return the digest as version 1 had it, or nothing where it was the same."""
    affected = [
        column for column in table.columns if column.name in sorted_before and column.kind == "categorical"
    ]
    if not affected:
        return ""
    parts = {
        column.name: with_sorted_labels(TypedColumn(column, table.arrays[column.name])) for column in affected
    }
    columns = tuple(parts[column.name].column if column.name in parts else column for column in table.columns)
    return digest_table(
        Table(columns, {**table.arrays, **{name: part.values for name, part in parts.items()}})
    )


def _remedy(asked: str, names: list[str]) -> str:
    """Return what may have been meant; one column that has the name in it was cut at the wrong sign."""
    if len(names) == 1 and asked in names[0]:
        return f"There is one column only, '{names[0]}': write the file with commas, semicolons or tabs between values."
    return suggest(asked, names)


def pick_target(request: TaskRequest, loaded: Loaded, declared: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the target: as asked, as the source says, a column of a usual name, or else the last column."""
    names = [column.name for column in loaded.raw.columns]
    asked = request.target or next(
        (name for name, item in request.columns.items() if item.get("role") == "target"), ""
    )
    if asked:
        if asked not in names:
            place = f" {request.where}" if request.where else ""
            raise ConfigError(
                f"There is no target column '{asked}' in {loaded.raw.source}{place}. {_remedy(asked, names)}"
            )
        return asked
    if loaded.target:
        return loaded.target
    free = [name for name in names if declared.get(name, {}).get("role", "feature") == "feature"]
    for usual in TARGET_NAMES:
        for name in free:
            if name.lower() == usual:
                return name
    if not free:
        raise DataError(f"No column of {loaded.raw.source} is left to be the target. Name one with 'target'.")
    return free[-1]


def strata_of(draft: Draft, source: str) -> Strata:
    """Return what the folds of a draft are made from."""
    spec, table = draft.spec, draft.table
    groups = times = labels = None
    if spec.kind == "grouped":
        name = spec.group or _by_role(table, "group", source)
        groups = _group_codes(table, name, source)
    elif spec.kind == "temporal":
        times = _times(table, spec.time or _by_role(table, "time", source), source)
    elif spec.kind == "predefined":
        labels = _group_codes(table, spec.column, source)
    return Strata(
        n_rows=table.n_rows,
        source=source,
        classes=draft.y if draft.classes else None,
        class_names=draft.classes,
        groups=groups,
        times=times,
        labels=labels,
    )


def given_splits(loaded: Loaded, spec: SplitSpec) -> Splits | None:
    """Return the source's own folds, if any; of a `given` split with `folds`, the first of repeat 0."""
    if spec.kind != "given":
        return loaded.splits
    if loaded.splits is None:
        raise ConfigError(
            f"A split of kind 'given' is asked for, but {loaded.raw.source} comes without one. Choose "
            "another kind."
        )
    if spec.folds is None:
        return loaded.splits
    first = min(repeat for repeat, *_ in loaded.splits.folds)
    folds = tuple(fold for fold in loaded.splits.folds if fold[0] == first)
    if len(folds) < spec.folds:
        raise DataError(
            f"{loaded.raw.source} has {len(folds)} folds, not {spec.folds}. Ask for fewer 'folds'."
        )
    return Splits(folds[: spec.folds])


def _declarations(request: TaskRequest, loaded: Loaded, spec: SplitSpec) -> dict[str, dict[str, Any]]:
    """Join what the source, the split and the user say of the columns; the user goes first."""
    names = [column.name for column in loaded.raw.columns]
    declared = {name: dict(item) for name, item in loaded.columns.items()}
    for key, name, role in (
        ("group", spec.group, "group"),
        ("time", spec.time, ""),
        ("column", spec.column, "ignore"),
    ):
        if name and name not in names:
            raise ConfigError(
                f"There is no column '{name}', named by '{key}' in the split, in {loaded.raw.source}. "
                f"{suggest(name, names)}"
            )
        if name and role:
            declared.setdefault(name, {}).setdefault("role", role)
    for name, item in request.columns.items():
        role = item.get("role", "feature")
        if role not in (*_ROLES, "target"):
            raise ConfigError(
                f"Unknown role '{role}' for column '{name}' of {loaded.raw.source}. "
                f"{suggest(str(role), _ROLES)}"
            )
        if role == "target" and request.target not in ("", name):
            raise ConfigError(
                f"Column '{name}' of {loaded.raw.source} has the role target, but the target is '{request.target}'. "
                "Name one of them."
            )
        declared[name] = {**declared.get(name, {}), **item}
    return declared


def _check_columns(table: Table, source: str) -> None:
    if not any(column.role == "feature" for column in table.columns):
        raise DataError(
            f"{source} has no feature: its only column besides those with a role is the target. "
            "Give a table with at least two columns, or another role."
        )


def _refuse_missing(column: Column, values: Array, source: str) -> None:
    rows = np.flatnonzero(missing_mask(column, values))
    if len(rows):
        raise DataError(
            f"The target '{column.name}' of {source} is missing in {len(rows)} of {len(values)} rows, "
            "first in row "
            f"{rows[0] + 1}. Drop these rows, or name another target."
        )


def _by_role(table: Table, role: str, source: str) -> str:
    names = [column.name for column in table.columns if column.role == role]
    if len(names) != 1:
        count = (
            f"{len(names)} columns have the role '{role}'" if names else f"no column has the role '{role}'"
        )
        raise ConfigError(
            f"The split of {source} needs a {role} column, but {count}. Name it with '{role}:'."
        )
    return names[0]


def _group_codes(table: Table, name: str, source: str) -> Array:
    column, values = table.column(name), table.arrays[name]
    _refuse_gap(column, values, source)
    key = values.astype(str) if column.kind == "text" else values
    return np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _times(table: Table, name: str, source: str) -> Array:
    column, values = table.column(name), table.arrays[name]
    if column.kind not in ("date", "numeric"):
        raise DataError(
            f"The time column '{name}' of {source} is {column.kind}. Write ISO dates (YYYY-MM-DD) or numbers."
        )
    _refuse_gap(column, values, source)
    return values


def _refuse_gap(column: Column, values: Array, source: str) -> None:
    rows = np.flatnonzero(missing_mask(column, values))
    if len(rows):
        raise DataError(
            f"Column '{column.name}' of {source}, which makes the split, is missing in {len(rows)} rows, "
            "first in row "
            f"{rows[0] + 1}. Fill it, or drop these rows."
        )
