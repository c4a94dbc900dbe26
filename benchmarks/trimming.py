"""Does the tree's test along a number keep its level at every trimming? `python -m benchmarks.trimming [--draws 4000]`.

Scores without any change are made up, decorrelated as in a tree, and tested with cut points that leave more and more
observations on either side (`--min-size`). Beside our p-values stand Estrella's, which we use up to a fifth.

Exit 1 if ours reject more often than the level and two standard errors allow.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, exp, sqrt
from typing import Any

import numpy as np

from assay.analysis.instability import decorrelate
from assay.analysis.sup_lm import WIDE, log_p_sup_lm

ALPHA = 0.05
TRIMMINGS = (0.05, 0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.47, 0.49, 0.5)
LogP = Callable[[float, int, float], float]


@dataclass(frozen=True)
class Size:
    """How often a test of k directions along n observations rejects, by our p-values and by Estrella's."""

    n: int
    k: int
    trimming: float
    ours: float
    estrella: float


def statistics(n: int, k: int, draws: int, random: np.random.Generator) -> Any:
    """Return the statistic at every cut point (draws, n - 1) of scores without a change."""
    share = np.arange(1, n) / n
    out = np.empty((draws, n - 1))
    for draw in range(draws):
        scores = random.normal(size=(n, k))
        own = decorrelate(scores - scores.mean(axis=0))
        out[draw] = (own.scores.cumsum(axis=0)[:-1] ** 2).sum(axis=1) / (share * (1 - share))
    return out


def critical_value(log_p: LogP, k: int, ratio: float) -> float:
    """Return the statistic from which on a p-value is at most the level."""
    low, high = 0.0, 20.0 * k + 60.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if exp(log_p(middle, k, ratio)) > ALPHA else (low, middle)
    return high


def estrella(x: float, k: int, ratio: float) -> float:
    """Return the log p-value by the formula alone; it depends on λ by its logarithm only."""
    from scipy.special import gammaln

    def tail(at: float) -> float:
        slope = np.log(ratio) * (1 - k / at) + 2 / at
        return float(-gammaln(k / 2) + k / 2 * np.log(at / 2) - at / 2 + np.log(abs(slope)))

    edge = 1.5 * k
    return min(0.0, tail(x) if x > edge else (x / edge) ** np.sqrt(k) * tail(edge))


def simulate(n: int, k: int, draws: int, seed: int) -> list[Size]:
    """Return the sizes at all trimmings; the same made-up scores serve for all."""
    found = statistics(n, k, draws, np.random.default_rng([seed, n, k]))
    out = []
    for trimming in TRIMMINGS:
        first = ceil(trimming * n)
        ratio = ((n - first) / first) ** 2
        largest = found[:, first - 1 : n - first].max(axis=1)
        rates = [float((largest >= critical_value(p, k, ratio)).mean()) for p in (log_p_sup_lm, estrella)]
        out.append(Size(n, k, trimming, *rates))
    return out


def markdown(sizes: Sequence[Size]) -> str:
    """Return the table of the docs."""
    cases = list(dict.fromkeys((one.n, one.k) for one in sizes))
    heads = [f"n = {n}, k = {k}" for n, k in cases]
    out = [f"| trimming | {' | '.join(heads)} |", "|---" * (len(cases) + 1) + "|"]
    for trimming in TRIMMINGS:
        row = [one for case in cases for one in sizes if (one.n, one.k, one.trimming) == (*case, trimming)]
        out.append(f"| {trimming:g} | {' | '.join(f'{one.ours:.3f} ({one.estrella:.3f})' for one in row)} |")
    return "\n".join(out)


def main(words: Sequence[str] | None = None) -> int:
    """Simulate and print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.trimming", description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    said = parser.parse_args(words)
    sizes = [one for n in (200, 1000) for k in (2, 5, 11) for one in simulate(n, k, said.draws, said.seed)]
    allowed = ALPHA + 2 * sqrt(ALPHA * (1 - ALPHA) / said.draws)
    print(f"Rejections at {ALPHA} in {said.draws} draws (seed {said.seed}); allowed: {allowed:.3f}.")
    print("In brackets by Estrella's formula alone.")
    print(markdown(sizes))
    bad = [one for one in sizes if one.ours > allowed and ((1 - one.trimming) / one.trimming) ** 2 < WIDE]
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
