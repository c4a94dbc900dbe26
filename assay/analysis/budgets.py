"""What a longer budget bought: scores, ranks and failures of the same frameworks under several budgets. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from assay.errors import UserError

__all__ = ["BudgetStep", "compare_budgets"]


@dataclass(frozen=True)
class BudgetStep:
    """One framework from a budget to the next longer one, on the folds that have both.

    `better`, `equal`, `worse` count tasks by mean score; `gain` is the mean over tasks of the change in units of the
    gap between the constant predictor and the better of the two, None without a constant predictor.
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


def compare_budgets(table: Any) -> tuple[BudgetStep, ...]:
    """Return the steps between neighbouring budgets of a scores table of one metric per job."""
    budgets = sorted(table["budget_s"].dropna().unique())
    if len(budgets) < 2:
        known = ", ".join(f"{one:g} s" for one in budgets) or "none is known"
        raise UserError(
            f"Budgets are compared with each other, but there is one only ({known}). Run with another."
        )
    constant = table[(table["role"] == "constant") & (table["status"] == "ok")]
    floor = constant.groupby("task")["value"].mean()
    out = []
    for framework, own in table[table["role"] != "constant"].groupby("framework", sort=True):
        for before, after in pairwise(budgets):
            step = _step(str(framework), own, float(before), float(after), floor)
            if step is not None:
                out.append(step)
    return tuple(out)


def _step(framework: str, own: Any, before: float, after: float, floor: Any) -> BudgetStep | None:
    keys = ["task", "repeat", "fold"]
    first, second = (own[own["budget_s"] == budget].set_index(keys) for budget in (before, after))
    both = first.index.intersection(second.index)
    if not len(both):
        return None
    first, second = first.loc[both], second.loc[both]
    scored = (first["status"] == "ok").to_numpy() & (second["status"] == "ok").to_numpy()
    sign = np.where(first["higher_is_better"].astype(bool), 1.0, -1.0)
    frame = first[["value"]].assign(after=second["value"], sign=sign)[scored]
    means = frame.groupby(level="task").mean()
    change = (means["after"] - means["value"]) * means["sign"]
    return BudgetStep(
        framework=framework,
        from_s=before,
        to_s=after,
        tasks=len(means),
        better=int((change > 0).sum()),
        equal=int((change == 0).sum()),
        worse=int((change < 0).sum()),
        gain=_gain(means, change, floor),
        failed_before=int((first["status"] != "ok").sum()),
        failed_after=int((second["status"] != "ok").sum()),
    )


def _gain(means: Any, change: Any, floor: Any) -> float | None:
    start = floor.reindex(means.index)
    best = np.maximum(means["value"] * means["sign"], means["after"] * means["sign"])
    gap = best - start * means["sign"]
    use = gap.notna() & (gap > 0)
    return float((change[use] / gap[use]).clip(-1, 1).mean()) if use.any() else None
