"""One decision tree with scikit-learn's defaults."""

from assay_contract import Prediction
from assay_encode import Encoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor


def fit(train, budget, params):
    """Fit the tree on ordinal codes."""
    kind = DecisionTreeClassifier if train.is_classification else DecisionTreeRegressor
    encoder = Encoder().fit(train)
    tree = kind(random_state=train.seed, **params).fit(encoder.transform(train), train.y)
    train.report(models_count=1)
    return encoder, tree


def predict(model, test):
    """Follow the tree."""
    encoder, tree = model
    X = encoder.transform(test)
    if hasattr(tree, "classes_"):
        return Prediction(probabilities=tree.predict_proba(X), classes=tree.classes_)
    return Prediction(values=tree.predict(X))
