"""A job: framework × task × fold × constraint × seed, with a stable key. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from assay.data.task import Fold, Task
from assay.errors import ConfigError
from assay.files import make_record, to_plain
from assay.frameworks.spec import FrameworkSpec
from assay.jobs.constraint import Constraint
from assay.vocabulary import TaskType

__all__ = ["DEFAULT_SEED", "Job", "JobGroup", "job_seed"]

DEFAULT_SEED = 0


@dataclass(frozen=True)
class Job:
    """One thing to be done, known by its key.

    The key covers the framework's name, version and parameters, the task's data and splits, the fold, the
    constraint as asked for, and the run's seed; not the adapter's text, the lock or the machine, which
    are circumstances. `seed` is what the framework is given: the same for all frameworks on a fold.
    """

    key: str
    framework: str
    version: str
    params: Mapping[str, Any]
    task: str
    task_id: str
    task_digest: str
    type: TaskType
    metrics: tuple[str, ...]
    repeat: int
    fold: int
    constraint: Constraint
    run_seed: int
    seed: int

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values for `job.json` of the job's folder."""
        return to_plain(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Job:
        """Make a job from what `to_json` returned; ValueError where a field is of another type."""
        return make_record(cls, value)


def job_seed(run_seed: int, task_digest: str, repeat: int, fold: int) -> int:
    """Return the seed for a fold, H(run seed, task, fold), within 31 bits as most libraries want."""
    text = f"{run_seed}|{task_digest}|{repeat}|{fold}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") & 0x7FFFFFFF


class JobGroup:
    """The jobs of one framework on one task under one constraint: all but the fold is hashed once."""

    def __init__(self, framework: FrameworkSpec, task: Task, constraint: Constraint, run_seed: int) -> None:
        if not abs(run_seed) < 2**63:
            raise ConfigError(f"The seed {run_seed} is too large: give at most {2**63 - 1}.")
        said = {
            "framework": framework.name,
            "version": framework.version,
            "params": framework.params,
            "task": task.digest,
            "constraint": constraint.identity(),
            "seed": run_seed,
        }
        self._hash = hashlib.sha256(json.dumps(said, sort_keys=True).encode())
        self._template = Job(
            key="",
            framework=framework.name,
            version=framework.version,
            params=framework.params,
            task=task.name,
            task_id=task.id,
            task_digest=task.digest,
            type=task.type,
            metrics=task.metrics,
            repeat=0,
            fold=0,
            constraint=replace(constraint, tasks={}),
            run_seed=run_seed,
            seed=0,
        )

    def job(self, fold: Fold, seed: int | None = None) -> Job:
        """Return the job for one fold; its seed, which is the same for all frameworks, may be known already."""
        template = self._template
        if seed is None:
            seed = job_seed(template.run_seed, template.task_digest, fold.repeat, fold.fold)
        digest = self._hash.copy()
        digest.update(f"|{fold.repeat}|{fold.fold}".encode())
        # Field by field a frozen record takes five times as long, and a plan may have 100 000. A copy of a whole
        # dictionary takes half as long as filling a new one, and less memory.
        fields = template.__dict__.copy()
        fields["key"] = digest.hexdigest()[:24]
        fields["repeat"], fields["fold"], fields["seed"] = fold.repeat, fold.fold, seed
        job = object.__new__(Job)
        object.__setattr__(job, "__dict__", fields)
        return job
