"""Nested cross-validation: the whole search again within each of some outer folds, its winner scored on the rows left.

It judges the search without any correction, at the price of as many searches. All its inner searches are one run of
jobs, and all its winners another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import DataError
from assay.searches.configurations import Configuration
from assay.searches.fits import Fitting, FoldFits, Progress, Work
from assay.searches.folds import Fold, fold_rows
from assay.searches.matrix import gather
from assay.uncertainty.bbc import prepare
from assay.uncertainty.scorers import make_scorer

if TYPE_CHECKING:
    from assay.typing import Floats, JsonObject

__all__ = ["Nested", "find_winners", "nest", "score_each", "score_winners"]


@dataclass(frozen=True)
class Nested:
    """The score of each outer fold's winner on the rows left out, and its name.

    NaN where the metric has no value, or where every configuration failed: then there is no name.
    """

    scores: tuple[float, ...]
    winners: tuple[str, ...]

    @property
    def mean(self) -> float:
        """The mean over the outer folds in which the metric has a value."""
        return float(np.nanmean(self.scores))

    def to_json(self) -> JsonObject:
        """Return plain JSON values."""
        return {
            "mean": self.mean,
            "scores": [score if np.isfinite(score) else None for score in self.scores],
            "winners": list(self.winners),
        }


def nest(fitting: Fitting, work: Work, outer: int, progress: Progress | None = None) -> Nested:
    """Repeat a search within outer folds; it has as many folds there as the rows allow, and at most as many as here."""
    seed = work.demand.seed
    folds = fold_rows(work.data, outer, 1, seed)[0]
    inner = 1 + max(fold for _, fold, _, _ in work.folds)
    trainings = [work.data.take(train) for _, _, train, _ in folds]
    searches = [
        Work(rows, work.configurations, fold_rows(rows, inner, 1, seed)[0], work.demand, work.metric)
        for rows in trainings
    ]
    winners = find_winners(fitting, searches, progress)
    scores = score_winners(fitting, work, folds, winners, progress)
    if not np.isfinite(scores).any():
        raise DataError(f"{work.metric} has no value in any of the {len(folds)} outer folds: take fewer.")
    return Nested(tuple(float(score) for score in scores), tuple(one.name if one else "" for one in winners))


def find_winners(
    fitting: Fitting, searches: Sequence[Work], progress: Progress | None = None
) -> list[Configuration | None]:
    """Return the best configuration of each search, by cross-validation; None where all of them failed."""
    found: list[Configuration | None] = []
    for work, fits in zip(searches, fitting.fit(searches, progress), strict=True):
        if len(fits.failed) == len(work.configurations):
            found.append(None)
            continue
        matrix = gather(work, fits)
        name = matrix.names[prepare(matrix, work.metric).winner]
        found.append(next(one for one in work.configurations if one.name == name))
    return found


def score_winners(
    fitting: Fitting,
    work: Work,
    folds: Sequence[Fold],
    winners: Sequence[Configuration | None],
    progress: Progress | None = None,
) -> Floats:
    """Return the score of one configuration for each fold, learned from its training rows and scored on its test rows.

    NaN where there is no winner, its fit failed, or the metric has no value on these rows.
    """
    scores, works = np.full(len(folds), np.nan), {}
    for at, (winner, (_, _, train, test)) in enumerate(zip(winners, folds, strict=True)):
        if winner is None:
            continue
        # A table of their own, because the rows of a bootstrap's bag repeat.
        rows = work.data.take(np.concatenate([train, test]))
        fold = (0, 0, np.arange(len(train)), np.arange(len(train), rows.n_rows))
        works[at] = Work(rows, (winner,), (fold,), work.demand, work.metric)
    found = fitting.fit(list(works.values()), progress) if works else []
    for (at, one), fits in zip(works.items(), found, strict=True):
        scores[at] = score_each(one, fits)[0]
    return scores


def score_each(work: Work, fits: FoldFits) -> Floats:
    """Return the score of each configuration on the test rows of the one fold there is; NaN where its fit failed."""
    ((_, _, _, test),) = work.folds
    # All rows are given and only some count, so that a class missing among them is still a class.
    weight = np.isin(np.arange(work.data.n_rows), test).astype(np.uint8)[None]
    has_failed = np.array([one.name in fits.failed for one in work.configurations])
    scores = np.full(len(has_failed), np.nan)
    if not has_failed.all():
        scorer = make_scorer(work.metric, work.data.y, fits.values[0][:, ~has_failed])
        scores[~has_failed] = scorer.weighted(weight)[0]
    return scores
