"""The two plain ways to judge a search, which fit everything many times over: to check the fast ways against.

Nested cross-validation repeats the search within each of some outer folds, and scores its winner on the rows left out.
The direct bootstrap repeats it on each of many draws of rows, and scores its winner on the rows not drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import DataError, UserError
from assay.metrics import get_metric
from assay.searches.configurations import Configuration
from assay.searches.crossfit import Work, compute_all, read_pieces, scores_of
from assay.searches.folds import fold_rows
from assay.searches.inputs import SearchData
from assay.searches.search import demand_for, fit_winner, gather
from assay.uncertainty.bbc import prepare
from assay.uncertainty.result import Options, read_off
from assay.uncertainty.scorers import make_scorer

if TYPE_CHECKING:
    from assay.typing import Floats, Ints

__all__ = ["direct_bootstrap", "find_winner", "nested_cross_validation"]


def find_winner(
    data: SearchData, configurations: Sequence[Configuration], metric: str, folds: int, seed: int
) -> Configuration:
    """Return the best configuration by cross-validation."""
    demand = demand_for(data, metric, seed)
    work = Work(data, tuple(configurations), fold_rows(data, folds, 1, seed)[0], demand)
    with TemporaryDirectory() as folder:
        compute_all(work, Path(folder), 1, None)
        values, failed = read_pieces(work, Path(folder))
    predictions = gather(work, values, failed)
    name = predictions.names[prepare(predictions, metric).winner]
    return next(configuration for configuration in configurations if configuration.name == name)


def nested_cross_validation(
    data: SearchData,
    configurations: Sequence[Configuration],
    metric: str,
    *,
    outer: int = 10,
    inner: int = 10,
    seed: int = 0,
) -> tuple[float, Floats]:
    """Return the mean over the outer folds of the score of each one's winner, and these scores.

    A fold in which the metric has no value is NaN there, and not in the mean.
    """
    scores = [
        _score_winner(data, train, test, configurations, metric, inner, seed)
        for _, _, train, test in fold_rows(data, outer, 1, seed)[0]
    ]
    defined = [score for score in scores if np.isfinite(score)]
    if not defined:
        raise DataError(f"{metric} has no value in any of the {len(scores)} outer folds: take fewer.")
    return float(np.mean(defined)), np.array(scores)


def direct_bootstrap(
    data: SearchData,
    configurations: Sequence[Configuration],
    metric: str,
    *,
    draws: int = 100,
    folds: int = 10,
    options: Options | None = None,
    seed: int = 0,
) -> tuple[float, float, float, Floats]:
    """Return estimate, lower and upper end, and the score of each draw's winner on the rows that were not drawn.

    Copies of a row stay in one fold of the search: else it would be tested on what it learned, which the papers do not
    speak of. Groups are drawn whole. A bag that cannot be searched on (a class has one row in it) is left out; where
    most are, DataError is raised.
    """
    random = np.random.default_rng(seed)
    scores = []
    for draw in range(draws):
        rows = _bag(data, random)
        left_out = np.setdiff1d(np.arange(data.n_rows), rows)
        try:
            scores.append(_score_winner(data, rows, left_out, configurations, metric, folds, seed + draw))
        except UserError:  # a class has too few rows in the bag to be searched on
            continue
    defined = np.array([score for score in scores if np.isfinite(score)])
    if 2 * len(defined) <= draws:
        raise DataError(
            f"Only {len(defined)} of {draws} bags could be searched on and judged by {metric}: there are too few rows "
            "of a class, or too few groups."
        )
    low, high = read_off(get_metric(metric), defined, options or Options())
    return float(defined.mean()), low, high, defined


def _bag(data: SearchData, random: np.random.Generator) -> Ints:
    """Return rows drawn with replacement, as many as there are; of groups all rows, as many groups as there are."""
    if data.groups is None:
        return random.integers(data.n_rows, size=data.n_rows)
    n_groups = int(data.groups.max()) + 1
    drawn = random.integers(n_groups, size=n_groups)
    return np.concatenate([np.flatnonzero(data.groups == group) for group in drawn])


def _score_winner(
    data: SearchData,
    train: Ints,
    test: Ints,
    configurations: Sequence[Configuration],
    metric: str,
    folds: int,
    seed: int,
) -> float:
    """Search on some rows, which may repeat, fit the winner on them, and score it on others; NaN if it has no score."""
    repeated = len(np.unique(train)) < len(train)
    training = data.take(
        train, groups=np.unique(train, return_inverse=True)[1] if repeated and data.groups is None else None
    )
    winner = find_winner(training, configurations, metric, folds, seed)
    demand = demand_for(data, metric, seed)
    model = fit_winner(training, winner, demand)
    values = np.zeros((data.n_rows, 1, data.n_scores))
    values[test, 0] = scores_of(model, data.rows(test), data, demand)
    # All rows are given and only some count, so that a class missing among them is still a class.
    weight = np.isin(np.arange(data.n_rows), test).astype(np.uint8)[None]
    scorer = make_scorer(metric, data.y, values if data.n_scores > 1 else values[:, :, 0])
    return float(scorer.weighted(weight)[0, 0])
