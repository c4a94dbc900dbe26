"""Metrics of the order in which probabilities put the rows: areas under curves."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from assay.metrics.record import UndefinedMetric, measure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.int64]
    Matrix = NDArray[np.float64]

__all__ = ["auc", "auc_ovo", "auc_ovr", "pr_auc"]


@measure(higher_is_better=True, needs="probabilities", high=1.0, kind="rank")
def auc(truth: Codes, prediction: Matrix) -> float:
    """Area under the ROC curve; of more than two classes the plain mean over pairs of classes (Hand and Till).

    Ties count half. Pairs with a class that does not occur in the truth do not count; it is undefined when only one
    class occurs.

    D. J. Hand and R. J. Till (2001): A simple generalisation of the area under the ROC curve for multiple class
    classification problems. Machine Learning 45.

    >>> import numpy as np
    >>> probabilities = np.array([[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0, 0.6, 0.4], [0, 0.2, 0.8]])
    >>> round(auc(np.array([0, 1, 2, 2]), probabilities), 3)
    0.917
    """
    import numpy as np

    _check_two_classes("auc", truth)
    if prediction.shape[1] == 2:
        return _auc(truth == 1, prediction[:, 1])
    areas, _ = _areas_of_pairs(truth, prediction)
    return float(np.mean(areas))


@measure(higher_is_better=True, needs="probabilities", high=1.0, kind="rank")
def auc_ovr(truth: Codes, prediction: Matrix) -> float:
    """AUC of each class against the rest, averaged with the classes' frequencies as weights.

    Classes that do not occur in the truth have weight 0. In binary tasks it is `auc`.
    """
    import numpy as np

    _check_two_classes("auc_ovr", truth)
    if prediction.shape[1] == 2:
        return auc(truth, prediction)
    present, count = np.unique(truth, return_counts=True)
    return float(np.average([_auc(truth == code, prediction[:, code]) for code in present], weights=count))


@measure(higher_is_better=True, needs="probabilities", high=1.0, kind="rank")
def auc_ovo(truth: Codes, prediction: Matrix) -> float:
    """AUC of each pair of classes, both ways, averaged with the pairs' frequencies as weights.

    Pairs with a class that does not occur in the truth do not count. In binary tasks it is `auc`.
    """
    import numpy as np

    _check_two_classes("auc_ovo", truth)
    if prediction.shape[1] == 2:
        return auc(truth, prediction)
    areas, sizes = _areas_of_pairs(truth, prediction)
    return float(np.average(areas, weights=sizes))


@measure(higher_is_better=True, needs="probabilities", high=1.0, types=("binary",), kind="rank")
def pr_auc(truth: Codes, prediction: Matrix) -> float:
    """Average precision, the step-wise area under the precision-recall curve. Undefined without positives."""
    from sklearn.metrics import average_precision_score

    if not truth.any():
        raise UndefinedMetric("pr_auc is undefined: no true label is positive.")
    return float(average_precision_score(truth, prediction[:, 1]))


def _check_two_classes(name: str, truth: Codes) -> None:
    if truth.min() == truth.max():
        raise UndefinedMetric(
            f"{name} is undefined: only one class (code {truth[0]}) occurs among the true labels."
        )


def _areas_of_pairs(truth: Codes, prediction: Matrix) -> tuple[list[float], list[int]]:
    """Return the area of each pair of classes that occur, the mean of both ways, and the pair's number of rows."""
    import numpy as np

    rows = {code: np.flatnonzero(truth == code) for code in np.unique(truth)}
    areas, sizes = [], []
    for first, second in combinations(rows, 2):
        pair = np.concatenate([rows[first], rows[second]])
        is_first = truth[pair] == first
        both_ways = _auc(is_first, prediction[pair, first]) + _auc(~is_first, prediction[pair, second])
        areas.append(both_ways / 2)
        sizes.append(len(pair))
    return areas, sizes


def _auc(positive: NDArray[np.bool_], score: NDArray[np.float64]) -> float:
    """Return the Mann-Whitney statistic over mid-ranks, as a share of the pairs."""
    import numpy as np

    _, place, count = np.unique(score, return_inverse=True, return_counts=True)
    midrank = np.cumsum(count) - (count - 1) / 2
    n_positive = int(positive.sum())
    rank_sum = float(midrank[place[positive]].sum())
    return (rank_sum - n_positive * (n_positive + 1) / 2) / (n_positive * (len(positive) - n_positive))
