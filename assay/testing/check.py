"""Run a framework for real on the check's tasks and gather what holds."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.jobs.row import Row
from assay.testing.claims import Promise, Trial, judge
from assay.testing.tasks import TASKS, CheckTask, choose_tasks, write_tasks

if TYPE_CHECKING:
    from assay.data.task import Task
    from assay.frameworks.spec import FrameworkSpec
    from assay.runs.run import Event
    from assay.store.store import Store

__all__ = ["CONSTRAINT", "NOT_APPLICABLE", "Check", "TaskCheck", "check_framework"]

CONSTRAINT = "30s1c"
NOT_APPLICABLE = "not applicable"
Tell = Callable[["Event"], None]


@dataclass(frozen=True)
class TaskCheck:
    """How one task of the check ended; `not applicable` where the framework does not do its type.

    `constant_score` is the constant predictor's; `log` the last lines of the log of a job that failed.
    """

    task: str
    type: str
    packs: tuple[str, ...]
    status: str
    message: str = ""
    key: str = ""
    metric: str = ""
    score: float | None = None
    constant_score: float | None = None
    fit_s: float | None = None
    log: tuple[str, ...] = ()


@dataclass(frozen=True)
class Check:
    """What holds of one framework: how the tasks ended, and the claims it keeps and breaks.

    `store` is the folder of the store, for `assay explain`, where it was kept.
    """

    framework: str
    version: str
    constraint: str
    tasks: tuple[TaskCheck, ...]
    claims: tuple[Promise, ...]
    store: str = ""

    @property
    def ok(self) -> bool:
        """Whether it keeps everything it must."""
        return not any(claim.is_broken for claim in self.claims)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**asdict(self), "ok": self.ok}


def check_framework(
    framework: str | FrameworkSpec,
    *,
    constraint: str = CONSTRAINT,
    tier: str = "auto",
    tasks: Collection[str] = (),
    keep: Path | None = None,
    tell: Tell = lambda event: None,
) -> Check:
    """Run a framework on small tasks that pack what breaks integrations and say what holds.

    Args:
        framework: a name, `name:version`, a folder, `file.py:Class`, or a spec.
        constraint: what each of its jobs may use.
        tier: how limits are enforced, as in `assay.run`.
        tasks: names of the tasks to run; all of them by default.
        keep: a new folder for the tables and stores, which are thrown away otherwise.
        tell: called when one of its jobs starts and when it has its row.
    """
    from assay.frameworks.find import find_framework

    spec = find_framework(framework) if isinstance(framework, str) else framework
    with _folder(keep) as name:
        run = _Run(Path(name), constraint, tier, tell, tasks)
        store = run.run(spec, "store")
        trials = [_trial(store, row) for row in sorted(store.rows(), key=_place)]
        if any(trial.answer is not None for trial in trials):
            trials = run.compare(spec, trials)
        checked = tuple(_task_check(task, store, trials) for task in choose_tasks(tasks))
        store.close()
    kept = "" if keep is None else str(Path(name) / "store")
    return Check(spec.name, spec.version, constraint, checked, tuple(judge(spec, trials)), kept)


def _folder(keep: Path | None) -> AbstractContextManager[str | Path]:
    from assay.errors import ConfigError

    if keep is None:
        return tempfile.TemporaryDirectory(prefix="assay-check-")
    if (keep / "store").exists() or (keep.exists() and not keep.is_dir()):
        raise ConfigError(
            f"{keep} is there already, and results of two checks do not mix. Name a new folder."
        )
    return nullcontext(keep)


class _Run:
    """One check: a folder, its tasks, and how their jobs are run."""

    def __init__(
        self, folder: Path, constraint: str, tier: str, tell: Tell, tasks: Collection[str] = ()
    ) -> None:
        from assay.suites.suite import Suite

        self.folder = folder
        self.constraint = constraint
        self.tier = tier
        self.tell = tell
        self.suite = Suite("check", write_tasks(folder / "tasks", tasks))
        self.tasks = self._load()

    def _load(self) -> Sequence[Task]:
        """Read the tasks with a cache of their own: these files never come again under the same path."""
        from assay import api
        from assay.settings import Settings

        with tempfile.TemporaryDirectory(prefix="assay-check-") as cache:
            return api.load_tasks(self.suite, replace(Settings.from_environment(), cache=Path(cache)))

    def run(self, spec: FrameworkSpec, name: str) -> Store:
        """Run one framework, installed first if need be, on all tasks of its types, in a store of its own."""
        from assay import api
        from assay.runs.executors.base import ExecutorOptions
        from assay.runs.executors.registry import make_executor
        from assay.runs.run import RunOptions
        from assay.store.store import Store

        jobs = api.plan(self.suite, [spec], self.constraint, tasks=self.tasks)
        executor = make_executor("local", ExecutorOptions(1, self.tier))
        api.check_plan(jobs, executor.place, RunOptions())  # before a store is made for nothing
        store = Store(self.folder / name)
        api.run(jobs, store, executor, tell=self.tell)
        return store

    def compare(self, spec: FrameworkSpec, trials: Sequence[Trial]) -> list[Trial]:
        """Put beside the trials what they are compared with: the constant predictor, and a second run."""
        from assay.frameworks.find import find_framework

        constant = {} if spec.role == "constant" else self._rerun(find_framework("constant"), "constant")
        again = self._rerun(spec, "again") if spec.stops_by == "count" else {}
        return [
            replace(
                trial,
                constant=constant[trial.task].row.score if trial.task in constant else None,
                again=again[trial.task].answer if trial.task in again else None,
            )
            for trial in trials
        ]

    def _rerun(self, spec: FrameworkSpec, name: str) -> Mapping[str, Trial]:
        store = self.run(spec, name)
        found = {row.task: _trial(store, row) for row in store.rows()}
        store.close()
        return found


def _place(row: Row) -> int:
    return [task.name for task in TASKS].index(row.task)


def _trial(store: Store, row: Row) -> Trial:
    """Read a job's facts and, if it is ok, its answer and the truth."""
    from assay.frameworks.predictions import Asked, read_predictions
    from assay.runs.folds import read_question

    attempt = store.folder.job(row.key).attempt(row.attempt)
    left = attempt.read_facts().get().left_behind
    if row.status != "ok":
        return Trial(row, left)
    question = read_question(store.folder, row.task_digest, row.fold_digest).get()
    classes = question.task.classes
    asked = Asked(question.task.type, classes, len(question.y))
    return Trial(row, left, classes, question.y, read_predictions(attempt.out, asked, attempt.root))


def _task_check(task: CheckTask, store: Store, trials: Sequence[Trial]) -> TaskCheck:
    from assay.results.explain import explain

    trial = next((trial for trial in trials if trial.task == task.name), None)
    if trial is None:
        return TaskCheck(task.name, task.type, task.packs, NOT_APPLICABLE)
    row = trial.row
    return TaskCheck(
        task=task.name,
        type=task.type,
        packs=task.packs,
        status=row.status,
        message=row.message,
        key=row.key,
        metric=row.metric,
        score=row.score,
        constant_score=trial.constant,
        fit_s=row.fit_s,
        log=() if row.status == "ok" else explain(store, row.key).log,
    )
