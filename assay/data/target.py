"""What is to be predicted: the type of a task, its classes, and the target as codes or numbers.

A categorical or boolean target makes a classification, binary or multiclass by the number of classes that
occur. A numeric target makes a regression, unless it has exactly two distinct values; `type` in the request
overrides.
"""

from __future__ import annotations

import numpy as np

from assay.data.infer import labels_of
from assay.data.parse import sort_labels
from assay.data.raw import TypedColumn
from assay.data.source import Loaded
from assay.data.table import Array
from assay.data.task import Column, TaskRequest
from assay.errors import ConfigError, DataError
from assay.plugins import suggest
from assay.vocabulary import TaskType

__all__ = ["choose_classes", "encode_target"]


def choose_classes(
    column: Column, values: Array, request: TaskRequest, loaded: Loaded
) -> tuple[TaskType, tuple[str, ...]]:
    """Return the type and the classes (none for regression).

    Classes are the labels that occur, sorted (as numbers if all are); `positive` comes last in a binary task.
    """
    place = f"The target '{column.name}' of {loaded.raw.source}"
    if column.kind in ("date", "text"):
        raise DataError(f"{place} is {column.kind}. Name a categorical or numeric column as 'target'.")
    distinct = np.unique(values)
    if len(distinct) < 2:
        raise DataError(f"{place} has the same value in all rows. Name another column as 'target'.")
    requested_type = request.type or loaded.type
    is_number = column.kind == "numeric"
    if requested_type == "regression" or (requested_type is None and is_number and len(distinct) > 2):
        if not is_number:
            raise DataError(
                f"{place} is {column.kind}, not numeric, so it cannot be a regression. Change the 'type'."
            )
        if request.positive:
            raise ConfigError(
                f"{place} is numeric, so no class '{request.positive}' can be 'positive'. Remove it."
            )
        return "regression", ()
    labels, codes = labels_of(TypedColumn(column, values))
    classes = sort_labels(labels[code] for code in np.unique(codes))
    kind: TaskType = requested_type or ("binary" if len(classes) == 2 else "multiclass")
    if kind == "binary" and len(classes) != 2:
        raise DataError(f"{place} has {len(classes)} classes, so it is not binary. Say 'type: multiclass'.")
    return kind, _with_positive_last(classes, kind, request, place)


def encode_target(column: Column, values: Array, classes: tuple[str, ...]) -> Array:
    """Return class codes (int32) in the order of `classes`, or float64 numbers if there are none."""
    if not classes:
        return values.astype(np.float64)
    labels, codes = labels_of(TypedColumn(column, values))
    position = {label: number for number, label in enumerate(classes)}
    return np.array([position.get(label, -1) for label in labels], dtype=np.int32)[codes]


def _with_positive_last(classes: list[str], kind: str, request: TaskRequest, place: str) -> tuple[str, ...]:
    positive = request.positive
    if not positive:
        return tuple(classes)
    if positive not in classes:
        raise ConfigError(
            f"{place} has no class '{positive}' that could be 'positive'. {suggest(positive, classes)}"
        )
    if kind != "binary":
        raise ConfigError(f"{place} has {len(classes)} classes; 'positive' is for binary tasks. Remove it.")
    return (*(label for label in classes if label != positive), positive)
