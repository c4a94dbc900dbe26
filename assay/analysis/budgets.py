"""What a longer budget bought: scores, ranks and failures of the same frameworks under several budgets. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from assay.analysis.filter import labelled
from assay.errors import UserError

__all__ = ["BudgetStep", "compare_budgets"]

TASK = ["task", "task_id", "task_digest", "metric"]
SAME = 1e-12  # relative: means that differ by less differ by rounding


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


def compare_budgets(table: Any) -> tuple[BudgetStep, ...]:
    """Return the steps between neighbouring budgets of a scores table of one metric per job."""
    budgets = sorted(table["budget_s"].dropna().unique())
    if len(budgets) < 2:
        known = ", ".join(f"{one:g} s" for one in budgets) or "none is known"
        raise UserError(
            f"Budgets are compared with each other, but there is one only ({known}). Run with another."
        )
    jobs = _jobs(table)
    constant = jobs[jobs["role"] == "constant"]
    floor = constant.groupby(TASK)["value"].mean()
    others = jobs[jobs["role"] != "constant"]
    out = []
    for before, after in pairwise(float(one) for one in budgets):
        steps = [_step(str(name), own, before, after, floor) for name, own in others.groupby("label")]
        both = {step.framework: step for step in steps if step is not None}
        shared = others[others["label"].isin(both)]
        ranks = [_ranks(shared, one, (before, after)) for one in (before, after)]
        for name, step in both.items():
            out.append(replace(step, rank_before=ranks[0].get(name), rank_after=ranks[1].get(name)))
    return tuple(sorted(out, key=lambda step: (step.framework, step.from_s)))


def _jobs(table: Any) -> Any:
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


def _ranks(jobs: Any, budget: float, both: tuple[float, float]) -> dict[str, float]:
    """Return average ranks under one budget, on the tasks that every framework has under both."""
    own = jobs[jobs["budget_s"].isin(both)]
    means = own.groupby([*TASK, "budget_s", "label"])["value"].agg(["mean", "size"]).unstack("label")
    complete = means["size"].notna().all(axis=1).groupby(level=TASK).agg(["all", "size"])
    tasks = complete.index[complete["all"] & (complete["size"] == 2)]
    if own["label"].nunique() < 2 or not len(tasks):
        return {}
    scores = means["mean"].xs(budget, level="budget_s").loc[tasks].fillna(-np.inf)
    ranks = scores.rank(axis=1, ascending=False).mean()
    return {str(name): float(rank) for name, rank in ranks.items()}


def _step(framework: str, own: Any, before: float, after: float, floor: Any) -> BudgetStep | None:
    keys = [*TASK, "repeat", "fold"]
    first, second = (own[own["budget_s"] == budget].set_index(keys)["value"] for budget in (before, after))
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


def _gain(means: Any, change: Any, floor: Any) -> float | None:
    gap = means.max(axis=1) - floor.reindex(means.index)
    use = gap.notna() & (gap > 0)
    return float((change[use] / gap[use]).clip(-1, 1).mean()) if use.any() else None
