"""Histogram gradient boosting with scikit-learn's defaults; missing values and categories as they are."""

import numpy as np
from assay_contract import Prediction
from assay_encode import Encoder
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

MOST_LEVELS = 255  # scikit-learn takes no categorical feature with more; beyond that the codes are numbers


def fit(train, budget, params):
    """Fit on codes, telling which columns are categories."""
    encoder = Encoder(impute=False).fit(train)
    kept = [column for column in train.columns if column["kind"] != "text"]
    is_category = [c["kind"] == "categorical" and len(c["categories"]) < MOST_LEVELS for c in kept]
    kind = HistGradientBoostingClassifier if train.is_classification else HistGradientBoostingRegressor
    settings = {
        "random_state": train.seed,
        "categorical_features": np.array(is_category, dtype=bool),
        **params,
    }
    if not kept:
        del settings["categorical_features"]
    X = encoder.transform(train)
    X[:, np.isnan(X).all(axis=0)] = 0.0  # scikit-learn cannot bin a column without values
    train.report(models_count=1)
    return encoder, kind(**settings).fit(X, train.y)


def predict(model, test):
    """Sum the trees."""
    encoder, booster = model
    X = encoder.transform(test)
    if hasattr(booster, "classes_"):
        return Prediction(probabilities=booster.predict_proba(X), classes=booster.classes_)
    return Prediction(values=booster.predict(X))
