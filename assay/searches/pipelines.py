"""From a configuration to a pipeline of scikit-learn: preparation, selection of columns, learner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from assay.searches.configurations import ALL, RAW, Configuration, Part
from assay.searches.estimator import Estimator

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from assay.searches.preparation import Preparation
    from assay.searches.selectors import ColumnSelector

__all__ = ["Demand", "Step", "make_first_steps", "make_last", "make_pipeline"]


@dataclass(frozen=True)
class Demand:
    """What a pipeline depends on beside its configuration: the target, whether probabilities are needed, the seed."""

    is_value: bool = False
    probabilities: bool = False
    seed: int = 0


Step: TypeAlias = "Preparation | ColumnSelector"


def make_pipeline(configuration: Configuration, demand: Demand) -> Pipeline:
    """Return the steps of a configuration, not fitted: `prepare`, `select`, `learn`, without those it does not have."""
    from sklearn.pipeline import Pipeline

    steps = [*make_first_steps(configuration.selector, demand), ("learn", make_last(configuration, demand))]
    return Pipeline(steps)


def make_first_steps(selector: Part, demand: Demand) -> list[tuple[str, Step]]:
    """Return what comes before the learner: the same for all configurations of a selector."""
    from assay.searches.preparation import Preparation
    from assay.searches.selectors import Lasso, Univariate
    from assay.searches.ses import SES

    if selector == RAW:
        return []
    prepare = ("prepare", Preparation())
    if selector == ALL:
        return [prepare]
    kinds: Mapping[str, type[ColumnSelector]] = {"ses": SES, "univariate": Univariate, "lasso": Lasso}
    params: dict[str, object] = {**dict(selector.params), "is_value": demand.is_value}
    params |= {"seed": demand.seed} if selector.kind == "lasso" else {}
    return [prepare, ("select", kinds[selector.kind](**params))]


def make_last(configuration: Configuration, demand: Demand) -> Estimator:
    """Return the learner of a configuration, not fitted."""
    from assay.searches.learners import make_learner

    if configuration.estimator is not None:
        return _seeded(configuration.estimator, demand.seed)
    part = configuration.learner
    return make_learner(part.kind, dict(part.params), demand.is_value, demand.probabilities, demand.seed)


def _seeded(estimator: Estimator, seed: int) -> Estimator:
    """Return an estimator, not fitted, with the seed wherever it would have none: the same search is the same."""
    from sklearn.base import clone

    copy: Estimator = clone(estimator)
    unset = [
        name
        for name, value in copy.get_params(deep=True).items()
        if value is None and name.rpartition("__")[2] == "random_state"
    ]
    return copy.set_params(**dict.fromkeys(unset, seed))
