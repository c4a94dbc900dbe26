"""Analysis records as figures. Each `draw_…` draws on a figure that is given, for files and for the page alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.analysis.anytime import Anytime
from assay.analysis.bayes import SignedRank
from assay.analysis.budgets import BudgetStep
from assay.analysis.failures import CATEGORIES, Failures
from assay.analysis.pairwise import Pairwise
from assay.analysis.pareto import Front
from assay.analysis.ranks import Ranks
from assay.analysis.scaled import Scaled
from assay.analysis.times import FitTime, InferenceTime
from assay.analysis.trees import Tree
from assay.report.coverage_figures import draw_tightness, draw_times_of_methods
from assay.report.style import COLOURS, GREY, figure_of, plain_ticks, save, svg
from assay.report.tree_figure import draw_tree
from assay.uncertainty.coverage import Coverage

__all__ = ["DRAWN", "bar_levels", "draw"]

ROW = 0.22  # inches of a line of text


def draw(record: Any, path: Path | None = None, how: str = "") -> str:
    """Draw a record: to a file by its ending, or, without one, as an SVG element that is returned.

    `how` names the other of two figures of a record: "wins" of a `Pairwise`, "times" of a `Coverage`.
    """
    size, paint = DRAWN[how or type(record[0] if isinstance(record, (list, tuple)) else record)]
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
    """Draw score against time on a logarithmic axis; the front is joined by a line, names stand in a column.

    Those far below the others (the constant predictor) would flatten the rest: they are named below the axis.
    """
    axes = figure.add_subplot()
    middle = float(np.median([point.score for point in front.points]))
    shown = [point for point in front.points if point.score >= middle / 2]
    below = [point for point in front.points if point.score < middle / 2]
    edge = [point for point in shown if point.on_front]
    axes.plot([p.seconds for p in edge], [p.score for p in edge], color=COLOURS[5], lw=1.2, zorder=1)
    for point in shown:
        colour = COLOURS[5] if point.on_front else COLOURS[0]
        axes.scatter(point.seconds, point.score, color=colour, s=28, zorder=2)
    axes.set_xscale("log")
    plain_ticks(axes.xaxis)
    low, high = axes.get_ylim()
    ordered = sorted(shown, key=lambda point: -point.score)
    for point, y in zip(ordered, _apart([p.score for p in ordered], low, high), strict=True):
        axes.annotate(
            point.framework, (point.seconds, point.score), xytext=(1.03, (y - low) / (high - low)),
            textcoords="axes fraction", va="center", fontsize=8,
            color=COLOURS[5] if point.on_front else "black",
            arrowprops={"arrowstyle": "-", "color": "#cccccc", "lw": 0.6, "shrinkA": 2, "shrinkB": 3},
        )  # fmt: skip
    said = "".join(f"\nbelow: {p.framework}, {p.score:.2f} at {p.seconds:.2g} s" for p in below)
    axes.set(xlabel=f"seconds ({front.over} over tasks){said}", ylabel="score, worst 0 to best 1")


def _apart(values: Sequence[float], low: float, high: float) -> list[float]:
    """Return places for labels of descending values, none closer than a line of text, within the axis."""
    step = min(0.055 * (high - low), (high - low) / max(len(values), 1))
    out: list[float] = []
    for value in values:
        out.append(value if not out else min(value, out[-1] - step))
    lift = max(0.0, low - out[-1]) if out else 0.0
    for at in range(len(out) - 1, -1, -1):  # those that were pushed out below push the others up
        floor = low if at == len(out) - 1 else out[at + 1] + step
        out[at] = max(out[at], floor) if lift else out[at]
    return out


def draw_times(figure: Any, times: Sequence[FitTime]) -> None:
    """Draw training times as ranges with quartiles, the budget as a line; timeouts are counted beside."""
    axes = figure.add_subplot()
    shown = [one for one in times if one.jobs]
    for at, one in enumerate(shown):
        axes.plot([one.least, one.most], [at, at], color=GREY, lw=1)
        axes.plot([one.lower, one.upper], [at, at], color=COLOURS[0], lw=6, solid_capstyle="butt")
        axes.plot([one.median], [at], "|", color="black", ms=9, mew=1.5)
        if one.timeouts:
            axes.annotate(
                f"{one.timeouts} timeouts", (one.most, at), xytext=(4, 0), textcoords="offset points", va="center",
                fontsize=8, color=COLOURS[5],
            )  # fmt: skip
    for budget in sorted({one.budget_s for one in shown if one.budget_s == one.budget_s}):
        axes.axvline(budget, color="black", lw=0.8, ls="--")
    axes.set(yticks=range(len(shown)), yticklabels=_time_labels(shown), xlabel="seconds of training")
    axes.invert_yaxis()


def _time_labels(times: Sequence[FitTime]) -> list[str]:
    several = len({one.constraint for one in times}) > 1
    return [f"{one.framework} @{one.constraint}" if several else one.framework for one in times]


def draw_elo(figure: Any, pairs: Pairwise) -> None:
    """Draw Elo with its intervals, best first; tie groups change the colour."""
    axes = figure.add_subplot()
    finite = np.isfinite(pairs.elo)
    for at, name in enumerate(pairs.frameworks):
        colour = COLOURS[(int(pairs.group[at]) - 1) % 2 * 5]
        if not finite[at]:
            edge = axes.get_xlim()[1 if pairs.elo[at] > 0 else 0]
            axes.annotate("won all" if pairs.elo[at] > 0 else "lost all", (edge, at), va="center", fontsize=8)
            continue
        ends = [value for value in (pairs.elo_low[at], pairs.elo_high[at]) if np.isfinite(value)]
        axes.plot([*ends, *([pairs.elo[at]] * (2 - len(ends)))], [at, at], color=colour, lw=1.5)
        axes.plot([pairs.elo[at]], [at], "o", color=colour, ms=5, label=name)
    axes.set(yticks=range(len(pairs.frameworks)), yticklabels=pairs.frameworks)
    axes.set_xlabel(f"Elo, {pairs.anchor} at 1000, with 95 % intervals over tasks")
    axes.invert_yaxis()


def draw_wins(figure: Any, pairs: Pairwise) -> None:
    """Draw the share of tasks on which the row beats the column, ties counting half."""
    share = (pairs.wins + pairs.ties / 2) / max(pairs.n_tasks, 1)
    _matrix(figure, pairs.frameworks, share, "share of tasks on which the row is better than the column")


def draw_posterior(figure: Any, pairs: Sequence[SignedRank]) -> None:
    """Draw the probability that the row is better than the column by more than the region of equivalence."""
    names = list(dict.fromkeys(name for pair in pairs for name in (pair.a, pair.b)))
    share = np.full((len(names), len(names)), np.nan)
    for pair in pairs:
        i, j = names.index(pair.a), names.index(pair.b)
        share[i, j], share[j, i] = pair.p_a, pair.p_b
    order = np.argsort(-np.nansum(share, axis=1), kind="stable")
    _matrix(figure, [names[i] for i in order], share[np.ix_(order, order)], "P(row is better than column)")


def _matrix(figure: Any, names: Sequence[str], share: Any, title: str) -> None:
    axes = figure.add_subplot()
    shown = np.where(np.eye(len(names), dtype=bool), np.nan, share)
    axes.imshow(shown, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for i, row in enumerate(shown):
        for j, value in enumerate(row):
            if np.isfinite(value):
                colour = "white" if value < 0.5 else "black"
                axes.text(j, i, f"{100 * value:.0f}", ha="center", va="center", color=colour, fontsize=7)
    axes.set(xticks=range(len(names)), yticks=range(len(names)), yticklabels=names)
    axes.set_xticklabels(names, rotation=45, ha="left", rotation_mode="anchor")
    axes.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(f"{title}, in per cent")


def draw_inference(figure: Any, times: Sequence[InferenceTime]) -> None:
    """Draw seconds per row against the size of the batch, both on logarithmic axes."""
    axes = figure.add_subplot()
    for at, name in enumerate(dict.fromkeys(one.framework for one in times)):
        own = [one for one in times if one.framework == name]
        style = ("-", "--", ":")[at // len(COLOURS) % 3]
        axes.plot(
            [one.batch for one in own], [one.median for one in own], style, marker="o", ms=3,
            color=COLOURS[at % len(COLOURS)], label=name,
        )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="rows in a batch", ylabel="seconds per row (median)")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=8)


def draw_failures(figure: Any, failures: Failures) -> None:
    """Draw failed jobs of each framework by category, as shares of its jobs."""
    axes = figure.add_subplot()
    shown = [one for one in failures.by_framework if one.failed]
    start = np.zeros(len(shown))
    kinds = [*CATEGORIES, "not its own"]
    for at, kind in enumerate(kinds):
        counts = [one.by_category.get(kind, one.failed - sum(one.by_category.values())) for one in shown]
        share = np.array([100 * count / one.jobs for count, one in zip(counts, shown, strict=True)])
        if share.any():
            axes.barh(range(len(shown)), share, left=start, color=COLOURS[at], label=kind, height=0.7)
        start += share
    axes.set(
        yticks=range(len(shown)), yticklabels=[one.name for one in shown], xlabel="failed jobs, per cent"
    )
    axes.invert_yaxis()
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=8)


def draw_budgets(figure: Any, steps: Sequence[BudgetStep]) -> None:
    """Draw on how many tasks the longer budget gave better, equal and worse scores."""
    axes = figure.add_subplot()
    labels = [f"{one.framework}: {one.from_s:g} s to {one.to_s:g} s" for one in steps]
    start = np.zeros(len(steps))
    for kind, colour in (("better", COLOURS[2]), ("equal", "#c8c8c8"), ("worse", COLOURS[5])):
        counts = np.array([getattr(one, kind) for one in steps], dtype=float)
        axes.barh(range(len(steps)), counts, left=start, color=colour, label=kind, height=0.7)
        start += counts
    axes.set(yticks=range(len(steps)), yticklabels=labels, xlabel="tasks")
    axes.invert_yaxis()
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=8)


def draw_anytime(figure: Any, anytime: Anytime) -> None:
    """Draw how much of the way from the first to the last score was done after which time."""
    axes = figure.add_subplot()
    for at, one in enumerate(anytime.frameworks):
        known = [(s, 100 * d) for s, d in zip(anytime.grid_s, one.done, strict=True) if d is not None]
        style = ("-", "--", ":")[at // len(COLOURS) % 3]
        axes.plot(*zip(*known, strict=True), style, color=COLOURS[at % len(COLOURS)], label=one.framework)
    axes.set(xlabel="seconds of the search", ylabel="progress of its own validation score, per cent")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=8)


def _rows(count: int) -> tuple[float, float]:
    return 7.0, 1.0 + 1.4 * ROW * max(count, 2)


def _square(count: int) -> tuple[float, float]:
    return 3.0 + 0.36 * count, 1.8 + 0.26 * count


def _tree_size(tree: Tree) -> tuple[float, float]:
    leaves = sum(node.split is None for node in tree.nodes)
    depth = max(node.depth for node in tree.nodes) - 1
    return max(6.0, 2.6 * leaves), 1.2 + 0.95 * depth + ROW * len(tree.frameworks)


Size = Callable[[Any], tuple[float, float]]
# By the type of the record, or of the first of several.
DRAWN: dict[Any, tuple[Size, Callable[[Any, Any], None]]] = {
    Ranks: (lambda r: (8.0, 1.2 + ROW * ((len(r.frameworks) + 1) // 2 + len(r.groups) + 2)), draw_ranks),
    Tree: (_tree_size, draw_tree),
    Scaled: (lambda s: _rows(len(s.frameworks)), draw_boxes),
    Front: (lambda f: (7.0, 4.2), draw_front),
    Pairwise: (lambda p: _rows(len(p.frameworks)), draw_elo),
    FitTime: (lambda t: _rows(len(t)), draw_times),
    InferenceTime: (lambda t: (7.0, 4.2), draw_inference),
    SignedRank: (lambda p: _square(int((1 + (1 + 8 * len(p)) ** 0.5) / 2)), draw_posterior),
    Failures: (lambda f: _rows(sum(one.failed > 0 for one in f.by_framework)), draw_failures),
    BudgetStep: (lambda s: _rows(len(s)), draw_budgets),
    Anytime: (lambda a: (7.0, 4.2), draw_anytime),
    Coverage: (lambda c: _rows(round(1.3 * len({one.method for one in c}))), draw_tightness),
    "wins": (lambda p: _square(len(p.frameworks)), draw_wins),
    "times": (lambda c: (8.0, 3.2), draw_times_of_methods),
}
