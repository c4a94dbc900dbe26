"""How much disk space a store takes, and how much of it `prune` could free; of a large store, an estimate."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from assay.errors import StoreError
from assay.store.problems import explained
from assay.store.prune import ALL_RULES, JobWithRow, disk_space, find_removals
from assay.store.store import Store
from assay.typing import JsonObject

__all__ = ["StoreSize", "measure_store"]


T = TypeVar("T")


class PartSize(NamedTuple):
    """The bytes of one part of a store, and those of them that could be removed."""

    bytes: int
    prunable_bytes: int = 0


@dataclass(frozen=True)
class StoreSize:
    """The disk space of a store in bytes; an estimate where not everything was measured.

    Attributes:
        bytes: everything, the index and the folds included.
        prunable_bytes: what `prune` with all its rules could free.
        jobs: jobs that have a folder.
        measured_jobs: those that were measured; the others are taken to be of the same size on average.
        is_estimate: whether some jobs or folds were not measured.
    """

    bytes: int
    prunable_bytes: int
    jobs: int
    measured_jobs: int
    is_estimate: bool

    def to_json(self) -> JsonObject:
        """Return plain JSON values."""
        return dict(self.__dict__)


def measure_store(store: Store, seconds: float = 0.3) -> StoreSize:
    """Measure the jobs of a store for about this long, and what else is in it for about as long again.

    Jobs and folds are named after digests, so the first ones in their order are as good as a random sample.
    """
    root = store.folder.root
    keys = store.folder.job_keys()
    with explained(root):
        others = [root / name for name in sorted(os.listdir(root)) if name != "jobs"]
        folders = [path for path in others if path.is_dir() and not path.is_symlink()]
        total = sum(disk_space(path) for path in others if path not in folders)
        is_estimate = False
        for folder in folders:
            units = [folder / name for name in sorted(os.listdir(folder))]
            space, measured = _sample(units, lambda path: PartSize(disk_space(path)), seconds / len(folders))
            total += space.bytes
            is_estimate |= measured < len(units)
        space, measured = _sample(keys, lambda key: _job_space(store, key), seconds)
    is_estimate |= measured < len(keys)
    return StoreSize(total + space.bytes, space.prunable_bytes, len(keys), measured, is_estimate)


def _sample(units: Sequence[T], measure: Callable[[T], PartSize], seconds: float) -> tuple[PartSize, int]:
    """Measure the first units for about this long; return the sum for all units, and how many were measured."""
    deadline = time.monotonic() + seconds
    total = prunable = measured = 0
    for unit in units:
        space = measure(unit)
        total, prunable, measured = total + space.bytes, prunable + space.prunable_bytes, measured + 1
        if time.monotonic() > deadline:
            break
    scale = len(units) / measured if measured else 0.0
    return PartSize(round(total * scale), round(prunable * scale)), measured


def _job_space(store: Store, key: str) -> PartSize:
    folder = store.folder.job(key)
    total = disk_space(folder.path)
    try:
        state = store.state(key)
    except StoreError:  # it is not in the index, so it has no row
        return PartSize(total)
    if state.state != "done":
        return PartSize(total)
    job = JobWithRow(key, state.attempt, state.status or "")
    return PartSize(total, sum(removal.bytes for removal in find_removals(folder, job, ALL_RULES)))
