"""What a framework's own models promise: the corrected bound of the best of them, beside what came out in the test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.errors import UserError
from assay.jobs.row import Row
from assay.uncertainty.bbc import bbc, prepare
from assay.uncertainty.predictions import Predictions
from assay.uncertainty.result import Interval, Options

__all__ = ["ModelBound", "bound_models", "said_of_lost", "share_inside"]


@dataclass(frozen=True)
class ModelBound:
    """The best single model of one job by its out-of-fold predictions.

    Attributes:
        framework, task, repeat, fold: which job.
        models: from how many it was chosen.
        interval: its corrected interval.
        test_score: the framework's score on the test rows, of whatever it predicts with.
        is_same: whether that is this very model; an ensemble is another.
    """

    framework: str
    task: str
    repeat: int
    fold: int
    models: int
    interval: Interval
    test_score: float
    is_same: bool

    @property
    def is_inside(self) -> bool:
        """Whether the score on the test rows lies within the interval."""
        low, high = self.interval.lower, self.interval.upper
        return low is not None and high is not None and low <= self.test_score <= high


def bound_models(
    row: Row, data: Predictions, best: str, options: Options, seed: int = 0
) -> ModelBound | None:
    """Return the bound of a job's best model; None where its metric cannot be resampled, or has no value.

    `best` is the model the framework says that it predicts with. One that left a single model predicts with that.
    """
    if row.score is None:
        return None
    try:
        search = prepare(data, row.metric)
        found = bbc(search, options, np.random.default_rng(seed))
    except UserError:
        return None
    is_same = best == found.winner_name or len(data.names) == 1
    return ModelBound(
        row.framework, row.task, row.repeat, row.fold, len(data.names), found,
        row.score, is_same,
    )  # fmt: skip


def said_of_lost(lost: int) -> list[str]:
    """Return a note on jobs whose models left predictions that no bound can be had of."""
    if not lost:
        return []
    return [
        f"{lost} job{'s' * (lost > 1)} left predictions that cannot be judged by resampling their metric."
    ]


def share_inside(bounds: Sequence[ModelBound]) -> tuple[int, int]:
    """Return in how many jobs the model's own test score lay within its interval, and of how many that is known."""
    known = [one for one in bounds if one.is_same and one.interval.lower is not None]
    return sum(one.is_inside for one in known), len(known)
