"""Bootstrap tilting of one model's area under the ROC curve, and MABT: of the best of several models.

The weights of the rows are tilted towards lower areas, w ∝ exp(τ L) with the influence L of each row, until what was
observed is as improbable under them as the level says; the area under these weights is the bound. Bootstrap samples
are drawn once and weighted anew for every τ. The last step is the weighted area itself, not a mean over fresh draws
of it, which would be the same but for chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import UserError
from assay.typing import Bools, Floats, Ints
from assay.uncertainty.bbc import Search
from assay.uncertainty.draws import check_counts, draw_within
from assay.uncertainty.kernels import rank_columns, weighted_auc
from assay.uncertainty.result import TIE, Interval, Options, ends
from assay.uncertainty.single_model import HeldOut, judge, sidak

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["mabt", "tilting", "tilting_10p"]

DRAWS = 2000
FARTHEST = -20.0
PRECISE = 1e-9


@dataclass(frozen=True)
class _Drawn:
    """Areas of models under bootstrap samples of the rows of the evaluation: (B, models), and as observed.

    `of_best`: the model was the best of them, and the level is that of the best.
    """

    weights: Ints
    areas: Floats
    observed: Floats
    of_best: bool = False


def tilting(search: Search, options: Options, random: np.random.Generator) -> Interval:
    """Bound the best model's area by tilting."""
    judged = judge(search, options, random)
    drawn = _draw(judged, np.array([judged.best]), options, random)
    return _tilted("tilting", search, judged, judged.best, options, drawn, options.tail)


def tilting_10p(search: Search, options: Options, random: np.random.Generator) -> Interval:
    """Bound the area of the best of the best tenth by tilting, with Šidák's correction."""
    judged = judge(search, options, random)
    drawn = _draw(judged, np.array([judged.final]), options, random)
    return _tilted(
        "tilting_10p", search, judged, judged.final, options, drawn, sidak(options.tail, len(judged.top))
    )


def mabt(search: Search, options: Options, random: np.random.Generator) -> Interval:
    """Bound the area of the best of the best tenth by tilting, given that it is the best of them."""
    judged = judge(search, options, random)
    drawn = replace(_draw(judged, judged.top, options, random), of_best=True)
    return _tilted("mabt", search, judged, judged.final, options, drawn, options.tail)


def _draw(judged: HeldOut, models: Ints, options: Options, random: np.random.Generator) -> _Drawn:
    positive = judged.positive
    if options.resamples == "exact":
        raise UserError("All draws of rows cannot be listed: give a number of resamples.")
    if options.weights is None:
        weights = draw_within(options.resamples or DRAWS, positive.astype(int), random)
    else:
        weights = _given(options.weights, positive)
    ranked = rank_columns(judged.scores[:, models], positive, ~positive)
    areas = weighted_auc(ranked, weights)
    if options.published:
        areas = _turned_up(areas, judged.scores[:, models], positive, weights)
    return _Drawn(weights, areas, judged.areas[models])


def _given(weights: ArrayLike, positive: Bools) -> Ints:
    given = check_counts(weights, len(positive), "rows of the evaluation")
    for members in (positive, ~positive):
        if (given[:, members].sum(axis=1) != members.sum()).any():
            raise UserError(
                "Each draw of the weights must have as many rows of each class as the evaluation has."
            )
    return given


def _turned_up(areas: Floats, scores: Floats, positive: Bools, weights: Ints) -> Floats:
    """Return areas as the published code has them: turned where the medians of a sample say so."""
    medians = []
    for members in (positive, ~positive):
        rows = np.flatnonzero(members)
        drawn = np.stack([np.repeat(rows, counts[members]) for counts in weights])
        medians.append(np.stack([np.median(column[drawn], axis=1) for column in scores.T], axis=1))
    return np.where(medians[1] > medians[0], 1 - areas, areas)


def _tilted(
    method: str, search: Search, judged: HeldOut, model: int, options: Options, drawn: _Drawn, level: float
) -> Interval:
    """Return the interval; without bounds, and with the reason, where tilting does not reach the level."""
    column = int(np.flatnonzero(judged.top == model)[0]) if drawn.of_best else 0
    influence = _influence(drawn.weights, drawn.areas[:, column], judged, model)
    low = _bound(drawn, column, influence, judged, model, level)
    high: float | None = 1.0
    if options.side == "two" and not drawn.of_best:
        mirrored = _Drawn(drawn.weights, -drawn.areas, -drawn.observed)
        high = _bound(mirrored, column, -influence, judged, model, level)
    warnings = [] if low is not None and high is not None else [_reason(drawn, column, level)]
    if options.side == "two" and drawn.of_best:
        warnings.append("mabt bounds from below only: the upper end is the best value.")
    if low is None or high is None:
        low = high = None
    else:
        low, high = ends(search.metric, low, high, options)
    return search.tell(
        method, options, estimate=float(judged.areas[model]), lower=low, upper=high, winner=model, warnings=warnings,
        n_boot=len(drawn.weights),
    )  # fmt: skip


