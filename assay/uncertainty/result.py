"""What a method says of the winner, and how an interval is read off a distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from math import ceil, isfinite
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from assay.errors import ConfigError
from assay.metrics.record import Metric
from assay.typing import Floats, Ints, Json, JsonObject

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "RULES", "TIE", "Interval", "Options", "both_ends", "ends", "first_best", "mean_of", "quantiles", "read_off",
    "said_of_spread", "turned",
]  # fmt: skip

Side = Literal["one", "two"]
Rule = Literal["inverse_ecdf", "reference"]
Scores = TypeVar("Scores", float, Floats)
RULES: tuple[Rule, ...] = ("inverse_ecdf", "reference")
TIE = 1e-12  # scores that differ by less than this share of the best are equal, and the first of them wins
ROUNDING = 1e-9
MOSTLY_PERFECT = (
    0.5  # above this share of draws without an error, bounds fall short: `python -m benchmarks.few_rows`
)


@dataclass(frozen=True)
class Options:
    """How an interval is to be computed.

    Attributes:
        alpha: the error that is allowed: of one side, or of both together.
        side: `one`: open towards the metric's best value; `two`.
        rule: how a quantile is read off draws: `inverse_ecdf`, the smallest value that has at least that share of the
            draws at or below it; `reference`, the published code's, one rank higher.
        resamples: how many draws; None is what the method takes by itself; `exact`: all there are (of folds).
        weights: given multiplicities in the place of draws.
        evaluate: (N) which rows a given split keeps for the evaluation.
        published: do as the published code does: areas turned to above a half, Hanley and McNeil's variance as coded.
        few_folds: allow fewer than five folds.
        stratify: draw rows within classes.
    """

    alpha: float = 0.05
    side: Side = "one"
    rule: Rule = "inverse_ecdf"
    resamples: int | Literal["exact"] | None = None
    weights: ArrayLike | None = None
    evaluate: ArrayLike | None = None
    published: bool = False
    few_folds: bool = False
    stratify: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise ConfigError(f"alpha is {self.alpha}: it lies between 0 and 1, as 0.05.")
        if self.side not in ("one", "two"):
            raise ConfigError(f"side is '{self.side}': choose one or two.")
        if self.rule not in RULES:
            raise ConfigError(f"The quantile rule is '{self.rule}': choose one of {', '.join(RULES)}.")
        if isinstance(self.resamples, int) and self.resamples < 1:
            raise ConfigError(f"{self.resamples} resamples: at least one is needed.")

    @property
    def tail(self) -> float:
        """The error on one side."""
        return self.alpha if self.side == "one" else self.alpha / 2


@dataclass(frozen=True)
class Interval:
    """What a method says of the configuration that won, in the metric's own units.

    Attributes:
        method, metric, alpha, side: what was asked for.
        estimate: of the winner's performance on new rows; None where the method could not give one.
        lower, upper: the interval; None where there is none, and `warnings` say why. A one-sided interval ends at the
            metric's best value.
        winner: the position of the configuration that is spoken of, `winner_name` its name.
        cv_score: its score in the cross-validation, the mean over folds (of all rows where folds are not known).
        bias: cv_score - estimate: what choosing did, and for methods that judge rows of several folds together (bbc,
            naive_samples) also what judging them together does.
        n_boot: the number of draws, also of those in which the metric has no value, or of all possible ones; 0 for
            methods that draw nothing.
        exact: whether nothing was left to chance.
        quantile_rule: how quantiles were read off; of values with probabilities there is one way only, and of none
            it is what was asked for.
        higher_is_better: the metric's direction.
        warnings: what one should know.
        reliable: False where a warning says that the ends hold less often than they promise.
        distribution: the values whose quantiles the ends are, and `probabilities` how probable each is.
    """

    method: str
    metric: str
    alpha: float
    side: str
    estimate: float | None
    lower: float | None
    upper: float | None
    winner: int
    winner_name: str
    cv_score: float
    bias: float | None
    n_boot: int
    exact: bool
    quantile_rule: str
    higher_is_better: bool = True
    warnings: tuple[str, ...] = ()
    reliable: bool = True
    distribution: Floats | None = field(default=None, repr=False)
    probabilities: Floats | None = field(default=None, repr=False)

    def to_json(self, distribution: bool = False) -> JsonObject:
        """Return the fields as plain values; the draws, with `distribution`, as lists."""
        fields = asdict(self)
        draws = {name: _plain_draws(fields.pop(name)) for name in ("distribution", "probabilities")}
        values = {name: _plain_number(value) for name, value in fields.items()}
        return {**values, **draws} if distribution else values

    def warned(self, *texts: str) -> Interval:
        """Return the same with further warnings."""
        return replace(self, warnings=(*self.warnings, *texts))


def _plain_number(value: Json) -> Json:
    """Return None for a number that JSON cannot write."""
    if isinstance(value, (list, tuple)):
        return [_plain_number(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _plain_draws(values: Floats | None) -> Json:
    return None if values is None else _plain_number(np.asarray(values).tolist())


def turned(metric: Metric, values: Scores) -> Scores:
    """Return values such that higher is better, or the metric's own of such."""
    return values if metric.higher_is_better else -values


