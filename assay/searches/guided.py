"""Searches in which each configuration is proposed after a look at the scores of the earlier ones.

The correction of the winner's score takes the configurations as given. Here they depend on the scores: whether the
correction still holds is what the study of guided searches asks. The same proposals by chance are its control.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.metrics.registry import get_metric
from assay.results.prediction_matrix import PredictionMatrix, check_predictions
from assay.searches.configurations import ALL, Configuration, to_configuration
from assay.searches.fits import Fitting, FoldFits, Work
from assay.searches.folds import fold_rows
from assay.searches.inputs import SearchData
from assay.searches.matrix import demand_for, gather
from assay.searches.samplers import Guide, open_guide, propose, tell
from assay.searches.spaces import find_space
from assay.uncertainty.bbc import prepare

if TYPE_CHECKING:
    from assay.typing import Array, Floats, Ints

__all__ = ["SPACE", "score_of", "search_guided"]

SPACE = "ranges"  # what proposals are made from: learners on all columns


def search_guided(
    fitting: Fitting, data: SearchData, metric: str, n: int, folds: int, seed: int, guide: Guide = "guided"
) -> tuple[PredictionMatrix, dict[str, Configuration]]:
    """Return the out-of-fold predictions of n proposed configurations, and the configurations by name.

    The score a proposal is judged by is the mean over folds, as the winner is chosen later. One that fails is told to
    the guide as a failure, and left out.
    """
    split, _ = fold_rows(data, folds, 1, seed)
    demand, space = demand_for(data, metric, seed), find_space(SPACE)
    study = open_guide(guide, get_metric(metric).higher_is_better, seed)
    fold_of = np.zeros(data.n_rows, dtype=np.int64)
    for _, fold, _, test in split:
        fold_of[test] = fold
    tried: list[Configuration] = []
    found: list[FoldFits] = []
    for number in range(n):
        trial = study.ask()
        learner = to_configuration(propose(space, data.task_type, trial)).learner
        tried.append(Configuration(f"{number} {learner}", ALL, learner))
        found.append(fitting.fit([Work(data, (tried[-1],), split, demand, metric)])[0])
        score = None if found[-1].failed else score_of(metric, data.y, found[-1].values[0], fold_of)
        tell(study, trial, score)
    values = np.concatenate([fits.values[0] for fits in found], axis=1)
    failed = {name: why for fits in found for name, why in fits.failed.items()}
    matrix = gather(Work(data, tuple(tried), split, demand, metric), FoldFits((values,), failed))
    return matrix, {one.name: one for one in tried}


def score_of(metric: str, y: Array, values: Floats, folds: Ints) -> float:
    """Return what a proposal is judged by: as a winner is chosen."""
    return float(prepare(check_predictions(y, values, folds), metric).scores[0])
