"""Areas under curves against scikit-learn, with ties and absent classes."""

import warnings

import numpy as np
import pytest
import sklearn.metrics as oracle
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.metrics import UndefinedMetric
from assay.metrics.ranking import auc, auc_ovo, auc_ovr, pr_auc


@st.composite
def ranked(draw, min_classes=2, max_classes=8):
    """Return truth and a probability matrix; few distinct numbers make ties common."""
    classes = draw(st.integers(min_classes, max_classes))
    truth = np.array(draw(st.lists(st.integers(0, classes - 1), min_size=2, max_size=50)))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):
        weights = generator.integers(1, 4, size=(len(truth), classes)).astype(float)
    else:
        weights = generator.random((len(truth), classes)) + 1e-9
    return truth, weights / weights.sum(axis=1, keepdims=True)


@given(ranked(max_classes=2))
def test_auc_is_scikit_learns(case):
    truth, matrix = case
    assume(len(set(truth)) == 2)
    assert auc(truth, matrix) == pytest.approx(oracle.roc_auc_score(truth, matrix[:, 1]), abs=1e-12)


@given(case=ranked(min_classes=3))
def test_auc_of_several_classes_is_hand_and_tills_over_the_classes_that_occur(case):
    truth, matrix = case
    present, codes = np.unique(truth, return_inverse=True)
    assume(len(present) >= 3)
    # Scikit-learn wants every column to occur and rows to add up to 1; Hand and Till compare one column at a time.
    both_ways = [
        oracle.roc_auc_score(
            codes[(codes == a) | (codes == b)] == a, matrix[(codes == a) | (codes == b), present[a]]
        )
        for a in range(len(present))
        for b in range(len(present))
        if a != b
    ]
    assert auc(truth, matrix) == pytest.approx(np.mean(both_ways), abs=1e-12)
    if len(present) == matrix.shape[1]:
        macro = oracle.roc_auc_score(truth, matrix, multi_class="ovo", average="macro")
        assert auc(truth, matrix) == pytest.approx(macro, abs=1e-12)


@pytest.mark.parametrize(("function", "way"), [(auc_ovr, "ovr"), (auc_ovo, "ovo")])
@given(case=ranked(min_classes=3))
def test_multiclass_auc_is_scikit_learns_weighted_average(function, way, case):
    truth, matrix = case
    classes = matrix.shape[1]
    assume(len(set(truth)) >= 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns about absent classes, whose weight is 0
        expected = oracle.roc_auc_score(
            truth, matrix, multi_class=way, average="weighted", labels=list(range(classes))
        )
    assert function(truth, matrix) == pytest.approx(expected, abs=1e-12)


def test_one_versus_one_ignores_absent_classes():
    truth = np.array([0, 2, 0, 2])
    matrix = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.3, 0.4, 0.3], [0.4, 0.5, 0.1]])
    by_first = oracle.roc_auc_score(truth == 0, matrix[:, 0])
    by_last = oracle.roc_auc_score(truth == 2, matrix[:, 2])
    assert auc_ovo(truth, matrix) == pytest.approx((by_first + by_last) / 2)


def test_in_binary_tasks_all_aucs_are_one():
    # 1 - 1e-20 and 1 - 1e-21 are the same float, so the first column has ties that the second has not.
    truth, matrix = np.array([0, 1]), np.array([[1.0, 1e-21], [1.0, 1e-20]])
    assert auc(truth, matrix) == auc_ovr(truth, matrix) == auc_ovo(truth, matrix) == 1.0


def test_ties_count_half():
    assert auc(np.array([0, 1, 0, 1]), np.full((4, 2), 0.5)) == 0.5


@given(ranked(max_classes=2))
def test_pr_auc_is_average_precision(case):
    truth, matrix = case
    assume(truth.any())
    thresholds = np.unique(matrix[:, 1])[::-1]
    found = [(matrix[:, 1] >= threshold) for threshold in thresholds]
    precision = [truth[rows].mean() for rows in found]
    recall = [truth[rows].sum() / truth.sum() for rows in found]
    expected = float(np.sum(np.diff(recall, prepend=0.0) * precision))
    assert pr_auc(truth, matrix) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("function", [auc, auc_ovr, auc_ovo])
def test_auc_is_undefined_when_one_class_occurs(function):
    with pytest.raises(UndefinedMetric, match=r"only one class \(code 1\) occurs"):
        function(np.array([1, 1, 1]), np.full((3, 2), 0.5))


def test_pr_auc_is_undefined_without_positives():
    with pytest.raises(UndefinedMetric, match="no true label is positive"):
        pr_auc(np.array([0, 0]), np.full((2, 2), 0.5))
    assert pr_auc(np.array([1, 1]), np.full((2, 2), 0.5)) == 1.0


def test_undefined_is_a_value_error():
    assert issubclass(UndefinedMetric, ValueError)
