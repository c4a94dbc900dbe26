"""Remove by rule what a store no longer needs: models, logs, and attempts made before the one that counts.

Only jobs that have a row are looked at, and of them only the attempt of the row and earlier ones. The files from which
the row can be made again stay: facts, verdict, predictions, out-of-fold predictions and the trace of the search.

An old attempt is renamed while the index is locked and removed afterwards. Whatever is killed meanwhile, it is there as
a whole or not at all, and the next call removes what has only been renamed.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path

from assay.errors import StoreError
from assay.files import Measure, has_link, is_regular, remove_tree, replace_file
from assay.jobs.folder import AttemptFolder, JobFolder
from assay.jobs.packed_row import PACKED_ATTEMPT
from assay.jobs.row import Row
from assay.store.locks import hold_store, is_held
from assay.store.problems import explained
from assay.store.store import Store
from assay.typing import JsonObject

__all__ = [
    "ALL_RULES",
    "JobWithRow",
    "PruneRules",
    "Pruned",
    "Removal",
    "disk_space",
    "find_removals",
    "prune",
]

BLOCK_BYTES = 512
TRACE = "trace.json"  # the only artifact that a row and an analysis are made from
LEFTOVER = re.compile(r"\.[0-9]{1,9}\.pruned")


@dataclass(frozen=True)
class PruneRules:
    """What is to be removed.

    Attributes:
        models: what frameworks saved in `out/artifacts`, except the trace of their search.
        logs: the logs of jobs that ended as `ok`.
        failed_logs: the logs of all other jobs.
        attempts: attempts made before the one whose row counts.
        older_than_s: leave out jobs that ended less than this many seconds ago.
    """

    models: bool = False
    logs: bool = False
    failed_logs: bool = False
    attempts: bool = False
    older_than_s: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the rules that are set."""
        return tuple(rule.name for rule in fields(self) if getattr(self, rule.name) is True)


ALL_RULES = PruneRules(models=True, logs=True, failed_logs=True, attempts=True)


@dataclass(frozen=True)
class JobWithRow:
    """A job that has a row: which attempt counts, how it ended, and when (UTC; empty if nothing was started)."""

    key: str
    attempt: int
    status: str
    ended_at: str = ""


@dataclass(frozen=True)
class Removal:
    """What one rule removes from one attempt: files or folders, and the disk space that they take."""

    rule: str
    attempt: AttemptFolder
    paths: tuple[Path, ...]
    bytes: int

    @property
    def place(self) -> Path:
        """Return what is removed, or the folder that it is in if it is more than one thing."""
        return self.paths[0] if len(self.paths) == 1 else self.paths[0].parent

    def to_json(self) -> JsonObject:
        """Return plain JSON values."""
        return {"rule": self.rule, "bytes": self.bytes, "paths": [str(path) for path in self.paths]}


@dataclass(frozen=True)
class Pruned:
    """What was removed (or would be), how many jobs were left because they are in use, and what went wrong."""

    removals: tuple[Removal, ...] = ()
    in_use: int = 0
    problems: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """Return the disk space that was freed."""
        return sum(removal.bytes for removal in self.removals)

    def by_rule(self) -> dict[str, tuple[int, int]]:
        """Return by rule the number of attempts and the bytes that were removed."""
        found: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
        for removal in self.removals:
            count, size = found[removal.rule]
            found[removal.rule] = (count + 1, size + removal.bytes)
        return dict(found)

    def to_json(self) -> JsonObject:
        """Return plain JSON values."""
        return {
            "bytes": self.bytes,
            "in_use": self.in_use,
            "problems": list(self.problems),
            "removals": [removal.to_json() for removal in self.removals],
        }


def prune(store: Store, rules: PruneRules, dry_run: bool = False, now_s: float | None = None) -> Pruned:
    """Remove what the rules name and no row needs; with `dry_run` only say what that would be.

    It may be stopped at any moment and called again, and may run beside a run. A second call waits for the first.

    Args:
        store: the store.
        rules: what is to be removed; nothing by default.
        dry_run: remove nothing.
        now_s: the time from which the age of a job is counted, in seconds since 1970; the present if left out.
    """
    work = _Work(store, rules)
    before_s = (time.time() if now_s is None else now_s) - rules.older_than_s
    if dry_run:
        work.run(before_s, dry_run=True)
    elif rules.names:
        root = store.folder.root
        if not os.access(root, os.W_OK):
            raise StoreError(f"The store {root} cannot be written, so nothing was removed.")
        with explained(root), hold_store(store.folder):
            work.run(before_s)
    return Pruned(tuple(work.removals), work.in_use, tuple(work.problems))


