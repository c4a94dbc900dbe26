"""Bounds for one model judged on rows it was not chosen by: DeLong, Hanley and McNeil, and their 10p variants.

Rows are split once more: three quarters choose a model (or the best tenth of them), the rest judges it. All are of the
area under the ROC curve of two classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import isnan, nan, sqrt
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import UserError
from assay.typing import Bools, Floats, Ints
from assay.uncertainty.bbc import Search
from assay.uncertainty.kernels import rank_columns, weighted_auc
from assay.uncertainty.result import Interval, Options, ends, first_best

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["HeldOut", "delong", "delong_10p", "hanley_mcneil", "hanley_mcneil_10p", "judge", "sidak"]

LEARN = 0.75
TOP = 0.9
TRIES = 1000


@dataclass(frozen=True)
class HeldOut:
    """The split, and whom it chose.

    Attributes:
        positive: (n) which rows of the evaluation are of the second class.
        scores: (n, C) predictions for them.
        chosen_by: (C) mean area over the folds of the learning rows.
        best: the best by that.
        top: those among its best tenth.
        final: the best of these on the rows of the evaluation.
        areas: (C) areas on these rows.
        swapped: (C) whether they were turned, as the published code does: then one minus what the scores say.
        n_rows: of the whole.
    """

    positive: Bools
    scores: Floats
    chosen_by: Floats
    best: int
    top: Ints
    final: int
    areas: Floats
    swapped: Bools
    n_rows: int


def judge(search: Search, options: Options, random: np.random.Generator) -> HeldOut:
    """Split the rows, choose on one part and judge on the other."""
    data, truth = search.data, search.scorers[0].strata
    if search.metric.name != "auc" or truth is None or truth.max() > 1:
        raise UserError(
            'This method is of the area under the ROC curve of two classes (`metric="auc"`). Take bbc.',
            ["metric"],
        )
    if not data.folds:
        raise UserError("This method chooses by the mean over folds, and they are not known. Take bbc.")
    if len(data.values) > 1:
        raise UserError("This method is for one cross-validation, not for repeats of it. Take bbc.")
    if data.groups is not None:
        raise UserError("This method splits rows one by one, and groups belong together. Take bbc.")
    folds, values = data.folds[0], data.values[0]
    scores = values if values.ndim == 2 else values[:, :, 1]
    keep = (
        _given_split(options.evaluate, truth, folds)
        if options.evaluate is not None
        else _split(truth, folds, random)
    )
    turn = options.published
    chosen_by = np.mean(
        [
            _areas(scores[fold_rows], truth[fold_rows] == 1, turn)[0]
            for fold_rows in _learning_folds(keep, folds)
        ],
        axis=0,
    )
    areas, swapped = _areas(scores[keep], truth[keep] == 1, turn)
    top = np.flatnonzero(chosen_by >= np.quantile(chosen_by, TOP) - 1e-12)
    final = int(top[first_best(areas[top])])
    best = int(first_best(chosen_by))
    return HeldOut(truth[keep] == 1, scores[keep], chosen_by, best, top, final, areas, swapped, data.n_rows)


def _learning_folds(keep: Bools, folds: Ints) -> list[Ints]:
    return [np.flatnonzero(~keep & (folds == k)) for k in range(int(folds.max()) + 1)]


def _areas(scores: Floats, positive: Bools, turn: bool) -> tuple[Floats, Bools]:
    """Return (C) areas, and which were turned: with `turn` where the medians of the classes are the other way round."""
    areas = weighted_auc(
        rank_columns(scores, positive, ~positive), np.ones((1, len(scores)), dtype=np.uint8)
    )[0]
    swapped = np.zeros(len(areas), dtype=bool)
    if turn:
        swapped = np.median(scores[~positive], axis=0) > np.median(scores[positive], axis=0)
    return np.where(swapped, 1 - areas, areas), swapped


def _can_judge(keep: Bools, truth: Ints, folds: Ints) -> bool:
    parts = [*_learning_folds(keep, folds), np.flatnonzero(keep)]
    return all(len(rows) and 0 < truth[rows].sum() < len(rows) for rows in parts)


def _split(truth: Ints, folds: Ints, random: np.random.Generator) -> Bools:
    n = len(truth)
    for _ in range(TRIES):
        keep = np.ones(n, dtype=bool)
        keep[random.permutation(n)[: int(LEARN * n)]] = False
        if _can_judge(keep, truth, folds):
            return keep
    raise UserError(
        f"infeasible: no split of the {n} rows leaves both classes in every fold and in the rest ({TRIES} tries). "
        "Take bbc."
    )


def _given_split(given: ArrayLike, truth: Ints, folds: Ints) -> Bools:
    keep = np.asarray(given, dtype=bool)
    if keep.shape != truth.shape:
        raise UserError(f"The split is of {keep.shape} rows, the predictions of {truth.shape}.")
    if not _can_judge(keep, truth, folds):
        raise UserError("The split leaves a fold, or the rows of the evaluation, without one of the classes.")
    return keep


def sidak(alpha: float, n: int) -> float:
    """Return the level that n independent bounds must have to hold together at alpha."""
    return float(1 - (1 - alpha) ** (1 / n))


def delong(search: Search, options: Options, random: np.random.Generator) -> Interval:
    """Bound the best model's area by DeLong's variance."""
    judged = judge(search, options, random)
    return _normal(
        "delong", search, judged, judged.best, options, _delong_variance(judged, judged.best), options.tail
    )


def delong_10p(search: Search, options: Options, random: np.random.Generator) -> Interval:
    """Bound the area of the best of the best tenth by DeLong's variance, with Šidák's correction."""
    judged = judge(search, options, random)
    level = sidak(options.tail, len(judged.top))
    variance = _delong_variance(judged, judged.final)
    return _normal("delong_10p", search, judged, judged.final, options, variance, level)


def hanley_mcneil(search: Search, options: Options, random: np.random.Generator) -> Interval:
    """Bound the best model's area by Hanley and McNeil's variance."""
    judged = judge(search, options, random)
    variance = _hanley_variance(judged, judged.best, options.published)
    return _normal("hanley_mcneil", search, judged, judged.best, options, variance, options.tail)


def hanley_mcneil_10p(search: Search, options: Options, random: np.random.Generator) -> Interval:
    """Bound the area of the best of the best tenth by Hanley and McNeil's variance, with Šidák's correction."""
    judged = judge(search, options, random)
    # The published code forgets the correction.
    level = options.tail if options.published else sidak(options.tail, len(judged.top))
    variance = _hanley_variance(judged, judged.final, options.published)
    return _normal("hanley_mcneil_10p", search, judged, judged.final, options, variance, level)


def _normal(
    method: str, search: Search, judged: HeldOut, model: int, options: Options, variance: float, level: float
) -> Interval:
    from scipy.stats import norm

    area = float(judged.areas[model])
    tell = partial(search.tell, method, options, estimate=area, winner=model, exact=True)
    if isnan(variance):
        few = "infeasible: one of the classes has a single row among those of the evaluation. Take bbc."
        return tell(warnings=(few,))
    reach = float(norm.isf(level)) * sqrt(variance)
    low, high = ends(search.metric, area - reach, area + reach, options)
    doubts = (
        () if variance else (f"The area is {area:g} and its variance estimated as 0: the bound is no bound.",)
    )
    return tell(lower=low, upper=high, doubts=doubts)


def _delong_variance(judged: HeldOut, model: int) -> float:
    """Return DeLong's variance of an area; NaN where a class has one row."""
    score, positive = judged.scores[:, model], judged.positive
    high, low = score[positive][:, None], score[~positive][None, :]
    wins = (high > low) + 0.5 * (high == low)
    each = (wins.mean(axis=1), wins.mean(axis=0))
    return float(
        sum(
            wins_by_row.var(ddof=1) / len(wins_by_row) if len(wins_by_row) > 1 else nan
            for wins_by_row in each
        )
    )


def _hanley_variance(judged: HeldOut, model: int, as_coded: bool) -> float:
    """Return Hanley and McNeil's variance of an area, or what the published code takes for it.

    The code counts rows that a threshold of 0 puts right in the place of the positive rows, all others of the whole
    data in the place of the negative ones, and adds 1 to the former where 1 is to be subtracted.
    """
    area = float(judged.areas[model])
    if as_coded:
        first = int(((judged.scores[:, model] > 0) == judged.positive).sum())
        second, others = judged.n_rows - first, first + 1
    else:
        first, second = int(judged.positive.sum()), int((~judged.positive).sum())
        others = first - 1
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    above = area * (1 - area) + others * (q1 - area**2) + (second - 1) * (q2 - area**2)
    return max(0.0, above / (first * second)) if first and second else 0.0
