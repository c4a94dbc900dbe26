"""Coverage of intervals as figures: tightness beside BBC's (the BBC-F paper's Figure 2), and time (its Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.report.style import COLOURS, GREY, plain_ticks
from assay.uncertainty.coverage import Coverage

__all__ = ["draw_tightness", "draw_times_of_methods"]

BASE = "bbc"
MOST = 4.0  # ratios beyond are drawn at the edge


def draw_tightness(figure: Any, found: Sequence[Coverage]) -> None:
    """Draw a dot for each setting: how much looser than BBC a method is, and whether its promise stands."""
    axes = figure.add_subplot()
    base = {one.setting: one.tightness for one in found if one.method == BASE and one.repetitions}
    methods = [name for name in dict.fromkeys(one.method for one in found if one.repetitions) if name != BASE]
    for at, name in enumerate(methods):
        own = [one for one in found if one.method == name and one.repetitions and base.get(one.setting)]
        for place, one in enumerate(own):
            shift = (place - (len(own) - 1) / 2) * 0.6 / max(len(own), 2)
            ratio = min(max(one.tightness / base[one.setting], -1.0), MOST)
            colour = COLOURS[0] if one.holds else COLOURS[5]
            axes.plot([ratio], [at + shift], "o", color=colour, ms=4, mec="white", mew=0.4)
    axes.axvline(1.0, color=GREY, lw=0.8, ls="--")
    axes.set_yticks(range(len(methods)), methods)
    axes.invert_yaxis()
    axes.set_xlabel("tightness, BBC's being 1 (blue: 95 % stands, orange: refuted)")


def draw_times_of_methods(figure: Any, found: Sequence[Coverage]) -> None:
    """Draw median CPU seconds against rows, configurations and folds, where the others are the most common ones."""
    names = (("n", "rows"), ("c", "configurations"), ("folds", "folds"))
    known = [one for one in found if one.repetitions]
    common = {name: _most_common([getattr(one, name) for one in known]) for name, _ in names}
    panels = figure.subplots(1, 3, sharey=True)
    for axes, (name, words) in zip(panels, names, strict=True):
        others = [other for other, _ in names if other != name]
        for at, method in enumerate(dict.fromkeys(one.method for one in known)):
            own = [
                one for one in known
                if one.method == method and all(getattr(one, other) == common[other] for other in others)
            ]  # fmt: skip
            own.sort(key=lambda one: getattr(one, name))
            points = [getattr(one, name) for one in own], [one.seconds for one in own]
            axes.plot(*points, "o-", color=COLOURS[at % len(COLOURS)], ms=4, lw=1.2, label=method)
        axes.set(xscale="log", yscale="log", xlabel=words)
        plain_ticks(axes.xaxis)
    panels[0].set_ylabel("CPU seconds (median)")
    panels[0].legend(frameon=False, fontsize=8)


def _most_common(values: Sequence[int]) -> int:
    return max(set(values), key=values.count)
