"""Metrics of all configurations under many row weights at once: what resampling needs from a metric.

A scorer is prepared once for truth and predictions. `weighted(weights, columns)` then returns (B, C) values in the
metric's own direction for (B, N) whole weights; NaN where the metric is not defined, as for one class only. How fast
that is depends on the metric's kind: a product of matrices for means over rows and for ratios of such sums, one sort
for ranks, and for anything else a call for each weighting and configuration.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from assay.errors import ConfigError, DataError, UserError
from assay.metrics.record import Metric
from assay.metrics.registry import BUILTIN, get_metric
from assay.typing import Array, Bools, Floats, Ints
from assay.uncertainty.areas import Areas, make_areas
from assay.uncertainty.kernels import Columns, Weights, auc_of_each, by_column
from assay.uncertainty.slow_scorers import Concordance, Generic
from assay.uncertainty.sums import make_sums

__all__ = ["CINDEX", "Scorer", "make_scorer", "of_each"]

NEEDS_ALL_CLASSES = {"balacc", "mean_pce", "max_pce", "f1", "f2", "f05", "mcc", "pr_auc"}


class Scorer(Protocol):
    """A metric, ready for one truth and one matrix of predictions."""

    @property
    def metric(self) -> Metric:
        """What is measured."""

    @property
    def strata(self) -> Ints | None:
        """(N) classes, all of which must have weight; None where the metric does not need that."""

    def weighted(self, weights: Weights, columns: Columns | None = None) -> Floats:
        """Return (B, C) values under (B, N) weights, of the columns that are asked for."""


def of_each(scorer: Scorer, weights: Weights, columns: Ints) -> Floats:
    """Return (B) values, of another column under each of (B, N) weights."""
    if isinstance(scorer, Areas) and len(scorer.areas) == 1:
        return auc_of_each(scorer.areas[0], weights, columns)
    return by_column(lambda rows, column: scorer.weighted(weights[rows], [column])[:, 0], columns)


def _concordance(time: Floats, prediction: Floats) -> float:
    raise UserError("cindex needs to know which times are of events.")


CINDEX = Metric("cindex", _concordance, True, 0.0, 1.0, "values", ("regression",), "generic")


def make_scorer(name: str, y: Array, values: Floats, event: Bools | None = None) -> Scorer:
    """Prepare a metric for a truth and the predictions of all configurations.

    Args:
        name: of a metric: `auc`, `acc`, `logloss`, `rmse` …, `cindex`, or `file.py:function`.
        y: (N) classes by any name, or values.
        values: (N, C) or (N, C, K).
        event: (N) for `cindex`: whether the time in y is that of an event; a higher prediction means an earlier one.
    """
    is_value = (
        name == "cindex" or get_metric(name, "for intervals (which also know cindex)").needs == "values"
    )
    if is_value:
        numbers = _numbers(name, y)
        if values.ndim == 3:
            raise ConfigError(f"{name} is of values, but the predictions have {values.shape[2]} classes.")
        if name == "cindex":
            if event is None:
                raise DataError("cindex needs a column `event`: whether the time is that of an event.")
            return Concordance(CINDEX, None, numbers, event, values)
        metric = get_metric(name)
        return make_sums(metric, None, numbers, values, 0) or Generic(metric, None, numbers, values, 0)
    codes, n_classes = _class_codes(name, y, values)
    metric = get_metric(name)
    if (n_classes > 2 and "multiclass" not in metric.types) or (
        n_classes == 2 and "binary" not in metric.types
    ):
        raise ConfigError(f"{name} is not for {n_classes} classes.")
    if metric.name in BUILTIN and metric.kind == "rank" and metric.name != "pr_auc":
        return make_areas(metric, codes, values, n_classes)
    _check_probabilities(metric, values)
    strata = codes if metric.name in NEEDS_ALL_CLASSES else None
    sums = make_sums(metric, strata, codes, values, n_classes)
    return sums or Generic(metric, strata, codes, values, n_classes)


def _numbers(name: str, y: Array) -> Floats:
    try:
        return np.asarray(y, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"{name} is of numbers, but the truth has others, as '{y[0]}'.") from None


def _class_codes(name: str, y: Array, values: Floats) -> tuple[Ints, int]:
    classes, codes = np.unique(y.astype(str) if y.dtype.kind == "O" else y, return_inverse=True)
    n_columns = values.shape[2] if values.ndim == 3 else 2
    if len(classes) < 2:
        raise DataError(f"{name} compares classes, but all rows are of '{classes[0]}'.")
    if len(classes) > n_columns:
        hint = "give a column `configuration|class` for each class" if values.ndim == 2 else "each needs one"
        raise DataError(f"The truth has {len(classes)} classes, the predictions {n_columns} columns: {hint}.")
    if len(classes) < n_columns:
        raise DataError(f"The truth has {len(classes)} classes, but the predictions {n_columns} columns.")
    return codes.reshape(-1), n_columns


def _check_probabilities(metric: Metric, values: Floats) -> None:
    if metric.needs == "labels" and values.ndim == 3:
        return
    if values.min() < 0 or values.max() > 1:
        raise DataError(
            f"{metric.name} needs probabilities, but predictions go from {values.min():g} to {values.max():g}."
        )
