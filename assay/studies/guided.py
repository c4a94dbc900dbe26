"""Searches in which each configuration is proposed after a look at the scores of the earlier ones.

The correction of the winner's score takes the configurations as given. Here they depend on the scores: whether the
correction still holds is what the study of guided searches asks. The same proposals by chance are its control.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np

from assay.errors import NotInstalled
from assay.metrics.registry import get_metric
from assay.results.prediction_matrix import PredictionMatrix, check_predictions
from assay.studies.crossfit import Work, first_steps, scores_of
from assay.studies.inputs import SearchData
from assay.studies.search import demand_for, fold_rows, gather
from assay.studies.spaces import ALL, Configuration, Part, make_last
from assay.uncertainty.bbc import prepare

__all__ = ["Guide", "open_guide", "score_of", "search_guided"]

Guide = Literal["guided", "random"]


def open_guide(guide: Guide, higher: bool, seed: int) -> Any:
    """Return an optuna study: `guided` by its tree-structured Parzen estimator, or `random`, which ignores scores."""
    try:
        import optuna
    except ImportError:
        raise NotInstalled("Guided searches need optuna: pip install 'assay-bench[search]'.") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers: dict[str, Any] = {"guided": optuna.samplers.TPESampler, "random": optuna.samplers.RandomSampler}
    direction: Literal["minimize", "maximize"] = "maximize" if higher else "minimize"
    return optuna.create_study(direction=direction, sampler=samplers[guide](seed=seed))


def search_guided(
    data: SearchData, metric: str, n: int, folds: int, seed: int, guide: Guide = "guided"
) -> tuple[PredictionMatrix, dict[str, Configuration]]:
    """Return the out-of-fold predictions of n proposed configurations, and the configurations by name.

    The score a proposal is judged by is the mean over folds, as the winner is chosen later.
    """
    from threadpoolctl import threadpool_limits

    split, _ = fold_rows(data, folds, 1, seed)
    demand = demand_for(data, metric, seed)
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
            learner = propose(trial)
            tried.append(Configuration(f"{number} {learner}", ALL, learner))
            for (x_train, x_test), train, test in ready:
                model = make_last(tried[-1], demand).fit(x_train, data.y[train])
                values[test, number] = scores_of(model, x_test, data, demand)
            own = values[:, [number]] if data.n_scores > 1 else values[:, [number], 0]
            study.tell(trial, score_of(metric, data.y, own, fold_of))
    work = Work(data, tuple(tried), split, demand)
    shown = values if data.n_scores > 1 else values[:, :, 0]
    return gather(work, [shown], {}), {one.name: one for one in tried}


def score_of(metric: str, y: Any, values: Any, folds: Any) -> float:
    """Return what a proposal is judged by: as a winner is chosen."""
    return float(prepare(check_predictions(y, values, folds), metric).scores[0])


def propose(trial: Any) -> Part:
    """Return a learner of the paper's families without forests, which take long; its parameters from ranges."""
    kind = trial.suggest_categorical("kind", ["linear", "svm_linear", "svm_rbf", "decision_tree"])

    def power(name: str, low: float, high: float) -> tuple[str, float]:
        return name, trial.suggest_float(f"{kind}_{name}", low, high, log=True)

    if kind == "linear":
        return Part(kind, (power("lambda", 1e-3, 1e3),))
    if kind == "svm_linear":
        return Part(kind, (power("cost", 1e-3, 1e2),))
    if kind == "svm_rbf":
        return Part(kind, (power("cost", 1e-2, 1e2), power("gamma", 1e-3, 1e1)))
    leaf = trial.suggest_int("decision_tree_min_leaf", 1, 10)
    return Part(kind, (("min_leaf", leaf), power("alpha", 1e-3, 0.5)))
