"""XGBoost alone, with categories as it knows them; stops when a held-out tenth of the rows no longer improves."""

import xgboost as xgb
from assay_contract import Prediction, passed
from assay_encode import plain_frame

OBJECTIVES = {"binary": "binary:logistic", "multiclass": "multi:softprob", "regression": "reg:squarederror"}
METRICS = {
    "auc": "auc", "pr_auc": "aucpr", "logloss": {"binary": "logloss", "multiclass": "mlogloss"},
    "rmse": "rmse", "mae": "mae", "rmsle": "rmsle", "mape": "mape",
}  # fmt: skip


class Clock(xgb.callback.TrainingCallback):
    """Ends the training when the time is used."""

    def __init__(self, budget, share):
        self.budget, self.share = budget, share

    def after_iteration(self, model, epoch, evals_log):
        """Say whether to stop."""
        return self.budget.elapsed() > self.share * self.budget.seconds


def fit(train, budget, params):
    """Boost until the validation score stands still or the time is used."""
    metric = train.metric_as(METRICS)
    learn, validate = train.hold_out(params["_validation"])
    X = frame(train)
    tables = [xgb.DMatrix(X.iloc[rows], train.y[rows], enable_categorical=True) for rows in (learn, validate)]
    settings = {"objective": OBJECTIVES[train.type], "eval_metric": metric, "nthread": budget.cores}
    settings.update({"num_class": len(train.classes)} if train.type == "multiclass" else {})
    stop = xgb.callback.EarlyStopping(params["_patience"], save_best=True)
    history = {}
    booster = xgb.train(
        {**settings, "seed": train.seed % 2**31, **passed(params)},
        tables[0],
        params["_rounds"],
        evals=[(tables[1], "validation")],
        evals_result=history,
        callbacks=[stop, Clock(budget, params["_share"])],
        verbose_eval=False,
    )
    train.report(models_count=1, rounds=booster.num_boosted_rounds())
    return booster, train.is_classification


def predict(model, test):
    """Let the booster predict; its columns are the class codes."""
    booster, is_classification = model
    said = booster.predict(xgb.DMatrix(frame(test), enable_categorical=True))
    return Prediction(probabilities=said) if is_classification else Prediction(values=said)


def frame(rows):
    """Return numbers and categories."""
    return plain_frame(rows, text="drop")
