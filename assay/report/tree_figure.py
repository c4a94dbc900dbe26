"""A Bradley–Terry tree as a figure: splits as boxes, worths of the frameworks as bars in the leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.analysis.trees import Node, Tree
from assay.report.style import COLOURS, GREY
from assay.report.tables import counted, split_words

__all__ = ["draw_tree"]


def draw_tree(figure: Any, tree: Tree) -> None:
    """Draw a Bradley–Terry tree: splits as boxes, worths of the frameworks as bars in the leaves."""
    figure.set_layout_engine("none")  # everything has its place
    leaves = [node for node in tree.nodes if node.split is None]
    depth = max(node.depth for node in tree.nodes)
    margin = (
        0.065 * max(map(len, tree.frameworks)) / figure.get_size_inches()[0]
    )  # for names, at the first leaf
    place = _places(tree, leaves, margin)
    rows = len(tree.frameworks)
    inner = max(0, depth - 1)
    total = inner * 4.0 + rows * 0.9 + 3
    top = (inner * 4.0) / total
    overlay = figure.add_axes((0, 0, 1, 1))
    overlay.axis("off")
    overlay.set(xlim=(0, 1), ylim=(0, 1))
    heights = {
        node.id: 1 - ((node.depth - 0.5) * 4.0) / total for node in tree.nodes if node.split is not None
    }
    heights |= {node.id: 1 - top - 0.02 for node in leaves}
    for node in tree.nodes:
        for child in node.children:
            _edge(overlay, tree, node, tree.nodes[child - 1], place, heights)
    for node in tree.nodes:
        if node.split is not None:
            _box(overlay, node, place[node.id], heights[node.id])
    order = sorted(tree.frameworks, key=lambda name: -tree.nodes[0].worth[name])
    most = max(max(node.worth.values()) for node in leaves)
    width = (1 - margin) / len(leaves)
    for node in leaves:
        room = (place[node.id] - 0.43 * width, 0.07, 0.86 * width, max(0.1, 1 - top - 0.16))
        _leaf(figure.add_axes(room), node, order, most, node is leaves[0])


def _places(tree: Tree, leaves: Sequence[Node], margin: float) -> dict[int, float]:
    """Return where each node stands from left to right: leaves evenly, the others above the middle of theirs."""
    width = (1 - margin) / len(leaves)
    place = {node.id: margin + (i + 0.5) * width for i, node in enumerate(leaves)}
    for node in reversed(tree.nodes):
        if node.children:
            place[node.id] = sum(place[child] for child in node.children) / len(node.children)
    return place


def _edge(
    axes: Any, tree: Tree, node: Node, child: Node, place: dict[int, float], height: dict[int, float]
) -> None:
    x, y = (place[node.id], place[child.id]), (height[node.id], height[child.id])
    axes.plot(x, y, color=GREY, lw=1, zorder=1)
    words = split_words(tree, child).rstrip(": ").removeprefix(child_variable(tree, child)).strip()
    axes.text(
        sum(x) / 2, sum(y) / 2, words, ha="center", va="center", fontsize=8, zorder=2,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
    )  # fmt: skip


def child_variable(tree: Tree, child: Node) -> str:
    """Return the variable by which a node was parted from its sibling."""
    parent = tree.nodes[(child.parent or 1) - 1]
    return parent.split.variable if parent.split is not None else ""


def _box(axes: Any, node: Node, x: float, y: float) -> None:
    split = node.split
    assert split is not None
    test = next(test for test in node.tests if test.variable == split.variable)
    p = "p < 0.001" if test.p_adjusted < 0.001 else f"p = {test.p_adjusted:.3f}"
    axes.text(
        x, y, f"{split.variable}\n{p}", ha="center", va="center", zorder=3,
        bbox={"facecolor": "white", "edgecolor": "black", "boxstyle": "round,pad=0.35"},
    )  # fmt: skip


def _leaf(axes: Any, node: Node, order: Sequence[str], most: float, named: bool) -> None:
    worths = [node.worth[name] for name in order]
    best = int(np.argmax(worths))
    colours = [COLOURS[5] if i == best else COLOURS[0] for i in range(len(order))]
    axes.barh(range(len(order)), worths, color=colours, height=0.7)
    labels = order if named else [""] * len(order)  # the order is the same in all leaves
    axes.set(yticks=range(len(order)), yticklabels=labels, xlim=(0, most * 1.05))
    axes.invert_yaxis()
    axes.tick_params(labelsize=7, length=2)
    axes.set_title(counted(node.n_tasks, "task"), fontsize=8)
