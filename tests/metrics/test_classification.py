"""Metrics of predicted classes against scikit-learn, with ties, many classes and absent classes."""

import warnings

import numpy as np
import pytest
import sklearn.metrics as oracle
from hypothesis import given
from hypothesis import strategies as st

from assay.metrics import UndefinedMetric
from assay.metrics.classification import acc, balacc, f05, f1, f2, max_pce, mcc, mean_pce


@st.composite
def codes(draw, max_classes=12):
    """Return truth and prediction with gaps: classes may be absent from either."""
    classes = draw(st.integers(2, max_classes))
    pairs = st.tuples(st.integers(0, classes - 1), st.integers(0, classes - 1))
    truth, prediction = zip(*draw(st.lists(pairs, min_size=1, max_size=60)), strict=True)
    return np.array(truth), np.array(prediction), classes


def quietly(function, *args, **options):
    """Call scikit-learn without the warnings it gives for classes that are absent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **options)


@given(codes())
def test_accuracy_is_scikit_learns(case):
    truth, prediction, _ = case
    assert acc(truth, prediction) == pytest.approx(oracle.accuracy_score(truth, prediction), abs=1e-15)


@given(codes())
def test_balanced_accuracy_is_scikit_learns_also_with_absent_classes(case):
    truth, prediction, _ = case
    expected = quietly(oracle.balanced_accuracy_score, truth, prediction)
    assert balacc(truth, prediction) == pytest.approx(expected, abs=1e-14)


@given(codes())
def test_per_class_errors_follow_from_the_confusion_matrix(case):
    truth, prediction, classes = case
    matrix = oracle.confusion_matrix(truth, prediction, labels=range(classes))
    errors = [1 - row[i] / row.sum() for i, row in enumerate(matrix) if row.sum()]
    assert mean_pce(truth, prediction) == pytest.approx(np.mean(errors), abs=1e-14)
    assert max_pce(truth, prediction) == pytest.approx(max(errors), abs=1e-14)


@given(codes())
def test_mcc_is_scikit_learns(case):
    truth, prediction, _ = case
    expected = quietly(oracle.matthews_corrcoef, truth, prediction)
    assert mcc(truth, prediction) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(("function", "beta"), [(f05, 0.5), (f1, 1.0), (f2, 2.0)])
@given(case=codes(max_classes=2))
def test_f_beta_of_two_classes_is_that_of_the_positive_one(function, beta, case):
    truth, prediction, classes = case
    hits = int((truth * prediction).sum())
    weighted = beta**2 * (truth.sum() - hits) + (prediction.sum() - hits)
    if not truth.any() and not prediction.any():
        with pytest.raises(UndefinedMetric, match="no row is positive"):
            function(truth, prediction, classes)
        return
    expected = (1 + beta**2) * hits / ((1 + beta**2) * hits + weighted)
    assert function(truth, prediction, classes) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(("function", "beta"), [(f05, 0.5), (f1, 1.0), (f2, 2.0)])
@given(case=codes())
def test_f_beta_of_many_classes_is_weighted_by_support(function, beta, case):
    truth, prediction, classes = case
    total = 0.0
    for code in range(classes):
        hits = int(((truth == code) & (prediction == code)).sum())
        missed, false = (truth == code).sum() - hits, (prediction == code).sum() - hits
        if hits + missed:
            score = (1 + beta**2) * hits / ((1 + beta**2) * hits + beta**2 * missed + false)
            total += score * (hits + missed) / len(truth)
    assert function(truth, prediction, max(classes, 3)) == pytest.approx(total, abs=1e-14)


def test_number_of_classes_decides_on_the_average_not_the_codes_that_occur():
    truth, prediction = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])
    assert f1(truth, prediction, 2) == f1(truth, prediction) == pytest.approx(2 / 3)
    assert f1(truth, prediction, 3) == pytest.approx(0.75 * 0.8 + 0.25 * 2 / 3)


def test_f_beta_is_zero_when_no_positive_was_found():
    assert f1(np.array([0, 1, 1]), np.array([0, 0, 0]), 2) == 0.0
    assert f1(np.array([0, 0, 0]), np.array([0, 0, 1]), 2) == 0.0


def test_constant_prediction_has_no_correlation_with_the_truth():
    assert mcc(np.array([0, 1, 1]), np.array([1, 1, 1])) == 0.0
    assert mcc(np.array([1, 1]), np.array([1, 1])) == 0.0
