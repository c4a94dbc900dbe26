"""Where models that were saved before searches had a package of their own look for their classes."""

from assay.frameworks.pipeline.learners import (
    ForestClassifier,
    ForestRegressor,
    PrunedTreeClassifier,
    PrunedTreeRegressor,
)

__all__ = ["ForestClassifier", "ForestRegressor", "PrunedTreeClassifier", "PrunedTreeRegressor"]
