"""Is B worse than A? Scores paired by task and fold, in units of a task's gap. Pure: rows in, record out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan, sqrt
from statistics import fmean, variance
from typing import Any

from assay.analysis.trust import trust
from assay.errors import ConfigError, UserError
from assay.results.scores import NOT_ITS_OWN

__all__ = [
    "Comparison",
    "LeftOut",
    "Side",
    "TaskDifference",
    "check_confidence",
    "check_margin",
    "compare_sides",
]

ScoreRecord = Mapping[str, Any]
Fold = dict[str, ScoreRecord]  # the rows of one fold, by "a", "b" and "constant"
TaskKey = tuple[str, str, str]  # task, task_id, metric: what tells two tasks of a scores table apart
NO_GAP = 1e-12  # relative to the scores: less is what rounding leaves of equal numbers


@dataclass(frozen=True)
class Side:
    """Somebody who takes part in a comparison: what to call it, and its rows of the scores table."""

    name: str
    rows: Sequence[ScoreRecord]


@dataclass(frozen=True)
class TaskDifference:
    """One task: mean scores in the metric's own direction, and how far B is ahead of A.

    Attributes:
        gap: from the constant predictor to the better of the two; zero or less where neither beats it.
        difference: B - A in gaps, positive where B is better, at most one either way; None without a gap.
        differences: the same for every fold, divided by the task's one gap.
        imputed_a, imputed_b: folds without a score of their own, which count as the constant predictor.
    """

    task: str
    metric: str
    higher_is_better: bool
    mean_a: float
    mean_b: float
    mean_constant: float
    gap: float
    difference: float | None
    differences: tuple[float, ...]
    folds: int
    imputed_a: int
    imputed_b: int


@dataclass(frozen=True)
class LeftOut:
    """A fold that could not be compared, and why."""

    task: str
    repeat: int
    fold: int
    reason: str


@dataclass(frozen=True)
class Comparison:
    """How far B is ahead of A, in gaps: the mean over tasks, and its interval where there is one.

    `n_tasks` and `n_pairs` count what the estimate is made of; `tasks` also lists those without a gap.
    """

    a: str
    b: str
    estimate: float
    lower: float | None
    upper: float | None
    confidence: float
    n_tasks: int
    n_pairs: int
    imputed_a: int
    imputed_b: int
    tasks: tuple[TaskDifference, ...]
    left_out: tuple[LeftOut, ...]
    trust: str
    warnings: tuple[str, ...]

    def is_worse(self, by: float = 0.0) -> bool:
        """Return whether the whole interval lies below -`by`; raises UserError where there is no interval."""
        check_margin(by)
        if self.upper is None:
            raise UserError(
                f"Whether {self.b} is worse than {self.a} by more than {by:g} cannot be judged: there is no "
                "interval. Compare on more folds or tasks."
            )
        return self.upper < -by


def check_margin(by: float) -> None:
    """Refuse a margin that is not a number of gaps."""
    if not (isfinite(by) and by >= 0):
        raise ConfigError(f"`by={by:g}`: give a number of gaps that is 0 or more, such as 0.01.", ["by"])


def check_confidence(confidence: float) -> None:
    """Refuse a level that is no probability."""
    if not 0 < confidence < 1:
        raise ConfigError(
            f"`confidence={confidence:g}`: give a level between 0 and 1, such as 0.95.", ["confidence"]
        )


def compare_sides(
    a: Side,
    b: Side,
    constant: Side,
    test_ratio: Mapping[tuple[str, str], float] | None = None,
    confidence: float = 0.95,
) -> Comparison:
    """Compare two frameworks by the metric that they were asked to optimise, fold by fold.

    A fold's difference B - A is divided by the gap of its task: from the constant predictor to the better of the
    two, means over the folds compared. One gap per task, because a single fold's may be next to nothing. The estimate
    is the mean over tasks of their mean differences, so a task with ten folds weighs no more than one with three. A
    task counts for one gap at most: who is worse than the constant predictor counts as it, as who failed does; else
    one disaster would widen the interval so far that it hides the others.

    Failures count as the constant predictor's score on that fold, as in the AMLB paper, and so do predictions that
    the metric has no value for. Left out are folds where one of the three has no row, where A or B ended as
    `setup`, `data` or `lost`, and where the constant predictor has no score; and tasks on which neither beats it.

    The interval is Student's over the tasks' means, with tasks - 1 degrees of freedom. Folds of a task share
    their rows, so tasks are what is independent; they are few, and a bootstrap over few clusters is too narrow. The
    t interval is exact for normal means of equal variance, and errs on the safe side where variances differ, for
    levels of 0.92 and more (Ibragimov and Müller). With one task it is Student's over the folds, with the
    variance that Nadeau and Bengio correct for overlapping training sets, (1/folds + test/train) s², and each fold
    counts for one gap at most.

    Args:
        a: the one to compare with.
        b: the one in question; differences are positive where it is better.
        constant: the constant predictor, which may be one of the two.
        test_ratio: test rows per training row by (task, task_id); a task that is not in it counts as
            cross-validated with as many folds as it has here.
        confidence: the level of the interval.

    Raises:
        UserError: nothing can be compared.

    References:
        Ibragimov and Müller (2010), t-statistic based correlation and heterogeneity robust inference, Journal of
        Business and Economic Statistics 28(4). Nadeau and Bengio (2003), Inference for the generalization error,
        Machine Learning 52(3).

    Example:
        >>> def side(name, *scores):
        ...     common = dict(task_id="", repeat=0, fold=0, status="ok", optimised=True)
        ...     common |= dict(metric="auc", higher_is_better=True, enforcement="", blindness="", contended=0, start="")
        ...     return Side(name, [dict(common, task=task, value=v) for task, v in zip("xy", scores)])
        >>> compared = compare_sides(side("old", 0.9, 0.8), side("new", 0.8, 0.8), side("constant", 0.5, 0.5))
        >>> [round(task.difference, 6) for task in compared.tasks], round(compared.estimate, 6)
        ([-0.25, 0.0], -0.125)
    """
    check_confidence(confidence)
    folds, left_out = _pair_up(a, b, constant)
    labels = _labels(folds)
    tasks = {key: _difference(labels[key], task_folds) for key, task_folds in folds.items()}
    warnings = _warnings(a.name, b.name, tasks.values(), left_out)
    counted = [key for key, task in tasks.items() if task.difference is not None]
    if not counted:
        reasons = " ".join(warnings) or "There are no rows."
        remedy = "Fix what failed (`assay results --failed`), or choose other tasks."
        raise UserError(f"Nothing of {a.name} and {b.name} can be compared. {reasons} {remedy}")
    means = [mean for task in tasks.values() if (mean := task.difference) is not None]
    half = _half_width(means, confidence, 1 / len(means))
    if len(counted) == 1:
        only = counted[0]
        ratio = (test_ratio or {}).get(only[:2], _cross_validated(folds[only]))
        means = [_at_most_one(difference) for difference in tasks[only].differences]
        half = _half_width(means, confidence, 1 / tasks[only].folds + ratio)
    rows = _optimised(a, b) if constant in (a, b) else _optimised(a, b, constant)
    return Comparison(
        a=a.name,
        b=b.name,
        estimate=fmean(means),
        lower=None if half is None else fmean(means) - half,
        upper=None if half is None else fmean(means) + half,
        confidence=confidence,
        n_tasks=len(counted),
        n_pairs=sum(tasks[key].folds for key in counted),
        imputed_a=sum(task.imputed_a for task in tasks.values()),
        imputed_b=sum(task.imputed_b for task in tasks.values()),
        tasks=tuple(tasks.values()),
        left_out=left_out,
        trust=trust(rows),
        warnings=(*_scope(len(counted), half is not None), *warnings, *_mixed(rows)),
    )


def _optimised(*sides: Side) -> list[ScoreRecord]:
    """Return one row per job: that of the metric which was to be optimised."""
    return [row for side in sides for row in side.rows if row["optimised"]]


def _pair_up(a: Side, b: Side, constant: Side) -> tuple[dict[TaskKey, list[Fold]], tuple[LeftOut, ...]]:
    """Return the folds that can be compared by task, in order, and those that cannot."""
    sides = {"a": a, "b": b, "constant": constant}
    rows_by_fold: dict[tuple[TaskKey, int, int], Fold] = defaultdict(dict)
    for role, side in sides.items():
        for row in _optimised(side):
            rows_by_fold[(row["task"], row["task_id"], row["metric"]), row["repeat"], row["fold"]][role] = row
    folds: dict[TaskKey, list[Fold]] = defaultdict(list)
    left_out = []
    for (task, repeat, number), fold in sorted(rows_by_fold.items(), key=lambda item: item[0]):
        reasons = [_reason(side.name, role, fold.get(role)) for role, side in sides.items()]
        if any(reasons):
            left_out.append(LeftOut(task[0], repeat, number, next(filter(None, reasons))))
        else:
            folds[task].append(fold)
    return folds, tuple(left_out)


def _reason(name: str, role: str, row: ScoreRecord | None) -> str:
    """Return why a fold cannot be compared because of this row, or an empty text."""
    if row is None:
        return f"{name} was not run"
    if row["status"] in NOT_ITS_OWN or (role == "constant" and row["status"] != "ok"):
        return f"{name} ended as {row['status']}"
    return f"{name} has no score" if role == "constant" and _score(row) is None else ""


def _score(row: ScoreRecord) -> float | None:
    """Return the score of a job that has one; a table says NaN where rows say None."""
    value = row["value"]
    return None if row["status"] != "ok" or value is None or isnan(value) else float(value)


def _labels(tasks: Iterable[TaskKey]) -> dict[TaskKey, str]:
    """Return a name to show for each task: with its id or metric where others have the same name."""
    keys = list(tasks)
    out = {}
    for task in keys:
        same = [other for other in keys if other[0] == task[0]]
        further = [task[part] for part in (1, 2) if len({other[part] for other in same}) > 1]
        out[task] = "/".join([task[0], *further])
    return out


def _difference(label: str, folds: Sequence[Fold]) -> TaskDifference:
    first = folds[0]["constant"]
    sign = 1.0 if first["higher_is_better"] else -1.0
    constant = [float(fold["constant"]["value"]) for fold in folds]
    scores_by_role = {role: [_score(fold[role]) for fold in folds] for role in ("a", "b")}
    a, b = (
        [c if s is None else s for s, c in zip(scores, constant, strict=True)]
        for scores in scores_by_role.values()
    )
    mean_a, mean_b, mean_constant = fmean(a), fmean(b), fmean(constant)
    gap = max(sign * mean_a, sign * mean_b) - sign * mean_constant
    has_gap = gap > NO_GAP * max(abs(mean_a), abs(mean_b), abs(mean_constant))
    differences = tuple(sign * (y - x) / gap for x, y in zip(a, b, strict=True)) if has_gap else ()
    return TaskDifference(
        task=label,
        metric=first["metric"],
        higher_is_better=bool(first["higher_is_better"]),
        mean_a=mean_a,
        mean_b=mean_b,
        mean_constant=mean_constant,
        gap=gap,
        difference=_at_most_one(fmean(differences)) if differences else None,
        differences=differences,
        folds=len(folds),
        imputed_a=scores_by_role["a"].count(None),
        imputed_b=scores_by_role["b"].count(None),
    )


def _at_most_one(gaps: float) -> float:
    return max(-1.0, min(1.0, gaps))


def _half_width(values: Sequence[float], confidence: float, factor: float) -> float | None:
    """Return half of Student's interval for a mean whose variance is `factor` times that of the values."""
    from scipy.special import stdtrit

    if len(values) < 2 or not isfinite(factor):
        return None
    return float(stdtrit(len(values) - 1, (1 + confidence) / 2)) * sqrt(factor * variance(values))


