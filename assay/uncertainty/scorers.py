"""Metrics of all configurations under many row weights at once: what resampling needs from a metric.

A scorer is prepared once for truth and predictions. `weighted(weights, columns)` then returns (B, C) values in the
metric's own direction for (B, N) whole weights; NaN where the metric is not defined, as for one class only. How fast
that is depends on the metric's kind: a product of matrices for means over rows and for ratios of such sums, one sort
for ranks, and for anything else a call for each weighting and configuration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from assay.errors import ConfigError, DataError, UserError
from assay.metrics.record import Metric
from assay.metrics.registry import BUILTIN, get_metric
from assay.metrics.scoring import score
from assay.uncertainty.kernels import Ranked, auc_of_each, by_column, rank_columns, weighted_auc

__all__ = ["CINDEX", "Scorer", "make_scorer", "of_each"]

BLOCK = 256  # weightings that are turned into floats together
EPS = np.finfo(float).eps


class Scorer(Protocol):
    """A metric, ready for one truth and one matrix of predictions."""

    @property
    def metric(self) -> Metric:
        """What is measured."""

    @property
    def strata(self) -> Any:
        """(N) classes, all of which must have weight; None where the metric does not need that."""

    def weighted(self, weights: Any, columns: Any = None) -> Any:
        """Return (B, C) values under (B, N) weights, of the columns that are asked for."""


def of_each(scorer: Scorer, weights: Any, columns: Any) -> Any:
    """Return (B) values, of another column under each of (B, N) weights."""
    if isinstance(scorer, _Areas) and len(scorer.areas) == 1:
        return auc_of_each(scorer.areas[0], weights, columns)
    return by_column(lambda rows, column: scorer.weighted(weights[rows], [column])[:, 0], columns)


def _concordance(time: Any, prediction: Any) -> float:
    raise UserError("cindex needs to know which times are of events.")


CINDEX = Metric("cindex", _concordance, True, 0.0, 1.0, "values", ("regression",), "generic")


def _metric_for(name: str, n_classes: int) -> Metric:
    """Return the metric of a name. `auc` of more than two classes is Hand and Till's: the mean over ordered pairs."""
    if name == "cindex":
        return CINDEX
    found = get_metric(name)
    if name == "auc" and n_classes > 2:
        return replace(found, types=("multiclass",))
    return found


def make_scorer(name: str, y: Any, values: Any, event: Any = None) -> Scorer:
    """Prepare a metric for a truth and the predictions of all configurations.

    Args:
        name: of a metric: `auc`, `acc`, `logloss`, `rmse` …, `cindex`, or `file.py:function`.
        y: (N) classes by any name, or values.
        values: (N, C) or (N, C, K).
        event: (N) for `cindex`: whether the time in y is that of an event; a higher prediction means an earlier one.
    """
    is_value = name == "cindex" or get_metric(name).needs == "values"
    if is_value:
        truth, n_classes = _numbers(name, y), 0
        if values.ndim == 3:
            raise ConfigError(f"{name} is of values, but the predictions have {values.shape[2]} classes.")
    else:
        truth, n_classes = _class_codes(name, y, values)
    metric = _metric_for(name, n_classes)
    if name == "cindex":
        if event is None:
            raise DataError("cindex needs a column `event`: whether the time is that of an event.")
        return _Concordance(metric, None, truth, event, values)
    if (n_classes > 2 and "multiclass" not in metric.types) or (
        n_classes == 2 and "binary" not in metric.types
    ):
        raise ConfigError(f"{name} is not for {n_classes} classes.")
    if metric.name in BUILTIN and metric.kind == "rank" and metric.name != "pr_auc":
        return _make_rank(metric, truth, values, n_classes)
    if not is_value:
        _check_probabilities(metric, values)
    make = _SUMS.get(metric.name) or (_pinball if metric.name.startswith("pinball") else None)
    strata = truth if metric.name in _NEEDS_ALL_CLASSES else None
    if make is not None:
        return make(metric, strata, truth, values, n_classes)
    return _Generic(metric, strata, truth, values, n_classes)


# --- what is needed of the truth -------------------------------------------------------------------------


def _numbers(name: str, y: Any) -> Any:
    try:
        return np.asarray(y, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"{name} is of numbers, but the truth has others, as '{y[0]}'.") from None


def _class_codes(name: str, y: Any, values: Any) -> tuple[Any, int]:
    classes, codes = np.unique(y.astype(str) if y.dtype.kind == "O" else y, return_inverse=True)
    said = values.shape[2] if values.ndim == 3 else 2
    if len(classes) < 2:
        raise DataError(f"{name} compares classes, but all rows are of '{classes[0]}'.")
    if len(classes) > said:
        hint = "give a column `configuration|class` for each class" if values.ndim == 2 else "each needs one"
        raise DataError(f"The truth has {len(classes)} classes, the predictions {said} columns: {hint}.")
    if len(classes) < said:
        raise DataError(f"The truth has {len(classes)} classes, but the predictions {said} columns.")
    return codes.reshape(-1), said


