"""Names of metrics: built-ins, levels, plug-ins, files, and what a wrong name is answered."""

import numpy as np
import pytest

import assay.metrics.registry as registry
import assay.plugins
from assay.errors import ConfigError
from assay.metrics import BUILTIN, Metric, check_metrics, default_metrics, get_metric

AMLB = {
    "binary": "auc logloss acc balacc pr_auc f1 f2 f05 max_pce mean_pce auc_ovo auc_ovr",
    "multiclass": "logloss acc balacc f1 f2 f05 max_pce mean_pce auc_ovo auc_ovr",
    "regression": "rmse r2 mae mse msle rmsle",
}


class Point:
    """An entry point that loads what it was given."""

    def __init__(self, name, loaded):
        self.name = name
        self.load = lambda: loaded


@pytest.fixture
def plugged(monkeypatch):
    """Return a function that installs an entry point."""

    def plug(name, loaded):
        for module in (assay.plugins, registry):
            monkeypatch.setattr(module, "entry_point_names", lambda kind: {name: Point(name, loaded)})

    return plug


@pytest.mark.parametrize("task_type", AMLB)
def test_every_metric_of_amlb_is_known(task_type):
    metrics = check_metrics(AMLB[task_type].split(), task_type)
    assert [metric.name for metric in metrics] == AMLB[task_type].split()


@pytest.mark.parametrize("name", BUILTIN)
def test_every_builtin_is_described_and_found(name):
    metric = get_metric(name)
    assert metric is BUILTIN[name] or metric == BUILTIN[name]
    assert metric.name == name and metric.description
    assert metric.low in (0.0, -1.0, -np.inf)


def test_defaults_are_amlbs_and_fit_their_type():
    assert default_metrics("binary") == ("auc", "logloss", "acc", "balacc")
    assert default_metrics("multiclass") == ("logloss", "acc", "balacc")
    assert default_metrics("regression") == ("rmse", "r2", "mae")
    for task_type in AMLB:
        check_metrics(default_metrics(task_type), task_type)
    with pytest.raises(ConfigError, match="Unknown task type 'ranking'"):
        default_metrics("ranking")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("accuracy", "acc"),
        ("roc_auc", "auc"),
        ("ROC-AUC", "auc"),
        ("log_loss", "logloss"),
        ("logloss2", "logloss"),
        ("balanced_accuracy", "balacc"),
        ("mean_squared_error", "mse"),
        ("root_mean_squared_error", "rmse"),
        ("quantile_loss", "pinball"),
        ("AUC", "auc"),
    ],
)
def test_wrong_name_gets_a_good_suggestion(wrong, right):
    message = rf"Unknown metric '{wrong}' in suite small.yaml\. Did you mean '{right}'\?"
    with pytest.raises(ConfigError, match=message):
        get_metric(wrong, "in suite small.yaml")


@pytest.mark.parametrize("alias", registry.ALIASES)
def test_every_alias_leads_to_a_metric(alias):
    assert registry.ALIASES[alias] in BUILTIN
    assert alias not in BUILTIN


@pytest.mark.parametrize(("wrong", "right"), [("neg_logloss", "logloss"), ("neg_mean_squared_error", "mse")])
def test_negated_names_are_refused(wrong, right):
    with pytest.raises(ConfigError, match=f"Unknown metric '{wrong}'. Use '{right}': its direction is known"):
        get_metric(wrong)


@pytest.mark.parametrize("level", ["0.90", ".9", "0.5", "1.0", "0.0", "90", "high", ""])
def test_quantile_level_has_one_spelling(level):
    with pytest.raises(ConfigError, match=r"as in 'pinball_0\.9'"):
        get_metric(f"pinball_{level}")


def test_quantile_level_is_a_metric():
    metric = get_metric("pinball_0.9")
    assert (metric.name, metric.needs, metric.kind) == ("pinball_0.9", "values", "additive")
    assert "0.9 quantile" in metric.description
    assert check_metrics(["pinball", "pinball_0.1"], "regression")


def test_metric_for_another_type_is_refused_with_those_that_fit():
    with pytest.raises(
        ConfigError, match=r"'pr_auc' in x is for binary tasks, not for multiclass .* auc_ovo"
    ):
        check_metrics(["logloss", "pr_auc"], "multiclass", "in x")
    with pytest.raises(ConfigError, match=r"not for regression ones\. For these there are: mae, mse"):
        check_metrics(["acc"], "regression")


def test_metric_named_twice_is_refused():
    with pytest.raises(ConfigError, match="'acc' is named twice in x"):
        check_metrics(["acc", "acc"], "binary", "in x")


def test_plugin_may_be_a_record_and_takes_the_name_it_is_found_by(plugged):
    plugged("gini", Metric("other", lambda truth, prediction: 0.0, True))
    assert get_metric("gini").name == "gini"


def test_plugin_may_be_a_function_with_attributes(plugged):
    def accuracy(truth, prediction):
        return 1.0

    accuracy.higher_is_better = True
    plugged("accuracy", accuracy)
    assert get_metric("accuracy").function is accuracy
