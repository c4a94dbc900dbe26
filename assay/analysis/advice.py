"""Which framework suits a task of these properties, and how sure is that? Scores and properties in, advice out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.analysis.impute import FoldScores
from assay.analysis.pairwise import MIN_TASKS, Pairwise, compare_pairwise
from assay.analysis.trees import Node, Tree

__all__ = ["Advice", "advise"]


@dataclass(frozen=True)
class Advice:
    """The kind of tasks a data set belongs to, and how the frameworks did on these.

    Attributes:
        leaf: the leaf of the tree that it falls into, by its `properties`.
        standings: frameworks on the tasks of the leaf, best first.
        sure: share of the draws of these tasks in which the first is the strongest; None with too few tasks.
        outside: properties that lie outside what the suite has, with its range.
        missing: properties that are not known of the data set, so that the tree was grown without them.
    """

    tree: Tree
    leaf: Node
    properties: Mapping[str, float]
    standings: Pairwise
    sure: float | None
    outside: Mapping[str, tuple[float, float]]
    missing: tuple[str, ...]

    @property
    def equals(self) -> tuple[str, ...]:
        """Return those that the first is not clearly better than on these tasks."""
        pairs = zip(self.standings.frameworks, self.standings.group, strict=True)
        return tuple(name for name, group in pairs if group == 1)[1:]


def advise(
    tree: Tree,
    scores: FoldScores,
    values: Any,
    properties: Mapping[str, float],
    missing: Sequence[str],
    random: np.random.Generator,
) -> Advice:
    """Find the leaf that a task falls into and compare the frameworks on the tasks of that leaf.

    Args:
        tree: grown over properties that are all among `properties`.
        scores: folds × frameworks without holes, of the tasks the tree was grown from.
        values: (tasks) a table of their properties, in the order of `scores.tasks`.
        properties: of the task that advice is wanted for.
        missing: properties that are not known of it.
        random: where the draws of tasks come from.
    """
    leaf = tree.leaf(properties)
    inside = [tree.leaf(row).id == leaf.id for row in values.to_dict("records")]
    own = scores.without_tasks({t for t, here in enumerate(inside) if not here})
    found = compare_pairwise(own, random)
    low, high = values.min(numeric_only=True), values.max(numeric_only=True)
    outside = {
        name: (float(low[name]), float(high[name]))
        for name, value in properties.items()
        if name in low.index and not low[name] <= value <= high[name]
    }
    sure = float(found.first_share[0]) if len(own.tasks) >= MIN_TASKS else None
    return Advice(tree, leaf, dict(properties), found, sure, outside, tuple(missing))
