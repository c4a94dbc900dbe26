"""What is known about a metric: its function, its direction, its range and what it is computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, TypeVar, get_args

from assay.errors import ConfigError, UserError
from assay.vocabulary import TASK_TYPES, TaskType

__all__ = [
    "FailedMetric",
    "Kind",
    "Metric",
    "MetricFunction",
    "Needs",
    "UndefinedMetric",
    "measure",
    "metric_of",
]

Needs = Literal["labels", "probabilities", "values"]
Kind = Literal["additive", "ratio", "rank", "generic"]
MetricFunction = Callable[..., float]
F = TypeVar("F", bound=MetricFunction)


class UndefinedMetric(UserError, ValueError):
    """A metric has no value for these rows; the message says why."""


class FailedMetric(UserError):
    """A metric from outside Assay raised, or returned something else than a number; the message says where."""

    exit_code = 1


@dataclass(frozen=True)
class Metric:
    """One way to turn truth and prediction into a number.

    `function(truth, prediction)` gets numpy arrays with one entry or row per test row. Truth is int64 class
    codes 0..k-1 in the order of the task's classes (in binary tasks code 1 is the positive class) or float64
    values. What the prediction is follows from `needs`: class codes, an n×k float64 matrix of probabilities
    with columns in class order, or float64 values.

    Attributes:
        low, high: the range the value lies in; infinite where there is no bound.
        types: the task types it is for.
        kind: how it reacts to row weights, which decides how fast it can be resampled. "additive": a mean
            over rows, or the root of one; "ratio": a function of a few such sums, as confusion cells or
            moments; "rank": from the order of the predictions; "generic": anything else.
        wants_classes: pass the task's number of classes as `classes=`. The codes that occur in a small
            fold do not tell it.
    """

    name: str
    function: MetricFunction
    higher_is_better: bool
    low: float = -inf
    high: float = inf
    needs: Needs = "labels"
    types: tuple[TaskType, ...] = ("binary", "multiclass")
    kind: Kind = "generic"
    description: str = ""
    wants_classes: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.higher_is_better, bool):
            raise ConfigError(
                f"Metric '{self.name}': higher_is_better is {self.higher_is_better!r}; use True or False."
            )
        _check_one_of(self, "needs", [self.needs], get_args(Needs))
        _check_one_of(self, "types", self.types, TASK_TYPES)
        _check_one_of(self, "kind", [self.kind], get_args(Kind))
        if not self.low < self.high:
            raise ConfigError(
                f"Metric '{self.name}': low is {self.low}, which is not below high, {self.high}."
            )


def _check_one_of(metric: Metric, field: str, found: Iterable[object], allowed: tuple[str, ...]) -> None:
    for value in found:
        if value not in allowed:
            raise ConfigError(
                f"Metric '{metric.name}': {field} is {value!r}; use one of {', '.join(allowed)}."
            )


def measure(
    *,
    higher_is_better: bool,
    needs: Needs,
    low: float = 0.0,
    high: float = inf,
    types: tuple[TaskType, ...] = (),
    kind: Kind = "generic",
    wants_classes: bool = False,
) -> Callable[[F], F]:
    """Mark a function as a metric, by the same attributes that a user may set by hand."""
    said = dict(locals())

    def mark(function: F) -> F:
        function.__dict__.update(said)
        return function

    return mark


def metric_of(function: object, name: str, where: str = "") -> Metric:
    """Make the record of a function from its attributes; the first line of its docstring describes it.

    `higher_is_better` is required. `needs` is "labels" when not set, and `types` those that `needs` allows.
    """
    place = f" {where}" if where else ""
    if not callable(function):
        raise ConfigError(f"Metric '{name}'{place} is {function!r}, not a function of truth and prediction.")
    if not hasattr(function, "higher_is_better"):
        called = getattr(function, "__name__", "f")
        raise ConfigError(
            f"Metric '{name}'{place} does not say which direction is better. Write "
            f"`{called}.higher_is_better = True` (or False) below the function, and "
            f"`{called}.needs = 'values'` if it is for regression."
        )
    needs: Any = getattr(function, "needs", "labels")
    types: Any = getattr(function, "types", ()) or (
        ("regression",) if needs == "values" else ("binary", "multiclass")
    )
    types = (types,) if isinstance(types, str) else tuple(types)
    return Metric(
        name=name,
        function=function,
        higher_is_better=function.higher_is_better,
        low=getattr(function, "low", -inf),
        high=getattr(function, "high", inf),
        needs=needs,
        types=types,
        kind=getattr(function, "kind", "generic"),
        description=(function.__doc__ or "").strip().partition("\n")[0],
        wants_classes=getattr(function, "wants_classes", False),
    )
