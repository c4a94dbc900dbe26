"""Bayesian tests with a region of equivalence: signed ranks over tasks, and correlated t-tests over folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan, sqrt
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.impute import FoldScores
from assay.errors import ConfigError, UserError
from assay.typing import Floats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "SAMPLES",
    "OneTask",
    "SignedRank",
    "compare_on_tasks",
    "correlated_t",
    "nadeau_bengio",
    "signed_rank",
    "signed_rank_pairs",
]

PRIOR = 0.5  # the weight of one further, imagined task on which the two are equal
SAMPLES = 50_000  # probabilities have a standard error of at most 0.002
BLOCK = 1024  # samples that are worked on together: they stay in the processor's cache
TIE = 1e-12  # shares of weights that differ by less are equal: rounding alone makes such differences


@dataclass(frozen=True)
class SignedRank:
    """Probabilities that over tasks A is better, both are equivalent, B is better; and the mean difference A - B."""

    a: str
    b: str
    p_a: float
    p_rope: float
    p_b: float
    mean_difference: float
    n_tasks: int


@dataclass(frozen=True)
class OneTask:
    """A pair on one task: the corrected t-test's p-value, and the probabilities of the correlated t-test."""

    task: str
    a: str
    b: str
    mean_difference: float
    t: float
    p: float
    p_a: float
    p_rope: float
    p_b: float
    n_folds: int


def signed_rank(
    differences: ArrayLike, rope: float, random: np.random.Generator, samples: int = SAMPLES
) -> tuple[float, float, float]:
    """Return the probabilities that positive, negligible, negative differences prevail, of A - B over tasks.

    The posterior of Dirichlet weights over the tasks, with a prior observation of no difference; for each draw, the
    weight of the pairs of tasks (Walsh averages) above, inside and below ±`rope`; the probabilities are how often each
    is the largest.

    References:
        Benavoli, Corani, Demšar and Zaffalon (2017), Time for a change: a tutorial for comparing multiple classifiers
        through Bayesian analysis, JMLR 18.
    """
    given = np.asarray(differences, dtype=float)
    return _signed_rank(given, rope, _weights(len(given), random, samples))


def signed_rank_pairs(
    means: Floats, frameworks: Sequence[str], rope: float, random: np.random.Generator, samples: int = SAMPLES
) -> list[SignedRank]:
    """Return the test for every pair of columns of (tasks, m) scores; all pairs share the draws."""
    if rope < 0:
        raise ConfigError(
            f"`rope={rope:g}`: the half width of the region of equivalence is 0 or more.", ["rope"]
        )
    if len(frameworks) < 2:
        raise UserError("At least two frameworks are needed, beside the constant predictor.")
    if len(means) < 1:
        raise UserError("There is no task on which all frameworks have a score.")
    if np.isnan(means).any():
        raise UserError(
            "Scores are missing: impute them (`impute`), or leave out the tasks or frameworks.", ["impute"]
        )
    weights = _weights(len(means), random, samples)
    out = []
    for i, a in enumerate(frameworks):
        for j in range(i + 1, len(frameworks)):
            z = means[:, i] - means[:, j]
            p_a, p_rope, p_b = _signed_rank(z, rope, weights)
            out.append(SignedRank(a, frameworks[j], p_a, p_rope, p_b, float(z.mean()), len(z)))
    return out


def _weights(n: int, random: np.random.Generator, samples: int) -> Floats:
    """Return (n + 1, samples) weights, first that of the imagined task."""
    alpha = np.ones(n + 1)
    alpha[0] = PRIOR
    return np.ascontiguousarray(random.dirichlet(alpha, samples).T)


