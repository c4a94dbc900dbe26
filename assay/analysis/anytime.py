"""Score against elapsed time: how far was the search after so many seconds? From frameworks' own traces. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from assay.errors import UserError

__all__ = ["Anytime", "Curve", "Progress", "best_so_far", "compare_progress"]

GRID = 20


@dataclass(frozen=True)
class Curve:
    """The best validation score so far of one framework on one fold, in the framework's own terms.

    `metric` is the framework's word for what it optimised; scores of different frameworks are not comparable, because
    each validates in its own way.
    """

    framework: str
    task: str
    metric: str
    higher_is_better: bool
    seconds: tuple[float, ...]
    best: tuple[float, ...]
    budget_s: float = float("nan")


@dataclass(frozen=True)
class Progress:
    """How a framework's searches went: of the way from its first score to its last, how much was done when.

    `done` belongs to `Anytime.grid_s`; None before its first score. `first_s` and `last_s` are medians of when the
    first score was there and when the last improvement was.
    """

    framework: str
    jobs: int
    first_s: float
    last_s: float
    done: tuple[float | None, ...]


@dataclass(frozen=True)
class Anytime:
    """Progress of frameworks at the same times, those with the earliest first score first."""

    grid_s: tuple[float, ...]
    frameworks: tuple[Progress, ...]


def best_so_far(framework: str, task: str, trace: Mapping[str, Any], budget_s: float = float("nan")) -> Curve:
    """Return the incumbents of a trace as the child wrote it: points of (seconds, score, …); others are left out."""
    higher = bool(trace.get("higher_is_better", True))
    known = [point for point in map(_point, trace["points"]) if point]
    points = sorted(known, key=lambda point: (point[0], -point[1] if higher else point[1]))
    seconds: list[float] = []
    best: list[float] = []
    for at, score in points:
        if not best or (score > best[-1] if higher else score < best[-1]):
            seconds.append(at)
            best.append(score)
    return Curve(framework, task, str(trace.get("metric", "")), higher, tuple(seconds), tuple(best), budget_s)


def _point(said: Any) -> tuple[float, float] | None:
    try:
        at, score = float(said[0]), float(said[1])
    except (TypeError, ValueError, IndexError, KeyError):
        return None
    return (at, score) if isfinite(at) and isfinite(score) else None


def compare_progress(curves: Iterable[Curve]) -> Anytime:
    """Return the mean progress of each framework's searches at 20 times up to the longest budget, or trace.

    Raises:
        UserError: no search left a trace.
    """
    known = [curve for curve in curves if curve.best]
    if not known:
        raise UserError(
            "No framework here left a trace of its search (flaml, h2o, autogluon, gama, mljar and others do)."
        )
    ends = [max(curve.seconds[-1], curve.budget_s if isfinite(curve.budget_s) else 0.0) for curve in known]
    grid = np.linspace(max(ends) / GRID, max(ends), GRID)
    found = []
    for name in sorted({curve.framework for curve in known}):
        own = [curve for curve in known if curve.framework == name]
        first, last = (float(np.median([curve.seconds[i] for curve in own])) for i in (0, -1))
        done = _mean_progress(own, grid)
        found.append(Progress(name, len(own), first, last, done))
    return Anytime(tuple(grid.tolist()), tuple(sorted(found, key=lambda one: one.first_s)))


def _mean_progress(curves: Sequence[Curve], grid: Any) -> tuple[float | None, ...]:
    """Return the mean over curves of 0 at the first incumbent to 1 at the last; a search that has none yet is at 0."""
    rows, begun = [], []
    for curve in curves:
        first, last = curve.best[0], curve.best[-1]
        at = np.searchsorted(curve.seconds, grid, side="right") - 1
        best = np.array(curve.best)[np.maximum(at, 0)]
        progress = np.ones(len(grid)) if last == first else (best - first) / (last - first)
        rows.append(np.where(at < 0, 0.0, progress))
        begun.append(at >= 0)
    some = np.any(begun, axis=0)
    return tuple(float(one) if own else None for one, own in zip(np.mean(rows, axis=0), some, strict=True))
