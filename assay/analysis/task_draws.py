"""What draws of tasks say: Elo with intervals, places, and groups of frameworks that do not clearly differ."""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from assay.typing import Bools, Floats, Ints

__all__ = [
    "MIN_TASKS", "UNBOUNDED", "bounded", "elo_of", "interval_of", "places_of", "share_above", "tail_of", "tie_groups",
]  # fmt: skip

ELO = 400 / log(10)  # chess: 400 points are odds of ten to one
ANCHOR = 1000.0
UNBOUNDED = 12.0  # a log strength beyond this means: won, or lost, every comparison
LEVEL = 0.95
# Drawn from fewer tasks, samples are too much alike to say how far another suite would differ.
MIN_TASKS = 5
ROUNDING = 1e-9  # values that differ by less are equal, however little they vary over the draws


def elo_of(strengths: Floats, base: int | None) -> Floats:
    """Return Elo (draws, m); infinite where a strength has no bound, which then is no measure for the others."""
    far = strengths - np.median(strengths, axis=1, keepdims=True)
    finite = np.abs(far) <= UNBOUNDED
    zero = (strengths * finite).sum(axis=1, keepdims=True) / np.maximum(finite.sum(axis=1, keepdims=True), 1)
    if base is not None:
        zero = np.where(finite[:, [base]], strengths[:, [base]], zero)
    elo = ANCHOR + ELO * (strengths - zero)
    return np.where(finite, elo, np.where(far > 0, np.inf, -np.inf))


def bounded(strengths: Floats) -> Floats:
    """Return strengths no further from the middle than what counts as won or lost entirely."""
    far = strengths - np.median(strengths, axis=-1, keepdims=True)
    return np.clip(far, -UNBOUNDED, UNBOUNDED)


def tail_of(n_tasks: int) -> float:
    """Return the share of draws to cut off at each end of a 95 % interval: less than .025, the fewer tasks the less.

    Means of drawn tasks spread less than means of new ones, and their quantiles are the normal's, not Student's:
    percentiles are expanded for both.

    References:
        Hesterberg (2015), What teachers should know about the bootstrap, The American Statistician 69(4).
    """
    from scipy.special import ndtr, stdtrit

    if n_tasks < 2:
        return (1 - LEVEL) / 2
    return float(ndtr(sqrt(n_tasks / (n_tasks - 1)) * stdtrit(n_tasks - 1, (1 - LEVEL) / 2)))


def interval_of(drawn: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return the ends of (draws, m) values when this share is cut off at each end."""
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0, method="nearest")
    return low, high


def share_above(drawn: Floats) -> Floats:
    """Return (m, m) the share of draws in which the row's value is above the column's, equals counting half."""
    m = drawn.shape[1]
    out = np.empty((m, m))
    for i in range(m):  # row by row: all at once would be draws × m × m
        out[i] = (drawn[:, [i]] > drawn).mean(axis=0) + (drawn[:, [i]] == drawn).mean(axis=0) / 2
    return out


def places_of(drawn: Floats, tail: float) -> Ints:
    """Return (m, 2) the places from 1 between which each comes out when this share of draws is cut off."""
    from scipy.stats import rankdata

    low, high = interval_of(rankdata(-drawn, axis=1, method="min"), tail)
    return np.stack([low, high], axis=1).astype(int)


def tie_groups(values: Floats, drawn: Floats, order: Ints, n_tasks: int) -> Ints:
    """Return tie groups of values that should be high: the next begins with the first that its first clearly beats."""
    out = np.ones(len(values), dtype=int)
    if n_tasks < MIN_TASKS:
        return out
    clear = _clear_pairs(values, drawn, n_tasks)
    first, number = order[0], 1
    for i in order[1:]:
        if clear[first, i]:
            first, number = i, number + 1
        out[i] = number
    return out


def _clear_pairs(values: Floats, drawn: Floats, n_tasks: int) -> Bools:
    """Return (m, m) whether the row is clearly above the column, for all pairs together (Bonferroni).

    A difference must have so many of its deviations over the draws as Student's t asks for. As in `tail_of`, draws of
    few tasks spread too little.
    """
    from scipy.special import stdtrit

    m = len(values)
    shared = np.cov(drawn, rowvar=False, ddof=0)
    variances = np.diag(shared)
    spread = np.sqrt(np.maximum(variances[:, None] + variances[None, :] - 2 * shared, 0.0))
    limit = -stdtrit(n_tasks - 1, (1 - LEVEL) / (m * (m - 1))) * sqrt(n_tasks / (n_tasks - 1))
    clear: Bools = values[:, None] - values[None, :] > np.maximum(limit * spread, ROUNDING)
    return clear