def _signed_rank(differences: Floats, rope: float, weights: Floats) -> tuple[float, float, float]:
    z = np.concatenate([[0.0], differences])
    order = np.argsort(z, kind="stable")
    z = z[order]
    # For each task, how many of the others have a sum with it below, or not above, the region: those before these.
    lower, upper = (
        np.searchsorted(z, -2 * rope - z, side="left"),
        np.searchsorted(z, 2 * rope - z, side="right"),
    )
    parts = []
    for begin in range(0, weights.shape[1], BLOCK):
        w = weights[order, begin : begin + BLOCK]
        below = np.zeros((len(w) + 1, w.shape[1]))
        for task, weight in enumerate(w):  # cumsum over the first axis is six times slower
            np.add(below[task], weight, out=below[task + 1])
        under = np.einsum("ts,ts->s", w, below[lower])
        inside = np.einsum("ts,ts->s", w, below[upper]) - under
        parts.append(np.stack([1 - under - inside, inside, under]))
    shares = np.concatenate(parts, axis=1)
    top = shares >= shares.max(axis=0) - TIE
    counted = (top / top.sum(axis=0)).mean(axis=1)
    return float(counted[0]), float(counted[1]), float(counted[2])


def nadeau_bengio(differences: ArrayLike, test_ratio: float) -> tuple[float, float]:
    """Return t and the two-sided p-value of the corrected resampled t-test of differences on folds.

    Training sets of folds overlap, so the variance of the mean is taken as (1/n + test/train) s².

    References:
        Nadeau and Bengio (2003), Inference for the generalization error, Machine Learning 52(3).
    """
    from scipy.special import stdtr

    d = np.asarray(differences, dtype=float)
    n = len(d)
    if n < 2:
        return nan, nan
    error = sqrt((1 / n + test_ratio) * float(d.var(ddof=1)))
    mean = float(d.mean())
    t = mean / error if error > 0 else (0.0 if mean == 0 else inf if mean > 0 else -inf)
    return t, float(2 * stdtr(n - 1, -abs(t)))


def correlated_t(differences: ArrayLike, test_ratio: float, rope: float) -> tuple[float, float, float]:
    """Return the posterior probabilities that the mean difference lies above, inside and below ±`rope`.

    References:
        Corani and Benavoli (2015), A Bayesian approach for comparing cross-validated algorithms on multiple data sets,
        Machine Learning 100.
    """
    from scipy.special import stdtr

    d = np.asarray(differences, dtype=float)
    n = len(d)
    if n < 2:
        return nan, nan, nan
    scale = sqrt((1 / n + test_ratio) * float(d.var(ddof=1)))
    mean = float(d.mean())
    if scale == 0:
        return float(mean > rope), float(abs(mean) <= rope), float(mean < -rope)
    under, not_over = (float(stdtr(n - 1, (edge - mean) / scale)) for edge in (-rope, rope))
    return 1 - not_over, not_over - under, under


def compare_on_tasks(scores: FoldScores, a: str, b: str, rope: float = 0.0) -> list[OneTask]:
    """Return both tests of a pair on each task that has at least two folds of theirs.

    Test and training parts are taken to be those of cross-validation with as many folds as there are: where only some
    of them were run, the tests are more cautious than they need be.
    """
    if rope < 0:
        raise ConfigError(
            f"`rope={rope:g}`: the half width of the region of equivalence is 0 or more.", ["rope"]
        )
    for name in (a, b):
        if name not in scores.frameworks:
            raise UserError(f"Unknown framework '{name}': give two of {', '.join(scores.frameworks)}.")
    pair = scores.keep([a, b])
    out = []
    for t, task in enumerate(pair.tasks):
        rows = (pair.task == t) & np.isfinite(pair.scores).all(axis=1)
        folds = len(np.unique(pair.fold[rows, 1]))
        if folds < 2:
            continue
        d = pair.scores[rows, 0] - pair.scores[rows, 1]
        ratio = 1 / (folds - 1)
        tests = (*nadeau_bengio(d, ratio), *correlated_t(d, ratio, rope))
        out.append(OneTask(task, a, b, float(d.mean()), *tests, n_folds=len(d)))
    return out
