"""The learners of the paper's search space, in scikit-learn's terms.

What JADBio's parameters were taken to mean (its code is not public):

- Trees and forests: splits by deviance, `log_loss` (squared error for values). MinLeafSize: `min_samples_leaf`.
- Pruning alpha of a tree, 0.01 or 0.05: a level of significance, for forests have alpha 1 and are not pruned.
  `ccp_alpha` is set such that a split stays if it gains as much deviance as a χ² test at that level asks for.
- vars_to_split of a forest, f × sqrt(p): `max_features`, rounded, of the p columns that were selected. n_splits 1: the
  best threshold, as scikit-learn has it.
- lambda of logistic regression: the weight of ½‖w‖² against the sum of the losses, `C` = 1 / lambda. For values it is
  ridge regression.
- Support vector machines: cost, gamma and degree are `C`, `gamma` and `degree`; the polynomial kernel is
  (γ x·x' + 1)^d. For values the target has mean 0 and deviation 1, since cost is in its units.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log, sqrt
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from scipy.stats import chi2
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from .estimator import Estimator

if TYPE_CHECKING:
    from assay.typing import Array, Floats

__all__ = ["make_learner"]

# Hard margins on classes that overlap may take libsvm hours; at the limit it returns what it has.
SVM_STEPS = 100_000
CALIBRATION_FOLDS = 3


class PrunedTreeClassifier(DecisionTreeClassifier):  # type: ignore[misc]
    """A tree in which splits stay that gain as much deviance as a test at the level `significance` asks for."""

    def __init__(
        self, min_samples_leaf: int = 2, significance: float = 0.05, random_state: int | None = None
    ) -> None:
        super().__init__(criterion="log_loss", min_samples_leaf=min_samples_leaf, random_state=random_state)
        self.significance = significance

    def fit(self, X: Array, y: Array, sample_weight: Floats | None = None, check_input: bool = True) -> Self:
        """Grow and prune. Impurity is in bits per row, deviance in nats, twice, of all rows."""
        freedom = max(len(np.unique(y)) - 1, 1)
        self.ccp_alpha = float(chi2.isf(self.significance, freedom)) / (2 * log(2) * len(y))
        super().fit(X, y, sample_weight, check_input)
        return self


class PrunedTreeRegressor(DecisionTreeRegressor):  # type: ignore[misc]
    """The same for values; a gain is measured in variances of the target."""

    def __init__(
        self, min_samples_leaf: int = 2, significance: float = 0.05, random_state: int | None = None
    ) -> None:
        super().__init__(min_samples_leaf=min_samples_leaf, random_state=random_state)
        self.significance = significance

    def fit(self, X: Array, y: Array, sample_weight: Floats | None = None, check_input: bool = True) -> Self:
        """Grow and prune."""
        self.ccp_alpha = float(chi2.isf(self.significance, 1)) * float(np.var(y)) / len(y)
        super().fit(X, y, sample_weight, check_input)
        return self


def _n_tried(factor: float, n_columns: int) -> int:
    return min(max(round(factor * sqrt(n_columns)), 1), n_columns)


class _Forest:
    """A forest that looks at `factor` × sqrt(columns) columns for each split; mixed into those of scikit-learn."""

    fixed: ClassVar[Mapping[str, str]] = {}

    def __init__(
        self,
        n_estimators: int = 100,
        min_samples_leaf: int = 2,
        factor: float = 1.0,
        random_state: int | None = None,
    ) -> None:
        given = {"min_samples_leaf": min_samples_leaf, "random_state": random_state}
        super().__init__(n_estimators, **given, **self.fixed)  # type: ignore[call-arg]
        self.factor = factor

    def fit(self, X: Array, y: Array, sample_weight: Floats | None = None) -> Self:
        """Grow the trees."""
        self.max_features = _n_tried(self.factor, np.shape(X)[1])
        super().fit(X, y, sample_weight)  # type: ignore[misc]
        return self


class ForestClassifier(_Forest, RandomForestClassifier):  # type: ignore[misc]
    """For classes, split by entropy."""

    fixed: ClassVar[Mapping[str, str]] = {"criterion": "log_loss"}


class ForestRegressor(_Forest, RandomForestRegressor):  # type: ignore[misc]
    """For values."""


def make_learner(
    kind: str, params: Mapping[str, float], is_value: bool, calibrated: bool, seed: int
) -> Estimator:
    """Return an estimator that has not learned yet.

    `calibrated`: support vector machines for classes get probabilities, by Platt's sigmoid over three folds of the
    training rows; without it they have `decision_function` only, which orders rows and is enough for `auc`.
    """
    learner: Estimator
    if kind == "trivial":
        learner = DummyRegressor() if is_value else DummyClassifier(strategy="prior")
    elif kind == "decision_tree":
        tree = PrunedTreeRegressor if is_value else PrunedTreeClassifier
        learner = tree(int(params["min_leaf"]), params["alpha"], random_state=seed)
    elif kind == "random_forest":
        forest = ForestRegressor if is_value else ForestClassifier
        learner = forest(int(params["trees"]), int(params["min_leaf"]), params["vars"], random_state=seed)
    elif kind == "linear":
        weight = params["lambda"]
        learner = Ridge(alpha=weight) if is_value else LogisticRegression(C=1 / weight, max_iter=1000)
    else:
        learner = _support_vectors(kind.removeprefix("svm_"), params, is_value, calibrated)
    return learner


def _support_vectors(kernel: str, params: Mapping[str, float], is_value: bool, calibrated: bool) -> Estimator:
    settings = {"C": params["cost"], "kernel": kernel, "max_iter": SVM_STEPS, "cache_size": 100}
    settings |= {name: params[name] for name in ("gamma", "degree") if name in params}
    settings |= {"coef0": 1.0} if kernel == "poly" else {}
    machine: Estimator
    if is_value:
        # Cost and the width of the tube are in the target's units.
        machine = TransformedTargetRegressor(SVR(**settings), transformer=StandardScaler())
    elif calibrated:
        machine = CalibratedClassifierCV(
            SVC(**settings), method="sigmoid", cv=CALIBRATION_FOLDS, ensemble=False
        )
    else:
        machine = SVC(**settings)
    return machine
