"""From the fits of a search to the matrix of predictions that its winner is chosen and judged by."""

from __future__ import annotations

import numpy as np

from assay.errors import UserError
from assay.frameworks.pipeline.steps import Demand
from assay.metrics import BUILTIN
from assay.results.prediction_matrix import PredictionMatrix
from assay.searches.fits import FoldFits, Work
from assay.searches.inputs import SearchData
from assay.uncertainty.scorers import make_scorer

__all__ = ["demand_for", "gather"]


def demand_for(data: SearchData, metric: str, seed: int) -> Demand:
    """Return what learners need to know; a metric other than the area of two classes needs probabilities.

    A metric that is not for such a target, or whose function raises, is refused here, before there is any work.
    """
    same = float(data.y.mean()) if data.is_value else 1 / len(data.classes)
    plain = np.full((data.n_rows, 1, data.n_scores), same)
    scorer = make_scorer(metric, data.y, plain if data.n_scores > 1 else plain[:, :, 0])
    if scorer.metric.name not in BUILTIN:  # a function that raises would do so only after all the work
        scorer.weighted(np.ones((1, data.n_rows), dtype=np.uint8))
    return Demand(data.is_value, metric != "auc" or len(data.classes) > 2, seed)


def gather(work: Work, fits: FoldFits) -> PredictionMatrix:
    """Return the predictions of the configurations that failed nowhere; nothing is copied where none failed."""
    names = [one.name for one in work.configurations]
    kept = [at for at, name in enumerate(names) if name not in fits.failed]
    if not kept:
        name, why = next(iter(fits.failed.items()))
        raise UserError(f"All {len(names)} configurations failed. The first was {name}, in {why}")
    fold_of = np.zeros((len(fits.values), work.data.n_rows), dtype=np.int64)
    for repeat, fold, _, test in work.folds:
        fold_of[repeat, test] = fold
    return PredictionMatrix(
        y=work.data.y,
        values=fits.values if len(kept) == len(names) else tuple(one[:, kept] for one in fits.values),
        folds=tuple(fold_of),
        names=tuple(names[at] for at in kept),
        groups=work.data.groups,
    )
