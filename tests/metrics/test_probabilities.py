"""Log loss, Brier score and calibration error against scikit-learn and by hand."""

import numpy as np
import pytest
import sklearn.metrics as oracle
from hypothesis import given
from hypothesis import strategies as st

from assay.metrics.probabilities import brier, ece, logloss


@st.composite
def predicted(draw, max_classes=10):
    """Return truth, in which classes may be absent, and a matrix in which zeros and ones are common."""
    classes = draw(st.integers(2, max_classes))
    truth = np.array(draw(st.lists(st.integers(0, classes - 1), min_size=1, max_size=50)))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = generator.random((len(truth), classes))
    if draw(st.booleans()):
        weights[generator.random(weights.shape) < 0.6] = 0.0
    weights[:, 0] += (weights.sum(axis=1) == 0.0) * 1.0
    return truth, weights / weights.sum(axis=1, keepdims=True)


@given(predicted())
def test_logloss_is_scikit_learns_over_all_classes(case):
    truth, matrix = case
    expected = oracle.log_loss(truth, matrix, labels=list(range(matrix.shape[1])))
    # Rows sum to one but for the last bit, and scikit-learn before 1.5 divided after clipping.
    assert logloss(truth, matrix) == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_logloss_clips_a_sure_and_wrong_row_at_float64_eps():
    sure = np.array([[1.0, 0.0]])
    assert logloss(np.array([1]), sure) == pytest.approx(-np.log(np.finfo(np.float64).eps))
    assert 0.0 <= logloss(np.array([0]), sure) < 1e-15


@given(predicted(), st.floats(0.5, 2.0))
def test_logloss_normalises_rows(case, factor):
    truth, matrix = case
    assert logloss(truth, factor * matrix) == pytest.approx(logloss(truth, matrix), rel=1e-9, abs=1e-12)


@given(predicted())
def test_brier_is_scikit_learns(case):
    truth, matrix = case
    if matrix.shape[1] == 2:
        expected = oracle.brier_score_loss(truth, matrix[:, 1], pos_label=1)
    else:
        expected = float(((np.eye(matrix.shape[1])[truth] - matrix) ** 2).sum(axis=1).mean())
    assert brier(truth, matrix) == pytest.approx(expected, abs=1e-14)


def test_brier_leaves_the_matrix_as_it_was():
    matrix = np.array([[0.3, 0.7]])
    brier(np.array([1]), matrix)
    assert matrix.tolist() == [[0.3, 0.7]]


def test_worst_brier_is_one_for_two_classes_and_two_for_more():
    assert brier(np.array([0]), np.array([[0.0, 1.0]])) == 1.0
    assert brier(np.array([0]), np.array([[0.0, 1.0, 0.0]])) == 2.0


@given(predicted())
def test_ece_is_the_weighted_gap_between_confidence_and_accuracy(case):
    truth, matrix = case
    expected = 0.0
    for number in range(15):
        low, high = number / 15, (number + 1) / 15
        confidence = matrix.max(axis=1)
        rows = (confidence > low) & (confidence <= high)
        if rows.any():
            right = (matrix.argmax(axis=1) == truth)[rows].mean()
            expected += rows.mean() * abs(right - confidence[rows].mean())
    assert ece(truth, matrix) == pytest.approx(expected, abs=1e-12)


def test_ece_by_hand():
    matrix = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.4, 0.6]])
    # Both bins hold half the rows: right once in two at 0.9 (gap 0.4), twice in two at 0.6 (gap 0.4).
    assert ece(np.array([0, 1, 1, 1]), matrix) == pytest.approx(0.4)
    assert ece(np.array([0]), np.array([[1.0, 0.0]])) == 0.0


def test_a_confidence_on_an_edge_belongs_to_the_bin_below():
    # 0.6 = 9/15 ends the bin (8/15, 9/15], which 0.59 shares: gaps +0.4 and -0.59 nearly cancel there.
    matrix = np.array([[0.6, 0.4], [0.59, 0.41]])
    assert ece(np.array([0, 1]), matrix) == pytest.approx((0.59 - 0.4) / 2)