def _check_probabilities(metric: Metric, values: Any) -> None:
    if metric.needs == "labels" and values.ndim == 3:
        return
    if values.min() < 0 or values.max() > 1:
        raise DataError(
            f"{metric.name} needs probabilities, but predictions go from {values.min():g} to {values.max():g}."
        )


def _labels(values: Any) -> Any:
    """Return (N, C) predicted codes; of equal probabilities the first class."""
    return (values > 0.5).astype(np.int64) if values.ndim == 2 else values.argmax(axis=2)


def _of_class(values: Any, code: int) -> Any:
    """Return (N, C) probabilities of one class."""
    if values.ndim == 3:
        return values[:, :, code]
    return values if code else 1.0 - values


def _of_truth(truth: Any, values: Any) -> Any:
    """Return (N, C) probabilities of the true class, rows made to sum to one."""
    if values.ndim == 2:
        return np.where(truth[:, None] == 1, values, 1.0 - values)
    own = np.take_along_axis(values, truth[:, None, None], axis=2)[:, :, 0]
    total = values.sum(axis=2)
    return own / np.where(total > 0, total, 1.0)


# --- means over rows, and ratios of such sums ------------------------------------------------------------


@dataclass(frozen=True)
class _Sums:
    """A metric that follows from weighted sums over rows: `parts` are (N, C) or (N, 1), `combine` their function."""

    metric: Metric
    strata: Any
    parts: tuple[Any, ...]
    combine: Callable[[list[Any]], Any]

    def weighted(self, weights: Any, columns: Any = None) -> Any:
        own = [p if columns is None or p.shape[1] == 1 else p[:, columns] for p in self.parts]
        out = []
        for begin in range(0, len(weights), BLOCK):
            block = np.asarray(weights[begin : begin + BLOCK], dtype=float)
            with np.errstate(invalid="ignore", divide="ignore"):
                out.append(self.combine([block.sum(axis=1, keepdims=True), *(block @ part for part in own)]))
        return np.concatenate(out)


def _mean_of(make: Callable[[Any, Any], Any], root: bool = False) -> Callable[..., Scorer]:
    def prepare(metric: Metric, strata: Any, truth: Any, values: Any, n_classes: int) -> Scorer:
        def combine(sums: list[Any]) -> Any:
            mean = sums[1] / sums[0]
            return np.sqrt(mean) if root else mean

        return _Sums(metric, strata, (make(truth, values),), combine)

    return prepare


def _pinball(metric: Metric, strata: Any, truth: Any, values: Any, n_classes: int) -> Scorer:
    level = float(metric.name.partition("_")[2] or 0.5)
    short = truth[:, None] - values
    cost = np.maximum(level * short, (level - 1.0) * short)
    return _Sums(metric, strata, (cost,), lambda sums: sums[1] / sums[0])


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


def _recalls(reduce: Callable[[Any], Any]) -> Callable[..., Scorer]:
    """Prepare a function of the classes' recalls (classes, B, C); classes without weight are NaN."""

    def prepare(metric: Metric, strata: Any, truth: Any, values: Any, n_classes: int) -> Scorer:
        hit = _labels(values) == truth[:, None]
        masks = [(truth == k)[:, None].astype(float) for k in range(n_classes)]
        parts = (*masks, *(hit * mask for mask in masks))
        return _Sums(
            metric,
            strata,
            parts,
            lambda s: reduce(np.stack(s[1 + n_classes :]) / np.stack(s[1 : 1 + n_classes])),
        )

    return prepare


def _f_beta(beta: float) -> Callable[..., Scorer]:
    def prepare(metric: Metric, strata: Any, truth: Any, values: Any, n_classes: int) -> Scorer:
        said = _labels(values)
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

        return _Sums(metric, strata, (*real, *given, *hits), combine)

    return prepare


def _mcc(metric: Metric, strata: Any, truth: Any, values: Any, n_classes: int) -> Scorer:
    said = _labels(values)
    real = [(truth == k)[:, None].astype(float) for k in range(n_classes)]
    given = [(said == k).astype(float) for k in range(n_classes)]
    hit = (said == truth[:, None]).astype(float)

    def combine(sums: list[Any]) -> Any:
        total, right = sums[0], sums[1]
        t, p = np.stack(sums[2 : 2 + n_classes]), np.stack(sums[2 + n_classes :])
        above = right * total - (t * p).sum(axis=0)
        below = np.sqrt((total**2 - (p**2).sum(axis=0)) * (total**2 - (t**2).sum(axis=0)))
        return np.where(below > 0, above / np.where(below > 0, below, 1), 0.0)

    return _Sums(metric, strata, (hit, *real, *given), combine)


