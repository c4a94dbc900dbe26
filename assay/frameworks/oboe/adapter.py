"""Oboe: fits a few models, infers the errors of the others from those on known data sets, and lets the best vote."""

import csv

import numpy as np
from assay_contract import Prediction, passed
from assay_encode import Encoder
from oboe import AutoLearner


def fit(train, budget, params):
    """Double the time of a round until the limit; Oboe knows one goal, the balanced error rate."""
    encoder = Encoder("onehot", scale=True).fit(train)
    np.random.seed(train.seed % 2**32)
    learner = AutoLearner(
        p_type="classification",
        runtime_limit=int(budget.seconds),
        n_cores=budget.cores,
        random_state=train.seed % 2**32,
        verbose=True,
        **passed(params),
    )
    history = learner.fit(encoder.transform(train), train.y) or {
        "actual_runtimes": [],
        "validation_loss": [0.5],
    }
    train.write_trace(
        zip(history["actual_runtimes"], history["validation_loss"][1:]), "balanced error rate", False
    )
    tried = sampled(learner)
    with open(str(train.artifacts / "leaderboard.csv"), "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["error", "model"], *sorted([one.cv_error, name(one)] for one in tried)])
    none = learner.predict_with_most_common_class
    train.report(models_count=0 if none else len(tried), optimised="balacc", best=learner.get_models())
    return encoder, learner


def predict(model, test):
    """Let the ensemble vote; it gives labels only."""
    encoder, learner = model
    return Prediction(labels=np.ravel(learner.predict(encoder.transform(test))))


def export(model, train):
    """Write the labels that TensorOboe's pipelines gave to rows they had not seen; Oboe validates on a part of them."""
    held_out = [one for one in sampled(model[1]) if np.shape(one.cv_predictions) == (train.n_rows,)]
    labels = ((steps(one), Prediction(labels=one.cv_predictions.astype(int))) for one in held_out)
    if not train.write_oof(labels):
        train.report(no_oof="Oboe cross-validated its models on a part of the training rows.")


def sampled(learner):
    """Return the models of Oboe, or the pipelines of TensorOboe, that were cross-validated."""
    tried = learner.sampled_models if learner.method == "oboe" else learner.sampled_pipelines
    return [one for one in tried if one is not None]


def steps(pipeline):
    """Return the algorithms of a pipeline of TensorOboe, and its number among all that there are."""
    named = (pipeline.config[step]["algorithm"] for step in pipeline.pipeline_steps)
    return "%s #%d" % (", ".join(filter(None, named)), pipeline.index)


def name(one):
    """Return what a model of Oboe, or a pipeline of TensorOboe, is made of."""
    return str(one.config) if hasattr(one, "config") else "%s %s" % (one.algorithm, one.hyperparameters)
