"""Which parameters of a framework a search may set, and where their values come from.

A space is a list of parameters. Each has one or more alternatives: a domain (choices, a range or a bell curve), the
types of task it is for, and a condition on parameters declared before it. docs/howto/search-spaces.md has the format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import exp, floor, log
from typing import TypeAlias

from assay.vocabulary import TASK_TYPES, TaskType

__all__ = ["Alternative", "Bell", "Choice", "Configured", "Domain", "Parameter", "Range", "Space", "Value"]

Value: TypeAlias = bool | int | float | str | None
Configured: TypeAlias = dict[str, Value]


@dataclass(frozen=True)
class Choice:
    """One of several values; `weights` need not add up to one."""

    values: tuple[Value, ...]
    weights: tuple[float, ...]

    def at(self, share: float) -> Value:
        """Return the value at a share (0 to 1) of the distribution: a uniform share gives a draw."""
        rest = share * sum(self.weights)
        for value, weight in zip(self.values, self.weights, strict=True):
            rest -= weight
            if rest < 0:
                return value
        # Rounding may leave a rest of nothing; what has no weight is never drawn.
        return next(v for v, w in zip(self.values[::-1], self.weights[::-1], strict=True) if w > 0)

    def every(self) -> tuple[Value, ...]:
        """Return all values, in their order."""
        return self.values

    def to_json(self) -> dict[str, object]:
        """Return the keys that describe it."""
        return {"choices": list(self.values), "weights": list(self.weights)}

    def __str__(self) -> str:
        total = sum(self.weights)
        is_even = len(set(self.weights)) == 1
        return ", ".join(
            str(value) if is_even else f"{value} ({weight / total:.3g})"
            for value, weight in zip(self.values, self.weights, strict=True)
        )

    def holds(self, value: Value) -> bool:
        """Return whether a value is one of them; 1, 1.0 and true are three."""
        return any(type(choice) is type(value) and choice == value for choice in self.values)


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both included; with `log` each factor is as likely as the next.

    Whole numbers are equally likely, their logarithms within half a unit around them; `step` counts from `low`.
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False
    step: float | None = None

    def at(self, share: float) -> Value:
        """Return the value at a share (0 to 1) of the distribution."""
        if self.step is not None:
            return self._at_step(min(floor(share * self._n_steps), self._n_steps - 1))
        if self.log:
            margin = 0.5 if self.whole else 0.0
            low, high = log(self.low - margin), log(self.high + margin)
            value = exp(low + share * (high - low))
            return self._inside(round(value) if self.whole else value)
        if self.whole:
            return self._inside(int(self.low) + floor(share * (int(self.high) - int(self.low) + 1)))
        return self._inside(self.low + share * (self.high - self.low))

    def to_json(self) -> dict[str, object]:
        """Return the keys that describe it."""
        keys: dict[str, object] = {"low": self.low, "high": self.high, "log": self.log, "whole": self.whole}
        return keys | ({"step": self.step} if self.step is not None else {})

    def __str__(self) -> str:
        kind = "whole numbers " if self.whole else ""
        step = f" in steps of {self.step:g}" if self.step is not None else ""
        return f"{kind}{self.low:g} to {self.high:g}{step}{', logarithmic' if self.log else ''}"

    def every(self) -> Iterable[Value] | None:
        """Return all values of whole numbers and of steps; None where there is no end of them."""
        if self.step is not None:
            return map(self._at_step, range(self._n_steps))
        return range(int(self.low), int(self.high) + 1) if self.whole else None

    def holds(self, value: Value) -> bool:
        """Return whether a value may be drawn."""
        if not isinstance(value, int if self.whole else int | float) or isinstance(value, bool):
            return False
        position = 0.0 if self.step is None else (value - self.low) / self.step
        return self.low <= value <= self.high and abs(position - round(position)) < 1e-9

    def _inside(self, value: float) -> Value:
        return (
            min(max(value, int(self.low)), int(self.high))
            if self.whole
            else min(max(value, self.low), self.high)
        )

    @property
    def _n_steps(self) -> int:
        assert self.step is not None
        return floor((self.high - self.low) / self.step + 1e-9) + 1

    def _at_step(self, at: int) -> Value:
        value = self.low + at * (self.step or 0)
        return int(value) if self.whole else value


@dataclass(frozen=True)
class Bell:
    """A normal distribution, or with `log` a lognormal one, cut at `low` and `high` where these are given.

    Of a lognormal distribution `centre` is the median, and `spread` the factor by which one standard deviation differs
    from it.
    """

    centre: float
    spread: float
    log: bool = False
    whole: bool = False
    low: float | None = None
    high: float | None = None

    def at(self, share: float) -> Value:
        """Return the value at a share (0 to 1) of the distribution; beyond its bounds it is the bound."""
        from statistics import NormalDist

        # The ends are infinite; draws never come so far out.
        z = NormalDist().inv_cdf(min(max(share, 1e-12), 1 - 1e-12))
        value = self.centre * self.spread**z if self.log else self.centre + self.spread * z
        value = value if self.low is None else max(value, self.low)
        value = value if self.high is None else min(value, self.high)
        return round(value) if self.whole else value

    def to_json(self) -> dict[str, object]:
        """Return the keys that describe it."""
        names = ("median", "factor") if self.log else ("mean", "sd")
        keys: dict[str, object] = {"distribution": "lognormal" if self.log else "normal"}
        keys |= {names[0]: self.centre, names[1]: self.spread, "whole": self.whole}
        return keys | {
            name: bound for name, bound in (("low", self.low), ("high", self.high)) if bound is not None
        }

    def __str__(self) -> str:
        words = [
            f"{name} {value:g}"
            for name, value in self.to_json().items()
            if isinstance(value, float | int) and not isinstance(value, bool)
        ]
        return f"{'whole numbers, ' if self.whole else ''}{'lognormal' if self.log else 'normal'}: {', '.join(words)}"

    def every(self) -> None:
        """Return None: there is no end of values."""
        return

    def holds(self, value: Value) -> bool:
        """Return whether a value may be drawn."""
        if not isinstance(value, int | float) or isinstance(value, bool):
            return False
        fits = not self.whole or isinstance(value, int)
        above = value >= self.low if self.low is not None else not self.log or value > 0
        return fits and above and (self.high is None or value <= self.high)


Domain: TypeAlias = Choice | Range | Bell


@dataclass(frozen=True)
class Alternative:
    """A domain, for some types of task, where parameters that were declared before have certain values.

    Attributes:
        defaults: the value of the default configuration as a tuple of one; empty where it is left to the framework.
    """

    domain: Domain
    defaults: tuple[Value, ...] = ()
    types: tuple[TaskType, ...] = TASK_TYPES
    when: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return the table that describes it."""
        keys = self.domain.to_json()
        keys |= {"default": self.defaults[0]} if self.defaults else {}
        keys |= {"types": list(self.types)} if self.types != TASK_TYPES else {}
        return keys | (
            {"when": {name: list(values) for name, values in self.when.items()}} if self.when else {}
        )

    def describe(self) -> list[str]:
        """Return values, default, types of task and condition in words."""
        types = "" if self.types == TASK_TYPES else ", ".join(self.types)
        when = " and ".join(f"{name} = {' or '.join(map(str, values))}" for name, values in self.when.items())
        return [str(self.domain), ", ".join(map(str, self.defaults)), types, when]

    def applies(self, task_type: TaskType, chosen: Mapping[str, Value]) -> bool:
        """Return whether it is for this type of task and for what was chosen so far."""
        return task_type in self.types and all(
            name in chosen and Choice(values, ()).holds(chosen[name]) for name, values in self.when.items()
        )


