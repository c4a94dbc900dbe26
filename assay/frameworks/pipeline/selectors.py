"""Ways to choose columns of a matrix: what they share, univariate tests, and the lasso."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from math import log, sqrt
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.stats import false_discovery_control
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin, f_classif, f_regression
from sklearn.linear_model import Lasso as Linear
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_array, check_is_fitted

if TYPE_CHECKING:
    from assay.typing import Array, Bools, Floats, Ints

    from .estimator import Columns

__all__ = ["ColumnSelector", "Lasso", "Univariate"]


class ColumnSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """A feature selector of scikit-learn. Where it keeps no column, learners get one of zeros: they say the base rate.

    Attributes:
        columns_: the positions that were chosen, the most important first where the way to choose has an order.
    """

    def fit(self, x: Columns, y: Array) -> Self:
        """Choose columns."""
        matrix: Floats = check_array(x, dtype=float)
        self.n_features_in_ = matrix.shape[1]
        self.columns_: list[int] = [int(column) for column in self._choose(matrix, np.asarray(y))]
        return self

    def transform(self, x: Columns) -> Floats:
        """Return the chosen columns, in the order of the matrix."""
        check_is_fitted(self)
        matrix = np.asarray(x, dtype=np.float64)
        return matrix[:, sorted(self.columns_)] if self.columns_ else np.zeros((len(matrix), 1))

    def _get_support_mask(self) -> Bools:
        check_is_fitted(self)
        return np.isin(np.arange(self.n_features_in_), self.columns_)

    def _choose(self, x: Floats, y: Array) -> Sequence[int] | Ints:
        raise NotImplementedError


class Univariate(ColumnSelector):
    """Keep the `most` strongest of the columns that F tests find associated with the target.

    `alpha` is the false discovery rate, by Benjamini and Hochberg.
    """

    def __init__(self, alpha: float = 0.01, most: int = 100, is_value: bool = False) -> None:
        self.alpha = alpha
        self.most = most
        self.is_value = is_value

    def _choose(self, x: Floats, y: Array) -> Sequence[int] | Ints:
        if len(np.unique(y)) < 2 or not x.shape[1]:
            return []
        with np.errstate(all="ignore"):
            p = (f_regression if self.is_value else f_classif)(x, y)[1]
        p = np.nan_to_num(p, nan=1.0)
        order = np.argsort(p, kind="stable")
        kept: Ints = order[(false_discovery_control(p) <= self.alpha)[order]]
        return kept[: self.most]


class Lasso(ColumnSelector):
    """Keep columns that a linear (for classes: logistic) regression with an L1 penalty gives weight.

    The weight of the penalty, against the mean loss and columns of unit deviation, is `penalty` × s √(2 ln p / n): the
    universal threshold, at which about none of p columns of noise would come in. s is the target's deviation; for
    classes the largest √(share (1 - share)), which is that of a column's pull in the logistic regression at no
    coefficients.
    """

    def __init__(self, penalty: float = 1.0, is_value: bool = False, seed: int = 0) -> None:
        self.penalty = penalty
        self.is_value = is_value
        self.seed = seed

    def _choose(self, x: Floats, y: Array) -> Sequence[int] | Ints:
        n, p = x.shape
        if len(np.unique(y)) < 2 or not p:
            return []
        weight = self.penalty * self._spread(y) * sqrt(2 * log(max(p, 2)) / n)
        if self.is_value:
            return np.flatnonzero(Linear(alpha=weight).fit(x, y).coef_)
        coefficients = _logistic_coefficients(x, y, 1 / (n * weight), self.seed)
        return np.flatnonzero(np.abs(coefficients).max(axis=0))

    def _spread(self, y: Array) -> float:
        if self.is_value:
            return float(np.std(y))
        shares = np.unique(y, return_counts=True)[1] / len(y)
        return float(np.sqrt(shares * (1 - shares)).max())


def _logistic_coefficients(x: Floats, y: Array, c: float, seed: int) -> Floats:
    # From scikit-learn 1.8 on the kind of penalty follows from l1_ratio, and naming it is deprecated.
    is_new = inspect.signature(LogisticRegression).parameters["penalty"].default == "deprecated"
    kind = {"l1_ratio": 1.0} if is_new else {"penalty": "l1"}
    model = LogisticRegression(C=c, solver="saga", tol=1e-3, max_iter=1000, random_state=seed, **kind)
    coefficients: Floats = model.fit(x, y).coef_
    return coefficients
