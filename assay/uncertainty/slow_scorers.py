"""Metrics without a short cut: concordance over all pairs of times, and functions that must be called each time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.errors import UserError
from assay.metrics.record import FailedMetric, Metric
from assay.metrics.scoring import score
from assay.typing import Array, Bools, Floats, Ints
from assay.uncertainty.kernels import Columns, Weights
from assay.uncertainty.sums import labels_of

__all__ = ["Concordance", "Generic"]

BLOCK = 256  # rows whose pairs with all others are in memory together


@dataclass(frozen=True)
class Concordance:
    """Harrell's c: of the pairs whose order is known, the share that the prediction puts right; ties count half."""

    metric: Metric
    strata: None
    time: Floats
    event: Bools
    values: Floats

    def weighted(self, weights: Weights, columns: Columns | None = None) -> Floats:
        """Return (B, C) values under (B, N) weights."""
        values = self.values if columns is None else self.values[:, columns]
        block = np.asarray(weights, dtype=float)
        ordered, right = np.zeros(len(block)), np.zeros((len(block), values.shape[1]))
        for begin in range(0, len(self.time), BLOCK):
            rows = slice(begin, begin + BLOCK)
            # Whose event is known to come before whose time.
            time, event = self.time[rows, None], self.event[rows, None]
            earlier = (event & ((time < self.time) | ((time == self.time) & ~self.event))).astype(float)
            ordered += ((block[:, rows] @ earlier) * block).sum(axis=1)
            for c, column in enumerate(values.T):
                scores = column[rows, None]
                concordant = earlier * ((scores > column) + 0.5 * (scores == column))
                right[:, c] += ((block[:, rows] @ concordant) * block).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return right / ordered[:, None]


@dataclass(frozen=True)
class Generic:
    """A metric that only its function knows: one call for each weighting and configuration."""

    metric: Metric
    strata: Ints | None
    truth: Array
    values: Floats
    n_classes: int

    def weighted(self, weights: Weights, columns: Columns | None = None) -> Floats:
        """Return (B, C) values under (B, N) weights."""
        values = self.values if columns is None else self.values[:, columns]
        out = np.full((len(weights), values.shape[1]), np.nan)
        for b, row_weights in enumerate(weights):
            rows = np.repeat(np.arange(len(row_weights)), np.asarray(row_weights, dtype=np.int64))
            for c in range(values.shape[1]):
                out[b, c] = self._value(rows, values[:, c]) if len(rows) else np.nan
        return out

    def _value(self, rows: Ints, column: Floats) -> float:
        truth, drawn = self.truth[rows], column[rows]
        try:
            if self.metric.needs == "labels":
                labels = labels_of(drawn[:, None])[:, 0]
                return score(self.metric, truth, labels=labels, classes=self.n_classes)
            if self.metric.needs == "probabilities":
                both = drawn if drawn.ndim == 2 else np.column_stack([1 - drawn, drawn])
                return score(self.metric, truth, probabilities=both)
            return score(self.metric, truth, values=drawn)
        except FailedMetric:  # a mistake in it is not a property of these rows
            raise
        except UserError:  # it has no value for these rows
            return float("nan")
