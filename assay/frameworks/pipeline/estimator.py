"""What a search needs of an estimator: the part of scikit-learn's interface that it calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from assay.typing import Array, Floats, Frame

__all__ = ["Classifier", "Columns", "Estimator"]

Columns: TypeAlias = "Frame | Array"


class Estimator(Protocol):
    """An estimator as scikit-learn has them. Classifiers have `classes_`, and a way to score rows, besides."""

    def fit(self, x: Columns, y: Array) -> Estimator:
        """Learn from rows, and return itself."""
        ...

    def predict(self, x: Columns) -> Array:
        """Return a class or a value for each row."""
        ...

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return its parameters by name."""
        ...

    def set_params(self, **params: object) -> Estimator:
        """Set parameters, and return itself."""
        ...


class Classifier(Estimator, Protocol):
    """An estimator for classes; it has one of the two ways to score rows, or both."""

    classes_: Array

    def predict_proba(self, x: Columns) -> Floats:
        """Return a probability for each row and class."""
        ...

    def decision_function(self, x: Columns) -> Floats:
        """Return a number for each row that is the higher, the more the second class is likely."""
        ...
