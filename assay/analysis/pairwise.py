"""Who beats whom: win rates, Bradley–Terry strengths and Elo, with intervals that take tasks as what is random."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from assay.analysis.bradley_terry import Tallies, fit, tally
from assay.analysis.impute import FoldScores
from assay.analysis.ranks import task_ranks
from assay.errors import UserError

__all__ = ["Pairwise", "compare_pairwise"]

ELO = 400 / log(10)
ANCHOR = 1000.0
UNBOUNDED = 12.0  # a log strength beyond this means: won, or lost, every comparison
LEVEL = 0.95


@dataclass(frozen=True)
class Pairwise:
    """Frameworks by strength, best first; all arrays follow this order.

    Attributes:
        wins, ties: (m, m) tasks on which the row's mean score is better than, or equal to, the column's.
        win_rate: (m) share of comparisons won on folds, ties counting half, every task counting alike.
        elo: (m) with `anchor` at 1000; `elo_low` and `elo_high` its interval; infinite where all were won or lost.
        rank: (m) average rank over tasks; `rank_low` and `rank_high` its interval.
        place: (m, 2) the places from 1 between which it comes out in 95 % of the draws.
        group: (m) number of its tie group: the first of a group is not clearly better than the others of it.
        improvability: (m) mean over tasks of how much smaller its error would be if it were the best one's.
        mean_reciprocal_rank: (m).
        better: (m, m) share of the draws in which the row's strength is above the column's.
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
    improvability: Any
    mean_reciprocal_rank: Any
    better: Any


def compare_pairwise(
    scores: FoldScores, random: np.random.Generator, draws: int = 1000, anchor: str = ""
) -> Pairwise:
    """Compare all pairs on all folds; draw tasks with replacement for intervals.

    Folds of a task are no independent observations, so a task is drawn with all its folds; each task counts alike,
    however many folds it has.

    Args:
        scores: folds × frameworks without holes.
        random: where the draws come from.
        draws: how many.
        anchor: the framework whose Elo is 1000; by default a random forest, else the mean of all.
    """
    m, n_tasks = len(scores.frameworks), len(scores.tasks)
    if m < 2:
        raise UserError("At least two frameworks are needed to compare pairs.")
    points, ties = _points_by_task(scores)
    means = scores.means()
    ranks = task_ranks(means)
    weights = random.multinomial(n_tasks, np.full(n_tasks, 1 / n_tasks), size=draws).astype(float)
    everybody = n_tasks * (1 - np.eye(m))
    best = fit(Tallies(points.sum(axis=0), ties.sum(), everybody))
    drawn = fit(Tallies(weights @ points, weights @ ties, everybody)).strengths
    who, base = _anchor(scores, anchor)
    elo, drawn_elo = _elo(best.strengths[None], base)[0], _elo(drawn, base)
    drawn_ranks = weights @ ranks / n_tasks
    order = np.lexsort((ranks.mean(axis=0), -elo))
    low, high = _interval(drawn_elo)
    rank_low, rank_high = _interval(drawn_ranks)
    better = (drawn[:, :, None] > drawn[:, None, :]).mean(axis=0) + (
        drawn[:, :, None] == drawn[:, None, :]
    ).mean(axis=0) / 2
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
        place=_places(drawn)[order],
        group=_groups(better[pair]),
        improvability=_improvability(scores, means)[order],
        mean_reciprocal_rank=(1 / ranks).mean(axis=0)[order],
        better=better[pair],
    )


def _points_by_task(scores: FoldScores) -> tuple[Any, Any]:
    """Return points (tasks, m) and ties (tasks), means over the folds of each task."""
    points, ties = tally(scores.scores)
    counts = np.bincount(scores.task, minlength=len(scores.tasks)).astype(float)
    summed = np.zeros((len(scores.tasks), points.shape[1]))
    np.add.at(summed, scores.task, points)
    even = np.bincount(scores.task, weights=ties, minlength=len(scores.tasks))
    return summed / counts[:, None], even / counts


def _anchor(scores: FoldScores, wanted: str) -> tuple[str, int | None]:
    names = scores.frameworks
    if wanted and wanted not in names:
        raise UserError(f"Unknown anchor '{wanted}': give one of {', '.join(names)}.")
    found = wanted or scores.forest
    return (found, names.index(found)) if found else ("the mean", None)


def _elo(strengths: Any, base: int | None) -> Any:
    """Return Elo (draws, m); infinite where a strength has no bound."""
    middle = np.median(strengths, axis=1, keepdims=True)
    far = strengths - middle
    zero = strengths.mean(axis=1, keepdims=True) if base is None else strengths[:, [base]]
    elo = ANCHOR + ELO * (strengths - zero)
    return np.where(far > UNBOUNDED, np.inf, np.where(far < -UNBOUNDED, -np.inf, elo))


def _interval(drawn: Any) -> tuple[Any, Any]:
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0, method="nearest")
    return low, high


def _share_above(drawn: Any) -> Any:
    """Return (m, m) the share of draws in which the row's strength is above the column's, equals counting half."""
    m = drawn.shape[1]
    out = np.empty((m, m))
    for i in range(m):  # row by row: all at once would be draws × m × m
        out[i] = (drawn[:, [i]] > drawn).mean(axis=0) + (drawn[:, [i]] == drawn).mean(axis=0) / 2
    return out


def _places(drawn: Any) -> Any:
    from scipy.stats import rankdata

    low, high = _interval(rankdata(-drawn, axis=1, method="min"))
    return np.stack([low, high], axis=1).astype(int)


def _groups(better: Any) -> Any:
    """Return tie groups: the next one begins with the first that the first of this one clearly beats."""
    group, first, number = np.ones(len(better), dtype=int), 0, 1
    for i in range(1, len(better)):
        if better[first, i] > (1 + LEVEL) / 2:
            first, number = i, number + 1
        group[i] = number
    return group


def _matrix(means: Any) -> tuple[Any, Any]:
    wins = (means[:, :, None] > means[:, None, :]).sum(axis=0)
    even = (means[:, :, None] == means[:, None, :]).sum(axis=0)
    np.fill_diagonal(even, 0)
    return wins, even


def _improvability(scores: FoldScores, means: Any) -> Any:
    """Return 1 - (best error / own error), means over tasks; scores that should be high have the error 1 - score."""
    errors = np.where(np.array(scores.higher)[:, None], 1 - means, -means)
    errors = np.maximum(errors, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        gain = 1 - errors.min(axis=1, keepdims=True) / errors
    return np.where(errors > 0, gain, 0.0).mean(axis=0)
