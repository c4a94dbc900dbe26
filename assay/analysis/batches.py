"""Seconds of inference per row by batch size (the AMLB paper's Figure 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.analysis.record import AnalysisRecord, Medium, TextTable, as_json
from assay.analysis.registry import AnalysisSpec
from assay.analysis.seconds import InferenceTime, inference_times
from assay.typing import JsonObject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from assay.analysis.inputs import Inputs
    from assay.analysis.options import NoOptions
    from assay.drawing import Drawing

__all__ = ["ANALYSIS", "InferenceTimes", "time_batches"]

NOT_TIMED = "Inference was not timed by batches"


@dataclass(frozen=True)
class InferenceTimes(AnalysisRecord):
    """Seconds per row of each framework and batch size; empty where none was timed."""

    times: tuple[InferenceTime, ...]
    notes: tuple[str, ...] = ()

    def rows(self) -> list[JsonObject]:
        """Return one row per framework and batch size."""
        return [as_json(time) for time in self.times]

    def tables(self, medium: Medium) -> tuple[TextTable, ...]:
        """Return frameworks down, batch sizes across, the median seconds per row in each cell."""
        sizes = sorted({time.batch for time in self.times})
        median = {(time.framework, time.batch): time.median for time in self.times}
        lines = [
            [name, *(medium.seconds(median.get((name, size))) for size in sizes)]
            for name in dict.fromkeys(time.framework for time in self.times)
        ]
        heads = ["framework", *(f">{size}" for size in sizes)]
        return (TextTable(heads, lines, "Inference per row, by rows in a batch"),)

    def summary(self) -> str:
        """Say what batches do."""
        return "The cost of a row falls with the number of rows that are predicted at once."

    def caveat(self) -> str:
        """Say what was timed."""
        return "Medians over jobs, with the cores that each was given; the model is loaded already."

    def nothing_to_show(self) -> str:
        """Say so where nothing was timed."""
        return "" if self.times else f"{NOT_TIMED}."

    def drawings(self) -> tuple[Drawing, ...]:
        """Return seconds per row against batch size."""
        from assay.drawing import Drawing

        return (Drawing(7.0, 4.2, self._draw, empty="" if self.times else NOT_TIMED),)

    def _draw(self, figure: Figure) -> None:
        """Draw seconds per row against the size of the batch, both on logarithmic axes."""
        from assay.drawing import legend_beside, line_style

        axes = figure.add_subplot()
        for at, name in enumerate(dict.fromkeys(time.framework for time in self.times)):
            times = [time for time in self.times if time.framework == name]
            sizes, medians = [time.batch for time in times], [time.median for time in times]
            axes.plot(sizes, medians, marker="o", ms=3, label=name, **line_style(at))
        axes.set(xscale="log", yscale="log", xlabel="rows in a batch", ylabel="seconds per row (median)")
        legend_beside(axes)


def time_batches(inputs: Inputs) -> InferenceTimes:
    """Return the inference times of the frameworks that are looked at."""
    timed = inputs.scores.inference
    if timed is None:
        return InferenceTimes((), inputs.notes)
    shown = timed[timed["framework"].isin(inputs.rows["framework"].unique())]
    return InferenceTimes(inference_times(shown), inputs.notes)


def compute(inputs: Inputs, options: NoOptions) -> InferenceTimes:
    """Show seconds per row by batch size."""
    return time_batches(inputs)


ANALYSIS = AnalysisSpec(
    name="batches",
    title="Inference by batch size",
    help="Show seconds of inference per row by batch size.",
    compute=compute,
    needs=("inference timings",),
    examples=("batches --store results --figure inference.svg",),
    figures={"figure": "Draw seconds per row against batch size: SVG, PDF or PNG."},
)
