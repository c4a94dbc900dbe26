"""Metrics that are means over rows, or follow from several such sums: a product of matrices for all weightings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from assay.errors import DataError
from assay.metrics.record import Metric
from assay.typing import Array, Floats, Ints
from assay.uncertainty.kernels import Columns, Weights

__all__ = ["Sums", "labels_of", "make_sums"]

BLOCK = 256  # weightings that are turned into floats together
EPS = np.finfo(float).eps

# (N, C) or (N, 1) parts, and what makes a metric of their weighted sums; the first sum is that of the weights alone.
Combine: TypeAlias = "Callable[[list[Floats]], Floats]"
Recipe: TypeAlias = "tuple[tuple[Floats, ...], Combine]"
# Of the truth (codes of classes, or values), the predictions and the number of classes.
Maker: TypeAlias = "Callable[[Array, Floats, int], Recipe]"


def make_sums(
    metric: Metric, strata: Ints | None, truth: Array, values: Floats, n_classes: int
) -> Sums | None:
    """Prepare a metric; None where it does not follow from sums."""
    make = _MAKERS.get(metric.name)
    if metric.name.startswith("pinball"):
        make = _pinball(float(metric.name.partition("_")[2] or 0.5))
    return None if make is None else Sums(metric, strata, *make(truth, values, n_classes))


def labels_of(values: Floats) -> Ints:
    """Return (N, C) predicted codes; of equal probabilities the first class."""
    return (values > 0.5).astype(np.int64) if values.ndim == 2 else values.argmax(axis=2)


def _of_truth(truth: Array, values: Floats) -> Floats:
    """Return (N, C) probabilities of the true class, rows made to sum to one."""
    if values.ndim == 2:
        return np.where(truth[:, None] == 1, values, 1.0 - values)
    of_true_class = np.take_along_axis(values, truth[:, None, None], axis=2)[:, :, 0]
    total = values.sum(axis=2)
    return of_true_class / np.where(total > 0, total, 1.0)


@dataclass(frozen=True)
class Sums:
    """A metric that follows from weighted sums over rows: `parts` are (N, C) or (N, 1), `combine` their function."""

    metric: Metric
    strata: Ints | None
    parts: tuple[Floats, ...]
    combine: Combine

    def weighted(self, weights: Weights, columns: Columns | None = None) -> Floats:
        """Return (B, C) values under (B, N) weights."""
        parts = [p if columns is None or p.shape[1] == 1 else p[:, columns] for p in self.parts]
        out = []
        for begin in range(0, len(weights), BLOCK):
            block = np.asarray(weights[begin : begin + BLOCK], dtype=float)
            with np.errstate(invalid="ignore", divide="ignore"):
                out.append(
                    self.combine([block.sum(axis=1, keepdims=True), *(block @ part for part in parts)])
                )
        return np.concatenate(out)


def _mean_of(make: Callable[[Array, Floats], Floats], root: bool = False) -> Maker:
    def prepare(truth: Array, values: Floats, n_classes: int) -> Recipe:
        return (make(truth, values),), (lambda sums: np.sqrt(_mean(sums))) if root else _mean

    return prepare


def _mean(sums: list[Floats]) -> Floats:
    return sums[1] / sums[0]


def _pinball(level: float) -> Maker:
    def cost(truth: Array, values: Floats) -> Floats:
        short = truth[:, None] - values
        return np.maximum(level * short, (level - 1.0) * short)

    return _mean_of(cost)


def _brier(truth: Array, values: Floats) -> Floats:
    if values.ndim == 2:
        squares: Floats = (values - (truth == 1)[:, None]) ** 2
        return squares
    hit = np.arange(values.shape[2]) == truth[:, None]
    total: Floats = ((values - hit[:, None, :]) ** 2).sum(axis=2)
    return total / 2 if values.shape[2] == 2 else total


def _logs(truth: Array, values: Floats) -> Floats:
    if values.min() <= -1 or truth.min() <= -1:
        raise DataError("The logarithmic error is undefined for values of -1 or less.")
    return (np.log1p(truth)[:, None] - np.log1p(values)) ** 2


def _recalls(reduce: Callable[[Floats], Floats]) -> Maker:
    """Prepare a function of the classes' recalls (classes, B, C); classes without weight are NaN."""

    def prepare(truth: Array, values: Floats, n_classes: int) -> Recipe:
        hit = labels_of(values) == truth[:, None]
        masks = [(truth == k)[:, None].astype(float) for k in range(n_classes)]

        def combine(sums: list[Floats]) -> Floats:
            return reduce(np.stack(sums[1 + n_classes :]) / np.stack(sums[1 : 1 + n_classes]))

        return (*masks, *(hit * mask for mask in masks)), combine

    return prepare


