"""Analysis records as figures. Each `draw_…` draws on a figure that is given, for files and for the page alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.analysis.pareto import Front
from assay.analysis.ranks import Ranks
from assay.analysis.scaled import Scaled
from assay.analysis.times import FitTime
from assay.analysis.trees import Node, Tree
from assay.report.style import COLOURS, GREY, figure_of, save, svg
from assay.report.tables import split_words

__all__ = ["DRAWN", "bar_levels", "draw", "draw_boxes", "draw_front", "draw_ranks", "draw_times", "draw_tree"]

ROW = 0.22  # inches of a line of text


def draw(record: Any, path: Path | None = None) -> str:
    """Draw a record: to a file by its ending, or, without one, as an SVG element that is returned."""
    size, paint = DRAWN[type(record)]
    with figure_of(*size(record)) as figure:
        paint(figure, record)
        if path is None:
            return svg(figure)
        save(figure, path)
        return ""


def draw_ranks(figure: Any, ranks: Ranks) -> None:
    """Draw the critical-difference diagram: better to the left, bars over those that do not clearly differ."""
    axes = figure.add_subplot()
    m = len(ranks.frameworks)
    levels = bar_levels(ranks.groups)
    depth = 1 + max(levels, default=-1)
    half = (m + 1) // 2
    axes.set(xlim=(1, m), ylim=(-(depth + half + 0.8), 2.2))
    axes.axis("off")
    axes.plot([1, m], [0, 0], color="black", lw=1, clip_on=False)
    for tick in range(1, m + 1):
        axes.plot([tick, tick], [0, 0.3], color="black", lw=1, clip_on=False)
        axes.text(tick, 0.45, str(tick), ha="center", va="bottom")
    axes.plot([1, min(m, 1 + ranks.critical_distance)], [1.6, 1.6], color="black", lw=2, clip_on=False)
    axes.text(1, 1.75, f"critical distance {ranks.critical_distance:.2f}", va="bottom")
    for (first, last), level in zip(ranks.groups, levels, strict=True):
        y = -0.45 - level
        axes.plot(
            [ranks.average[first] - 0.04, ranks.average[last] + 0.04], [y, y], color=COLOURS[0], lw=3.5,
            solid_capstyle="butt", clip_on=False,
        )  # fmt: skip
    for place, (name, rank) in enumerate(zip(ranks.frameworks, ranks.average, strict=True)):
        on_left = place < half
        row = place if on_left else m - 1 - place
        y = -(depth + row + 0.9)
        end = 1.0 if on_left else float(m)
        axes.plot([rank, rank, end], [0, y, y], color=GREY, lw=0.8, clip_on=False)
        label = f"{name}  {rank:.2f}" if on_left else f"{rank:.2f}  {name}"
        axes.annotate(
            label, (end, y), xytext=(-4 if on_left else 4, 0), textcoords="offset points", va="center",
            ha="right" if on_left else "left", annotation_clip=False,
        )  # fmt: skip


def bar_levels(groups: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each group the lowest line on which it touches none of those before it."""
    ends: list[int] = []
    out = []
    for first, last in groups:
        level = next((i for i, end in enumerate(ends) if end < first), len(ends))
        ends[level : level + 1] = [last]
        out.append(level)
    return out


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
    axes.set_title(f"{node.n_tasks} tasks", fontsize=8)


def draw_boxes(figure: Any, scaled: Scaled, floor: float = -4.0) -> None:
    """Draw scaled scores as box plots, best median first; how many lie below the axis is said beside each."""
    axes = figure.add_subplot()
    order = np.argsort(-np.nanmedian(scaled.values, axis=0))
    data = [column[np.isfinite(column)] for column in scaled.values.T[order]]
    axes.boxplot(
        data, orientation="horizontal", widths=0.6, patch_artist=True,
        boxprops={"facecolor": "#d6e6f2"}, medianprops={"color": COLOURS[5]}, flierprops={"markersize": 3},
    )  # fmt: skip
    axes.set(yticks=range(1, len(order) + 1), yticklabels=[scaled.frameworks[j] for j in order])
    axes.invert_yaxis()
    low = max(floor, min((float(one.min()) for one in data if len(one)), default=floor))
    axes.set_xlim(low - 0.05, scaled.high + 0.1)
    for at, one in enumerate(data, start=1):
        cut = int((one < low).sum())
        if cut:
            axes.annotate(
                f"◂ {cut}", (low, at), xytext=(-2, 0), textcoords="offset points", ha="left", va="center",
                color=COLOURS[5], fontsize=8,
            )  # fmt: skip
    axes.axvline(scaled.low, color=GREY, lw=0.8, ls=":")
    axes.set_xlabel(f"score, from {scaled.reference} ({scaled.low:g}) to the best ({scaled.high:g})")


def draw_front(figure: Any, front: Front) -> None:
    """Draw score against time on a logarithmic axis; the front is joined by a line."""
    axes = figure.add_subplot()
    edge = [point for point in front.points if point.on_front]
    axes.plot([p.seconds for p in edge], [p.score for p in edge], color=COLOURS[5], lw=1.2, zorder=1)
    for point in front.points:
        colour = COLOURS[5] if point.on_front else COLOURS[0]
        axes.scatter(point.seconds, point.score, color=colour, s=28, zorder=2)
        axes.annotate(
            point.framework,
            (point.seconds, point.score),
            xytext=(4, 4),
            textcoords="offset points",
            fontsize=8,
        )
    axes.set_xscale("log")
    axes.set(xlabel=f"seconds ({front.over} over tasks)", ylabel="score, worst 0 to best 1")


def draw_times(figure: Any, times: Sequence[FitTime]) -> None:
    """Draw training times as ranges with quartiles, the budget as a line; timeouts are counted beside."""
    axes = figure.add_subplot()
    shown = [one for one in times if one.jobs]
    for at, one in enumerate(shown):
        axes.plot([one.least, one.most], [at, at], color=GREY, lw=1)
        axes.plot([one.lower, one.upper], [at, at], color=COLOURS[0], lw=6, solid_capstyle="butt")
        axes.plot([one.median], [at], "|", color="white", ms=7, mew=2)
        if one.timeouts:
            axes.annotate(
                f"{one.timeouts} timeouts", (one.most, at), xytext=(4, 0), textcoords="offset points", va="center",
                fontsize=8, color=COLOURS[5],
            )  # fmt: skip
    for budget in sorted({one.budget_s for one in shown if one.budget_s == one.budget_s}):
        axes.axvline(budget, color="black", lw=0.8, ls="--")
    axes.set(
        yticks=range(len(shown)), yticklabels=[one.framework for one in shown], xlabel="seconds of training"
    )
    axes.invert_yaxis()


Size = Callable[[Any], tuple[float, float]]
DRAWN: dict[type, tuple[Size, Callable[[Any, Any], None]]] = {
    Ranks: (lambda r: (8.0, 1.2 + ROW * ((len(r.frameworks) + 1) // 2 + len(r.groups) + 2)), draw_ranks),
    Tree: (
        lambda t: (
            max(6.0, 2.6 * sum(n.split is None for n in t.nodes)),
            1.2 + 0.95 * (max(n.depth for n in t.nodes) - 1) + ROW * len(t.frameworks),
        ),
        draw_tree,
    ),
    Scaled: (lambda s: (7.0, 1.0 + 1.4 * ROW * len(s.frameworks)), draw_boxes),
    Front: (lambda f: (7.0, 4.2), draw_front),
}
