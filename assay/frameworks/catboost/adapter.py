"""CatBoost alone, with categories as it knows them; stops when a held-out tenth no longer improves."""

from assay_contract import Prediction, passed
from assay_encode import plain_frame
from catboost import CatBoostClassifier, CatBoostRegressor, Pool

METRICS = {
    "auc": "AUC", "pr_auc": "PRAUC", "acc": "Accuracy", "balacc": {"binary": "BalancedAccuracy"}, "mcc": "MCC",
    "logloss": {"binary": "Logloss", "multiclass": "MultiClass"},
    "rmse": "RMSE", "mae": "MAE", "r2": "R2", "mape": "MAPE",
}  # fmt: skip


class Clock:
    """Ends the training when the time is used."""

    def __init__(self, budget, share):
        self.budget, self.share = budget, share

    def after_iteration(self, info):
        """Say whether to go on."""
        return self.budget.elapsed() < self.share * self.budget.seconds


def fit(train, budget, params):
    """Boost until the validation score stands still or the time is used."""
    learn, validate = train.hold_out(params["_validation"])
    pools = [pool(train.take(rows), train.y[rows]) for rows in (learn, validate)]
    model = (CatBoostClassifier if train.is_classification else CatBoostRegressor)(
        eval_metric=train.metric_as(METRICS),
        thread_count=budget.cores,
        used_ram_limit="%dMB" % budget.memory_mb,
        random_seed=train.seed % 2**31,
        allow_writing_files=False,
        verbose=100,
        **passed(params),
    )
    clock = Clock(budget, params["_share"])
    model.fit(pools[0], eval_set=pools[1], early_stopping_rounds=params["_patience"], callbacks=[clock])
    train.report(models_count=1, rounds=model.tree_count_)
    return model


def predict(model, test):
    """Let the model predict with the rounds that were best."""
    if isinstance(model, CatBoostRegressor):
        return Prediction(values=model.predict(pool(test)))
    return Prediction(
        probabilities=model.predict_proba(pool(test)), classes=[int(code) for code in model.classes_]
    )


def pool(rows, y=None):
    """Return the rows as CatBoost keeps them; a missing category is one of its own."""
    X = plain_frame(rows, categories="text", text="drop")
    categories = [name for name in X if X[name].dtype == object]
    return Pool(X.fillna({name: "missing" for name in categories}), y, cat_features=categories)
