"""Which configurations are tried: those of a space, a fair sample of them, or estimators of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice

from assay.errors import ConfigError
from assay.frameworks.pipeline.estimator import Estimator
from assay.frameworks.space import Configured, Space, Value
from assay.plugins import suggest
from assay.searches.samplers import all_of, draw, spread
from assay.searches.spaces import find_space
from assay.vocabulary import TaskType

__all__ = [
    "ALL",
    "RAW",
    "TRIVIAL",
    "Configuration",
    "Part",
    "check_names",
    "choose",
    "configurations_of",
    "from_estimators",
    "full",
    "grid",
    "sample",
    "to_configuration",
]

PIPELINES = "pipelines"  # the space that is searched by default
RESERVED = ("y", "fold", "repeat", "group", "time", "event")  # columns of a file of predictions
# The steps that a space can name, with their parameters in the order in which names show them.
SELECTORS: Mapping[str, tuple[str, ...]] = {
    "ses": ("max_k", "alpha"),
    "univariate": ("alpha", "most"),
    "lasso": ("penalty",),
    "all": (),
}
LEARNERS: Mapping[str, tuple[str, ...]] = {
    "decision_tree": ("min_leaf", "alpha"),
    "random_forest": ("trees", "min_leaf", "vars"),
    "linear": ("lambda",),
    "svm_poly": ("cost", "gamma", "degree"),
    "svm_rbf": ("cost", "gamma"),
    "svm_linear": ("cost",),
    "trivial": (),
}
MOST_LISTED = 100_000  # configurations of a finite space that are listed to spread a sample over them


@dataclass(frozen=True)
class Part:
    """A step by its kind and its parameters, as (name, value) in their order."""

    kind: str
    params: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        return self._show(str)

    def short(self) -> str:
        """Return the text with four digits of each number."""
        return self._show(lambda value: f"{value:.4g}" if isinstance(value, float) else str(value))

    def _show(self, show: Callable[[float], str]) -> str:
        values = ", ".join(f"{name}={show(value)}" for name, value in self.params)
        return f"{self.kind}({values})" if values else self.kind


@dataclass(frozen=True)
class Configuration:
    """One way to make a model: preparation, then a selector of columns, then a learner.

    Attributes:
        name: no other in a search has it.
        selector: `all` keeps all columns; `raw` also skips the preparation.
        learner: its kind is `own` where `estimator` is the user's.
        estimator: of scikit-learn, not fitted; None for the learners of a space.
    """

    name: str
    selector: Part
    learner: Part
    estimator: Estimator | None = field(default=None, compare=False)

    def params(self) -> Configured:
        """Return its values by the names that they have in a space, at full precision."""
        values: Configured = {"selector": self.selector.kind, "learner": self.learner.kind}
        for part in (self.selector, self.learner):
            values |= {f"{part.kind}_{name}": value for name, value in part.params}
        return values


ALL, RAW = Part("all"), Part("raw")
TRIVIAL = Configuration("trivial", ALL, Part("trivial"))


@cache
def full() -> tuple[Configuration, ...]:
    """Return all 9 × 85 + 1 configurations of the paper, by selector, then learner; the trivial one is the last.

    They are the same for classes and for values; `linear` is logistic regression for the one, ridge for the other.
    """
    return tuple(to_configuration(values) for values in all_of(find_space(PIPELINES), "binary") or ())


def choose(n: int, seed: int = 0) -> tuple[Configuration, ...]:
    """Return n configurations of the paper's space, spread as evenly as they go over selectors and families.

    The trivial one is among them, unless only one is asked for. The order is that of `full`. The same seed gives the
    same ones, and more of them include the fewer.
    """
    return _sample(full(), n, seed)


def configurations_of(
    space: Space, n: int | None, task_type: TaskType, seed: int
) -> tuple[Configuration, ...]:
    """Return n configurations of a space, or with None all of them, the trivial one always among them.

    Of a finite space the sample is spread evenly, as that of the paper's space is; else it is drawn by chance.
    """
    listed = all_of(space, task_type, MOST_LISTED)
    if listed is None and n is None:
        raise ConfigError("This space has no end of configurations: say how many to try.")
    if listed is not None:
        found = tuple(to_configuration(values) for values in listed)
        found = (*(one for one in found if one != TRIVIAL), TRIVIAL)
        return found if n is None else _sample(found, n, seed)
    count = (n or 1) - 1 or 1
    drawn = [to_configuration(values) for values in islice(draw(space, task_type, seed), count)]
    numbered = [_numbered(at, one) for at, one in enumerate(drawn, start=1)]
    return tuple(numbered) if n == 1 else (*numbered, TRIVIAL)


def _numbered(number: int, drawn: Configuration) -> Configuration:
    """Return a draw under a name that is readable, and that no other draw has."""
    return Configuration(
        f"{number} {drawn.selector.short()} {drawn.learner.short()}", drawn.selector, drawn.learner
    )


def _sample(configurations: Sequence[Configuration], n: int, seed: int) -> tuple[Configuration, ...]:
    if n < 1:
        raise ConfigError(f"{n} configurations: at least one is needed.")
    if n >= len(configurations):
        return tuple(configurations)
    order = spread([one for one in configurations if one != TRIVIAL], seed)
    names = {one.name for one in islice(order, 1 if n == 1 else n - 1)}
    names |= set() if n == 1 else {TRIVIAL.name}
    return tuple(one for one in configurations if one.name in names)


def to_configuration(values: Configured) -> Configuration:
    """Return the configuration that values of a space mean; raises ConfigError where they mean none."""
    kinds = {
        "selector": _kind("selector", SELECTORS, values.get("selector", ALL.kind)),
        "learner": _kind("learner", LEARNERS, values.get("learner")),
    }
    steps = {**SELECTORS, **LEARNERS}
    known = {f"{kind}_{name}" for kind in kinds.values() for name in steps[kind]}
    unknown = [name for name in values if name not in kinds and name not in known]
    if unknown:
        raise ConfigError(
            f"The space sets '{unknown[0]}', which {' and '.join(kinds.values())} do not have. "
            f"{suggest(unknown[0], known)}"
        )
    selector, learner = (_part(kind, steps[kind], values) for kind in kinds.values())
    is_trivial = (selector, learner) == (TRIVIAL.selector, TRIVIAL.learner)
    return TRIVIAL if is_trivial else Configuration(f"{selector} {learner}", selector, learner)


def _kind(step: str, kinds: Mapping[str, tuple[str, ...]], value: Value) -> str:
    if not isinstance(value, str) or value not in kinds:
        raise ConfigError(f"The {step} of the space is {value!r}. {suggest(str(value), kinds)}")
    return value


def _part(kind: str, names: Sequence[str], values: Configured) -> Part:
    params: list[tuple[str, float]] = []
    for name in names:
        value = values.get(f"{kind}_{name}")
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise ConfigError(
                f"The space sets no number for '{kind}_{name}', which {kind} needs. Declare it."
            )
        params.append((name, value))
    return Part(kind, tuple(params))


def from_estimators(estimators: Mapping[str, Estimator], prepare: bool = True) -> tuple[Configuration, ...]:
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
        Configuration(str(name), ALL if prepare else RAW, Part("own"), estimator)
        for name, estimator in estimators.items()
    )


def grid(
    estimator: Estimator, values: Mapping[str, Sequence[object]] | Sequence[Mapping[str, Sequence[object]]]
) -> dict[str, Estimator]:
    """Return an estimator under every combination of parameters, by a name that tells them."""
    from sklearn.model_selection import ParameterGrid

    return _named(estimator, ParameterGrid(values))


def sample(
    estimator: Estimator,
    distributions: Space | Mapping[str, object],
    n: int,
    seed: int = 0,
    task_type: TaskType = "binary",
) -> dict[str, Estimator]:
    """Return an estimator under n draws of parameters: from a space, or from lists and scipy's distributions.

    `task_type` matters only to a space that has parameters for some types of task.
    """
    if isinstance(distributions, Space):
        return _named(estimator, islice(draw(distributions, task_type, seed), n))
    from sklearn.model_selection import ParameterSampler

    return _named(estimator, ParameterSampler(distributions, n, random_state=seed))


def _named(estimator: Estimator, settings: Iterable[Mapping[str, object]]) -> dict[str, Estimator]:
    from sklearn.base import clone

    named: dict[str, Estimator] = {}
    for params in settings:
        shown = ", ".join(f"{name}={params[name]}" for name in sorted(params))
        try:
            named[f"{type(estimator).__name__}({shown})"] = clone(estimator).set_params(**params)
        except ValueError as error:
            raise ConfigError(f"{type(estimator).__name__} cannot be set to {shown}: {error}") from None
    return named


def check_names(configurations: Sequence[Configuration]) -> None:
    """Refuse names that occur twice, or that a file of predictions cannot have."""
    seen: set[str] = set()
    for configuration in configurations:
        name = configuration.name
        if name in seen:
            raise ConfigError(f"Two configurations are called '{name}'. Give each a name of its own.")
        if name in RESERVED or not name or "|" in name:
            raise ConfigError(
                f"A configuration cannot be called '{name}': files of predictions use {', '.join(RESERVED)}, and | "
                "before a class. Choose another name."
            )
        seen.add(name)
