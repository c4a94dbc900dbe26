"""Which framework suits a data set, by how the frameworks did on tasks like it, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np

from assay.analysis.covariates import as_named, properties_by_task
from assay.analysis.impute import FoldScores
from assay.analysis.options import Option
from assay.analysis.pairwise import MIN_TASKS, Pairwise, compare_pairwise
from assay.analysis.partitioning import split_words
from assay.analysis.record import AnalysisRecord, Medium, TextTable, as_json
from assay.analysis.registry import AnalysisSpec
from assay.analysis.trees import Node, Tree, scores_for_trees, tree_over
from assay.analysis.wording import percent
from assay.errors import UserError
from assay.typing import Frame, JsonObject

if TYPE_CHECKING:
    from assay.analysis.inputs import Inputs

__all__ = ["ANALYSIS", "Advice", "advise"]

MOST_FRAMEWORKS = 8  # in a terminal: who wants the others asks for JSON


@dataclass(frozen=True)
class AdviceOptions:
    """For which data set, by which properties."""

    facts: Annotated[Mapping[str, float], Option("Facts of the data set.", is_dataset=True)]
    columns: Annotated[
        tuple[str, ...], Option("Properties to split by, separated by commas; default: all.")
    ] = ()


@dataclass(frozen=True)
class Advice(AnalysisRecord):
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
    notes: tuple[str, ...] = ()

    @property
    def equals(self) -> tuple[str, ...]:
        """Return those that the first is not clearly better than on these tasks."""
        pairs = zip(self.standings.frameworks, self.standings.group, strict=True)
        return tuple(name for name, group in pairs if group == 1)[1:]

    def rows(self) -> list[JsonObject]:
        """Return one row per framework: how it did on the tasks of the leaf."""
        ranked = self.standings
        return [
            {
                "framework": name,
                "win_rate": float(ranked.win_rate[at]),
                "strongest_in_draws": None if self.sure is None else float(ranked.first_share[at]),
            }
            for at, name in enumerate(ranked.frameworks)
        ]

    def to_json(self) -> JsonObject:
        """Return the advice, how sure it is, and what it rests on."""
        values: dict[str, object] = {
            "advice": self.standings.frameworks[0],
            "sure": self.sure,
            "not_clearly_worse": self.equals,
            "leaf": self.leaf.id,
            "n_tasks": self.leaf.n_tasks,
            "properties": self.properties,
            "win_rate": dict(zip(self.standings.frameworks, self.standings.win_rate, strict=True)),
            "outside": self.outside,
            "missing": self.missing,
            "notes": self.notes,
        }
        return as_json(values)

    def tables(self, medium: Medium) -> tuple[TextTable, ...]:
        """Return how the frameworks did on tasks like it."""
        ranked, most = self.standings, MOST_FRAMEWORKS if medium.name == "terminal" else None
        shares = [None] * len(ranked.frameworks) if self.sure is None else ranked.first_share.tolist()
        lines = [
            [name, percent(ranked.win_rate[at], 0), percent(shares[at], 0)]
            for at, name in enumerate(ranked.frameworks[:most])
        ]
        heads = ["framework", ">wins there", ">strongest in draws"]
        return (TextTable(heads, lines, f"Tasks like it ({self.leaf.n_tasks}): {self.kind()}."),)

    def kind(self) -> str:
        """Return the properties by which the data set falls into its leaf, as words."""
        path, node = [], self.leaf
        while node.parent is not None:
            path.append(split_words(self.tree.nodes, node))
            node = self.tree.nodes[node.parent - 1]
        if path:
            return " and ".join(reversed(path))
        tested = "no property matters" if self.tree.nodes[0].tests else "too few to look for kinds"
        return f"all tasks of these results, {tested}"

    def summary(self) -> str:
        """Say which framework, and how sure that is."""
        how = (
            "too few tasks to say how sure"
            if self.sure is None
            else f"the strongest in {percent(self.sure, 0)} of draws"
        )
        return f"Advice: {self.standings.frameworks[0]} ({how})."

    def remarks(self) -> tuple[str, ...]:
        """Return the advice, who is not clearly worse, and where the data set is unlike the tasks."""
        lines = [self.summary()]
        if self.equals and self.sure is not None:
            lines.append(f"Not clearly worse: {', '.join(self.equals)}.")
        lines += [
            f"warning: {name} is {self.properties[name]:g}, the tasks here have {low:g} to {high:g}."
            for name, (low, high) in self.outside.items()
        ]
        if self.missing:
            lines.append(f"Not known about the data set, so not used: {', '.join(self.missing)}.")
        return tuple(lines)


def advise(
    tree: Tree,
    scores: FoldScores,
    values: Frame,
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
    tasks = [{str(name): value for name, value in row.items()} for row in values.to_dict("records")]
    inside = [tree.leaf(task).id == leaf.id for task in tasks]
    alike = scores.without_tasks({t for t, is_inside in enumerate(inside) if not is_inside})
    standings = compare_pairwise(alike, random)
    low, high = values.min(numeric_only=True), values.max(numeric_only=True)
    outside = {
        name: (float(low[name]), float(high[name]))
        for name, value in properties.items()
        if name in low.index and not low[name] <= value <= high[name]
    }
    sure = float(standings.first_share[0]) if len(alike.tasks) >= MIN_TASKS else None
    return Advice(tree, leaf, dict(properties), standings, sure, outside, tuple(missing))


def compute(inputs: Inputs, options: AdviceOptions) -> Advice:
    """Grow the tree over what is known of the data set, and find its leaf; facts are ours, or under OpenML's names."""
    scores, _ = scores_for_trees(inputs)
    names = list(properties_by_task(scores, inputs.scores.properties, options.columns).columns)
    properties = as_named(options.facts, names)
    shared = [name for name in names if name in properties]
    if not shared:
        raise UserError(
            f"Nothing that is known of the tasks ({', '.join(names)}) is known of the data set. Give properties "
            "under our names (assay task show) or OpenML's."
        )
    tree = tree_over(inputs, shared)
    values = properties_by_task(scores, inputs.scores.properties, shared)
    incomplete = set(np.flatnonzero(values.isna().any(axis=1).to_numpy()).tolist())
    missing = [name for name in names if name not in properties]
    advice = advise(
        tree, scores.without_tasks(incomplete), values.dropna(), properties, missing, inputs.random()
    )
    return replace(advice, notes=tree.notes)


ANALYSIS = AnalysisSpec(
    name="advise",
    title="Advice for a data set",
    help="Show which framework suits a data set, by how the frameworks did on tasks like it, and how sure that is.",
    compute=compute,
    options=AdviceOptions,
    needs=("scores", "properties of tasks", "a data set"),
    examples=("advise my.csv --target y --store results",),
    sections=(),
)
