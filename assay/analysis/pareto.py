"""Is it worth the time? Scaled scores against seconds, and who is not beaten in both. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Front", "Point", "find_front"]


@dataclass(frozen=True)
class Point:
    """One framework: score and seconds, and whether nobody is better in one without being worse in the other."""

    framework: str
    score: float
    seconds: float
    on_front: bool


@dataclass(frozen=True)
class Front:
    """Points from the fastest to the slowest; `over` says how tasks were averaged, `missing` who has no seconds."""

    points: tuple[Point, ...]
    over: str
    missing: tuple[str, ...]


def find_front(frameworks: tuple[str, ...], scores: Any, seconds: Any, over: str = "mean") -> Front:
    """Average (tasks, m) scores and seconds over tasks and mark the Pareto front: more score, fewer seconds.

    Args:
        frameworks: names of the columns.
        scores: higher is better; NaN is left out.
        seconds: NaN is left out.
        over: `mean` or `median`.
    """
    average = np.nanmedian if over == "median" else np.nanmean
    known = [
        j
        for j in range(len(frameworks))
        if np.isfinite(scores[:, j]).any() and np.isfinite(seconds[:, j]).any()
    ]
    score = np.array([average(scores[:, j]) for j in known])
    time = np.array([average(seconds[:, j]) for j in known])
    points = []
    for place in np.lexsort((-score, time)):
        ahead = (score >= score[place]) & (time <= time[place])
        beaten = (ahead & ((score > score[place]) | (time < time[place]))).any()
        points.append(
            Point(frameworks[known[place]], float(score[place]), float(time[place]), not bool(beaten))
        )
    missing = tuple(name for j, name in enumerate(frameworks) if j not in known)
    return Front(tuple(points), over, missing)
