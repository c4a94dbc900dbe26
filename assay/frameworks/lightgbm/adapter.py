"""LightGBM alone, with categories as it knows them; the number of rounds is what validation asks for.

On small tables a held-out tenth is a few rows and says little: there five folds choose the number of rounds together,
and all rows are learned from. On others the tenth decides when to stop.
"""

import lightgbm as lgb
from assay_contract import Prediction, best_round, passed
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
    """Boost as long as validation asks for, or until the time is used."""
    X = frame(train)
    metric = train.metric_as(METRICS)
    settings = {"objective": OBJECTIVES[train.type], "metric": metric, "verbosity": -1}
    settings.update({"num_class": len(train.classes)} if train.type == "multiclass" else {})
    settings.update({"num_threads": budget.cores, "seed": train.seed % 2**31, **passed(params)})

    def boost(learn, validate, until, rounds=params["_rounds"]):
        """Return a booster and its validation curve."""
        curves = {}
        table = lgb.Dataset(X.iloc[learn], train.y[learn])
        tested = (
            [] if validate is None else [lgb.Dataset(X.iloc[validate], train.y[validate], reference=table)]
        )
        stop = (
            [lgb.early_stopping(params["_patience"], verbose=False), lgb.record_evaluation(curves)]
            if tested
            else []
        )
        clock = Clock(budget, until * params["_share"], stop[0] if stop else None)
        booster = lgb.train(settings, table, rounds, valid_sets=tested, callbacks=[*stop, clock])
        return booster, next(iter(curves["valid_0"].values())) if curves else []

    if train.n_rows >= params["_small"]:
        booster, _ = boost(*train.hold_out(params["_validation"]), 1.0)
    else:
        folds = train.folds(params["_folds"]) if train.n_rows >= params["_fewest"] else []
        # Half of the time is for the folds, a part for each.
        curves = [boost(*rows, 0.5 * (k + 1) / len(folds))[1] for k, rows in enumerate(folds)]
        rounds = best_round(curves, metric in ("auc", "average_precision")) if curves else params["_plain"]
        booster, _ = boost(range(train.n_rows), None, 1.0, rounds)
    train.report(
        models_count=1, rounds=booster.best_iteration if booster.best_iteration > 0 else booster.num_trees()
    )
    return booster, train.is_classification


class Clock:
    """Ends the training when a share of the time is used; after `stop`, which knows the best round."""

    order = 31  # early stopping has 30

    def __init__(self, budget, share, stop):
        self.budget, self.share, self.stop = budget, share, stop

    def __call__(self, env):
        """Raise what LightGBM ends a training by."""
        if self.budget.elapsed() > self.share * self.budget.seconds:
            best = (
                (self.stop.best_iter[0], self.stop.best_score_list[0]) if self.stop else (env.iteration, [])
            )
            raise lgb.callback.EarlyStopException(*best)


def predict(model, test):
    """Let the booster predict with the rounds that were best; its columns are the class codes."""
    booster, is_classification = model
    said = booster.predict(frame(test))
    return Prediction(probabilities=said) if is_classification else Prediction(values=said)


def frame(rows):
    """Return numbers and categories."""
    return plain_frame(rows, text="drop")
