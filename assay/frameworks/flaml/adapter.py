"""FLAML: `AutoML.fit` with its own time budget; every trial is in its log."""

from assay_contract import Prediction, passed
from assay_encode import plain_frame
from flaml import AutoML
from flaml.automl.data import get_output_from_log

METRICS = {
    "auc": "roc_auc", "auc_ovo": {"binary": "roc_auc", "multiclass": "roc_auc_ovo"},
    "auc_ovr": {"binary": "roc_auc", "multiclass": "roc_auc_ovr"}, "logloss": "log_loss", "acc": "accuracy",
    "f1": {"binary": "f1"}, "pr_auc": {"binary": "ap"},
    "rmse": "rmse", "mse": "mse", "mae": "mae", "r2": "r2", "mape": "mape",
}  # fmt: skip


def fit(train, budget, params):
    """Search until the budget is used."""
    automl = AutoML()
    log = str(train.artifacts / "flaml.log")
    metric = train.metric_as(METRICS)
    automl.fit(
        plain_frame(train, dates="date"),
        train.y,
        task=train.type,
        metric=metric,
        time_budget=budget.seconds,
        n_jobs=budget.cores,
        seed=train.seed,
        log_file_name=log,
        log_type="all",
        **passed(params),
    )
    seconds, _, losses, configs, _ = get_output_from_log(filename=log, time_budget=float("inf"))
    train.write_trace(
        [(s, loss, c["Current Learner"]) for s, loss, c in zip(seconds, losses, configs)], metric, False
    )
    train.report(models_count=len(seconds), best=automl.best_estimator)
    return automl, train.is_classification


def predict(model, test):
    """Let the best model predict."""
    automl, is_classification = model
    X = plain_frame(test, dates="date")
    if is_classification:
        return Prediction(probabilities=automl.predict_proba(X), classes=automl.classes_)
    return Prediction(values=automl.predict(X))
