"""What is done without a correction, and Tibshirani and Tibshirani's: for comparison."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assay.errors import UserError
from assay.uncertainty.bbc import DRAWS, MOST_EXACT, Search, fresh_rows, known_of
from assay.uncertainty.draws import all_fold_draws, check_counts, draw_folds
from assay.uncertainty.result import Interval, Options, read_off, said_of_spread, turned

__all__ = ["naive_folds", "naive_samples", "tt"]

NO_VALUE = "The metric has no value in any fold: {method} has nothing to go by. Take {other}."
UNCORRECTED = "The winner was chosen by these very scores: the interval is too good."


def _uncorrected(search: Search) -> tuple[str, ...]:
    return (UNCORRECTED,) if len(search.data.names) > 1 else ()


def naive_folds(search: Search, options: Options, random: np.random.Generator) -> Interval:
    """Draw the winner's folds with replacement, and take their mean; as if it had not been chosen."""
    if not search.by_fold:
        raise UserError("naive_folds draws folds, and they are not known. Take naive_samples.")
    scores = np.concatenate([matrix[:, search.winner] for matrix in search.by_fold])
    scores = scores[np.isfinite(scores)]
    if not len(scores):
        raise UserError(NO_VALUE.format(method="naive_folds", other="naive_samples"))
    n_folds, chance = len(scores), None
    resamples = options.resamples or ("exact" if n_folds <= MOST_EXACT else DRAWS)
    exact = options.weights is None and resamples == "exact"
    if options.weights is not None:
        draws = check_counts(options.weights, n_folds, "folds")
        if not draws.any(axis=1).all():
            raise UserError("A draw of the weights has no fold at all.")
    elif exact:
        if n_folds > MOST_EXACT:
            raise UserError(f"All draws of {n_folds} folds are too many to list: give a number of resamples.")
        draws, chance = all_fold_draws(n_folds, leave_one_out=False)
    else:
        draws = draw_folds(int(resamples), n_folds, random, leave_one_out=False)
    values = draws @ scores / draws.sum(axis=1)
    low, high = read_off(search.metric, values, options, chance)
    used_options = options if chance is None else replace(options, rule="inverse_ecdf")
    return search.tell(
        "naive_folds", used_options, estimate=float(scores.mean()), lower=low, upper=high, n_boot=len(draws),
        exact=exact, distribution=values, probabilities=chance,
        doubts=(*_uncorrected(search), *said_of_spread(search.metric, values, chance)),
    )  # fmt: skip


def naive_samples(search: Search, options: Options, random: np.random.Generator) -> Interval:
    """Draw rows with replacement, and score the winner on them; as if it had not been chosen."""
    n_rows = search.data.n_rows
    if options.weights is not None:
        draws = check_counts(options.weights, n_rows, "rows")
    else:
        draws = fresh_rows(search, options, random, leave_out=False)
    values, warnings = known_of(search, search.weighted(draws, [search.winner])[:, 0])
    every = np.ones((1, n_rows), dtype=np.uint8)
    pooled = float(search.weighted(every, [search.winner])[0, 0])
    low, high = read_off(search.metric, values, options)
    return search.tell(
        "naive_samples", options, estimate=pooled, lower=low, upper=high, n_boot=len(draws), distribution=values,
        warnings=warnings, doubts=(*_uncorrected(search), *said_of_spread(search.metric, values)),
    )  # fmt: skip


def tt(search: Search, options: Options, random: np.random.Generator) -> Interval:
    """Subtract how much better the best of each fold is there than the winner, on average; no interval."""
    if not search.by_fold:
        raise UserError("tt compares folds, and they are not known. Take bbc.")
    good = turned(search.metric, np.concatenate(search.by_fold))
    good = good[np.isfinite(good).all(axis=1)]
    if not len(good):
        raise UserError(NO_VALUE.format(method="tt", other="bbc"))
    bias = float((good.max(axis=1) - good[:, search.winner]).mean())
    estimate = float(turned(search.metric, good[:, search.winner].mean() - bias))
    warning = "tt corrects the estimate; it gives no interval."
    return search.tell("tt", options, estimate=estimate, exact=True, warnings=(warning,))
