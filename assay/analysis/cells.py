"""Mean, deviation and failures of each framework on each task: the tables at the end of the AMLB paper."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.impute import ABSENT, FAILED, NOT_OWN, OK, FoldScores
from assay.analysis.record import AnalysisRecord, Medium, Raw, TextTable, as_json
from assay.analysis.registry import AnalysisSpec, SectionSpec
from assay.typing import Json, JsonObject

if TYPE_CHECKING:
    from assay.analysis.inputs import Inputs
    from assay.analysis.options import NoOptions

__all__ = ["ANALYSIS", "TaskCell", "TaskCells", "make_cells"]

# Errors in the units of the target have any magnitude: the paper prints two significant digits, not three decimals.
IN_UNITS = ("rmse", "mse", "mae")


@dataclass(frozen=True)
class TaskCell:
    """One framework on one task, over the folds it completed, in the metric's own direction.

    `std` has ddof 1, and is None with fewer than two folds; `n` counts completed folds, `fails` the others: failed,
    ended as setup, data or lost, and in foreign tables those without a row.
    """

    task: str
    task_id: str
    framework: str
    constraint: str
    metric: str
    mean: float | None
    std: float | None
    n: int
    fails: int


@dataclass(frozen=True)
class TaskCells(AnalysisRecord):
    """All cells of all tasks and frameworks, nothing imputed."""

    cells: tuple[TaskCell, ...]
    notes: tuple[str, ...] = ()

    def rows(self) -> list[JsonObject]:
        """Return one row per task and framework, at full precision."""
        return [asdict(cell) for cell in self.cells]

    def to_json(self) -> list[Json]:
        """Return one object per task and framework."""
        return as_json(self.cells)

    def tables(self, medium: Medium) -> tuple[TextTable, ...]:
        """Return tasks down, frameworks across, mean(std)fails in each cell as in the AMLB paper."""
        frameworks = list(dict.fromkeys(cell.framework for cell in self.cells))
        tasks = list(dict.fromkeys(cell.task for cell in self.cells))
        cells = {(cell.task, cell.framework): cell for cell in self.cells}
        in_latex = medium.name == "latex"
        lines = [
            [task, *(shown_cell(cells.get((task, name)), in_latex) for name in frameworks)] for task in tasks
        ]
        return (TextTable(["task", *(f">{name}" for name in frameworks)], lines),)

    def summary(self) -> str:
        """Say what a cell holds."""
        return "Mean (deviation) over completed folds, in the metric's own direction; ✗ counts the folds that failed."

    def caveat(self) -> str:
        """Say what a deviation is not."""
        return "Deviations of folds are not standard errors of the mean: folds share training rows."

    def remarks(self) -> tuple[str, ...]:
        """Say what a cell holds."""
        return (self.summary(),)


def shown_cell(cell: TaskCell | None, in_latex: bool = False) -> str:
    """Return mean(std) and, raised or behind a sign, how many folds failed; a dash where they left one or none."""
    if cell is None:
        return ""
    fails = "" if not cell.fails else f"$^{{{cell.fails}}}$" if in_latex else f" ✗{cell.fails}"
    if cell.mean is None or (cell.n < 2 and cell.fails):
        return Raw(f"-{fails}")
    show = _two_digits if cell.metric in IN_UNITS else _three_decimals
    std = "" if cell.std is None else f"({show(cell.std)})"
    return Raw(f"{show(cell.mean)}{std}{fails}")


def _three_decimals(value: float) -> str:
    return f"{value:.3f}"


def _two_digits(value: float) -> str:
    return f"{float(f'{value:.2g}'):g}"  # 12000 rather than 1.2e+04


def make_cells(scores: FoldScores, constraints: dict[str, str]) -> list[TaskCell]:
    """Return the cells of all tasks and frameworks that have a row there; `constraints` by framework."""
    out = []
    for t, task in enumerate(scores.tasks):
        rows = scores.task == t
        for j, framework in enumerate(scores.frameworks):
            state = scores.state[rows, j]
            if (state == ABSENT).all():
                continue
            done = scores.values[rows, j][state == OK]
            done = done[np.isfinite(done)]
            out.append(
                TaskCell(
                    task=task,
                    task_id=scores.task_ids[t],
                    framework=framework,
                    constraint=constraints.get(framework, ""),
                    metric=scores.metrics[t],
                    mean=float(done.mean()) if len(done) else None,
                    std=float(np.std(done, ddof=1)) if len(done) > 1 else None,
                    n=len(done),
                    fails=int(((state == FAILED) | (state == NOT_OWN)).sum()),
                )
            )
    return out


def compute(inputs: Inputs, options: NoOptions) -> TaskCells:
    """Summarise the folds that each framework completed."""
    first = inputs.rows.drop_duplicates("label")
    constraints = dict(zip(first["label"], first["constraint"], strict=True))
    return TaskCells(tuple(make_cells(inputs.gathered("none"), constraints)), inputs.notes)


ANALYSIS = AnalysisSpec(
    name="table",
    title="All scores",
    help="Show mean (deviation) and failures of each framework on each task, nothing imputed.",
    compute=compute,
    examples=("table --scores results.csv --type regression --format latex",),
    sections=(SectionSpec("scores", "All scores"),),
)
