"""Where models that were saved before searches had a package of their own look for their classes."""

from assay.frameworks.pipeline.selectors import Lasso, Univariate

__all__ = ["Lasso", "Univariate"]
