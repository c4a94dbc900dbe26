"""(Truth, prediction) → number: one function per metric, and a record of what is known about it."""

from assay.metrics.record import FailedMetric, Kind, Metric, Needs, UndefinedMetric
from assay.metrics.registry import BUILTIN, check_metrics, default_metrics, get_metric
from assay.metrics.scoring import score, signed

__all__ = [
    "BUILTIN",
    "FailedMetric",
    "Kind",
    "Metric",
    "Needs",
    "UndefinedMetric",
    "check_metrics",
    "default_metrics",
    "get_metric",
    "score",
    "signed",
]