def _reason(drawn: _Drawn, column: int, level: float) -> str:
    if level >= 0.25:  # the search for the tilt begins where twice the level is passed, and that is at a half
        return f"infeasible: tilting cannot bound at a level of {level:g}. Take bbc."
    if drawn.observed[column] >= 1 - TIE:
        return "infeasible: the area is 1, and no weights of the rows lower it. Take bbc."
    return "infeasible: no tilt of the weights makes what was observed improbable enough. Take bbc."


def _influence(weights: Ints, areas: Floats, judged: HeldOut, model: int) -> Floats:
    """Return how much each row moves the area: by regression of areas on how often each row was drawn.

    With fewer than two draws a row, regression has nothing to go by: then it is the row's own share in the area.
    """
    positive = judged.positive
    n = len(positive)
    if len(weights) >= 2 * n:
        sizes = np.where(positive, positive.sum(), (~positive).sum())
        first = [int(np.flatnonzero(members)[0]) for members in (positive, ~positive)]
        kept = np.setdiff1d(np.arange(n), first)
        design = np.column_stack([np.ones(len(weights)), weights[:, kept] / sizes[kept]])
        influence = np.zeros(n)
        influence[kept] = np.linalg.lstsq(design, areas, rcond=None)[0][1:]
    else:
        score = -judged.scores[:, model] if judged.swapped[model] else judged.scores[:, model]
        wins = (score[:, None] > score) + 0.5 * (score[:, None] == score)
        influence = np.where(positive, wins[:, ~positive].mean(axis=1), wins[positive].mean(axis=0))
    for members in (positive, ~positive):
        influence[members] -= influence[members].mean()
    return influence


def _bound(
    drawn: _Drawn, column: int, influence: Floats, judged: HeldOut, model: int, level: float
) -> float | None:
    """Return the area under the weights that make the observed one just improbable enough, or None."""
    probability = _improbability(drawn, column, influence)
    step = 0.1 if drawn.of_best else 1.0
    tau = _root(probability, level, step)
    if tau is None:
        return None
    weights = np.exp(tau * influence - (tau * influence).max())
    score, positive = judged.scores[:, model], judged.positive
    above, below = (weights[members] / weights[members].sum() for members in (positive, ~positive))
    high, low = score[positive][:, None], score[~positive][None, :]
    area = float(above @ ((high > low) + 0.5 * (high == low)) @ below)
    return 1 - area if judged.swapped[model] else area


def _improbability(drawn: _Drawn, column: int, influence: Floats) -> Callable[[float], float]:
    """Return the function of τ that says how probable an area as high as the observed one is under the tilt."""
    tilt = drawn.weights @ influence
    n = drawn.weights.shape[1]
    areas, observed = drawn.areas[:, column], drawn.observed[column]

    def log_weights(tau: float) -> Floats:
        """Return the logarithm of each sample's probability under the tilt, relative to the plain one."""
        tilted = tau * influence
        log: Floats = tau * tilt - n * (np.log(np.exp(tilted - tilted.max()).mean()) + tilted.max())
        return log

    if not drawn.of_best:
        counts = (areas > observed + TIE) + 0.5 * (np.abs(areas - observed) <= TIE)

        def of_one(tau: float) -> float:
            with np.errstate(over="ignore"):
                return float((np.exp(log_weights(tau)) * counts).mean())

        return of_one
    largest = np.sort(_ranks(drawn.areas).max(axis=1))
    at_most = areas <= observed + TIE

    def of_best(tau: float) -> float:
        log = log_weights(tau)
        share = np.exp(log - log.max())
        below = share[at_most].sum() / share.sum()
        return float(1 - np.searchsorted(largest, below + TIE, side="right") / len(largest))

    return of_best


def _ranks(areas: Floats) -> Floats:
    """Return ranks within each column over one more than their number; of equal ones the highest."""
    from scipy.stats import rankdata

    ranks: Floats = rankdata(areas, method="max", axis=0)
    return ranks / (len(areas) + 1)


def _root(probability: Callable[[float], float], level: float, step: float) -> float | None:
    """Return the tilt at which the probability falls to the level, on the side where it is not above it."""
    tau = -step
    while probability(tau) > level / 2:
        tau -= step
        if tau < FARTHEST - PRECISE:
            return None
    if not (probability(tau) <= level / 2 and probability(0.0) > 2 * level):
        return None
    low, high = tau, 0.0
    while high - low > PRECISE:
        middle = (low + high) / 2
        low, high = (middle, high) if probability(middle) <= level else (low, middle)
    return low
