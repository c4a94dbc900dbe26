"""Searches in which each configuration is proposed after a look at the scores of the earlier ones.

The correction of the winner's score takes the configurations as given. Here they depend on the scores: whether the
correction still holds is what the study of guided searches asks. The same proposals by chance are its control.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from assay.metrics.registry import get_metric
from assay.results.prediction_matrix import PredictionMatrix, check_predictions
from assay.searches.configurations import ALL, Configuration, to_configuration
from assay.searches.crossfit import Work, first_steps, scores_of
from assay.searches.folds import fold_rows
from assay.searches.inputs import SearchData
from assay.searches.pipelines import make_last
from assay.searches.samplers import Guide, open_guide, propose
from assay.searches.search import demand_for, gather
from assay.searches.spaces import find_space
from assay.uncertainty.bbc import prepare

if TYPE_CHECKING:
    from assay.typing import Array, Floats, Ints

__all__ = ["SPACE", "score_of", "search_guided"]

SPACE = "ranges"  # what proposals are made from: learners on all columns, whose preparation is then shared


def search_guided(
    data: SearchData, metric: str, n: int, folds: int, seed: int, guide: Guide = "guided"
) -> tuple[PredictionMatrix, dict[str, Configuration]]:
    """Return the out-of-fold predictions of n proposed configurations, and the configurations by name.

    The score a proposal is judged by is the mean over folds, as the winner is chosen later.
    """
    from threadpoolctl import threadpool_limits

    split, _ = fold_rows(data, folds, 1, seed)
    demand = demand_for(data, metric, seed)
    space = find_space(SPACE)
    study = open_guide(guide, get_metric(metric).higher_is_better, seed)
    tried: list[Configuration] = []
    values = np.zeros((data.n_rows, n, data.n_scores))
    fold_of = np.zeros(data.n_rows, dtype=np.int64)
    for _, fold, _, test in split:
        fold_of[test] = fold
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # learners warn of what their scores show
        ready = [(first_steps(data, ALL, demand, train, test), train, test) for _, _, train, test in split]
        for number in range(n):
            trial = study.ask()
            learner = to_configuration(propose(space, data.task_type, trial)).learner
            tried.append(Configuration(f"{number} {learner}", ALL, learner))
            for (x_train, x_test), train, test in ready:
                model = make_last(tried[-1], demand).fit(x_train, data.y[train])
                values[test, number] = scores_of(model, x_test, data, demand)
            proposed = values[:, [number]] if data.n_scores > 1 else values[:, [number], 0]
            study.tell(trial, score_of(metric, data.y, proposed, fold_of))
    work = Work(data, tuple(tried), split, demand)
    shown = values if data.n_scores > 1 else values[:, :, 0]
    return gather(work, [shown], {}), {one.name: one for one in tried}


def score_of(metric: str, y: Array, values: Floats, folds: Ints) -> float:
    """Return what a proposal is judged by: as a winner is chosen."""
    return float(prepare(check_predictions(y, values, folds), metric).scores[0])
