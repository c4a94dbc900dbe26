"""Ways to choose columns of a matrix: what they share, univariate tests, and the lasso."""

from __future__ import annotations

import inspect
from math import log, sqrt
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_array, check_is_fitted

__all__ = ["ColumnSelector", "Lasso", "Univariate"]


class ColumnSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """A feature selector of scikit-learn. Where it keeps no column, learners get one of zeros: they say the base rate.

    Attributes:
        columns_: the positions that were chosen, the most important first where the way to choose has an order.
    """

    def fit(self, x: Any, y: Any) -> ColumnSelector:
        """Choose columns."""
        x = check_array(x, dtype=float)
        self.n_features_in_ = x.shape[1]
        self.columns_: list[int] = [int(one) for one in self._choose(x, np.asarray(y))]
        return self

    def transform(self, x: Any) -> Any:
        """Return the chosen columns, in the order of the matrix."""
        check_is_fitted(self)
        x = np.asarray(x, dtype=float)
        return x[:, sorted(self.columns_)] if self.columns_ else np.zeros((len(x), 1))

    def _get_support_mask(self) -> Any:
        check_is_fitted(self)
        return np.isin(np.arange(self.n_features_in_), self.columns_)

    def _choose(self, x: Any, y: Any) -> Any:
        raise NotImplementedError


class Univariate(ColumnSelector):
    """Keep the `most` strongest of the columns that F tests find associated with the target.

    `alpha` is the false discovery rate, by Benjamini and Hochberg.
    """

    def __init__(self, alpha: float = 0.01, most: int = 100, is_value: bool = False) -> None:
        self.alpha = alpha
        self.most = most
        self.is_value = is_value

    def _choose(self, x: Any, y: Any) -> Any:
        from scipy.stats import false_discovery_control
        from sklearn.feature_selection import f_classif, f_regression

        if len(np.unique(y)) < 2 or not x.shape[1]:
            return []
        with np.errstate(all="ignore"):
            p = (f_regression if self.is_value else f_classif)(x, y)[1]
        p = np.nan_to_num(p, nan=1.0)
        order = np.argsort(p, kind="stable")
        return order[(false_discovery_control(p) <= self.alpha)[order]][: self.most]


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

    def _choose(self, x: Any, y: Any) -> Any:
        n, p = x.shape
        if len(np.unique(y)) < 2 or not p:
            return []
        weight = self.penalty * self._spread(y) * sqrt(2 * log(max(p, 2)) / n)
        if self.is_value:
            from sklearn.linear_model import Lasso as Linear

            return np.flatnonzero(Linear(alpha=weight).fit(x, y).coef_)
        coefficients = _logistic(1 / (n * weight), self.seed).fit(x, y).coef_
        return np.flatnonzero(np.abs(coefficients).max(axis=0))

    def _spread(self, y: Any) -> float:
        if self.is_value:
            return float(np.std(y))
        shares = np.unique(y, return_counts=True)[1] / len(y)
        return float(np.sqrt(shares * (1 - shares)).max())


def _logistic(c: float, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    # From scikit-learn 1.8 on the kind of penalty follows from l1_ratio, and naming it is deprecated.
    is_new = inspect.signature(LogisticRegression).parameters["penalty"].default == "deprecated"
    kind = {"l1_ratio": 1.0} if is_new else {"penalty": "l1"}
    return LogisticRegression(C=c, solver="saga", tol=1e-3, max_iter=1000, random_state=seed, **kind)
