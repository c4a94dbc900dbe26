"""Who beats whom: win rates, Bradley–Terry strengths and Elo, with intervals that take tasks as what is random."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np

from assay.analysis.bradley_terry import Tallies, fit, fit_nearby, tally
from assay.analysis.impute import FoldScores
from assay.analysis.ranks import task_ranks
from assay.errors import UserError

__all__ = ["MIN_TASKS", "Pairwise", "compare_pairwise", "tail_of"]

ELO = 400 / log(10)
ANCHOR = 1000.0
UNBOUNDED = 12.0  # a log strength beyond this means: won, or lost, every comparison
LEVEL = 0.95
# Drawn from fewer tasks, samples are too much alike to say how far another suite would differ.
MIN_TASKS = 5
DIGITS = 9  # of log strengths: those of equal frameworks differ by rounding


@dataclass(frozen=True)
class Pairwise:
    """Frameworks by strength, best first; all arrays follow this order.

    Attributes:
        wins, ties: (m, m) tasks on which the row's mean score is better than, or equal to, the column's.
        win_rate: (m) share of comparisons won on folds, ties counting half, every task counting alike.
        elo: (m) with `anchor` at 1000; `elo_low` and `elo_high` its interval; infinite where there is no finite
            distance to the middle: it, or it and some others, won or lost everything against the rest.
        rank: (m) average rank over tasks; `rank_low` and `rank_high` its interval. NaN where there are no intervals.
        place: (m, 2) the places from 1 between which it comes out in 95 % of the draws.
        group: (m) number of its tie group by strength: the first of a group is not clearly better than the others,
            for all pairs together.
        rank_group: (m) the same by average rank, in the order of average ranks.
        improvability: (m) mean over tasks of how much smaller its error would be if it were the best one's.
        mean_reciprocal_rank: (m).
        better: (m, m) share of the draws in which the row's strength is above the column's.
        first_share: (m) share of the draws in which it is the strongest.
    """

    frameworks: tuple[str, ...]
    n_tasks: int
    draws: int
    anchor: str
    wins: Any
    ties: Any
    win_rate: Any
    worth: Any
    elo: Any
    elo_low: Any
    elo_high: Any
    rank: Any
    rank_low: Any
    rank_high: Any
    place: Any
    group: Any
    rank_group: Any
    improvability: Any
    mean_reciprocal_rank: Any
    better: Any
    first_share: Any


def compare_pairwise(
    scores: FoldScores, random: np.random.Generator, draws: int = 1000, anchor: str = ""
) -> Pairwise:
    """Compare all pairs on all folds; draw tasks with replacement for intervals.

    Folds of a task are no independent observations, so a task is drawn with all its folds; each task counts alike,
    however many folds it has. With fewer than five tasks there are no intervals, and nobody is clearly better.

    Args:
        scores: folds × frameworks without holes.
        random: where the draws come from.
        draws: how many.
        anchor: the framework whose Elo is 1000; by default a random forest, else the mean of all.
    """
    m, n_tasks = len(scores.frameworks), len(scores.tasks)
    if m < 2:
        raise UserError("At least two frameworks are needed to compare pairs.")
    if not n_tasks:
        raise UserError("There is no task on which all frameworks have a score.")
    if np.isnan(scores.values).any():
        raise UserError("Scores are missing: impute them (--impute), or leave out the tasks or frameworks.")
    points, ties = _points_by_task(scores)
    means = scores.means()
    ranks = task_ranks(means)
    weights = random.multinomial(n_tasks, np.full(n_tasks, 1 / n_tasks), size=draws).astype(float)
    everybody = n_tasks * (1 - np.eye(m))
    best = fit(Tallies(points.sum(axis=0), ties.sum(), everybody))
    drawn = fit_nearby(weights @ points, weights @ ties, n_tasks, best).round(DIGITS)
    who, base = _anchor(scores, anchor, best.strengths)
    elo, drawn_elo = _elo(best.strengths[None].round(DIGITS), base)[0], _elo(drawn, base)
    drawn_ranks = weights @ ranks / n_tasks
    order = np.lexsort((ranks.mean(axis=0), -elo))
    tail = tail_of(n_tasks)
    low, high = _interval(drawn_elo, tail)
    rank_low, rank_high = _interval(drawn_ranks, tail)
    if n_tasks < MIN_TASKS:
        low, high, rank_low, rank_high = (np.full(m, np.nan) for _ in range(4))
    better = _share_above(drawn)
    average = ranks.mean(axis=0)
    bounded, drawn_bounded = _bounded(best.strengths[None])[0], _bounded(drawn)
    wins, even = _matrix(means)
    pair = np.ix_(order, order)
    return Pairwise(
        frameworks=tuple(scores.frameworks[i] for i in order),
        n_tasks=n_tasks,
        draws=draws,
        anchor=who,
        wins=wins[pair],
        ties=even[pair],
        win_rate=(points.mean(axis=0) / (m - 1))[order],
        worth=best.worths[order],
        elo=elo[order],
        elo_low=low[order],
        elo_high=high[order],
        rank=ranks.mean(axis=0)[order],
        rank_low=rank_low[order],
        rank_high=rank_high[order],
        place=_places(drawn, tail)[order],
        group=_groups(bounded, drawn_bounded, order, n_tasks)[order],
        rank_group=_groups(-average, -drawn_ranks, np.argsort(average, kind="stable"), n_tasks)[order],
        improvability=_improvability(scores, means)[order],
        mean_reciprocal_rank=(1 / ranks).mean(axis=0)[order],
        better=better[pair],
        first_share=np.bincount(drawn.argmax(axis=1), minlength=m)[order] / max(draws, 1),
    )


def _points_by_task(scores: FoldScores) -> tuple[Any, Any]:
    """Return points (tasks, m) and ties (tasks), means over the folds of each task."""
    points, ties = tally(scores.scores)
    counts = np.bincount(scores.task, minlength=len(scores.tasks)).astype(float)
    summed = np.zeros((len(scores.tasks), points.shape[1]))
    np.add.at(summed, scores.task, points)
    even = np.bincount(scores.task, weights=ties, minlength=len(scores.tasks))
    return summed / counts[:, None], even / counts


def _anchor(scores: FoldScores, wanted: str, strengths: Any) -> tuple[str, int | None]:
    names = scores.frameworks
    if wanted and wanted not in names:
        raise UserError(f"Unknown anchor '{wanted}': give one of {', '.join(names)}.")
    found = wanted or scores.forest
    if not found or abs(_bounded(strengths)[names.index(found)]) >= UNBOUNDED:
        return "the mean", None  # one without bound is no measure for the others
    return found, names.index(found)


def _elo(strengths: Any, base: int | None) -> Any:
    """Return Elo (draws, m); infinite where a strength has no bound, which then is no measure for the others."""
    far = strengths - np.median(strengths, axis=1, keepdims=True)
    bounded = np.abs(far) <= UNBOUNDED
    zero = (strengths * bounded).sum(axis=1, keepdims=True) / np.maximum(
        bounded.sum(axis=1, keepdims=True), 1
    )
    if base is not None:
        zero = np.where(bounded[:, [base]], strengths[:, [base]], zero)
    elo = ANCHOR + ELO * (strengths - zero)
    return np.where(bounded, elo, np.where(far > 0, np.inf, -np.inf))


def _bounded(strengths: Any) -> Any:
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


def _interval(drawn: Any, tail: float) -> tuple[Any, Any]:
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0, method="nearest")
    return low, high


def _share_above(drawn: Any) -> Any:
    """Return (m, m) the share of draws in which the row's value is above the column's, equals counting half."""
    m = drawn.shape[1]
    out = np.empty((m, m))
    for i in range(m):  # row by row: all at once would be draws × m × m
        out[i] = (drawn[:, [i]] > drawn).mean(axis=0) + (drawn[:, [i]] == drawn).mean(axis=0) / 2
    return out


def _places(drawn: Any, tail: float) -> Any:
    from scipy.stats import rankdata

    low, high = _interval(rankdata(-drawn, axis=1, method="min"), tail)
    return np.stack([low, high], axis=1).astype(int)


def _groups(values: Any, drawn: Any, order: Any, n_tasks: int) -> Any:
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


def _clear_pairs(values: Any, drawn: Any, n_tasks: int) -> Any:
    """Return (m, m) whether the row is clearly above the column, for all pairs together (Bonferroni).

    A difference must have so many of its deviations over the draws as Student's t asks for. As in `tail_of`, draws of
    few tasks spread too little.
    """
    from scipy.special import stdtrit

    m = len(values)
    shared = np.cov(drawn, rowvar=False, ddof=0)
    own = np.diag(shared)
    spread = np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * shared, 0.0))
    limit = -stdtrit(n_tasks - 1, (1 - LEVEL) / (m * (m - 1))) * sqrt(n_tasks / (n_tasks - 1))
    return values[:, None] - values[None, :] > np.maximum(limit * spread, 1e-9)


def _matrix(means: Any) -> tuple[Any, Any]:
    wins = (means[:, :, None] > means[:, None, :]).sum(axis=0)
    even = (means[:, :, None] == means[:, None, :]).sum(axis=0)
    np.fill_diagonal(even, 0)
    return wins, even


def _improvability(scores: FoldScores, means: Any) -> Any:
    """Return 1 - (best error / own error), means over tasks; scores that should be high have the error 1 - score.

    Tasks on which that is no error, because a score is above 1 or a loss below 0, are left out; NaN where all are.
    """
    errors = np.where(np.array(scores.higher)[:, None], 1 - means, -means)
    errors = errors[(errors >= 0).all(axis=1)]
    if not len(errors):
        return np.full(means.shape[1], np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        gain = 1 - errors.min(axis=1, keepdims=True) / errors
    return np.where(errors > 0, gain, 0.0).mean(axis=0)
