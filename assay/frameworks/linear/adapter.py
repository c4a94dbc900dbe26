"""Logistic or ridge regression on scaled numbers and one-hot categories."""

from assay_contract import Prediction
from assay_encode import Encoder
from sklearn.linear_model import LogisticRegression, Ridge


def fit(train, budget, params):
    """Scale, encode and fit."""
    encoder = Encoder(categories="onehot", scale=True).fit(train)
    X = encoder.transform(train)
    if train.is_classification:
        model = LogisticRegression(**{"max_iter": 1000, **params})
    else:
        model = Ridge(**params)
    train.report(models_count=1)
    return encoder, model.fit(X, train.y)


def predict(model, test):
    """Apply the linear model."""
    encoder, linear = model
    X = encoder.transform(test)
    if hasattr(linear, "classes_"):
        return Prediction(probabilities=linear.predict_proba(X), classes=linear.classes_)
    return Prediction(values=linear.predict(X))
