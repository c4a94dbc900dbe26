"""Metrics of the probabilities themselves: n×k float64 matrices whose columns are all classes of the task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.metrics.record import measure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.int64]
    Matrix = NDArray[np.float64]

__all__ = ["brier", "ece", "logloss"]

ECE_BINS = 15


@measure(higher_is_better=False, needs="probabilities", kind="additive")
def logloss(truth: Codes, prediction: Matrix) -> float:
    """Log loss: the mean of -ln(probability of the true class).

    Rows are first made to sum to one, then clipped to [eps, 1 - eps] with float64's eps of 2.2e-16, as
    scikit-learn does: a row that was sure and wrong costs 36.04, not infinity. Classes that are absent from
    the truth keep their columns.
    """
    import numpy as np

    eps = np.finfo(np.float64).eps
    true_class = prediction[np.arange(len(truth)), truth] / prediction.sum(axis=1)
    return float(-np.log(np.clip(true_class, eps, 1 - eps)).mean())


@measure(higher_is_better=False, needs="probabilities", high=2.0, kind="additive")
def brier(truth: Codes, prediction: Matrix) -> float:
    """Brier score: mean squared distance to the one-hot truth, at most 2; in binary tasks half of it."""
    import numpy as np

    distance = prediction.astype(np.float64)
    distance[np.arange(len(truth)), truth] -= 1.0
    total = float((distance**2).sum(axis=1).mean())
    return total / 2 if prediction.shape[1] == 2 else total


@measure(higher_is_better=False, needs="probabilities", high=1.0, kind="generic")
def ece(truth: Codes, prediction: Matrix) -> float:
    """ECE: the expected calibration error of the most probable class, in 15 bins of equal width.

    The confidence of a row is its largest probability; of equal ones the first class is taken. Bins are
    closed on the right, (0, 1/15], (1/15, 2/15] …; the gaps between mean confidence and accuracy are
    averaged with the bins' shares of the rows as weights.

    Reference: Guo et al., On Calibration of Modern Neural Networks, ICML 2017, equation 3.
    """
    import numpy as np

    confidence = prediction.max(axis=1)
    correct = prediction.argmax(axis=1) == truth
    edges = np.linspace(0.0, 1.0, ECE_BINS + 1)[1:-1]
    gap = np.bincount(np.digitize(confidence, edges, right=True), weights=correct - confidence)
    return float(np.abs(gap).sum() / len(truth))
