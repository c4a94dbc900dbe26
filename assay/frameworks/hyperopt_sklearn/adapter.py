"""hyperopt-sklearn: trial after trial, each in a process of its own; it has no clock, so it is driven from here."""

import os

import hyperopt.tpe
import numpy as np
from assay_contract import SCORERS, Prediction, passed
from assay_encode import Encoder
from hpsklearn import HyperoptEstimator, any_classifier, any_preprocessing, any_regressor
from sklearn.metrics import get_scorer


def fit(train, budget, params):
    """Try until the time is up, then fit the best on all rows."""
    encoder = Encoder().fit(train)  # one-hot columns add up to 1, and a whitening PCA breaks on that
    X = encoder.transform(train)
    codes, y = train.gapless()
    metric = train.metric_as(SCORERS)
    scorer = get_scorer(metric)
    estimator = HyperoptEstimator(
        preprocessing=any_preprocessing("preprocessing"),
        classifier=any_classifier("classifier") if train.is_classification else None,
        regressor=None if train.is_classification else any_regressor("regressor"),
        algo=hyperopt.tpe.suggest,
        loss_fn=loss_of(scorer, {"labels": range(len(codes))} if metric == "neg_log_loss" else {}),
        continuous_loss_fn="predict_proba" in scorer._response_method,
        n_jobs=budget.cores,
        **passed(params),
    )
    points, failures = search(estimator, X, y, train.seed, budget, params)
    train.write_trace(points, metric, False)
    train.report(
        models_count=len(points), failures=len(failures), best=str(estimator.best_model()["learner"])
    )
    if not points:
        raise RuntimeError("no trial succeeded; the last one said: %s" % failures[-1])
    estimator._retrain_best_model_on_full_data(X, y)
    best = estimator.best_model()
    return [encoder, *best["preprocs"]], best["learner"], codes


def predict(model, test):
    """Let the best learner predict."""
    steps, learner, codes = model
    X = test
    for step in steps:
        X = step.transform(X)
    return Prediction.of(learner, X, codes)


def loss_of(scorer, more):
    """Return the loss that is a scorer's opposite; probabilities of all rows arrive one after the other."""

    def loss(y, said):
        if "predict_proba" in scorer._response_method:
            said = said.reshape(len(y), -1)
            said = said[:, 1] if said.shape[1] == 2 else said
        return -scorer._sign * scorer._score_func(y, said, **scorer._kwargs, **more)

    return loss


def search(estimator, X, y, seed, budget, params):
    """Return the points of the trace and what other trials said; one that raises ends the library's loop."""
    points, failures, loop = [], [], None
    while budget.elapsed() < params["_share"] * budget.seconds:
        tried = len(points) + len(failures)
        estimator.trial_timeout = min(params["_trial"] * budget.seconds, budget.remaining())
        os.environ["HYPEROPT_FMIN_SEED"] = str(seed + tried)  # its own seed never reaches Hyperopt
        try:
            if loop is None:
                split = {"n_folds": params["_folds"] or None, "cv_shuffle": True}
                random = np.random.default_rng(seed)
                loop = estimator.fit_iter(X, y, **split, warm_start=tried > 0, random_state=random)
                next(loop)
            said = loop.send(1).trials[-1]["result"]
        except Exception as error:  # a learner that cannot take these rows, or knows no probabilities
            failures.append(error)
            loop = None
            continue
        if said["status"] == "ok":
            points.append((budget.elapsed(), said["loss"]))
        else:
            failures.append(said["failure"])
    return points, failures
