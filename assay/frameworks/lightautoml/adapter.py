"""LightAutoML: the preset that restarts with other configurations until the time is used, or one run of it."""

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
    settings = {
        "reader_params": {"n_jobs": budget.cores, "random_state": train.seed % 2**31},
        **passed(params),
    }
    automl = (TabularUtilizedAutoML if params["_utilized"] else TabularAutoML)(
        task=Task(TASKS[train.type], metric=train.metric_as(names)),
        timeout=budget.seconds,
        cpu_limit=budget.cores,
        memory_limit=max(1, budget.memory_mb // 1024),
        **settings,
    )
    categories = [name for name in X if X[name].dtype == object]
    roles = {"target": TARGET, "category": categories}
    held_out = automl.fit_predict(X.assign(**{TARGET: train.y}), roles=roles, verbose=1)
    runs = members(automl)
    classes = order(runs[0].reader, len(train.classes))
    train.report(
        models_count=sum(len(pipe.ml_algos) for run in runs for level in run.levels for pipe in level)
    )
    train.write_oof({"blend": held_out.data.squeeze()})
    return automl, train.is_classification, classes


def predict(model, test):
    """Let the blend predict."""
    automl, is_classification, classes = model
    said = automl.predict(plain_frame(test, categories="text")).data
    return Prediction(probabilities=said, classes=classes) if is_classification else Prediction(values=said)


def members(automl):
    """Return the runs of the preset that were made: one, or as many as the time allowed."""
    if isinstance(automl, TabularAutoML):
        return [automl]
    return [run for pipe in automl.outer_pipes for algo in pipe.ml_algos for run in algo.models[0]]


def order(reader, n_classes):
    """Return the class codes in the order of the columns: that of the reader's mapping; None for two classes.

    Of two classes LightAutoML gives one column, the probability of code 1.
    """
    mapping = reader.class_mapping or {code: code for code in range(n_classes)}
    return sorted(mapping, key=mapping.get) if n_classes > 2 else None
