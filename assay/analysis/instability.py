"""Do the parameters of a model change along a covariate? Score-based fluctuation tests, and their p-values."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from assay.analysis.sup_lm import log_p_sup_lm
from assay.typing import Array, Floats, Ints

__all__ = [
    "Decorrelated",
    "Instability",
    "decorrelate",
    "measure_instability",
    "permutation_p",
]

TRIM = 0.1
NULL = 1e-10  # eigenvalues below this share of the largest are rounding: nothing varies in that direction


@dataclass(frozen=True)
class Decorrelated:
    """Scores of independent units, so turned and scaled that their squares sum to the identity.

    A unit is an observation, or all observations of a cluster together; `sizes` counts the observations of each.
    """

    scores: Floats
    sizes: Floats

    @property
    def n(self) -> int:
        """The number of observations."""
        return int(self.sizes.sum())

    @property
    def k(self) -> int:
        """The number of directions in which the scores vary."""
        return int(self.scores.shape[1])


@dataclass(frozen=True)
class Instability:
    """A test's statistic and the logarithm of its asymptotic p-value."""

    statistic: float
    log_p: float


def decorrelate(scores: Floats, clusters: Ints | None = None) -> Decorrelated:
    """Return scores times the inverse root of their outer product, null directions left out.

    Args:
        scores: (n, k) gradients of the log-likelihood of each observation at the estimate.
        clusters: (n) which observations belong together, as codes 0, 1 …; by default each stands for itself.
    """
    sizes = np.ones(len(scores))
    if clusters is not None:
        summed = np.zeros((int(clusters.max()) + 1, scores.shape[1]))
        np.add.at(summed, clusters, scores)
        scores, sizes = summed, np.bincount(clusters).astype(float)
    values, vectors = np.linalg.eigh(scores.T @ scores)
    kept = values > NULL * max(values.max(initial=0.0), 1e-300)
    return Decorrelated(scores @ (vectors[:, kept] / np.sqrt(values[kept])), sizes)


def measure_instability(
    decorrelated: Decorrelated, values: Array, min_size: int, each_row: bool = False
) -> Instability | None:
    """Test whether the parameters change along one covariate; None where it cannot be split.

    Numbers (float arrays): the supremum of Lagrange multiplier statistics over the cut points that leave a tenth of
    the observations and `min_size` on each side. They are taken at the ends of blocks of equal values, which makes
    the statistic independent of the order of the rows; with `each_row`, after every row, in the order of the rows
    within equal values, as R's partykit does. Codes (integer arrays): the sum over levels, compared with χ².

    References:
        Zeileis and Hornik (2007), Generalized M-fluctuation tests for parameter instability, Statistica
        Neerlandica 61. Zeileis, Hothorn and Hornik (2008), Model-based recursive partitioning, Journal of
        Computational and Graphical Statistics 17.
    """
    if decorrelated.k == 0:
        return None
    if np.issubdtype(np.asarray(values).dtype, np.integer):
        return _test_levels(decorrelated, values)
    process = _Process.along(decorrelated, values, min_size, each_row)
    if process is None:
        return None
    statistic = float(process.statistics(decorrelated.scores[None], decorrelated.sizes[None])[0])
    return Instability(statistic, log_p_sup_lm(statistic, decorrelated.k, process.ratio))


def permutation_p(
    decorrelated: Decorrelated, values: Array, min_size: int, draws: int, random: np.random.Generator
) -> float:
    """Return the share of draws, the data counted among them, whose statistic is at least as large.

    In a draw the units are dealt out anew to the covariate's values: all observations of a cluster stay together.
    """
    orders = np.stack([random.permutation(len(decorrelated.sizes)) for _ in range(draws)])
    orders = np.concatenate([np.arange(len(decorrelated.sizes))[None], orders])
    scores, sizes = decorrelated.scores[orders], decorrelated.sizes[orders]
    if np.issubdtype(np.asarray(values).dtype, np.integer):
        statistics = _level_statistics(scores, sizes, values)
    else:
        process = _Process.along(decorrelated, values, min_size, False)
        assert process is not None
        statistics = process.statistics(scores, sizes)
    return float((statistics >= statistics[0] * (1 - 1e-12)).mean())


@dataclass(frozen=True)
class _Process:
    """Where the cumulated scores are looked at: `order` sorts the units, `ends` are positions after which to look."""

    order: Ints
    ends: Ints
    first: int
    last: int

    @classmethod
    def along(
        cls, decorrelated: Decorrelated, values: Floats, min_size: int, each_row: bool
    ) -> _Process | None:
        first = max(ceil(TRIM * decorrelated.n), min_size)
        order = np.argsort(values, kind="stable")
        ordered = np.asarray(values)[order]
        ends = np.arange(len(order) - 1) if each_row else np.flatnonzero(ordered[1:] > ordered[:-1])
        after = decorrelated.sizes[order].cumsum()[ends]
        inside = (after >= first) & (after <= decorrelated.n - first)
        if ordered[0] == ordered[-1] or not inside.any():
            return None
        return cls(order, ends, first, decorrelated.n - first)

    @property
    def ratio(self) -> float:
        """Return λ: the odds of the last cut point over those of the first."""
        n = self.first + self.last
        return (n - self.first) * self.last / (self.first * (n - self.last))

    def statistics(self, scores: Floats, sizes: Floats) -> Floats:
        """Return the statistic of each dealing-out (d, units, k) of scores and sizes."""
        n = self.first + self.last
        walked = scores[:, self.order].cumsum(axis=1)[:, self.ends]
        after = sizes[:, self.order].cumsum(axis=1)[:, self.ends]
        inside = (after >= self.first) & (after <= self.last)
        share = np.where(inside, after / n, 0.5)
        by_cut = np.where(inside, (walked**2).sum(axis=2) / (share * (1 - share)), 0.0)
        largest: Floats = by_cut.max(axis=1)
        return largest


def _test_levels(decorrelated: Decorrelated, codes: Ints) -> Instability | None:
    from scipy.stats import chi2

    present = len(np.unique(codes))
    if present < 2:
        return None
    statistic = float(_level_statistics(decorrelated.scores[None], decorrelated.sizes[None], codes)[0])
    df = decorrelated.k * (present - 1)
    return Instability(statistic, float(chi2.logsf(statistic, df)))


def _level_statistics(scores: Floats, sizes: Floats, codes: Ints) -> Floats:
    total = np.zeros(len(scores))
    n = sizes[0].sum()
    for level in np.unique(codes):
        members = codes == level
        total += (scores[:, members].sum(axis=1) ** 2).sum(axis=1) / (sizes[:, members].sum(axis=1) / n)
    return total
