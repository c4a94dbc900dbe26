"""Bradley–Terry models with ties (Davidson's extension), fitted to what each framework won; many models at once."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import ThreadpoolController

from assay.typing import Bools, Floats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Fits", "Tallies", "fit", "fit_nearby", "tally"]

MAX_STEPS = 60
CONVERGED = 1e-13  # of the log-likelihood, relative: what one more Newton step would gain
NEARBY = 1e-10  # the same, per comparison, for models whose solution is known nearly
FEW_STEPS = 12
LONGEST_STEP = (
    5.0  # of a log strength: further than odds of 150 to 1 the quadratic model is not to be believed
)
ALL_TIES = 30.0  # the log weight of a tie where there is nothing else
AT_ONCE = 2**17  # numbers in a square of all pairs of some models: what the processor's cache holds


@dataclass(frozen=True)
class Tallies:
    """What comparisons of `m` frameworks came to; the first axes count models, and may be none.

    Attributes:
        points: (…, m) comparisons won, a tie counting half.
        ties: (…) comparisons that ended even.
        met: (…, m, m) how often each pair met; symmetric, with a zero diagonal.
    """

    points: Floats
    ties: Floats
    met: Floats


@dataclass(frozen=True)
class Fits:
    """Fitted models; the first axes are those of the tallies.

    Attributes:
        strengths: (…, m) log strengths; the last framework's is 0.
        tie: (…) the log weight of a tie, or -inf where there are none.
        loglik: (…) the log-likelihood.
    """

    strengths: Floats
    tie: Floats
    loglik: Floats

    @property
    def worths(self) -> Floats:
        """Return strengths that sum to 1: how often each would be the best, in Luce's sense."""
        shifted = np.exp(self.strengths - self.strengths.max(axis=-1, keepdims=True))
        worths: Floats = shifted / shifted.sum(axis=-1, keepdims=True)
        return worths

    def expected(self, met: Floats) -> tuple[Floats, Floats]:
        """Return the points of each framework and the ties that are expected of so many comparisons."""
        win, even = _chances(self.strengths, self.tie)
        return (met * (win + even / 2)).sum(axis=-1), (met * even).sum(axis=(-2, -1)) / 2


def tally(scores: ArrayLike) -> tuple[Floats, Floats]:
    """Return points (n, m) and ties (n) of each row of scores, higher being better; only equal numbers tie."""
    from scipy.stats import rankdata

    table = np.asarray(scores, dtype=float)
    m = table.shape[1]
    points = rankdata(table, axis=1) - 1  # those below, and half of its equals
    ordered = np.sort(table, axis=1)
    ties = np.zeros(len(table))
    for lag in range(1, m):
        equal = ordered[:, lag:] == ordered[:, :-lag]
        if not equal.any():
            break  # in sorted rows, equals further apart have equals between them
        ties += equal.sum(axis=1)
    return points, ties


def fit(tallies: Tallies) -> Fits:
    """Fit by maximum likelihood: Newton's steps from equal strengths, halved where they lead down.

    A framework that won or lost every comparison has no finite strength: it gets one beyond which the likelihood no
    longer grows in double precision. Models without ties have no tie parameter; where all ended even, all are equal.

    References:
        Davidson (1970), On extending the Bradley–Terry model to accommodate ties in paired comparison
        experiments, Journal of the American Statistical Association 65.

    Example:
        >>> met = np.array([[0.0, 4.0], [4.0, 0.0]])
        >>> fit(Tallies(np.array([3.0, 1.0]), np.array(0.0), met)).worths.round(6).tolist()
        [0.75, 0.25]
    """
    points = np.asarray(tallies.points, dtype=float)
    shape, m = points.shape[:-1], points.shape[-1]
    flat_points = points.reshape(-1, m)
    flat_ties = np.broadcast_to(np.asarray(tallies.ties, dtype=float), shape).reshape(-1)
    met = np.broadcast_to(np.asarray(tallies.met, dtype=float), (*shape, m, m)).reshape(-1, m, m)
    strengths, tie = np.zeros_like(flat_points), np.where(flat_ties > 0, ALL_TIES, -np.inf)
    loglik = np.zeros(len(flat_points))
    all_even = flat_ties >= met.sum(axis=(1, 2)) / 2 * (1 - 1e-12)  # then nothing tells strengths apart
    for has_ties in (False, True):
        models = ((flat_ties > 0) == has_ties) & ~all_even
        if models.any():
            with one_thread():
                fitted = _climb(flat_points[models], flat_ties[models], met[models], has_ties)
            strengths[models], loglik[models] = fitted[0], fitted[2]
            if has_ties:
                tie[models] = fitted[1]
    return Fits(strengths.reshape(*shape, m), tie.reshape(shape), loglik.reshape(shape))


