"""H2O AutoML: a JVM of its own per job; classes and categories go over by code, because H2O reads text its own way."""

import socket

import h2o
import numpy as np
import pandas as pd
from assay_contract import Prediction, code_names, codes_in, passed
from assay_encode import plain_frame
from h2o.automl import H2OAutoML

METRICS = {"auc": "auc", "logloss": "logloss", "pr_auc": "aucpr", "rmse": "rmse", "mse": "mse", "mae": "mae",
           "rmsle": "rmsle"}  # fmt: skip
TARGET = "target"


def start(budget, params):
    """Start the JVM with two thirds of the memory: XGBoost and Python live outside its heap."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    heap = "%dM" % (budget.memory_mb * 2 // 3)
    h2o.init(
        ip="127.0.0.1", port=port, nthreads=budget.cores, max_mem_size=heap, bind_to_localhost=True,
        strict_version_check=False,
    )  # fmt: skip
    h2o.no_progress()


def fit(train, budget, params):
    """Train for the seconds given; H2O's clock leaves out what comes before and after."""
    metric = train.metric_as(METRICS)
    began = pd.Timestamp.now("UTC").timestamp()
    frame = upload(train, code_names(train.y) if train.is_classification else train.y)
    settings = {"sort_metric": metric, "keep_cross_validation_predictions": True, **passed(params)}
    automl = H2OAutoML(max_runtime_secs=max(1, int(budget.remaining())), seed=train.seed, **settings)
    automl.train(y=TARGET, training_frame=frame)
    train.report(models_count=automl.leaderboard.nrows, best=automl.leader.model_id if automl.leader else "")
    return automl, train.is_classification, metric, began


def predict(model, test):
    """Let the leader predict."""
    automl, is_classification = model[:2]
    return answer(automl.leader.predict(upload(test)).as_data_frame(), is_classification)


def export(model, train):
    """Write the leaderboard, when each model was done, and its cross-validated predictions."""
    automl, is_classification, metric, began = model
    board = automl.leaderboard.as_data_frame()
    board.to_csv(train.artifacts / "leaderboard.csv", index=False)
    models = {name: h2o.get_model(name) for name in board["model_id"]}
    ends = [models[name].end_time / 1000 - began for name in board["model_id"]]
    train.write_trace(zip(ends, board[metric], board["model_id"]), metric, metric in ("auc", "aucpr"))
    held_out = ((name, one.cross_validation_holdout_predictions()) for name, one in models.items())
    kept = (
        (name, answer(said.as_data_frame(), is_classification)) for name, said in held_out if said is not None
    )
    if not train.write_oof(kept):
        train.report(no_oof="H2O cross-validated none of its models in this job.")


def close(model):
    """End the JVM."""
    h2o.cluster().shutdown()


def answer(said, is_classification):
    """Return what H2O's table says; its columns are named after the codes, and labels have its own threshold."""
    if not is_classification:
        return Prediction(values=said["predict"].to_numpy())
    names = list(said.columns[1:])
    probabilities, labels = said[names].to_numpy(), codes_in(said["predict"])
    return Prediction(probabilities=probabilities, classes=codes_in(names), labels=labels)


def upload(rows, y=None):
    """Send rows to the JVM; categories as v0, v1 … so that none reads like a number or a missing value."""
    X = plain_frame(rows, text="drop")
    types = {name: "enum" if X[name].dtype == "category" else "numeric" for name in X}
    for name in X.select_dtypes("category"):
        codes = X[name].cat.codes
        X[name] = np.where(codes < 0, None, "v" + codes.astype(str))
    if y is not None:
        X[TARGET], types[TARGET] = y, "enum" if isinstance(y, list) else "numeric"
    return h2o.H2OFrame(X, column_types=list(types.values()))
