"""Where models that were saved before searches had a package of their own look for their classes."""

from assay.searches.ses import SES

__all__ = ["SES"]