def _cross_validated(folds: Sequence[Fold]) -> float:
    """Return test rows per training row of cross-validation with these folds: infinite for a single one."""
    count = len({fold["constant"]["fold"] for fold in folds})
    return 1 / (count - 1) if count > 1 else float("inf")


def _warnings(
    a: str, b: str, tasks: Iterable[TaskDifference], left_out: Sequence[LeftOut]
) -> tuple[str, ...]:
    out = []
    for reason in dict.fromkeys(pair.reason for pair in left_out):
        names = [pair.task for pair in left_out if pair.reason == reason]
        out.append(f"{len(names)} pair(s) are left out, because {reason}: {_listed(names)}.")
    compared = list(tasks)
    pairs = sum(task.folds for task in compared)
    failed = sum(task.imputed_a for task in compared), sum(task.imputed_b for task in compared)
    for name, count in zip((a, b), failed, strict=True):
        if count:
            out.append(f"{name} failed in {count} of {pairs} pairs, which count as the constant predictor's.")
    flat = [task.task for task in compared if task.difference is None]
    if flat:
        out.append(f"Neither is better than the constant predictor on {_listed(flat)}: left out.")
    for name, means in ((a, [task.mean_a for task in compared]), (b, [task.mean_b for task in compared])):
        below = [task.task for task, mean in zip(compared, means, strict=True) if _is_below(task, mean)]
        if below:
            out.append(
                f"{name} is worse than the constant predictor on {_listed(below)}, and counts as the constant "
                "predictor there."
            )
    return tuple(out)


def _is_below(task: TaskDifference, mean: float) -> bool:
    """Return whether this mean is worse than the constant predictor's where the other side's is better."""
    ahead = mean - task.mean_constant if task.higher_is_better else task.mean_constant - mean
    return task.difference is not None and ahead < -NO_GAP * abs(task.mean_constant)


def _scope(n_tasks: int, has_interval: bool) -> tuple[str, ...]:
    if not has_interval:
        return ("One task and too few folds: there is no interval.",)
    return ("One task: the interval speaks of this data set only.",) if n_tasks == 1 else ()


def _mixed(rows: Sequence[ScoreRecord]) -> tuple[str, ...]:
    tiers = len({row["enforcement"] for row in rows})
    return ("Rows of different tiers are mixed: their limits were not enforced alike.",) if tiers > 1 else ()


def _listed(names: Iterable[str], most: int = 5) -> str:
    distinct = list(dict.fromkeys(names))
    more = f" and {len(distinct) - most} more" if len(distinct) > most else ""
    return ", ".join(distinct[:most]) + more
