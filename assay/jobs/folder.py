"""The layout of a store on disk: where a job, its attempts, folds and truth lie."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["AttemptFolder", "JobFolder", "StoreFolder", "read_json", "write_json", "write_replace"]


def write_replace(path: Path, write: Callable[[BinaryIO], Any], durable: bool = True) -> None:
    """Write a file under another name and rename it, so that no reader ever sees half of it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with open(partial, "wb") as file:
            write(file)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Mapping[str, Any], durable: bool = True) -> None:
    """Write JSON by rename; NaN is refused, because other languages cannot read it."""
    text = json.dumps(value, allow_nan=False, indent=1, ensure_ascii=False).encode()
    write_replace(path, lambda file: file.write(text), durable)


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object."""
    with open(path, encoding="utf-8") as file:
        value: dict[str, Any] = json.load(file)
    return value


class AttemptFolder:
    """One try at a job: `jobs/ab/<key>/attempts/001/`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = int(path.name)
        self.job = path / "job.json"
        self.attempt = path / "attempt.json"
        self.out = path / "out"
        self.tmp = path / "tmp"
        self.log = path / "log.txt"
        self.lock = path / "lock"
        self.outcome = path / "outcome.json"
        self.verdict = path / "verdict.json"

    @property
    def key(self) -> str:
        """Return the key of the job this is an attempt at."""
        return self.path.parent.parent.name

    @property
    def is_complete(self) -> bool:
        """Whether the supervisor wrote its facts, which it does last."""
        return self.outcome.exists()


class JobFolder:
    """Everything about one job: `jobs/ab/<key>/`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.job = path / "job.json"

    def attempts(self) -> list[AttemptFolder]:
        """Return the attempts in order; an empty list when there is none."""
        root = self.path / "attempts"
        names = [name for name in os.listdir(root) if name.isdecimal()] if root.is_dir() else []
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
