"""LightAutoML: the preset that restarts with other configurations until the time is used, or one run of it."""

import numpy as np
from assay_contract import Prediction, passed
from assay_encode import plain_frame
from lightautoml.automl.presets.tabular_presets import TabularAutoML, TabularUtilizedAutoML
from lightautoml.tasks import Task

METRICS = {"auc": "auc", "logloss": "logloss", "acc": "accuracy", "rmse": "mse", "mse": "mse", "mae": "mae",
           "r2": "r2", "mape": "mape"}  # fmt: skip
TASKS = {"binary": "binary", "multiclass": "multiclass", "regression": "reg"}
TARGET = "target"


def fit(train, budget, params):
    """Train and blend; what fit_predict returns are out-of-fold predictions of the blend."""
    X = plain_frame(train, categories="text")
    names = {**METRICS, "logloss": "crossentropy"} if train.type == "multiclass" else METRICS
    codes, y = train.gapless()
    seed = train.seed % 2**31
    kind, settings = TabularAutoML, {"reader_params": {"n_jobs": budget.cores, "random_state": seed}}
    if params["_utilized"]:  # it gives each of its runs a seed, counted from this one
        kind, settings = (
            TabularUtilizedAutoML,
            {"reader_params": {"n_jobs": budget.cores}, "random_state": seed},
        )
    automl = kind(
        task=Task(TASKS[train.type], metric=train.metric_as(names)),
        timeout=budget.seconds,
        cpu_limit=budget.cores,
        memory_limit=max(1, budget.memory_mb // 1024),
        **{**settings, **passed(params)},
    )
    categories = [name for name in X if X[name].dtype == object]
    roles = {"target": TARGET, "category": categories}
    held_out = automl.fit_predict(X.assign(**{TARGET: y}), roles=roles, verbose=1)
    runs = members(automl)
    algos = sum(len(pipe.ml_algos) for run in runs for level in run.levels for pipe in level)
    train.report(models_count=algos)
    return (
        automl,
        train.type,
        codes[order(runs[0].reader, len(codes))] if codes is not None else None,
        held_out.data,
    )


def predict(model, test):
    """Let the blend predict."""
    automl, task_type, classes, _ = model
    return answer(automl.predict(plain_frame(test, categories="text")).data, task_type, classes)


def export(model, train):
    """Write what the blend said about rows its parts had not seen."""
    _, task_type, classes, held_out = model
    if np.isnan(held_out).any():
        train.report(no_oof="LightAutoML had no time for all folds, so some rows have no prediction.")
    else:
        train.write_oof({"blend": answer(held_out, task_type, classes)})


def answer(said, task_type, classes):
    """Return what LightAutoML said; of a binary task it gives one column, the probability of code 1."""
    if task_type == "regression":
        return Prediction(values=said.ravel())
    return Prediction(probabilities=said, classes=classes if task_type == "multiclass" else None)


def members(automl):
    """Return the runs of the preset that were made: one, or as many as the time allowed."""
    if isinstance(automl, TabularAutoML):
        return [automl]
    return [run for pipe in automl.outer_pipes for algo in pipe.ml_algos for run in algo.models[0]]


def order(reader, n_classes):
    """Return the classes in the order of the columns: that of the reader's mapping."""
    mapping = reader.class_mapping or {code: code for code in range(n_classes)}
    return sorted(mapping, key=mapping.get)
