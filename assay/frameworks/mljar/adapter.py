"""MLJAR AutoML: one folder per model, with its out-of-fold predictions."""

import time
from pathlib import Path

import pandas as pd
from assay_contract import Prediction, codes_in, passed
from assay_encode import plain_frame
from supervised.automl import AutoML

METRICS = {"auc": "auc", "logloss": "logloss", "acc": "accuracy", "f1": {"binary": "f1"}, "pr_auc": "average_precision",
           "rmse": "rmse", "mse": "mse", "mae": "mae", "r2": "r2", "mape": "mape"}  # fmt: skip
TASKS = {
    "binary": "binary_classification",
    "multiclass": "multiclass_classification",
    "regression": "regression",
}
HIGHER = ("auc", "accuracy", "f1", "average_precision", "r2")
RESULTS = Path("mljar")


def fit(train, budget, params):
    """Run the mode's steps; MLJAR looks at the clock between models."""
    metric = train.metric_as(METRICS)
    automl = AutoML(
        results_path=str(RESULTS),
        ml_task=TASKS[train.type],
        eval_metric=metric,
        total_time_limit=max(1, int(budget.seconds)),
        n_jobs=budget.cores,
        random_state=train.seed % 2**31,
        **passed(params),
    )
    began = time.time()
    automl.fit(plain_frame(train, dates="date"), train.y)
    train.report(models_count=len(automl.get_leaderboard()))
    return automl, train.is_classification, metric, began


def predict(model, test):
    """Let the best model predict; columns are called prediction_CODE, and labels have its own threshold."""
    automl, is_classification = model[:2]
    said = automl.predict_all(plain_frame(test, dates="date"))
    if not is_classification:
        return Prediction(values=said["prediction"].to_numpy())
    return Prediction(**probabilities(said), labels=said["label"].astype(int).to_numpy())


def export(model, train):
    """Write the leaderboard, when each model was done, and the out-of-fold predictions MLJAR wrote of it."""
    automl, is_classification, metric, began = model
    board = automl.get_leaderboard()
    board.to_csv(train.artifacts / "leaderboard.csv", index=False)
    sign = -1 if metric in HIGHER else 1  # MLJAR minimises: what should be high it keeps negated
    ends = [(RESULTS / name / "status.txt").stat().st_mtime - began for name in board["name"]]
    train.write_trace(zip(ends, sign * board["metric_value"], board["name"]), metric, sign < 0)
    files = {name: RESULTS / name / "predictions_out_of_folds.csv" for name in board["name"]}
    said = ((name, pd.read_csv(path)) for name, path in files.items() if path.exists())
    is_written = train.write_oof(
        (name, Prediction(**probabilities(one)) if is_classification else one["prediction"].to_numpy())
        for name, one in said
        if len(one) == train.n_rows
    )
    if not is_written:
        # In little time it does not cross-validate: there are no rows but those of the validation part.
        train.report(no_oof="MLJAR validated on one split of the training rows in this time.")


def probabilities(said):
    """Return the columns of classes, or of two classes the one of the last."""
    names = [name for name in said.columns if name.startswith("prediction_")]
    if not names:
        return {"probabilities": said["prediction"].to_numpy()}
    return {"probabilities": said[names].to_numpy(), "classes": codes_in(names)}
