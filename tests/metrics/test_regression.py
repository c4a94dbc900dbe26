"""Metrics of predicted numbers against scikit-learn."""

import numpy as np
import pytest
import sklearn.metrics as oracle
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.metrics import UndefinedMetric, get_metric
from assay.metrics.regression import mae, mse, msle, pinball, r2, rmse, rmsle


@st.composite
def numbers(draw, low=-1e6, high=1e6):
    """Return truth and prediction of the same length."""
    number = st.floats(low, high, allow_subnormal=False)
    truth, prediction = zip(*draw(st.lists(st.tuples(number, number), min_size=1, max_size=60)), strict=True)
    return np.array(truth), np.array(prediction)


@given(numbers())
def test_errors_are_scikit_learns(case):
    assert mse(*case) == pytest.approx(oracle.mean_squared_error(*case), rel=1e-12)
    assert rmse(*case) == pytest.approx(np.sqrt(oracle.mean_squared_error(*case)), rel=1e-12)
    assert mae(*case) == pytest.approx(oracle.mean_absolute_error(*case), rel=1e-12)


@given(numbers(low=-0.99))
def test_logarithmic_errors_are_scikit_learns(case):
    expected = oracle.mean_squared_error(*(np.log1p(values) for values in case))
    assert msle(*case) == pytest.approx(expected, rel=1e-12)
    assert rmsle(*case) == pytest.approx(np.sqrt(expected), rel=1e-12)


def test_msle_is_scikit_learns_on_positive_values():
    truth, prediction = np.array([3.0, 5.0, 2.5, 7.0]), np.array([2.5, 5.0, 4.0, 8.0])
    assert msle(truth, prediction) == pytest.approx(
        oracle.mean_squared_log_error(truth, prediction), rel=1e-12
    )


@given(numbers())
def test_r2_is_scikit_learns(case):
    truth, prediction = case
    assume(np.ptp(truth) > 1e-3)
    assert r2(truth, prediction) == pytest.approx(oracle.r2_score(truth, prediction), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("truth", [[5.0], [2.0, 2.0, 2.0], [0.1, 0.1, 0.1]])
def test_r2_is_undefined_when_the_truth_does_not_vary(truth):
    # The mean of three 0.1 is not 0.1, so a variance of exactly 0 must not be asked for.
    with pytest.raises(UndefinedMetric, match="do not vary"):
        r2(np.array(truth), np.array(truth) + 1.0)


@given(numbers(), st.sampled_from(["0.05", "0.25", "0.9", "0.975"]))
def test_pinball_is_scikit_learns_at_every_level(case, level):
    expected = oracle.mean_pinball_loss(*case, alpha=float(level))
    assert get_metric(f"pinball_{level}").function(*case) == pytest.approx(expected, rel=1e-12)


@given(numbers())
def test_pinball_is_half_the_absolute_error_at_the_median(case):
    assert pinball(*case) == pytest.approx(mae(*case) / 2, rel=1e-12)


def test_too_low_costs_the_level_and_too_high_the_rest():
    assert pinball(np.array([1.0]), np.array([0.0]), level=0.9) == pytest.approx(0.9)
    assert pinball(np.array([0.0]), np.array([1.0]), level=0.9) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("truth", "prediction", "who"),
    [([-1.0], [0.0], "true value is -1"), ([0.0], [-3.5], "prediction is -3.5")],
)
def test_logarithmic_error_is_undefined_at_minus_one_and_below(truth, prediction, who):
    for function in (msle, rmsle):
        with pytest.raises(UndefinedMetric, match=who):
            function(np.array(truth), np.array(prediction))
