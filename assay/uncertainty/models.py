"""What a framework's own models promise: the corrected bound of the best of them, beside what came out in the test."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from assay.errors import UserError
from assay.jobs.row import Row
from assay.results.prediction_matrix import PredictionMatrix
from assay.typing import JsonObject
from assay.uncertainty.bbc import bbc, prepare
from assay.uncertainty.result import Interval, Options

__all__ = ["ModelBound", "bound_models", "note_on_lost"]


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

    def to_json(self) -> JsonObject:
        """Return the fields, without the draws; `is_inside` is None where another model predicted."""
        fields = {**asdict(self), "interval": self.interval.to_json()}
        return {**fields, "is_inside": self.is_inside if self.is_same else None}


def bound_models(
    row: Row, data: PredictionMatrix, best: str, options: Options, seed: int = 0
) -> ModelBound | None:
    """Return the bound of a job's best model; None where its metric cannot be resampled, or has no value.

    `best` is the model the framework says that it predicts with. One that left a single model predicts with that.
    """
    if row.score is None:
        return None
    try:
        search = prepare(data, row.metric)
        interval = bbc(search, options, np.random.default_rng(seed))
    except UserError:
        return None
    is_same = best == interval.winner_name or len(data.names) == 1
    return ModelBound(
        row.framework, row.task, row.repeat, row.fold, len(data.names), interval,
        row.score, is_same,
    )  # fmt: skip


def note_on_lost(lost: int) -> tuple[str, ...]:
    """Return a note on jobs whose models left predictions from which no bound can be computed."""
    if not lost:
        return ()
    return (
        f"{lost} job{'s' * (lost > 1)} left predictions that cannot be judged by resampling their metric.",
    )
