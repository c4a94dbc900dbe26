"""Scaled scores against seconds, and who is not beaten in both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np

from assay.analysis.options import Option
from assay.analysis.record import AnalysisRecord, Medium, TextTable, as_json
from assay.analysis.registry import AnalysisSpec, SectionSpec
from assay.analysis.scaled import scale_from_worst
from assay.analysis.seconds import seconds_by_task
from assay.typing import Floats, JsonObject

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from assay.analysis.inputs import Inputs
    from assay.drawing import Drawing

__all__ = ["ANALYSIS", "Front", "Point", "find_front"]

# Who scores below this share of the median (the constant predictor) would flatten the others in a figure.
FAR_BELOW = 0.5


@dataclass(frozen=True)
class FrontOptions:
    """Which seconds, and how tasks are averaged."""

    against: Annotated[
        str, Option("inference (seconds per row) or training.", choices=("inference", "training"))
    ] = "inference"
    over: Annotated[str, Option("mean or median over tasks.", choices=("mean", "median"))] = "mean"


@dataclass(frozen=True)
class Point:
    """One framework: score and seconds, and whether nobody is better in one without being worse in the other."""

    framework: str
    score: float
    seconds: float
    on_front: bool


@dataclass(frozen=True)
class Front(AnalysisRecord):
    """Points from the fastest to the slowest; `over` says how tasks were averaged, `missing` who has no seconds.

    `against` says of what the seconds are: `inference` or `training`.
    """

    points: tuple[Point, ...]
    over: str
    missing: tuple[str, ...]
    against: str = "inference"
    notes: tuple[str, ...] = ()

    def rows(self) -> list[JsonObject]:
        """Return one row per framework, the fastest first."""
        return [as_json(point) for point in self.points]

    def tables(self, medium: Medium) -> tuple[TextTable, ...]:
        """Return one line per framework."""
        mark = "yes" if medium.name == "page" else "●"
        lines = [
            [
                point.framework,
                f"{point.score:.3f}",
                medium.seconds(point.seconds),
                mark if point.on_front else "",
            ]
            for point in self.points
        ]
        return (TextTable(["framework", ">scaled score", f">{self.against}", "on the front"], lines),)

    def summary(self) -> str:
        """Name the frameworks on the front."""
        front = [point.framework for point in self.points if point.on_front]
        missing = f" Without seconds: {', '.join(self.missing)}." if self.missing else ""
        return f"No framework is both better and faster ({self.against}) than: {', '.join(front)}.{missing}"

    def caveat(self) -> str:
        """Say what times depend on."""
        return "Times depend on the machine; compare them only between jobs of the same machine."

    def remarks(self) -> tuple[str, ...]:
        """Name those without seconds."""
        return (f"Without seconds of {self.against}: {', '.join(self.missing)}.",) if self.missing else ()

    def nothing_to_show(self) -> str:
        """Say so where no seconds are known."""
        return "" if self.points else f"No seconds of {self.against} are known."

    def drawings(self) -> tuple[Drawing, ...]:
        """Return scores against seconds."""
        from assay.drawing import Drawing

        empty = "" if self.points else f"No seconds of {self.against} are known"
        return (Drawing(7.0, 4.2, self._draw, empty=empty),)

    def methods(self) -> tuple[tuple[str, str], ...]:
        """Say what was averaged how."""
        how = f"scores from the worst (0) to the best (1) of each task against seconds of {self.against}"
        return ((f"Front ({self.against})", f"{how}, medians over folds, {self.over} over tasks"),)

    def _draw(self, figure: Figure) -> None:
        """Draw score against time on a logarithmic axis; the front is joined by a line, names stand in a column."""
        from assay.drawing import COLOURS, HIGHLIGHT, plain_ticks

        axes = figure.add_subplot()
        floor = FAR_BELOW * float(np.median([point.score for point in self.points]))
        shown = [point for point in self.points if point.score >= floor]
        front = [point for point in shown if point.on_front]
        axes.plot([p.seconds for p in front], [p.score for p in front], color=HIGHLIGHT, lw=1.2, zorder=1)
        for point in shown:
            colour = HIGHLIGHT if point.on_front else COLOURS[0]
            axes.scatter(point.seconds, point.score, color=colour, s=28, zorder=2)
        axes.set_xscale("log")
        plain_ticks(axes.xaxis)
        _name_points(axes, sorted(shown, key=lambda point: -point.score))
        below = [point for point in self.points if point.score < floor]
        named = "".join(f"\nbelow: {p.framework}, {p.score:.2f} at {p.seconds:.2g} s" for p in below)
        axes.set(xlabel=f"seconds ({self.over} over tasks){named}", ylabel="score, worst 0 to best 1")


def _name_points(axes: Axes, points: list[Point]) -> None:
    """Write the names beside the axes, joined to their points by thin lines."""
    from assay.drawing import HIGHLIGHT, spread_labels

    low, high = axes.get_ylim()
    for point, y in zip(points, spread_labels([p.score for p in points], low, high), strict=True):
        axes.annotate(
            point.framework, (point.seconds, point.score), xytext=(1.03, (y - low) / (high - low)),
            textcoords="axes fraction", va="center", fontsize=8,
            color=HIGHLIGHT if point.on_front else "black",
            arrowprops={"arrowstyle": "-", "color": "#cccccc", "lw": 0.6, "shrinkA": 2, "shrinkB": 3},
        )  # fmt: skip


def find_front(frameworks: tuple[str, ...], scores: Floats, seconds: Floats, over: str = "mean") -> Front:
    """Average (tasks, m) scores and seconds over tasks and mark the Pareto front: more score, fewer seconds.

    Args:
        frameworks: names of the columns.
        scores: higher is better; NaN is left out.
        seconds: NaN is left out.
        over: `mean` or `median`.
    """
    average = np.nanmedian if over == "median" else np.nanmean
    timed = [
        j
        for j in range(len(frameworks))
        if np.isfinite(scores[:, j]).any() and np.isfinite(seconds[:, j]).any()
    ]
    score = np.array([average(scores[:, j]) for j in timed])
    time = np.array([average(seconds[:, j]) for j in timed])
    points = []
    for place in np.lexsort((-score, time)):
        ahead = (score >= score[place]) & (time <= time[place])
        beaten = (ahead & ((score > score[place]) | (time < time[place]))).any()
        points.append(
            Point(frameworks[timed[place]], float(score[place]), float(time[place]), not bool(beaten))
        )
    missing = tuple(name for j, name in enumerate(frameworks) if j not in timed)
    return Front(tuple(points), over, missing)


def compute(inputs: Inputs, options: FrontOptions) -> Front:
    """Set scores from worst to best against seconds of inference per row, or of training."""
    compared = inputs.compared
    column, notes = ("fit_s" if options.against == "training" else "row_s"), compared.notes
    if column == "row_s" and inputs.rows["row_s"].isna().all():
        column = "predict_s"
        notes = (*notes, "Inference per row is not known: seconds are of predicting a whole test fold.")
    seconds = seconds_by_task(inputs.rows, compared.scores, column)
    scaled = scale_from_worst(compared.scores).values
    front = find_front(compared.scores.frameworks, scaled, seconds, options.over)
    return replace(front, against=options.against, notes=notes)


ANALYSIS = AnalysisSpec(
    name="pareto",
    title="Scores against time",
    help="Show scores from worst (0) to best (1) against time, and who is not beaten in both.",
    compute=compute,
    options=FrontOptions,
    needs=("scores", "seconds of training or inference"),
    examples=("pareto --against training",),
    sections=(
        SectionSpec("inference", "Scores against inference time", {"against": "inference"}),
        SectionSpec("training", "Scores against training time", {"against": "training"}),
    ),
    figures={"figure": "Draw scores against seconds: SVG, PDF or PNG."},
)
