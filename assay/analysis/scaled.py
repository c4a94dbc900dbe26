"""Scores on one scale for all tasks: from the forest to the best, or from the worst to the best."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.impute import FoldScores
from assay.analysis.record import AnalysisRecord, Medium, TextTable, as_json
from assay.analysis.registry import AnalysisSpec
from assay.analysis.wording import count_of, decimals
from assay.errors import UserError
from assay.typing import Floats, JsonObject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from assay.analysis.inputs import Inputs
    from assay.analysis.options import NoOptions
    from assay.drawing import Drawing

__all__ = ["ANALYSIS", "Scaled", "in_gaps", "scale_from_forest", "scale_from_worst"]

QUANTILES = {"least": 0.0, "lower": 0.25, "median": 0.5, "upper": 0.75, "most": 1.0}
SAME = 1e-12  # relative: a width below this is what rounding leaves of equal scores
NO_GAP = 1e-9  # relative: a gap below this would blow differences up that mean nothing
FIGURE_FLOOR = -4.0  # the axis ends here: a few disasters would squeeze the boxes into a line


@dataclass(frozen=True)
class Scaled(AnalysisRecord):
    """(tasks, m) mean scores on one scale; NaN on tasks that have none, which `without_scale` names."""

    frameworks: tuple[str, ...]
    tasks: tuple[str, ...]
    values: Floats
    low: float
    high: float
    reference: str
    without_scale: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def boxes(self) -> dict[str, dict[str, float]]:
        """Return the quartiles of each framework over the tasks that have a scale."""
        complete = self.values[np.isfinite(self.values).all(axis=1)]
        if not len(complete):
            return {}
        quantiles = np.quantile(complete, list(QUANTILES.values()), axis=0)
        return {
            name: dict(zip(QUANTILES, quantiles[:, j].tolist(), strict=True))
            for j, name in enumerate(self.frameworks)
        }

    def rows(self) -> list[JsonObject]:
        """Return the quartiles of each framework, the highest median first."""
        return [{"framework": name, **box} for name, box in self._best_first()]

    def _best_first(self) -> list[tuple[str, dict[str, float]]]:
        return sorted(self.boxes().items(), key=lambda item: -item[1]["median"])

    def to_json(self) -> JsonObject:
        """Return the scaled score of each framework on each task, and its quartiles."""
        values = {name: self.values[:, j] for j, name in enumerate(self.frameworks)}
        named = {"reference": self.reference, "tasks": self.tasks, "values": values, "boxes": self.boxes()}
        return as_json({**named, "without_scale": self.without_scale, "notes": self.notes})

    def tables(self, medium: Medium) -> tuple[TextTable, ...]:
        """Return the quartiles of each framework."""
        lines = [[name, *(decimals(box[key]) for key in QUANTILES)] for name, box in self._best_first()]
        return (
            TextTable(
                ["framework", ">least", ">lower quartile", ">median", ">upper quartile", ">most"], lines
            ),
        )

    def summary(self) -> str:
        """Say who has the highest median, and where there is no scale."""
        first = next((name for name, _ in self._best_first()), "")
        best = f" {first} has the highest median." if first else ""
        without = (
            f" There is no scale on {count_of(len(self.without_scale), 'task')}, where {self.reference} is the best."
            if self.without_scale
            else ""
        )
        return f"Each task is scaled from {self.reference} ({self.low:g}) to the best ({self.high:g}).{best}{without}"

    def caveat(self) -> str:
        """Say what scaling by the best does."""
        return "A scale by the best makes small differences on hard tasks look as large as large ones on easy tasks."

    def remarks(self) -> tuple[str, ...]:
        """Name the tasks that have no scale."""
        if not self.without_scale:
            return ()
        return (f"Without a scale, because {self.reference} is the best: {', '.join(self.without_scale)}.",)

    def drawings(self) -> tuple[Drawing, ...]:
        """Return box plots."""
        from assay.drawing import Drawing, rows_size

        return (Drawing(*rows_size(len(self.frameworks)), self._draw),)

    def methods(self) -> tuple[tuple[str, str], ...]:
        """Say from where to where scores were scaled."""
        ends = f"from {self.reference} ({self.low:g}) to the best framework ({self.high:g}) of each task"
        return (("Scaled scores", f"means over folds, {ends}"),)

    def _draw(self, figure: Figure) -> None:
        """Draw box plots, best median first; how many tasks lie below the axis is said beside each."""
        from assay.drawing import GREY, HIGHLIGHT, note_beside

        axes = figure.add_subplot()
        order = np.argsort(-np.nanmedian(self.values, axis=0))
        data = [column[np.isfinite(column)] for column in self.values.T[order]]
        axes.boxplot(
            data, orientation="horizontal", widths=0.6, patch_artist=True,
            boxprops={"facecolor": "#d6e6f2"}, medianprops={"color": HIGHLIGHT}, flierprops={"markersize": 3},
        )  # fmt: skip
        axes.set(yticks=range(1, len(order) + 1), yticklabels=[self.frameworks[j] for j in order])
        axes.invert_yaxis()
        low = max(
            FIGURE_FLOOR, min((float(column.min()) for column in data if len(column)), default=FIGURE_FLOOR)
        )
        axes.set_xlim(low - 0.05, self.high + 0.1)
        for at, column in enumerate(data, start=1):
            below = int((column < low).sum())
            if below:
                note_beside(axes, f"◂ {below}", (low, at), shift=-2)
        axes.axvline(self.low, color=GREY, lw=0.8, ls=":")
        axes.set_xlabel(f"score, from {self.reference} ({self.low:g}) to the best ({self.high:g})")


def scale_from_forest(scores: FoldScores, reference: str = "") -> Scaled:
    """Scale each task so that the random forest is at -1 and the best framework at 0 (Figure 3 of the AMLB paper).

    Where the forest is itself the best there is no scale: the task is left out, and named.
    """
    names = scores.frameworks
    start = reference or scores.forest
    if reference and start not in names:
        raise UserError(f"Scores are to be scaled from '{reference}': give one of {', '.join(names)}.")
    if start not in names:
        raise UserError(
            "Scores are scaled from the random forest, which is not among the rows. Run `random_forest`."
        )
    means = scores.means()
    return _scale(scores, means[:, [names.index(start)]], means, -1.0, 0.0, start)


def scale_from_worst(scores: FoldScores) -> Scaled:
    """Scale each task so that the worst framework is at 0 and the best at 1 (Figure 6); equal ones have no scale."""
    means = scores.means()
    return _scale(scores, means.min(axis=1, keepdims=True), means, 0.0, 1.0, "the worst")


def _scale(
    scores: FoldScores, start: Floats, means: Floats, low: float, high: float, reference: str
) -> Scaled:
    best = means.max(axis=1, keepdims=True)
    width = best - start
    has_scale = (width > SAME * np.maximum(np.abs(best), np.abs(start)))[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        values = low + (means - start) / width * (high - low)
    values[~has_scale] = np.nan
    without = tuple(task for task, is_scaled in zip(scores.tasks, has_scale, strict=True) if not is_scaled)
    return Scaled(scores.frameworks, scores.tasks, values, low, high, reference, without)


def in_gaps(scores: FoldScores) -> tuple[Floats, tuple[str, ...], tuple[str, ...]]:
    """Return (tasks, m) means as shares of the gap from the constant predictor to the best, of whom, and what to know.

    Tasks on which nobody is better than the constant predictor have no gap and are left out; so is the constant
    predictor itself, which such tasks would speak for. Worse than it by more than the gap counts as -1. Without a
    constant predictor the means stay as they are.
    """
    means = scores.means()
    constant = [j for j, name in enumerate(scores.frameworks) if scores.roles[name] == "constant"]
    if not constant:
        return (
            means,
            scores.frameworks,
            ("Differences are in the metrics' own units: there is no constant predictor to scale by.",),
        )
    start = means[:, constant[:1]]
    gap = means.max(axis=1, keepdims=True) - start
    use = gap[:, 0] > NO_GAP * np.abs(start[:, 0])
    flat = [task for task, is_used in zip(scores.tasks, use, strict=True) if not is_used]
    notes = (f"Nobody is better than the constant predictor: {', '.join(flat)}, left out.",) if flat else ()
    if not use.any():
        raise UserError(
            "Nobody is better than the constant predictor on any task: there is no gap to measure in."
        )
    others = [j for j in range(len(scores.frameworks)) if j not in constant]
    shares = np.clip((means[use] - start[use]) / gap[use], -1.0, 1.0)[:, others]
    return shares, tuple(scores.frameworks[j] for j in others), notes


def compute(inputs: Inputs, options: NoOptions) -> Scaled:
    """Scale from the random forest to the best; the constant predictor is left out."""
    compared = inputs.compared
    kept = [name for name in compared.scores.frameworks if compared.scores.roles[name] != "constant"]
    scaled = scale_from_forest(compared.scores.keep(kept))
    if not scaled.boxes():
        raise UserError(
            f"{scaled.reference} is the best on every task: there is no scale from it to the best."
        )
    return replace(scaled, notes=compared.notes)


ANALYSIS = AnalysisSpec(
    name="scaled",
    title="Scores on one scale",
    help="Show scores scaled from the random forest (-1) to the best (0): medians and quartiles over tasks.",
    compute=compute,
    needs=("scores", "the random forest"),
    examples=("scaled --scores results.csv",),
    figures={"figure": "Draw box plots: SVG, PDF or PNG."},
)
