"""Any estimator that follows scikit-learn, from a user's file: `assay run mymodel.py:MyEstimator …`.

By default it gets a matrix of numbers without missing values: one-hot categories, medians for what is missing.
With the class attribute `assay_input = "frame"` it gets the DataFrame as it is.
"""

import importlib.util
import inspect
import sys
from pathlib import Path

from assay_contract import Prediction
from assay_encode import Encoder

OURS = ("adapter.py", "child.py", "contract.py", "tables.py", "encode.py")


def load(path):
    """Import a user's file under a name of its own: it may be called like the library it imports."""
    name = "assay_estimator_" + path.stem
    spec = importlib.util.spec_from_file_location(name, str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_all():
    """Import the user's file, which lies beside this one, before fit's clock runs; a failure is fit's to raise."""
    found = {}
    for path in sorted(Path(__file__).resolve().parent.glob("*.py")):
        if path.name not in OURS:
            try:
                found[path.name] = load(path)
            except Exception as error:
                found[path.name] = error
    return found


FILES = load_all()


def fit(train, budget, params):
    """Make the estimator, tell it seed and cores where it has such parameters, and fit it."""
    module = FILES[params["_file"]]
    if isinstance(module, Exception):
        raise module
    make = getattr(module, params["_class"])
    given = {key: value for key, value in params.items() if not key.startswith("_")}
    model = make(**given)
    known = (
        model.get_params(deep=False) if hasattr(model, "get_params") else inspect.signature(make).parameters
    )
    offered = {"random_state": train.seed, "n_jobs": budget.cores}
    chosen = {key: value for key, value in offered.items() if key in known and key not in given}
    if chosen and hasattr(model, "set_params"):
        model.set_params(**chosen)
    encoder = None
    if getattr(model, "assay_input", "matrix") != "frame":
        encoder = Encoder(categories="onehot").fit(train)
    X = train.X if encoder is None else encoder.transform(train)
    model.fit(X, train.y)
    train.report(models_count=1)
    return encoder, model, train.is_classification


def predict(model, test):
    """Ask for probabilities where the estimator has them, for labels otherwise."""
    encoder, estimator, is_classification = model
    X = test.X if encoder is None else encoder.transform(test)
    if not is_classification:
        return Prediction(values=estimator.predict(X))
    if hasattr(estimator, "predict_proba"):
        classes = getattr(estimator, "classes_", None)
        return Prediction(probabilities=estimator.predict_proba(X), classes=classes)
    return Prediction(labels=estimator.predict(X))
