"""auto-sklearn, and auto-sklearn 2 with `_second`: SMAC over scikit-learn pipelines, ensembled."""

import time
from pathlib import Path
from types import SimpleNamespace

import autosklearn.classification
import autosklearn.metrics as own
import autosklearn.regression
import numpy as np
import pandas as pd
from assay_contract import Prediction, passed
from assay_encode import plain_frame
from autosklearn.evaluation.train_evaluator import TrainEvaluator
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
        delete_tmp_folder_after_terminate=False,  # their predictions are there
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


def export(model, train):
    """Write the predictions of cross-validated runs; auto-sklearn keeps the best 50 at most, fold after fold."""
    automl, is_classification = model[:2]
    rows = validated(automl.automl_)
    order, runs = np.argsort(rows), Path(automl.automl_._backend.get_runs_directory())
    is_whole = np.array_equal(rows[order], np.arange(train.n_rows))
    files = sorted(runs.glob("*/predictions_ensemble_*.npy")) if is_whole else []
    # auto-sklearn pickles these arrays itself. They are read where they were written, inside the sandbox.
    held_out = ((name(path.parent), np.load(str(path), allow_pickle=True)[order]) for path in files)
    is_written = train.write_oof(
        (run, Prediction(probabilities=said, classes=classes(automl)) if is_classification else said.ravel())
        for run, said in held_out
    )
    if not is_written:
        train.report(no_oof="auto-sklearn validated its models on a part of the training rows.")


def name(folder):
    """Return the number of a run, which the leaderboard has too, and its budget; the folder is SEED_NUMBER_BUDGET."""
    return "run %s, budget %s" % tuple(folder.name.split("_")[1:])


def validated(automl):
    """Return the rows that a run validates on, in the order of its saved predictions."""
    data = automl._backend.load_datamanager()
    settings = SimpleNamespace(
        resampling_strategy=automl._resampling_strategy,
        resampling_strategy_args=automl._resampling_strategy_arguments,
    )
    X, y = data.data["X_train"], data.data["Y_train"]
    splits = TrainEvaluator.get_splitter(settings, data).split(np.zeros(X.shape[0]), np.ravel(y))
    return np.concatenate([rows for _, rows in splits])


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
