"""Scoring: the right array for each metric, clear refusals, and no heavy imports."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from assay.errors import ConfigError, DataError
from assay.metrics import BUILTIN, Metric, UndefinedMetric, get_metric, score, signed

ROOT = Path(__file__).parents[2]
TRUTH, LABELS = [0, 1, 1, 0], [0, 1, 0, 0]
BINARY = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
TERNARY = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.6, 0.3, 0.1], [0.5, 0.3, 0.2]])


@pytest.mark.parametrize("name", BUILTIN)
def test_every_metric_lies_in_its_range_and_prefers_the_better_prediction(name):
    metric = BUILTIN[name]
    truth = np.array([0, 1, 1, 0, 0, 1])
    good = {"labels": truth, "probabilities": np.eye(2)[truth], "values": truth.astype(float)}
    bad = {key: value[::-1] for key, value in good.items()}
    kept = ["values"] if metric.needs == "values" else ["labels", "probabilities"]
    best = score(metric, truth, **{key: good[key] for key in kept})
    worst = score(metric, truth, **{key: bad[key] for key in kept})
    assert signed(metric, best) > signed(metric, worst)
    assert metric.low <= best <= metric.high and metric.low <= worst <= metric.high
    assert best == pytest.approx(metric.high if metric.higher_is_better else metric.low, abs=1e-12)


def test_metric_gets_the_array_it_needs():
    assert score("acc", TRUTH, labels=LABELS, probabilities=BINARY) == 0.75
    assert score("auc", TRUTH, labels=LABELS, probabilities=BINARY) == 1.0
    assert score(get_metric("mae"), [1.0, 2.0], values=[1.0, 4.0]) == 1.0


def test_lists_floats_of_any_width_and_booleans_are_taken():
    assert score("logloss", TRUTH, probabilities=BINARY.astype(np.float32)) == pytest.approx(
        score("logloss", TRUTH, probabilities=BINARY), rel=1e-6
    )
    assert score("acc", [False, True], labels=np.array([0, 1], dtype=np.uint8)) == 1.0


def test_number_of_classes_reaches_the_f_score():
    weighted = score("f1", TRUTH, labels=LABELS, probabilities=TERNARY)
    assert weighted == score("f1", TRUTH, labels=LABELS, classes=3)
    assert weighted != score("f1", TRUTH, labels=LABELS, classes=2)


def test_what_was_not_predicted_leaves_the_metric_undefined():
    with pytest.raises(UndefinedMetric, match="'logloss' needs predicted probabilities, and there are none"):
        score("logloss", TRUTH, labels=LABELS, classes=2)
    with pytest.raises(UndefinedMetric, match="'rmse' needs predicted values"):
        score("rmse", [1.0])


def test_no_rows_and_no_finite_value_are_undefined():
    with pytest.raises(UndefinedMetric, match="there are no rows"):
        score("acc", [], labels=[])
    endless = Metric("endless", lambda truth, prediction: float("nan"), True)
    with pytest.raises(UndefinedMetric, match="its value is nan"):
        score(endless, TRUTH, labels=LABELS)


def test_metric_for_another_type_is_refused():
    with pytest.raises(ConfigError, match="'pr_auc' is for binary tasks, not for multiclass"):
        score("pr_auc", TRUTH, labels=LABELS, probabilities=TERNARY)
    with pytest.raises(ConfigError, match="'acc' is for binary and multiclass tasks, not for regression"):
        score("acc", [1.0, 2.0], values=[1.0, 2.0])
    with pytest.raises(ConfigError, match="'rmse' is for regression tasks, not for"):
        score("rmse", TRUTH, labels=LABELS)


@pytest.mark.parametrize(
    ("name", "arrays", "message"),
    [
        ("acc", {"labels": [0, 1]}, "4 true values and 2 predictions"),
        ("acc", {"labels": [0, 1, -1, 0]}, "prediction holds class code -1"),
        ("acc", {"labels": [0, 2, 1, 0], "classes": 2}, "prediction holds class code 2"),
        ("acc", {"labels": [0.0, 1.0, 1.0, 0.0]}, "vector of integer class codes, not float64"),
        ("logloss", {"probabilities": BINARY[:, 1]}, r"must have 2 dimension\(s\), not 1"),
        ("logloss", {"probabilities": BINARY, "classes": 3}, "2 columns, and the task has 3 classes"),
        ("auc", {"probabilities": BINARY * np.nan}, "must hold finite numbers; 8 are not"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, arrays, message):
    with pytest.raises(DataError, match=message):
        score(name, TRUTH, **arrays)


def test_missing_truth_is_refused_and_not_taken_for_the_last_class():
    with pytest.raises(DataError, match="truth holds class code -1"):
        score("logloss", [0, -1, 1, 0], probabilities=BINARY)


def test_signed_value_is_higher_when_better():
    assert signed(BUILTIN["acc"], 0.25) == 0.25
    assert signed(BUILTIN["logloss"], 0.25) == -0.25
    assert str(signed(BUILTIN["rmse"], 0.0)) == "0.0"


SCORING = """
import sys
import assay.metrics
assert "numpy" not in sys.modules, "importing assay.metrics imports numpy"
from assay.metrics import score
matrix = [[0.9, 0.1], [0.2, 0.8]]
for name in ("logloss", "acc", "balacc", "auc", "brier", "ece", "mean_pce"):
    score(name, [0, 1], labels=[0, 1], probabilities=matrix)
for name in ("rmse", "r2", "mae", "mse", "msle", "pinball_0.9"):
    score(name, [0.0, 1.0], values=[0.5, 1.0])
print(*sorted({"sklearn", "pandas", "scipy"} & set(sys.modules)))
"""


def test_scoring_the_usual_metrics_imports_numpy_only():
    run = subprocess.run(
        [sys.executable, "-c", SCORING], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == ""
