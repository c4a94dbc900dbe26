"""Which metrics there are, and which one a name means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from assay.errors import ConfigError
from assay.metrics import classification, probabilities, ranking, regression
from assay.metrics.own import is_own, own_metric
from assay.metrics.record import Metric, metric_of
from assay.plugins import entry_point_names, lookup

__all__ = ["BUILTIN", "check_metrics", "check_type", "default_metrics", "get_metric"]

BUILTIN: Mapping[str, Metric] = MappingProxyType(
    {
        name: metric_of(vars(module)[name], name)
        for module in (ranking, probabilities, classification, regression)
        for name in module.__all__
    }
)
"""The metrics that come with Assay, by name; each name in its module's `__all__` is one."""

DEFAULT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "binary": ("auc", "logloss", "acc", "balacc"),
        "multiclass": ("logloss", "acc", "balacc"),
        "regression": ("rmse", "r2", "mae"),
    }
)

# Names from elsewhere. They are not accepted, because a thing has one name; they make the error helpful.
ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "accuracy": "acc",
        "accuracy_score": "acc",
        "auroc": "auc",
        "average_precision": "pr_auc",
        "balanced_accuracy": "balacc",
        "balanced_accuracy_score": "balacc",
        "brier_score": "brier",
        "brier_score_loss": "brier",
        "cross_entropy": "logloss",
        "expected_calibration_error": "ece",
        "f0.5": "f05",
        "f1_score": "f1",
        "f1_weighted": "f1",
        "log_loss": "logloss",
        "matthews_corrcoef": "mcc",
        "mean_absolute_error": "mae",
        "mean_pinball_loss": "pinball",
        "mean_squared_error": "mse",
        "mean_squared_log_error": "msle",
        "quantile_loss": "pinball",
        "r2_score": "r2",
        "roc_auc": "auc",
        "roc_auc_ovo": "auc_ovo",
        "roc_auc_ovo_weighted": "auc_ovo",
        "roc_auc_ovr": "auc_ovr",
        "roc_auc_ovr_weighted": "auc_ovr",
        "roc_auc_score": "auc",
        "root_mean_squared_error": "rmse",
        "root_mean_squared_log_error": "rmsle",
    }
)


def get_metric(name: str, where: str = "") -> Metric:
    """Return the metric of that name, or say what it might have meant.

    A name is a built-in (`auc`), a quantile level (`pinball_0.9`), an entry point of the group
    `assay.metrics`, or `file.py:function`. `where` says in errors where the name stood.
    """
    if name.startswith("pinball_"):
        return _pinball(name, where)
    if is_own(name):
        return own_metric(name, where)
    _refuse_foreign(name, where)
    found: object = lookup("metrics", name, BUILTIN, where)
    if isinstance(found, Metric):
        # Results keep this name, and must find the metric by it again.
        return replace(found, name=name)
    return metric_of(found, name, where)


def check_metrics(names: Iterable[str], task_type: str, where: str = "") -> tuple[Metric, ...]:
    """Return the metrics, all known, all for this type of task and none named twice."""
    metrics: dict[str, Metric] = {}
    for name in names:
        if name in metrics:
            raise ConfigError(f"Metric '{name}' is named twice{_space(where)}. Name it once.")
        metrics[name] = get_metric(name, where)
        check_type(metrics[name], task_type, where)
    return tuple(metrics.values())


def check_type(metric: Metric, task_type: str, where: str = "") -> None:
    """Raise `ConfigError` when the metric is not for this type of task."""
    if task_type in metric.types:
        return
    fitting = ", ".join(name for name, other in BUILTIN.items() if task_type in other.types)
    raise ConfigError(
        f"Metric '{metric.name}'{_space(where)} is for {' and '.join(metric.types)} tasks, "
        f"not for {task_type} ones. For these there are: {fitting}."
    )


def default_metrics(task_type: str) -> tuple[str, ...]:
    """Return AMLB's metrics for a type of task, the one to optimise first."""
    if task_type not in DEFAULT:
        raise ConfigError(f"Unknown task type '{task_type}'. Use one of {', '.join(DEFAULT)}.")
    return DEFAULT[task_type]


def _pinball(name: str, where: str) -> Metric:
    """Read `pinball_0.9`; a level has one spelling, or results of one metric would not meet."""
    level = name.removeprefix("pinball_")
    if not re.fullmatch(r"0\.\d*[1-9]", level) or level == "0.5":
        raise ConfigError(
            f"Unknown metric '{name}'{_space(where)}. Use 'pinball' for the median, and for another quantile "
            "a level between 0 and 1, without trailing zeros, as in 'pinball_0.9'."
        )
    return regression.pinball_at(level)


def _refuse_foreign(name: str, where: str) -> None:
    key = name.lower().replace("-", "_").replace(" ", "_")
    bare = key.removeprefix("neg_")
    meant = ALIASES.get(bare, bare)
    if name in BUILTIN or meant not in BUILTIN or key == meant or name in entry_point_names("metrics"):
        return
    if key.startswith("neg_"):
        raise ConfigError(
            f"Unknown metric '{name}'{_space(where)}. Use '{meant}': "
            "its direction is known, and values keep their sign."
        )
    raise ConfigError(f"Unknown metric '{name}'{_space(where)}. Did you mean '{meant}'?")


def _space(where: str) -> str:
    return f" {where}" if where else ""
