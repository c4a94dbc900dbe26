"""A Bradley–Terry tree as a figure: splits as boxes, worths of the frameworks as bars in the leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.partitioning import Node, split_words
from assay.analysis.wording import count_of
from assay.drawing import COLOURS, GREY, HIGHLIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_tree"]

# In units of the height of one bar: a level of splits, a bar with its gap, and what title and axis of a leaf take.
LEVEL, BAR, FRAME = 4.0, 0.9, 3.0
LETTER_IN = 0.065  # width of a letter in inches


def draw_tree(figure: Figure, frameworks: Sequence[str], nodes: Sequence[Node]) -> None:
    """Draw splits as boxes, joined by lines, and the worths of the frameworks as bars in the leaves."""
    figure.set_layout_engine("none")  # everything has its place
    leaves = [node for node in nodes if node.split is None]
    margin = (
        LETTER_IN * max(map(len, frameworks)) / figure.get_size_inches()[0]
    )  # for names, at the first leaf
    inner = max(0, max(node.depth for node in nodes) - 1)
    total = inner * LEVEL + len(frameworks) * BAR + FRAME
    top = inner * LEVEL / total
    place = _places(nodes, leaves, margin)
    heights = {node.id: 1 - (node.depth - 0.5) * LEVEL / total for node in nodes if node.split is not None}
    heights |= {node.id: 1 - top - 0.02 for node in leaves}
    _draw_splits(figure, nodes, {node.id: (place[node.id], heights[node.id]) for node in nodes})
    order = sorted(frameworks, key=lambda name: -nodes[0].worth[name])
    most = max(max(node.worth.values()) for node in leaves)
    width = (1 - margin) / len(leaves)
    for node in leaves:
        room = (place[node.id] - 0.43 * width, 0.07, 0.86 * width, max(0.1, 1 - top - 0.16))
        _leaf(figure.add_axes(room), node, order, most, node is leaves[0])


def _places(nodes: Sequence[Node], leaves: Sequence[Node], margin: float) -> dict[int, float]:
    """Return where each node stands from left to right: leaves evenly, the others above the middle of theirs."""
    width = (1 - margin) / len(leaves)
    place = {node.id: margin + (i + 0.5) * width for i, node in enumerate(leaves)}
    for node in reversed(nodes):
        if node.children:
            place[node.id] = sum(place[child] for child in node.children) / len(node.children)
    return place


def _draw_splits(figure: Figure, nodes: Sequence[Node], at: Mapping[int, tuple[float, float]]) -> None:
    axes = figure.add_axes((0, 0, 1, 1))
    axes.axis("off")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    for node in nodes:
        for child in node.children:
            _edge(axes, nodes, nodes[child - 1], (at[node.id], at[child]))
    for node in nodes:
        if node.split is not None:
            _box(axes, node, *at[node.id])


def _edge(
    axes: Axes, nodes: Sequence[Node], child: Node, ends: tuple[tuple[float, float], tuple[float, float]]
) -> None:
    x, y = zip(*ends, strict=True)
    axes.plot(x, y, color=GREY, lw=1, zorder=1)
    split = nodes[(child.parent or 1) - 1].split
    words = split_words(nodes, child).removeprefix(split.variable if split else "").strip()
    axes.text(
        sum(x) / 2, sum(y) / 2, words, ha="center", va="center", fontsize=8, zorder=2,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
    )  # fmt: skip


def _box(axes: Axes, node: Node, x: float, y: float) -> None:
    split = node.split
    assert split is not None
    test = next(test for test in node.tests if test.variable == split.variable)
    p = "p < 0.001" if test.p_adjusted < 0.001 else f"p = {test.p_adjusted:.3f}"
    axes.text(
        x, y, f"{split.variable}\n{p}", ha="center", va="center", zorder=3,
        bbox={"facecolor": "white", "edgecolor": "black", "boxstyle": "round,pad=0.35"},
    )  # fmt: skip


def _leaf(axes: Axes, node: Node, order: Sequence[str], most: float, named: bool) -> None:
    worths = [node.worth[name] for name in order]
    best = int(np.argmax(worths))
    colours = [HIGHLIGHT if i == best else COLOURS[0] for i in range(len(order))]
    axes.barh(range(len(order)), worths, color=colours, height=0.7)
    labels = order if named else [""] * len(order)  # the order is the same in all leaves
    axes.set(yticks=range(len(order)), yticklabels=labels, xlim=(0, most * 1.05))
    axes.invert_yaxis()
    axes.tick_params(labelsize=7, length=2)
    axes.set_title(count_of(node.n_tasks, "task"), fontsize=8)
