"""auto-sklearn, and auto-sklearn 2 with `_second`: SMAC over scikit-learn pipelines, ensembled."""

import time
from pathlib import Path

import autosklearn.classification
import autosklearn.metrics as own
import autosklearn.regression
import pandas as pd
from assay_contract import Prediction, passed
from assay_encode import plain_frame
from autosklearn.experimental.askl2 import AutoSklearn2Classifier

METRICS = {
    "auc": own.roc_auc, "logloss": own.log_loss, "acc": own.accuracy, "balacc": own.balanced_accuracy,
    "f1": {"binary": own.f1, "multiclass": own.f1_weighted}, "pr_auc": own.average_precision,
    "rmse": own.root_mean_squared_error, "mse": own.mean_squared_error, "mae": own.mean_absolute_error, "r2": own.r2,
}  # fmt: skip
SELECTORS = ("auc", "logloss", "balacc")  # auto-sklearn 2 has learned policies for these


def fit(train, budget, params):
    """Search, build the ensemble, and say how many of the runs succeeded."""
    second = params["_second"]
    metric = train.metric_as({name: METRICS[name] for name in (SELECTORS if second else METRICS)})
    automl = kind(train, second)(
        time_left_for_this_task=int(budget.seconds),
        n_jobs=budget.cores,
        memory_limit=budget.memory_mb // budget.cores,
        seed=train.seed % 2**31,
        metric=metric,
        tmp_folder=str(Path("autosklearn").absolute()),  # candidates run in other folders
        **passed(params),
    )
    began = time.time()
    automl.fit(frame(train, second), pd.Series(train.y))
    runs = automl.cv_results_
    done = sum(status.startswith("Success") for status in runs["status"])
    train.report(models_count=done, runs=len(runs["status"]), statistics=automl.sprint_statistics())
    if done:
        automl.leaderboard(ensemble_only=False).to_csv(train.artifacts / "leaderboard.csv")
        write_trace(train, automl, metric.name, began)
    return automl, train.is_classification, second


def predict(model, test):
    """Let the ensemble predict."""
    automl, is_classification, second = model
    X = frame(test, second)
    if is_classification:
        return Prediction(probabilities=automl.predict_proba(X), classes=classes(automl))
    return Prediction(values=automl.predict(X))


def kind(train, second):
    """Return the estimator's class."""
    if second:
        return AutoSklearn2Classifier
    if train.is_classification:
        return autosklearn.classification.AutoSklearnClassifier
    return autosklearn.regression.AutoSklearnRegressor


def frame(rows, second):
    """Return numbers and categories, and text as pandas' string type; no pipeline of auto-sklearn 2 knows text."""
    X = plain_frame(rows, text="drop" if second else "keep")
    return X.astype({name: "string" for name in X.select_dtypes("object")})


def classes(automl):
    """Return the codes in the order of the probability columns."""
    return [int(code) for code in automl.automl_.InputValidator.target_validator.classes_]


def write_trace(train, automl, metric, began):
    """Keep the loss of every run that succeeded (auto-sklearn minimises: 1 - auc, the log loss itself …)."""
    done = [run for run in automl.automl_.runhistory_.data.values() if "SUCCESS" in str(run.status)]
    train.write_trace([(run.endtime - began, run.cost) for run in done], metric, False)
