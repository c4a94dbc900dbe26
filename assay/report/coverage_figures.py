"""Coverage of intervals as figures: tightness beside BBC's (the BBC-F paper's Figure 2), and time (its Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.drawing import COLOURS, GREY, HIGHLIGHT, Drawing, plain_ticks, rows_size
from assay.uncertainty.coverage import Coverage

__all__ = ["tightness_drawing", "time_drawing"]

BASE = "bbc"
MOST = 4.0  # ratios beyond are drawn at the edge


def tightness_drawing(coverages: Sequence[Coverage]) -> Drawing:
    """Return tightness beside BBC's as a figure."""
    lines = round(1.3 * len({coverage.method for coverage in coverages}))
    return Drawing(*rows_size(lines), lambda figure: _draw_tightness(figure, coverages))


def time_drawing(coverages: Sequence[Coverage]) -> Drawing:
    """Return the time of each method as a figure."""
    return Drawing(8.0, 3.2, lambda figure: _draw_times(figure, coverages))


def _draw_tightness(figure: Any, coverages: Sequence[Coverage]) -> None:
    """Draw a dot for each setting: how much looser than BBC a method is, and whether its promise stands."""
    axes = figure.add_subplot()
    bounded = [coverage for coverage in coverages if coverage.repetitions]
    base = {coverage.setting: coverage.tightness for coverage in bounded if coverage.method == BASE}
    methods = [name for name in dict.fromkeys(coverage.method for coverage in bounded) if name != BASE]
    for at, name in enumerate(methods):
        settings = [
            coverage for coverage in bounded if coverage.method == name and base.get(coverage.setting)
        ]
        for place, coverage in enumerate(settings):
            shift = (place - (len(settings) - 1) / 2) * 0.6 / max(len(settings), 2)
            ratio = min(max(coverage.tightness / base[coverage.setting], -1.0), MOST)
            colour = COLOURS[0] if coverage.holds else HIGHLIGHT
            axes.plot([ratio], [at + shift], "o", color=colour, ms=4, mec="white", mew=0.4)
    axes.axvline(1.0, color=GREY, lw=0.8, ls="--")
    axes.set_yticks(range(len(methods)), methods)
    axes.invert_yaxis()
    axes.set_xlabel("tightness, BBC's being 1 (blue: 95 % stands, orange: refuted)")


def _draw_times(figure: Any, coverages: Sequence[Coverage]) -> None:
    """Draw median CPU seconds against rows, configurations and folds, where the others are the most common ones."""
    names = (("n", "rows"), ("c", "configurations"), ("folds", "folds"))
    bounded = [coverage for coverage in coverages if coverage.repetitions]
    common = {name: _most_common([getattr(coverage, name) for coverage in bounded]) for name, _ in names}
    panels = figure.subplots(1, 3, sharey=True)
    for axes, (name, words) in zip(panels, names, strict=True):
        others = [other for other, _ in names if other != name]
        for at, method in enumerate(dict.fromkeys(coverage.method for coverage in bounded)):
            settings = [
                coverage for coverage in bounded
                if coverage.method == method and all(getattr(coverage, other) == common[other] for other in others)
            ]  # fmt: skip
            settings.sort(key=lambda coverage: getattr(coverage, name))
            points = (
                [getattr(coverage, name) for coverage in settings],
                [coverage.seconds for coverage in settings],
            )
            axes.plot(*points, "o-", color=COLOURS[at % len(COLOURS)], ms=4, lw=1.2, label=method)
        axes.set(xscale="log", yscale="log", xlabel=words)
        plain_ticks(axes.xaxis)
    panels[0].set_ylabel("CPU seconds (median)")
    panels[0].legend(frameon=False, fontsize=8)


def _most_common(values: Sequence[int]) -> int:
    return max(set(values), key=values.count)
