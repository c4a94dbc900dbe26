"""Average ranks over tasks, and which differences are more than chance. Pure: a matrix of scores in, a record out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan, sqrt
from typing import Any

import numpy as np

from assay.errors import UserError

__all__ = [
    "Friedman",
    "ImanDavenport",
    "Ranks",
    "critical_distance",
    "holm",
    "rank_frameworks",
    "task_ranks",
    "wilcoxon_p",
]


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


@dataclass(frozen=True)
class Ranks:
    """Frameworks from best to worst average rank, and the tests between them.

    Attributes:
        frameworks: names, best first; all arrays follow this order.
        average: (m) average ranks, 1 is best.
        by_task: (tasks, m) ranks, equals sharing theirs.
        critical_distance: average ranks closer than this differ by no more than chance (Nemenyi).
        nemenyi_p: (m, m) p-values of all pairs, adjusted for all of them.
        groups: maximal runs of frameworks closer than the critical distance, as positions (first, last).
        wilcoxon_p: (m, m) Wilcoxon's signed-rank test of the scores of each pair, after Holm.
        control: the framework that Bonferroni–Dunn compares with, or None; `dunn_p` (m) and `dunn_distance`.
    """

    frameworks: tuple[str, ...]
    n_tasks: int
    alpha: float
    average: Any
    by_task: Any
    friedman: Friedman
    iman_davenport: ImanDavenport
    critical_distance: float
    nemenyi_p: Any
    groups: tuple[tuple[int, int], ...]
    wilcoxon_p: Any
    control: str | None = None
    dunn_p: Any = None
    dunn_distance: float | None = None


def rank_frameworks(
    scores: Any, frameworks: Sequence[str], alpha: float = 0.05, control: str | None = None
) -> Ranks:
    """Rank frameworks on each task and test whether their average ranks differ.

    Args:
        scores: (tasks, m) one score per task and framework, higher being better, none missing; usually means over
            folds. Only the order within a task counts, so tasks may have different metrics.
        frameworks: names of the columns.
        alpha: the level of the critical distances.
        control: compare the others with this one alone (Bonferroni–Dunn).

    References:
        Demšar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7. Iman and Davenport
        (1980), Approximations of the critical region of the Friedman statistic, Communications in Statistics 9.

    Example:
        >>> found = rank_frameworks([[0.9, 0.8, 0.7], [0.6, 0.5, 0.5], [0.3, 0.1, 0.2]], ["a", "b", "c"])
        >>> found.average.tolist(), round(found.friedman.chi2, 4)
        ([1.0, 2.5, 2.5], 4.9091)
    """
    scores = np.asarray(scores, dtype=float)
    _check(scores, frameworks, control)
    ranks = task_ranks(scores)
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    ranks, scores = ranks[:, order], scores[:, order]
    names = tuple(frameworks[i] for i in order)
    average = ranks.mean(axis=0)
    n, m = ranks.shape
    friedman = _friedman(ranks)
    distance = critical_distance(m, n, alpha)
    error = sqrt(m * (m + 1) / (6 * n))
    apart = np.abs(average[:, None] - average[None, :])
    dunn_p, dunn_distance = (None, None)
    if control is not None:
        dunn_p, dunn_distance = _dunn(average, names.index(control), error, alpha)
    return Ranks(
        frameworks=names,
        n_tasks=n,
        alpha=alpha,
        average=average,
        by_task=ranks,
        friedman=friedman,
        iman_davenport=_iman_davenport(friedman, n, m),
        critical_distance=distance,
        nemenyi_p=_studentized_p(apart / error * sqrt(2), m),
        groups=_groups(average, distance),
        wilcoxon_p=_wilcoxon_holm(scores),
        control=control,
        dunn_p=dunn_p,
        dunn_distance=dunn_distance,
    )


def task_ranks(scores: Any) -> Any:
    """Return ranks within each row, 1 for the highest score; equals share theirs."""
    from scipy.stats import rankdata

    return rankdata(-np.asarray(scores), axis=1)


def critical_distance(m: int, n_tasks: int, alpha: float = 0.05) -> float:
    """Return how far average ranks must lie apart to differ (Nemenyi), with infinite degrees of freedom."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(1 - alpha, m, inf) / sqrt(2) * sqrt(m * (m + 1) / (6 * n_tasks)))


