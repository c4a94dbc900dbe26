"""Scores on one scale for all tasks: from the forest to the best, or from the worst to the best. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.analysis.impute import FoldScores
from assay.errors import UserError

__all__ = ["Scaled", "in_gaps", "scale_from_forest", "scale_from_worst"]


@dataclass(frozen=True)
class Scaled:
    """(tasks, m) mean scores on one scale; NaN on tasks that have none, which `without_scale` names."""

    frameworks: tuple[str, ...]
    tasks: tuple[str, ...]
    values: Any
    low: float
    high: float
    reference: str
    without_scale: tuple[str, ...]


def scale_from_forest(scores: FoldScores, reference: str = "") -> Scaled:
    """Scale each task so that the random forest is at -1 and the best framework at 0 (Figure 3 of the AMLB paper).

    Where the forest is itself the best there is no scale: the task is left out, and named.
    """
    names = scores.frameworks
    found = reference or scores.forest
    if reference and found not in names:
        raise UserError(f"Scores are to be scaled from '{reference}': give one of {', '.join(names)}.")
    if found not in names:
        raise UserError(
            "Scores are scaled from the random forest, which is not among the rows. Run `random_forest`."
        )
    means = scores.means()
    return _scale(scores, means[:, [names.index(found)]], means, -1.0, 0.0, found)


def scale_from_worst(scores: FoldScores) -> Scaled:
    """Scale each task so that the worst framework is at 0 and the best at 1 (Figure 6); equal ones have no scale."""
    means = scores.means()
    return _scale(scores, means.min(axis=1, keepdims=True), means, 0.0, 1.0, "the worst")


def _scale(scores: FoldScores, start: Any, means: Any, low: float, high: float, reference: str) -> Scaled:
    best = means.max(axis=1, keepdims=True)
    width = best - start
    has_scale = (width > 1e-12 * np.maximum(np.abs(best), np.abs(start)))[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        values = low + (means - start) / width * (high - low)
    values[~has_scale] = np.nan
    without = tuple(task for task, own in zip(scores.tasks, has_scale, strict=True) if not own)
    return Scaled(scores.frameworks, scores.tasks, values, low, high, reference, without)


def in_gaps(scores: FoldScores) -> tuple[Any, tuple[str, ...], tuple[str, ...]]:
    """Return (tasks, m) means as shares of the gap from the constant predictor to the best, of whom, and what to know.

    Tasks on which nobody is better than the constant predictor have no gap and are left out; so is the constant
    predictor itself, which such tasks would speak for. Worse than it by more than the gap counts as -1. Without a
    constant predictor the means stay as they are.
    """
    means = scores.means()
    constant = [j for j, name in enumerate(scores.frameworks) if scores.roles[name] == "constant"]
    if not constant:
        return (
            means,
            scores.frameworks,
            ("Differences are in the metrics' own units: there is no constant predictor to scale by.",),
        )
    start = means[:, constant[:1]]
    gap = means.max(axis=1, keepdims=True) - start
    use = gap[:, 0] > 1e-9 * np.abs(start[:, 0])
    flat = [task for task, own in zip(scores.tasks, use, strict=True) if not own]
    notes = (f"Nobody is better than the constant predictor: {', '.join(flat)}, left out.",) if flat else ()
    if not use.any():
        raise UserError(
            "Nobody is better than the constant predictor on any task: there is no gap to measure in."
        )
    others = [j for j in range(len(scores.frameworks)) if j not in constant]
    shares = np.clip((means[use] - start[use]) / gap[use], -1.0, 1.0)[:, others]
    return shares, tuple(scores.frameworks[j] for j in others), notes
