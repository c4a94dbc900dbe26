"""The role of each framework in a scores table: what failures count as, and what scales and ratings refer to."""

from __future__ import annotations

from functools import lru_cache

from assay.results.formats.columns import plain_name

__all__ = ["BASELINES", "role_by_name", "role_in_scores"]

BASELINES = ("constant", "forest", "baseline")  # those that every benchmark runs beside the frameworks
# By letters and digits only: who is what in published tables, which have no column for it.
BY_NAME = {
    "constant": "constant", "constantpredictor": "constant", "constantpredictorenc": "constant",
    "randomforest": "forest", "rf": "forest",
    "tunedrandomforest": "baseline", "decisiontree": "baseline",
}  # fmt: skip


def role_by_name(framework: str) -> str:
    """Return the role that a framework has by its name alone: `constant`, `forest`, `baseline` or `framework`."""
    return BY_NAME.get(plain_name(framework), "framework")


@lru_cache(maxsize=1000)  # a scores table asks for each job
def role_in_scores(framework: str, role: str) -> str:
    """Return the role of a row in a scores table: the plain random forest has one of its own among the baselines.

    Stores know it as a baseline, as do tables that were written before there was a role for it.
    """
    return "forest" if role == "baseline" and role_by_name(framework) == "forest" else role