@dataclass
class _Work:
    """What one call has removed so far."""

    store: Store
    rules: PruneRules
    removals: list[Removal] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    in_use: int = 0

    def run(self, before_s: float, dry_run: bool = False) -> None:
        for key, row, problem in self.store.check_rows():
            if row is None:
                self.problems.append(
                    f"{key}: its row is damaged: {problem}; nothing of this job was removed."
                )
                continue
            job = JobWithRow(key, row.attempt, row.status, row.ended_at)
            folder = self.store.folder.job(key)
            if self.rules.older_than_s and _ended_s(folder, row) > before_s:
                continue
            found = list(find_removals(folder, job, self.rules))
            if dry_run:
                self.removals += found
            elif found:
                self._remove(job, found)

    def _remove(self, job: JobWithRow, found: list[Removal]) -> None:
        with self.store.transaction() as db:  # nobody claims the job meanwhile
            doomed = [removal for removal in found if self._is_free(db, job, removal.attempt)]
            self.in_use += len(doomed) < len(found)
            hidden = [_hide(removal) for removal in doomed]
        for removal, paths in zip(doomed, hidden, strict=True):
            problems = [problem for path in paths if (problem := remove_tree(path))]
            self.problems += [f"{job.key}: {problem}." for problem in problems]
            if not problems:
                self.removals.append(removal)

    def _is_free(self, db: sqlite3.Connection, job: JobWithRow, attempt: AttemptFolder) -> bool:
        """Whether nobody works on an attempt, or has yet to judge it."""
        sql = f"SELECT {PACKED_ATTEMPT}, state, attempt FROM jobs WHERE key = ?"
        counts, state, claimed = db.execute(sql, (job.key,)).fetchone() or (0, "", 0)
        is_claimed = state == "running" and claimed == attempt.number
        return (counts or 0) >= job.attempt and not is_claimed and not is_held(attempt)


def _hide(removal: Removal) -> tuple[Path, ...]:
    """Give an old attempt a name under which nobody looks for it; return the paths that are to be removed now."""
    path = removal.attempt.path
    if removal.paths != (path,):
        return removal.paths
    hidden = path.with_name(f".{path.name}.pruned")
    remove_tree(hidden)
    replace_file(path, hidden)
    return (hidden,)


def find_removals(folder: JobFolder, job: JobWithRow, rules: PruneRules) -> Iterator[Removal]:
    """Yield what the rules remove from a job that has a row. Nothing behind a link is looked at."""
    parent = folder.path / "attempts"
    if has_link(parent, folder.root) or not parent.is_dir():
        return
    attempts = [attempt for attempt in folder.attempts() if attempt.number <= job.attempt]
    loses_attempts = rules.attempts and _has_facts(folder.attempt(job.attempt), attempts)
    for attempt in attempts:
        if loses_attempts and attempt.number < job.attempt:
            yield _removal("attempts", attempt, attempt.path)
        elif not attempt.path.is_symlink():
            yield from _parts(attempt, job, rules)
    if rules.attempts:
        # What an earlier call renamed, but did not live to remove.
        for name in filter(LEFTOVER.fullmatch, os.listdir(parent)):
            yield _removal("attempts", AttemptFolder(parent / name.split(".")[1]), parent / name)


def _has_facts(counted: AttemptFolder, attempts: list[AttemptFolder]) -> bool:
    """Whether the attempt that counts has facts, without which an earlier one may be all there is; read if need be."""
    return len(attempts) > 1 and counted.read_facts().value is not None


def _parts(attempt: AttemptFolder, job: JobWithRow, rules: PruneRules) -> Iterator[Removal]:
    """Yield what the rules remove from an attempt that stays."""
    if rules.models and (paths := _artifacts(attempt)):
        yield _removal("models", attempt, *paths)
    rule = "logs" if job.status == "ok" else "failed_logs"
    if getattr(rules, rule) and os.path.lexists(attempt.log):
        yield _removal(rule, attempt, attempt.log)


def _artifacts(attempt: AttemptFolder) -> list[Path]:
    """Return what lies in the folder of artifacts, or the folder itself where nothing of it is kept."""
    folder = attempt.out / "artifacts"
    if not folder.is_dir() or has_link(folder, attempt.root):
        return []
    if not is_regular(folder / TRACE, attempt.root):
        return [folder]
    return [folder / name for name in sorted(os.listdir(folder)) if name != TRACE]


def _removal(rule: str, attempt: AttemptFolder, *paths: Path) -> Removal:
    return Removal(rule, attempt, paths, sum(map(disk_space, paths)))


def disk_space(path: Path) -> int:
    """Return the bytes that a file or a folder takes on the disk."""
    try:
        state = os.lstat(path)
    except OSError:  # it went meanwhile
        return 0
    blocks = state.st_blocks
    if stat.S_ISDIR(state.st_mode):
        measure = Measure(path)
        measure.advance(float("inf"))
        blocks += measure.blocks
    return blocks * BLOCK_BYTES


def _ended_s(folder: JobFolder, row: Row) -> float:
    """Return when a job ended, in seconds since 1970; of one that never started, when its facts were written."""
    try:
        return datetime.fromisoformat(row.ended_at).timestamp()
    except (ValueError, OverflowError):
        pass
    try:
        return os.lstat(folder.attempt(row.attempt).outcome).st_mtime
    except OSError:
        return float("inf")
