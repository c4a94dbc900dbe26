"""Metrics that are means over rows, or follow from several such sums: a product of matrices for all weightings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.errors import DataError
from assay.metrics.record import Metric

__all__ = ["Sums", "labels_of", "make_sums"]

BLOCK = 256  # weightings that are turned into floats together
EPS = np.finfo(float).eps

# (N, C) or (N, 1) parts, and what makes a metric of their weighted sums; the first sum is that of the weights alone.
Recipe = tuple[tuple[Any, ...], Callable[[list[Any]], Any]]
Maker = Callable[[Any, Any, int], Recipe]


def make_sums(metric: Metric, strata: Any, truth: Any, values: Any, n_classes: int) -> Sums | None:
    """Prepare a metric; None where it does not follow from sums."""
    make = _MAKERS.get(metric.name)
    if metric.name.startswith("pinball"):
        make = _pinball(float(metric.name.partition("_")[2] or 0.5))
    return None if make is None else Sums(metric, strata, *make(truth, values, n_classes))


def labels_of(values: Any) -> Any:
    """Return (N, C) predicted codes; of equal probabilities the first class."""
    return (values > 0.5).astype(np.int64) if values.ndim == 2 else values.argmax(axis=2)


def _of_truth(truth: Any, values: Any) -> Any:
    """Return (N, C) probabilities of the true class, rows made to sum to one."""
    if values.ndim == 2:
        return np.where(truth[:, None] == 1, values, 1.0 - values)
    own = np.take_along_axis(values, truth[:, None, None], axis=2)[:, :, 0]
    total = values.sum(axis=2)
    return own / np.where(total > 0, total, 1.0)


@dataclass(frozen=True)
class Sums:
    """A metric that follows from weighted sums over rows: `parts` are (N, C) or (N, 1), `combine` their function."""

    metric: Metric
    strata: Any
    parts: tuple[Any, ...]
    combine: Callable[[list[Any]], Any]

    def weighted(self, weights: Any, columns: Any = None) -> Any:
        """Return (B, C) values under (B, N) weights."""
        own = [p if columns is None or p.shape[1] == 1 else p[:, columns] for p in self.parts]
        out = []
        for begin in range(0, len(weights), BLOCK):
            block = np.asarray(weights[begin : begin + BLOCK], dtype=float)
            with np.errstate(invalid="ignore", divide="ignore"):
                out.append(self.combine([block.sum(axis=1, keepdims=True), *(block @ part for part in own)]))
        return np.concatenate(out)


def _mean_of(make: Callable[[Any, Any], Any], root: bool = False) -> Maker:
    def prepare(truth: Any, values: Any, n_classes: int) -> Recipe:
        return (make(truth, values),), (lambda sums: np.sqrt(_mean(sums))) if root else _mean

    return prepare


def _mean(sums: list[Any]) -> Any:
    return sums[1] / sums[0]


def _pinball(level: float) -> Maker:
    def cost(truth: Any, values: Any) -> Any:
        short = truth[:, None] - values
        return np.maximum(level * short, (level - 1.0) * short)

    return _mean_of(cost)


def _brier(truth: Any, values: Any) -> Any:
    if values.ndim == 2:
        return (values - (truth == 1)[:, None]) ** 2
    hit = np.arange(values.shape[2]) == truth[:, None]
    total = ((values - hit[:, None, :]) ** 2).sum(axis=2)
    return total / 2 if values.shape[2] == 2 else total


def _logs(truth: Any, values: Any) -> Any:
    if values.min() <= -1 or truth.min() <= -1:
        raise DataError("The logarithmic error is undefined for values of -1 or less.")
    return (np.log1p(truth)[:, None] - np.log1p(values)) ** 2


def _recalls(reduce: Callable[[Any], Any]) -> Maker:
    """Prepare a function of the classes' recalls (classes, B, C); classes without weight are NaN."""

    def prepare(truth: Any, values: Any, n_classes: int) -> Recipe:
        hit = labels_of(values) == truth[:, None]
        masks = [(truth == k)[:, None].astype(float) for k in range(n_classes)]

        def combine(sums: list[Any]) -> Any:
            return reduce(np.stack(sums[1 + n_classes :]) / np.stack(sums[1 : 1 + n_classes]))

        return (*masks, *(hit * mask for mask in masks)), combine

    return prepare


def _f_beta(beta: float) -> Maker:
    def prepare(truth: Any, values: Any, n_classes: int) -> Recipe:
        said = labels_of(values)
        wanted = [1] if n_classes == 2 else list(range(n_classes))
        real = [(truth == k)[:, None].astype(float) for k in wanted]
        given = [(said == k).astype(float) for k in wanted]
        hits = [a * b for a, b in zip(real, given, strict=True)]

        def combine(sums: list[Any]) -> Any:
            n = len(wanted)
            support, predicted, right = (np.stack(sums[1 + i * n : 1 + (i + 1) * n]) for i in range(3))
            size = beta**2 * support + predicted
            each = np.where(size > 0, (1 + beta**2) * right / np.where(size > 0, size, 1), 0.0)
            if n == 1:
                return np.where(size[0] > 0, each[0], np.nan)
            return (each * support).sum(axis=0) / support.sum(axis=0)

        return (*real, *given, *hits), combine

    return prepare


def _mcc(truth: Any, values: Any, n_classes: int) -> Recipe:
    said = labels_of(values)
    real = [(truth == k)[:, None].astype(float) for k in range(n_classes)]
    given = [(said == k).astype(float) for k in range(n_classes)]
    hit = (said == truth[:, None]).astype(float)

    def combine(sums: list[Any]) -> Any:
        total, right = sums[0], sums[1]
        t, p = np.stack(sums[2 : 2 + n_classes]), np.stack(sums[2 + n_classes :])
        above = right * total - (t * p).sum(axis=0)
        below = np.sqrt((total**2 - (p**2).sum(axis=0)) * (total**2 - (t**2).sum(axis=0)))
        return np.where(below > 0, above / np.where(below > 0, below, 1), 0.0)

    return (hit, *real, *given), combine


def _r2(truth: Any, values: Any, n_classes: int) -> Recipe:
    # Around the mean: the sum of squares minus a square would lose digits otherwise.
    centred = (truth - truth.mean())[:, None]

    def combine(sums: list[Any]) -> Any:
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
    "balacc": _recalls(lambda each: np.nanmean(each, axis=0)),
    "mean_pce": _recalls(lambda each: np.nanmean(1 - each, axis=0)),
    "max_pce": _recalls(lambda each: np.nanmax(1 - each, axis=0)),
    "f1": _f_beta(1.0),
    "f2": _f_beta(2.0),
    "f05": _f_beta(0.5),
    "mcc": _mcc,
    "r2": _r2,
}
