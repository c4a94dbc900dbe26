"""The fits of searches as ordinary jobs: a configuration is a framework with parameters, a fold of the search a fold.

So each fit has its limits and its row, and what is done is found again. A configuration that fails in its first fold
is not tried in the others: it is out, and might need its whole limit in each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from assay.api.flow import run
from assay.errors import StoreError
from assay.frameworks.pipeline.steps import Demand
from assay.frameworks.predictions import Asked, BadPredictions, read_predictions
from assay.jobs.constraint import Constraint
from assay.jobs.job import Job
from assay.jobs.plan import Plan, plan_jobs
from assay.jobs.row import Row
from assay.runs.executors.base import Executor
from assay.runs.folds import read_truth
from assay.runs.run import Event, RunOptions
from assay.searches.configurations import Configuration
from assay.searches.folds import Fold
from assay.searches.inputs import SearchData
from assay.searches.specs import Specs
from assay.searches.tasks import task_of
from assay.settings import Settings
from assay.store.store import Store

if TYPE_CHECKING:
    from assay.typing import Floats, Ints

__all__ = ["Fitting", "FoldFits", "PlannedWork", "Progress", "Work", "open_fitting"]

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Work:
    """What is to be fitted: each configuration on each fold, given as (repeat, fold, training rows, test rows)."""

    data: SearchData
    configurations: tuple[Configuration, ...]
    folds: tuple[Fold, ...]
    demand: Demand
    metric: str


@dataclass(frozen=True, eq=False)
class FoldFits:
    """Out-of-fold predictions: for each repeat (N, C), or (N, C, K) of several classes, and why some failed.

    What a configuration has not predicted is zero.
    """

    values: tuple[Floats, ...]
    failed: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class PlannedWork:
    """The jobs of some work, those of one fold together, in the order of the configurations."""

    work: Work
    plan: Plan

    def first(self) -> Sequence[Job]:
        """Return the job of each configuration in the first fold."""
        return self.plan.jobs[: len(self.work.configurations)]

    def after_first(self) -> dict[str, Sequence[Job]]:
        """Return the jobs of each configuration in the other folds, by the key of that in the first fold."""
        count = len(self.work.configurations)
        return {job.key: self.plan.jobs[at + count :: count] for at, job in enumerate(self.first())}

    def named(self) -> Iterator[tuple[int, Fold, Job]]:
        """Yield the position of the configuration, the fold, and the job."""
        count = len(self.work.configurations)
        folds = sorted(self.work.folds, key=lambda fold: fold[:2])
        for at, job in enumerate(self.plan.jobs):
            yield at % count, folds[at // count], job


class Fitting:
    """Where searches have their fits done: a store, an executor, and what one fit may use."""

    def __init__(
        self,
        store: Store,
        executor: Executor,
        constraint: Constraint,
        settings: Settings,
        options: RunOptions,
        is_kept: bool,
    ) -> None:
        self.store, self.executor, self.constraint, self.settings = store, executor, constraint, settings
        self.options = options
        self._specs = Specs(is_kept)
        self.n_jobs = self.n_found = 0

    def fit(self, works: Sequence[Work], progress: Progress | None = None) -> list[FoldFits]:
        """Run what is missing, all work together, and return the predictions of each work."""
        return [self._read(planned) for planned in self.run(works, progress)]

    def run(self, works: Sequence[Work], progress: Progress | None = None) -> list[PlannedWork]:
        """Run what is missing, all work together."""
        with TemporaryDirectory(prefix="assay-search-") as folder:
            every = [one for work in works for one in work.configurations]
            self._specs.add(every, Path(folder))
            planned = [self._plan(work) for work in works]
            self._run(planned, progress or (lambda done, total: None))
        return planned

    def _plan(self, work: Work) -> PlannedWork:
        task = task_of(work.data, work.folds, work.metric, self.settings)
        seed = work.demand.seed
        frameworks = [self._specs.of(one, work.data, seed) for one in work.configurations]
        return PlannedWork(work, plan_jobs([task], frameworks, self.constraint, seed=seed))

    def _run(self, planned: Sequence[PlannedWork], progress: Progress) -> None:
        states = self.store.states()
        keys = {job.key for one in planned for job in one.plan.jobs}
        done = {key for key in keys if key in states and states[key].state == "done"}
        self.n_jobs, self.n_found = self.n_jobs + len(keys), self.n_found + len(done)
        rest = {key: others for one in planned for key, others in one.after_first().items()}
        skipped: set[str] = set()
        progress(len(done), len(keys))

        def tell(event: Event) -> None:
            if event.kind == "done":
                done.add(event.job.key)
                progress(len(done), len(keys - skipped))

        def follow(job: Job, row: Row) -> Sequence[Job]:
            others = rest.get(job.key, ())
            if row.status == "ok":
                return others
            skipped.update(other.key for other in others if other.key not in done)
            return ()

        first = {job.key: job for one in planned for job in one.first()}
        tasks = tuple({task.digest: task for one in planned for task in one.plan.tasks}.values())
        specs = tuple(spec for one in planned for spec in one.plan.frameworks)
        plan = replace(planned[0].plan, jobs=tuple(first.values()), tasks=tasks, frameworks=specs)
        run(
            plan,
            self.store,
            self.executor,
            self.options,
            settings=self.settings,
            tell=tell,
            follow=follow,
            keep=True,
        )
        if skipped:  # the last event may have been that of a job that failed
            progress(len(done), len(keys - skipped))

    def _row(self, job: Job) -> Row:
        row = self.store.row(job.key)
        if row is None:
            raise StoreError(f"Job {job.key} has no row in {self.store.folder.root}. Run the search again.")
        return row

    def _read(self, planned: PlannedWork) -> FoldFits:
        work = planned.work
        n_repeats = 1 + max(repeat for repeat, *_ in work.folds)
        shape = (work.data.n_rows, len(work.configurations), work.data.n_scores)
        values = [np.zeros(shape) for _ in range(n_repeats)]
        failed: dict[str, str] = {}
        truth_rows = cache(self._test_rows)
        for at, (repeat, fold, _, _), job in planned.named():
            name = work.configurations[at].name
            if name in failed:
                continue
            row = self._row(job)
            if row.status != "ok":
                failed[name] = f"fold {fold}: {row.message or row.status}"
                continue
            rows = truth_rows(row.fold_digest)
            values[repeat][rows, at] = self._predictions(row, work.data, len(rows))
        return FoldFits(tuple(one[:, :, 0] if shape[2] == 1 else one for one in values), failed)

    def _test_rows(self, fold_digest: str) -> Ints:
        truth = read_truth(self.store.folder, fold_digest)
        if truth.value is None:
            raise StoreError(f"{truth.sentence}. Name another folder, and search again.")
        rows: Ints = truth.value.rows
        return rows

    def _predictions(self, row: Row, data: SearchData, n_test: int) -> Floats:
        attempt = self.store.folder.job(row.key).attempt(row.attempt)
        classes = tuple(str(label) for label in data.classes)
        try:
            found = read_predictions(attempt.out, Asked(data.task_type, classes, n_test), attempt.root)
        except BadPredictions:
            found = None
        if found is None:
            raise StoreError(
                f"The predictions of job {row.key} cannot be read any more in {self.store.folder.root}. Search again "
                "in a new folder."
            )
        if found.probabilities is None:
            return found.values[:, None]
        probabilities: Floats = found.probabilities
        return probabilities if len(classes) > 2 else probabilities[:, 1:]


@contextmanager
def open_fitting(
    folder: Path | None,
    constraint: Constraint,
    executor: Executor,
    settings: Settings,
    options: RunOptions,
) -> Iterator[Fitting]:
    """Open the store in which the jobs of searches are kept; without a folder, one that is gone afterwards."""
    with TemporaryDirectory(prefix="assay-search-") as scratch:
        store = Store(Path(scratch, "store") if folder is None else folder)
        try:
            yield Fitting(store, executor, constraint, settings, options, is_kept=folder is not None)
        finally:
            executor.cancel()
            store.close()
