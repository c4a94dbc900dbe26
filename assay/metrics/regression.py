"""Metrics of predicted numbers: truth and prediction are float64 values."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from assay.metrics.record import Metric, UndefinedMetric, measure, metric_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

__all__ = ["mae", "mse", "msle", "pinball", "r2", "rmse", "rmsle"]


@measure(higher_is_better=False, needs="values", kind="additive")
def mse(truth: Values, prediction: Values) -> float:
    """Mean squared error."""
    return float(((truth - prediction) ** 2).mean())


@measure(higher_is_better=False, needs="values", kind="additive")
def rmse(truth: Values, prediction: Values) -> float:
    """Root of the mean squared error, in the target's unit."""
    return math.sqrt(mse(truth, prediction))


@measure(higher_is_better=False, needs="values", kind="additive")
def mae(truth: Values, prediction: Values) -> float:
    """Mean absolute error, in the target's unit."""
    return float(abs(truth - prediction).mean())


@measure(higher_is_better=True, needs="values", low=-math.inf, high=1.0, kind="ratio")
def r2(truth: Values, prediction: Values) -> float:
    """Coefficient of determination, 1 - MSE / variance. Undefined for constant truth and for a single row."""
    # Compared, not computed: the mean of equal numbers may differ from them in the last bit.
    if len(truth) < 2 or truth.min() == truth.max():
        raise UndefinedMetric("r2 is undefined: the true values do not vary.")
    return 1.0 - mse(truth, prediction) / float(((truth - truth.mean()) ** 2).mean())


@measure(higher_is_better=False, needs="values", kind="additive")
def msle(truth: Values, prediction: Values) -> float:
    """Mean squared error of ln(1 + value). Undefined for values of -1 or less."""
    import numpy as np

    for name, values in (("true value", truth), ("prediction", prediction)):
        if values.min() <= -1.0:
            raise UndefinedMetric(
                f"The logarithmic error is undefined: the smallest {name} is {values.min():g}, not above -1."
            )
    return mse(np.log1p(truth), np.log1p(prediction))


@measure(higher_is_better=False, needs="values", kind="additive")
def rmsle(truth: Values, prediction: Values) -> float:
    """Root of the mean squared error of ln(1 + value). Undefined for values of -1 or less."""
    return math.sqrt(msle(truth, prediction))


@measure(higher_is_better=False, needs="values", kind="additive")
def pinball(truth: Values, prediction: Values, level: float = 0.5) -> float:
    """Quantile loss of the predicted values as the median; `pinball_0.9` takes them as the 0.9 quantile.

    A prediction that is too low costs `level` per unit, one that is too high 1 - `level`; at 0.5 it is half
    the mean absolute error.
    """
    import numpy as np

    short = truth - prediction
    return float(np.maximum(level * short, (level - 1.0) * short).mean())


def pinball_at(level: str) -> Metric:
    """Make the metric `pinball_<level>`, for a level between 0 and 1 such as "0.9"."""
    function = partial(pinball, level=float(level))
    function.__dict__.update(vars(pinball))
    function.__doc__ = f"Quantile loss of the predicted values as the {level} quantile."
    return metric_of(function, f"pinball_{level}")
