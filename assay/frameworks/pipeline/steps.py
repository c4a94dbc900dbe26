"""From a configuration to a pipeline of scikit-learn: preparation, selection of columns, learner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from .learners import make_learner
from .preparation import Preparation
from .selectors import Lasso, Univariate
from .ses import SES

if TYPE_CHECKING:
    from assay.typing import Array, Floats

    from .estimator import Classifier, Columns, Estimator
    from .selectors import ColumnSelector

__all__ = ["Demand", "StepChoice", "make_pipeline", "read_steps", "scores_of"]

SELECTORS: Mapping[str, type[ColumnSelector]] = {"ses": SES, "univariate": Univariate, "lasso": Lasso}


@dataclass(frozen=True)
class Demand:
    """What a pipeline depends on beside its configuration: the target, whether probabilities are needed, the seed."""

    is_value: bool = False
    probabilities: bool = False
    seed: int = 0


@dataclass(frozen=True)
class StepChoice:
    """A step by its kind, with its parameters.

    Of selectors, `all` keeps all columns, and `raw` also skips the preparation.
    """

    kind: str
    params: Mapping[str, float] = field(default_factory=dict)


Step: TypeAlias = "Preparation | ColumnSelector"


def read_steps(params: Mapping[str, object]) -> tuple[StepChoice, StepChoice]:
    """Return selector and learner of flat parameters: `learner`, and `svm_rbf_cost` for the `cost` of `svm_rbf`."""
    kinds = str(params.get("selector", "all")), str(params.get("learner", ""))
    selector, learner = (
        StepChoice(
            kind,
            {
                name.removeprefix(f"{kind}_"): cast("float", value)
                for name, value in params.items()
                if name.startswith(f"{kind}_")
            },
        )
        for kind in kinds
    )
    return selector, learner


def make_pipeline(
    selector: StepChoice, learner: StepChoice, demand: Demand, estimator: Estimator | None = None
) -> Pipeline:
    """Return the steps of a configuration, not fitted: `prepare`, `select`, `learn`, without those it does not have.

    An estimator of the user's takes the place of the learner.
    """
    last = (
        make_learner(learner.kind, learner.params, demand.is_value, demand.probabilities, demand.seed)
        if estimator is None
        else _seeded(estimator, demand.seed)
    )
    return Pipeline([*_first_steps(selector, demand), ("learn", last)])


def _first_steps(selector: StepChoice, demand: Demand) -> list[tuple[str, Step]]:
    if selector.kind == "raw":
        return []
    prepare = ("prepare", Preparation())
    if selector.kind == "all":
        return [prepare]
    params: dict[str, object] = {**selector.params, "is_value": demand.is_value}
    params |= {"seed": demand.seed} if selector.kind == "lasso" else {}
    return [prepare, ("select", SELECTORS[selector.kind](**params))]


def _seeded(estimator: Estimator, seed: int) -> Estimator:
    """Return an estimator, not fitted, with the seed wherever it would have none: the same search is the same."""
    copy: Estimator = clone(estimator)
    unset = [
        name
        for name, value in copy.get_params(deep=True).items()
        if value is None and name.rpartition("__")[2] == "random_state"
    ]
    return copy.set_params(**dict.fromkeys(unset, seed))


def scores_of(model: Estimator, x: Columns, classes: Array, demand: Demand) -> Floats:
    """Return (n, 1) values, (n, 1) scores of the second of two classes, or (n, K) probabilities.

    `classes` are all there are, in sorted order; one that the model has not seen has no probability. Scores are those
    of `decision_function` where there are no probabilities and only the order of the rows is asked for.
    """
    if demand.is_value:
        out = np.asarray(model.predict(x), dtype=np.float64).reshape(-1, 1)
    else:
        out = _class_scores(cast("Classifier", model), x, classes, demand)
    if not np.isfinite(out).all():
        raise ValueError("some predictions are not finite")
    return out


def _class_scores(model: Classifier, x: Columns, classes: Array, demand: Demand) -> Floats:
    if hasattr(model, "predict_proba"):
        out = np.zeros((len(x), len(classes)))
        out[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(x)
        return out if len(classes) > 2 else out[:, 1:]
    if demand.probabilities or len(classes) > 2:
        raise ValueError("it has no predict_proba, which this metric needs")
    return np.asarray(model.decision_function(x), dtype=np.float64).reshape(-1, 1)
