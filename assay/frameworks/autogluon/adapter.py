"""AutoGluon: `TabularPredictor.fit` with a preset; bagged models keep their out-of-fold predictions."""

import time
from pathlib import Path

import pandas as pd
import ray
from assay_contract import Prediction, passed
from autogluon.tabular import TabularPredictor

METRICS = {
    "auc": "roc_auc", "auc_ovo": "roc_auc_ovo", "auc_ovr": "roc_auc_ovr", "logloss": "log_loss",
    "acc": "accuracy", "balacc": "balanced_accuracy", "mcc": "mcc", "pr_auc": "average_precision",
    "f1": {"binary": "f1", "multiclass": "f1_weighted"},
    "rmse": "root_mean_squared_error", "mse": "mean_squared_error", "mae": "mean_absolute_error", "r2": "r2",
}  # fmt: skip
LABEL = "assay target"  # `frame` names the columns c0, c1 …
MODELS = Path("models")


def start(budget, params):
    """Start Ray, which trains the folds; AutoGluon takes the one that runs."""
    ray.init(
        num_cpus=budget.cores, num_gpus=0, include_dashboard=False, log_to_driver=False, logging_level=40
    )


def fit(train, budget, params):
    """Fit the preset's models in the time limit."""
    metric = train.metric_as(METRICS)
    predictor = TabularPredictor(label=LABEL, problem_type=train.type, eval_metric=metric, path=str(MODELS))
    began = time.time()
    predictor.fit(
        frame(train).assign(**{LABEL: train.y}),
        time_limit=budget.seconds,
        num_cpus=budget.cores,
        num_gpus=0,
        memory_limit=budget.memory_mb / 1024,
        **{"ag_args_ensemble": {"model_random_seed": train.seed % 2**31}, **passed(params)},
    )
    train.report(models_count=len(predictor.model_names()), best=predictor.model_best)
    return predictor, metric, began


def predict(model, test):
    """Let the best model predict; columns carry the class codes, and a threshold may have been tuned for labels."""
    predictor, X = model[0], frame(test)
    if predictor.problem_type == "regression":
        return Prediction(values=predictor.predict(X))
    said = predictor.predict_proba(X, as_multiclass=True)
    labels = predictor.predict_from_proba(said)
    return Prediction(probabilities=said.to_numpy(), classes=said.columns, labels=labels.to_numpy())


def export(model, train):
    """Write the leaderboard, when each model was saved, and what bagged ones said about rows they had not seen."""
    predictor, metric, began = model
    board = predictor.leaderboard(silent=True)
    board.to_csv(train.artifacts / "leaderboard.csv", index=False)
    saved = [(MODELS / "models" / name / "model.pkl").stat().st_mtime - began for name in board["model"]]
    train.write_trace(zip(saved, board["score_val"], board["model"]), metric, True)
    # The weights of an ensemble are fitted to these very predictions: what it says of them is not out of fold.
    models = [
        name for name in board["model"] if not name.endswith("_FULL") and "WeightedEnsemble" not in name
    ]
    if predictor._trainer.bagged_mode:
        train.write_oof((name, out_of_fold(predictor, name, train)) for name in models)
    else:
        train.report(
            no_oof="AutoGluon bagged no models, so they were validated on a part of the training rows."
        )


def close(model):
    """End Ray with all its processes."""
    ray.shutdown()


def frame(rows):
    """Return the rows with their types; booleans as numbers, because missing ones have no type AutoGluon takes."""
    X = rows.X.set_axis(["c%d" % i for i in range(len(rows.columns))], axis=1)
    flags = [name for name in X if isinstance(X[name].dtype, pd.BooleanDtype)]
    return X.astype({name: "float64" for name in flags})


def out_of_fold(predictor, name, train):
    """Return what a model said about rows it had not seen; AutoGluon drops rows of rare classes, or repeats them."""
    is_regression = predictor.problem_type == "regression"
    said = (
        predictor.predict_oof(name)
        if is_regression
        else predictor.predict_proba_oof(name, as_multiclass=True)
    )
    said = said[~said.index.duplicated()].reindex(range(train.n_rows)).to_numpy()
    return said if is_regression else Prediction(probabilities=said, classes=predictor.class_labels)