def fit_nearby(points: Floats, ties: Floats, meetings: float, start: Fits) -> Floats:
    """Return strengths (n, m) of many models whose pairs all met equally often, beginning from one like them.

    For draws of tasks: the same numbers as `fit` to about 1e-9, ten times faster. Newton's steps are whole, because
    the start is near; models that do not settle soon, or lack ties where the start has some, go to `fit`.

    Args:
        points: (n, m) as in `Tallies`.
        ties: (n).
        meetings: how often each pair met.
        start: one fitted model.
    """
    n, m = points.shape
    out, settled = np.empty((n, m)), np.zeros(n, dtype=bool)
    alike = (ties > 0) == bool(np.isfinite(start.tie))
    size = max(1, AT_ONCE // m**2)
    with one_thread():
        theta, nu = _first_steps(points, ties, meetings, start)
        for first in range(0, n, size):
            models = first + np.flatnonzero(alike[first : first + size])
            if len(models):
                near = theta[models], nu[models]
                out[models], settled[models] = _settle(near, points[models], ties[models], meetings)
    rest = ~settled
    if rest.any():
        everybody = meetings * (1 - np.eye(m))
        out[rest] = fit(Tallies(points[rest], ties[rest], everybody)).strengths
    return out


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which BLAS uses one thread: systems this small are solved slower by many."""
    limits: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limits


@cache
def _libraries() -> ThreadpoolController:
    """Look once which libraries have threads: that takes as long as a small fit."""
    return ThreadpoolController()


def _first_steps(points: Floats, ties: Floats, meetings: float, start: Fits) -> tuple[Floats, Floats]:
    """Return strengths (n, m) and tie weights (n) after a Newton step from the start, whose curve all models share."""
    n, m = points.shape
    theta, nu = np.repeat(start.strengths[None], n, axis=0), np.full(n, float(start.tie))
    with np.errstate(all="ignore"):
        base, curve = _slope_and_curve(theta[:1], nu[:1], np.zeros((1, m)), np.zeros(1), meetings)
    slope = base + np.column_stack([points[:, : m - 1], ties])
    step = _solve(curve[0], slope.T)
    if step is not None:
        step = np.clip(step.T, -LONGEST_STEP, LONGEST_STEP)
        theta[:, : m - 1] += step[:, : m - 1]
        nu += step[:, m - 1]
    return theta, nu


def _solve(curve: Floats, slope: Floats) -> Floats | None:
    """Return the solution of a system with a positive definite matrix, of which it may make use; None if it is not."""
    from scipy.linalg.lapack import dposv

    _, step, info = dposv(curve, slope, lower=1)
    return step if info == 0 else None


def _settle(
    near: tuple[Floats, Floats], points: Floats, ties: Floats, meetings: float
) -> tuple[Floats, Bools]:
    """Return strengths, and which of the models took a last step that gained next to nothing."""
    (theta, nu), (n, m) = near, points.shape
    gain = np.full(n, np.inf)
    with np.errstate(all="ignore"):  # strengths without bound overflow: they go to `fit`
        for _ in range(FEW_STEPS):
            slope, curve = _slope_and_curve(theta, nu, points, ties, meetings)
            solutions = [_solve(curve[model], slope[model]) for model in range(n)]
            steps = [solution for solution in solutions if solution is not None]
            if len(steps) < n:
                return theta, np.zeros(n, dtype=bool)
            step = np.clip(np.stack(steps), -LONGEST_STEP, LONGEST_STEP)
            gain = (step * slope).sum(axis=1) / 2
            theta[:, : m - 1] += step[:, : m - 1]
            nu += step[:, m - 1]  # without ties: zero
            if (gain <= NEARBY * meetings * m**2).all():
                break
    return theta, (gain <= NEARBY * meetings * m**2) & np.isfinite(theta).all(axis=1)


def _slope_and_curve(
    theta: Floats, nu: Floats, points: Floats, ties: Floats, meetings: float
) -> tuple[Floats, Floats]:
    """Return gradients (n, m) and negative Hessians over all strengths but the last, and the tie weight.

    Weights of a pair are s_i/s_j, s_j/s_i and the tie's, with s = exp(θ/2): no exponential per pair is needed.
    """
    n, m = points.shape
    has_ties = bool(np.isfinite(nu).all())
    root, even_weight = np.exp(theta / 2), np.exp(nu)
    ahead = root[:, :, None] / root[:, None, :]
    behind = ahead.swapaxes(1, 2)
    # In place where a square is not needed any more: these squares are what the time goes into.
    even = ahead + behind
    even += even_weight[:, None, None]
    np.reciprocal(even, out=even)
    lead = ahead - behind
    lead *= even
    lead /= 2  # of what i gets from j, beyond a half
    even *= even_weight[:, None, None]
    rows = np.arange(m)
    even[:, rows, rows] = 0.0
    spread = lead**2
    np.subtract(0.25, spread, out=spread)
    spread -= even / 4
    spread *= meetings
    spread[:, rows, rows] = 0.0
    slope = np.empty((n, m))
    slope[:, : m - 1] = (points - meetings * (lead.sum(axis=2) + (m - 1) / 2))[:, : m - 1]
    slope[:, m - 1] = ties - meetings * even.sum(axis=(1, 2)) / 2
    diagonal = spread.sum(axis=2)
    curve = np.negative(spread, out=spread)  # the last row and column become those of the tie weight
    curve[:, rows, rows] = diagonal
    across = -meetings * np.einsum("nij,nij->ni", even, lead)
    curve[:, : m - 1, m - 1] = curve[:, m - 1, : m - 1] = across[:, : m - 1]
    curve[:, m - 1, m - 1] = (
        meetings * (even.sum(axis=(1, 2)) - np.einsum("nij,nij->n", even, even)) / 2 if has_ties else 1.0
    )
    curve[:, rows, rows] += (1e-13 * curve[:, rows, rows].max(axis=1) + 1e-300)[:, None]
    return slope, curve


def _climb(points: Floats, ties: Floats, met: Floats, has_ties: bool) -> tuple[Floats, Floats, Floats]:
    """Return strengths, tie weights and log-likelihoods of models that all have ties, or all have none."""
    n, m = points.shape
    theta, nu = np.zeros((n, m)), np.full(n, 0.0 if has_ties else -np.inf)
    loglik = _loglik(theta, nu, points, ties, met)
    active = np.arange(n)
    for _ in range(MAX_STEPS):
        step, gain = _newton(theta[active], nu[active], points[active], ties[active], met[active], has_ties)
        last = gain <= CONVERGED * (1 + np.abs(loglik[active]))
        scale = np.ones(len(active))
        for _ in range(30):
            new_theta = theta[active] + scale[:, None] * step[:, :m]
            new_nu = nu[active] + scale * step[:, m] if has_ties else nu[active]
            new = _loglik(new_theta, new_nu, points[active], ties[active], met[active])
            worse = ~(new >= loglik[active]) & ~last  # the last step is too short for the likelihood to tell
            if not worse.any():
                break
            scale[worse] /= 2
        taken = active[~worse]
        theta[taken], nu[taken], loglik[taken] = new_theta[~worse], new_nu[~worse], new[~worse]
        active = active[~worse & ~last]
        if not len(active):
            break
    return theta, nu, loglik


def _newton(
    theta: Floats, nu: Floats, points: Floats, ties: Floats, met: Floats, has_ties: bool
) -> tuple[Floats, Floats]:
    """Return Newton's steps (…, m + 1), zero for the last framework, and what each would gain."""
    n, m = theta.shape
    win, even = _chances(theta, nu)
    mean = win + even / 2  # of what i gets from j
    spread = met * (win + even / 4 - mean**2)
    slope = np.zeros((n, m + 1))
    slope[:, :m] = points - (met * mean).sum(axis=2)
    curve = np.zeros((n, m + 1, m + 1))
    curve[:, :m, :m] = -spread
    rows = np.arange(m)
    curve[:, rows, rows] = spread.sum(axis=2)
    if has_ties:
        slope[:, m] = ties - (met * even).sum(axis=(1, 2)) / 2
        across = (met * even * (0.5 - mean)).sum(axis=2)
        curve[:, :m, m] = curve[:, m, :m] = across
        curve[:, m, m] = (met * even * (1 - even)).sum(axis=(1, 2)) / 2
    kept = [*range(m - 1), m] if has_ties else list(range(m - 1))  # the last framework is the reference
    inner = curve[:, kept][:, :, kept]
    # Where nothing depends on a parameter any more the matrix is singular: a trace of the diagonal mends that.
    size = inner[:, range(len(kept)), range(len(kept))].max(axis=1, initial=0.0)
    inner[:, range(len(kept)), range(len(kept))] += (1e-13 * size + 1e-300)[:, None]
    step = np.zeros((n, m + 1))
    step[:, kept] = np.linalg.solve(inner, slope[:, kept][:, :, None])[:, :, 0]
    step = np.clip(step, -LONGEST_STEP, LONGEST_STEP)
    return step, (step * slope).sum(axis=1) / 2


def _chances(theta: Floats, nu: Floats) -> tuple[Floats, Floats]:
    """Return the probabilities (…, m, m) that i beats j, and that they end even; diagonals mean nothing."""
    half = (theta[..., :, None] - theta[..., None, :]) / 2
    top = np.maximum(np.abs(half), np.asarray(nu)[..., None, None])
    win, lose, even = np.exp(half - top), np.exp(-half - top), np.exp(np.asarray(nu)[..., None, None] - top)
    total = win + lose + even
    return win / total, even / total


def _loglik(theta: Floats, nu: Floats, points: Floats, ties: Floats, met: Floats) -> Floats:
    half = (theta[:, :, None] - theta[:, None, :]) / 2
    weight = nu[:, None, None]
    top = np.maximum(np.abs(half), weight)
    log_total = top + np.log(np.exp(half - top) + np.exp(-half - top) + np.exp(weight - top))
    # Weights are taken relative to the mean strength of the pair, which both sides and a tie share.
    shared = (theta[:, :, None] + theta[:, None, :]) / 2
    spent = (met * (log_total + shared)).sum(axis=(1, 2)) / 2
    of_ties = np.where(ties > 0, ties * np.where(ties > 0, nu, 0.0), 0.0)
    loglik: Floats = (points * theta).sum(axis=1) + of_ties - spent
    return loglik
