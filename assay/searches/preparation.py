"""Where models that were saved before searches had a package of their own look for their classes."""

from assay.frameworks.pipeline.preparation import Preparation, _Plan

__all__ = ["Preparation", "_Plan"]
