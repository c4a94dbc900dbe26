"""XGBoost alone, with categories as it knows them; the number of rounds is what validation asks for.

On small tables a held-out tenth is a few rows and says little: there five folds choose the number of rounds together,
and all rows are learned from. On others the tenth decides when to stop.
"""

import xgboost as xgb
from assay_contract import Prediction, best_round, passed
from assay_encode import plain_frame

OBJECTIVES = {"binary": "binary:logistic", "multiclass": "multi:softprob", "regression": "reg:squarederror"}
METRICS = {
    "auc": "auc", "pr_auc": "aucpr", "logloss": {"binary": "logloss", "multiclass": "mlogloss"},
    "rmse": "rmse", "mae": "mae", "rmsle": "rmsle", "mape": "mape",
}  # fmt: skip


class Clock(xgb.callback.TrainingCallback):
    """Ends the training when a share of the time is used."""

    def __init__(self, budget, share):
        self.budget, self.share = budget, share

    def after_iteration(self, model, epoch, evals_log):
        """Say whether to stop."""
        return self.budget.elapsed() > self.share * self.budget.seconds


def fit(train, budget, params):
    """Boost as long as validation asks for, or until the time is used."""
    X = frame(train)
    metric = train.metric_as(METRICS)
    settings = {"objective": OBJECTIVES[train.type], "eval_metric": metric, "nthread": budget.cores}
    settings.update({"num_class": len(train.classes)} if train.type == "multiclass" else {})
    settings.update({"seed": train.seed % 2**31, **passed(params)})

    def boost(learn, validate, until, rounds=params["_rounds"]):
        """Return a booster and its validation curve."""
        curves, clock = {}, Clock(budget, until * params["_share"])
        stop = (
            [xgb.callback.EarlyStopping(rounds=params["_patience"], save_best=True)]
            if validate is not None
            else []
        )
        booster = xgb.train(
            settings,
            matrix(X.iloc[learn], train.y[learn]),
            rounds,
            evals=[(matrix(X.iloc[validate], train.y[validate]), "validation")] if stop else [],
            evals_result=curves,
            callbacks=[*stop, clock],
            verbose_eval=False,
        )
        return booster, curves["validation"][metric] if stop else []

    if train.n_rows >= params["_small"]:
        booster, _ = boost(*train.hold_out(params["_validation"]), 1.0)
    else:
        folds = train.folds(params["_folds"]) if train.n_rows >= params["_fewest"] else []
        # Half of the time is for the folds, a part for each.
        curves = [boost(*rows, 0.5 * (k + 1) / len(folds))[1] for k, rows in enumerate(folds)]
        rounds = best_round(curves, metric in ("auc", "aucpr")) if curves else params["_plain"]
        booster, _ = boost(range(train.n_rows), None, 1.0, rounds)
    train.report(models_count=1, rounds=booster.num_boosted_rounds())
    return booster, train.is_classification


def predict(model, test):
    """Let the booster predict; its columns are the class codes."""
    booster, is_classification = model
    said = booster.predict(matrix(frame(test)))
    return Prediction(probabilities=said) if is_classification else Prediction(values=said)


def matrix(X, y=None):
    """Return the rows as XGBoost keeps them."""
    return xgb.DMatrix(X, y, enable_categorical=True)


def frame(rows):
    """Return numbers and categories."""
    return plain_frame(rows, text="drop")
