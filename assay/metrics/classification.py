"""Metrics of predicted classes: truth and prediction are int64 class codes, 1 the positive of two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.metrics.record import UndefinedMetric, measure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.int64]

__all__ = ["acc", "balacc", "f05", "f1", "f2", "max_pce", "mcc", "mean_pce"]


@measure(higher_is_better=True, needs="labels", high=1.0, kind="additive")
def acc(truth: Codes, prediction: Codes) -> float:
    """Accuracy: the share of rows whose class is right."""
    return float((truth == prediction).mean())


@measure(higher_is_better=True, needs="labels", high=1.0, kind="ratio")
def balacc(truth: Codes, prediction: Codes) -> float:
    """Balanced accuracy: the mean of the classes' recalls, over the classes that occur in the truth."""
    return float(_recalls(truth, prediction).mean())


@measure(higher_is_better=False, needs="labels", high=1.0, kind="ratio")
def mean_pce(truth: Codes, prediction: Codes) -> float:
    """Mean per-class error: 1 - balanced accuracy."""
    return float((1.0 - _recalls(truth, prediction)).mean())


@measure(higher_is_better=False, needs="labels", high=1.0, kind="ratio")
def max_pce(truth: Codes, prediction: Codes) -> float:
    """Maximum per-class error: that of the worst class among those that occur in the truth."""
    return float((1.0 - _recalls(truth, prediction)).max())


@measure(higher_is_better=True, needs="labels", high=1.0, kind="ratio", wants_classes=True)
def f1(truth: Codes, prediction: Codes, classes: int | None = None) -> float:
    """F1 of the positive class; with more than two classes their mean, weighted by support."""
    return _f_beta(1.0, truth, prediction, classes)


@measure(higher_is_better=True, needs="labels", high=1.0, kind="ratio", wants_classes=True)
def f2(truth: Codes, prediction: Codes, classes: int | None = None) -> float:
    """F2, where recall counts twice as much as precision; averaged as f1."""
    return _f_beta(2.0, truth, prediction, classes)


@measure(higher_is_better=True, needs="labels", high=1.0, kind="ratio", wants_classes=True)
def f05(truth: Codes, prediction: Codes, classes: int | None = None) -> float:
    """F0.5, where precision counts twice as much as recall; averaged as f1."""
    return _f_beta(0.5, truth, prediction, classes)


@measure(higher_is_better=True, needs="labels", low=-1.0, high=1.0, kind="ratio")
def mcc(truth: Codes, prediction: Codes) -> float:
    """Matthews correlation coefficient; 0 when truth or prediction is constant."""
    from sklearn.metrics import matthews_corrcoef

    if truth.min() == truth.max() or prediction.min() == prediction.max():
        return 0.0  # what scikit-learn returns too, after a warning about a single label
    return float(matthews_corrcoef(truth, prediction))


def _recalls(truth: Codes, prediction: Codes) -> NDArray[np.float64]:
    import numpy as np

    support = np.bincount(truth)
    hits = np.bincount(truth[truth == prediction], minlength=len(support))
    present = support > 0
    return np.asarray(hits[present] / support[present])


def _f_beta(beta: float, truth: Codes, prediction: Codes, classes: int | None) -> float:
    from sklearn.metrics import fbeta_score

    if classes is None:
        classes = 1 + int(max(truth.max(), prediction.max()))
    if classes <= 2 and not truth.any() and not prediction.any():
        raise UndefinedMetric(
            "The F-score is undefined: no row is positive, neither in the truth nor in the prediction."
        )
    average = "binary" if classes <= 2 else "weighted"
    return float(fbeta_score(truth, prediction, beta=beta, average=average, zero_division=0.0))
