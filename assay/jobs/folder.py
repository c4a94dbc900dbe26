"""The layout of a store on disk: where a job, its attempts, folds and truth lie."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from assay.files import Read, is_number, make_record, read_bytes, read_json
from assay.jobs.job import Job
from assay.jobs.outcome import Facts
from assay.jobs.row import Row

__all__ = ["AttemptFolder", "JobFolder", "StoreFolder"]


class AttemptFolder:
    """One try at a job: `jobs/ab/<key>/attempts/001/`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root = path.parents[min(3, len(path.parents) - 1)]  # `jobs`: below it no link is followed
        self.number = int(path.name)
        self.job = path / "job.json"
        self.attempt = path / "attempt.json"
        self.out = path / "out"
        self.tmp = path / "tmp"
        self.log = path / "log.txt"
        self.claim = path / "claim"  # held by the coordinator
        self.lock = path / "lock"  # held by the supervisor
        self.outcome = path / "outcome.json"
        self.verdict = path / "verdict.json"

    @property
    def key(self) -> str:
        """Return the key of the job this is an attempt at."""
        return self.path.parent.parent.name

    @property
    def is_complete(self) -> bool:
        """Whether the supervisor wrote its facts, which it does last; they may be damaged since."""
        return os.path.lexists(self.outcome)

    def read_facts(self) -> Read[Facts]:
        """Return the facts in `outcome.json`."""
        return read_json(self.outcome, self.root).then(Facts.from_json)

    def read_verdict(self) -> Read[Row]:
        """Return the row in `verdict.json`."""
        return read_bytes(self.verdict, self.root).then(Row.from_json)


class JobFolder:
    """Everything about one job: `jobs/ab/<key>/`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root = path.parents[min(1, len(path.parents) - 1)]
        self.job = path / "job.json"

    def read_job(self) -> Read[Job]:
        """Return the job in `job.json`, which must be the one that the folder is named after."""
        return read_json(self.job, self.root).then(self._own_job)

    def _own_job(self, value: dict[str, Any]) -> Job:
        job = make_record(Job, value)
        if job.key != self.path.name:
            raise ValueError(f"it is the job {job.key[:40]}, not {self.path.name}")
        return job

    def attempts(self) -> list[AttemptFolder]:
        """Return the attempts in order; an empty list when there is none."""
        root = self.path / "attempts"
        names = [name for name in os.listdir(root) if is_number(name)] if root.is_dir() else []
        return [AttemptFolder(root / name) for name in sorted(names, key=int)]

    def attempt(self, number: int) -> AttemptFolder:
        """Return the folder of attempt `number`, which may not exist yet."""
        return AttemptFolder(self.path / "attempts" / f"{number:03d}")


class StoreFolder:
    """The root of a store."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.index = root / "index.sqlite"
        self.format = root / "assay-store.json"
        self.folds = root / "folds"
        self.truth = root / "truth"
        self.tasks = root / "tasks"

    def job(self, key: str) -> JobFolder:
        """Return the folder of a job."""
        return JobFolder(self.root / "jobs" / key[:2] / key)

    def job_keys(self) -> list[str]:
        """Return the keys of all jobs that have a folder, sorted."""
        root = self.root / "jobs"
        if not root.is_dir():
            return []
        shards = [shard.path for shard in os.scandir(root) if shard.is_dir()]
        return sorted(entry.name for shard in shards for entry in os.scandir(shard) if entry.is_dir())