def _mean_known(each: Floats) -> Floats:
    """Return the mean over the classes that have weight; NaN where none has."""
    is_defined = ~np.isnan(each)
    mean: Floats = np.where(is_defined, each, 0.0).sum(axis=0) / is_defined.sum(axis=0)
    return mean


def _largest_known(each: Floats) -> Floats:
    """Return the largest over the classes that have weight; NaN where none has."""
    largest: Floats = np.fmax.reduce(each, axis=0)
    return largest


def _f_beta(beta: float) -> Maker:
    def prepare(truth: Array, values: Floats, n_classes: int) -> Recipe:
        labels = labels_of(values)
        classes = [1] if n_classes == 2 else list(range(n_classes))
        real = [(truth == k)[:, None].astype(float) for k in classes]
        given = [(labels == k).astype(float) for k in classes]
        hits = [a * b for a, b in zip(real, given, strict=True)]

        def combine(sums: list[Floats]) -> Floats:
            n = len(classes)
            support, predicted, right = (np.stack(sums[1 + i * n : 1 + (i + 1) * n]) for i in range(3))
            size = beta**2 * support + predicted
            each = np.where(size > 0, (1 + beta**2) * right / np.where(size > 0, size, 1), 0.0)
            if n == 1:
                return np.where(size[0] > 0, each[0], np.nan)
            mean: Floats = (each * support).sum(axis=0) / support.sum(axis=0)
            return mean

        return (*real, *given, *hits), combine

    return prepare


def _mcc(truth: Array, values: Floats, n_classes: int) -> Recipe:
    labels = labels_of(values)
    real = [(truth == k)[:, None].astype(float) for k in range(n_classes)]
    given = [(labels == k).astype(float) for k in range(n_classes)]
    hit = (labels == truth[:, None]).astype(float)

    def combine(sums: list[Floats]) -> Floats:
        total, right = sums[0], sums[1]
        t, p = np.stack(sums[2 : 2 + n_classes]), np.stack(sums[2 + n_classes :])
        above = right * total - (t * p).sum(axis=0)
        below = np.sqrt((total**2 - (p**2).sum(axis=0)) * (total**2 - (t**2).sum(axis=0)))
        value = np.where(below > 0, above / np.where(below > 0, below, 1), 0.0)
        return np.where(total > 0, value, np.nan)

    return (hit, *real, *given), combine


def _r2(truth: Array, values: Floats, n_classes: int) -> Recipe:
    # Around the mean: the sum of squares minus a square would lose digits otherwise.
    centred = (truth - truth.mean())[:, None]

    def combine(sums: list[Floats]) -> Floats:
        total, errors, first, second = sums
        spread = second - first**2 / total
        floor = 1e-12 * np.abs(second)
        return np.where(spread > floor, 1.0 - errors / np.where(spread > floor, spread, 1), np.nan)

    return ((truth[:, None] - values) ** 2, centred, centred**2), combine


_MAKERS: dict[str, Maker] = {
    "acc": _mean_of(lambda truth, values: (labels_of(values) == truth[:, None]).astype(float)),
    "logloss": _mean_of(lambda truth, values: -np.log(np.clip(_of_truth(truth, values), EPS, 1 - EPS))),
    "brier": _mean_of(_brier),
    "mse": _mean_of(lambda truth, values: (truth[:, None] - values) ** 2),
    "rmse": _mean_of(lambda truth, values: (truth[:, None] - values) ** 2, root=True),
    "mae": _mean_of(lambda truth, values: np.abs(truth[:, None] - values)),
    "msle": _mean_of(_logs),
    "rmsle": _mean_of(_logs, root=True),
    "balacc": _recalls(_mean_known),
    "mean_pce": _recalls(lambda each: _mean_known(1 - each)),
    "max_pce": _recalls(lambda each: _largest_known(1 - each)),
    "f1": _f_beta(1.0),
    "f2": _f_beta(2.0),
    "f05": _f_beta(0.5),
    "mcc": _mcc,
    "r2": _r2,
}
