"""Progress over time: how far was a search after how many seconds, from the framework's own trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.record import AnalysisRecord, Medium, TextTable
from assay.analysis.registry import AnalysisSpec
from assay.analysis.wording import duration, percent
from assay.errors import UserError
from assay.typing import Floats, JsonObject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from assay.analysis.inputs import Inputs
    from assay.analysis.options import NoOptions
    from assay.drawing import Drawing

__all__ = ["ANALYSIS", "Anytime", "Curve", "SearchProgress", "best_so_far", "compare_progress"]

GRID = 20  # times at which progress is compared; a multiple of four, so that quarters are among them


@dataclass(frozen=True)
class Curve:
    """The best validation score so far of one framework on one fold, in the framework's own terms.

    `metric` is the framework's word for what it optimised; scores of different frameworks are not comparable, because
    each validates in its own way.
    """

    framework: str
    task: str
    metric: str
    higher_is_better: bool
    seconds: tuple[float, ...]
    best: tuple[float, ...]
    budget_s: float = float("nan")


@dataclass(frozen=True)
class SearchProgress:
    """How a framework's searches went: of the way from its first score to its last, how much was done when.

    `done` belongs to `Anytime.grid_s`; None before its first score. `first_s` and `last_s` are medians of when the
    first score was there and when the last improvement was.
    """

    framework: str
    jobs: int
    first_s: float
    last_s: float
    done: tuple[float | None, ...]


@dataclass(frozen=True)
class Anytime(AnalysisRecord):
    """Progress of frameworks at the same times, those with the earliest first score first."""

    grid_s: tuple[float, ...]
    frameworks: tuple[SearchProgress, ...]
    notes: tuple[str, ...] = ()

    def rows(self) -> list[JsonObject]:
        """Return one row per framework and time."""
        return [
            {
                "framework": progress.framework, "jobs": progress.jobs, "first_s": progress.first_s,
                "last_s": progress.last_s, "seconds": seconds, "done": done,
            }
            for progress in self.frameworks
            for seconds, done in zip(self.grid_s, progress.done, strict=True)
        ]  # fmt: skip

    def tables(self, medium: Medium) -> tuple[TextTable, ...]:
        """Return when each had its first score and last improvement, and how far it was at each quarter."""
        quarters = [len(self.grid_s) * part // 4 - 1 for part in (1, 2, 3, 4)]
        heads = ["framework", ">searches", ">first score after", ">last improvement after"]
        heads += [f">done at {medium.seconds(self.grid_s[at])}" for at in quarters]
        lines = [
            [
                progress.framework, progress.jobs, medium.seconds(progress.first_s), medium.seconds(progress.last_s),
                *(percent(progress.done[at], 0) for at in quarters),
            ]
            for progress in self.frameworks
        ]  # fmt: skip
        return (TextTable(heads, lines),)

    def summary(self) -> str:
        """Name who has a score first."""
        first = self.frameworks[0]
        return (
            f"{first.framework} has its first score after {duration(first.first_s)}, the earliest of the frameworks "
            "that leave a trace."
        )

    def caveat(self) -> str:
        """Say that curves are not comparable as scores."""
        return (
            "From the frameworks' own validation scores, each on its own scale: curves show when a search had made how "
            "much of its progress, not who is better."
        )

    def remarks(self) -> tuple[str, ...]:
        """Say what done means."""
        return (
            "Done: the share of the way from a framework's first validation score to its last, in its own terms; not "
            "comparable as scores.",
        )

    def drawings(self) -> tuple[Drawing, ...]:
        """Return progress against time."""
        from assay.drawing import Drawing

        return (Drawing(7.0, 4.2, self._draw),)

    def methods(self) -> tuple[tuple[str, str], ...]:
        """Say what progress is a mean over."""
        jobs = sum(progress.jobs for progress in self.frameworks)
        return (
            ("Progress", f"means over {jobs} searches at {len(self.grid_s)} times up to the longest budget"),
        )

    def _draw(self, figure: Figure) -> None:
        """Draw how much of the way from the first to the last score was done after which time."""
        from assay.drawing import legend_beside, line_style

        axes = figure.add_subplot()
        for at, progress in enumerate(self.frameworks):
            points = zip(self.grid_s, progress.done, strict=True)
            percents = [(seconds, 100 * done) for seconds, done in points if done is not None]
            axes.plot(*zip(*percents, strict=True), label=progress.framework, **line_style(at))
        axes.set(xlabel="seconds of the search", ylabel="progress of its own validation score, per cent")
        legend_beside(axes)


def best_so_far(
    framework: str, task: str, trace: Mapping[str, object], budget_s: float = float("nan")
) -> Curve:
    """Return the incumbents of a trace as the child wrote it: points of (seconds, score, …); others are left out."""
    higher = bool(trace.get("higher_is_better", True))
    written = trace["points"]
    assert isinstance(written, Iterable)  # the reader passes over other traces
    valid = [point for point in map(_point, written) if point]
    points = sorted(valid, key=lambda point: (point[0], -point[1] if higher else point[1]))
    seconds: list[float] = []
    best: list[float] = []
    for at, score in points:
        if not best or (score > best[-1] if higher else score < best[-1]):
            seconds.append(at)
            best.append(score)
    return Curve(framework, task, str(trace.get("metric", "")), higher, tuple(seconds), tuple(best), budget_s)


def _point(written: Any) -> tuple[float, float] | None:
    try:
        at, score = float(written[0]), float(written[1])
    except (TypeError, ValueError, IndexError, KeyError):
        return None
    return (at, score) if isfinite(at) and isfinite(score) else None


def compare_progress(curves: Iterable[Curve]) -> Anytime:
    """Return the mean progress of each framework's searches at 20 times up to the longest budget, or trace.

    Raises:
        UserError: no search left a trace.
    """
    traced = [curve for curve in curves if curve.best]
    if not traced:
        raise UserError(
            "No framework here left a trace of its search (flaml, h2o, autogluon, gama, mljar and others do)."
        )
    ends = [max(curve.seconds[-1], curve.budget_s if isfinite(curve.budget_s) else 0.0) for curve in traced]
    grid = np.linspace(max(ends) / GRID, max(ends), GRID)
    frameworks = []
    for name in sorted({curve.framework for curve in traced}):
        searches = [curve for curve in traced if curve.framework == name]
        first, last = (float(np.median([curve.seconds[i] for curve in searches])) for i in (0, -1))
        frameworks.append(SearchProgress(name, len(searches), first, last, _mean_progress(searches, grid)))
    return Anytime(tuple(grid.tolist()), tuple(sorted(frameworks, key=lambda progress: progress.first_s)))


def _mean_progress(curves: Sequence[Curve], grid: Floats) -> tuple[float | None, ...]:
    """Return the mean over curves of 0 at the first incumbent to 1 at the last; a search that has none yet is at 0."""
    rows, begun = [], []
    for curve in curves:
        first, last = curve.best[0], curve.best[-1]
        at = np.searchsorted(curve.seconds, grid, side="right") - 1
        best = np.array(curve.best)[np.maximum(at, 0)]
        progress = np.ones(len(grid)) if last == first else (best - first) / (last - first)
        rows.append(np.where(at < 0, 0.0, progress))
        begun.append(at >= 0)
    some = np.any(begun, axis=0)
    means = zip(np.mean(rows, axis=0), some, strict=True)
    return tuple(float(mean) if has_begun else None for mean, has_begun in means)


def compute(inputs: Inputs, options: NoOptions) -> Anytime:
    """Compare the traces of the jobs that are looked at."""
    jobs = inputs.rows[["framework", "task", "constraint"]].drop_duplicates()
    shown = set(jobs.itertuples(index=False, name=None))
    progress = compare_progress(
        best_so_far(row.framework, row.task, trace, row.budget_s or float("nan"))
        for row, trace in inputs.traces()
        if (row.framework, row.task, row.constraint) in shown
    )
    return replace(progress, notes=inputs.notes)


ANALYSIS = AnalysisSpec(
    name="anytime",
    title="Progress over time",
    help="Show how far each framework's search was after which time, from its own trace.",
    compute=compute,
    needs=("traces of searches",),
    examples=("anytime --store results --figure anytime.svg",),
    figures={"figure": "Draw progress against time: SVG, PDF or PNG."},
)
