"""The two forests of the AMLB paper (section 3.2).

Plain: 10 trees at a time to 2000, or until 10 more are expected to pass 90 % of time or memory. Tuned (`_values`
above 1): max_features is first chosen by 5-fold cross-validation in half of the time, with forests of up to 100
trees, as many as a first one's time allows and the same number for all values; values for which no time is left
are not tried, and the library's default is tried first.
"""

import os
import time

import numpy as np
from assay_contract import Prediction
from assay_encode import Encoder
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor


def fit(train, budget, params):
    """Choose max_features if asked to, then grow the forest in what is left of the budget."""
    encoder = Encoder().fit(train)
    X = encoder.transform(train)
    scores, tried_on = tune(X, train, budget, params) if params["_values"] > 1 else ({}, None)
    best = max(scores, key=scores.get) if scores else default_value(X.shape[1], train.is_classification)
    forest = new_forest(train, budget, params, best)
    grow(forest, X, train.y, budget, params)
    tried = {str(value): float(score) for value, score in scores.items()}
    train.report(models_count=1 + len(scores), trees=forest.n_estimators, max_features=int(best), tried=tried)
    return encoder, forest, tried_on


def predict(model, test):
    """Average the trees."""
    encoder, forest = model[:2]
    X = encoder.transform(test)
    if hasattr(forest, "classes_"):
        return Prediction(probabilities=forest.predict_proba(X), classes=forest.classes_)
    return Prediction(values=forest.predict(X))


def export(model, train):
    """Write what each value's forests predicted for the rows they had not seen."""
    if model[2] is not None:
        predictions, folds = model[2]
        train.write_oof({"max_features=%d" % value: array for value, array in predictions.items()}, folds)


def default_value(n_features, is_classification):
    """Return scikit-learn's own max_features: the square root, or all for regression."""
    return max(1, int(np.sqrt(n_features))) if is_classification else n_features


def new_forest(train, budget, params, max_features, n_estimators=0):
    """Return a forest that is not fitted; params that start with `_` steer this adapter only."""
    kind = RandomForestClassifier if train.is_classification else RandomForestRegressor
    settings = {"max_features": max_features, "n_jobs": budget.cores, "random_state": train.seed}
    settings.update((key, value) for key, value in params.items() if not key.startswith("_"))
    settings.update(n_estimators=n_estimators, warm_start=True)
    return kind(**settings)


def grow(forest, X, y, budget, params):
    """Add trees until the wanted number, or until one more step is expected to pass a limit."""
    memory_before, steps = memory_mb(), 0
    while forest.n_estimators < params["n_estimators"]:
        started = time.monotonic()
        forest.n_estimators = min(forest.n_estimators + params["_step"], params["n_estimators"])
        forest.fit(X, y)
        steps += 1
        step_seconds = time.monotonic() - started
        step_memory = max(0.0, memory_mb() - memory_before) / steps
        if budget.elapsed() + step_seconds > params["_share"] * budget.seconds:
            break
        if memory_mb() + step_memory > params["_share"] * budget.memory_mb:
            break


def memory_mb():
    """Return this process's resident memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def candidates(n_features, default, count):
    """Return up to `count` values, the default first, the others evenly spread from 1 to all features."""
    spread = np.unique(np.linspace(1, n_features, count - 1).round().astype(int))
    return [default] + [int(value) for value in spread if value != default]


def tune(X, train, budget, params):
    """Return {max_features: cross-validated score} for the values that fit in the time, and what they predicted.

    Higher scores are better. The second part is ({max_features: predictions}, the fold of each row), or None.
    """
    folds = make_folds(train, params["_folds"])
    values = candidates(X.shape[1], default_value(X.shape[1], train.is_classification), params["_values"])
    if not folds or len(values) < 2:
        return {}, None
    allowed = params["_tuning_share"] * budget.seconds
    trees = affordable_trees(
        X, train, budget, params, folds[0][0], values[0], allowed / len(values) / len(folds)
    )
    scores, predictions = {}, {}
    for value in values:
        started = budget.elapsed()
        scores[value], predictions[value] = cross_validate(X, train, budget, params, folds, value, trees)
        if 2 * budget.elapsed() - started > allowed:
            break
    numbers = np.zeros(len(train.y), dtype=int)
    for number, (_, held_out) in enumerate(folds):
        numbers[held_out] = number
    return scores, (predictions, numbers)


def affordable_trees(X, train, budget, params, rows, value, seconds):
    """Return how many trees a tuning forest may have, from the time of a small one."""
    started = time.monotonic()
    new_forest(train, budget, params, value, params["_step"]).fit(X[rows], train.y[rows])
    per_tree = (time.monotonic() - started) / params["_step"]
    return int(np.clip(seconds / per_tree, 1, params["_tuning_trees"]))


def make_folds(train, count):
    """Return [(train rows, validation rows)], stratified where every class allows it."""
    from sklearn.model_selection import KFold, StratifiedKFold

    if len(train.y) < count:
        return []
    if train.is_classification and np.bincount(train.y)[np.unique(train.y)].min() >= count:
        return list(StratifiedKFold(count, shuffle=True, random_state=train.seed).split(train.y, train.y))
    return list(KFold(count, shuffle=True, random_state=train.seed).split(train.y))


def cross_validate(X, train, budget, params, folds, value, trees):
    """Return the score of one value, averaged over the folds, and its predictions for all rows."""
    scores = []
    shape = (len(X), len(train.classes)) if train.is_classification else len(X)
    predictions = np.zeros(shape)
    for rows, held_out in folds:
        forest = new_forest(train, budget, params, value, trees).fit(X[rows], train.y[rows])
        if train.is_classification:
            # A class that no row of this fold's training part has gets no column, and keeps its zeros.
            predictions[np.ix_(held_out, forest.classes_)] = forest.predict_proba(X[held_out])
        else:
            predictions[held_out] = forest.predict(X[held_out])
        scores.append(score(train, train.y[held_out], predictions[held_out]))
    return float(np.mean(scores)), predictions


def score(train, truth, predictions):
    """Return the task's metric, or the nearest this adapter knows; higher is better."""
    from sklearn import metrics

    if not train.is_classification:
        error = metrics.mean_absolute_error if train.metric == "mae" else metrics.mean_squared_error
        return -error(truth, predictions)
    probabilities = predictions
    if train.metric == "auc" and train.type == "binary" and len(np.unique(truth)) == 2:
        return metrics.roc_auc_score(truth, probabilities[:, 1])
    if train.metric in ("acc", "balacc"):
        measure = metrics.accuracy_score if train.metric == "acc" else metrics.balanced_accuracy_score
        return measure(truth, probabilities.argmax(axis=1))
    return -metrics.log_loss(truth, probabilities, labels=np.arange(len(train.classes)))
