"""Training time against the budget (the AMLB paper's Figure 8), and inference per row beside it."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from assay.analysis.batches import InferenceTimes, time_batches
from assay.analysis.record import AnalysisRecord, Medium, TextTable, as_json
from assay.analysis.registry import AnalysisSpec
from assay.analysis.seconds import FitTime, InferenceTime, fit_times, inference_times, seconds_by_task
from assay.analysis.wording import listed
from assay.typing import JsonObject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from assay.analysis.inputs import Inputs
    from assay.analysis.options import NoOptions
    from assay.drawing import Drawing

__all__ = ["ANALYSIS", "FitTime", "InferenceTime", "Times", "fit_times", "inference_times", "seconds_by_task"]


@dataclass(frozen=True)
class Times(AnalysisRecord):
    """Training times of each framework and constraint, and inference times by batch size where they are known."""

    training: tuple[FitTime, ...]
    inference: InferenceTimes
    notes: tuple[str, ...] = ()

    def rows(self) -> list[JsonObject]:
        """Return one row per framework and constraint."""
        return [as_json(time) for time in self.training]

    def to_json(self) -> JsonObject:
        """Return training and inference times."""
        values = {"training": self.training, "inference": self.inference.times, "notes": self.notes}
        return as_json(values)

    def tables(self, medium: Medium) -> tuple[TextTable, ...]:
        """Return training times and, in a terminal, inference times, which have a section of their own on a page."""
        heads = [
            "framework", "constraint", ">jobs", ">least", ">median", ">most", ">over budget", ">over leeway",
            ">timeouts",
        ]  # fmt: skip
        lines = [
            [
                time.framework, time.constraint, time.jobs, medium.seconds(time.least), medium.seconds(time.median),
                medium.seconds(time.most), time.over_budget, time.over_leeway, time.timeouts,
            ]
            for time in self.training
        ]  # fmt: skip
        further = self.inference.tables(medium) if medium.name == "terminal" and self.inference.times else ()
        return (TextTable(heads, lines), *further)

    def summary(self) -> str:
        """Name those that took longer than their budget."""
        over = sorted({time.framework for time in self.training if time.over_budget})
        if not over:
            return "All frameworks kept to their time budgets."
        return f"Exceeded the time budget at least once: {listed(over)}."

    def caveat(self) -> str:
        """Say how to read the figure."""
        return (
            "Lines go from the shortest to the longest job that gave a score, bars cover the middle half. The dashed "
            "line is the budget."
        )

    def remarks(self) -> tuple[str, ...]:
        """Return nothing: the tables say it all."""
        return ()

    def nothing_to_show(self) -> str:
        """Say so where there is nothing to compare with a budget."""
        has_budget = any(time.jobs and isfinite(time.budget_s) for time in self.training)
        return "" if has_budget else "No training times, or no budgets, are known."

    def drawings(self) -> tuple[Drawing, ...]:
        """Return training times, and inference times for the command that asks for them."""
        from dataclasses import replace

        from assay.drawing import Drawing, rows_size

        empty = "" if any(time.jobs for time in self.training) else "No training times are known"
        (inference,) = self.inference.drawings()
        return (
            Drawing(*rows_size(len(self.training)), self._draw, empty=empty),
            replace(inference, flag="inference-figure", on_page=False),
        )

    def _draw(self, figure: Figure) -> None:
        """Draw training times as ranges with quartiles, the budget as a line; timeouts are counted beside."""
        from assay.drawing import COLOURS, GREY, label_rows, note_beside

        axes = figure.add_subplot()
        shown = [time for time in self.training if time.jobs]
        for at, time in enumerate(shown):
            axes.plot([time.least, time.most], [at, at], color=GREY, lw=1)
            axes.plot([time.lower, time.upper], [at, at], color=COLOURS[0], lw=6, solid_capstyle="butt")
            axes.plot([time.median], [at], "|", color="black", ms=9, mew=1.5)
            if time.timeouts:
                note_beside(axes, f"{time.timeouts} timeouts", (time.most, at))
        for budget in sorted({time.budget_s for time in shown if isfinite(time.budget_s)}):
            axes.axvline(budget, color="black", lw=0.8, ls="--")
        several = len({time.constraint for time in shown}) > 1
        label_rows(
            axes, [f"{time.framework} @{time.constraint}" if several else time.framework for time in shown]
        )
        axes.set_xlabel("seconds of training")


def compute(inputs: Inputs, options: NoOptions) -> Times:
    """Compare training times with the budget."""
    return Times(fit_times(inputs.rows), time_batches(inputs), inputs.notes)


ANALYSIS = AnalysisSpec(
    name="time",
    title="Training time against the budget",
    help="Show training times against the budget, and inference per row.",
    compute=compute,
    needs=("seconds of training", "budgets"),
    examples=("time --store results --figure training.svg --inference-figure inference.svg",),
    figures={
        "figure": "Draw training times: SVG, PDF or PNG.",
        "inference-figure": "Draw seconds per row by batch size: SVG, PDF or PNG.",
    },
)
