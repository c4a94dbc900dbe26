"""Score against elapsed time: what was the best so far, after so many seconds? From frameworks' own traces. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Curve", "average_curve", "best_so_far"]


@dataclass(frozen=True)
class Curve:
    """The best validation score so far of one framework on one task, in the framework's own terms.

    `metric` is the framework's word for what it optimised; scores of different frameworks are not comparable, because
    each validates in its own way.
    """

    framework: str
    task: str
    metric: str
    higher_is_better: bool
    seconds: tuple[float, ...]
    best: tuple[float, ...]


def best_so_far(framework: str, task: str, trace: Mapping[str, Any]) -> Curve:
    """Return the incumbents of a trace as the child wrote it: points of (seconds, score, …)."""
    higher = bool(trace["higher_is_better"])
    points = sorted(
        (float(p[0]), float(p[1])) for p in trace["points"] if p[0] is not None and p[1] is not None
    )
    seconds: list[float] = []
    best: list[float] = []
    for at, score in points:
        if not best or (score > best[-1] if higher else score < best[-1]):
            seconds.append(at)
            best.append(score)
    return Curve(framework, task, str(trace["metric"]), higher, tuple(seconds), tuple(best))


def average_curve(curves: Iterable[Curve], grid: Sequence[float]) -> Any:
    """Return the mean over curves of progress at each time: 0 at the first incumbent, 1 at the last.

    NaN before every curve has begun; curves whose first incumbent stayed the best count as 1.
    """
    rows = []
    for curve in curves:
        if not curve.best:
            continue
        first, last = curve.best[0], curve.best[-1]
        at = np.searchsorted(curve.seconds, grid, side="right") - 1
        best = np.array(curve.best)[np.maximum(at, 0)]
        progress = np.ones(len(grid)) if last == first else (best - first) / (last - first)
        rows.append(np.where(at < 0, np.nan, progress))
    return np.mean(rows, axis=0) if rows else np.full(len(grid), np.nan)
