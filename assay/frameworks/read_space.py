"""Read a search space from tables: `[space]` of a framework.toml, a TOML file, or what a function returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Literal

from pydantic import BaseModel, ConfigDict

from assay.data.border import validated
from assay.errors import ConfigError
from assay.frameworks.space import Alternative, Bell, Choice, Domain, Parameter, Range, Space, Value
from assay.vocabulary import TASK_TYPES, TaskType

__all__ = ["read_space"]

CHOICE_KEYS = ("choices", "weights", "none")
RANGE_KEYS = ("low", "high", "log", "step", "whole")
KEYS = {
    "choices": CHOICE_KEYS,
    "uniform": RANGE_KEYS,
    "normal": ("distribution", "mean", "sd", "low", "high", "whole"),
    "lognormal": ("distribution", "median", "factor", "low", "high", "whole"),
}
ALWAYS = ("default", "types", "when", "distribution")


class ParameterKeys(BaseModel):
    """The keys of one alternative of a parameter."""

    model_config = ConfigDict(extra="forbid", strict=True)

    choices: list[Value] = []
    weights: list[float] = []
    none: float = 0
    low: int | float | None = None
    high: int | float | None = None
    log: bool = False
    step: int | float | None = None
    whole: bool | None = None
    distribution: Literal["uniform", "normal", "lognormal"] = "uniform"
    mean: float | None = None
    sd: float | None = None
    median: float | None = None
    factor: float | None = None
    default: Value = None
    types: list[TaskType] = list(TASK_TYPES)
    when: dict[str, Value | list[Value]] = {}


def read_space(tables: Mapping[str, object], where: str) -> Space:
    """Return the space that tables by parameter describe; raises ConfigError that names the parameter and the key.

    `where` is the place, such as "in my_model/framework.toml".
    """
    if not isinstance(tables, Mapping):
        raise ConfigError(f"A search space is tables by parameter, not {tables!r} ({where}).")
    parameters: list[Parameter] = []
    for name, keys in tables.items():
        place = f"of parameter '{name}' in the space {where}"
        if not isinstance(name, str) or not name:
            raise ConfigError(f"A parameter is called {name!r} in the space {where}. Give it a name.")
        if isinstance(keys, list) and not keys:
            raise ConfigError(f"There are no alternatives {place}. Give at least one table.")
        alternatives = [
            _alternative(alternative, place) for alternative in (keys if isinstance(keys, list) else [keys])
        ]
        for alternative in alternatives:
            _check_condition(alternative, parameters, place)
        parameters.append(Parameter(name, tuple(alternatives)))
    return Space(tuple(parameters))


def _alternative(given: object, place: str) -> Alternative:
    keys = validated(ParameterKeys, given, place)
    domain = _domain(keys, place)
    defaults = (keys.default,) if "default" in keys.model_fields_set else ()
    for value in defaults:
        if not domain.holds(value):
            raise ConfigError(f"The default {value!r} {place} is not among its values. Change one of them.")
    when = {
        name: tuple(values) if isinstance(values, list) else (values,) for name, values in keys.when.items()
    }
    return Alternative(domain, defaults, tuple(keys.types), when)


def _domain(keys: ParameterKeys, place: str) -> Domain:
    kind = "choices" if keys.choices or keys.none else keys.distribution
    unused = keys.model_fields_set - {*KEYS[kind], *ALWAYS}
    if unused:
        what = "choices" if kind == "choices" else f"a {kind} distribution"
        raise ConfigError(f"The key '{min(unused)}' {place} means nothing for {what}. Remove it.")
    _check_finite(keys, place)
    if kind == "choices":
        return _choice(keys, place)
    return _range(keys, place) if kind == "uniform" else _bell(keys, place)


def _check_finite(keys: ParameterKeys, place: str) -> None:
    numbers: Iterable[tuple[str, object]] = (
        *(
            (name, getattr(keys, name))
            for name in ("low", "high", "step", "mean", "sd", "median", "factor", "none")
        ),
        *(("weights", weight) for weight in keys.weights),
        *(("choices", value) for value in keys.choices),
    )
    for name, value in numbers:
        if isinstance(value, float) and not isfinite(value):
            raise ConfigError(
                f"The key '{name}' {place} holds {value}, which is not a finite number. Fix it."
            )


def _choice(keys: ParameterKeys, place: str) -> Choice:
    weights = keys.weights or [1.0] * len(keys.choices)
    if len(weights) != len(keys.choices):
        raise ConfigError(
            f"There are {len(keys.choices)} choices and {len(weights)} weights {place}. Give one weight for each."
        )
    values, weights = ([*keys.choices, None], [*weights, keys.none]) if keys.none else (keys.choices, weights)
    choice = Choice(tuple(values), tuple(float(weight) for weight in weights))
    for at, value in enumerate(choice.values):
        if Choice(choice.values[:at], ()).holds(value):
            raise ConfigError(f"The choice {value!r} occurs twice {place}. Give it a larger weight instead.")
    if min(choice.weights) < 0 or not sum(choice.weights) > 0:
        raise ConfigError(
            f"The weights {place} are {weights}: none may be negative, and one must be above 0."
        )
    return choice


def _range(keys: ParameterKeys, place: str) -> Range:
    if keys.low is None or keys.high is None:
        raise ConfigError(f"The values {place} are not said. Give 'choices', or 'low' and 'high'.")
    bounds = (keys.low, keys.high)
    if not keys.low < keys.high:
        raise ConfigError(
            f"'low' is {keys.low} and 'high' {keys.high} {place}: the first must be the smaller."
        )
    if keys.log and keys.low <= 0:
        raise ConfigError(f"'low' is {keys.low} {place}: a logarithmic range begins above 0.")
    whole = keys.whole if keys.whole is not None else all(isinstance(bound, int) for bound in bounds)
    if whole and any(bound != int(bound) for bound in (*bounds, keys.step or 0)):
        raise ConfigError(
            f"A bound or the step {place} is not a whole number. Change it, or set whole = false."
        )
    if keys.step is not None and (keys.log or keys.step <= 0):
        raise ConfigError(
            f"'step' is {keys.step} {place}: it must be above 0, and the range not logarithmic."
        )
    return Range(keys.low, keys.high, keys.log, whole, keys.step)


def _bell(keys: ParameterKeys, place: str) -> Bell:
    is_log = keys.distribution == "lognormal"
    names = ("median", "factor") if is_log else ("mean", "sd")
    centre, spread = (getattr(keys, name) for name in names)
    if centre is None or spread is None:
        raise ConfigError(
            f"A {keys.distribution} distribution needs '{names[0]}' and '{names[1]}' {place}. Add them."
        )
    if spread <= (1 if is_log else 0) or (is_log and centre <= 0):
        least = "'median' must be above 0 and 'factor' above 1" if is_log else "'sd' must be above 0"
        raise ConfigError(f"{names[0]} is {centre} and {names[1]} {spread} {place}: {least}.")
    if keys.low is not None and keys.high is not None and not keys.low < keys.high:
        raise ConfigError(
            f"'low' is {keys.low} and 'high' {keys.high} {place}: the first must be the smaller."
        )
    return Bell(centre, spread, is_log, bool(keys.whole), keys.low, keys.high)


def _check_condition(alternative: Alternative, before: Iterable[Parameter], place: str) -> None:
    """Refuse a condition that can never hold: on a parameter that is not declared before, or a value it never has."""
    earlier = {parameter.name: parameter for parameter in before}
    for name, values in alternative.when.items():
        if name not in earlier:
            raise ConfigError(
                f"The condition {place} names '{name}', which is not declared before it. Move it up."
            )
        for value in values:
            if not any(alternative.domain.holds(value) for alternative in earlier[name].alternatives):
                raise ConfigError(
                    f"The condition {place} asks for {name} = {value!r}, which it never is. Fix it."
                )
        if not values:
            raise ConfigError(f"The condition {place} names no value of '{name}'. Give at least one.")
