"""Naive AutoML: one pipeline slot after the other, one process; every candidate is in its history."""

import numpy as np
from assay_contract import SCORERS, Prediction, passed
from assay_encode import plain_frame
from naiveautoml import NaiveAutoML
from sklearn.metrics import log_loss, make_scorer


def fit(train, budget, params):
    """Search until the time is up; ten seconds before, it begins no further slot."""
    scorer = train.metric_as(SCORERS)
    codes, y = train.gapless()
    scoring = (scorer, log_loss_of(range(len(codes)))) if scorer == "neg_log_loss" else scorer
    np.random.seed(train.seed % 2**32)  # it hands its random_state to the splits, not to the learners
    automl = NaiveAutoML(
        task_type="classification" if train.is_classification else "regression",
        scoring=scoring,
        num_cpus=budget.cores,
        timeout_overall=budget.seconds,
        random_state=train.seed % 2**32,
        **{"timeout_candidate": min(300, budget.seconds), **passed(params)},
    )
    X = plain_frame(train, text="drop")
    automl.fit(X, y, categorical_features=list(X.select_dtypes("category")))
    tried = automl.history
    tried.drop(columns=["pipeline", "evaluation_report"]).to_csv(train.artifacts / "history.csv", index=False)
    done = tried[tried[scorer].notna()]
    ends = done["time"] - automl.start_time
    train.write_trace(zip(ends, done[scorer], done["learner_class"]), scorer, True)
    train.report(models_count=len(done), best=str(automl.chosen_model))
    if automl.chosen_model is None:
        why = tried["exception"].dropna().str.strip().str.split("\n").str[-1].mode()
        raise RuntimeError("no candidate could be evaluated: " + "; ".join(why))
    return automl.chosen_model, codes


def predict(model, test):
    """Let the chosen pipeline predict."""
    pipeline, codes = model
    return Prediction.of(pipeline, plain_frame(test, text="drop"), codes)


def log_loss_of(classes):
    """Return a scorer that knows all classes, because a rare one may lack in a validation part."""
    return make_scorer(log_loss, greater_is_better=False, response_method="predict_proba", labels=classes)
