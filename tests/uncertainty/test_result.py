"""Quantiles, ends and first places are what numpy and a sorted list say; a record survives JSON."""

from __future__ import annotations

import json
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.metrics.registry import get_metric
from assay.uncertainty.result import (
    Interval,
    Options,
    both_ends,
    ends,
    first_best,
    mean_of,
    quantiles,
    read_off,
    said_of_spread,
    turned,
)

AUC, RMSE, R2 = get_metric("auc"), get_metric("rmse"), get_metric("r2")
DRAWS = st.lists(st.floats(0, 1), min_size=1, max_size=60).map(np.array)
SHARES = st.sampled_from([0.001, 0.025, 0.05, 0.1, 0.29, 0.5, 0.57, 0.9, 0.95, 0.975])


@given(DRAWS, SHARES)
@settings(deadline=None)
def test_the_quantile_rule_is_numpys_inverted_cdf(values: np.ndarray, share: float) -> None:
    assert quantiles(values, [share], "inverse_ecdf") == [np.quantile(values, share, method="inverted_cdf")]


@pytest.mark.parametrize(
    ("n", "share", "plain", "published"),
    [(100, 0.05, 5, 6), (20, 0.05, 1, 2), (21, 0.05, 2, 2), (10, 0.95, 10, 10), (10, 0.9, 9, 10), (1, 0.5, 1, 1)],
)  # fmt: skip
def test_the_published_rule_is_one_rank_higher(n: int, share: float, plain: int, published: int) -> None:
    values = np.random.default_rng(0).permutation(np.arange(1.0, n + 1))
    assert quantiles(values, [share], "inverse_ecdf") == [plain]
    assert quantiles(values, [share], "reference") == [published]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), SHARES, st.integers(0, 10**6))
@settings(deadline=None)
def test_probabilities_are_as_repeated_values(times: list[int], share: float, seed: int) -> None:
    values = np.random.default_rng(seed).permutation(np.arange(float(len(times))))
    chance = np.array(times) / sum(times)
    repeated = np.repeat(values, times)
    assert quantiles(values, [share], "inverse_ecdf", chance) == quantiles(repeated, [share], "inverse_ecdf")
    assert mean_of(values, chance) == pytest.approx(repeated.mean())


def test_values_without_probability_are_never_an_end() -> None:
    values, chance = np.array([9.0, 1.0, 2.0, -9.0]), np.array([0.0, 0.5, 0.5, 0.0])
    assert quantiles(values, [0.01, 0.5, 0.51, 0.99], "inverse_ecdf", chance) == [1, 1, 2, 2]


@given(DRAWS, st.floats(0.001, 0.4), st.floats(0.001, 0.4), st.sampled_from(["one", "two"]))
@settings(deadline=None)
def test_intervals_widen_as_alpha_falls(values: np.ndarray, one: float, other: float, side) -> None:
    strict, loose = (Options(alpha=alpha, side=side) for alpha in sorted((one, other)))
    for metric in (AUC, RMSE):
        (low, high), (inner_low, inner_high) = (read_off(metric, values, each) for each in (strict, loose))
        assert low <= inner_low <= inner_high <= high


@given(st.integers(2, 40), st.integers(0, 10**6))
@settings(deadline=None)
def test_a_loss_with_the_other_sign_mirrors_the_interval(n: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=n)
    options = Options(side="two", alpha=0.3)
    worst, best = both_ends(R2, values, options)
    low, high = quantiles(values, (0.15, 0.85), "inverse_ecdf")
    assert (worst, best) == (low, high)
    assert both_ends(RMSE, values, options) == (-high, -low), "the worst of a loss is its largest"


@pytest.mark.parametrize(
    ("metric", "worst", "best", "one", "two"),
    [
        (AUC, 0.4, 0.9, (0.4, 1.0), (0.4, 0.9)),
        (AUC, -0.2, 1.3, (0.0, 1.0), (0.0, 1.0)),
        (RMSE, -3.0, -2.0, (0.0, 3.0), (2.0, 3.0)),
        (RMSE, -3.0, 0.5, (0.0, 3.0), (0.0, 3.0)),
        (R2, -70.0, 0.2, (-70.0, 1.0), (-70.0, 0.2)),
    ],
)
def test_ends_stay_within_the_metrics_range(metric, worst, best, one, two) -> None:
    assert ends(metric, worst, best, Options()) == one
    assert ends(metric, worst, best, Options(side="two")) == two
    assert not any(np.signbit(end) for end in ends(RMSE, -3.0, 0.0, Options(side="two"))), "never -0"


