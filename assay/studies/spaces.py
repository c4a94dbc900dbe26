"""Which configurations are tried: those of the paper's appendix A.2, a fair sample of them, or one's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

__all__ = [
    "ALL",
    "TRIVIAL",
    "Configuration",
    "Demand",
    "Part",
    "check_names",
    "choose",
    "full",
    "grid",
    "make_first_steps",
    "make_last",
    "make_pipeline",
    "own",
    "sample",
]

Value = float | int | str
RESERVED = ("y", "fold", "repeat", "group", "time", "event")  # columns of a file of predictions


@dataclass(frozen=True)
class Part:
    """A step by its kind and its parameters, as (name, value) in their order."""

    kind: str
    params: tuple[tuple[str, Value], ...] = ()

    def __str__(self) -> str:
        said = ", ".join(f"{name}={value}" for name, value in self.params)
        return f"{self.kind}({said})" if said else self.kind


@dataclass(frozen=True)
class Configuration:
    """One way to make a model: preparation, then a selector of columns, then a learner.

    Attributes:
        name: no other in a search has it.
        selector: `all` keeps all columns; `raw` also skips the preparation.
        learner: its kind is `own` where `estimator` is the user's.
        estimator: of scikit-learn, not fitted; None for the learners of the space.
    """

    name: str
    selector: Part
    learner: Part
    estimator: Any = field(default=None, compare=False)


@dataclass(frozen=True)
class Demand:
    """What a pipeline depends on beside its configuration: the target, whether probabilities are needed, the seed."""

    is_value: bool = False
    probabilities: bool = False
    seed: int = 0


ALL, RAW = Part("all"), Part("raw")
TRIVIAL = Configuration("trivial", ALL, Part("trivial"))


def _grid(kind: str, **values: Sequence[Value]) -> list[Part]:
    return [Part(kind, tuple(zip(values, one, strict=True))) for one in product(*values.values())]


POWERS = (0.01, 0.1, 1, 10)
SELECTORS = (
    *_grid("ses", max_k=(2, 3), alpha=(0.01, 0.05)),
    *_grid("univariate", alpha=(0.001, 0.01), most=(100,)),
    *_grid("lasso", penalty=(0.5, 1, 1.5)),
)
LEARNERS = (
    *_grid("decision_tree", min_leaf=(2, 3, 4), alpha=(0.01, 0.05)),
    *_grid("random_forest", trees=(100, 500), min_leaf=(2, 3, 4), vars=(0.816, 1, 1.154, 1.291)),
    *_grid("linear", **{"lambda": (0.1, 1, 10)}),
    *_grid("svm_poly", cost=POWERS, gamma=POWERS, degree=(2, 3)),
    *_grid("svm_rbf", cost=POWERS, gamma=POWERS),
    *_grid("svm_linear", cost=POWERS),
)


@cache
def full() -> tuple[Configuration, ...]:
    """Return all 9 × 85 + 1 configurations of the paper, by selector, then learner; the trivial one is the last.

    The names are the same for classes and for values; `linear` is logistic regression for the one, ridge for the other.
    """
    crossed = (
        Configuration(f"{selector} {learner}", selector, learner)
        for selector, learner in product(SELECTORS, LEARNERS)
    )
    return (*crossed, TRIVIAL)


def choose(n: int, seed: int = 0) -> tuple[Configuration, ...]:
    """Return n configurations of the space, spread as evenly as they go over selectors and families of learners.

    The trivial one is among them, unless only one is asked for. The order is that of `full`. The same seed gives the
    same ones, and more of them include the fewer.
    """
    if n < 1:
        raise ConfigError(f"{n} configurations: at least one is needed.")
    if n >= len(full()):
        return full()
    spread = _spread(seed)
    taken = {next(spread).name} if n == 1 else {TRIVIAL.name, *(next(spread).name for _ in range(n - 1))}
    return tuple(one for one in full() if one.name in taken)


def _spread(seed: int) -> Iterator[Configuration]:
    """Yield configurations such that selectors and families take turns; from each cell of the two one at random.

    Walking both in step meets every third cell of 9 × 6, since three divides both: the next two rounds begin one and
    two selectors further on.
    """
    from math import gcd, lcm

    import numpy as np

    random = np.random.default_rng(seed)
    cells: dict[tuple[Part, str], list[Configuration]] = {}
    for one in full()[:-1]:
        cells.setdefault((one.selector, one.learner.kind), []).append(one)
    selectors = [SELECTORS[at] for at in random.permutation(len(SELECTORS))]
    families = list(dict.fromkeys(learner.kind for learner in LEARNERS))
    families = [families[at] for at in random.permutation(len(families))]
    for own_cell in cells.values():
        random.shuffle(own_cell)
    while any(cells.values()):
        for shift in range(gcd(len(selectors), len(families))):
            for at in range(lcm(len(selectors), len(families))):
                cell = cells[selectors[(at + shift) % len(selectors)], families[at % len(families)]]
                if cell:
                    yield cell.pop()


def own(estimators: Mapping[str, Any], prepare: bool = True) -> tuple[Configuration, ...]:
    """Return configurations of estimators by name; without `prepare` they get the columns as they are."""
    if not estimators:
        raise ConfigError("There are no configurations: give at least one estimator by its name.")
    for name, estimator in estimators.items():
        if not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")) or isinstance(
            estimator, type
        ):
            raise ConfigError(
                f"The configuration '{name}' is {estimator!r}: give an estimator as scikit-learn has them, such as "
                "RandomForestClassifier()."
            )
    return tuple(
        Configuration(str(name), ALL if prepare else RAW, Part("own"), one)
        for name, one in estimators.items()
    )


def grid(
    estimator: Any, values: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]
) -> dict[str, Any]:
    """Return an estimator under every combination of parameters, by a name that tells them."""
    from sklearn.model_selection import ParameterGrid

    return _named(estimator, ParameterGrid(values))


def sample(estimator: Any, distributions: Mapping[str, Any], n: int, seed: int = 0) -> dict[str, Any]:
    """Return an estimator under n draws of parameters: from lists, or scipy's distributions."""
    from sklearn.model_selection import ParameterSampler

    return _named(estimator, ParameterSampler(distributions, n, random_state=seed))


