"""H2O AutoML: a JVM of its own per job; classes and categories go over by code, because H2O reads text its own way."""

import socket

import h2o
import numpy as np
import pandas as pd
from assay_contract import Prediction, code_names, codes_in, passed
from assay_encode import plain_frame
from h2o.automl import H2OAutoML, get_leaderboard

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
    X = plain(train)
    X[TARGET] = code_names(train.y) if train.is_classification else train.y
    frame = upload(X, ["enum" if train.is_classification else "numeric"])
    settings = {"sort_metric": metric, "keep_cross_validation_predictions": True, **passed(params)}
    automl = H2OAutoML(max_runtime_secs=max(1, int(budget.remaining())), seed=train.seed, **settings)
    automl.train(y=TARGET, training_frame=frame)
    board = get_leaderboard(automl, extra_columns="ALL").as_data_frame()
    board.to_csv(train.artifacts / "leaderboard.csv", index=False)
    models = {name: h2o.get_model(name) for name in board["model_id"]}
    ends = [models[name].end_time / 1000 - began for name in board["model_id"]]
    train.write_trace(zip(ends, board[metric], board["model_id"]), metric, metric in ("auc", "aucpr"))
    train.report(models_count=len(models), best=automl.leader.model_id if automl.leader else "")
    write_oof(train, models)
    return automl.leader, train.is_classification


def predict(model, test):
    """Let the leader predict; its columns are named after the codes."""
    leader, is_classification = model
    said = leader.predict(upload(plain(test), [])).as_data_frame()
    return Prediction(**answer(said, is_classification))


def close(model):
    """End the JVM."""
    h2o.cluster().shutdown()


def answer(said, is_classification):
    """Return what H2O's table says as arguments of a prediction."""
    if not is_classification:
        return {"values": said["predict"].to_numpy()}
    names = list(said.columns[1:])
    return {"probabilities": said[names].to_numpy(), "classes": codes_in(names)}


def plain(rows):
    """Return numbers, with categories as v0, v1 … so that no category reads like a number or a missing value."""
    frame = plain_frame(rows, text="drop")
    for name in frame.select_dtypes("category"):
        codes = frame[name].cat.codes
        frame[name] = np.where(codes < 0, None, "v" + codes.astype(str))
    return frame


def upload(frame, target):
    """Send a table to the JVM with its types."""
    types = [
        "enum" if frame[name].dtype == object else "numeric"
        for name in frame.columns[: len(frame.columns) - len(target)]
    ]
    return h2o.H2OFrame(frame, column_types=types + target)


def write_oof(train, models):
    """Keep the cross-validated predictions of each model; all name the classes in one order."""
    kept, codes = {}, None
    for name, model in models.items():
        held_out = model.cross_validation_holdout_predictions()
        if held_out is not None:
            said = answer(held_out.as_data_frame(), train.is_classification)
            codes = said.get("classes")
            kept[name] = said["probabilities" if codes else "values"]
    train.write_oof(kept, codes=codes)