def first_best(scores: Floats) -> Ints:
    """Return the position of the best along the last axis: of equal ones the first, NaN never."""
    best = np.max(scores, axis=-1, keepdims=True)
    if np.isnan(best).any():  # one NaN makes the maximum NaN
        scores = np.where(np.isnan(scores), -np.inf, scores)
        best = np.max(scores, axis=-1, keepdims=True)
    positions: Ints = np.argmax(scores >= best - TIE * np.abs(best), axis=-1)
    return positions


def quantiles(
    values: Floats, shares: Sequence[float], rule: Rule, probabilities: Floats | None = None
) -> list[float]:
    """Return quantiles of draws, or of values with probabilities."""
    if probabilities is not None:
        order = np.argsort(values)
        ranked, reached = values[order], np.cumsum(probabilities[order])
        at = [int(np.searchsorted(reached, share - ROUNDING)) for share in shares]
    else:
        ranked = np.sort(values)
        at = [
            int(share * len(ranked)) if rule == "reference" else ceil(share * len(ranked) - ROUNDING) - 1
            for share in shares
        ]
    return [float(ranked[min(max(position, 0), len(ranked) - 1)]) for position in at]


def read_off(
    metric: Metric, values: Floats, options: Options, probabilities: Floats | None = None
) -> tuple[float, float]:
    """Return the ends of the interval of a distribution, in the metric's own units, the lower first."""
    return ends(metric, *both_ends(metric, values, options, probabilities), options)


def both_ends(
    metric: Metric, values: Floats, options: Options, probabilities: Floats | None = None
) -> tuple[float, float]:
    """Return the quantiles at both tails, turned to higher is better: the worst, the best."""
    tails = quantiles(values, (options.tail, 1 - options.tail), options.rule, probabilities)
    worst, best = tails if metric.higher_is_better else tails[::-1]
    return float(turned(metric, worst)), float(turned(metric, best))


def mean_of(values: Floats, probabilities: Floats | None = None) -> float:
    """Return the mean of draws, which rounding never puts beyond them."""
    return float(np.clip(np.average(values, weights=probabilities), values.min(), values.max()))


def said_of_spread(metric: Metric, values: Floats, probabilities: Floats | None = None) -> tuple[str, ...]:
    """Return a warning where the draws say little: all gave one value, or most gave the metric's best one."""
    if np.ptp(values) <= TIE * np.abs(values).max():
        return (
            "All draws gave the same value (everything is right, or every prediction the same): the interval is a "
            "point and says nothing about new rows.",
        )
    perfect = np.abs(values - (metric.high if metric.higher_is_better else metric.low)) <= TIE
    share = float(np.average(perfect, weights=probabilities))
    if share <= MOSTLY_PERFECT:
        return ()
    return (
        f"{share:.0%} of the draws have the best possible value: there are too few errors to judge by, and such "
        "bounds hold less often than they say. More rows help.",
    )


def ends(metric: Metric, worst: float, best: float, options: Options) -> tuple[float, float]:
    """Return the ends in the metric's own units, of a worst and a best value that are turned to higher is better.

    Both are cut at the metric's range; a one-sided interval has the metric's best value in the place of `best`.
    """
    top = metric.high if metric.higher_is_better else -metric.low
    floor = metric.low if metric.higher_is_better else -metric.high
    best = top if options.side == "one" else min(best, top)
    worst = max(worst, floor) if isfinite(floor) else worst
    low, high = (worst, best) if metric.higher_is_better else (-best, -worst)
    return low + 0.0, high + 0.0  # -0.0 is shown as -0
