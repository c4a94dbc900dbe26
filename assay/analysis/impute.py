"""From the scores table to a rectangle without holes: folds × frameworks, failures filled by a stated policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import fsum
from typing import Literal, NamedTuple

import numpy as np

from assay.analysis.filter import labelled
from assay.errors import ConfigError, UserError
from assay.results.scores import NOT_ITS_OWN
from assay.typing import Bools, Floats, Frame, Ints, Series

__all__ = ["POLICIES", "FoldScores", "gather"]

Policy = Literal["constant", "worst", "random_forest", "none"]
POLICIES: tuple[Policy, ...] = ("constant", "worst", "random_forest", "none")
OK, FAILED, NOT_OWN, ABSENT = range(4)


@dataclass(frozen=True)
class FoldScores:
    """Scores of frameworks on folds, and how each came about.

    Attributes:
        frameworks: names of the columns, in the table's order.
        roles: by framework: constant, forest, baseline, framework or model.
        meta_learning: by framework: `marked`, `excluded` or empty.
        tasks: names to show, none twice; `keys` (task, task_id, task_digest, metric in the table), `task_ids`,
            `types`, `metrics` and `higher` belong to them.
        task: (n) position in `tasks` of each row; rows of a task stand together, in the order of repeat and fold.
        fold: (n, 2) repeat and fold of each row.
        first: (n) which row of the table was the first of this fold.
        values: (n, m) in the metric's own direction; NaN where there is none, imputed or not.
        state: (n, m) OK (also where the metric is not defined), FAILED (the framework's own failure), NOT_OWN (setup,
            data, lost) or ABSENT.
        imputed: (n, m) whether the value was filled in.
        policy: how.
        budgets: by framework: the seconds it was allowed, NaN where that is not known.
    """

    frameworks: tuple[str, ...]
    roles: Mapping[str, str]
    meta_learning: Mapping[str, str]
    tasks: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    task_ids: tuple[str, ...]
    types: tuple[str, ...]
    metrics: tuple[str, ...]
    higher: tuple[bool, ...]
    task: Ints
    fold: Ints
    first: Ints
    values: Floats
    state: Ints
    imputed: Bools
    policy: Policy
    budgets: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def scores(self) -> Floats:
        """Return the values (n, m) turned so that higher is better."""
        sign = np.where(np.array(self.higher), 1.0, -1.0)[self.task]
        return self.values * sign[:, None]

    @property
    def forest(self) -> str:
        """Return the plain random forest's name among the frameworks, or an empty text."""
        return next((name for name in self.frameworks if self.roles[name] == "forest"), "")

    def means(self) -> Floats:
        """Return (tasks, m) means over folds, higher being better; NaN where a fold has no value.

        Sums are exact, so that the same scores in another order of folds have the same mean, and tie.
        """
        return self._means

    @cached_property
    def _means(self) -> Floats:
        """The means, computed once: exact sums are slow, and several analyses need them."""
        parts = np.split(self.scores, np.flatnonzero(np.diff(self.task)) + 1)  # rows of a task stand together
        means = [[_mean(folds) for folds in part.T.tolist()] for part in parts if len(part)]
        table = np.array(means, dtype=float).reshape(len(self.tasks), len(self.frameworks))
        table.flags.writeable = False
        return table

    def keep(self, frameworks: Sequence[str]) -> FoldScores:
        """Return the same folds with these frameworks only."""
        where = [self.frameworks.index(name) for name in frameworks]
        return replace(
            self,
            frameworks=tuple(frameworks),
            values=self.values[:, where],
            state=self.state[:, where],
            imputed=self.imputed[:, where],
        )

    def ranked(self, include_excluded: bool = False) -> tuple[FoldScores, tuple[str, ...]]:
        """Return the frameworks that can be evaluated cleanly, and a line for each that was left out."""
        out = [name for name in self.frameworks if self.meta_learning.get(name) == "excluded"]
        if include_excluded or not out:
            return self, ()
        kept = self.keep([name for name in self.frameworks if name not in out])
        note = f"Left out, because what it learned beforehand may hold these very tasks: {', '.join(out)}."
        return kept, (f"{note} (--include-excluded)",)

    def complete(self) -> tuple[FoldScores, tuple[str, ...]]:
        """Return the folds on which every framework has a value, and what was left out.

        Frameworks without any value are left out first, and, while no fold is shared by all, the one that met the
        fewest tasks: one whose environment is missing must not take everybody's ranks away.
        """
        has = ~np.isnan(self.values)
        met = _any_by_task(has, self.task, len(self.tasks)).sum(axis=0)
        kept = [j for j in range(len(self.frameworks)) if met[j]]
        while kept and not has[:, kept].all(axis=1).any():
            kept.remove(min(reversed(kept), key=lambda j: met[j]))
        out = [name for j, name in enumerate(self.frameworks) if j not in kept]
        notes = []
        if out and kept:
            notes.append(f"Left out, because no score of theirs can be compared: {', '.join(out)}.")
        shared: Bools = np.all(has[:, kept], axis=1) if kept else np.zeros(len(has), dtype=bool)
        left = self.keep([self.frameworks[j] for j in kept])._rows(shared)
        lost = [task for task in self.tasks if task not in set(left.tasks)]
        if lost and kept:
            listed = ", ".join(lost[:5]) + (" …" if len(lost) > 5 else "")
            notes.append(
                f"Left out, because not all have a score there: {len(lost)} of {len(self.tasks)} tasks ({listed})."
            )
        folds = int(np.isin(self.task, [self.tasks.index(task) for task in left.tasks]).sum()) - len(
            left.task
        )
        if folds:
            notes.append(
                f"Left out in other tasks, because not all have a score there: {folds} of the folds."
            )
        return left, tuple(notes)

    def without_tasks(self, positions: set[int]) -> FoldScores:
        """Return all tasks but those at these positions."""
        return self._rows(~np.isin(self.task, list(positions)))

    def _rows(self, rows: Bools) -> FoldScores:
        """Return these folds, and the tasks that have one of them."""
        kept, task = np.unique(self.task[rows], return_inverse=True)
        return replace(
            self,
            tasks=tuple(self.tasks[i] for i in kept),
            keys=tuple(self.keys[i] for i in kept),
            task_ids=tuple(self.task_ids[i] for i in kept),
            types=tuple(self.types[i] for i in kept),
            metrics=tuple(self.metrics[i] for i in kept),
            higher=tuple(self.higher[i] for i in kept),
            task=task,
            fold=self.fold[rows],
            first=self.first[rows],
            values=self.values[rows],
            state=self.state[rows],
            imputed=self.imputed[rows],
        )


