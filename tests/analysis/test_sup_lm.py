"""P-values of the supremum of LM statistics: a published formula where it holds, the exact distribution elsewhere."""

from __future__ import annotations

import csv
from math import exp, sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

from assay.analysis.sup_lm import WIDE, log_p_sup_lm
from benchmarks.trimming import ALPHA, critical_value, estrella, statistics

TRIMMING_OF_FORMULA = 0.2


def grid(shared: Path) -> list[tuple[float, int, float, float, float]]:
    """Return trimming, k, x, Estrella's log p and R's (after Hansen)."""
    with open(shared / "reference" / "bt" / "suplm_pvalue_grid.csv", newline="") as file:
        return [
            (
                float(row["pi0"]),
                int(row["k"]),
                float(row["x"]),
                float(row["log_p_estrella"]),
                float(row["log_p"]),
            )
            for row in csv.DictReader(file)
        ]


@pytest.mark.shared
def test_p_values_are_the_closed_formula_up_to_a_fifth(shared: Path) -> None:
    tested = 0
    for pi, k, x, formula, _ in grid(shared):
        if pi <= TRIMMING_OF_FORMULA:
            found = log_p_sup_lm(x, k, ((1 - pi) / pi) ** 2)
            assert found == pytest.approx(min(0.0, formula), abs=1e-9)  # no p-value is above one
            tested += 1
    assert tested > 1000


@pytest.mark.shared
def test_p_values_beyond_a_fifth_are_neither_below_the_formula_nor_below_those_of_r(shared: Path) -> None:
    tested = 0
    for pi, k, x, formula, hansen in grid(shared):
        if pi > TRIMMING_OF_FORMULA and -9 < hansen < -1:
            found = log_p_sup_lm(x, k, ((1 - pi) / pi) ** 2)
            assert found >= max(formula, hansen - 0.15) - 0.01, (pi, k, x)
            assert found <= hansen + 0.6, (pi, k, x)  # R's are of a process that is looked at in fewer places
            tested += 1
    assert tested > 200


@pytest.mark.parametrize("k", [1, 3, 11, 40])
@pytest.mark.parametrize("x", [0.5, 5.0, 20.0, 60.0, 300.0])
def test_one_cut_point_is_chi_squared(k: int, x: float) -> None:
    assert log_p_sup_lm(x, k, 1.0) == pytest.approx(chi2.logsf(x, k), rel=1e-12)
    assert log_p_sup_lm(x, k, 1.0 + 1e-9) == pytest.approx(chi2.logsf(x, k), rel=0.01, abs=0.02)


@pytest.mark.parametrize("k", [1, 5, 11, 20])
def test_p_values_fall_with_the_statistic_and_rise_with_the_range(k: int) -> None:
    xs = np.linspace(0.01, 150, 60)
    ratios = (1.0, 1.0001, 1.01, 1.5, 4.0, 15.9)
    found = np.array([[log_p_sup_lm(x, k, ratio) for x in xs] for ratio in ratios])
    assert (np.diff(found, axis=1) <= 1e-9).all() and (np.diff(found, axis=0) >= -1e-6).all()
    assert (found <= 0).all() and np.isfinite(found).all()


def test_formula_and_distribution_meet(k: int = 5) -> None:
    x = 18.0
    assert exp(log_p_sup_lm(x, k, WIDE - 1e-9)) == pytest.approx(exp(log_p_sup_lm(x, k, WIDE)), rel=0.05)


@pytest.mark.parametrize(
    ("k", "trimming"), [(11, 0.49), (11, 0.45), (11, 0.4), (5, 0.47), (2, 0.3), (5, 0.5)]
)
def test_level_is_kept_where_few_cut_points_are_left(k: int, trimming: float) -> None:
    n, draws = 300, 1500
    first = int(np.ceil(trimming * n))
    ratio = ((n - first) / first) ** 2
    largest = statistics(n, k, draws, np.random.default_rng(7))[:, first - 1 : n - first].max(axis=1)
    allowed = ALPHA + 2 * sqrt(ALPHA * (1 - ALPHA) / draws)
    rate = (largest >= critical_value(log_p_sup_lm, k, ratio)).mean()
    assert 0.01 < rate <= allowed
    if (k, trimming) == (11, 0.49):  # what it was before
        assert (largest >= critical_value(estrella, k, ratio)).mean() > 0.075
