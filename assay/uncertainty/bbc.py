"""Bootstrap bias correction of cross-validation: BBC over rows, BBC-F over folds, and the variance-corrected BBC.

In every draw the best configuration in the bag is chosen, and its performance out of the bag is one value of the
distribution: choosing is part of what is resampled, so its optimism is too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import e, sqrt

import numpy as np

from assay.errors import DataError, UserError
from assay.metrics.record import Metric
from assay.results.prediction_matrix import PredictionMatrix
from assay.typing import Array, Floats, Ints
from assay.uncertainty.draws import (
    all_fold_draws,
    check_classes,
    check_counts,
    check_row_draws,
    draw_folds,
    draw_rows,
)
from assay.uncertainty.kernels import Columns, Weights
from assay.uncertainty.result import (
    TIE,
    Interval,
    Options,
    both_ends,
    ends,
    first_best,
    mean_of,
    read_off,
    said_of_spread,
    turned,
)  # fmt: skip
from assay.uncertainty.scorers import Scorer, make_scorer, of_each

__all__ = ["Search", "bbc", "bbc_f", "bbc_vc", "fresh_rows", "known_of", "prepare"]

DRAWS = 1000
FEWEST_FOLDS = 5
FEWEST_ROWS = 30  # or groups; below, bounds fall short: `python -m benchmarks.few_rows`
MOST_EXACT = 10
BLOCK = 2048  # draws of folds that are worked on together
# A value out of the bag is a mean over the rows that were left out, about a share 1/e of them: its variance is n E[1/m]
# - 1 times that of a mean over all rows.
TOO_WIDE = e - 1
NO_FOLDS = "Folds are not known: the winner is the best on all rows together."


@dataclass(frozen=True)
class Search:
    """PredictionMatrix made ready for a metric.

    Attributes:
        data: the predictions.
        scorers: one for each repeat of the cross-validation.
        by_fold: for each repeat (K, C) the metric of each fold; NaN where it is not defined there.
        scores: (C) what the winner was chosen by: the mean over folds and repeats, or of all rows without folds.
        winner: the position of the best of them.
        warnings: what was found on the way.
    """

    data: PredictionMatrix
    scorers: tuple[Scorer, ...]
    by_fold: tuple[Floats, ...]
    scores: Floats
    winner: int
    warnings: tuple[str, ...] = ()

    @property
    def metric(self) -> Metric:
        """What is measured."""
        return self.scorers[0].metric

    def weighted(self, weights: Weights, columns: Columns | None = None) -> Floats:
        """Return (B, C) values under weights of rows, the mean over repeats."""
        parts = [scorer.weighted(weights, columns) for scorer in self.scorers]
        return parts[0] if len(parts) == 1 else np.mean(parts, axis=0)

    def tell(
        self,
        method: str,
        options: Options,
        *,
        estimate: float | None = None,
        lower: float | None = None,
        upper: float | None = None,
        winner: int | None = None,
        n_boot: int = 0,
        exact: bool = False,
        warnings: Sequence[str] = (),
        doubts: Sequence[str] = (),
        distribution: Floats | None = None,
        probabilities: Floats | None = None,
    ) -> Interval:
        """Return the record of an interval for the winner, or for another configuration.

        `doubts` are warnings that say why the ends are not to be relied on.
        """
        winner = self.winner if winner is None else winner
        score = float(self.scores[winner])
        if lower is not None:
            doubts = (*doubts, *_said_of_rows(self.data))
        return Interval(
            method=method,
            metric=self.metric.name,
            alpha=options.alpha,
            side=options.side,
            estimate=estimate,
            lower=lower,
            upper=upper,
            winner=winner,
            winner_name=self.data.names[winner],
            cv_score=score,
            bias=None if estimate is None else score - estimate,
            n_boot=n_boot,
            exact=exact,
            quantile_rule=options.rule,
            higher_is_better=self.metric.higher_is_better,
            warnings=(*self.warnings, *warnings, *doubts),
            reliable=not doubts,
            distribution=distribution,
            probabilities=probabilities,
        )


def _said_of_rows(data: PredictionMatrix) -> tuple[str, ...]:
    n, what = (data.n_rows, "rows") if data.groups is None else (len(np.unique(data.groups)), "groups")
    few = f"There are {n} {what}: bounds by fewer than {FEWEST_ROWS} hold less often than they say."
    return (few,) if n < FEWEST_ROWS else ()


def prepare(data: PredictionMatrix, metric: str) -> Search:
    """Score every configuration on every fold, and find the winner."""
    scorers = tuple(make_scorer(metric, data.y, values, data.event) for values in data.values)
    warnings = (
        []
        if len(data.names) > 1
        else ["There is one configuration: nothing was chosen, so nothing to correct."]
    )
    by_fold = tuple(_by_fold(scorer, folds) for scorer, folds in zip(scorers, data.folds, strict=False))
    scores, warning = _mean_over_folds(by_fold) if by_fold else (None, NO_FOLDS)
    if scores is None:
        every = np.ones((1, data.n_rows), dtype=np.uint8)
        scores = np.mean([scorer.weighted(every)[0] for scorer in scorers], axis=0)
    if np.isnan(scores).all():
        raise DataError(f"{metric} has no value for these rows.")
    warnings += [warning] if warning else []
    winner = int(first_best(turned(scorers[0].metric, scores)))
    warnings += _direction_warnings(scorers[0], data.y, float(scores[winner]))
    return Search(data, scorers, by_fold, scores, winner, (*data.notes, *warnings))


def _direction_warnings(scorer: Scorer, y: Array, score: float) -> list[str]:
    if scorer.metric.kind != "rank" or score >= 0.5 or scorer.strata is None or scorer.strata.max() != 1:
        return []
    second = np.unique(y.astype(str) if y.dtype.kind == "O" else y)[1]
    return [
        f"The best area is below a half. Scores are those of '{second}', the second class in sorted order: are these?"
    ]


def _by_fold(scorer: Scorer, folds: Ints) -> Floats:
    inside = (np.arange(int(folds.max()) + 1)[:, None] == folds).astype(np.uint8)
    return scorer.weighted(inside)


def _mean_over_folds(by_fold: tuple[Floats, ...]) -> tuple[Floats | None, str]:
    """Return the mean of each configuration over the folds that have a value for all, and what is to be said."""
    every = np.concatenate(by_fold)
    good = np.isfinite(every).all(axis=1)
    if not good.any():
        return None, "The metric has no value in any fold: the winner is the best on all rows together."
    if good.all():
        return every.mean(axis=0), ""
    lost = int((~good).sum())
    return (
        every[good].mean(axis=0),
        f"The metric has no value in {lost} of {len(every)} folds (a class is missing there, or rows are too few).",
    )


def bbc(search: Search, options: Options, random: np.random.Generator) -> Interval:
    """Correct by drawing rows: the best in the bag, its score on the rows out of the bag."""
    values, warnings, n_draws = _row_distribution(search, options, random)
    low, high = read_off(search.metric, values, options)
    return search.tell(
        "bbc", options, estimate=mean_of(values), lower=low, upper=high, n_boot=n_draws, warnings=warnings,
        doubts=said_of_spread(search.metric, values), distribution=values,
    )  # fmt: skip


def bbc_vc(search: Search, options: Options, random: np.random.Generator) -> Interval:
    """Do as BBC, with the distance from the mean to the ends divided by the root of e - 1."""
    values, warnings, n_draws = _row_distribution(search, options, random)
    mean = float(turned(search.metric, values).mean())
    tails = both_ends(search.metric, values, options)
    worst, best = (mean + (end - mean) / sqrt(TOO_WIDE) for end in tails)
    low, high = ends(search.metric, worst, best, options)
    return search.tell(
        "bbc_vc", options, estimate=mean_of(values), lower=low, upper=high, n_boot=n_draws, warnings=warnings,
        doubts=said_of_spread(search.metric, values), distribution=values,
    )  # fmt: skip


def _row_distribution(
    search: Search, options: Options, random: np.random.Generator
) -> tuple[Floats, tuple[str, ...], int]:
    """Return the values out of the bag, what is to be said of them, and the number of draws."""
    if options.weights is not None:
        draws = check_row_draws(options.weights, search.data.n_rows, search.scorers[0].strata)
    else:
        draws = fresh_rows(search, options, random)
    chosen = first_best(turned(search.metric, search.weighted(draws)))
    values = np.mean([of_each(scorer, draws == 0, chosen) for scorer in search.scorers], axis=0)
    return (*known_of(search, values), len(draws))


def known_of(search: Search, values: Floats) -> tuple[Floats, tuple[str, ...]]:
    """Return the draws in which the metric has a value, and what to say of the others."""
    defined = values[np.isfinite(values)]
    if not len(defined):
        raise DataError(f"{search.metric.name} has no value in any draw.")
    lost = len(values) - len(defined)
    warning = f"Left out, because the metric has no value there: {lost} of {len(values)} draws."
    return defined, (warning,) if lost else ()


def fresh_rows(search: Search, options: Options, random: np.random.Generator, leave_out: bool = True) -> Ints:
    """Return (B, N) new draws of rows, with every class in the bag, and out of it too, where the metric needs that."""
    if options.resamples == "exact":
        raise UserError("All draws of rows cannot be listed: give a number of resamples, or take bbc_f.")
    data, strata = search.data, search.scorers[0].strata
    if leave_out:
        check_classes(strata, data.y, data.groups)
    n_draws = options.resamples or DRAWS
    return draw_rows(n_draws, data.n_rows, random, strata, data.groups, options.stratify, leave_out)


def bbc_f(search: Search, options: Options, random: np.random.Generator) -> Interval:
    """Correct by drawing folds: the best on the folds in the bag, its mean over the folds out of the bag."""
    n_folds = _check_folds(search, options)
    exact = options.weights is None and (
        options.resamples == "exact" or (not options.resamples and n_folds <= MOST_EXACT)
    )
    if exact and n_folds > MOST_EXACT:
        raise UserError(
            f"All draws of {n_folds} folds are too many to list (at most of {MOST_EXACT}): give a number of resamples."
        )
    values, chances, n_draws = [], [], 0
    for matrix in search.by_fold:
        matrix = matrix[np.isfinite(matrix).all(axis=1)]
        draws, chance = _fold_draws(len(matrix), exact, options, random)
        values.append(_out_of_bag(search.metric, matrix, draws))
        chances.append(np.full(len(draws), 1 / len(draws)) if chance is None else chance)
        n_draws += len(draws)
    spread = np.concatenate(values)
    weight = np.concatenate(chances) / len(chances)
    equal = not exact and len(chances) == 1
    low, high = read_off(search.metric, spread, options, None if equal else weight)
    used_options = options if equal else replace(options, rule="inverse_ecdf")
    return search.tell(
        "bbc_f", used_options, estimate=mean_of(spread, weight), lower=low, upper=high, n_boot=n_draws, exact=exact,
        distribution=spread, probabilities=weight if exact else None,
        doubts=(*said_of_spread(search.metric, spread, weight), *_fold_warnings(n_folds)),
    )  # fmt: skip


def _fold_warnings(n_folds: int) -> tuple[str, ...]:
    few = f"There are {n_folds} folds: bounds of bbc_f by fewer than {FEWEST_FOLDS} hold less often than they say."
    return (few,) if n_folds < FEWEST_FOLDS else ()


def _check_folds(search: Search, options: Options) -> int:
    if not search.by_fold:
        raise UserError("bbc_f draws folds, and they are not known. Take bbc.")
    n_folds = min(int(np.isfinite(matrix).all(axis=1).sum()) for matrix in search.by_fold)
    if n_folds < 2:
        raise UserError(
            f"bbc_f needs two folds at least in which the metric has a value; there are {n_folds}."
        )
    if n_folds < FEWEST_FOLDS and not options.few_folds:
        raise UserError(
            f"There are {n_folds} folds: with fewer than {FEWEST_FOLDS} the intervals of bbc_f hold the truth too "
            "seldom (with 3 in 88 % of cases, not 95 %). Take bbc, or insist with `few_folds=True`.",
            ["few_folds"],
        )
    return n_folds


def _fold_draws(
    n_folds: int, exact: bool, options: Options, random: np.random.Generator
) -> tuple[Ints, Floats | None]:
    """Return (B, K) multiplicities, and their probabilities where they are not all equal."""
    if exact:
        return all_fold_draws(n_folds)
    if options.weights is None:
        n_draws = options.resamples if isinstance(options.resamples, int) else DRAWS
        return draw_folds(n_draws, n_folds, random), None
    given = check_counts(options.weights, n_folds, "folds")
    if not (given == 0).any(axis=1).all() or not (given > 0).any(axis=1).all():
        raise UserError(
            "A draw of the weights has every fold in the bag, or none: nothing is left to judge by. Weights say how "
            "often each fold was drawn, not which."
        )
    return given, None


def _out_of_bag(metric: Metric, matrix: Floats, draws: Ints) -> Floats:
    """Return, for each draw of folds, the mean over the folds left out of the best on those drawn."""
    good = turned(metric, matrix)
    kept = _not_dominated(good)
    out = np.empty(len(draws))
    for begin in range(0, len(draws), BLOCK):
        block = draws[begin : begin + BLOCK]
        inside = block / block.sum(axis=1, keepdims=True, dtype=float)
        left_out = block == 0
        chosen = first_best(inside @ good[:, kept])
        means = (left_out / left_out.sum(axis=1, keepdims=True)) @ matrix[:, kept]
        out[begin : begin + BLOCK] = means[np.arange(len(block)), chosen]
    return out


def _not_dominated(good: Floats) -> Ints:
    """Return the columns that may win: not those that another beats in every fold, or an earlier one at least equals.

    One that a later column beats in some folds only stays: on the others they are equal, and then the first wins.
    """
    kept: list[int] = []
    margin = TIE * float(np.abs(good).max())
    for column in np.argsort(-good.sum(axis=0), kind="stable"):
        scores, others = good[:, [column]], good[:, kept]
        is_earlier = np.array(kept, dtype=int) < column
        ahead = (others > scores + margin).all(axis=0) | ((others >= scores).all(axis=0) & is_earlier)
        if not ahead.any():
            kept.append(int(column))
    return np.sort(np.array(kept))