def holm(p: Any) -> Any:
    """Return p-values adjusted by Holm's step-down procedure; NaN stays NaN and is not counted."""
    p = np.asarray(p, dtype=float)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    steps = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1))
    out = np.full(len(p), nan)
    out[order] = np.minimum(steps, 1.0)
    return out


def wilcoxon_p(differences: Any) -> Any:
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
    exact = (n == d.shape[1]) & ~tied & (n <= 50)
    if exact.any():
        out[exact] = _exact_wilcoxon(plus[exact], d.shape[1])
    return out


def _normal_wilcoxon(ranks: Any, plus: Any, n: Any) -> Any:
    from scipy.special import ndtr

    # The variance of a sum of signed ranks is a quarter of the sum of their squares: ties are in it.
    variance = (ranks**2).sum(axis=1) / 4
    mean = n * (n + 1) / 4
    with np.errstate(invalid="ignore", divide="ignore"):
        z = (plus - mean) / np.sqrt(variance)
    return np.where(n == 0, 1.0, 2 * ndtr(-np.abs(z)))


def _exact_wilcoxon(plus: Any, n: int) -> Any:
    """Return twice the smaller tail of the number of subsets of 1..n by their sum."""
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1.0
    for rank in range(1, n + 1):
        counts[rank:] = counts[rank:] + counts[:-rank]
    below = counts.cumsum() / counts.sum()
    least = np.minimum(plus, n * (n + 1) // 2 - plus).astype(int)
    return np.minimum(1.0, 2 * below[least])


def _wilcoxon_holm(scores: Any) -> Any:
    m = scores.shape[1]
    first, second = np.triu_indices(m, 1)
    adjusted = holm(wilcoxon_p((scores[:, first] - scores[:, second]).T))
    out = np.ones((m, m))
    out[first, second] = out[second, first] = adjusted
    return out


def _friedman(ranks: Any) -> Friedman:
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


def _iman_davenport(friedman: Friedman, n: int, m: int) -> ImanDavenport:
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


def _studentized_p(q: Any, m: int) -> Any:
    from scipy.stats import studentized_range

    first, second = np.triu_indices(len(q), 1)
    out = np.ones_like(q)
    values, back = np.unique(q[first, second], return_inverse=True)
    out[first, second] = out[second, first] = np.clip(studentized_range.sf(values, m, inf), 0, 1)[back]
    return out


def _groups(average: Any, distance: float) -> tuple[tuple[int, int], ...]:
    """Return maximal runs of at least two neighbours within the distance."""
    found: list[tuple[int, int]] = []
    for first in range(len(average)):
        last = int(np.searchsorted(average, average[first] + distance, side="right")) - 1
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return tuple(found)


def _dunn(average: Any, control: int, error: float, alpha: float) -> tuple[Any, float]:
    from scipy.special import ndtr, ndtri

    others = len(average) - 1
    p = np.minimum(1.0, others * 2 * ndtr(-np.abs(average - average[control]) / error))
    p[control] = 1.0
    return p, float(-ndtri(alpha / (2 * others)) * error)


def _check(scores: Any, frameworks: Sequence[str], control: str | None) -> None:
    if scores.ndim != 2 or scores.shape[1] != len(frameworks):
        raise ValueError(f"scores have shape {scores.shape}, but {len(frameworks)} frameworks were named")
    if scores.shape[1] < 2:
        raise UserError("Ranks compare frameworks: at least two are needed.")
    if scores.shape[0] < 1:
        raise UserError("There is no task on which all frameworks have a score.")
    if not np.isfinite(scores).all():
        raise UserError("Scores are missing: impute them (--impute), or leave out the tasks or frameworks.")
    if control is not None and control not in frameworks:
        raise UserError(f"Unknown control '{control}': give one of {', '.join(frameworks)}.")
