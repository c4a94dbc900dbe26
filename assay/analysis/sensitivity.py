"""Whether other choices would have given other winners: ranks under other policies and without each task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.impute import POLICIES, FoldScores
from assay.analysis.rank_tests import critical_distance, task_ranks
from assay.analysis.record import AnalysisRecord, Medium, TextTable
from assay.analysis.registry import AnalysisSpec
from assay.analysis.wording import significant
from assay.errors import UserError
from assay.typing import Floats, JsonObject

if TYPE_CHECKING:
    from assay.analysis.inputs import Inputs
    from assay.analysis.options import NoOptions

__all__ = ["ANALYSIS", "Sensitivity", "Variant", "WithoutTask", "detectable", "rank_variants"]

ROUNDING = 1e-9  # ranks that differ by less are equal
LEVEL = 0.05
POWER = 0.8  # the usual convention for planning a study
MOST_TASKS = 20  # tasks listed on a page; those that change least are of little interest
MOST_LEADERS = 5  # changes of the leader listed in a terminal


@dataclass(frozen=True)
class Variant:
    """Average ranks under one choice, in the order of the frameworks; None where that choice cannot be made here.

    `n_tasks` says on how many tasks: a choice may have fewer that all frameworks can be compared on.
    """

    name: str
    ranks: tuple[float, ...] | None
    why_not: str = ""
    n_tasks: int = 0


@dataclass(frozen=True)
class WithoutTask:
    """What leaving out one task does to the average rank of a framework at most, and whether the order changes."""

    task: str
    largest_change: float
    framework: str
    new_leader: str


@dataclass(frozen=True)
class Sensitivity(AnalysisRecord):
    """How far the ranks depend on choices; frameworks are in the order of their ranks as they are.

    Attributes:
        detectable_rank: the difference of average ranks that Nemenyi's test could just have found.
        detectable_win_rate: the win rate against one other that a sign test over the tasks would have found in 80 %
            of such suites, at the 5 % level.
    """

    frameworks: tuple[str, ...]
    variants: tuple[Variant, ...]
    tasks: tuple[WithoutTask, ...]
    detectable_rank: float | None
    detectable_win_rate: float | None
    n_tasks: int
    notes: tuple[str, ...] = ()

    def rows(self) -> list[JsonObject]:
        """Return one row per framework with its average rank under each choice that can be made."""
        usable = [(variant.name, variant.ranks) for variant in self.variants if variant.ranks is not None]
        return [
            {"framework": name, **{choice: ranks[at] for choice, ranks in usable}}
            for at, name in enumerate(self.frameworks)
        ]

    def tables(self, medium: Medium) -> tuple[TextTable, ...]:
        """Return average ranks under each choice and, on a page, the tasks that change a rank the most."""
        usable = [variant for variant in self.variants if variant.ranks is not None]
        heads = ["framework", *(f">{variant.name} ({variant.n_tasks})" for variant in usable)]
        lines = [
            [row["framework"], *(f"{row[variant.name]:.2f}" for variant in usable)] for row in self.rows()
        ]
        variants = TextTable(heads, lines)
        if medium.name == "terminal":
            return (variants,)
        tasks = [
            [task.task, task.framework, f"{task.largest_change:+.2f}", task.new_leader]
            for task in self.tasks[:MOST_TASKS]
        ]
        return (variants, TextTable(["without the task", "changes most", ">by", "new leader"], tasks))

    def summary(self) -> str:
        """Say how often the leader changes without a task, and what this suite could have detected."""
        rate = self.detectable_win_rate
        power = (
            f"a win rate of {100 * rate:.0f} % against another" if rate else "not even a win rate of 100 %"
        )
        return (
            f"Leaving out one task changes the leader in {self.new_leaders()} of {self.n_tasks} cases. With so many "
            f"tasks, {power} would be detected in {100 * POWER:g} % of such suites."
        )

    def caveat(self) -> str:
        """Say what the tables hold."""
        return (
            "Average ranks under other imputations and other metrics, in brackets on how many tasks; then the tasks "
            "that change a rank the most when they are left out."
        )

    def remarks(self) -> tuple[str, ...]:
        """Return what the table holds, who leads without which task, and what could have been detected."""
        changed = [task for task in self.tasks if task.new_leader]
        rate = self.detectable_win_rate
        detected = (
            f"{100 * rate:.0f} % would be detected in {100 * POWER:g} % of such suites." if rate else ""
        )
        return (
            "Average ranks; in brackets on how many tasks.",
            f"Without one task the leader changes in {len(changed)} of {self.n_tasks} cases.",
            *(f"  without {task.task}: {task.new_leader}" for task in changed[:MOST_LEADERS]),
            f"With {self.n_tasks} tasks, average ranks must differ by {significant(self.detectable_rank, 3)}; a win "
            f"rate of {detected or 'even 100 % could not be detected.'}",
        )

    def new_leaders(self) -> int:
        """Return how many tasks change the leader when they are left out."""
        return sum(bool(task.new_leader) for task in self.tasks)

    def methods(self) -> tuple[tuple[str, str], ...]:
        """Say what could have been detected means."""
        how = f"two-sided sign test over tasks, level {LEVEL:g}, power {POWER:g}; Nemenyi's critical distance"
        return (("Detectable differences", how),)


def rank_variants(
    scores: FoldScores, others: dict[str, Callable[[], FoldScores]], alpha: float = LEVEL
) -> Sensitivity:
    """Return the ranks as they are, under each other choice, and without each task.

    Args:
        scores: folds × frameworks without holes.
        others: by name a function that gathers the same frameworks under another choice.
        alpha: the level of the differences that could have been seen.
    """
    if not scores.tasks:
        raise UserError("There is no task on which all frameworks have a score.")
    order = np.argsort(task_ranks(scores.means()).mean(axis=0), kind="stable")
    scores = scores.keep([scores.frameworks[j] for j in order])
    names = scores.frameworks
    base = task_ranks(scores.means())
    variants = [
        Variant(f"impute {scores.policy}", tuple(base.mean(axis=0).tolist()), n_tasks=len(scores.tasks))
    ]
    for name, make in others.items():
        try:
            ranks, n_tasks = _ranks_of(make(), names)
            variants.append(Variant(name, ranks, n_tasks=n_tasks))
        except UserError as error:
            variants.append(Variant(name, None, str(error)))
    n = len(scores.tasks)
    return Sensitivity(
        frameworks=names,
        variants=tuple(variants),
        tasks=_leave_one_out(base, scores),
        detectable_rank=critical_distance(len(names), n, alpha) if len(names) > 1 else None,
        detectable_win_rate=detectable(n, alpha),
        n_tasks=n,
    )


def _ranks_of(scores: FoldScores, names: tuple[str, ...]) -> tuple[tuple[float, ...], int]:
    other, _ = scores.keep([name for name in names if name in scores.frameworks]).complete()
    out = [name for name in names if name not in other.frameworks]
    if out:
        raise UserError(f"{', '.join(out)} would have no scores to compare.")
    return tuple(task_ranks(other.means()).mean(axis=0).tolist()), len(other.tasks)


def detectable(n_tasks: int, alpha: float = LEVEL, power: float = POWER) -> float | None:
    """Return the smallest win rate that a two-sided sign test over so many tasks finds with this power, or None."""
    from scipy.stats import binom

    critical = next(
        (k for k in range(n_tasks // 2, n_tasks + 1) if 2 * binom.sf(k - 1, n_tasks, 0.5) <= alpha), None
    )
    if critical is None:
        return None
    rates = np.arange(0.5, 1.0005, 0.001)
    enough = rates[binom.sf(critical - 1, n_tasks, rates) >= power]
    return float(enough[0]) if len(enough) else None


def _leave_one_out(ranks: Floats, scores: FoldScores) -> tuple[WithoutTask, ...]:
    n = len(ranks)
    if n < 2:
        return ()
    base = ranks.mean(axis=0)
    leader = int(np.argmin(base))
    out = []
    for t, task in enumerate(scores.tasks):
        without = (base * n - ranks[t]) / (n - 1)
        j = int(np.argmax(np.abs(without - base)))
        first = int(np.argmin(without))
        new = scores.frameworks[first] if without[first] < without[leader] - ROUNDING else ""
        out.append(WithoutTask(task, float(without[j] - base[j]), scores.frameworks[j], new))
    return tuple(sorted(out, key=lambda change: (change.new_leader == "", -abs(change.largest_change))))


def compute(inputs: Inputs, options: NoOptions) -> Sensitivity:
    """Rank under the other imputations, and by the other metrics that were scored."""
    compared = inputs.compared
    others: dict[str, Callable[[], FoldScores]] = {
        f"impute {policy}": partial(inputs.gathered, policy) for policy in POLICIES if policy != inputs.impute
    }
    rows = replace(inputs.selection, metric="", any_metric=True).apply(inputs.scores.table)
    for metric in sorted(set(rows["metric"]) - set(compared.scores.metrics)):
        others[f"metric {metric}"] = partial(inputs.gathered, inputs.impute, metric)
    sensitivity = rank_variants(compared.scores, others)
    impossible = (
        f"{choice.name}: {choice.why_not}" for choice in sensitivity.variants if choice.ranks is None
    )
    return replace(sensitivity, notes=(*impossible, *compared.notes))


ANALYSIS = AnalysisSpec(
    name="sensitivity",
    title="Would other choices change it?",
    help="Show how ranks change with other choices, and which differences this suite could have detected.",
    compute=compute,
    examples=("sensitivity --scores results.csv",),
)
