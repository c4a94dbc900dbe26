"""AutoGluon: `TabularPredictor.fit` with a preset; bagged models keep their out-of-fold predictions."""

import pandas as pd
import ray
from assay_contract import Prediction, passed
from autogluon.tabular import TabularPredictor

METRICS = {
    "auc": "roc_auc", "auc_ovo": "roc_auc_ovo", "auc_ovr": "roc_auc_ovr", "logloss": "log_loss",
    "acc": "accuracy", "balacc": "balanced_accuracy", "f1": "f1_weighted", "mcc": "mcc", "pr_auc": "average_precision",
    "rmse": "root_mean_squared_error", "mse": "mean_squared_error", "mae": "mean_absolute_error", "r2": "r2",
}  # fmt: skip
LABEL = "assay target"  # `frame` names the columns c0, c1 …


def start(budget, params):
    """Start Ray, which trains the folds; AutoGluon takes the one that runs."""
    ray.init(
        num_cpus=budget.cores, num_gpus=0, include_dashboard=False, log_to_driver=False, logging_level=40
    )


def fit(train, budget, params):
    """Fit the preset's models in the time limit."""
    metric = train.metric_as(METRICS)
    predictor = TabularPredictor(label=LABEL, problem_type=train.type, eval_metric=metric, path="models")
    predictor.fit(
        frame(train).assign(**{LABEL: train.y}),
        time_limit=budget.seconds,
        num_cpus=budget.cores,
        num_gpus=0,
        memory_limit=budget.memory_mb / 1024,
        **{"ag_args_ensemble": {"model_random_seed": train.seed % 2**31}, **passed(params)},
    )
    board = predictor.leaderboard(silent=True)
    board.to_csv(train.artifacts / "leaderboard.csv", index=False)
    board = board.sort_values("fit_order")
    train.write_trace(
        zip(board["fit_time_marginal"].cumsum(), board["score_val"], board["model"]), metric, True
    )
    train.report(models_count=len(board), best=predictor.model_best)
    write_oof(train, predictor, board["model"])
    return predictor


def predict(predictor, test):
    """Let the best model predict; columns carry the class codes."""
    X = frame(test)
    if predictor.problem_type == "regression":
        return Prediction(values=predictor.predict(X))
    probabilities = predictor.predict_proba(X, as_multiclass=True)
    return Prediction(probabilities=probabilities.to_numpy(), classes=probabilities.columns)


def close(predictor):
    """End Ray with all its processes."""
    ray.shutdown()


def frame(rows):
    """Return the rows with their types; booleans as numbers, because missing ones have no type AutoGluon takes."""
    X = rows.X.set_axis(["c%d" % i for i in range(len(rows.columns))], axis=1)
    flags = [name for name in X if isinstance(X[name].dtype, pd.BooleanDtype)]
    return X.astype({name: "float64" for name in flags})


def write_oof(train, predictor, names):
    """Keep what each bagged model said about the rows it had not seen."""
    if not train.is_classification:
        train.write_oof({name: predictor.predict_oof(name).reindex(range(train.n_rows)) for name in names})
        return
    said = {name: predictor.predict_proba_oof(name, as_multiclass=True) for name in names}
    kept = {name: one.reindex(range(train.n_rows)) for name, one in said.items()}
    train.write_oof(kept, codes=next(iter(kept.values())).columns if kept else None)
