"""P-values of the supremum of LM statistics: how likely a process without a change reaches so high between two cuts."""

from __future__ import annotations

import numpy as np

from assay.typing import Floats

__all__ = ["log_p_sup_lm"]

# λ at a trimming of a fifth. With larger λ Estrella's formula is within 5 % of the exact p-value near 0.05; with
# smaller ones, where few cut points are left, it is too small, in the end by half.
WIDE = 16.0
CELLS, STEPS = 200, 60  # within 1 % of finer ones, and exact where the process is long enough to matter
SMALLEST = 1e-11  # below, the difference to 1 is mostly rounding


def log_p_sup_lm(x: float, k: int, ratio: float) -> float:
    """Return the log p-value of a supremum of k-dimensional LM statistics between cut points with odds ratio λ.

    Where λ is 16 or more (a fifth or less is trimmed on each side): Estrella's tail formula; below 1.5 k, where the
    tail does not hold, the log p-value there times a power of x. Otherwise the exact distribution, computed
    numerically, and χ² where there is one cut point. Both are of a process that is looked at everywhere: with few
    observations, which are looked at in as many places, p-values are somewhat large.

    References:
        Estrella (2003), Critical values and p values of Bessel process distributions: computation and application
        to structural break tests, Econometric Theory 19.

    >>> round(float(np.exp(log_p_sup_lm(19.675, 11, 1.0))), 4)  # one cut point: χ² with 11 degrees of freedom
    0.05
    """
    if x <= 0:
        return 0.0
    if ratio < WIDE:
        return _log_p_narrow(x, k, ratio)
    edge = 1.5 * k
    if x > edge:
        return min(0.0, _tail(x, k, ratio))
    return min(0.0, float((x / edge) ** np.sqrt(k)) * _tail(edge, k, ratio))


def _tail(x: float, k: int, ratio: float) -> float:
    slope = np.log(ratio) * (1 - k / x) + 2 / x
    return _log_rate(x, k) + float(np.log(abs(slope)))


def _log_rate(x: float, k: int) -> float:
    from scipy.special import gammaln

    return float(-gammaln(k / 2) + k / 2 * np.log(x / 2) - x / 2)


def _log_p_narrow(x: float, k: int, ratio: float) -> float:
    from scipy.stats import chi2

    at_first_cut = float(chi2.logsf(x, k))
    length = float(np.log(ratio))
    if length <= 0:
        return at_first_cut
    p = 1 - _survival(x, k, length)
    if p > SMALLEST:
        return max(at_first_cut, float(np.log(min(p, 1.0))))
    # Estrella's formula with the exact probability of beginning above x in the place of its first term, 2/x.
    return float(np.logaddexp(at_first_cut, _log_rate(x, k) + np.log(length * (1 - k / x))))


def _survival(x: float, k: int, length: float) -> float:
    """Return the probability that the process stays below x.

    In logarithmic time s = ln(t / (1-t)) the statistic at one cut point follows dY = (k - Y) ds + 2 √Y dW, whose
    stationary law is χ² with k degrees of freedom, w. The probability u(y, s) of not having reached x follows
    w ∂u/∂s = ∂/∂y (2 y w ∂u/∂y), with u = 1 at the start and u = 0 at x. Solved in cells of equal width in √y, which
    hold the mass of w exactly; the steps grow from tiny ones, because u starts with a jump at x.
    """
    from scipy.stats import chi2

    edges = np.linspace(0.0, np.sqrt(x), CELLS + 1) ** 2
    centres = (np.sqrt(edges[:-1]) + np.sqrt(edges[1:])) ** 2 / 4
    mass = np.diff(chi2.cdf(edges, k))
    flow = 2 * edges[1:] * chi2.pdf(edges[1:], k) / np.diff(np.append(centres, x))
    still = np.ones(CELLS)
    times = length * np.linspace(0, 1, STEPS + 1) ** 2
    for number, step in enumerate(np.diff(times)):
        # The first steps are fully implicit, which smooths the jump; the others are Crank and Nicolson's.
        still = _advance(still, mass, flow, step, 1.0 if number < 4 else 0.5)
    return float(mass @ still)


def _advance(still: Floats, mass: Floats, flow: Floats, step: float, implicit: float) -> Floats:
    """Return u after a step; `flow` is the conductance from each cell to the next, the last one to x, where u is 0."""
    from scipy.linalg import solve_banded

    inner = flow[:-1]
    outgoing = flow + np.append(0.0, inner)
    change = -outgoing * still
    change[:-1] += inner * still[1:]
    change[1:] += inner * still[:-1]
    bands = np.zeros((3, len(still)))
    bands[1] = mass + implicit * step * outgoing
    bands[0, 1:] = bands[2, :-1] = -implicit * step * inner
    after: Floats = solve_banded((1, 1), bands, mass * still + (1 - implicit) * step * change)
    return after
