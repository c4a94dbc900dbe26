"""MLJAR AutoML: one folder per model, with its out-of-fold predictions."""

from pathlib import Path

import pandas as pd
from assay_contract import Prediction, codes_in, passed
from assay_encode import plain_frame
from supervised.automl import AutoML

METRICS = {"auc": "auc", "logloss": "logloss", "acc": "accuracy", "f1": "f1", "pr_auc": "average_precision",
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
    automl.fit(plain_frame(train, dates="date"), train.y)
    board = automl.get_leaderboard()
    board.to_csv(train.artifacts / "leaderboard.csv", index=False)
    sign = -1 if metric in HIGHER else 1  # MLJAR minimises: what should be high it keeps negated
    train.write_trace(
        zip(board["train_time"].cumsum(), sign * board["metric_value"], board["name"]), metric, sign < 0
    )
    train.report(models_count=len(board))
    write_oof(train, board["name"])
    return automl, train.is_classification


def predict(model, test):
    """Let the best model predict; columns are called prediction_CODE."""
    automl, is_classification = model
    said = automl.predict_all(plain_frame(test, dates="date"))
    if not is_classification:
        return Prediction(values=said["prediction"].to_numpy())
    names = [name for name in said.columns if name.startswith("prediction_")]
    return Prediction(probabilities=said[names].to_numpy(), classes=codes_in(names))


def write_oof(train, names):
    """Keep the out-of-fold predictions MLJAR wrote of each model; there are none if it only split once."""
    kept = {}
    for name in names:
        path = RESULTS / name / "predictions_out_of_folds.csv"
        if not path.exists():
            continue
        said = pd.read_csv(path)
        if len(said) != train.n_rows:
            continue
        columns = [column for column in said if column.startswith("prediction")]
        kept[name] = said[columns].to_numpy().squeeze()
    train.write_oof(kept)