class _Tasks(NamedTuple):
    """What a table says of its tasks, each once; the fields are those of `FoldScores`."""

    tasks: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    task_ids: tuple[str, ...]
    types: tuple[str, ...]
    metrics: tuple[str, ...]
    higher: tuple[bool, ...]


def gather(table: Frame, policy: Policy = "constant", impute_not_own: bool = False) -> FoldScores:
    """Arrange a scores table of one metric per task as folds × frameworks and fill what failed.

    A fold on which a framework failed takes the constant predictor's value (AMLB paper), or the worst of that fold,
    or the random forest's. `setup`, `data` and `lost` are not the framework's result: they stay empty unless
    `impute_not_own`. A fold that a framework has no row for was not run, in a table of ours; in a foreign table it is
    a failure that left no row (AMLB's data-loading errors do).

    Raises:
        UserError: no rows, or the one to impute with was not run.
    """
    if policy not in POLICIES:
        raise ConfigError(f"Unknown imputation '{policy}': give one of {', '.join(POLICIES)}.")
    if table.empty:
        raise UserError("There are no rows.")
    table = table if "label" in table else labelled(table)
    frameworks, column = _codes(table["label"])
    tasks, task = _task_codes(table)
    rows, order = _row_codes(table, task)
    n, m = len(order), len(frameworks)
    values, state = np.full((n, m), np.nan), np.full((n, m), ABSENT, dtype=np.int8)
    status = table["status"].to_numpy()
    value = table["value"].to_numpy(dtype=float)
    good = status == "ok"
    values[rows, column] = np.where(good & np.isfinite(value), value, np.nan)  # of several the last counts
    state[rows, column] = np.where(good, OK, np.where(np.isin(status, NOT_ITS_OWN), NOT_OWN, FAILED))
    if not table["origin"].eq("assay").all():
        # There a failure may leave no row; a framework that never met a task (of another type) did not fail on it.
        met = _any_by_task(state != ABSENT, order["task"].to_numpy(), len(tasks.tasks))
        state[(state == ABSENT) & met[order["task"].to_numpy()]] = FAILED
    first = table.drop_duplicates("label")
    scores = FoldScores(
        frameworks=frameworks,
        roles=dict(zip(first["label"], first["role"], strict=True)),
        meta_learning=dict(zip(first["label"], first["meta_learning"].fillna(""), strict=True)),
        tasks=tasks.tasks,
        keys=tasks.keys,
        task_ids=tasks.task_ids,
        types=tasks.types,
        metrics=tasks.metrics,
        higher=tasks.higher,
        task=order["task"].to_numpy(),
        fold=order[["repeat", "fold"]].to_numpy(),
        first=np.unique(rows, return_index=True)[1],
        values=values,
        state=state,
        imputed=np.zeros((n, m), dtype=bool),
        policy=policy,
        budgets=dict(zip(first["label"], first["budget_s"].astype(float), strict=True)),
    )
    return _fill(scores, policy, impute_not_own)


