"""Tests of whether a column says anything of the target that some other columns do not say already.

Every test gives a statistic that is about χ² if the column says nothing more: for classes twice the gain in
log-likelihood of nested (multinomial) logistic regressions, for values Fisher's z of the partial correlation, squared.
Statistics of one target have the same degrees of freedom, so they compare like p-values, without underflow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from assay.typing import Array, Floats, Ints

__all__ = ["ClassTests", "Tests", "ValueTests", "make_tests"]

MOST_STEPS = 25
MOST_HALVINGS = 6
ENOUGH = (
    1e-4  # a smaller gain in deviance ends the fit: the next would be its square, and tests ask for 2 or more
)
MOST_ODDS = 600
RIDGE = 1e-6  # of the number of rows; steps stay finite where columns repeat each other
CHUNK = 2_000_000  # floats of designs that are held at a time
CLOSE_TO_NOTHING = 1e-8  # what is left of a column, as a share, before it counts as explained by the others


class Tests:
    """Tests of the columns of one matrix, each computed once.

    `df` are the degrees of freedom of each, and `done` those of all tests so far: more classes are more work.
    """

    __test__ = False  # for pytest, which collects classes of such names
    df = 1

    def __init__(self, x: Floats) -> None:
        deviation = x.std(axis=0)
        self.x = np.where(deviation > 0, x - x.mean(axis=0), 0.0) / np.where(deviation > 0, deviation, 1.0)
        self.done = 0
        self._known: dict[tuple[int, frozenset[int]], float] = {}

    def statistics(self, columns: Sequence[int], given: Sequence[int]) -> Floats:
        """Return a finite statistic, at least 0, of each column, given other columns."""
        key = frozenset(given)
        new = [column for column in columns if (column, key) not in self._known]
        if new:
            self.done += len(new) * self.df
            found = np.nan_to_num(self._compute(np.array(new), sorted(key)), nan=0.0, posinf=1e9, neginf=0.0)
            self._known.update(
                ((column, key), max(float(one), 0.0)) for column, one in zip(new, found, strict=True)
            )
        return np.array([self._known[column, key] for column in columns])

    def _compute(self, columns: Ints, given: list[int]) -> Floats:
        raise NotImplementedError


class ValueTests(Tests):
    """For numbers: (n - |given| - 3) atanh(r)², r being the partial correlation."""

    def __init__(self, x: Floats, y: Array) -> None:
        super().__init__(x)
        self.y = y - y.mean()

    def _compute(self, columns: Ints, given: list[int]) -> Floats:
        freedom = len(self.y) - len(given) - 3
        if freedom <= 0:
            return np.zeros(len(columns))
        own, target = self.x[:, columns], self.y
        if given:
            others = self.x[:, given]
            fit = np.linalg.lstsq(others, np.column_stack([own, target]), rcond=None)[0]
            own, target = own - others @ fit[:, :-1], target - others @ fit[:, -1]
        size = np.linalg.norm(own, axis=0) * np.linalg.norm(target)
        whole = np.sqrt(len(self.y)) * np.linalg.norm(self.y)
        is_left = size > CLOSE_TO_NOTHING * whole
        r = np.where(is_left, own.T @ target / np.where(is_left, size, 1.0), 0.0)
        statistics: Floats = freedom * np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12)) ** 2
        return statistics


class ClassTests(Tests):
    """For classes: the difference of the deviances of two nested logistic regressions."""

    def __init__(self, x: Floats, y: Array) -> None:
        super().__init__(x)
        _, codes = np.unique(y, return_inverse=True)
        self.codes = codes.reshape(-1)
        self.n_others = int(self.codes.max())  # the first class is the one that others are compared with
        self.df = max(self.n_others, 1)
        self._fits: dict[tuple[int, ...], tuple[Floats, float]] = {}

    def _compute(self, columns: Ints, given: list[int]) -> Floats:
        if not self.n_others:
            return np.zeros(len(columns))
        base = np.column_stack([np.ones(len(self.x)), self.x[:, given]])
        start, before = self._without(tuple(given), base)
        size = max(CHUNK // (base.size + len(base)), 1)
        parts = [
            self._with(columns[at : at + size], base, start, before) for at in range(0, len(columns), size)
        ]
        return np.concatenate(parts)

    def _without(self, given: tuple[int, ...], base: Floats) -> tuple[Floats, float]:
        if given not in self._fits:
            empty = np.zeros((1, self.n_others, base.shape[1]))
            fit, deviance = fit_logistic(base[None], self.codes, empty)
            self._fits[given] = fit[0], float(deviance[0])
        return self._fits[given]

    def _with(self, columns: Ints, base: Floats, start: Floats, before: float) -> Floats:
        designs = np.empty((len(columns), len(base), base.shape[1] + 1))
        designs[:, :, :-1] = base
        designs[:, :, -1] = self.x[:, columns].T
        begin = np.zeros((len(columns), self.n_others, designs.shape[2]))
        begin[:, :, :-1] = start
        return before - fit_logistic(designs, self.codes, begin)[1]


def make_tests(x: Floats, y: Array, is_value: bool) -> Tests:
    """Return the tests for a matrix of numbers and a target of values or classes."""
    return ValueTests(x, np.asarray(y, dtype=float)) if is_value else ClassTests(x, y)


def fit_logistic(designs: Floats, codes: Ints, start: Floats) -> tuple[Floats, Floats]:
    """Fit many multinomial regressions of one target at once, by Newton's method; return coefficients and deviances.

    Each goes on until its deviance falls no more, for `MOST_STEPS` at most: where classes are separable there is no
    end, and the deviance is about zero long before. A step that does harm is halved.

    Args:
        designs: (m, n, d), a column of ones included.
        codes: (n) classes 0 to k.
        start: (m, k, d) coefficients to begin with.
    """
    coefficients = start.copy()
    deviances = _deviance(designs, codes, coefficients)
    active = np.arange(len(designs))
    for _ in range(MOST_STEPS):
        own = designs[active]
        step = _newton(own, codes, coefficients[active])
        better, reached = _take(own, codes, coefficients[active], deviances[active], step)
        gain = deviances[active] - reached
        coefficients[active], deviances[active] = better, reached
        active = active[gain > ENOUGH]
        if not len(active):
            break
    return coefficients, deviances


def _log_odds(designs: Floats, coefficients: Floats) -> Floats:
    """Return (m, n, k): of each class against the first, cut where their exponentials would overflow."""
    return np.clip(designs @ coefficients.transpose(0, 2, 1), -MOST_ODDS, MOST_ODDS)


def _deviance(designs: Floats, codes: Ints, coefficients: Floats) -> Floats:
    odds = _log_odds(designs, coefficients)
    hit = codes[:, None] == np.arange(1, odds.shape[2] + 1)
    total = np.log1p(np.exp(odds).sum(axis=2))
    deviance: Floats = 2 * (total.sum(axis=1) - (odds * hit).sum(axis=(1, 2)))
    return deviance


def _newton(designs: Floats, codes: Ints, coefficients: Floats) -> Floats:
    """Return (m, k, d) steps."""
    m, n, d = designs.shape
    k = coefficients.shape[1]
    p = np.exp(_log_odds(designs, coefficients))
    p /= 1 + p.sum(axis=2, keepdims=True)
    turned = designs.transpose(0, 2, 1)
    hit = codes[:, None] == np.arange(1, k + 1)
    gradient = (turned @ (hit - p)).transpose(0, 2, 1).reshape(m, k * d)
    hessian = np.empty((m, k * d, k * d))
    for a in range(k):
        for b in range(a + 1):
            weight = p[:, :, a] * ((a == b) - p[:, :, b])
            block = turned @ (weight[:, :, None] * designs)
            hessian[:, a * d : (a + 1) * d, b * d : (b + 1) * d] = block
            hessian[:, b * d : (b + 1) * d, a * d : (a + 1) * d] = block
    hessian += RIDGE * n * np.eye(k * d)
    return np.linalg.solve(hessian, gradient[:, :, None]).reshape(m, k, d)


def _take(
    designs: Floats, codes: Ints, coefficients: Floats, before: Floats, step: Floats
) -> tuple[Floats, Floats]:
    """Return coefficients and deviances after the step, or after the part of it that does no harm."""
    best, reached = coefficients.copy(), before.copy()
    waiting = np.arange(len(designs))
    for halving in range(MOST_HALVINGS):
        tried = coefficients[waiting] + step[waiting] / 2**halving
        deviance = _deviance(designs[waiting], codes, tried)
        good = deviance <= before[waiting]
        best[waiting[good]], reached[waiting[good]] = tried[good], deviance[good]
        waiting = waiting[~good]
        if not len(waiting):
            break
    return best, reached
