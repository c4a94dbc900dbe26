"""How often intervals held the truth, and how tight they were: what a method did in many searches. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.typing import Bools, Floats

__all__ = ["Coverage", "average_ranks", "comparable", "summarise"]

PROMISED = 0.95
REJECTED = 0.05


@dataclass(frozen=True)
class Coverage:
    """What a method did in one setting.

    Attributes:
        setting, method: which; n, c, folds: rows, configurations and folds of the setting.
        repetitions: of how many searches it gave a bound.
        failed: in how many it could not.
        inclusion: the share in which the truth of its own winner was within the bound.
        p: of the exact binomial test that the share is below what was promised.
        tightness: how far the bound lies from the truth on average; lower is better as long as the truth is inside.
        truth: the mean true performance of the models it chose, also where it gave no bound.
        bias: the mean of its estimate minus the truth, positive where it is too good; also where it gave no bound.
        seconds: the median time it took.
    """

    setting: str
    method: str
    repetitions: int
    failed: int
    inclusion: float
    p: float
    tightness: float
    truth: float
    bias: float
    seconds: float
    n: int = 0
    c: int = 0
    folds: int = 0

    @property
    def holds(self) -> bool:
        """Whether the promise was not refuted."""
        return self.p >= REJECTED


def summarise(rows: Iterable[Mapping[str, Any]]) -> list[Coverage]:
    """Return what each method did in each setting, in the order of the rows.

    A row has setting, method, higher (whether that is better), truth, bound and estimate (None where there is none),
    seconds, and may have n, c, folds.
    """
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["setting"], row["method"]), []).append(row)
    return [_coverage(setting, method, members) for (setting, method), members in groups.items()]


def _coverage(setting: str, method: str, rows: Sequence[Mapping[str, Any]]) -> Coverage:
    from scipy.stats import binomtest

    sign = 1.0 if rows[0]["higher"] else -1.0
    estimated = [row for row in rows if row.get("estimate") is not None]
    bound_by = [row for row in estimated if row.get("bound") is not None]
    gaps = np.array([sign * (row["truth"] - row["bound"]) for row in bound_by])
    inside = gaps >= -1e-12
    n = len(bound_by)
    return Coverage(
        setting=setting,
        method=method,
        repetitions=n,
        failed=len(rows) - n,
        inclusion=_mean(inside),
        p=float(binomtest(int(inside.sum()), n, PROMISED, alternative="less").pvalue) if n else math.nan,
        tightness=_mean(gaps),
        truth=_mean([row["truth"] for row in estimated]),
        bias=_mean([sign * (row["estimate"] - row["truth"]) for row in estimated]),
        seconds=float(np.median([row["seconds"] for row in estimated])) if estimated else math.nan,
        **{name: int(rows[0].get(name, 0)) for name in ("n", "c", "folds")},
    )


def _mean(values: Sequence[float] | Floats | Bools) -> float:
    return float(np.mean(values)) if len(values) else math.nan


def comparable(coverages: Sequence[Coverage]) -> dict[str, dict[str, Coverage]]:
    """Return by setting what each method did, for the settings in which all gave bounds in most searches.

    Methods that give no bound anywhere are left out.
    """
    methods = dict.fromkeys(coverage.method for coverage in coverages if coverage.repetitions)
    by_setting: dict[str, dict[str, Coverage]] = {}
    for coverage in coverages:
        if coverage.repetitions > coverage.failed:
            by_setting.setdefault(coverage.setting, {})[coverage.method] = coverage
    return {
        name: {method: by_method[method] for method in methods}
        for name, by_method in by_setting.items()
        if by_method.keys() >= methods.keys()
    }


def average_ranks(coverages: Sequence[Coverage]) -> dict[str, float]:
    """Return average ranks by the paper's rules, over the comparable settings.

    Methods that hold come before those that do not; among the former the tighter one is better, among the latter the
    one whose inclusion is nearer to the promise; equal ones share the better rank.
    """
    ranks: dict[str, list[int]] = {}
    for by_method in comparable(coverages).values():
        keys = {name: _rank_key(coverage) for name, coverage in by_method.items()}
        for name, key in keys.items():
            ranks.setdefault(name, []).append(1 + sum(other < key for other in keys.values()))
    return {name: float(np.mean(method_ranks)) for name, method_ranks in ranks.items()}


def _rank_key(coverage: Coverage) -> tuple[int, float]:
    return (
        (0, round(coverage.tightness, 4))
        if coverage.holds
        else (1, round(abs(coverage.inclusion - PROMISED), 4))
    )
