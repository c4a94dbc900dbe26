"""What a longer budget bought: scores, ranks and failures of the same frameworks under several budgets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.filter import labelled
from assay.analysis.record import AnalysisRecord, Medium, TextTable, as_json
from assay.analysis.registry import AnalysisSpec
from assay.errors import UserError
from assay.typing import Frame, Json, JsonObject, Series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from assay.analysis.inputs import Inputs
    from assay.analysis.options import NoOptions
    from assay.drawing import Drawing

__all__ = ["ANALYSIS", "BudgetStep", "BudgetSteps", "compare_budgets"]

TASK = ["task", "task_id", "task_digest", "metric"]
SAME = 1e-12  # relative: means that differ by less differ by rounding
GAIN = "Gain: the change in gaps from the constant predictor to the better of the two."


@dataclass(frozen=True)
class BudgetStep:
    """One framework from a budget to the next longer one, on the folds that have both.

    `better`, `equal`, `worse` count tasks by mean score; `gain` is the mean over tasks of the change in units of the
    gap between the constant predictor and the better of the two, None without a constant predictor. `rank_before` and
    `rank_after` are average ranks among the frameworks that have both budgets, a task without any score being the
    last; None where nobody else has both.
    """

    framework: str
    from_s: float
    to_s: float
    tasks: int
    better: int
    equal: int
    worse: int
    gain: float | None
    failed_before: int
    failed_after: int
    rank_before: float | None = None
    rank_after: float | None = None


@dataclass(frozen=True)
class BudgetSteps(AnalysisRecord):
    """The steps of all frameworks between neighbouring budgets."""

    steps: tuple[BudgetStep, ...]
    notes: tuple[str, ...] = ()

    def rows(self) -> list[JsonObject]:
        """Return one row per framework and step."""
        return [as_json(step) for step in self.steps]

    def to_json(self) -> list[Json]:
        """Return one object per framework and step."""
        return as_json(self.steps)

    def tables(self, medium: Medium) -> tuple[TextTable, ...]:
        """Return one line per framework and step."""
        heads = [
            "framework", ">from", ">to", ">tasks", ">better", ">equal", ">worse", ">gain", ">rank before",
            ">rank after", ">failed before", ">failed after",
        ]  # fmt: skip
        lines = [
            [
                step.framework, medium.seconds(step.from_s), medium.seconds(step.to_s), step.tasks, step.better,
                step.equal, step.worse, _shown(step.gain, "+.3f"), _shown(step.rank_before, ".2f"),
                _shown(step.rank_after, ".2f"), step.failed_before, step.failed_after,
            ]
            for step in self.steps
        ]  # fmt: skip
        return (TextTable(heads, lines),)

    def summary(self) -> str:
        """Count the cases in which more time helped."""
        better, worse = sum(step.better for step in self.steps), sum(step.worse for step in self.steps)
        total = sum(step.tasks for step in self.steps)
        return f"With more time scores were better in {better} of {total} cases, and worse in {worse}."

    def caveat(self) -> str:
        """Say what is compared, and in which unit."""
        return f"Only folds that have a score under both budgets are compared. {GAIN}"

    def remarks(self) -> tuple[str, ...]:
        """Say what a gain is."""
        return (GAIN,)

    def drawings(self) -> tuple[Drawing, ...]:
        """Return counts of better, equal and worse tasks."""
        from assay.drawing import Drawing, rows_size

        empty = "" if self.steps else "No framework has folds under two budgets"
        return (Drawing(*rows_size(len(self.steps)), self._draw, empty=empty),)

    def methods(self) -> tuple[tuple[str, str], ...]:
        """Say which budgets were compared."""
        budgets = sorted({seconds for step in self.steps for seconds in (step.from_s, step.to_s)})
        listed = ", ".join(f"{seconds:g} s" for seconds in budgets)
        return (("Budgets", f"neighbouring budgets ({listed}), folds that have both, means over folds"),)

    def _draw(self, figure: Figure) -> None:
        """Draw on how many tasks the longer budget gave better, equal and worse scores."""
        from assay.drawing import COLOURS, HIGHLIGHT, label_rows, legend_beside, stacked_bars

        axes = figure.add_subplot()
        colours = {"better": COLOURS[2], "equal": "#c8c8c8", "worse": HIGHLIGHT}
        parts = [
            (kind, colour, [getattr(step, kind) for step in self.steps]) for kind, colour in colours.items()
        ]
        stacked_bars(axes, parts)
        label_rows(axes, [f"{step.framework}: {step.from_s:g} s to {step.to_s:g} s" for step in self.steps])
        axes.set_xlabel("tasks")
        legend_beside(axes)


def _shown(value: float | None, how: str) -> str:
    return "–" if value is None else format(value, how)


def compare_budgets(table: Frame) -> tuple[BudgetStep, ...]:
    """Return the steps between neighbouring budgets of a scores table of one metric per job."""
    budgets = sorted(table["budget_s"].dropna().unique())
    if len(budgets) < 2:
        listed = ", ".join(f"{seconds:g} s" for seconds in budgets) or "none is known"
        raise UserError(
            f"Budgets are compared with each other, but there is one only ({listed}). Run with another."
        )
    jobs = _jobs(table)
    constant = jobs[jobs["role"] == "constant"]
    floor = constant.groupby(TASK)["value"].mean()
    others = jobs[jobs["role"] != "constant"]
    out = []
    for before, after in pairwise(float(seconds) for seconds in budgets):
        steps = [_step(str(name), rows, before, after, floor) for name, rows in others.groupby("label")]
        both = {step.framework: step for step in steps if step is not None}
        shared = others[others["label"].isin(both)]
        ranks = [_ranks(shared, budget, (before, after)) for budget in (before, after)]
        for name, step in both.items():
            out.append(replace(step, rank_before=ranks[0].get(name), rank_after=ranks[1].get(name)))
    return tuple(sorted(out, key=lambda step: (step.framework, step.from_s)))


def _jobs(table: Frame) -> Frame:
    """Return one row per framework, budget and fold: the mean of the scores there are, NaN where all failed."""
    import pandas as pd

    named = labelled(table.assign(constraint="", budget_s=0.0, cores=0))  # one label for all budgets
    sign = np.where(table["higher_is_better"].astype(bool), 1.0, -1.0)
    frame = pd.DataFrame(
        {
            **{name: table[name] for name in (*TASK, "repeat", "fold", "budget_s")},
            "label": named["label"],
            "value": table["value"].where(table["status"] == "ok").astype(float) * sign,
            "role": table["role"],
        }
    )
    keys = ["label", "budget_s", *TASK, "repeat", "fold"]
    return frame.groupby(keys, as_index=False).agg({"value": "mean", "role": "first"})


def _ranks(jobs: Frame, budget: float, both: tuple[float, float]) -> dict[str, float]:
    """Return average ranks under one budget, on the tasks that every framework has under both."""
    rows = jobs[jobs["budget_s"].isin(both)]
    values = rows.groupby([*TASK, "budget_s", "label"])["value"]
    means, sizes = values.mean().unstack("label"), values.size().unstack("label")
    complete = sizes.notna().all(axis=1).groupby(level=TASK).agg(["all", "size"])
    tasks = complete.index[complete["all"] & (complete["size"] == 2)]
    if rows["label"].nunique() < 2 or not len(tasks):
        return {}
    of_budget = means[means.index.get_level_values("budget_s") == budget].droplevel("budget_s")
    scores = of_budget.loc[tasks].fillna(-np.inf)
    ranks = scores.rank(axis=1, ascending=False).mean()
    return {str(name): float(rank) for name, rank in ranks.items()}


def _step(framework: str, rows: Frame, before: float, after: float, floor: Series) -> BudgetStep | None:
    keys = [*TASK, "repeat", "fold"]
    first, second = (rows[rows["budget_s"] == budget].set_index(keys)["value"] for budget in (before, after))
    both = first.index.intersection(second.index)
    if not len(both):
        return None
    first, second = first.loc[both], second.loc[both]
    scored = first.notna() & second.notna()
    means = first[scored].to_frame("before").assign(after=second[scored]).groupby(level=TASK).mean()
    change = means["after"] - means["before"]
    change = change.where(change.abs() > SAME * means.abs().max(axis=1), 0.0)
    return BudgetStep(
        framework=framework,
        from_s=before,
        to_s=after,
        tasks=len(means),
        better=int((change > 0).sum()),
        equal=int((change == 0).sum()),
        worse=int((change < 0).sum()),
        gain=_gain(means, change, floor),
        failed_before=int(first.isna().sum()),
        failed_after=int(second.isna().sum()),
    )


def _gain(means: Frame, change: Series, floor: Series) -> float | None:
    gap = means.max(axis=1) - floor.reindex(means.index)
    use = gap.notna() & (gap > 0)
    return float((change[use] / gap[use]).clip(-1, 1).mean()) if use.any() else None


def compute(inputs: Inputs, options: NoOptions) -> BudgetSteps:
    """Compare neighbouring budgets."""
    if inputs.selection.constraint:
        raise UserError(
            f"Budgets are compared with each other, but only {inputs.selection.constraint} is looked at: leave "
            "`constraint` out.",
            ["constraint"],
        )
    return BudgetSteps(compare_budgets(inputs.rows), inputs.notes)


ANALYSIS = AnalysisSpec(
    name="budgets",
    title="What a longer budget bought",
    help="Show what a longer budget bought: scores and failures of the same folds under both.",
    compute=compute,
    needs=("several budgets",),
    examples=("budgets --scores results.csv",),
    figures={"figure": "Draw counts of better, equal and worse tasks: SVG, PDF or PNG."},
)