def _fill(scores: FoldScores, policy: Policy, impute_not_own: bool) -> FoldScores:
    if policy == "none":
        return scores
    # A job that ended well, with predictions that the metric has no value for, is no failure but has no score either.
    holes = (scores.state == FAILED) | ((scores.state == OK) & np.isnan(scores.values))
    if impute_not_own:
        holes |= scores.state == NOT_OWN
    fill = _fillers(scores, policy)
    filled = holes & ~np.isnan(fill)
    values = np.where(filled, fill, scores.values)
    notes = scores.notes
    if (holes & ~filled).any():
        notes = (
            *notes,
            f"Failures without anything to impute them with: {int((holes & ~filled).sum())}.",
        )
    return replace(scores, values=values, imputed=filled, notes=notes)


def _fillers(scores: FoldScores, policy: Policy) -> Floats:
    """Return (n, m) what a failure of each framework on each row counts as; baselines are those of its budget."""
    if policy == "worst":
        sign = np.where(np.array(scores.higher), 1.0, -1.0)[scores.task]
        signed = scores.values * sign[:, None]
        worst = np.where(np.isnan(signed), np.inf, signed).min(axis=1)
        return (np.where(np.isinf(worst), np.nan, worst) * sign)[:, None] + np.zeros(len(scores.frameworks))
    if policy == "constant":
        baselines = [name for name in scores.frameworks if scores.roles[name] == "constant"]
        remedy = "Run it (`constant`), or choose another imputation, such as worst (`impute`)."
        what = "the constant predictor"
    else:
        baselines = [name for name in scores.frameworks if scores.roles[name] == "forest"]
        remedy = "Run `random_forest`, or choose another imputation, such as constant (`impute`)."
        what = "the random forest"
    if not baselines:
        if not (scores.state == FAILED).any():
            return np.full(scores.values.shape, np.nan)
        raise UserError(f"Failures are to count as {what}, which is not among the rows. {remedy}", ["impute"])
    of_budget = {scores.budgets.get(name): name for name in reversed(baselines)}
    who = [of_budget.get(scores.budgets.get(name), baselines[0]) for name in scores.frameworks]
    return scores.values[:, [scores.frameworks.index(name) for name in who]]