def _r2(metric: Metric, strata: Any, truth: Any, values: Any, n_classes: int) -> Scorer:
    # Around the mean: the sum of squares minus a square would lose digits otherwise.
    centred = (truth - truth.mean())[:, None]

    def combine(sums: list[Any]) -> Any:
        total, errors, first, second = sums
        spread = second - first**2 / total
        floor = 1e-12 * np.abs(second)
        return np.where(spread > floor, 1.0 - errors / np.where(spread > floor, spread, 1), np.nan)

    return _Sums(metric, strata, ((truth[:, None] - values) ** 2, centred, centred**2), combine)


_SUMS: dict[str, Callable[..., Scorer]] = {
    "acc": _mean_of(lambda truth, values: (_labels(values) == truth[:, None]).astype(float)),
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
_NEEDS_ALL_CLASSES = {"balacc", "mean_pce", "max_pce", "f1", "f2", "f05", "mcc", "pr_auc"}


# --- ranks -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Areas:
    """A mean of areas of one class against others; `share` says how much each counts, given the classes' weights."""

    metric: Metric
    strata: Any
    areas: tuple[Ranked, ...]
    share: Callable[[Any], Any] | None = None

    def weighted(self, weights: Any, columns: Any = None) -> Any:
        if len(self.areas) == 1:
            return weighted_auc(self.areas[0], weights, columns)
        each = np.stack([weighted_auc(ranked, weights, columns) for ranked in self.areas])
        if self.share is None:
            return each.mean(axis=0)
        counts = np.stack([np.asarray(weights)[:, r.positive].sum(axis=1) for r in self.areas], axis=1)
        return np.einsum("abc,ba->bc", each, self.share(counts))


def _make_rank(metric: Metric, truth: Any, values: Any, n_classes: int) -> Scorer:
    if n_classes == 2:
        return _Areas(metric, truth, (rank_columns(_of_class(values, 1), truth == 1, truth == 0),))
    if metric.name == "auc_ovr":
        areas = tuple(rank_columns(_of_class(values, k), truth == k, truth != k) for k in range(n_classes))
        return _Areas(metric, truth, areas, lambda counts: counts / counts.sum(axis=1, keepdims=True))
    pairs = [(i, j) for i in range(n_classes) for j in range(n_classes) if i != j]
    areas = tuple(rank_columns(_of_class(values, i), truth == i, truth == j) for i, j in pairs)
    if metric.name == "auc":
        return _Areas(metric, truth, areas)
    first, second = (np.array(one) for one in zip(*pairs, strict=True))
    own = [pairs.index((k, (k + 1) % n_classes)) for k in range(n_classes)]

    def share(counts: Any) -> Any:
        of_class = counts[:, own]
        size = of_class[:, first] + of_class[:, second]
        return size / size.sum(axis=1, keepdims=True)

    return _Areas(metric, truth, areas, share)


# --- pairs of times, and anything else -------------------------------------------------------------------


@dataclass(frozen=True)
class _Concordance:
    """Harrell's c: of the pairs whose order is known, the share that the prediction puts right; ties count half."""

    metric: Metric
    strata: Any
    time: Any
    event: Any
    values: Any

    def weighted(self, weights: Any, columns: Any = None) -> Any:
        values = self.values if columns is None else self.values[:, columns]
        block = np.asarray(weights, dtype=float)
        known, right = np.zeros(len(block)), np.zeros((len(block), values.shape[1]))
        for begin in range(0, len(self.time), BLOCK):
            rows = slice(begin, begin + BLOCK)
            # Whose event is known to come before whose time.
            time, event = self.time[rows, None], self.event[rows, None]
            earlier = (event & ((time < self.time) | ((time == self.time) & ~self.event))).astype(float)
            known += ((block[:, rows] @ earlier) * block).sum(axis=1)
            for c, column in enumerate(values.T):
                own = column[rows, None]
                said = earlier * ((own > column) + 0.5 * (own == column))
                right[:, c] += ((block[:, rows] @ said) * block).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return right / known[:, None]


@dataclass(frozen=True)
class _Generic:
    """A metric that only its function knows: one call for each weighting and configuration."""

    metric: Metric
    strata: Any
    truth: Any
    values: Any
    n_classes: int

    def weighted(self, weights: Any, columns: Any = None) -> Any:
        values = self.values if columns is None else self.values[:, columns]
        out = np.full((len(weights), values.shape[1]), np.nan)
        for b, own in enumerate(weights):
            rows = np.repeat(np.arange(len(own)), own)
            for c in range(values.shape[1]):
                out[b, c] = self._value(rows, values[:, c]) if len(rows) else np.nan
        return out

    def _value(self, rows: Any, own: Any) -> float:
        said: dict[str, Any] = {"values": own[rows]}
        if self.metric.needs == "labels":
            said = {"labels": _labels(own[rows][:, None])[:, 0], "classes": self.n_classes}
        elif self.metric.needs == "probabilities":
            both = own if own.ndim == 2 else np.column_stack([1 - own, own])
            said = {"probabilities": both[rows]}
        try:
            return score(self.metric, self.truth[rows], **said)
        except UserError:  # it has no value for these rows
            return float("nan")