@dataclass(frozen=True)
class Parameter:
    """A parameter by its name; the first alternative that applies counts, and without one it is not set."""

    name: str
    alternatives: tuple[Alternative, ...]

    def alternative(self, task_type: TaskType, chosen: Mapping[str, Value]) -> Alternative | None:
        """Return the alternative that applies."""
        return next(
            (alternative for alternative in self.alternatives if alternative.applies(task_type, chosen)), None
        )


@dataclass(frozen=True)
class Space:
    """Parameters in the order in which they are chosen: conditions look back, never ahead."""

    parameters: tuple[Parameter, ...]

    def configure(self, task_type: TaskType, choose: Callable[[str, Domain], Value]) -> Configured:
        """Return a configuration: `choose` is asked for each parameter that applies, in order."""
        chosen: Configured = {}
        for parameter in self.parameters:
            alternative = parameter.alternative(task_type, chosen)
            if alternative is not None:
                chosen[parameter.name] = choose(parameter.name, alternative.domain)
        return chosen

    def default(self, task_type: TaskType) -> Configured:
        """Return the default configuration; parameters without a default are left to the framework."""
        chosen: Configured = {}
        for parameter in self.parameters:
            alternative = parameter.alternative(task_type, chosen)
            if alternative is not None and alternative.defaults:
                chosen[parameter.name] = alternative.defaults[0]
        return chosen

    def to_json(self) -> dict[str, list[dict[str, object]]]:
        """Return the tables that `read_space` reads: a list of alternatives by parameter."""
        return {
            parameter.name: [alternative.to_json() for alternative in parameter.alternatives]
            for parameter in self.parameters
        }

    def describe(self) -> list[list[str]]:
        """Return a line per alternative for people: parameter, values, default, types of task, condition."""
        return [
            [parameter.name, *alternative.describe()]
            for parameter in self.parameters
            for alternative in parameter.alternatives
        ]

    def every(self, task_type: TaskType) -> Iterator[Configured] | None:
        """Return all configurations, the last parameter varying fastest; None if a domain has no end of values."""
        domains = (
            alternative.domain
            for parameter in self.parameters
            for alternative in parameter.alternatives
            if task_type in alternative.types
        )
        if any(domain.every() is None for domain in domains):
            return None
        return self._complete({}, 0, task_type)

    def _complete(self, chosen: Configured, position: int, task_type: TaskType) -> Iterator[Configured]:
        """Yield all configurations that begin with what was chosen for the parameters before `position`."""
        if position == len(self.parameters):
            yield chosen
            return
        parameter = self.parameters[position]
        alternative = parameter.alternative(task_type, chosen)
        if alternative is None:
            yield from self._complete(chosen, position + 1, task_type)
            return
        for value in alternative.domain.every() or ():
            yield from self._complete({**chosen, parameter.name: value}, position + 1, task_type)
