"""Tests between average ranks and between paired scores: Friedman, Iman–Davenport, Nemenyi, Wilcoxon with Holm."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan, sqrt
from typing import TYPE_CHECKING

import numpy as np

from assay.typing import Floats, Ints

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "Friedman",
    "ImanDavenport",
    "bonferroni_dunn",
    "critical_distance",
    "friedman_test",
    "holm",
    "iman_davenport_test",
    "nemenyi_p",
    "task_ranks",
    "wilcoxon_holm",
    "wilcoxon_p",
]

EXACT_WILCOXON = 50  # differences: the exact distribution is cheap up to here, and scipy switches there too


@dataclass(frozen=True)
class Friedman:
    """Friedman's test that all frameworks rank alike; `chi2` and `p` are corrected for ties."""

    chi2: float
    chi2_uncorrected: float
    df: int
    p: float


@dataclass(frozen=True)
class ImanDavenport:
    """The less conservative form of Friedman's test; `F` and `p` from the statistic corrected for ties."""

    F: float
    F_uncorrected: float
    df1: int
    df2: int
    p: float


def task_ranks(scores: ArrayLike) -> Floats:
    """Return ranks within each row, 1 for the highest score; equals share theirs."""
    from scipy.stats import rankdata

    ranks: Floats = rankdata(-np.asarray(scores), axis=1)
    return ranks


def critical_distance(m: int, n_tasks: int, alpha: float = 0.05) -> float:
    """Return how far average ranks must lie apart to differ (Nemenyi), with infinite degrees of freedom."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(1 - alpha, m, inf) / sqrt(2) * sqrt(m * (m + 1) / (6 * n_tasks)))


def holm(p: ArrayLike) -> Floats:
    """Return p-values adjusted by Holm's step-down procedure; NaN stays NaN and is not counted."""
    given = np.asarray(p, dtype=float)
    counted = np.flatnonzero(~np.isnan(given))
    order = counted[np.argsort(given[counted], kind="stable")]
    steps = np.maximum.accumulate(given[order] * np.arange(len(order), 0, -1))
    out = np.full(len(given), nan)
    out[order] = np.minimum(steps, 1.0)
    return out


def wilcoxon_p(differences: ArrayLike) -> Floats:
    """Return two-sided p-values of Wilcoxon's signed-rank test for each row (pairs, tasks).

    Zeros are left out, as Wilcoxon did. Exact up to 50 differences without ties and zeros; else the normal
    approximation, corrected for ties. 1 where all are zero.
    """
    from scipy.stats import rankdata

    d = np.atleast_2d(np.asarray(differences, dtype=float))
    size = np.abs(d)
    size[d == 0] = nan
    ranks = np.nan_to_num(rankdata(size, axis=1, nan_policy="omit"))
    n = (d != 0).sum(axis=1)
    plus = (ranks * (d > 0)).sum(axis=1)
    ordered = np.sort(size, axis=1)
    tied = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    out = _normal_wilcoxon(ranks, plus, n)
    exact = (n == d.shape[1]) & ~tied & (n <= EXACT_WILCOXON)
    if exact.any():
        out[exact] = _exact_wilcoxon(plus[exact], d.shape[1])
    return out


def _normal_wilcoxon(ranks: Floats, plus: Floats, n: Ints) -> Floats:
    from scipy.special import ndtr

    # The variance of a sum of signed ranks is a quarter of the sum of their squares: ties are in it.
    variance = (ranks**2).sum(axis=1) / 4
    mean = n * (n + 1) / 4
    with np.errstate(invalid="ignore", divide="ignore"):
        z = (plus - mean) / np.sqrt(variance)
    return np.where(n == 0, 1.0, 2 * ndtr(-np.abs(z)))


def _exact_wilcoxon(plus: Floats, n: int) -> Floats:
    """Return twice the smaller tail of the number of subsets of 1..n by their sum."""
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1.0
    for rank in range(1, n + 1):
        counts[rank:] = counts[rank:] + counts[:-rank]
    below = counts.cumsum() / counts.sum()
    least = np.minimum(plus, n * (n + 1) // 2 - plus).astype(int)
    p: Floats = np.minimum(1.0, 2 * below[least])
    return p


def wilcoxon_holm(scores: Floats) -> Floats:
    """Return (m, m) p-values of Wilcoxon's test of each pair of columns of (tasks, m) scores, after Holm."""
    m = scores.shape[1]
    first, second = np.triu_indices(m, 1)
    adjusted = holm(wilcoxon_p((scores[:, first] - scores[:, second]).T))
    out = np.ones((m, m))
    out[first, second] = out[second, first] = adjusted
    return out


def friedman_test(ranks: Floats) -> Friedman:
    """Test whether the columns of (tasks, m) ranks have the same mean."""
    from scipy.stats import chi2

    n, m = ranks.shape
    plain = 12 * n / (m * (m + 1)) * ((ranks.mean(axis=0) ** 2).sum() - m * (m + 1) ** 2 / 4)
    ordered = np.sort(ranks, axis=1)
    lost = sum(
        float((count**3 - count).sum())
        for row in ordered
        for count in [np.unique(row, return_counts=True)[1]]
    )
    factor = 1 - lost / (n * m * (m**2 - 1))
    corrected = plain / factor if factor > 0 else nan  # all equal on every task: nothing to test
    return Friedman(float(corrected), float(plain), m - 1, float(chi2.sf(corrected, m - 1)))


def iman_davenport_test(friedman: Friedman, n: int, m: int) -> ImanDavenport:
    """Turn Friedman's statistic over n tasks and m frameworks into Iman and Davenport's F."""
    from scipy.stats import f

    def ratio(chi2: float) -> float:
        if chi2 != chi2:
            return nan
        rest = n * (m - 1) - chi2
        return (n - 1) * chi2 / rest if rest > 1e-9 * n * m else inf

    df1, df2 = m - 1, (m - 1) * (n - 1)
    corrected = ratio(friedman.chi2)
    p = float(f.sf(corrected, df1, df2)) if df2 else nan
    return ImanDavenport(corrected, ratio(friedman.chi2_uncorrected), df1, df2, p)


def nemenyi_p(q: Floats, m: int) -> Floats:
    """Return (m, m) p-values of studentized ranges, with infinite degrees of freedom."""
    from scipy.stats import studentized_range

    first, second = np.triu_indices(len(q), 1)
    out = np.ones_like(q)
    values, back = np.unique(q[first, second], return_inverse=True)
    out[first, second] = out[second, first] = np.clip(studentized_range.sf(values, m, inf), 0, 1)[back]
    return out


def bonferroni_dunn(average: Floats, control: int, error: float, alpha: float) -> tuple[Floats, float]:
    """Return (m) p-values against the control, and the distance at which average ranks differ from its own."""
    from scipy.special import ndtr, ndtri

    others = len(average) - 1
    p = np.minimum(1.0, others * 2 * ndtr(-np.abs(average - average[control]) / error))
    p[control] = 1.0
    return p, float(-ndtri(alpha / (2 * others)) * error)
