"""The options of commands that choose tasks and run jobs, as records (`assay.cli.groups`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assay.cli.options import (
    Csv,
    Folds,
    MaxCategorical,
    MaxClasses,
    MaxRows,
    Metrics,
    MinCategorical,
    MinClasses,
    MinRows,
    Missing,
    NoInstall,
    Offline,
    On,
    Oversubscribe,
    Parallel,
    RerunStale,
    ResultStore,
    RetryFailed,
    Seed,
    Set,
    Start,
    Target,
    Tasks,
    Tier,
    Timing,
    Types,
    parse_csv_words,
    parse_settings,
)
from assay.cli.output import STORE
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.runs.executors.base import Executor
    from assay.runs.run import RunOptions
    from assay.settings import Settings
    from assay.suites.select import Selection
    from assay.suites.suite import Suite

__all__ = ["RunFlags", "TaskFilter", "TaskOptions", "check_tier"]

TIERS = ("auto", "strict", "landlock", "plain")
STARTS = ("auto", "cold")
TYPES = ("binary", "multiclass", "regression")


@dataclass(frozen=True)
class TaskOptions:
    """Which tasks of a suite, and how its files are read."""

    target: Target = None
    csv: Csv = None
    task: Tasks = None
    type: Types = None

    def load_suite(self, name: str, settings: Settings | None = None) -> Suite:
        """Return the suite of that name."""
        from assay.api import load_suite

        return load_suite(name, self.target, settings, parse_csv_words(self.csv))

    def selection(self) -> Selection:
        """Return which of its tasks are asked for."""
        from assay.suites.select import Selection

        for task_type in self.type or ():
            if task_type not in TYPES:
                raise ConfigError(f"--type {task_type}: choose one of {', '.join(TYPES)}.")
        return Selection(names=tuple(self.task or ()), types=tuple(self.type or ()))  # type: ignore[arg-type]


@dataclass(frozen=True)
class TaskFilter(TaskOptions):
    """Which tasks of a suite, also by their size."""

    min_rows: MinRows = None
    max_rows: MaxRows = None
    min_classes: MinClasses = None
    max_classes: MaxClasses = None
    missing: Missing = None
    min_categorical: MinCategorical = None
    max_categorical: MaxCategorical = None

    def selection(self) -> Selection:
        """Return which tasks are asked for."""
        return replace(
            super().selection(),
            min_rows=self.min_rows,
            max_rows=self.max_rows,
            min_classes=self.min_classes,
            max_classes=self.max_classes,
            missing=self.missing,
            min_categorical_share=self.min_categorical,
            max_categorical_share=self.max_categorical,
        )


@dataclass(frozen=True)
class RunFlags:
    """What is run of a plan, where, and where its results go."""

    fold: Folds = None
    metric: Metrics = None
    parallel: Parallel = None
    on: On = "local"
    store: ResultStore = STORE
    seed: Seed = 0
    set: Set = None
    tier: Tier = "auto"
    oversubscribe: Oversubscribe = False
    retry_failed: RetryFailed = False
    rerun_stale: RerunStale = False
    timing: Timing = None
    start: Start = "auto"
    no_install: NoInstall = False
    offline: Offline = False

    def settings(self) -> Settings:
        """Return the settings of the environment, without network if that is asked for."""
        from assay.settings import Settings

        settings = Settings.from_environment()
        return replace(settings, offline=True) if self.offline else settings

    def params(self) -> dict[str, dict[str, object]]:
        """Return the parameters of frameworks that are set, by framework."""
        return parse_settings(self.set or [])

    def executor(self) -> Executor:
        """Return who runs the jobs."""
        from assay.runs.executors.base import ExecutorOptions
        from assay.runs.executors.registry import make_executor

        return make_executor(self.on, ExecutorOptions(self.parallel, self.tier))

    def options(self) -> RunOptions:
        """Return which jobs are run."""
        from assay.runs.run import RunOptions

        if self.start not in STARTS:
            raise ConfigError(f"--start {self.start}: choose one of {', '.join(STARTS)}.")
        return RunOptions(
            oversubscribe=self.oversubscribe,
            retry_failed=self.retry_failed,
            rerun_stale=self.rerun_stale,
            install=not self.no_install,
            timing_s=self._timing_s(),
            start=self.start,  # type: ignore[arg-type]  # checked above
        )

    def _timing_s(self) -> float | None:
        from assay.jobs.constraint import parse_duration

        if self.timing is None:
            return None
        return 0.0 if self.timing == "off" else parse_duration(self.timing, "--timing")


def check_tier(tier: str) -> None:
    """Refuse a tier that there is not."""
    if tier not in TIERS:
        raise ConfigError(f"--tier {tier}: choose one of {', '.join(TIERS)}.")
