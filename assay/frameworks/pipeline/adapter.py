"""A configuration of `assay search`: columns are prepared and selected, then one learner learns from them.

The steps lie beside this file, in modules that import each other as those of a package. An estimator of the user's is
named by `_own` and comes from `estimators.pickle`; `raw` columns are then a matrix where `_matrix` says so.
"""

import importlib
import pickle
import sys
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
from assay_contract import Prediction

HERE = Path(__file__).resolve().parent
LABELS = {"int": int, "bool": lambda name: name == "True", "text": str}


def load_steps():
    """Import the steps, which are a package of Assay's where there is one, under a name of their own."""
    package = ModuleType("assay_pipeline")
    package.__path__ = [str(HERE)]
    sys.modules["assay_pipeline"] = package
    return importlib.import_module("assay_pipeline.steps")


def load_estimators():
    """Return the user's estimators by name, or what was raised when one was read: that is its own job's failure."""
    file = HERE / "estimators.pickle"
    if not file.exists():
        return {}
    found = {}
    for name, content in pickle.loads(file.read_bytes()).items():
        try:
            found[name] = pickle.loads(content)
        except Exception as error:
            found[name] = error
    return found


STEPS = load_steps()
ESTIMATORS = load_estimators()


def fit(train, budget, params):
    """Fit the pipeline; the seed is that of the search where there is one."""
    selector, learner = STEPS.read_steps(params)
    estimator = ESTIMATORS[params["_own"]] if "_own" in params else None
    if isinstance(estimator, Exception):
        raise estimator
    is_order = train.metric == "auc" and len(train.classes) == 2
    demand = STEPS.Demand(not train.is_classification, not is_order, params.get("_seed", train.seed))
    classes = [LABELS[params.get("_labels", "text")](name) for name in train.classes]
    order = np.argsort(np.array(classes)) if classes else np.array([], dtype=int)
    y = np.array(classes)[train.y] if classes else train.y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # learners warn of what their scores show
        model = STEPS.make_pipeline(selector, learner, demand, estimator).fit(columns(train, params), y)
    train.report(models_count=1)
    return model, np.array(classes)[order], order, demand, params


def predict(model, test):
    """Ask for values, probabilities, or scores."""
    pipeline, classes, order, demand, params = model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = STEPS.scores_of(pipeline, columns(test, params), classes, demand)
    if demand.is_value:
        return Prediction(values=scores[:, 0])
    if len(classes) == 2:
        second = scores[:, 0] if hasattr(pipeline, "predict_proba") else to_share(scores[:, 0])
        scores = np.column_stack([1 - second, second])
    return Prediction(probabilities=scores, classes=order)


def to_share(scores):
    """Return scores as shares of one in the same order, 0 as one half: they are not probabilities."""
    return 0.5 + scores / (2 * (1 + np.abs(scores)))


def columns(rows, params):
    """Return the rows as the user's table has them: a matrix, or a DataFrame."""
    return rows.X.to_numpy() if params.get("_matrix") else rows.X
