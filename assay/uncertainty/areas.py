"""Areas under ROC curves, of two classes or the mean over several: one sort for all weightings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assay.metrics.record import Metric
from assay.typing import Floats, Ints
from assay.uncertainty.kernels import Columns, Ranked, Weights, rank_columns, weighted_auc

__all__ = ["Areas", "make_areas"]


@dataclass(frozen=True)
class Areas:
    """A mean of areas of one class against others; `share` says how much each counts, given the classes' weights."""

    metric: Metric
    strata: Ints
    areas: tuple[Ranked, ...]
    share: Callable[[Ints], Floats] | None = None

    def weighted(self, weights: Weights, columns: Columns | None = None) -> Floats:
        """Return (B, C) values under (B, N) weights."""
        if len(self.areas) == 1:
            return weighted_auc(self.areas[0], weights, columns)
        each = np.stack([weighted_auc(ranked, weights, columns) for ranked in self.areas])
        if self.share is None:
            shares = np.ones((len(each[0]), len(each)))
        else:
            counts = np.stack([np.asarray(weights)[:, r.positive].sum(axis=1) for r in self.areas], axis=1)
            shares = self.share(counts)
        # An area with a class that has no weight does not count, as in the metric itself.
        is_defined = ~np.isnan(each)
        total = np.einsum("abc,ba->bc", is_defined.astype(float), shares)
        with np.errstate(invalid="ignore"):
            mean: Floats = np.einsum("abc,ba->bc", np.where(is_defined, each, 0.0), shares) / total
        return mean


def make_areas(metric: Metric, truth: Ints, values: Floats, n_classes: int) -> Areas:
    """Prepare `auc` of two classes or over ordered pairs of several, `auc_ovo` or `auc_ovr`."""
    if n_classes == 2:
        return Areas(metric, truth, (rank_columns(_of_class(values, 1), truth == 1, truth == 0),))
    if metric.name == "auc_ovr":
        areas = tuple(rank_columns(_of_class(values, k), truth == k, truth != k) for k in range(n_classes))
        return Areas(metric, truth, areas, lambda counts: counts / counts.sum(axis=1, keepdims=True))
    pairs = [(i, j) for i in range(n_classes) for j in range(n_classes) if i != j]
    areas = tuple(rank_columns(_of_class(values, i), truth == i, truth == j) for i, j in pairs)
    if metric.name == "auc":
        return Areas(metric, truth, areas)
    first, second = (np.array(classes) for classes in zip(*pairs, strict=True))
    first_pair = [pairs.index((k, (k + 1) % n_classes)) for k in range(n_classes)]

    def share(counts: Ints) -> Floats:
        of_class = counts[:, first_pair]
        size = of_class[:, first] + of_class[:, second]
        shares: Floats = size / size.sum(axis=1, keepdims=True)
        return shares

    return Areas(metric, truth, areas, share)


def _of_class(values: Floats, code: int) -> Floats:
    """Return (N, C) probabilities of one class."""
    if values.ndim == 3:
        return values[:, :, code]
    return values if code else 1.0 - values