def _codes(column: Series) -> tuple[tuple[str, ...], Ints]:
    import pandas as pd

    codes, names = pd.factorize(column)
    return tuple(str(name) for name in names), codes


def _task_codes(table: Frame) -> tuple[_Tasks, Ints]:
    """Return what is known of each task, and the position of each row's.

    One name may stand for several ids, metrics or states of a file: these are several tasks, named apart. One that
    could not be read has nothing that could be mixed up with the others of its name.
    """
    import pandas as pd

    columns = ["task", "task_id", "task_digest", "metric"]
    # Each column by itself, because few of its values are different: joining a million texts takes a second.
    codes = np.zeros(len(table), dtype=np.int64)
    for name in columns:
        column, values = pd.factorize(table[name])
        codes = codes * (len(values) + 1) + column
    codes = pd.factorize(codes)[0]
    first = table.iloc[pd.Series(codes).drop_duplicates().index]
    has_results = ~table["status"].isin(NOT_ITS_OWN).groupby(codes).all().to_numpy()
    described = _Tasks(
        tasks=tuple(_told_apart(first, has_results)),
        keys=tuple(first[columns].itertuples(index=False, name=None)),
        task_ids=tuple(plain_id(task_id) for task_id in first["task_id"]),
        types=tuple(first["type"]),
        metrics=tuple(first["metric"]),
        higher=tuple(bool(is_higher) for is_higher in first["higher_is_better"]),
    )
    return described, codes


def _told_apart(tasks: Frame, has_results: Bools) -> list[str]:
    """Return the name of each task, with what it differs in from those of the same name behind it."""
    shown = tasks["task"].to_numpy(dtype=object).copy()
    readable = tasks[has_results]
    shared = readable[readable["task"].duplicated(keep=False)]  # most names stand for one task
    for name, namesakes in shared.groupby("task", sort=False):
        for column, digits in (("task_id", None), ("metric", None), ("task_digest", 6)):
            if namesakes[column].nunique() > 1:
                same = (tasks["task"] == name).to_numpy()
                shown[same] = [f"{name}/{value[:digits]}" for value in tasks.loc[same, column]]
                break
    seen: dict[str, int] = {}
    for at in np.argsort(~has_results, kind="stable"):  # what is still equal differs in more than one of them
        name = str(shown[at])
        seen[name] = seen.get(name, 0) + 1
        shown[at] = name if seen[name] == 1 else f"{name}/{seen[name]}"
    return [str(name) for name in shown]


def plain_id(task_id: str) -> str:
    """Return OpenML's number of a task (`openml/t/31`: 31), or the id as it is."""
    return task_id.rsplit("/t/", 1)[-1] if "openml" in task_id else task_id


def _row_codes(table: Frame, task: Ints) -> tuple[Ints, Frame]:
    """Return the row of the rectangle of each row of the table, and task, repeat and fold of each."""
    import pandas as pd

    frame = pd.DataFrame(
        {"task": task, "repeat": table["repeat"].to_numpy(), "fold": table["fold"].to_numpy()}
    )
    # Another run seed is another look at the same fold.
    ours = table["origin"].eq("assay").to_numpy()
    frame["seed"] = np.where(ours, pd.factorize(table["seed"])[0], 0)
    groups = frame.groupby(["task", "repeat", "fold", "seed"], sort=True)
    return groups.ngroup().to_numpy(), groups.size().reset_index()


def _mean(values: Sequence[float]) -> float:
    try:
        return fsum(values) / len(values)
    except OverflowError:
        return fsum(value / len(values) for value in values)


def _any_by_task(own: Bools, task: Ints, n_tasks: int) -> Bools:
    out = np.zeros((n_tasks, own.shape[1]), dtype=bool)
    np.logical_or.at(out, task, own)
    return out
