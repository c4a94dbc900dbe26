"""Compute one metric: pick the array it needs, check it, call it."""

from __future__ import annotations

from functools import partial
from math import isfinite
from typing import TYPE_CHECKING

from assay.errors import DataError
from assay.metrics.own import call_own
from assay.metrics.record import Metric, UndefinedMetric
from assay.metrics.registry import BUILTIN, check_type, get_metric
from assay.typing import Array, Floats
from assay.vocabulary import TaskType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["NOT_FINITE", "score", "signed"]

NOT_FINITE = "Metric '{}' is undefined: its value is"


def score(
    metric: Metric | str,
    truth: ArrayLike,
    labels: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    values: ArrayLike | None = None,
    *,
    classes: int | None = None,
) -> float:
    """Return the value of a metric for one set of rows; always finite.

    Args:
        metric: a metric or its name.
        truth: class codes 0..k-1, or values.
        labels: predicted class codes.
        probabilities: n×k, columns in class order.
        values: predicted values.
        classes: the task's number of classes; without it the columns of `probabilities` tell.

    Raises:
        UndefinedMetric: it has no value here: what it needs was not predicted, no rows, one class only …
        FailedMetric: it is not one of ours, and raised or returned something else than a number.
        ConfigError: it is not for this type of task.
        DataError: the arrays do not fit each other.
    """
    metric = get_metric(metric) if isinstance(metric, str) else metric
    matrix = None
    if probabilities is not None:
        matrix = _floats("probability matrix", probabilities, ndim=2)
        classes = _agreed_classes(matrix.shape[1], classes)
    types = _possible_types(labels, values, classes)
    if types and not set(types) & set(metric.types):
        check_type(metric, types[-1])
    prediction = {"labels": labels, "probabilities": probabilities, "values": values}[metric.needs]
    if prediction is None:
        raise UndefinedMetric(f"Metric '{metric.name}' needs predicted {metric.needs}, and there are none.")
    if metric.needs == "values":
        return _call(metric, _floats("truth", truth), _floats("prediction", prediction))
    predicted: Array
    if matrix is not None and metric.needs == "probabilities":
        predicted = matrix
    else:
        predicted = _codes("prediction", prediction, classes)
    return _call(metric, _codes("truth", truth, classes), predicted, classes)


def signed(metric: Metric, value: float) -> float:
    """Return the value such that higher is better: AMLB's `result`, whose metric is then `neg_<name>`."""
    return value if metric.higher_is_better else 0.0 - value  # 0.0 - 0.0 is 0.0, and -0.0 would be printed


def _call(metric: Metric, truth: Array, prediction: Array, classes: int | None = None) -> float:
    if len(truth) != len(prediction):
        raise DataError(f"There are {len(truth)} true values and {len(prediction)} predictions.")
    if len(truth) == 0:
        raise UndefinedMetric(f"Metric '{metric.name}' is undefined: there are no rows.")
    extra = {"classes": classes} if metric.wants_classes else {}
    call = metric.function if metric.name in BUILTIN else partial(call_own, metric)
    value = float(call(truth, prediction, **extra))
    if not isfinite(value):
        raise UndefinedMetric(f"{NOT_FINITE.format(metric.name)} {value}.")
    return value


def _possible_types(
    labels: ArrayLike | None, values: ArrayLike | None, classes: int | None
) -> tuple[TaskType, ...]:
    """Return what the arrays tell about the type of the task; empty when they tell nothing."""
    if classes is not None:
        return ("binary",) if classes <= 2 else ("multiclass",)
    if labels is not None:
        return ("binary", "multiclass")
    return ("regression",) if values is not None else ()


def _agreed_classes(columns: int, classes: int | None) -> int:
    if classes is not None and classes != columns:
        raise DataError(f"The probabilities have {columns} columns, and the task has {classes} classes.")
    return columns


def _floats(what: str, values: ArrayLike, ndim: int = 1) -> Floats:
    import numpy as np

    array = np.asarray(values, dtype=np.float64)
    if array.ndim != ndim:
        raise DataError(f"The {what} must have {ndim} dimension(s), not {array.ndim}.")
    if not np.isfinite(array).all():
        raise DataError(f"The {what} must hold finite numbers; {(~np.isfinite(array)).sum()} are not.")
    return array


def _codes(what: str, codes: ArrayLike, classes: int | None) -> NDArray[np.int64]:
    import numpy as np

    array = np.asarray(codes)
    if array.ndim != 1 or (array.dtype.kind not in "biu" and len(array)):
        raise DataError(
            f"The {what} must be a vector of integer class codes, not {array.dtype} of shape {array.shape}."
        )
    array = array.astype(np.int64)
    if len(array) and (array.min() < 0 or (classes is not None and array.max() >= classes)):
        wrong = array.min() if array.min() < 0 else array.max()
        raise DataError(f"The {what} holds class code {wrong}; codes are 0 to the number of classes - 1.")
    return array
