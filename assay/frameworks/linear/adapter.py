"""Logistic or ridge regression on scaled numbers and one-hot categories."""

from assay_contract import Prediction
from assay_encode import Encoder
from sklearn.linear_model import LogisticRegression, Ridge


def fit(train, budget, params):
    """Scale, encode and fit."""
    encoder = Encoder(categories="onehot", scale=True).fit(train)
    X = encoder.transform(train)
    kind, defaults = (LogisticRegression, {"max_iter": 1000}) if train.is_classification else (Ridge, {})
    train.report(models_count=1)
    return encoder, kind(**{**defaults, **params}).fit(X, train.y)


def predict(model, test):
    """Apply the linear model."""
    encoder, linear = model
    X = encoder.transform(test)
    if hasattr(linear, "classes_"):
        return Prediction(probabilities=linear.predict_proba(X), classes=linear.classes_)
    return Prediction(values=linear.predict(X))