def test_two_sides_share_the_error() -> None:
    assert Options(alpha=0.1).tail == 0.1 and Options(alpha=0.1, side="two").tail == 0.05


def test_turning_twice_is_what_it_was() -> None:
    values = np.array([0.2, -1.0])
    for metric in (AUC, RMSE):
        np.testing.assert_array_equal(turned(metric, turned(metric, values)), values)
    assert turned(RMSE, 2.0) == -2.0 and turned(AUC, 2.0) == 2.0


@pytest.mark.parametrize(
    ("scores", "position"),
    [
        ([1, 3, 2], 1), ([2, 2, 2], 0), ([nan, 1, 2], 2), ([nan, nan], 0), ([-5, -2, -2], 1),
        ([1, 1 + 1e-14], 0), ([1, 1 + 1e-9], 1), ([1e9, 1e9 + 1e-5], 0), ([-inf, 3], 1), ([nan, -inf, -7], 2),
    ],
)  # fmt: skip
def test_the_first_of_the_best_wins(scores: list[float], position: int) -> None:
    assert first_best(np.array(scores, dtype=float)) == position


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_first_places_of_many_rows_are_those_of_each(seed: int, rows: int, columns: int) -> None:
    random = np.random.default_rng(seed)
    scores = random.integers(0, 4, size=(rows, columns)) / 3
    scores[random.random(scores.shape) < 0.2] = nan
    assert first_best(scores).tolist() == [int(first_best(row)) for row in scores]
    worse = np.column_stack([scores, np.nanmin(np.c_[scores, np.ones(rows)], axis=1) - 1])
    has_value = ~np.isnan(scores).all(axis=1)
    np.testing.assert_array_equal(first_best(worse)[has_value], first_best(scores)[has_value])


@given(st.floats(-1e6, 1e6), st.integers(1, 50))
@settings(deadline=None)
def test_a_mean_of_equal_draws_is_that_value(value: float, n: int) -> None:
    assert mean_of(np.full(n, value)) == value


def test_the_spread_is_said_where_it_says_little() -> None:
    assert said_of_spread(AUC, np.linspace(0.5, 1, 20)) == ()
    (point,) = said_of_spread(AUC, np.full(9, 0.7))
    assert "the interval is a point" in point
    (perfect,) = said_of_spread(AUC, np.array([1.0] * 6 + [0.5] * 4))
    assert perfect.startswith("60% of the draws have the best possible value")
    assert said_of_spread(AUC, np.array([1.0] * 5 + [0.5] * 5)) == (), "half of them is not most"
    (few_errors,) = said_of_spread(RMSE, np.array([0.0, 3.0]), np.array([0.8, 0.2]))
    assert few_errors.startswith("80% of the draws")
    assert said_of_spread(RMSE, np.array([1.0, 1.0, 1.0, 3.0])) == (), "1 is not the best value of a loss"


def record(**said) -> Interval:
    plain = {
        "method": "bbc", "metric": "r2", "alpha": 0.05, "side": "one", "estimate": 0.5, "lower": 0.25, "upper": 1.0,
        "winner": 0, "winner_name": "a", "cv_score": 0.75, "bias": 0.25, "n_boot": 2, "exact": False,
        "quantile_rule": "inverse_ecdf",
    }  # fmt: skip
    return Interval(**{**plain, **said})


def test_a_record_is_written_as_strict_json() -> None:
    own = record(lower=-inf, estimate=nan, warnings=("few rows",), distribution=np.array([0.5, nan]))
    short, whole = own.to_json(), own.to_json(distribution=True)
    assert short["lower"] is None and short["estimate"] is None and short["upper"] == 1.0
    assert "distribution" not in short and "probabilities" not in short and short["warnings"] == ["few rows"]
    assert whole["distribution"] == [0.5, None] and whole["probabilities"] is None
    assert json.loads(json.dumps(whole, allow_nan=False)) == whole


def test_further_warnings_come_last_and_leave_the_record_as_it_was() -> None:
    own = record(warnings=("first",))
    more = own.warned("second", "third")
    assert more.warnings == ("first", "second", "third") and own.warnings == ("first",)
    assert more.lower == own.lower and own.warned() == own
