"""Made-up searches whose truth is known: predictions of configurations drawn from models with known performance.

As in the BBC-F paper (section 4), and past it: correlated configurations, other metrics, several classes, numbers,
other fold counts, and searches that are guided by earlier results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from assay.errors import ConfigError
from assay.metrics.registry import get_metric
from assay.results.prediction_matrix import PredictionMatrix, check_predictions
from assay.searches.guided import score_of
from assay.searches.samplers import Guide, open_guide

if TYPE_CHECKING:
    from assay.typing import Array, Floats, Ints

__all__ = ["STRATEGIES", "Setting", "Strategy", "draw_search"]

Strategy = Literal["static", "random", "guided"]
STRATEGIES = get_args(Strategy)


@dataclass(frozen=True)
class Setting:
    """What is simulated.

    Attributes:
        metric: auc, acc, logloss (classes), rmse or r2 (numbers).
        n: rows.
        c: configurations.
        balance: the share of the first of two classes; several classes are equally frequent.
        beta: the distribution that true performances are drawn from; of losses it is that of the AUC behind them.
        folds: K; 0 is the paper's, ten or as many as the rarest class has rows.
        classes: how many; 0 for numbers.
        rho: how much of the noise the configurations share.
        strategy: `guided`: each configuration is proposed by a sampler that saw the scores of the earlier ones;
            `random`: proposed by chance on the same kind of surface.
    """

    metric: str = "auc"
    n: int = 500
    c: int = 100
    balance: float = 0.5
    beta: tuple[float, float] = (9, 6)
    folds: int = 0
    classes: int = 2
    rho: float = 0.0
    strategy: Strategy = "static"

    def __post_init__(self) -> None:
        if self.metric not in KINDS:
            raise ConfigError(f"'{self.metric}' cannot be simulated: choose one of {', '.join(KINDS)}.")
        if (self.classes == 0) != (self.metric in ("rmse", "r2")):
            raise ConfigError(
                f"{self.metric} with {self.classes} classes: numbers have 0, classes 2 or more."
            )
        if self.n_folds < 2:
            raise ConfigError(f"{self.n} rows with a balance of {self.balance} leave {self.n_folds} folds.")

    @property
    def n_folds(self) -> int:
        """The number of folds."""
        if self.folds:
            return self.folds
        share = self.balance if self.classes == 2 else 1 / max(self.classes, 1)
        return min(10, round(self.n * share))

    @property
    def name(self) -> str:
        """What it is called: what differs from the paper's first setting."""
        kind = f"{self.metric}, {self.classes} classes" if self.classes > 2 else self.metric
        shared = f", ρ={self.rho:g}" if self.rho else ""
        guided = f", {self.strategy}" if self.strategy != "static" else ""
        balance = f", b={self.balance:g}" if self.classes == 2 else ""
        return f"{kind}, Beta{self.beta}, N={self.n}, C={self.c}{balance}, K={self.n_folds}{shared}{guided}"


@dataclass(frozen=True)
class SimulatedSearch:
    """PredictionMatrix of a made-up search, and (C) the true performance of each configuration."""

    data: PredictionMatrix
    truth: Floats


def draw_search(setting: Setting, random: np.random.Generator) -> SimulatedSearch:
    """Draw one search."""
    y, folds = _rows(setting, random)
    kind = KINDS[setting.metric]
    if setting.strategy != "static":
        return _proposed(setting, setting.strategy, y, folds, kind, random)
    level = random.beta(*setting.beta, size=setting.c)
    noise = _noise(setting, random)
    values, truth = kind(setting, y, level, noise)
    return SimulatedSearch(check_predictions(y, values, folds), truth)


def _rows(setting: Setting, random: np.random.Generator) -> tuple[Array, Ints]:
    """Return the truth and the folds: classes have fixed counts and are spread evenly over the folds."""
    at = np.arange(setting.n)
    if setting.classes == 0:
        return random.normal(size=setting.n), at % setting.n_folds
    if setting.classes == 2:
        return (at >= round(setting.n * setting.balance)).astype(int), at % setting.n_folds
    return at * setting.classes // setting.n, at % setting.n_folds


def _noise(setting: Setting, random: np.random.Generator) -> Floats:
    """Return (N, C) or (N, C, K) standard normal noise, of which the configurations share a part."""
    shape = (setting.n, setting.c) if setting.classes <= 2 else (setting.n, setting.c, setting.classes)
    independent = random.normal(size=shape)
    if not setting.rho:
        return independent
    shared = random.normal(size=(shape[0], 1, *shape[2:]))
    return sqrt(setting.rho) * shared + sqrt(1 - setting.rho) * independent


Kind: TypeAlias = "Callable[[Setting, Array, Floats, Floats], tuple[Floats, Floats]]"


