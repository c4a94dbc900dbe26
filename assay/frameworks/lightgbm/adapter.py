"""LightGBM alone, with categories as it knows them; stops when a held-out tenth of the rows no longer improves."""

import lightgbm as lgb
from assay_contract import Prediction, passed
from assay_encode import plain_frame

OBJECTIVES = {"binary": "binary", "multiclass": "multiclass", "regression": "regression"}
METRICS = {
    "auc": "auc",
    "logloss": {"binary": "binary_logloss", "multiclass": "multi_logloss"},
    "pr_auc": "average_precision",
    "rmse": "rmse",
    "mse": "l2",
    "mae": "l1",
    "mape": "mape",
}


def fit(train, budget, params):
    """Boost until the validation score stands still or the time is used."""
    learn, validate = train.hold_out(params["_validation"])
    X = frame(train)
    tables = [lgb.Dataset(X.iloc[rows], train.y[rows]) for rows in (learn, validate)]
    settings = {"objective": OBJECTIVES[train.type], "metric": train.metric_as(METRICS), "verbosity": -1}
    settings.update({"num_class": len(train.classes)} if train.type == "multiclass" else {})

    stop = lgb.early_stopping(params["_patience"], verbose=False)

    def clock(env):
        if budget.elapsed() > params["_share"] * budget.seconds:
            raise lgb.callback.EarlyStopException(stop.best_iter[0], stop.best_score_list[0])

    clock.order = stop.order + 1  # after the one that knows the best round

    booster = lgb.train(
        {**settings, "num_threads": budget.cores, "seed": train.seed % 2**31, **passed(params)},
        tables[0],
        params["_rounds"],
        valid_sets=[tables[1].set_reference(tables[0])],
        callbacks=[stop, clock],
    )
    train.report(models_count=1, rounds=booster.best_iteration)
    return booster, train.is_classification


def predict(model, test):
    """Let the booster predict with the rounds that were best; its columns are the class codes."""
    booster, is_classification = model
    said = booster.predict(frame(test))
    return Prediction(probabilities=said) if is_classification else Prediction(values=said)


def frame(rows):
    """Return numbers and categories."""
    return plain_frame(rows, text="drop")
