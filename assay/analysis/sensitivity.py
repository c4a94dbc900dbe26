"""Would other choices have given other winners? Ranks under other policies, without a task; what could be seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.analysis.impute import FoldScores
from assay.analysis.ranks import critical_distance, task_ranks
from assay.errors import UserError

__all__ = ["LeftOut", "Sensitivity", "Variant", "detectable", "rank_variants"]

ROUNDING = 1e-9  # ranks that differ by less are equal


@dataclass(frozen=True)
class Variant:
    """Average ranks under one choice, in the order of the frameworks; None where that choice cannot be made here.

    `n_tasks` says on how many tasks: a choice may have fewer that all frameworks can be compared on.
    """

    name: str
    ranks: tuple[float, ...] | None
    why_not: str = ""
    n_tasks: int = 0


@dataclass(frozen=True)
class LeftOut:
    """What leaving out one task does to the average rank of a framework at most, and whether the order changes."""

    task: str
    largest_change: float
    framework: str
    new_leader: str


@dataclass(frozen=True)
class Sensitivity:
    """How far the ranks depend on choices; frameworks are in the order of their ranks as they are.

    Attributes:
        detectable_rank: the difference of average ranks that Nemenyi's test could just have found.
        detectable_win_rate: the win rate against one other that a sign test over the tasks would have found in 80 %
            of such suites, at the 5 % level.
    """

    frameworks: tuple[str, ...]
    variants: tuple[Variant, ...]
    tasks: tuple[LeftOut, ...]
    detectable_rank: float | None
    detectable_win_rate: float | None
    n_tasks: int


def rank_variants(
    scores: FoldScores, others: dict[str, Callable[[], FoldScores]], alpha: float = 0.05
) -> Sensitivity:
    """Return the ranks as they are, under each other choice, and without each task.

    Args:
        scores: folds × frameworks without holes.
        others: by name a function that gathers the same frameworks under another choice.
        alpha: the level of the differences that could have been seen.
    """
    if not scores.tasks:
        raise UserError("There is no task on which all frameworks have a score.")
    order = np.argsort(task_ranks(scores.means()).mean(axis=0), kind="stable")
    scores = scores.keep([scores.frameworks[j] for j in order])
    names = scores.frameworks
    base = task_ranks(scores.means())
    variants = [
        Variant(f"impute {scores.policy}", tuple(base.mean(axis=0).tolist()), n_tasks=len(scores.tasks))
    ]
    for name, make in others.items():
        try:
            ranks, n_tasks = _ranks_of(make(), names)
            variants.append(Variant(name, ranks, n_tasks=n_tasks))
        except UserError as error:
            variants.append(Variant(name, None, str(error)))
    n = len(scores.tasks)
    return Sensitivity(
        frameworks=names,
        variants=tuple(variants),
        tasks=_leave_one_out(base, scores),
        detectable_rank=critical_distance(len(names), n, alpha) if len(names) > 1 else None,
        detectable_win_rate=detectable(n, alpha),
        n_tasks=n,
    )


def _ranks_of(scores: FoldScores, names: tuple[str, ...]) -> tuple[tuple[float, ...], int]:
    other, _ = scores.keep([name for name in names if name in scores.frameworks]).complete()
    out = [name for name in names if name not in other.frameworks]
    if out:
        raise UserError(f"{', '.join(out)} would have no scores to compare.")
    return tuple(task_ranks(other.means()).mean(axis=0).tolist()), len(other.tasks)


def detectable(n_tasks: int, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """Return the smallest win rate that a two-sided sign test over so many tasks finds with this power, or None."""
    from scipy.stats import binom

    critical = next(
        (k for k in range(n_tasks // 2, n_tasks + 1) if 2 * binom.sf(k - 1, n_tasks, 0.5) <= alpha), None
    )
    if critical is None:
        return None
    rates = np.arange(0.5, 1.0005, 0.001)
    enough = rates[binom.sf(critical - 1, n_tasks, rates) >= power]
    return float(enough[0]) if len(enough) else None


def _leave_one_out(ranks: Any, scores: FoldScores) -> tuple[LeftOut, ...]:
    n = len(ranks)
    if n < 2:
        return ()
    base = ranks.mean(axis=0)
    leader = int(np.argmin(base))
    out = []
    for t, task in enumerate(scores.tasks):
        without = (base * n - ranks[t]) / (n - 1)
        j = int(np.argmax(np.abs(without - base)))
        first = int(np.argmin(without))
        new = scores.frameworks[first] if without[first] < without[leader] - ROUNDING else ""
        out.append(LeftOut(task, float(without[j] - base[j]), scores.frameworks[j], new))
    return tuple(sorted(out, key=lambda one: (one.new_leader == "", -abs(one.largest_change))))
