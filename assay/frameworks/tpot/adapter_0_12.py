"""TPOT 0.12, the generation of the AMLB paper: genetic programming on numbers only."""

import numpy as np
from assay_contract import Prediction, passed
from assay_encode import Encoder
from tpot import TPOTClassifier, TPOTRegressor

SCORERS = {
    "auc": "roc_auc", "auc_ovo": "roc_auc_ovo", "auc_ovr": "roc_auc_ovr", "logloss": "neg_log_loss",
    "acc": "accuracy", "balacc": "balanced_accuracy", "f1": "f1_weighted", "pr_auc": "average_precision",
    "rmse": "neg_root_mean_squared_error", "mse": "neg_mean_squared_error", "mae": "neg_mean_absolute_error",
    "r2": "r2",
}  # fmt: skip


def fit(train, budget, params):
    """Evolve until the time is up."""
    encoder = Encoder().fit(train)
    tpot = (TPOTClassifier if train.is_classification else TPOTRegressor)(
        scoring=train.metric_as(SCORERS),
        generations=None,
        max_time_mins=budget.seconds / 60,
        max_eval_time_mins=budget.seconds / 600,
        n_jobs=budget.cores,
        random_state=train.seed % 2**32,
        verbosity=2,
        **passed(params),
    )
    tpot.fit(encoder.transform(train), train.y)
    tried = tpot.evaluated_individuals_
    done = sum(np.isfinite(one["internal_cv_score"]) for one in tried.values())
    train.report(models_count=done, best=str(tpot.fitted_pipeline_))
    return encoder, tpot, train.is_classification


def predict(model, test):
    """Let the best pipeline predict; it need not know probabilities."""
    encoder, tpot, is_classification = model
    X = encoder.transform(test)
    if not is_classification:
        return Prediction(values=tpot.predict(X))
    if hasattr(tpot.fitted_pipeline_, "predict_proba"):
        return Prediction(probabilities=tpot.predict_proba(X), classes=tpot.fitted_pipeline_.classes_)
    return Prediction(labels=tpot.predict(X))