def _areas(setting: Setting, y: Array, level: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Return scores that are normal in each class, as far apart as the area (of pairs of classes) says."""
    from scipy.stats import norm

    apart = sqrt(2) * norm.ppf(level)
    if setting.classes == 2:
        # The first class lies below 0, the second around it, as in the published code: its thresholds are at 0.
        return noise - (1 - y[:, None]) * apart, level
    return noise + (np.arange(setting.classes) == y[:, None])[:, None, :] * apart[:, None], level


def _hits(setting: Setting, y: Array, level: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Return classes that are right as often as the accuracy says, whatever the row."""
    from scipy.stats import norm

    if setting.classes == 2:
        right = noise < norm.ppf(level)
        return np.where(right == (y[:, None] == 1), 0.9, 0.1), level
    right = noise[:, :, 0] < norm.ppf(level)
    # A wrong one is any of the others, by another part of the noise.
    share = norm.cdf(noise[:, :, 1])
    predicted = (
        y[:, None] + np.where(right, 0, 1 + (share * (setting.classes - 1)).astype(int))
    ) % setting.classes
    return 0.1 + 0.7 * (np.arange(setting.classes) == predicted[:, :, None]), level


def _losses(setting: Setting, y: Array, level: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Return probabilities that are right: of scores normal in each class. Their log loss follows by integration."""
    from scipy.special import expit
    from scipy.stats import norm

    apart = sqrt(2) * norm.ppf(level)
    prior = np.log((1 - setting.balance) / setting.balance)
    nodes, weights = np.polynomial.hermite_e.hermegauss(101)
    weights = weights / weights.sum()

    def logit(x: Floats) -> Floats:
        # Of scores N(0, 1) in the first class and N(apart, 1) in the second.
        log_odds: Floats = apart * x - apart**2 / 2 + prior
        return log_odds

    cost = [np.logaddexp(0, sign * logit(nodes[:, None] + at * apart)) for at, sign in ((0, 1), (1, -1))]
    truth = setting.balance * (weights @ cost[0]) + (1 - setting.balance) * (weights @ cost[1])
    return expit(logit(noise + y[:, None] * apart)), truth


def _errors(setting: Setting, y: Array, level: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Return numbers with noise of a known size; at a level of 1 there is none."""
    size = 1.5 * (1 - level)
    truth = size if setting.metric == "rmse" else 1 - size**2
    return y[:, None] + size * noise, truth


KINDS: dict[str, Kind] = {"auc": _areas, "acc": _hits, "logloss": _losses, "rmse": _errors, "r2": _errors}


# --- searches that look at earlier results ---------------------------------------------------------------

DIMENSIONS = 3
WAVES = 60


def _proposed(
    setting: Setting, guide: Guide, y: Array, folds: Ints, kind: Kind, random: np.random.Generator
) -> SimulatedSearch:
    """Let a sampler propose one configuration after the other on a smooth surface of true performances.

    The noise of near configurations is alike: it is a smooth function of where they lie. So a sampler that goes where
    scores were high goes where the noise was, too.
    """
    surface, rough = _surface(setting, random), _smooth_noise(setting, random)
    higher = get_metric(setting.metric).higher_is_better
    study = open_guide(guide, higher, int(random.integers(2**31)))
    values, truth = [], []
    for _ in range(setting.c):
        trial = study.ask()
        place = np.array([trial.suggest_float(f"x{d}", 0.0, 1.0) for d in range(DIMENSIONS)])
        predicted, real = kind(setting, y, np.array([surface(place)]), rough(place))
        study.tell(trial, score_of(setting.metric, y, predicted, folds))
        values.append(predicted[:, 0])
        truth.append(float(real[0]))
    return SimulatedSearch(check_predictions(y, np.stack(values, axis=1), folds), np.array(truth))


def _surface(setting: Setting, random: np.random.Generator) -> Callable[[Floats], float]:
    """Return true levels over the unit cube: quantiles of the setting's distribution of a smooth random function."""
    from scipy.stats import beta, norm

    waves, phase, height = _waves(random, 1.0)

    def level(place: Floats) -> float:
        return float(beta.ppf(norm.cdf(height @ np.cos(waves @ place + phase)), *setting.beta))

    return level


def _smooth_noise(setting: Setting, random: np.random.Generator) -> Callable[[Floats], Floats]:
    """Return noise (N, 1) that changes smoothly with the place: near configurations err on the same rows."""
    waves, phase, _ = _waves(random, 3.0)
    shape = (setting.n, WAVES) if setting.classes <= 2 else (setting.n, setting.classes, WAVES)
    size = random.normal(size=shape) * sqrt(2 / WAVES)
    keep = setting.rho

    def noise(place: Floats) -> Floats:
        smooth = size @ np.cos(waves @ place + phase)
        independent = random.normal(size=smooth.shape)
        return np.expand_dims(sqrt(keep) * smooth + sqrt(1 - keep) * independent, 1)

    return noise


def _waves(random: np.random.Generator, scale: float) -> tuple[Floats, Floats, Floats]:
    frequencies = scale * 2 * random.normal(size=(WAVES, DIMENSIONS))
    return frequencies, random.uniform(0, 2 * np.pi, WAVES), random.normal(size=WAVES) * sqrt(2 / WAVES)
