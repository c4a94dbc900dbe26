"""Bradley–Terry trees: for which kind of tasks is which framework the strongest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np

from assay.analysis.covariates import join_properties
from assay.analysis.impute import FoldScores
from assay.analysis.options import Option
from assay.analysis.partitioning import (
    DRAWS,
    TASKS_PER_PARAMETER,
    UNITS,
    Comparisons,
    Fluctuation,
    Node,
    Split,
    TreeSettings,
    Unit,
    grow_nodes,
    split_words,
)
from assay.analysis.record import AnalysisRecord, Medium, TextTable, as_json
from assay.analysis.registry import AnalysisSpec
from assay.analysis.wording import count_of
from assay.errors import UserError
from assay.typing import JsonObject

if TYPE_CHECKING:
    from assay.analysis.inputs import Inputs
    from assay.drawing import Drawing

__all__ = [
    "ANALYSIS",
    "Comparisons",
    "Fluctuation",
    "Node",
    "Split",
    "Tree",
    "TreeSettings",
    "Unit",
    "grow_tree",
    "scores_for_trees",
    "split_words",
    "tree_over",
]

TASKS_PER_LEAF = 5  # strengths of fewer tasks say little of the next one
# A framework that lacks more of the folds, because it cannot do a task type, would leave the others no folds at all.
LEAST_SHARE = 0.9
STRONGEST = {"terminal": 4, "page": 3, "latex": 3}  # frameworks named for each node


@dataclass(frozen=True)
class TreeOptions:
    """How a tree is grown."""

    columns: Annotated[
        tuple[str, ...], Option("Properties to split by, separated by commas; default: all.")
    ] = ()
    max_depth: Annotated[int, Option("Number of levels, the root counting as one; 0: no limit.", least=0)] = 3
    alpha: Annotated[float, Option("Significance level at which a node is split.", above=0, below=1)] = 0.05
    unit: Annotated[
        str, Option("What is independent: cluster (folds in tasks), fold, task.", choices=UNITS)
    ] = "cluster"
    min_size: Annotated[
        int | None, Option("Number of observations of the unit in a leaf; default: 5 tasks.", least=1)
    ] = None
    compat: Annotated[
        str, Option("psychotree: handle rows and ties as R does.", choices=("", "psychotree"))
    ] = ""


@dataclass(frozen=True)
class Tree(AnalysisRecord):
    """All nodes in pre-order, and how the tree was grown."""

    frameworks: tuple[str, ...]
    settings: TreeSettings
    nodes: tuple[Node, ...]
    notes: tuple[str, ...] = ()

    @property
    def leaves(self) -> list[Node]:
        """The nodes that are not split."""
        return [node for node in self.nodes if node.split is None]

    def leaf(self, properties: Mapping[str, float | str]) -> Node:
        """Return the leaf that a task of these properties falls into."""
        node = self.nodes[0]
        while node.split is not None:
            if node.split.variable not in properties:
                raise UserError(f"The property '{node.split.variable}' is needed to find the leaf.")
            left = bool(node.split.goes_left([properties[node.split.variable]])[0])
            node = self.nodes[node.children[0 if left else 1] - 1]
        return node

    def rows(self) -> list[JsonObject]:
        """Return one row per node and framework."""
        return [
            {
                "node": node.id, "parent": node.parent, "tasks_with": split_words(self.nodes, node) or "all tasks",
                "n_tasks": node.n_tasks, "framework": name, "worth": worth,
            }
            for node in self.nodes
            for name, worth in node.worth.items()
        ]  # fmt: skip

    def to_json(self) -> JsonObject:
        """Return the nodes with their tests, splits and worths."""
        settings = {
            "unit": self.settings.unit,
            "min_size": self.settings.min_size,
            "frameworks": self.frameworks,
        }
        nodes = [_node_json(node) for node in self.nodes]
        return as_json({**settings, "nodes": nodes, "notes": self.notes})

    def tables(self, medium: Medium) -> tuple[TextTable, ...]:
        """Return one line per node; a terminal has the tree as indented lines instead."""
        if medium.name == "terminal":
            return ()
        lines = [
            [
                node.id,
                split_words(self.nodes, node) or "all tasks",
                node.n_tasks,
                _strongest(node, STRONGEST[medium.name]),
            ]
            for node in self.nodes
        ]
        return (TextTable([">node", "tasks with", ">tasks", "strongest (worth)"], lines),)

    def summary(self) -> str:
        """Say how many kinds of tasks were found."""
        if len(self.leaves) > 1:
            return f"Strengths change with the properties of the tasks: {len(self.leaves)} kinds of tasks."
        if self.nodes[0].tests:
            return "No property of the tasks was found along which strengths change."
        return "There are too few tasks to look for properties along which strengths change."

    def caveat(self) -> str:
        """Say what is taken as independent."""
        unit = {
            "cluster": "Folds of a task are not taken as independent",
            "fold": "Folds of a task are taken as independent, which makes p-values too small",
            "task": "Means over the folds of a task are the observations",
        }[self.settings.unit]
        return f"{unit}; with few tasks per leaf the strengths are rough."

    def remarks(self) -> tuple[str, ...]:
        """Return the tree as indented lines."""
        lines = []
        for node in self.nodes:
            indent, words = "  " * (node.depth - 1), split_words(self.nodes, node)
            start = f"{indent}[{node.id}] {f'{words}: ' if words else ''}{node.n_tasks} tasks"
            lines.append(f"{start}: {_strongest(node, STRONGEST['terminal'])}")
            if node.split is not None:
                test = next(test for test in node.tests if test.variable == node.split.variable)
                lines.append(f"{indent}    splits by {node.split.variable}, p {test.p_adjusted:.3g}")
        return tuple(lines)

    def drawings(self) -> tuple[Drawing, ...]:
        """Return the tree with worths as bars in its leaves."""
        from assay.analysis.tree_figure import draw_tree
        from assay.drawing import LINE_IN, Drawing

        depth = max(node.depth for node in self.nodes) - 1
        width, height = max(6.0, 2.6 * len(self.leaves)), 1.2 + 0.95 * depth + LINE_IN * len(self.frameworks)
        return (Drawing(width, height, lambda figure: draw_tree(figure, self.frameworks, self.nodes)),)

    def methods(self) -> tuple[tuple[str, str], ...]:
        """Say how the tree was grown, with the settings that were used."""
        settings = self.settings
        unit = {
            "cluster": "scores summed within tasks",
            "fold": "folds as if independent",
            "task": "means over folds",
        }
        permuted = any(test.by_permutation for node in self.nodes for test in node.tests)
        how = (
            f"model-based recursive partitioning, {unit[settings.unit]}, Bonferroni, level {settings.alpha:g}, at "
            f"least {count_of(settings.min_size, 'observation')} per leaf, "
            + (f"at most {count_of(settings.max_depth, 'level')}" if settings.max_depth else "any depth")
        )
        few = f"; p-values from {DRAWS} permutations in nodes with fewer than {TASKS_PER_PARAMETER} tasks per parameter"
        return (("Tree", how + (few if permuted else "")),)


def _strongest(node: Node, most: int) -> str:
    best = sorted(node.worth.items(), key=lambda item: -item[1])[:most]
    return ", ".join(f"{name} {worth:.2f}" for name, worth in best)


def _node_json(node: Node) -> dict[str, object]:
    keys = ("variable", "statistic", "p_raw", "p_adjusted", "by_permutation")
    tests = [{key: getattr(test, key) for key in keys} for test in node.tests]
    same = ("id", "parent", "depth", "n", "n_tasks", "loglik", "worth", "children")
    return {**{name: getattr(node, name) for name in same}, "tests": tests, "split": _split_json(node.split)}


def _split_json(split: Split | None) -> dict[str, object] | None:
    if split is None:
        return None
    if split.threshold is not None:
        return {"variable": split.variable, "threshold": split.threshold}
    levels = {"left_levels": split.left_levels, "right_levels": split.right_levels}
    return {"variable": split.variable, **levels}


def grow_tree(data: Comparisons, settings: TreeSettings, random: np.random.Generator | None = None) -> Tree:
    """Split the tasks where the frameworks' strengths change along a property, until nothing changes any more.

    See `assay.analysis.partitioning.grow_nodes` for the method and its reference.
    """
    nodes, notes = grow_nodes(data, settings, random or np.random.default_rng(0))
    return Tree(data.frameworks, settings, nodes, notes)


def scores_for_trees(inputs: Inputs) -> tuple[FoldScores, tuple[str, ...]]:
    """Return the frameworks that took part in most folds, and notes on the others; marked ones stay in."""
    folds = inputs.folds
    shares = (~np.isnan(folds.values)).mean(axis=0)
    kept = [name for name, share in zip(folds.frameworks, shares, strict=True) if share > LEAST_SHARE]
    left_out = [name for name in folds.frameworks if name not in kept]
    notes: tuple[str, ...] = ()
    if left_out:
        why = "they have no scores on more than a tenth of the folds"
        notes = (f"Left out, because {why}: {', '.join(left_out)}.",)
    complete, holes = folds.keep(kept).complete()
    return complete, (*notes, *holes)


def tree_over(
    inputs: Inputs,
    columns: Sequence[str] = (),
    settings: TreeSettings | None = None,
    min_size: int | None = None,
) -> Tree:
    """Grow the tree over properties of the tasks; `min_size` is by default five tasks' worth of observations."""
    scores, holes = scores_for_trees(inputs)
    settings = settings or TreeSettings()
    data, notes = join_properties(scores, inputs.scores.properties, columns, settings.psychotree)
    folds = max(1, round(len(data.tasks) / len(set(data.tasks.tolist()))))
    size = TASKS_PER_LEAF * (1 if settings.unit == "task" else folds) if min_size is None else min_size
    tree = grow_tree(data, replace(settings, min_size=size), inputs.random())
    return replace(tree, notes=(*inputs.notes, *holes, *notes, *tree.notes))


def compute(inputs: Inputs, options: TreeOptions) -> Tree:
    """Grow the tree with these options."""
    settings = TreeSettings(options.unit, 1, options.max_depth, options.alpha, options.compat == "psychotree")  # type: ignore[arg-type]
    return tree_over(inputs, options.columns, settings, options.min_size)


ANALYSIS = AnalysisSpec(
    name="tree",
    title="Which framework for which tasks",
    help="Grow a Bradley–Terry tree: which framework is the strongest for which tasks.",
    compute=compute,
    options=TreeOptions,
    needs=("scores", "properties of tasks"),
    examples=("tree --scores results.csv --covariates tasks.csv --columns rows,features",),
    figures={"figure": "Draw the tree: SVG, PDF or PNG."},
)
