"""CatBoost alone, with categories as it knows them; the number of rounds is what validation asks for.

On small tables a held-out tenth is a few rows and says little: there five folds choose the number of rounds together,
and all rows are learned from. On others the tenth decides when to stop.
"""

import numpy as np
from assay_contract import Prediction, best_round, passed
from assay_encode import plain_frame
from catboost import CatBoostClassifier, CatBoostRegressor, Pool

METRICS = {
    "auc": "AUC", "pr_auc": "PRAUC", "acc": "Accuracy", "balacc": {"binary": "BalancedAccuracy"}, "mcc": "MCC",
    "logloss": {"binary": "Logloss", "multiclass": "MultiClass"},
    "rmse": "RMSE", "mae": "MAE", "r2": "R2", "mape": "MAPE",
}  # fmt: skip

HIGHER = ("AUC", "PRAUC", "Accuracy", "BalancedAccuracy", "MCC", "R2")


class Clock:
    """Ends the training when a share of the time is used."""

    def __init__(self, budget, share):
        self.budget, self.share = budget, share

    def after_iteration(self, info):
        """Say whether to go on."""
        return self.budget.elapsed() < self.share * self.budget.seconds


def fit(train, budget, params):
    """Boost as long as validation asks for, or until the time is used."""
    metric = train.metric_as(METRICS)
    settings = {
        "eval_metric": metric, "thread_count": budget.cores, "used_ram_limit": "%dMB" % budget.memory_mb,
        "random_seed": train.seed % 2**31, "allow_writing_files": False, "verbose": 100, **passed(params),
    }  # fmt: skip

    def boost(learn, validate, until, rounds=params["iterations"], keep_best=True):
        """Return a model, with `keep_best` cut off after its best round, and its validation curve."""
        kind = CatBoostClassifier if train.is_classification else CatBoostRegressor
        model = kind(**{**settings, "iterations": rounds})
        tested = None if validate is None else pool(train.take(validate), train.y[validate])
        stop = {}
        if tested is not None:
            stop = {"early_stopping_rounds": params["_patience"], "use_best_model": keep_best}
        clock = Clock(budget, until * params["_share"])
        model.fit(pool(train.take(learn), train.y[learn]), eval_set=tested, callbacks=[clock], **stop)
        return model, [] if tested is None else model.evals_result_["validation"][metric]

    if train.n_rows >= params["_small"]:
        model, _ = boost(*train.hold_out(params["_validation"]), 1.0)
    else:
        folds = train.folds(params["_folds"]) if train.n_rows >= params["_fewest"] else []
        # Half of the time is for the folds, a part for each.
        shares = [0.5 * (k + 1) / len(folds) for k in range(len(folds))]
        found = [boost(*rows, share, params["_most"], False) for rows, share in zip(folds, shares)]
        rounds = best_round([curve for _, curve in found], metric in HIGHER) if found else params["_plain"]
        if (
            found
        ):  # CatBoost chooses it by the rounds that it is given, and another one where it keeps the best
            settings["learning_rate"] = found[0][0].learning_rate_
        model, _ = boost(np.arange(train.n_rows), None, 1.0, rounds)
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