def _named(estimator: Any, settings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    from sklearn.base import clone

    out = {}
    for params in settings:
        said = ", ".join(f"{name}={params[name]}" for name in sorted(params))
        try:
            out[f"{type(estimator).__name__}({said})"] = clone(estimator).set_params(**params)
        except ValueError as error:
            raise ConfigError(f"{type(estimator).__name__} cannot be set to {said}: {error}") from None
    return out


def check_names(configurations: Sequence[Configuration]) -> None:
    """Refuse names that occur twice, or that a file of predictions cannot have."""
    seen: set[str] = set()
    for one in configurations:
        if one.name in seen:
            raise ConfigError(f"Two configurations are called '{one.name}'. Give each a name of its own.")
        if one.name in RESERVED or not one.name or "|" in one.name:
            raise ConfigError(
                f"A configuration cannot be called '{one.name}': files of predictions use {', '.join(RESERVED)}, and | "
                "before a class. Choose another name."
            )
        seen.add(one.name)


def make_pipeline(configuration: Configuration, demand: Demand) -> Pipeline:
    """Return the steps of a configuration, not fitted: `prepare`, `select`, `learn`, without those it does not have."""
    from sklearn.pipeline import Pipeline

    steps = [*make_first_steps(configuration.selector, demand), ("learn", make_last(configuration, demand))]
    return Pipeline(steps)


def make_first_steps(selector: Part, demand: Demand) -> list[tuple[str, Any]]:
    """Return what comes before the learner: the same for all configurations of a selector."""
    from assay.studies.preparation import Preparation
    from assay.studies.selectors import Lasso, Univariate
    from assay.studies.ses import SES

    if selector == RAW:
        return []
    prepare = ("prepare", Preparation())
    if selector == ALL:
        return [prepare]
    kinds: Mapping[str, Any] = {"ses": SES, "univariate": Univariate, "lasso": Lasso}
    said: dict[str, Any] = dict(selector.params) | {"is_value": demand.is_value}
    said |= {"seed": demand.seed} if selector.kind == "lasso" else {}
    return [prepare, ("select", kinds[selector.kind](**said))]


def _seeded(estimator: Any, seed: int) -> Any:
    """Return an estimator, not fitted, with the seed wherever it would have none: the same search is the same."""
    from sklearn.base import clone

    own = clone(estimator)
    unset = [
        name
        for name, value in own.get_params(deep=True).items()
        if value is None and name.rpartition("__")[2] == "random_state"
    ]
    return own.set_params(**dict.fromkeys(unset, seed))


def make_last(configuration: Configuration, demand: Demand) -> Any:
    """Return the learner of a configuration, not fitted."""
    from assay.studies.learners import make_learner

    if configuration.estimator is not None:
        return _seeded(configuration.estimator, demand.seed)
    part = configuration.learner
    return make_learner(part.kind, dict(part.params), demand.is_value, demand.probabilities, demand.seed)
