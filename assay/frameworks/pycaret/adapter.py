"""PyCaret: `compare_models`, then the best one refitted on all rows; it looks at the clock between models."""

import logging

import numpy as np
from assay_contract import Prediction, codes_in, passed
from assay_encode import plain_frame
from pycaret.classification import ClassificationExperiment
from pycaret.regression import RegressionExperiment

METRICS = {"auc": "AUC", "logloss": "Likelihood", "acc": "Accuracy", "f1": "F1", "mcc": "MCC",
           "rmse": "RMSE", "mse": "MSE", "mae": "MAE", "r2": "R2", "rmsle": "RMSLE", "mape": "MAPE"}  # fmt: skip
TARGET = "target"
# PyCaret turns all that is printed into messages of its log: one that prints would feed itself for ever.
LOG = logging.getLogger("pycaret")
LOG.addHandler(logging.NullHandler())
LOG.propagate = False


def fit(train, budget, params):
    """Compare models until the time is up."""
    metric = train.metric_as(METRICS)
    experiment = (ClassificationExperiment if train.is_classification else RegressionExperiment)()
    X = frame(train)
    experiment.setup(
        X.assign(**{TARGET: train.y}),
        target=TARGET,
        index=False,
        n_jobs=budget.cores,
        session_id=train.seed % 2**31,
        html=False,
        verbose=False,
        system_log=LOG,
        **kinds(X),
        **passed(params),
    )
    if metric == "Likelihood":
        experiment.add_metric("likelihood", metric, likelihood, target="pred_proba")
    best = experiment.compare_models(
        sort=metric,
        exclude=["ridge", "svm"] if metric in ("AUC", "Likelihood") else None,  # they know no probabilities
        budget_time=max(1.0, budget.remaining()) / 60,  # to PyCaret 0 means no limit
        verbose=False,
    )
    board = experiment.pull()
    board.to_csv(train.artifacts / "leaderboard.csv")
    models = [name for name in board.index if name != "dummy"]
    train.report(models_count=len(models), best=type(best).__name__)
    if not models:
        raise RuntimeError("no model could be compared; the log tells why")
    return experiment, experiment.finalize_model(best), train.is_classification


def predict(model, test):
    """Let the best model predict; columns are called prediction_score_CODE, and some models have none."""
    experiment, pipeline, is_classification = model
    settings = {"data": frame(test), "round": 16, "verbose": False}
    if not is_classification:
        said = experiment.predict_model(pipeline, **settings)
        return Prediction(values=said["prediction_label"].to_numpy())
    said = experiment.predict_model(pipeline, raw_score=True, **settings)
    names = [name for name in said if name.startswith("prediction_score_")]
    labels = said["prediction_label"].to_numpy()
    probabilities = said[names].to_numpy() if names else None
    return Prediction(probabilities=probabilities, classes=codes_in(names), labels=labels)


def frame(rows):
    """Return numbers, categories and text; a missing date breaks PyCaret's dates, a missing text its words."""
    X = plain_frame(rows)
    return X.fillna({name: "" for name in X.select_dtypes("object")})


def kinds(X):
    """Return which columns are what, because PyCaret guesses otherwise."""
    names = {"numeric_features": "number", "categorical_features": "category", "text_features": "object"}
    return {name: list(X.select_dtypes(kind)) for name, kind in names.items()}


def likelihood(y, probabilities, sample_weight=None):
    """Return exp(-log loss): PyCaret scores what fails as 0, which would be the best log loss."""
    p = np.asarray(probabilities)
    p = np.column_stack([1 - p, p]) if p.ndim == 1 else p
    return np.exp(np.log(np.clip(p[np.arange(len(p)), np.asarray(y, dtype=int)], 1e-15, 1)).mean())
